"""Readable expressions: modes fixed, terms collected, and cancelling parts removed.

Only proved simplifications are made: an entry becomes zero, or independent of a symbol, if
`identities` shows this everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import casadi as ca
import numpy as np

from daesolve.core.expressions.identities import vanishing
from daesolve.core.expressions.linear import solve_small
from daesolve.core.expressions.translation import (
    NUMPY_TABLE,
    OPERATION_NAMES,
    Table,
    function_of_symbols,
    translate,
)
from daesolve.export.expanding import expanded, printed_size

CONDITIONS = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE})
TURNING = frozenset({ca.OP_SIN, ca.OP_COS, ca.OP_TAN})
ROUNDED = 1e-15
"""Sines and cosines of numbers below this count as zero: those of multiples of pi / 2."""
LARGEST_BLOCK = 3
"""The number of equations solved by cofactors; larger systems use orthogonal rows."""
LOOKED_AT = 400
"""The number of printed operations beyond which cancellations are not searched, to save time."""
FEW = 6
"""The number of instructions up to which nothing can cancel."""
MOST_TOGETHER = 4000
"""The number of printed operations of a matrix beyond which it is not simplified, because it is
unreadable."""

Value = ca.SX | float


def decided(expression: ca.SX, values: Mapping[str, float]) -> dict[str, float]:
    """Return the values that alone decide conditions in an expression.

    Parameters
    ----------
    expression
        An expression of any symbols.
    values
        Constant values along the motion, by name.
    """
    deciding: set[str] = set()

    def names_in(operation: int, *operands: frozenset[str] | None) -> frozenset[str] | None:
        """Return the names of the only values in an expression; None if it contains others."""
        fixed = [operand for operand in operands if operand is not None]
        if len(fixed) < len(operands):
            return None
        names = frozenset[str]().union(*fixed)
        if operation in CONDITIONS:
            deciding.update(names)
        return names

    function, symbols = function_of_symbols(expression)
    given = [frozenset({s.name()}) if s.name() in values else None for s in symbols]
    table = {operation: partial(names_in, operation) for operation in OPERATION_NAMES}
    translate(function, [given], table, lambda _: frozenset[str]())
    return {name: values[name] for name in sorted(deciding)}


def with_values(
    expression: ca.SX, values: Mapping[str, float], decide: Mapping[str, float]
) -> ca.SX:
    """Substitute numbers for symbols, and decide conditions between others.

    Parameters
    ----------
    expression
        An expression of any symbols.
    values
        Numbers that replace symbols, by name.
    decide
        Numbers of symbols that stay, by name: conditions that contain only these become true or
        false.

    Notes
    -----
    The cosine of a right angle becomes zero, although it is not zero in floating point.
    """
    function, symbols = function_of_symbols(expression)
    if not symbols:
        return expression
    inputs = [_Known.of(symbol, values, decide) for symbol in symbols]
    [column] = translate(function, [inputs], _TABLE, _Known.number, "formulas")
    entries = [known.shown for known in column]
    return ca.SX(function.sparsity_out(0), ca.vertcat(ca.SX(0, 1), *entries))


class _Known:
    """An expression as shown, and its number if known; zero is shown as zero."""

    def __init__(self, shown: ca.SX, number: float | None) -> None:
        self.shown, self.value = shown, number

    @staticmethod
    def of(symbol: ca.SX, values: Mapping[str, float], decide: Mapping[str, float]) -> _Known:
        name = symbol.name()
        if name in values:
            return _Known.number(values[name])
        return _Known(symbol, decide.get(name))

    @staticmethod
    def number(value: float) -> _Known:
        return _Known(ca.SX(value), float(value))


def _operation(code: int) -> Any:
    def apply(*operands: _Known) -> _Known:
        numbers = [operand.value for operand in operands]
        known = None
        if all(number is not None for number in numbers):
            with np.errstate(all="ignore"):
                known = float(NUMPY_TABLE[code](*[np.float64(n) for n in numbers]))  # pyright: ignore
        fixed = all(operand.shown.is_constant() for operand in operands)
        if known is not None and (fixed or code in CONDITIONS):
            return _Known.number(_exactly(known) if code in TURNING else known)
        if (
            code == ca.OP_IF_ELSE_ZERO
            and numbers[0] is not None
            and operands[0].shown.is_constant()
        ):
            return operands[1] if numbers[0] else _Known.number(0.0)
        make = ca.SX.unary if len(operands) == 1 else ca.SX.binary
        return _Known(make(code, *[operand.shown for operand in operands]), known)

    return apply


def _exactly(number: float) -> float:
    return 0.0 if abs(number) < ROUNDED else number


_TABLE: Table = {code: _operation(code) for code in NUMPY_TABLE}


def simplified(matrix: ca.SX, symbols: ca.SX) -> ca.SX:
    """Return a matrix whose entries do not contain symbols on which they do not depend.

    cos(a)^2 + sin(a)^2 becomes 1. Entries that are proved to be zero are removed.

    Parameters
    ----------
    matrix
        Of any shape.
    symbols
        A column; zero replaces a symbol on which an entry is proved not to depend.
    """
    matrix = ca.SX(ca.sparsify(ca.SX(matrix)))
    given = [ca.SX(entry) for entry in cast("list[ca.SX]", matrix.nonzeros())]
    if not given or printed_size(ca.vertcat(*given)) > MOST_TOGETHER:
        return matrix
    entries = [_simplified(entry, symbols) for entry in given]
    return ca.SX(ca.sparsify(ca.SX(matrix.sparsity(), ca.vertcat(*entries))))


def _simplified(entry: ca.SX, symbols: ca.SX) -> ca.SX:
    if _plain(entry) or printed_size(entry) > LOOKED_AT:
        return entry
    entry = expanded(entry)
    if _plain(entry):
        return entry
    if bool(np.all(vanishing(entry))):
        return ca.SX(0)
    return _free(entry, symbols)


def _plain(entry: ca.SX) -> bool:
    """Return whether an expression contains nothing that could cancel."""
    if entry.is_constant() or entry.is_symbolic():
        return True
    return function_of_symbols(entry)[0].n_instructions() <= FEW


def _free(entry: ca.SX, symbols: ca.SX) -> ca.SX:
    """Substitute zero for symbols on which an expression does not depend."""
    names = {symbol.name() for symbol in ca.symvar(symbols)}
    for symbol in ca.symvar(entry):
        if symbol.name() not in names:
            continue
        slope = ca.gradient(entry, symbol)
        if slope.is_zero() or not bool(np.all(vanishing(slope))):
            continue
        without = with_values(entry, {symbol.name(): 0.0}, {})
        if _agree(entry, without):
            entry = expanded(without)
    return entry


def _agree(one: ca.SX, other: ca.SX) -> bool:
    """Return whether two expressions agree somewhere; at zero they may have no value."""
    function, symbols = function_of_symbols(one, other)
    values = function(0.7 + 0.3 * np.sin(1.0 + np.arange(len(symbols))))
    return math.isclose(float(values[0]), float(values[1]), rel_tol=1e-9, abs_tol=1e-12)


def collected(column: ca.SX, rates: ca.SX, symbols: ca.SX) -> ca.SX:
    """Return expressions of up to second order in rates, sorted by powers of the rates.

    Parameters
    ----------
    column
        Expressions, (m, 1).
    rates
        A column of symbols.
    symbols
        Symbols to remove from coefficients that do not depend on them; see `simplified`.

    Notes
    -----
    Other expressions stay unchanged, except for `simplified`.
    """
    return ca.vertcat(ca.SX(0, 1), *[_sorted(e, rates, symbols) for e in ca.vertsplit(column)])


def _sorted(expression: ca.SX, rates: ca.SX, symbols: ca.SX) -> ca.SX:
    if not ca.depends_on(expression, rates) or printed_size(expression) > LOOKED_AT**2:
        return ca.densify(simplified(expression, symbols))
    slope = ca.gradient(expression, rates)
    bend = ca.SX(ca.sparsify(ca.jacobian(slope, rates)))
    if ca.depends_on(bend, rates):
        return ca.densify(simplified(expression, symbols))
    still = ca.SX.zeros(*rates.shape)
    rest = ca.densify(simplified(ca.substitute(expression, rates, still), symbols))[0]
    linear = ca.densify(simplified(ca.substitute(slope, rates, still), symbols))
    halved = bend - ca.diag(ca.diag(bend)) / 2
    bend = ca.densify(simplified(ca.triu(halved), symbols))
    total = ca.SX(0)
    count = rates.numel()
    for i in range(count):
        for j in range(i, count):
            total += bend[i, j] * (rates[i] ** 2 if i == j else rates[i] * rates[j])
    for i in range(count):
        total += linear[i] * rates[i]
    return total + rest


def solved(matrix: ca.SX, right: ca.SX, symbols: ca.SX) -> ca.SX:
    """Solve linear equations as by hand: block by block, small blocks by cofactors.

    Parameters
    ----------
    matrix, right
        (n, n) and (n, k).
    symbols
        As in `simplified`.

    Returns
    -------
    casadi.SX
        (n, k)
    """
    matrix = ca.SX(ca.sparsify(matrix))
    count, rows, columns, row_ends, column_ends, _, _ = matrix.sparsity().btf()
    solution = ca.SX(*right.shape)
    for k in range(count):
        own = rows[row_ends[k] : row_ends[k + 1]]
        unknowns = columns[column_ends[k] : column_ends[k + 1]]
        before = columns[: column_ends[k]]
        rest = right[own, :]
        if before:  # Blocks come in the order in which they follow from each other.
            rest = rest - matrix[own, before] @ solution[before, :]
        solution[unknowns, :] = _block(matrix[own, unknowns], rest, symbols)
    return solution


def _block(matrix: ca.SX, right: ca.SX, symbols: ca.SX) -> ca.SX:
    size = matrix.shape[0]
    right = simplified(right, symbols)
    if size > LARGEST_BLOCK:
        return _by_elimination(matrix, right, symbols)
    determinant = small_determinant(matrix, symbols)
    if size == 1:
        return simplified(right / determinant, symbols)
    cofactors = ca.SX(size, size)
    for i in range(size):
        for j in range(size):
            kept = matrix[_without(size, i), _without(size, j)]
            cofactors[j, i] = (-1) ** (i + j) * _determinant(kept)
    cofactors = simplified(cofactors, symbols)
    return simplified(simplified(cofactors @ right, symbols) / determinant, symbols)


def _by_elimination(matrix: ca.SX, right: ca.SX, symbols: ca.SX) -> ca.SX:
    """Eliminate one unknown with a factor that contains no symbol, and solve for the others."""
    place = plain_pivot(matrix, symbols)
    if place is None:
        return solve_small(matrix, ca.densify(right))
    row, column = place
    size = matrix.shape[0]
    rows, columns = _without(size, row), _without(size, column)
    pivot = ca.densify(matrix)[row, column]
    factors = matrix[rows, column] / pivot
    rest = simplified(matrix[rows, columns] - factors @ matrix[row, columns], symbols)
    others = solved(rest, simplified(right[rows, :] - factors @ right[row, :], symbols), symbols)
    own = simplified((right[row, :] - matrix[row, columns] @ others) / pivot, symbols)
    solution = ca.SX(*right.shape)
    solution[columns, :] = others
    solution[column, :] = own
    return solution


def plain_pivot(matrix: ca.SX, symbols: ca.SX) -> tuple[int, int] | None:
    """Return the place of an entry without symbols, in the shortest row and column.

    Among several, take the last column: rates of wheels follow those of the vehicle.
    """
    matrix = ca.SX(ca.sparsify(matrix))
    rows, columns = matrix.sparsity().get_triplet()
    best: tuple[int, int, int, int] | None = None
    for i, j in zip(rows, columns, strict=True):
        entry = ca.SX(matrix[i, j])
        if ca.depends_on(entry, symbols):
            continue
        rank = ((rows.count(i) - 1) * (columns.count(j) - 1), -j, int(not entry.is_constant()), i)
        best = rank if best is None else min(best, rank)
    return None if best is None else (best[3], -best[1])


def small_determinant(matrix: ca.SX, symbols: ca.SX) -> ca.SX:
    """Return the determinant of a matrix of a few rows; `symbols` as in `simplified`."""
    return ca.densify(simplified(_determinant(matrix), symbols))


def _without(size: int, gone: int) -> list[int]:
    return [k for k in range(size) if k != gone]


def _determinant(matrix: ca.SX) -> ca.SX:
    """Return a small determinant by expansion along its first row."""
    size = matrix.shape[0]
    if size == 0:
        return ca.SX(1)
    total = ca.SX(0)
    for j in range(size):
        entry = ca.SX(matrix[0, j])
        if not entry.is_zero():
            rest = matrix[1:, _without(size, j)] if size > 1 else ca.SX(0, 0)
            total += (-1) ** j * entry * _determinant(rest)
    return total
