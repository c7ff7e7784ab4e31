"""Where in steps the arguments of hidden terms say that these may wake up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from daesolve.core.solvers.unresolved_terms import UnresolvedTerms

FIRST_LOOKS = (0.27, 0.66)
"""The fractions of each step at which arguments are examined besides its ends."""
LOOKS = (1.0 - np.cos(np.pi * np.arange(17) / 16)) / 2.0
"""The fractions of a step at which a term may wake up: closer at its ends, where polynomials
bend."""
CLOSER = 8
"""The number of parts of a stretch of a step that is examined."""
SCATTERED = 4
"""Turns in a step from which an argument may be rounding."""
SCATTER = 12.0
"""How far the logarithm of rounding moves: what is left is 1e-6 to 1 of the largest."""
EXTREMUM_ROUNDS = 16
CROSSING_ROUNDS = 12
LARGEST = 1e300

Arguments = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(steps (j,), parts of them (j,)) -> the arguments there, (j, m)"""


def may_activate(hidden: UnresolvedTerms, looks: np.ndarray) -> np.ndarray:
    """Return in which steps a term may wake up.

    Parameters
    ----------
    hidden
        The terms.
    looks
        (looks, k, m) arguments at a few places in each step, from its start to its end.
    """
    return np.any(_active(hidden, looks), axis=1)


def turns(hidden: UnresolvedTerms, looks: np.ndarray) -> np.ndarray:
    """Return how far phases turn in each step, (k, phases), rad."""
    with np.errstate(invalid="ignore", over="ignore"):
        moves = np.sum(np.abs(np.diff(looks[:, :, hidden.turns], axis=0)), axis=0)
    return np.nan_to_num(moves, nan=0.0, posinf=0.0)


def may_activate_in(
    hidden: UnresolvedTerms, ends: np.ndarray, inside: tuple[np.ndarray, ...], turned: float
) -> np.ndarray:
    """Return in which motions a term may wake up in a step, or a phase turns farther, (lanes,).

    Parameters
    ----------
    hidden
        The terms.
    ends, inside
        (lanes, k + 1, m) arguments at the ends of steps, and (lanes, k, m) at places within.
    turned
        How far a phase may turn in a step, rad.
    """
    # numba is imported where something is looked at.
    from daesolve.core.solvers.compiled_checks import have_active

    kinds, turns = (hidden.low, hidden.high, hidden.width), (hidden.turns, turned)
    return have_active(ends, inside, kinds, LARGEST, turns)


def _active(hidden: UnresolvedTerms, looks: np.ndarray) -> np.ndarray:
    """Return which arguments, (k, m), move so much, and come so near, that terms may hide.

    Between looks an argument goes no farther beyond them than it moves from one to the next.
    """
    # numba is imported where something is looked at.
    from daesolve.core.solvers.compiled_checks import are_active

    return are_active(looks, hidden.low, hidden.high, hidden.width, LARGEST)


def check_points(
    hidden: UnresolvedTerms, arguments: Arguments, steps: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places at which to hold steps against the equations.

    These are looks into each step, the extrema and zeros of the arguments, and what lies half way
    between neighbours.

    Parameters
    ----------
    hidden
        The terms.
    arguments
        Of these.
    steps
        (k,) in which terms may wake up.

    Returns
    -------
    tuple
        (j,) steps and (j,) parts of them, in order; none for steps that turn out to be quiet.
    """
    values = _evaluated(arguments, steps, np.tile(LOOKS, (len(steps), 1)))
    active = _active(hidden, np.moveaxis(values, 1, 0))
    awake = np.any(active, axis=1)
    steps, values = steps[awake], values[awake]
    active = active[awake] & ~_scatter(values)
    rows = [np.repeat(np.arange(len(steps)), len(LOOKS))]
    parts = [np.tile(LOOKS, len(steps))]
    for row, part in (
        _extrema(arguments, steps, values, active),
        _zeros(arguments, steps, values, active),
    ):
        rows.append(row)
        parts.append(part)
    row, part = np.concatenate(rows), np.concatenate(parts)
    order = np.lexsort((part, row))
    row, part = row[order], part[order]
    same = row[1:] == row[:-1]
    row = np.append(row, row[1:][same])
    part = np.append(part, (0.5 * (part[1:] + part[:-1]))[same])
    order = np.lexsort((part, row))
    return steps[row[order]], part[order]


def _evaluated(arguments: Arguments, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the arguments, (k, n, m), at n parts of each of k steps, (k, n)."""
    flat = arguments(np.repeat(steps, parts.shape[1]), parts.ravel())
    flat = np.nan_to_num(flat, nan=LARGEST, posinf=LARGEST, neginf=-LARGEST)
    return flat.reshape(*parts.shape, -1)


def _extrema(
    arguments: Arguments, steps: np.ndarray, values: np.ndarray, active: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where arguments have an extremum within a step: rows of steps, and parts."""
    moves, turns = _turns(values)
    row, look, which = np.nonzero(turns & active[:, None, :])
    if not row.size:
        return row, np.zeros(0)
    way = np.where(moves[row, look, which] != 0.0, moves[row, look, which], 0.0)
    way = np.where(way == 0.0, -moves[row, look + 1, which], way)
    left, right = LOOKS[look], LOOKS[look + 2]
    grid = np.arange(CLOSER + 1) / CLOSER
    every = np.arange(len(row))
    for _ in range(EXTREMUM_ROUNDS):
        parts = left[:, None] + (right - left)[:, None] * grid
        found = _evaluated(arguments, steps[row], parts)[every, :, which]
        best = np.argmax(way[:, None] * found, axis=1)
        left = parts[every, np.maximum(best - 1, 0)]
        right = parts[every, np.minimum(best + 1, CLOSER)]
    return row, 0.5 * (left + right)


def _turns(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ways that arguments go between looks, and about which inner looks they turn."""
    with np.errstate(over="ignore"):
        moves = np.sign(np.diff(values, axis=1))
    return moves, (moves[:, :-1] * moves[:, 1:] <= 0.0) & (moves[:, :-1] != moves[:, 1:])


def _scatter(values: np.ndarray) -> np.ndarray:
    """Return which arguments, (k, m), are rounding: log|x| of an x that should be zero.

    They turn again and again, are infinite where x is zero to the bit, and go neither far up nor
    down elsewhere.
    """
    beside = np.abs(values) < LARGEST
    high = np.max(np.where(beside, values, -np.inf), axis=1)
    low = np.min(np.where(beside, values, np.inf), axis=1)
    often = np.sum(_turns(values)[1], axis=1) >= SCATTERED
    return often & ~np.all(beside, axis=1) & (high - low < SCATTER)


def _zeros(
    arguments: Arguments, steps: np.ndarray, values: np.ndarray, active: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return places just before and after zeros within steps: rows of steps, and parts."""
    signs = np.sign(values)
    row, look, which = np.nonzero((signs[:, :-1] != signs[:, 1:]) & active[:, None, :])
    if not row.size:
        return row, np.zeros(0)
    left, right = LOOKS[look], LOOKS[look + 1]
    before = signs[row, look, which]
    grid = np.arange(CLOSER + 1) / CLOSER
    every = np.arange(len(row))
    for _ in range(CROSSING_ROUNDS):
        parts = left[:, None] + (right - left)[:, None] * grid
        found = _evaluated(arguments, steps[row], parts)[every, :, which]
        changed = np.sign(found) != before[:, None]
        changed[:, -1] = True
        first = np.maximum(np.argmax(changed, axis=1), 1)
        left, right = parts[every, first - 1], parts[every, first]
    return np.tile(row, 2), np.concatenate([left, right])
