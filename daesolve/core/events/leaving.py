"""Which way a guard leaves zero whose rate is zero as well: by its higher derivatives.

A velocity that is zero under a force that is zero, such as t - |v| from rest, leaves zero all the
same. Its rate a moment later tells the way. The motion goes a few steps of Euler's method on, so
that what drives the guard through several integrations arrives there. The moment is as short as the
numbers let it be, and counts if a longer one agrees with it.
"""

from __future__ import annotations

import numpy as np

from daesolve.core.events.guard_table import Place
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.grazing import guard_evaluator

STEPS = 6
"""Euler's steps to the moment: what acts through more integrations is not seen."""
LONGER = 32.0
"""Each moment is so many times as long as the one before."""
SHORTEST, LONGEST = 1e-24, 1e-3
"""The first and the last moment, s, for motions of any pace; none is below the rounding of the
time."""


def rates_later(
    problem: OdeProblem,
    time: float,
    x: np.ndarray,
    p: np.ndarray,
    guards: np.ndarray,
    rounding: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return the rates of guards a moment later, (guards,) 1/s times their units.

    Parameters
    ----------
    problem
        The guards, and the motion in its present mode.
    time, x, p
        Where they and their rates are zero.
    guards
        (guards,) which are asked for; the others, and what stays zero, are zero.
    rounding
        (guards,) rates that count as zero.
    """
    evaluate, found = guard_evaluator(problem), np.zeros(len(guards))
    before = np.zeros(len(guards))
    moment = max(SHORTEST, 64.0 * float(np.spacing(abs(time))))
    while moment <= LONGEST:
        rates = evaluate(*_later(problem, time, x, p, moment / STEPS), p)[1]
        agree = guards & (found == 0.0) & (rates * before > 0.0) & (np.abs(rates) > rounding)
        found[agree] = rates[agree]
        if not np.any(guards & (found == 0.0)):
            break
        before, moment = rates, LONGER * moment
    return found


def time_to_leave(
    problem: OdeProblem, place: Place, guards: np.ndarray, zeros: np.ndarray
) -> np.ndarray:
    """Return how long some guards take to leave what counts as zero, (k,) s; zero if they stay.

    Parameters
    ----------
    problem
        The guards, and the motion in its present mode.
    place
        Time, state and values, where they are at zero.
    guards, zeros
        (k,) which of them, and what counts as zero.
    """
    evaluate, found = guard_evaluator(problem), np.zeros(len(guards))
    moment = max(SHORTEST, 64.0 * float(np.spacing(abs(place[0]))))
    while moment <= LONGEST and not found.all():
        values = evaluate(*_later(problem, *place, moment / STEPS), place[2])[0][guards]
        found[(found == 0.0) & (np.abs(values) > zeros)] = moment
        moment *= 2.0
    return found


def _later(
    problem: OdeProblem, time: float, x: np.ndarray, p: np.ndarray, step: float
) -> tuple[float, np.ndarray]:
    for _ in range(STEPS):
        x = x + step * np.array(problem.rhs(time, x, p), dtype=float).ravel()
        time += step
    return time, x
