"""Linear systems as straight-line code.

Straight-line code contains every operation once, in a fixed order. CasADi's generic `solve` writes
a QR factorisation that costs many times more and whose rounding drifts; `casadi.ldl` orders only
for fill and divides by zero on a saddle matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import cast

import casadi as ca
import numpy as np
import scipy

from daesolve.errors import PosingError

# The operators of scalars spend most of their time on determining the types of operands.
plus, less, times, over = (
    partial(ca.SX.binary, operation) for operation in (ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV)
)
Entries = dict[int, dict[int, ca.SX]]
"""A sparse square matrix: `entries[row][column]`."""
SPARSE_FROM = 200
"""The number of unknowns from which sparse factors are worth their overhead."""


def is_zero(expression: ca.SX) -> bool:
    """Return whether an expression is zero by its structure."""
    return expression.nnz() == 0 or bool(expression.is_zero())


def entries_of(matrix: ca.SX, row_offset: int = 0, column_offset: int = 0) -> Entries:
    """Return the structural non-zeros of a matrix, its indices shifted by the offsets."""
    entries: Entries = {}
    rows, columns = matrix.sparsity().get_triplet()
    values = cast("list[ca.SX]", matrix.nonzeros())
    for row, column, value in zip(rows, columns, values, strict=True):
        if not is_zero(value):
            entries.setdefault(row + row_offset, {})[column + column_offset] = value
    return entries


def merge(*parts: Entries) -> Entries:
    """Join matrices whose non-zeros do not overlap."""
    joined: Entries = {}
    for part in parts:
        for row, columns in part.items():
            joined.setdefault(row, {}).update(columns)
    return joined


def minimum_degree_order(
    entries: Entries,
    nodes: Iterable[int],
    after: Mapping[int, frozenset[int]],
    states: ca.SX | None = None,
) -> list[int]:
    """Order the pivots of a symmetric pattern so that little fills in.

    A coordinate is eliminated late if its elimination would make constant pivots of other
    coordinates depend on the state: with a constant pivot, divisions become multiplications
    computed once.

    Parameters
    ----------
    entries
        The matrix; its pattern is made symmetric.
    nodes
        The indices to pivot on.
    after
        For a node, its predecessors. A multiplier follows every coordinate in its constraint, so
        its pivot is the remainder of -J M^-1 J^T: never zero by accident.
    states
        The symbols of the state; None if numbers count like other entries.
    """
    graph = _Graph(entries, nodes, after, states)
    ranks = {node: graph.rank(node) for node in graph.waiting if graph.is_free(node)}
    queue = sorted(ranks.values())
    order: list[int] = []
    while graph.waiting:
        best = heappop(queue)
        node = best[2]
        if ranks.get(node) != best:
            continue  # Its rank has changed since.
        order.append(node)
        del ranks[node]
        for other in graph.eliminate(node):
            if graph.is_free(other) and ranks.get(other) != (found := graph.rank(other)):
                ranks[other] = found
                heappush(queue, found)
    return order


class _Graph:
    """The pattern of a matrix under elimination: couplings and precedences."""

    def __init__(
        self,
        entries: Entries,
        nodes: Iterable[int],
        after: Mapping[int, frozenset[int]],
        states: ca.SX | None,
    ) -> None:
        self.waiting = set(nodes)
        self._after = after
        self._neighbours: dict[int, set[int]] = {node: set() for node in self.waiting}
        for row, columns in entries.items():
            for column in columns:
                if row != column:
                    self._neighbours.setdefault(row, set()).add(column)
                    self._neighbours.setdefault(column, set()).add(row)
        self._required = {
            node: set(after.get(node, frozenset())) & self.waiting for node in self.waiting
        }
        self._delayed: dict[int, list[int]] = {}
        for node, earlier in self._required.items():
            for one in earlier:
                self._delayed.setdefault(one, []).append(node)
        self._varying = _Varying(entries, states)

    def is_free(self, node: int) -> bool:
        """Return whether all predecessors of a node have been eliminated."""
        return not self._required[node]

    def rank(self, node: int) -> tuple[int, int, int]:
        """Return the rank that determines the order: least first."""
        near = self._neighbours[node]
        counts = not self._after.get(node)
        spoilt = self._varying.count_spoilt_by(node, near & self.waiting) if counts else 0
        return spoilt, len(near), node

    def eliminate(self, node: int) -> set[int]:
        """Remove a node; return those whose rank may have changed."""
        self.waiting.remove(node)
        clique = self._neighbours.pop(node)
        touched = self._varying.eliminate(node, clique)
        for other in clique:
            self._neighbours[other].discard(node)
            self._neighbours[other] |= clique - {other}
        freed = self._delayed.get(node, ())
        for other in freed:
            self._required[other].discard(node)
        beyond = [self._neighbours[other] for other in touched]
        return clique.union(freed, *beyond) & self.waiting


class _Varying:
    """The entries of a matrix that depend on the state, during elimination."""

    def __init__(self, entries: Entries, states: ca.SX | None) -> None:
        self._pairs: set[frozenset[int]] = set()
        self._numbers: set[int] = set()
        if states is None:
            return
        places = [(row, column) for row, columns in entries.items() for column in columns]
        every = ca.vertcat(ca.SX(0, 1), *[entries[row][column] for row, column in places])
        depends = ca.which_depends(every, states, 1, True) if places else []
        for (row, column), varies in zip(places, depends, strict=True):
            if varies:
                self._pairs.add(frozenset((row, column)))
            elif row == column:
                self._numbers.add(row)

    def count_spoilt_by(self, node: int, neighbours: Iterable[int]) -> int:
        """Count neighbours whose constant pivots would no longer be constant after the node."""
        numbers = (other for other in neighbours if other in self._numbers)
        return sum(self._varies(node, other) for other in numbers)

    def _varies(self, node: int, other: int) -> bool:
        return node not in self._numbers or frozenset((node, other)) in self._pairs

    def eliminate(self, node: int, clique: set[int]) -> set[int]:
        """Let couplings of a node depend on the state; return the affected ones."""
        touched = {other for other in clique if self._varies(node, other)}
        self._numbers -= touched
        for other in touched:
            self._pairs |= {frozenset((other, one)) for one in clique}
        return touched


@dataclass
class Factorization:
    """L D U of a matrix with fixed pivots, and the Schur complement of the remainder."""

    order: list[int]
    pivots: dict[int, ca.SX]
    lower: dict[int, dict[int, ca.SX]]
    upper: dict[int, dict[int, ca.SX]]
    block_rows: Sequence[int] = ()
    block_columns: Sequence[int] = ()
    block_scales: Mapping[int, float] = field(default_factory=dict[int, float])
    block_basis: OrthogonalBasis | None = None

    def solve(self, right_side: Mapping[int, ca.SX]) -> dict[int, ca.SX]:
        """Solve for one right-hand side; row and unknown of a pivot have the same index."""
        values = dict(right_side)
        zero = ca.SX(0)
        for pivot in self.order:
            head = values.get(pivot, zero)
            if is_zero(head):
                continue
            for row, factor in self.lower[pivot].items():
                values[row] = less(values.get(row, zero), times(factor, head))
        solution: dict[int, ca.SX] = {}
        if self.block_basis is not None:
            left = [values.get(row, zero) for row in self.block_rows]
            found = self.block_basis.solve(left)
            for column, value in zip(self.block_columns, found, strict=True):
                solution[column] = value * self.block_scales.get(column, 1.0)
        for pivot in reversed(self.order):
            total = values.get(pivot, zero)
            for column, entry in self.upper[pivot].items():
                if column in solution:
                    total = less(total, times(entry, solution[column]))
            solution[pivot] = over(total, self.pivots[pivot])
        return solution


class _Work:
    """The matrix under elimination, with the rows in which each column still occurs."""

    def __init__(self, entries: Entries, shifts: Mapping[int, ca.SX]) -> None:
        self.rows: Entries = {row: dict(columns) for row, columns in entries.items()}
        self._rows_of: dict[int, set[int]] = {}
        for row, columns in self.rows.items():
            for column in columns:
                self._rows_of.setdefault(column, set()).add(row)
        for index, shift in shifts.items():
            self._add(index, index, shift)

    def _add(self, row: int, column: int, value: ca.SX) -> ca.SX:
        entries = self.rows.setdefault(row, {})
        entries[column] = plus(entries[column], value) if column in entries else value
        self._rows_of.setdefault(column, set()).add(row)
        return entries[column]

    def _take(self, row: int, column: int, value: ca.SX) -> ca.SX:
        entries = self.rows.setdefault(row, {})
        entries[column] = less(entries[column], value) if column in entries else -value
        self._rows_of.setdefault(column, set()).add(row)
        return entries[column]

    def eliminate(
        self, pivot: int, symmetric: bool
    ) -> tuple[ca.SX, dict[int, ca.SX], dict[int, ca.SX]]:
        """Eliminate a pivot: its value, the factors of the other rows, and the rest of its row."""
        row = self.rows.pop(pivot, {})
        value = row.pop(pivot, None)
        if value is None or is_zero(value):
            raise PosingError(f"pivot {pivot} of the elimination is zero by structure")
        below = sorted(self._rows_of.pop(pivot, set()) - {pivot})
        for column in row:
            self._rows_of[column].discard(pivot)
        factors: dict[int, ca.SX] = {}
        for other in below:
            factors[other] = over(self.rows[other].pop(pivot), value)
            for column, top in row.items():
                if not symmetric or column == other:
                    self._take(other, column, times(factors[other], top))
                elif column < other:
                    entry = self._take(other, column, times(factors[other], top))
                    self.rows[column][other] = entry
                    self._rows_of[other].add(column)
        return value, factors, row


def factorize(
    entries: Entries,
    order: list[int],
    *,
    symmetric: bool,
    shifts: Mapping[int, ca.SX] | None = None,
    block_rows: Sequence[int] = (),
    block_columns: Sequence[int] = (),
    block_scales: Mapping[int, float] | None = None,
) -> Factorization:
    """Factorise along a fixed pivot order, with each operation written once.

    Parameters
    ----------
    entries
        The matrix.
    order
        The pivots; row k and column k are eliminated together.
    symmetric
        Whether to use (and preserve) the symmetry, which halves the operations.
    shifts
        Terms added to some pivots: the -epsilon of the proximal iteration.
    block_rows, block_columns
        Rows and columns without a safe pivot; their Schur complement is solved by orthogonal rows,
        which needs no pivots.
    block_scales
        The sizes of the block's unknowns (powers of two, so that scaling is exact).

    Raises
    ------
    PosingError
        A pivot is zero by structure.
    """
    work = _Work(entries, shifts or {})
    pivots: dict[int, ca.SX] = {}
    lower: dict[int, dict[int, ca.SX]] = {}
    upper: dict[int, dict[int, ca.SX]] = {}
    for pivot in order:
        pivots[pivot], lower[pivot], upper[pivot] = work.eliminate(pivot, symmetric)
    basis = None
    scales = block_scales or {}
    if block_rows:
        zero = ca.SX(0)
        rows = [
            [work.rows.get(r, {}).get(c, zero) * scales.get(c, 1.0) for c in block_columns]
            for r in block_rows
        ]
        basis = orthogonal_rows(rows)
    return Factorization(order, pivots, lower, upper, block_rows, block_columns, scales, basis)


@dataclass(frozen=True)
class OrthogonalBasis:
    """A square matrix as L Q with orthonormal rows in Q."""

    matrix: list[list[ca.SX]]
    triangle: list[list[ca.SX]]
    rows: list[list[ca.SX]]
    norms: list[ca.SX]
    row_norms: list[ca.SX]

    def solve(self, right_side: Sequence[ca.SX]) -> list[ca.SX]:
        """Solve for one right-hand side."""
        if len(right_side) == 1:
            return [right_side[0] / self.matrix[0][0]]
        if len(right_side) == 2:
            (a, b), (c, d) = self.matrix
            determinant = a * d - b * c
            e, f = right_side
            return [(d * e - b * f) / determinant, (a * f - c * e) / determinant]
        weights: list[ca.SX] = []
        for index, value in enumerate(right_side):
            total = value
            for below, weight in zip(self.triangle[index], weights, strict=True):
                total = total - below * weight
            weights.append(total / self.norms[index])
        size = len(weights)
        return [
            sum((weights[k] * self.rows[k][column] for k in range(size)), ca.SX(0))
            for column in range(size)
        ]


def orthogonal_rows(rows: Sequence[Sequence[ca.SX]]) -> OrthogonalBasis:
    """Orthogonalise rows one after another (modified Gram-Schmidt), without pivots."""
    triangle: list[list[ca.SX]] = []
    basis: list[list[ca.SX]] = []
    norms: list[ca.SX] = []
    row_norms: list[ca.SX] = []
    for row in rows:
        rest = list(row)
        below: list[ca.SX] = []
        for unit in basis:
            part = sum((a * b for a, b in zip(rest, unit, strict=True)), ca.SX(0))
            rest = [a - part * b for a, b in zip(rest, unit, strict=True)]
            below.append(part)
        norm = _length(rest)
        triangle.append(below)
        norms.append(norm)
        row_norms.append(_length(row))
        basis.append([a / norm for a in rest])
    return OrthogonalBasis([list(row) for row in rows], triangle, basis, norms, row_norms)


def _length(row: Sequence[ca.SX]) -> ca.SX:
    """Return the length of a row; for a single entry the entry itself, because sqrt(a a) is |a|."""
    entries = [entry for entry in row if not is_zero(entry)]
    if len(entries) == 1:
        return entries[0]
    return ca.sqrt(sum((entry * entry for entry in entries), ca.SX(0)))


def definite_determinant(matrix: ca.SX, order: list[int] | None = None) -> ca.SX:
    """Return the determinant of a symmetric positive definite matrix, by pivots in an order."""
    order = list(range(matrix.shape[0])) if order is None else order
    product = ca.SX(1)
    for pivot in factorize(entries_of(matrix), order, symmetric=True).pivots.values():
        product = product * pivot
    return product


def determinant(matrix: ca.SX) -> ca.SX:
    """Return the determinant without a division (R. S. Bird, Inf. Process. Lett. 111 (2011))."""
    count = matrix.shape[0]
    power = matrix
    for _ in range(count - 1):
        upper = ca.triu(power) - ca.diag(ca.diag(power))
        tail = ca.SX(0)
        for k in reversed(range(count)):
            upper[k, k] = -tail
            tail = tail + power[k, k]
        power = upper @ matrix
    return power[0, 0] if count % 2 else -power[0, 0]


def solve_definite(matrix: ca.SX, right_side: ca.SX) -> ca.SX:
    """Solve with a symmetric positive definite matrix, symbolically, in straight-line code.

    Unlike CasADi's `solve`, it uses pivots in minimum-degree order. This needs fewer instructions,
    which every solver supports.

    Parameters
    ----------
    matrix
        (n, n)
    right_side
        (n, k)

    Returns
    -------
    casadi.SX
        (n, k)
    """
    size = matrix.shape[0]
    entries = entries_of(matrix)
    order = minimum_degree_order(entries, range(size), {})
    factors = factorize(entries, order, symmetric=True)
    columns = [
        factors.solve({row: right_side[row, column] for row in range(size)})
        for column in range(right_side.shape[1])
    ]
    return ca.horzcat(*[ca.vertcat(*[found[row] for row in range(size)]) for found in columns])


def solve_small(matrix: ca.SX, right_side: ca.SX) -> ca.SX:
    """Solve a small system symbolically, safe for any invertible matrix.

    Uncoupled blocks are solved separately; zeros of the right side stay zeros.

    Parameters
    ----------
    matrix
        (n, n)
    right_side
        (n, k)

    Returns
    -------
    casadi.SX
        (n, k)
    """
    solution = ca.SX(*right_side.shape)
    for rows, unknowns in _uncoupled(matrix):
        own = _solve_coupled(matrix[rows, unknowns], right_side[rows, :])
        for position, unknown in enumerate(unknowns):
            solution[unknown, :] = own[position, :]
    return solution


def _uncoupled(matrix: ca.SX) -> list[tuple[list[int], list[int]]]:
    """Return the rows and columns of a matrix's blocks; the whole matrix if one is not square."""
    size = matrix.shape[0]
    rows, columns = ca.SX(ca.sparsify(matrix)).sparsity().get_triplet()
    ones = np.ones(len(rows))
    couplings = scipy.sparse.coo_array(
        (ones, (rows, size + np.array(columns, dtype=int))), (2 * size, 2 * size)
    )
    count, labels = scipy.sparse.csgraph.connected_components(couplings, directed=False)
    blocks = [
        ([*map(int, np.flatnonzero(labels[:size] == k))],
         [*map(int, np.flatnonzero(labels[size:] == k))])
        for k in range(count)
    ]  # fmt: skip
    square = all(len(one) == len(other) for one, other in blocks)
    return blocks if square else [(list(range(size)), list(range(size)))]


def _solve_coupled(matrix: ca.SX, right_side: ca.SX) -> ca.SX:
    """Solve by orthogonal rows, column by column."""
    size, count = right_side.shape
    if size == 1:
        return right_side / matrix[0, 0]
    basis = orthogonal_rows([[matrix[i, j] for j in range(size)] for i in range(size)])
    solution = ca.SX(size, count)
    for j in range(count):
        if not is_zero(right_side[:, j]):
            solution[:, j] = ca.vertcat(*basis.solve([right_side[i, j] for i in range(size)]))
    return solution
