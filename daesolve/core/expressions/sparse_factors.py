"""Factors of sparse matrices with a common pattern.

SuperLU chooses an order and pivots for the first matrix. For later ones the factors are recomputed
in the known pattern, as long as the pivots are large enough. Matrices of 384 rows and 5490 entries
(one core) take 1.2 ms by SuperLU and 0.13 ms when recomputed; complex ones take 1.6 to 1.9 and 0.28
ms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

Solve = Callable[[np.ndarray], np.ndarray]
THRESHOLD = 0.1
"""A pivot on the diagonal is kept if it is this part of the largest number below it: half as many
numbers fill in."""
LEAST = 1e-3
"""The least pivot relative to the largest number below it; SuperLU's are at least `THRESHOLD`."""
DEPENDENT = 1e-9
"""If a pivot is smaller, relative to the largest, the rows may depend on each other."""
ORDER = "MMD_AT_PLUS_A"
"""The column ordering: patterns of mechanisms are nearly symmetric."""


class AlikeMatrices:
    """Factorises matrices with a common pattern.

    Parameters
    ----------
    rows, starts
        The rows of the entries, and the start of each column.
    """

    def __init__(self, rows: np.ndarray, starts: np.ndarray) -> None:
        self._rows, self._starts = rows, starts
        self._columns = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self._known: dict[np.dtype[Any], _Pivots] = {}

    def factorise(self, entries: np.ndarray) -> Solve | None:
        """Return the solver for a matrix; None if it is singular or not finite."""
        if not np.all(np.isfinite(entries)):
            return None
        known = self._known.get(entries.dtype)
        solve = None if known is None else known.solving(entries)
        if solve is not None:
            return solve
        pivots = self._pivots(entries)
        if pivots is None:
            return None
        self._known[entries.dtype] = pivots
        return pivots.solving(entries)

    def _pivots(self, entries: np.ndarray) -> _Pivots | None:
        # numba is imported only when something is factorised.
        from daesolve.core.expressions import sparse_lu

        compiled: Any = sparse_lu
        size = len(self._starts) - 1
        sizes = np.abs(entries)
        rows = powers_of_two(sizes, self._rows, size)
        columns = powers_of_two(sizes * rows[self._rows], self._columns, size)
        scales = rows[self._rows] * columns[self._columns]
        matrix = scipy.sparse.csc_array(
            (entries * scales, self._rows, self._starts), shape=(size, size)
        )
        try:
            factors = scipy.sparse.linalg.splu(
                matrix, permc_spec=ORDER, diag_pivot_thresh=THRESHOLD
            )
        except RuntimeError:  # The matrix is exactly singular.
            return None
        into, out_of = factors.perm_r.astype(np.int64), factors.perm_c.astype(np.int64)
        row, column = into[self._rows], out_of[self._columns]
        places = np.lexsort((row, column))
        ordered = row[places].astype(np.uint32)
        starts = np.searchsorted(column[places], np.arange(size + 1))
        pattern = compiled.filled(compiled.VERSION, ordered, starts, size)
        return _Pivots(rows, columns, scales, into, out_of, (ordered, starts, places), pattern)


@dataclass(frozen=True, eq=False)
class _Pivots:
    """An order of rows and columns in which matrices have been factorised.

    Parameters
    ----------
    rows, columns, scales
        The factors of rows, columns and entries.
    into, out_of
        The new positions of rows and of columns.
    matrix, pattern
        The resulting positions of entries, and of entries of the factors (`sparse_lu.filled`).
    """

    rows: np.ndarray
    columns: np.ndarray
    scales: np.ndarray
    into: np.ndarray
    out_of: np.ndarray
    matrix: tuple[np.ndarray, np.ndarray, np.ndarray]
    pattern: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

    def solving(self, entries: np.ndarray) -> Solve | None:
        """Return the solver for a matrix; None if these pivots are too small for it."""
        from daesolve.core.expressions import sparse_lu

        compiled: Any = sparse_lu
        below, _, above, _ = self.pattern
        lower, upper = (np.empty(len(part), entries.dtype) for part in (below, above))
        pivots = np.empty(len(self.into), entries.dtype)
        version, pattern = compiled.VERSION, self.pattern
        if not compiled.factorised(
            version, entries * self.scales, *self.matrix, pattern, lower, upper, pivots, LEAST
        ):
            return None

        def solve(right_side: np.ndarray) -> np.ndarray:
            found = np.empty(len(pivots), pivots.dtype)
            found[self.into] = self.rows * right_side
            compiled.solved(version, pattern, lower, upper, pivots, found)
            return self.columns * found[self.out_of]

        return solve


def powers_of_two(sizes: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """Return powers of two that bring the largest entry of each row or column near one."""
    largest = np.zeros(count)
    np.maximum.at(largest, places, sizes)
    return 2.0 ** -np.round(np.log2(np.where(largest > 0.0, largest, 1.0)))


def solved_sparsely(matrix: scipy.sparse.csc_array, right: np.ndarray) -> np.ndarray | None:
    """Solve a square system by sparse factors; None if its rows are nearly dependent.

    Parameters
    ----------
    matrix
        (n, n), scaled, because its pivots are compared.
    right
        (n,)
    """
    # SuperLU calls BLAS with wrong sizes where rows have no pivots by their structure alone.
    if scipy.sparse.csgraph.structural_rank(matrix) < matrix.shape[0]:
        return None
    try:
        factors = scipy.sparse.linalg.splu(matrix)
    except RuntimeError:  # The matrix is singular.
        return None
    pivots = np.abs(factors.U.diagonal())
    if not np.min(pivots) >= DEPENDENT * np.max(pivots):
        return None
    return factors.solve(right)
