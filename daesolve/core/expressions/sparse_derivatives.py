"""Derivatives of CasADi functions, as sparse as they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from daesolve.core.expressions.blocks import StateFunction

CROWDED, QUANTILE = 64, 4.0
"""A row with more derivatives than this, and than so many times the usual number, is differentiated
backwards."""


class SparseDerivatives:
    """The derivatives of a CasADi function of (t, x, p) by x, as sparse as they are.

    Columns without a common row are carried along together; rows that depend on nearly everything
    are differentiated backwards.

    Parameters
    ----------
    function
        (t, x, p) -> one dense column.
    p
        The parameters of all calls.

    Attributes
    ----------
    rows, starts
        The rows of the entries, and the start of each column.
    """

    def __init__(self, function: ca.Function, p: np.ndarray) -> None:
        self._function, self._own = StateFunction(function, p), _colouring(function)
        self.rows, self.starts = self._own.rows, self._own.starts

    def __call__(self, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the column, and the entries of its derivatives."""
        own = self._own
        values, along = self._function.derivatives(t, x, own.directions)
        entries = along[own.rows, own.colours]
        if own.crowded.size:
            back = self._function.gradients(t, x, own.crowded)
            entries[own.places] = back[own.columns[own.places], own.numbers]
        return values, entries


@dataclass(frozen=True, eq=False)
class Colouring:
    """Which columns of a sparse matrix of derivatives share a direction.

    Parameters
    ----------
    rows, starts, columns
        The row of each entry, the start of each column, and the column of each entry.
    directions, colours
        (size, k), each a sum of columns; and the direction of each entry.
    crowded, places, numbers
        The rows that have too many entries; which entries these are, and in which of these rows.
    """

    rows: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    directions: np.ndarray
    colours: np.ndarray
    crowded: np.ndarray
    places: np.ndarray
    numbers: np.ndarray


@lru_cache(maxsize=64)
def _colouring(function: ca.Function) -> Colouring:
    pattern = function.jac_sparsity(0, 1)
    rows, starts = (np.array(part, dtype=np.int32) for part in (pattern.row(), pattern.colind()))
    columns = np.repeat(np.arange(pattern.size2(), dtype=np.int32), np.diff(starts))
    counts = np.bincount(rows, minlength=pattern.size1())
    crowded = np.flatnonzero(counts > max(CROWDED, QUANTILE * np.median(counts)))
    places = np.flatnonzero(np.isin(rows, crowded))
    others = np.ones(len(rows), dtype=bool)
    others[places] = False
    rest = ca.Sparsity.triplet(*pattern.shape, rows[others].tolist(), columns[others].tolist())
    colouring = rest.uni_coloring()
    colour = np.zeros(pattern.size2(), dtype=np.int32)
    colour[np.array(colouring.row(), dtype=int)] = np.repeat(
        np.arange(colouring.size2()), np.diff(colouring.colind())
    )
    directions = np.zeros(colouring.shape)
    directions[np.arange(len(colour)), colour] = 1.0
    return Colouring(
        rows, starts, columns, directions, colour[columns], crowded, places,
        np.searchsorted(crowded, rows[places]),
    )  # fmt: skip
