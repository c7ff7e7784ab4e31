"""Where guards pass through zero along accepted steps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from scipy.optimize import brentq

from daesolve.algebra.evaluation import BufferedFunction, Evaluator
from daesolve.algebra.translation import evaluate_block
from daesolve.formulations import OdeProblem
from daesolve.posing.events import Direction
from daesolve.solvers.segment import EventHit

LOOKS = 8
"""Parts of a step at whose ends guards are evaluated."""
MOST_LOOKS = 4096
ROW_BY_ROW = 64
"""Up to so many evaluations of guards cost less one by one than an instruction at a time."""
INNER = 0.381966
"""Part of a step at which guards are judged besides its ends: no ratio of small whole numbers, so
that no oscillation falls in step with both."""
FEW = 8
"""With fewer rows of guards than these, each step is looked into."""
ROUGH = {"between": 1.5, "within": 0.4}
"""Third over first differences that show what is not resolved: between steps, which are uneven,
and between even looks within one."""
AROUND = 12
"""Rows to both sides of those between which a guard is not smooth: there it may only seem so."""
POLE = 1e3
"""What a guard is at a place over what it was around, beyond which this is a pole and no zero."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Accepted steps, and the states between their ends.

    Parameters
    ----------
    times
        (k + 1,) from the start of the first step.
    states
        (k + 1, size)
    inner
        (k, size) at the part `INNER` of each step, as near as is needed to judge guards by.
    dense
        times (j,) -> states (j, size) between the first and the last, by the method's own
        interpolant.
    advance
        (number of a step, time in it) -> state of the method's own accuracy.
    """

    times: np.ndarray
    states: np.ndarray
    inner: np.ndarray
    dense: Callable[[np.ndarray], np.ndarray]
    advance: Callable[[int, float], np.ndarray]


def inner_times(times: np.ndarray) -> np.ndarray:
    """Return the time within each step at which guards are judged besides its ends."""
    return times[:-1] + INNER * np.diff(times)


def inner_states(times: np.ndarray, states: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the states at the part `INNER` of each step, by cubics through both its ends."""
    part, rest = INNER, 1.0 - INNER
    spans = np.diff(times)[:, None]
    return (
        rest**2 * (1.0 + 2.0 * part) * states[:-1]
        + part**2 * (1.0 + 2.0 * rest) * states[1:]
        + part * rest * spans * (rest * rates[:-1] - part * rates[1:])
    )


def find_events(problem: OdeProblem, p: np.ndarray, steps: Steps) -> list[EventHit]:
    """Return where guards pass through zero in their directions, in the order of integration.

    All steps are judged at once by the guards at their ends and at one place between. A step is
    looked into where a guard changes its sign, or comes so near to zero that it might dip through
    it in between: nearer than it moves around there.

    Of events at one time, those that interrupt the motion come last. Steps after the first one
    with such an event are not looked into: the motion does not get there.

    Parameters
    ----------
    problem
        Its guards and events.
    p
        The values.
    steps
        The accepted steps.
    """
    directions = [event.direction for event in problem.guarded]
    ends, table, moments = _judged(problem, p, steps)
    near = np.flatnonzero(worth_a_look(moments, table).reshape(-1, 2).any(axis=1))
    guards = BufferedFunction(problem.guards, p)
    found: list[EventHit] = []
    for step in map(int, near[_may_hold_a_zero(problem, p, steps, ends, near)]):
        looks, states, values = _looked_into(problem, p, steps, ends, step)
        for left in np.flatnonzero(np.any(values[:-1] * values[1:] <= 0.0, axis=1)):
            for index in crossings(values[left], values[left + 1], directions):
                time, state = locate(
                    lambda t, x, index=index: float(guards(t, x)[index]),
                    lambda time, step=step: steps.advance(step, time),
                    (float(looks[left]), states[left]),
                    (float(looks[left + 1]), states[left + 1]),
                )
                # Across a pole it changes its sign, but is nowhere near to zero.
                sides = np.max(np.abs(values[left : left + 2, index]))
                if abs(guards(time, state)[index]) <= POLE * sides:
                    found.append(EventHit(index, time, state))
        if any(problem.guarded[hit.index].then.interrupts for hit in found):
            break
    sign = 1.0 if steps.times[-1] >= steps.times[0] else -1.0
    return sorted(
        found, key=lambda hit: (sign * hit.time, problem.guarded[hit.index].then.interrupts)
    )


