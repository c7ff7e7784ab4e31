"""Limits of residuals and an earlier drift.json as a baseline: what exceeds them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import DaesolveError, UnknownNameError, is_number

ANGLE_UNIT = "rad"
Limits = Mapping[str, float | None]
FORMAT = 1
WORSE = 10.0
"""The factor on the drift of the baseline beyond which a test fails."""
FLOOR = 1e-15
"""What a drift counts at least: below, the last bits of another processor decide."""

Sizes = Mapping[str, float | None]
Baseline = Mapping[tuple[str, int], Sizes]
"""(test, number of the run in it) -> largest relative residual by name; None is not finite."""


class DriftError(DaesolveError, ValueError):
    """A limit, an accuracy or a baseline makes no sense."""


def check_limits(dynamics: Dynamics, limits: Limits, accuracy: float | None) -> None:
    """Refuse invalid limits before anything is run.

    Raises
    ------
    DriftError
        A limit or the accuracy is not a finite number > 0.
    UnknownNameError
        A limit has the name of no residual.
    """
    if not isinstance(limits, Mapping):
        raise DriftError(
            f"limits must map names to numbers, such as {{'energy': 1e-12}}, not {limits!r}"
        )
    asked = {f"the limit of {name!r}": limit for name, limit in limits.items()}
    for what, number in {**asked, "accuracy": accuracy}.items():
        if number is not None and not (is_number(number) and number > 0.0):
            raise DriftError(f"{what} is {number!r}, but must be a finite number > 0, or None")
    rows = (*dynamics.implicit_rows, *dynamics.relations, *dynamics.invariants)
    links = [name for row in dynamics.rows for name in row.links]
    check_carried(limits, [*links, *(row.name for row in rows)])


def check_carried(limits: Limits, known: list[str]) -> None:
    """Refuse a limit for a name that is not among those of the residuals.

    Raises
    ------
    UnknownNameError
        With all names.
    """
    for name in limits:
        if name not in known:
            names = ", ".join(map(repr, known)) or "none"
            raise UnknownNameError(
                f"the limit {name!r} matches no residual of this run: there are {names}"
            )


def limits_of(dynamics: Dynamics, limits: Limits) -> dict[str, float]:
    """Return the limit of each residual that has one.

    A hidden constraint (`contact_dot`) has that of its goal, unless it has one of its own.
    """
    found: dict[str, float | None] = {}
    for row in dynamics.rows:
        found |= dict.fromkeys(row.links, limits.get(row.name))
    found |= limits
    return {name: limit for name, limit in found.items() if limit is not None}


def exceeds(found: float | None, limit: float) -> bool:
    """Return whether a size exceeds its limit; NaN does."""
    return found is None or not found <= limit


def relative_differences(run: Trajectory, difference: Mapping[str, float]) -> dict[str, float]:
    """Return the difference of each state relative to its size.

    The size is the largest value over the samples among the states of its unit; that of an angle
    is at least 1 rad.
    """
    largest: dict[str, float] = {ANGLE_UNIT: 1.0}
    for name, values in run.states.items():
        unit = run.units.get(name, name)
        size = float(np.max(np.abs(values), initial=abs(run.end_state[name])))
        largest[unit] = max(largest.get(unit, 0.0), size)
    return {
        name: value / (largest[run.units.get(name, name)] or 1.0)
        for name, value in difference.items()
    }


def worst(entry: Mapping[str, Any]) -> tuple[str, float | None, float | None]:
    """Return what came nearest to its limit, or went farthest beyond.

    Returns
    -------
    tuple
        Its name, what was found and the limit. Where there are no limits, it is the largest
        residual among the measured ones, else among all, and no limit.
    """
    judged = [
        (name, found["max_relative"], found["limit"])
        for name, found in entry["drift"].items()
        if found["limit"] is not None
    ]
    if entry["accuracy"] is not None and entry["verification"] is not None:
        relative = entry["verification"]["relative"]
        judged += [(name, found, entry["accuracy"]) for name, found in relative.items()]
    if judged:
        return max(judged, key=lambda one: np.inf if one[1] is None else one[1] / one[2])
    every = [(n, d["max_relative"], None) for n, d in entry["drift"].items()]
    measured = [one for one in every if not entry["drift"][one[0]]["driven"]]
    return max(
        measured or every,
        key=lambda one: np.inf if one[1] is None else one[1],
        default=("", None, None),
    )


def read_baseline(file: Path) -> Baseline:
    """Read the drift.json of an earlier report.

    Raises
    ------
    DriftError
        It is missing, unreadable, or not a drift report.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DriftError(f"the baseline {str(file)!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise DriftError(f"the baseline {str(file)!r} is not JSON: {error}") from None
    try:
        if found["format"] != FORMAT:
            raise DriftError(
                f"the baseline {str(file)!r} has the format {found['format']!r}, but this "
                f"version of daesolve reads {FORMAT}: write it again with --drift-report"
            )
        return {(run["test"], run["number"]): _sizes(run) for run in found["runs"]}
    except (TypeError, KeyError, AttributeError):
        raise DriftError(
            f"{str(file)!r} is not a drift report: as the baseline, use a drift.json that "
            "--drift-report wrote"
        ) from None


def _sizes(run: Mapping[str, Any]) -> Sizes:
    sizes = {name: entry["max_relative"] for name, entry in run["drift"].items()}
    if not all(size is None or isinstance(size, int | float) for size in sizes.values()):
        raise TypeError
    return sizes


def worse(drift: Mapping[str, Mapping[str, Any]], before: Sizes) -> list[str]:
    """Name the residuals above `WORSE` times their baseline, which counts as `FLOOR` at least."""
    return [
        name
        for name, entry in drift.items()
        if (old := before.get(name)) is not None
        and exceeds(entry["max_relative"], WORSE * max(old, FLOOR))
    ]
