"""Orbits, branches and maps as numbers, words and figures, for the command `analyse`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daesolve.analysis.orbits.branch import Branch
from daesolve.analysis.orbits.circle_maps import CircleMap
from daesolve.analysis.orbits.orbit import PeriodicOrbit
from daesolve.analysis.orbits.stability_maps import StabilityMap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Found = tuple[dict[str, Any], dict[str, "Figure"]]


def orbit_answer(orbit: PeriodicOrbit) -> Found:
    """Return the results for an orbit."""
    more: dict[str, Any] = {}
    rates = orbit.directional_rates()
    if rates is not None:
        more["orders"] = [
            [_multiplier(value) for value in order.values.tolist()] for order in orbit.orders
        ]
        more["directional_rates"] = rates.rates.tolist()
        more["leading_keep_their_order"] = list(rates.leading)
        more["jump_between_orders"] = rates.jump
    return {
        "period": orbit.period,
        "verdict": orbit.verdict,
        "state": dict(orbit.state),
        "shift": dict(orbit.shift),
        "multipliers": [_multiplier(value) for value in orbit.multipliers.tolist()],
        "trivial": dict(orbit.trivial),
        "residual": orbit.residual,
        "digits": orbit.digits,
        "multiplier_digits": orbit.multiplier_digits,
        "events": [f"{event.name} at {event.time:.12g} s" for event in orbit.events],
        "notes": list(orbit.notes),
        **more,
    }, {}


def branch_answer(branch: Branch, plot: tuple[str, str] | None) -> Found:
    """Return the points of a branch, its special points, and its drawing."""
    columns = {name: column.tolist() for name, column in branch.points.items()}
    special = [
        {
            "kind": point.kind,
            point.axis: point.value,
            "period": point.point.period,
            "digits": point.digits,
            "detail": point.detail,
        }
        for point in branch.special
    ]
    values: dict[str, Any] = {
        "orbits": len(branch),
        "special": special,
        "ends": list(branch.ends),
        "points": columns,
        "verdicts": list(branch.verdicts),
        "multipliers": [
            [_multiplier(value) for value in row.tolist()] for row in branch.multipliers
        ],
    }
    figures = {"branch": branch.plot(*(plot or ())), "multipliers": branch.plot_multipliers()}
    return values, figures


def map_answer(stability: StabilityMap) -> Found:
    """Return the cells of a stability map, its borders, and its drawing."""
    borders = [
        {"kind": point.kind, stability.names[0]: point.x, stability.names[1]: point.y}
        for point in stability.borders
    ]
    values: dict[str, Any] = {
        stability.names[0]: stability.x.tolist(),
        stability.names[1]: stability.y.tolist(),
        "verdicts": [[str(cell) for cell in row] for row in stability.verdicts],
        "leading": stability.leading.tolist(),
        "borders": borders,
        "curves": [
            {
                "kind": border.kind,
                stability.names[0]: border.x.tolist(),
                stability.names[1]: border.y.tolist(),
                "ends": list(border.ends),
            }
            for border in stability.curves
        ],
    }
    return values, {"stability": stability.plot()}


def circle_answer(circle: CircleMap, periods: int) -> Found:
    """Return the rotation number of a circle map, and where it is locked."""
    number = circle.rotation_number(periods)
    values: dict[str, Any] = {
        "rotation_number": number.value,
        "uncertainty": number.uncertainty,
        "locked": number.ratio is not None,
    }
    if number.ratio is not None and number.point is not None:
        values["ratio"] = f"{number.ratio[0]}/{number.ratio[1]}"
        values["angle"] = number.point.angle
        values["multiplier"] = number.point.multiplier
    return values, {}


def _multiplier(value: complex) -> Mapping[str, float]:
    return {"real": value.real, "imaginary": value.imag, "size": abs(value)}
