"""Analyses of the vehicle: the laws side by side, and their limits."""

from __future__ import annotations

from typing import Any

import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.omni_laws.description import (
    FRICTION,
    IMPACTS,
    INERTIALESS,
    LAWS,
    described,
)
from daesolve_problems.omni_laws.expansions import Motion, ahead_by_friction, by_inertia, motion
from daesolve_problems.omni_laws.limits import (
    GROUPS,
    Convergence,
    Slipping,
    apart,
    friction_limit,
    slipping,
    solved,
    strong_friction,
    times_of,
    under,
    without_inertia,
)
from daesolve_problems.omni_laws.pictures import convergence, side_by_side

STATES = ("x", "y", "theta", "v_1", "v_2", "omega")
SMALL_ENOUGH = 0.1
"""The ratio of times below which imposing at once counts as right."""


def laws(case: BoundCase) -> ds.Answer:
    """Run the vehicle by all three laws: where it ends, how far apart, how much energy is lost."""
    times = np.linspace(0.0, case.case.until, 401)
    runs: dict[str, ds.Trajectory] = {}
    refused: dict[str, str] = {}
    for law in LAWS:
        try:
            runs[law] = solved(under(case, law), times)
        except OutOfRangeError as error:
            refused[law] = str(error)
    if not runs:
        raise OutOfRangeError(f"no law moves this vehicle: {'; '.join(refused.values())}")
    values: dict[str, Any] = {
        "until": float(times[-1]),
        "laws": [
            {
                "law": law,
                **{name: float(run[name][-1]) for name in STATES},
                "changes_of_rollers": sum(e.name == "roller_switch" for e in run.events),
                "energy_lost": _lost(run),
            }
            for law, run in runs.items()
        ],
    }
    pairs = [(IMPACTS, INERTIALESS), (FRICTION, IMPACTS)]
    values["apart"] = [
        {"laws": f"{one} - {other}", **apart(runs[one], runs[other])}
        for one, other in pairs
        if one in runs and other in runs
    ]
    return ds.Answer(
        values | ({"refused": refused} if refused else {}), {"laws": side_by_side(runs)}
    )


def _lost(run: ds.Trajectory) -> float:
    """Return the energy that impacts or friction took, J."""
    return float(run["energy"][0] - run["energy"][-1])


def limit(case: BoundCase) -> ds.Answer:
    """Report how the laws pass into each other, with orders, and when imposing at once is right."""
    moving = _moving(case)
    light, strong = without_inertia(case), strong_friction(case)
    figures = {
        "without inertia": _drawn(light, "B, a roller's moment of inertia (kg m²)"),
        "strong friction": _drawn(strong, "1 / (μ g) (s²/m)"),
    }
    until = float(times_of(case)[-1])
    bound = under(case, FRICTION)
    structure = bound.full_structure
    car = described(FRICTION, bound.values, structure["wheels"], structure["rollers"])
    values: dict[str, Any] = {
        "until": until,
        "impacts_to_inertialess": _summary(light, "roller_inertia", _by_hand(moving, case)),
        "friction_to_impacts": _summary(strong, "inverse_friction", _ahead(moving, bound, until)),
        "friction_limit": friction_limit(car, bound.values),
        "imposing_at_once": _judged(slipping(case), light, strong),
    }
    return ds.Answer(values, figures)


def _moving(case: BoundCase) -> Motion | None:
    """Return the motion if there is an expansion of it by hand."""
    bound = under(case, FRICTION)
    structure = bound.full_structure
    car = described(FRICTION, bound.values, structure["wheels"], structure["rollers"])
    return motion(car, bound.values, bound.full_start)


def _by_hand(moving: Motion | None, case: BoundCase) -> dict[str, float]:
    """Return the differences over B, by the expansion."""
    if moving is None:
        return {}
    found = by_inertia(moving, times_of(case))
    name, state = ("angle", "theta") if moving.turning else ("place", "x")
    return {name: float(np.max(np.abs(found[state])))}


def _ahead(moving: Motion | None, bound: BoundCase, until: float) -> dict[str, float]:
    """Return the differences over 1 / (mu g), by the expansion."""
    found = None if moving is None else ahead_by_friction(moving, until)
    if found is None:
        return {}
    return {"place": abs(found) * bound.values["friction"] * bound.values["gravity"]}


def _summary(found: Convergence, small: str, by_hand: dict[str, float]) -> dict[str, Any]:
    """Return a limit as in JSON; what is below the errors of the runs has no order."""
    table = [
        {small: value, **{name: found.differences[name][k] for name in GROUPS}}
        for k, value in enumerate(found.small)
    ]
    summary: dict[str, Any] = {"differences": table, "errors_of_the_runs": dict(found.floors)}
    for name in GROUPS:
        order, rate = found.order(name), found.rate(name)
        summary[f"order_of_{name}"] = "below the errors of the runs" if order is None else order
        if order is not None and rate is not None:
            summary[f"{name}_over_{small}"] = rate
        if name in by_hand:
            summary[f"{name}_over_{small}_by_hand"] = by_hand[name]
    return summary


def _judged(found: Slipping | None, light: Convergence, strong: Convergence) -> dict[str, Any]:
    """Say whether to impose at once is right, and by how much it is wrong.

    The error is the difference of friction and impacts over what the rollers' inertia does at all,
    the difference of impacts and inertialess, with the case's own values.
    """
    summary: dict[str, Any] = {}
    for name in GROUPS:
        wrong, whole = strong.differences[name][0], light.differences[name][0]
        if 0 in strong.above(name) and 0 in light.above(name):
            summary[f"error_of_{name}"] = wrong / whole
    if found is None:
        said = (
            "no wheel turns while its next roller differs by more than slip_velocity: almost "
            "nothing has to be accelerated"
        )
        return {"said": said, **summary}
    right = found.ratio < SMALL_ENOUGH
    said = (
        f"a roller of wheel {found.wheel} that comes to the floor slips for {found.lasts:.3g} s, "
        f"and the next comes after {found.between:.3g} s: imposing its rolling at once is "
        f"{'right' if right else 'not right'} (ratio {found.ratio:.2g})"
    )
    return {
        "said": said,
        "ratio": found.ratio,
        "slips_for": found.lasts,
        "between_changes": found.between,
        "slip": found.slip,
        **summary,
    }


def _drawn(found: Convergence, what: str) -> Any:
    curves = {
        f"{name} ({'m' if name == 'place' else 'rad'})": found.differences[name]
        for name in GROUPS
        if found.above(name)
    }
    return convergence(found.small, curves, what)
