"""Whether expressions are linear in some symbols, proved from the structure of the expressions.

Derivatives do not show it: that of a comparison, of `sign` and of `floor` is zero.
"""

from __future__ import annotations

import casadi as ca

from daesolve.algebra.program import program

_SUMS = frozenset({ca.OP_ASSIGN, ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE})
_BEYOND = 2


def is_linear(column: ca.SX, symbols: ca.SX) -> bool:
    """Return whether a column is a sum of terms each with one of the symbols at most, times others.

    The symbols may pass through sums, products with what is free of them, quotients by it, and
    branches chosen by it.
    """
    own = {entry.element_hash() for entry in ca.symvar(symbols)}
    inputs = ca.symvar(column)
    function = ca.Function("column", [ca.vertcat(ca.SX(0, 1), *inputs)], [column])
    degrees: list[int] = []
    for operation, operands in program(function).steps:
        if operation == ca.OP_CONST:
            degrees.append(0)
        elif operation == ca.OP_INPUT:
            degrees.append(int(inputs[int(operands[1])].element_hash() in own))
        else:
            degrees.append(_degree(operation, [degrees[number] for number in operands]))
    return all(degrees[value] < _BEYOND for _, value in program(function).outputs[0])


def _degree(operation: int, operands: list[int]) -> int:
    """Return the degree in the symbols of an operation, from those of its operands."""
    first, last = operands[0], operands[-1]
    if operation in _SUMS or not any(operands):
        return max(operands)
    if operation == ca.OP_MUL:
        return min(first + last, _BEYOND)
    if operation == ca.OP_DIV and not last:
        return first
    if operation == ca.OP_IF_ELSE_ZERO and not first:
        return last
    return _BEYOND
