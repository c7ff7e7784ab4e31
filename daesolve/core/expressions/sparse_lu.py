"""Sparse factors recomputed for known positions and pivots, compiled by numba.

Columns of A are in the order of the factors, and entries of a column of L or U in the order of
rows. Only the positions of the factors' non-zeros depend on the pivots; they are found once.
"""
# numba's decorators have no types.
# pyright: basic

from __future__ import annotations

import sys

import numpy as np

from daesolve.core.expressions import compilation
from daesolve.core.expressions.compilation import compile_once, version_of

VERSION = version_of(compilation, sys.modules[__name__])


@compile_once
def filled(version, rows, starts, size):
    """Return the positions of non-zeros in L (below its unit diagonal) and U (above its own).

    Parameters
    ----------
    rows, starts
        Those of A with rows and columns in the order of the pivots.

    Returns
    -------
    tuple
        rows of L, starts of its columns, rows of U, starts of its columns.
    """
    room = 4 * len(rows) + size
    below, above = np.empty(room, np.uint32), np.empty(room, np.uint32)
    low, high = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    marked = np.full(size, -1, np.int64)
    for j in range(size):
        for n in range(starts[j], starts[j + 1]):
            marked[rows[n]] = j
        for k in range(j):
            if marked[k] == j:
                for n in range(low[k], low[k + 1]):
                    marked[below[n]] = j
        while max(low[j], high[j]) + size > len(below):
            below = np.concatenate((below, np.empty(len(below), np.uint32)))
            above = np.concatenate((above, np.empty(len(above), np.uint32)))
        low[j + 1], high[j + 1] = low[j], high[j]
        for i in range(size):
            if marked[i] == j and i < j:
                above[high[j + 1]] = i
                high[j + 1] += 1
            elif marked[i] == j and i > j:
                below[low[j + 1]] = i
                low[j + 1] += 1
    return below[: low[size]], low, above[: high[size]], high


@compile_once
def factorised(version, data, rows, starts, places, pattern, lower, upper, pivots, least):
    """Compute the factors; return whether each pivot is large enough in its column.

    Parameters
    ----------
    data
        Entries of A, in any order.
    rows, starts, places
        Those of A as in `filled`, and the index in `data` of each entry.
    pattern
        From `filled`.
    lower, upper, pivots
        Receive the entries of L, of U, and the inverse diagonal of U.
    least
        The least pivot relative to the largest number below it.
    """
    below, low, above, high = pattern
    column = np.zeros(len(pivots), data.dtype)
    for j in range(len(pivots)):
        for n in range(starts[j], starts[j + 1]):
            column[rows[n]] = data[places[n]]
        for m in range(high[j], high[j + 1]):
            k = above[m]
            factor = column[k]
            upper[m] = factor
            column[k] = 0.0
            if factor != 0.0:
                for n in range(low[k], low[k + 1]):
                    column[below[n]] -= lower[n] * factor
        pivot, largest = column[j], 0.0
        column[j] = 0.0
        for n in range(low[j], low[j + 1]):
            largest = max(largest, abs(column[below[n]]))
        if not abs(pivot) > least * largest:
            return False
        inverse = 1.0 / pivot
        pivots[j] = inverse
        for n in range(low[j], low[j + 1]):
            lower[n] = column[below[n]] * inverse
            column[below[n]] = 0.0
    return True


@compile_once
def solved(version, pattern, lower, upper, pivots, right):
    """Overwrite a right side with the solution, (size,), both in the order of the pivots."""
    below, low, above, high = pattern
    size = len(pivots)
    for j in range(size):
        factor = right[j]
        if factor != 0.0:
            for n in range(low[j], low[j + 1]):
                right[below[n]] -= lower[n] * factor
    for j in range(size - 1, -1, -1):
        factor = right[j] * pivots[j]
        right[j] = factor
        if factor != 0.0:
            for n in range(high[j], high[j + 1]):
                right[above[n]] -= upper[n] * factor
