"""Where equations have a kink or a jump at a state: each side has a linearization of its own.

A piecewise expression is smooth in each of its modes. Where the guard of a mode is zero, the other
one begins; if rates or their gradients differ in it, the state has no linearization.
"""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np

from daesolve.analysis.steady_motions import Field, FieldValues
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.impacts import changed_by

AT_BORDER = 1e-12
"""A guard is at zero if the largest state (1 in SI units if all are zero) moves it so much."""
DIFFERS = 1e-9
"""The part of the largest rate or gradient by which those of another mode differ."""


def kinks_at(dynamics: Dynamics, p: np.ndarray, time: float, state: np.ndarray) -> tuple[str, ...]:
    """Return the switches and tables whose other side has other rates or gradients.

    Parameters
    ----------
    dynamics, p
        The equations, and their numbers (np,).
    time, state
        s, and the consistent state (nx,).
    """
    here, found = _field(dynamics, p, time, state), dict[str, None]()
    for name, index, late in _piecewise(dynamics):
        guards = dynamics.events[index].guards
        for place in _at_border(dynamics, guards, (time, state, p), late):
            other = _other_side(dynamics, index, place, (time, state, p))
            if name not in found and _differ(here, _field(dynamics, other, time, state)):
                found[name] = None
    return tuple(found)


def _piecewise(dynamics: Dynamics) -> Iterator[tuple[str, int, float]]:
    """Yield names, the indices of their events, and how far beyond zero their guards switch."""
    named = {event.name: index for index, event in enumerate(dynamics.events)}
    for name in dynamics.switches:
        yield name, named[name], 0.0
    for row in dynamics.drives:
        if row.lookup is not None:
            late = max(axis.late for axis in row.lookup.axes)
            yield from ((row.name, named[event], late) for event in row.events)


def _at_border(
    dynamics: Dynamics, guards: ca.SX, place: tuple[float, np.ndarray, np.ndarray], late: float
) -> list[int]:
    """Return which guards are zero in a state, and change with it."""
    t, x, p = dynamics.t, dynamics.x, dynamics.p
    slopes = ca.sum2(ca.fabs(ca.jacobian(guards, x)))
    function = ca.Function("guards", [t, x, p], [ca.densify(guards), ca.densify(slopes)])
    values, moved = (np.asarray(part).ravel() for part in function(*place))
    size = float(np.max(np.abs(place[1]), initial=0.0)) or 1.0
    near = np.abs(values) <= 2.0 * late + AT_BORDER * moved * size
    return np.flatnonzero(near & (moved > 0.0)).tolist()


def _other_side(
    dynamics: Dynamics, index: int, guard: int, place: tuple[float, np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return the values after a guard of an event has passed."""
    t, x, p, reset = dynamics.t, dynamics.x, dynamics.p, dynamics.resets[index]
    values = ca.densify(changed_by(dynamics, reset, x, p)[1])
    fired = np.zeros(reset.fired.numel())
    fired[guard] = 1.0
    function = ca.Function("values", [t, x, p, reset.fired], [values])
    return np.asarray(function(*place, fired)).ravel()


def _field(dynamics: Dynamics, p: np.ndarray, time: float, state: np.ndarray) -> FieldValues:
    return Field(dynamics.in_mode(p), p).at(time, state)


def _differ(one: FieldValues, other: FieldValues) -> bool:
    pairs = [(getattr(one, of), getattr(other, of)) for of in ("rate", "gradient", "constraints")]
    return any(
        np.max(np.abs(a - b), initial=0.0)
        > DIFFERS * np.max(np.abs(a), initial=np.finfo(float).tiny)
        for a, b in pairs
    )
