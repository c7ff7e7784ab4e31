"""Analyses of the body: the loads against which friction holds it."""

from __future__ import annotations

from typing import Any

import daesolve as ds
from daesolve.typing import BoundCase
from daesolve_problems.three_supports.models import PAIRS, SIDES

PLACE = ("x", "y", "phi")
LOADS = ("force_x", "force_y", "moment_z")
"""Loads that move the body."""
DOUBLINGS = 10
"""The most doublings of a load, after which friction counts as holding against all such loads."""


def held(case: BoundCase) -> ds.Answer:
    """Report whether friction holds the body at rest at the start, and up to which loads.

    Each load in the plane is changed separately, down and up, while the others stay.

    Returns
    -------
    Answer
        `at_rest`, whether that is `certain`, `growth` along the `direction` in which the body
        slides or would slide first (v' = growth u, u . M u = 1; negative at rest), the loaded pads
        as `variant`. `limits`, where it is at rest: for each load `down` and `up` the `value` at
        which the body cannot rest any more, and that from which on it could slide as well
        (`slides_from`, earlier where loaded pads lie at two heights), with the direction and the
        loaded pads; None if friction grows with the load, so that no such load moves the body.
    """
    system = case.system
    assert isinstance(system, ds.MechanicalSystem)
    values, guess = case.values, case.full_start | dict(case.initial)
    place = {name: guess.get(name, 0.0) for name in PLACE}
    found = ds.friction.stiction(system, place, values)
    answer: dict[str, Any] = {
        "at_rest": found.sticks,
        "certain": found.certain,
        "growth": found.growth,
        "direction": _plane(found),
        "variant": list(found.variant),
        "message": found.sentence,
    }
    if found.sticks:
        answer["limits"] = {
            load: {
                name: _limit(system, place, values, load, sense)
                for name, sense in {"down": -1.0, "up": 1.0}.items()
            }
            for load in LOADS
        }
    return ds.Answer(answer)


def _limit(
    system: ds.MechanicalSystem,
    place: dict[str, float],
    values: dict[str, float],
    load: str,
    sense: float,
) -> dict[str, Any] | None:
    """Return at which value of a load the body begins to slide, in one sense."""
    step = sense * _size(values, load)
    for _ in range(DOUBLINGS):
        beyond = {**values, load: values[load] + step}
        if not ds.friction.stiction(system, place, beyond).sticks:
            limit = ds.friction.stiction_limit(
                system, place, load, (values[load], beyond[load]), parameters=values
            )
            return {
                "value": limit.value,
                "slides_from": limit.slides_from,
                "certain": limit.certain,
                "direction": _plane(limit),
                "variant": list(limit.variant),
            }
        step *= 2.0
    return None


def _size(values: dict[str, float], load: str) -> float:
    """Return a load of the size of what friction holds: the weight, at the farthest pad's arm."""
    weight = abs(values["force_z"]) + 1.0
    if load != "moment_z":
        return weight
    return weight * max(
        abs(values[f"{name}_{axis}_{pair}"])
        for name in SIDES.values()
        for axis in ("a", "b")
        for pair in PAIRS
    )


def _plane(found: ds.friction.Stiction | ds.friction.StictionLimit) -> dict[str, float]:
    """Return the direction of sliding without the velocities that the pads forbid."""
    return {f"{name}_dot": found.direction[f"{name}_dot"] for name in PLACE}
