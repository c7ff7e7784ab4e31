"""Small integrations that follow a rate to a guard: their steps, and where a guard passes zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

EPSILON = float(np.finfo(float).eps)
TIME = 4e-16
"""The relative accuracy of a time that bisection finds."""


class DensePath:
    """The steps of a solver, with the interpolant of each.

    Parameters
    ----------
    time, state
        Where it begins.

    Attributes
    ----------
    times, states
        The start and the ends of steps.
    pieces
        (time) -> the state within each step.
    """

    def __init__(self, time: float, state: np.ndarray) -> None:
        self.times, self.states = [time], [state]
        self.pieces: list[Any] = []

    def take(self, solver: scipy.integrate.OdeSolver) -> None:
        """Add a step."""
        self.pieces.append(solver.dense_output())
        self.times.append(float(solver.t))
        self.states.append(np.asarray(self.pieces[-1](self.times[-1])))

    def cut(self, time: float) -> None:
        """End the last step earlier."""
        self.times[-1], self.states[-1] = time, np.asarray(self.pieces[-1](time))

    def __call__(self, time: float) -> np.ndarray:
        """Return the state at a time."""
        if not self.pieces:
            return self.states[0]
        step = min(int(np.searchsorted(self.times[1:], time)), len(self.pieces) - 1)
        return self.pieces[step](time)


def follow(
    solver: scipy.integrate.OdeSolver,
    path: DensePath,
    guards: Callable[[float, np.ndarray], np.ndarray],
    passed: Callable[[np.ndarray, np.ndarray], np.ndarray],
    over: Callable[[np.ndarray, np.ndarray], bool] = lambda state, values: False,
) -> list[int]:
    """Take steps until guards pass zero within one; return which do.

    Parameters
    ----------
    solver, path
        What takes steps, and what they are added to; it ends where the solver starts.
    guards
        (time, state) -> their values, (k,).
    passed
        The values before and after a step -> the numbers of those that pass. One that is at zero
        after a step keeps its value before it.
    over
        (state, values) -> whether the motion ends there without a passage.
    """
    before = guards(path.times[-1], path.states[-1])
    while solver.status == "running":
        if solver.step() is not None:  # It failed.
            break
        path.take(solver)
        after = guards(path.times[-1], path.states[-1])
        found: list[int] = passed(before, after).tolist()
        if found or over(path.states[-1], after):
            return found
        before = np.where(after == 0.0, before, after)
    return []


def root(
    function: Callable[[float], float], left: float, right: float, error: float = 0.0
) -> float:
    """Return where a function passes zero between two places, by Brent's method.

    Parameters
    ----------
    function
        Has different signs at the two places.
    left, right
        The places.
    error
        The absolute accuracy, besides rounding.
    """
    least = EPSILON * max(abs(left), abs(right))
    return scipy.optimize.brentq(function, left, right, xtol=max(error, least), rtol=4 * EPSILON)


def first_positive(function: Callable[[float], float], negative: float, positive: float) -> float:
    """Return the first time between two at which a function is positive, by bisection."""
    while positive - negative > TIME * max(abs(positive), abs(negative)):
        middle = 0.5 * (negative + positive)
        if not negative < middle < positive:
            break
        if function(middle) > 0.0:
            positive = middle
        else:
            negative = middle
    return positive
