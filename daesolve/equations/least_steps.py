"""The shortest displacements that change residuals as is wanted, and those that leave them."""

from __future__ import annotations

import numpy as np
import scipy

from daesolve.algebra.linear import SPARSE_FROM, solved_sparsely
from daesolve.algebra.singular_values import shortest_solution

DEPENDENT = 1e-12
"""A singular value below this part of the largest counts as none."""
DENSE_FROM = 20
"""Unknowns from which dense matrices take time: then factors come before singular values."""
CLEAR = 1e-8
"""Condition beyond which the rank is left to singular values."""


def cheapest(slopes: np.ndarray, wanted: np.ndarray, *, quick: bool) -> np.ndarray:
    """Return the shortest d with slopes @ d = wanted, or the one that misses least."""
    found = _bordered(slopes, np.zeros(int(slopes.shape[1])), wanted)
    found = _of_clear_rank(slopes, wanted) if found is None and quick else found
    return shortest_solution(slopes, wanted, DEPENDENT) if found is None else found


def _of_clear_rank(slopes: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """Solve by a pivoted QR factorisation, which takes a third of the time of singular values.

    None for few unknowns, where it takes no less, and where the rank is not beyond doubt.
    """
    rows, columns = slopes.shape
    if columns < DENSE_FROM:
        return None
    right = np.zeros((max(rows, columns), 1))
    right[:rows, 0] = wanted
    pivots = np.zeros((columns, 1), dtype=np.int32)
    workspace = int(scipy.linalg.lapack.dgelsy_lwork(rows, columns, 1, CLEAR)[0])
    _, found, _, rank, failed = scipy.linalg.lapack.dgelsy(slopes, right, pivots, CLEAR, workspace)
    return None if failed or rank < min(rows, columns) else found[:columns, 0]


def along(slopes: np.ndarray, displacement: np.ndarray) -> np.ndarray:
    """Return the part of a displacement that the slopes do not see."""
    found = _bordered(slopes, displacement, np.zeros(len(slopes)))
    if found is None:
        return displacement - slopes.T @ shortest_solution(slopes.T, displacement, DEPENDENT)
    return found


def _bordered(slopes: np.ndarray, free: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """Solve d + slopes^T l = free, slopes d = wanted by sparse factors.

    None for small systems, and where the slopes nearly depend on each other: dense least squares
    are for those.
    """
    columns = slopes.shape[1]
    if columns < SPARSE_FROM:
        return None
    border = scipy.sparse.csc_array(slopes)
    matrix = scipy.sparse.csc_array(
        scipy.sparse.block_array([[scipy.sparse.eye_array(columns), border.T], [border, None]])
    )
    found = solved_sparsely(matrix, np.concatenate([free, wanted]))
    return None if found is None else found[:columns]
