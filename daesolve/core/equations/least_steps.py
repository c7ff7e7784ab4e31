"""The shortest displacements for a wanted change of residuals, and those without a change."""

from __future__ import annotations

import numpy as np
import scipy

from daesolve.core.expressions.linear import SPARSE_FROM
from daesolve.core.expressions.singular_values import shortest_solution
from daesolve.core.expressions.sparse_factors import solved_sparsely

DEPENDENT = 1e-12
"""Singular values below this fraction of the largest count as zero."""
DENSE_FROM = 20
"""The number of unknowns from which factors are tried before singular values."""
CLEAR = 1e-8
"""The reciprocal condition number below which singular values determine the rank."""


def cheapest(slopes: np.ndarray, wanted: np.ndarray, *, quick: bool) -> np.ndarray:
    """Return the shortest d with slopes @ d = wanted, or with the smallest error."""
    found = _bordered(slopes, np.zeros(int(slopes.shape[1])), wanted)
    found = _of_clear_rank(slopes, wanted) if found is None and quick else found
    return shortest_solution(slopes, wanted, DEPENDENT) if found is None else found


def _of_clear_rank(slopes: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """Solve by a pivoted QR factorisation, three times faster than singular values.

    Return None for few unknowns, where it is not faster, or if the rank is doubtful.
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
    """Return the part of a displacement that the slopes do not affect."""
    found = _bordered(slopes, displacement, np.zeros(len(slopes)))
    if found is None:
        return displacement - slopes.T @ shortest_solution(slopes.T, displacement, DEPENDENT)
    return found


def _bordered(slopes: np.ndarray, free: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """Solve d + slopes^T l = free, slopes d = wanted by sparse factors.

    Return None for small systems, or if the slopes are nearly dependent; dense least squares handle
    these.
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
