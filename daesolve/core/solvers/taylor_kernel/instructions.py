"""The rows of an expansion as arrays, in an order that keeps like ones together."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions import operations
from daesolve.core.expressions.compilation import for_size
from daesolve.core.expressions.plain_data import cached_result, named
from daesolve.core.solvers.taylor_kernel import kinds, table_rows
from daesolve.core.solvers.taylor_kernel.expansion import NONE, Expansion, Numbers

_compiled: Any = table_rows
LATE = np.zeros(kinds.KINDS, dtype=bool)
LATE[[kinds.PRODUCT, kinds.SUM, kinds.SQUARE, kinds.QUOTIENT]] = True
"""Kinds whose rows are put off until many of them are ready: each walks all lower orders."""
ROWS = np.zeros((kinds.KINDS, 4), dtype=bool)
"""Which operands of a kind are rows."""
for _kind in range(kinds.KINDS):
    ROWS[_kind, : kinds.OPERANDS[_kind]] = True
for _kind, _operand in kinds.NUMBER_OPERAND.items():
    ROWS[_kind, _operand] = False

BORDERS = {kinds.QUOTIENT: 1, kinds.NUMBER_OVER: 1, kinds.ROOT: 0}
"""The operand of a kind at whose zeros its result has no series."""


@dataclass(frozen=True, eq=False)
class Instructions:
    """What the kernel walks.

    Rows are numbered: states, time, then one for each instruction, in this order.

    Parameters
    ----------
    states
        How many there are.
    codes
        (k, 6) of each instruction its kind, up to four operands, and the function that an
        integral starts from.
    ends
        (k, 7) where the groups of the terms of a sum begin in `terms`, and where the last ends.
    terms
        (j, 2) their operands.
    blocks
        (b, 3) kind, first instruction and the one behind the last, of instructions of one kind.
    outputs
        (size, 2) whether an output is a row, and the place of the row or the number.
    borders
        (j, 2) an output, counted from behind the rates, and a row at whose zeros it has a pole or
        a branch point.
    numbers
        p -> all numbers that operands refer to; the parameters come first.
    parameters
        How many there are.
    """

    states: int
    codes: np.ndarray
    ends: np.ndarray
    terms: np.ndarray
    blocks: np.ndarray
    outputs: np.ndarray
    borders: np.ndarray
    numbers: Numbers
    parameters: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.states + 1 + len(self.codes)


_CLASSES = named([Instructions, Numbers])


def instructions(function: ca.Function, *, bounded: bool = False) -> Instructions:
    """Return the instructions for a function of (t, x, p) with one output.

    Parameters
    ----------
    function
        Whose operations have series (`missing_in_series`).
    bounded
        See `Expansion`.
    """
    what = f"instructions {bounded}"
    return cached_result(what, [function], _CLASSES, lambda: _read(function, bounded))


def _read(function: ca.Function, bounded: bool) -> Instructions:
    expansion = Expansion(function, bounded)
    rows, first = expansion.rows, expansion.first
    outputs = np.array(expansion.outputs[0], dtype=np.int64).reshape(-1, 2)
    is_row = outputs[:, 0] == 1
    order, ends, terms = for_size(_compiled.arranged, len(rows))(
        _compiled.VERSION, rows, _operands(rows), outputs[is_row, 1], first, LATE
    )
    places = np.arange(first + len(rows))
    places[first + order] = first + np.arange(len(order))
    codes = rows[order]
    operands = _operands(codes)
    codes[:, 1:5] = np.where(operands == NONE, codes[:, 1:5], places[operands])
    outputs[is_row, 1] = places[outputs[is_row, 1]]
    ends, terms = _sums(ends[order], terms, places)
    behind = outputs[expansion.states :]
    return Instructions(
        expansion.states,
        codes,
        ends,
        terms,
        _blocks(codes),
        outputs,
        _borders(codes, ends, terms, behind, first),
        expansion.numbers(),
        function.nnz_in(2),
    )


def _operands(rows: np.ndarray) -> np.ndarray:
    """Return (k, 4) the operands that are rows themselves; `NONE` for others."""
    taken = ROWS[rows[:, 0]]
    taken[rows[:, 5] == operations.POWER, 3] = False
    return np.where(taken, rows[:, 1:5], NONE)


def _borders(
    codes: np.ndarray, ends: np.ndarray, terms: np.ndarray, outputs: np.ndarray, first: int
) -> np.ndarray:
    """Return what divides, or whose root is taken, in each output; see `Instructions`."""
    if not np.isin(codes[:, 0], list(BORDERS)).any():
        return np.empty((0, 2), dtype=np.int64)
    operands = _operands(codes)
    within = [0] * (first + len(codes))
    for row, kind in enumerate(codes[:, 0].tolist()):
        taken: list[int] = operands[row][operands[row] != NONE].tolist()
        taken += terms[ends[row, 0] : ends[row, -1], 0].tolist()
        taken += terms[ends[row, 0] : ends[row, kinds.PLUS_ROW], 1].tolist()
        own = 1 << int(operands[row, BORDERS[kind]]) if kind in BORDERS else 0
        for place in taken:
            own |= within[place]
        within[first + row] = own
    found = list[tuple[int, int]]()
    for output in np.flatnonzero(outputs[:, 0]).tolist():
        mask = within[int(outputs[output, 1])]
        found += [(output, place) for place in range(mask.bit_length()) if mask >> place & 1]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _sums(ends: np.ndarray, terms: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return `ends` and `terms` of `Instructions`, in the order of the rows."""
    sizes = ends[:, -1] - ends[:, 0]
    starts = np.cumsum(sizes) - sizes
    entries = np.arange(int(sizes.sum()))
    products = entries < np.repeat(starts + ends[:, kinds.PLUS_ROW] - ends[:, 0], sizes)
    found = terms[entries + np.repeat(ends[:, 0] - starts, sizes)]
    found[:, 0] = places[found[:, 0]]
    found[products, 1] = places[found[products, 1]]
    moved = ends + (starts - ends[:, 0])[:, None]
    return moved, found if len(found) else np.zeros((1, 2), dtype=np.int64)


def _blocks(codes: np.ndarray) -> np.ndarray:
    """Return the runs of instructions of one kind."""
    changes = np.flatnonzero(np.diff(codes[:, 0])) + 1
    cuts = [0, *changes.tolist(), len(codes)] if len(codes) else []
    blocks = [(codes[a, 0], a, b) for a, b in itertools.pairwise(cuts)]
    return np.array(blocks, dtype=np.int64).reshape(-1, 3)
