"""Sparse factors of numbers, where a dense solution would cost the cube of the size."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

SPARSE_FROM = 200
"""Unknowns from which sparse factors are worth their overhead."""
DEPENDENT = 1e-9
"""A pivot below this part of the largest one: the rows may depend on each other."""


def solved_sparsely(matrix: csc_array, right: np.ndarray) -> np.ndarray | None:
    """Solve a square system by sparse factors; None where its rows nearly depend on each other.

    Parameters
    ----------
    matrix
        (n, n), scaled: its pivots are compared.
    right
        (n,)
    """
    try:
        factors = splu(matrix)
    except RuntimeError:  # It is singular.
        return None
    pivots = np.abs(factors.U.diagonal())
    if not np.min(pivots) >= DEPENDENT * np.max(pivots):
        return None
    return factors.solve(right)
