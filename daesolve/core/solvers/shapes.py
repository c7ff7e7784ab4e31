"""What looks at guards say of their course between: the shapes that a few values show."""

from __future__ import annotations

import numpy as np

FEW = 8
"""With fewer rows of guards than these, each step is looked into."""
ROUGH = {"between": 1.5, "within": 0.4}
"""Third over first differences that show what is not resolved: between steps, which are uneven,
and between even looks within one."""
AROUND = 12
"""Rows to both sides of those between which a guard is not smooth: there it may only seem so."""


def dips(values: np.ndarray) -> np.ndarray:
    """Return where a parabola through three even looks reaches zero, or nearly, between them."""
    left, middle, right = values[:-2], values[1:-1], values[2:]
    with np.errstate(all="ignore"):
        bend = left - 2.0 * middle + right
        top = middle - (left - right) ** 2 / (8.0 * bend)
        moves = np.maximum(np.abs(left - middle), np.abs(right - middle))
        return (middle * bend > 0.0) & ((top * middle <= 0.0) | (np.abs(top) <= 0.5 * moves))


def worth_a_look(times: np.ndarray, table: np.ndarray, still: np.ndarray) -> np.ndarray:
    """Return which of the stretches between the rows of (k + 1, guards) may hold a zero.

    A guard changes its sign in them, comes nearer to zero than it moves around there, is not
    smooth from one to the next, or begins or ceases to be a number; with few rows each may. What
    is still (k, guards) holds none.
    """
    if len(table) <= FEW:
        return np.ones(len(table) - 1, dtype=bool)
    worth = _near_zero(times[:, None], table)
    rough = np.any(_rough(table, ROUGH["between"]) & ~still[1:-1], axis=1)
    wide = np.convolve(rough, np.ones(2 * AROUND + 3))[AROUND : AROUND + len(worth)]
    return np.any(worth & ~still, axis=1) | (wide > 0.0)


def stretches_near(times: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return which stretches between rows are worth a look, (motions, k); see `worth_a_look`.

    Parameters
    ----------
    times
        (motions, k + 1)
    table
        (motions, k + 1, guards), more than `FEW` rows, of guards that may all be looked into.
    """
    # numba is imported where something is looked at.
    from daesolve.core.solvers.compiled_checks import are_near

    return are_near(times, table, ROUGH["between"])


def _near_zero(times: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return between which rows a guard changes its sign, or is nearer to zero than it moves."""
    with np.errstate(all="ignore"):
        spans = np.abs(np.diff(times, axis=0))
        reach = _around(np.abs(np.diff(table, axis=0)) / spans) * spans
        sizes = np.minimum(np.abs(table[:-1]), np.abs(table[1:]))
        return (table[:-1] * table[1:] <= 0.0) | (sizes <= 2.0 * reach) | appears(table)


def appears(table: np.ndarray) -> np.ndarray:
    """Return between which rows a guard begins or ceases to be a finite number."""
    finite = np.isfinite(table)
    return finite[:-1] != finite[1:]


def _around(slopes: np.ndarray) -> np.ndarray:
    """Return the largest number of each row and its neighbours."""
    largest = slopes.copy()
    largest[1:] = np.fmax(largest[1:], slopes[:-1])
    largest[:-1] = np.fmax(largest[:-1], slopes[1:])
    return largest


def unresolved(values: np.ndarray, rounding: np.ndarray | float = 0.0) -> tuple[np.ndarray, ...]:
    """Return where even looks show no smooth function, by more than rounding of each guard.

    They may fall in step with an oscillation, but not at two distances.
    """
    return tuple(_rough(part, ROUGH["within"], rounding) for part in (values, values[::2]))


def rough_stretches(
    values: np.ndarray, rounding: np.ndarray | float = 0.0
) -> list[tuple[int, int]]:
    """Return from which to which of even looks they show no smooth function, and one beside.

    As `unresolved`; stretches that touch each other are one.
    """
    rough = np.zeros(len(values) + 1, dtype=bool)
    for spacing, table in enumerate(unresolved(values, rounding), start=1):
        for first in spacing * np.flatnonzero(table.any(axis=1)):
            rough[max(first - 1, 0) : min(first + 3 * spacing + 1, len(values) - 1)] = True
    edges = np.flatnonzero(np.diff(rough.astype(int), prepend=0))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _rough(table: np.ndarray, limit: float, rounding: np.ndarray | float = 0.0) -> np.ndarray:
    """Return, for every four successive rows, whether the function between them is not smooth."""
    with np.errstate(invalid="ignore"):
        moves = np.abs(np.diff(table, axis=0))
        largest = np.maximum(np.maximum(moves[:-2], moves[1:-1]), moves[2:])
        sizes = np.where(np.isfinite(table), np.abs(table), 0.0)
        noise = 1e-12 * np.max(sizes, axis=0, initial=0.0)
        return np.abs(np.diff(table, 3, axis=0)) > limit * largest + noise + 8.0 * rounding


def extrema(times: np.ndarray, values: np.ndarray) -> list[float]:
    """Return where parabolas through three looks in a row have a vertex nearer to zero.

    Parameters
    ----------
    times
        (k,), evenly spaced
    values
        (k, guards)
    """
    return sorted(set(vertices(times[None, :], values[None])[1].tolist()))


def vertices(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where such parabolas in several steps have vertices: which steps, and the times.

    Parameters
    ----------
    times
        (steps, k), evenly spaced
    values
        (steps, k, guards)
    """
    left, middle, right = values[:, :-2], values[:, 1:-1], values[:, 2:]
    bend = left - 2.0 * middle + right
    with np.errstate(all="ignore"):
        shift = 0.5 * (left - right) / bend
    near = (middle * bend > 0.0) & (np.abs(shift) < 1.0) & (shift != 0.0)
    step, look, guard = np.nonzero(near)
    if not step.size:
        return step, np.zeros(0)
    length = times[step, 1] - times[step, 0]
    return step, times[step, look + 1] + shift[step, look, guard] * length