def _judged(
    problem: OdeProblem, p: np.ndarray, steps: Steps
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the guards at the ends of steps; and these with those in between, and their times."""
    count = len(steps.times) - 1
    moments = np.empty(2 * count + 1)
    moments[::2], moments[1::2] = steps.times, inner_times(steps.times)
    states = np.empty((2 * count + 1, steps.states.shape[1]))
    states[::2], states[1::2] = steps.states, steps.inner
    table = evaluate_block(problem.guards, moments, states, p)[0]
    return table[::2], table, moments


def _may_hold_a_zero(
    problem: OdeProblem, p: np.ndarray, steps: Steps, ends: np.ndarray, near: np.ndarray
) -> np.ndarray:
    """Look into steps, all at once; return which of them need a closer look."""
    if not near.size:
        return np.zeros(0, dtype=bool)
    first, last = steps.times[near], steps.times[near + 1]
    looks = first[:, None] + (last - first)[:, None] * np.arange(1, LOOKS) / LOOKS
    moments = looks.ravel()
    inside = evaluate_block(problem.guards, moments, steps.dense(moments), p)[0]
    inside = np.moveaxis(inside.reshape(len(near), LOOKS - 1, -1), 0, 1)
    values = np.concatenate([ends[None, near], inside, ends[None, near + 1]])
    with np.errstate(all="ignore"):
        changes = values[:-1] * values[1:] <= 0.0
    found = (changes, _appears(values), dips(values), *unresolved(values))
    return np.any([np.any(table, axis=(0, 2)) for table in found], axis=0)


def dips(values: np.ndarray) -> np.ndarray:
    """Return where a parabola through three even looks reaches zero, or nearly, between them."""
    left, middle, right = values[:-2], values[1:-1], values[2:]
    with np.errstate(all="ignore"):
        bend = left - 2.0 * middle + right
        top = middle - (left - right) ** 2 / (8.0 * bend)
        moves = np.maximum(np.abs(left - middle), np.abs(right - middle))
        return (middle * bend > 0.0) & ((top * middle <= 0.0) | (np.abs(top) <= 0.5 * moves))


def _looked_into(
    problem: OdeProblem, p: np.ndarray, steps: Steps, ends: np.ndarray, step: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times within a step, states and guards, so close that each is smooth between.

    At the ends they are those of the steps: what one step takes for negative there, the next
    does not take for positive.
    """
    start, end = float(steps.times[step]), float(steps.times[step + 1])

    def look(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states = steps.dense(times)
        return states, _guards_at(problem, p, times, states)

    parts = LOOKS
    while True:
        looks = np.linspace(start, end, parts + 1)
        inner, values = look(looks[1:-1])
        states = np.vstack([steps.states[step], inner, steps.states[step + 1]])
        values = np.vstack([ends[step], values, ends[step + 1]])
        rough = any(np.any(table) for table in (_appears(values), *unresolved(values)))
        if parts >= MOST_LOOKS or not rough:
            break
        parts *= 2
    extra = np.array(extrema(looks, values))
    if extra.size:
        more = look(extra)
        order = np.argsort(np.concatenate([looks, extra]) * np.sign(end - start), kind="stable")
        looks = np.concatenate([looks, extra])[order]
        states = np.vstack([states, more[0]])[order]
        values = np.vstack([values, more[1]])[order]
    return looks, states, values


def _guards_at(
    problem: OdeProblem, p: np.ndarray, times: np.ndarray, states: np.ndarray
) -> np.ndarray:
    """Return the guards at some times, row by row where these are few."""
    if len(times) > ROW_BY_ROW:
        return evaluate_block(problem.guards, times, states, p)[0]
    if problem not in _evaluators:
        _evaluators[problem] = Evaluator(problem.guards)
    evaluate = _evaluators[problem]
    rows = [evaluate(time, state, p)[0] for time, state in zip(times, states, strict=True)]
    return np.array(rows).reshape(len(times), -1)


_evaluators: WeakKeyDictionary[OdeProblem, Evaluator] = WeakKeyDictionary()


def worth_a_look(times: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return which of the stretches between the rows of (k + 1, guards) may hold a zero.

    A guard changes its sign in them, comes nearer to zero than it moves around there, is not
    smooth from one to the next, or begins or ceases to be a number; with few rows each may.
    """
    if len(table) <= FEW:
        return np.ones(len(table) - 1, dtype=bool)
    with np.errstate(all="ignore"):
        spans = np.abs(np.diff(times))[:, None]
        reach = _around(np.abs(np.diff(table, axis=0)) / spans) * spans
        sizes = np.minimum(np.abs(table[:-1]), np.abs(table[1:]))
        worth = (table[:-1] * table[1:] <= 0.0) | (sizes <= 2.0 * reach) | _appears(table)
    rough = np.any(_rough(table, ROUGH["between"]), axis=1)
    wide = np.convolve(rough, np.ones(2 * AROUND + 3))[AROUND : AROUND + len(worth)]
    return np.any(worth, axis=1) | (wide > 0.0)


def _appears(table: np.ndarray) -> np.ndarray:
    """Return between which rows a guard begins or ceases to be a finite number."""
    finite = np.isfinite(table)
    return finite[:-1] != finite[1:]


def _around(slopes: np.ndarray) -> np.ndarray:
    """Return the largest number of each row and its neighbours."""
    largest = slopes.copy()
    largest[1:] = np.fmax(largest[1:], slopes[:-1])
    largest[:-1] = np.fmax(largest[:-1], slopes[1:])
    return largest


def unresolved(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whether even looks show no smooth function.

    They may fall in step with an oscillation, but not at two distances.
    """
    return _rough(values, ROUGH["within"]), _rough(values[::2], ROUGH["within"])


def _rough(table: np.ndarray, limit: float) -> np.ndarray:
    """Return, for four rows in a row, whether they are no smooth function: it moves in between."""
    with np.errstate(invalid="ignore"):
        moves = np.abs(np.diff(table, axis=0))
        largest = np.maximum(np.maximum(moves[:-2], moves[1:-1]), moves[2:])
        sizes = np.where(np.isfinite(table), np.abs(table), 0.0)
        noise = 1e-12 * np.max(sizes, axis=0, initial=0.0)
        return np.abs(np.diff(table, 3, axis=0)) > limit * largest + noise


def crossings(before: np.ndarray, after: np.ndarray, directions: Sequence[Direction]) -> list[int]:
    """Return the guards that passed through zero in their direction.

    A guard that starts at zero exactly has been located already and does not count again.
    """
    found: list[int] = []
    for index, direction in enumerate(directions):
        rising = before[index] < 0.0 <= after[index]
        falling = before[index] > 0.0 >= after[index]
        if (rising and direction is not Direction.FALLING) or (
            falling and direction is not Direction.RISING
        ):
            found.append(index)
    return found


def locate(
    guard: Callable[[float, np.ndarray], float],
    advance: Callable[[float], np.ndarray],
    start: tuple[float, np.ndarray],
    end: tuple[float, np.ndarray],
) -> tuple[float, np.ndarray]:
    """Polish the time of an event within one step by re-stepping from the step's start.

    Parameters
    ----------
    guard
        (t, x) -> its value; of opposite sign at start and end.
    advance
        time -> state, integrated from the start with the solver's own accuracy.
    start, end
        Times and states around the event.

    Returns
    -------
    tuple
        The time of the event to rounding, at zero or past it, and the state there.
    """

    @functools.cache
    def state_at(time: float) -> np.ndarray:
        if time == start[0]:
            return start[1]
        if time == end[0]:
            return end[1]
        return advance(time)

    # The ends may be interpolated: where the step itself disagrees about a sign there, the end
    # that is nearer to zero is the place.
    values = [guard(*start), guard(*end)]
    nearer = start if abs(values[0]) < abs(values[1]) else end
    if start[0] == end[0]:
        return nearer
    if values[0] * values[1] > 0.0:
        return nearer[0], advance(nearer[0])
    root, result = brentq(
        lambda time: guard(time, state_at(time)),
        start[0],
        end[0],
        xtol=4e-16 * max(abs(start[0]), abs(end[0]), 1e-300),
        rtol=np.float64(8.9e-16),
        full_output=True,
    )
    assert result.converged
    # At zero or past it: a motion that goes on from here is not to meet it again.
    found, span = float(root), end[0] - start[0]
    move = np.spacing(max(abs(found), abs(span))) * np.sign(span)
    while guard(found, state_at(found)) * values[1] < 0.0 and found != end[0]:
        found = float(found + move) if abs(found + move - end[0]) < abs(found - end[0]) else end[0]
        move *= 2.0
    return found, state_at(found)


def extrema(times: np.ndarray, values: np.ndarray) -> list[float]:
    """Return where parabolas through three looks in a row have a vertex nearer to zero.

    Parameters
    ----------
    times
        (k,), evenly spaced
    values
        (k, guards)
    """
    left, middle, right = values[:-2], values[1:-1], values[2:]
    bend = left - 2.0 * middle + right
    with np.errstate(all="ignore"):
        shift = 0.5 * (left - right) / bend
    near = (middle * bend > 0.0) & (np.abs(shift) < 1.0) & (shift != 0.0)
    rows, columns = np.nonzero(near)
    step = times[1] - times[0]
    return sorted(
        {float(times[r + 1] + shift[r, c] * step) for r, c in zip(rows, columns, strict=True)}
    )


def found_hits(problem: OdeProblem, p: np.ndarray, steps: Steps) -> list[EventHit]:
    """Search steps for events; return them up to the first that interrupts."""
    found: list[EventHit] = []
    for hit in find_events(problem, p, steps):
        found.append(hit)
        if problem.guarded[hit.index].then.interrupts:
            break
    return found
