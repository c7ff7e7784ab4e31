"""Where guards pass through zero along accepted steps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from daesolve.formulations import OdeProblem
from daesolve.goals import Direction
from daesolve.solvers.base import BufferedFunction, EventHit
from daesolve.translation import evaluate_block

LOOKS = 8
"""Parts of a step at whose ends guards are evaluated."""
MOST_LOOKS = 4096
FEW = 4
"""With fewer steps than these, each is looked into."""
ROUGH = {"between": 1.5, "within": 0.4}
"""Third over first differences that show what is not resolved: between steps, which are uneven,
and between even looks within one."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Accepted steps with the method's own dense output.

    Parameters
    ----------
    times
        (k + 1,) from the start of the first step.
    states
        (k + 1, size)
    dense
        times (j,) -> states (j, size) between the first and the last.
    """

    times: np.ndarray
    states: np.ndarray
    dense: Callable[[np.ndarray], np.ndarray]


def find_events(problem: OdeProblem, p: np.ndarray, steps: Steps) -> list[EventHit]:
    """Return where guards pass through zero in their directions, in the order of integration.

    All steps are judged by the guards at their ends at once. A step is looked into where a guard
    changes its sign, or comes so near to zero that it might dip through it in between: nearer
    than it moves from step to step there.

    Parameters
    ----------
    problem
        Its guards and events.
    p
        The values.
    steps
        The accepted steps.
    """
    directions = [event.direction for event in problem.events]
    table = evaluate_block(problem.guards, steps.times, steps.states, p)[0]
    near = np.flatnonzero(worth_a_look(table))
    guards = BufferedFunction(problem.guards, p)

    def state_at(time: float) -> np.ndarray:
        return steps.dense(np.array([time]))[0]

    found: list[EventHit] = []
    for step in near[_may_hold_a_zero(problem, p, steps, near)]:
        looks, values = _looked_into(problem, p, steps, int(step))
        for left in range(len(looks) - 1):
            for index in crossings(values[left], values[left + 1], directions):
                time, state = locate(
                    lambda t, x, index=index: float(guards(t, x)[index]),
                    state_at,
                    *((float(t), state_at(float(t))) for t in looks[left : left + 2]),
                )
                found.append(EventHit(index, time, state))
    sign = 1.0 if steps.times[-1] >= steps.times[0] else -1.0
    return sorted(found, key=lambda hit: sign * hit.time)


def _may_hold_a_zero(
    problem: OdeProblem, p: np.ndarray, steps: Steps, near: np.ndarray
) -> np.ndarray:
    """Look into steps, all at once, and tell which of them need a closer look."""
    if not near.size:
        return np.zeros(0, dtype=bool)
    starts, ends = steps.times[near], steps.times[near + 1]
    looks = starts[:, None] + (ends - starts)[:, None] * np.arange(LOOKS + 1) / LOOKS
    moments = np.clip(looks.ravel(), min(steps.times[[0, -1]]), max(steps.times[[0, -1]]))
    values = evaluate_block(problem.guards, moments, steps.dense(moments), p)[0]
    values = np.moveaxis(values.reshape(len(near), LOOKS + 1, -1), 0, 1)
    left, middle, right = values[:-2], values[1:-1], values[2:]
    with np.errstate(all="ignore"):
        bend = left - 2.0 * middle + right
        top = middle - (left - right) ** 2 / (8.0 * bend)
        moves = np.maximum(np.abs(left - middle), np.abs(right - middle))
        dips = (middle * bend > 0.0) & ((top * middle <= 0.0) | (np.abs(top) <= 0.5 * moves))
        changes = values[:-1] * values[1:] <= 0.0
    rough = _rough(values, ROUGH["within"])
    return np.any(changes, axis=(0, 2)) | np.any(dips, axis=(0, 2)) | np.any(rough, axis=(0, 2))


def _looked_into(
    problem: OdeProblem, p: np.ndarray, steps: Steps, step: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return times within a step and the guards there, so close that each is smooth between."""
    start, end = steps.times[step], steps.times[step + 1]
    parts = LOOKS
    while True:
        looks = np.linspace(start, end, parts + 1)
        values = evaluate_block(problem.guards, looks, steps.dense(looks), p)[0]
        # Even looks may fall in step with an oscillation, but not at two distances.
        if parts >= MOST_LOOKS or not any(
            np.any(_rough(table, ROUGH["within"])) for table in (values, values[::2])
        ):
            break
        parts *= 2
    extra = np.array(extrema(looks, values))
    if extra.size:
        order = np.argsort(np.concatenate([looks, extra]) * np.sign(end - start), kind="stable")
        more = evaluate_block(problem.guards, extra, steps.dense(extra), p)[0]
        looks = np.concatenate([looks, extra])[order]
        values = np.vstack([values, more])[order]
    return looks, values


def worth_a_look(table: np.ndarray) -> np.ndarray:
    """Tell which of the steps between the rows of (k + 1, guards) may hold a zero.

    It changes its sign in them, comes nearer to zero than it moves from step to step there, or is
    not smooth from one to the next; with few steps each may.
    """
    if len(table) <= FEW:
        return np.ones(len(table) - 1, dtype=bool)
    with np.errstate(invalid="ignore"):
        moves = np.abs(np.diff(table, axis=0))
        sizes = np.minimum(np.abs(table[:-1]), np.abs(table[1:]))
        worth = (table[:-1] * table[1:] <= 0.0) | (sizes <= _around(moves))
    rough = _rough(table, ROUGH["between"])
    for shift in range(3):
        worth[shift : len(rough) + shift] |= rough
    return np.any(worth & np.isfinite(moves), axis=1)


def _around(moves: np.ndarray) -> np.ndarray:
    """Return the largest of each row and its neighbours."""
    largest = moves.copy()
    largest[1:] = np.maximum(largest[1:], moves[:-1])
    largest[:-1] = np.maximum(largest[:-1], moves[1:])
    return largest


def _rough(table: np.ndarray, limit: float) -> np.ndarray:
    """Tell, for four rows in a row, whether they are no smooth function: it moves in between."""
    with np.errstate(invalid="ignore"):
        moves = np.abs(np.diff(table, axis=0))
        largest = np.maximum(np.maximum(moves[:-2], moves[1:-1]), moves[2:])
        noise = 1e-12 * np.max(np.abs(table), axis=0, initial=0.0)
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
        The first time known to lie at or past the event, and the state there.
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
    if values[0] * values[1] > 0.0:
        nearer = start if abs(values[0]) < abs(values[1]) else end
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
    return float(root), state_at(float(root))


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
