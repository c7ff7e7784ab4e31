"""The consistent start, with the modes that agree with it: switches, tables, sampled laws."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from daesolve.core.equations.consistency import Start, complete_start, near
from daesolve.core.equations.drives import drive_values_at_start, falling_arguments
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.fitting import fitting_values
from daesolve.errors import InconsistentStateError, UnsupportedError

DRIFTS = 10.0
"""Scales differ: a state of a run may be off its goals by so many times the drift of that run."""
MOST_DRIFT = 1e-2
"""But by no more than this, relative: the motion would be another."""
MOST_SIDES = 8
"""The number of times a start is completed to find the sides of its piecewise constraints."""


def start_with_modes(
    dynamics: Dynamics,
    values: Mapping[str, float],
    initial: Mapping[str, float],
    *,
    guess: Mapping[str, float] | None = None,
    time: float = 0.0,
    kept: Mapping[str, float] | None = None,
    drift: float = 0.0,
) -> tuple[Start, dict[str, float]]:
    """Return the consistent start, and the values of p by name with the modes that agree.

    Parameters
    ----------
    dynamics
        The equations.
    values
        p by name, with default values of modes.
    initial, guess, time, drift
        As in `complete_start`.
    kept
        The result of `values_to_continue_with` for a run that continues here; its sampled laws do
        not restart.

    Raises
    ------
    DaesolveError
        As in `complete_start`.
    """
    before, found = dict(values), dict(values)
    drives = {name for row in dynamics.drives for name in row.values}
    held = {name: value for name, value in (kept or {}).items() if name in drives}

    def completed() -> Start:
        numbers = dynamics.value_vector(found)
        return complete_start(dynamics, numbers, initial, guess=guess, time=time, drift=drift)

    near_guess = near(dynamics, dynamics.value_vector(found), initial, guess)
    found |= drive_values_at_start(dynamics, before, near_guess, time) | held
    # If no mode agrees with the guess, one may agree with the start.
    with suppress(InconsistentStateError):
        found |= _sides(dynamics, found, near_guess, time)
    start = completed()
    for _ in range(MOST_SIDES if dynamics.switches else 0):
        # The state that fulfils a constraint shows the side of its kinks.
        sides = _sides(dynamics, found, start.state, time)
        if sides.items() <= found.items():
            break
        found |= sides
        start = completed()
    if dynamics.drives:
        # A table of coordinates, in a constraint, shows where the coordinates are.
        for _ in range(MOST_SIDES):
            first = drive_values_at_start(dynamics, before, start.state, time) | held
            if first.items() <= found.items():
                break
            found |= first
            start = completed()
        leans = falling_arguments(dynamics, found, start.state, time)
        found |= leans
        found |= drive_values_at_start(dynamics, before | leans, start.state, time) | held
    return start, found


def values_to_continue_with(
    dynamics: Dynamics, ended: Mapping[str, float], time: float
) -> dict[str, float]:
    """Return the discrete values that a run begins with where another ended, by name.

    Tables follow the time and the state. A sampled law begins again if its period has changed.

    Parameters
    ----------
    dynamics
        The equations.
    ended
        The discrete values with which the other run ended.
    time
        Where this one starts, s.
    """
    rows = [row for row in dynamics.drives if not row.goes_on(ended, time)]
    anew = {name for row in rows for name in row.values}
    return {n: v for n, v in ended.items() if n in dynamics.discrete and n not in anew}


def accepted_drift(dynamics: Dynamics, residuals: Mapping[str, float]) -> float:
    """Return how far off its goals a state of another run may be: a few times what that run was.

    Parameters
    ----------
    dynamics
        The equations.
    residuals
        The largest of that run by name, relative; those of invariants do not count.
    """
    goals = {name for row in dynamics.rows for name in row.links}
    own = [size for name, size in residuals.items() if name in goals]
    return min(DRIFTS * max(own, default=0.0), MOST_DRIFT)


def refuse_drives(dynamics: Dynamics, what: str) -> None:
    """Refuse uses that would treat tables and sampled laws as their first piece.

    Raises
    ------
    UnsupportedError
        There are tables or sampled laws.
    """
    if dynamics.drives:
        raise UnsupportedError(
            f"{what} cannot follow tables and sampled laws, such as {dynamics.drives[0].name!r}: "
            "write a smooth function instead"
        )


def _sides(
    dynamics: Dynamics, values: Mapping[str, float], state: np.ndarray, time: float
) -> dict[str, float]:
    """Return the values of the switches that agree with a state."""
    if not dynamics.switches:
        return {}
    fitting = fitting_values(dynamics, values, state, time)
    return {name: fitting[name] for name in dynamics.switches}
