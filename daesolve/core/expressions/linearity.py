"""Proofs, from the structure of expressions, that they are linear in some symbols.

Derivatives do not show it, because comparisons, `sign` and `floor` have zero derivatives.
"""

from __future__ import annotations

import casadi as ca

from daesolve.core.expressions.program import program

_SUMS = frozenset({ca.OP_ASSIGN, ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE})
_BEYOND = 2


def is_linear(column: ca.SX, symbols: ca.SX) -> bool:
    """Return whether each term of a column contains at most one of the symbols, linearly.

    The symbols may occur in sums, in products with or quotients by expressions without them, and in
    branches chosen by such expressions.
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
