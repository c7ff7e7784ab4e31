"""The derivatives of a program by all its states at once, carried along with its values."""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit

from daesolve.core.expressions import compiling, machine, operations
from daesolve.core.expressions.compiling import OPTIONS, kept, version_of
from daesolve.core.expressions.machine import elementary

VERSION = version_of(compiling, operations, machine, sys.modules[__name__])
FLAT = (
    operations.LT, operations.LE, operations.EQ, operations.NE, operations.NOT, operations.AND,
    operations.OR, operations.FLOOR, operations.CEIL, operations.SIGN,
)  # fmt: skip
"""Operations whose derivative is zero."""


@kept
def carried_along(version, runs, codes, memory, tangents):
    """Execute a program for one state, with the derivatives of every register.

    Parameters
    ----------
    runs, codes
        See `machine.carry_out`.
    memory
        (registers,) with the given values; receives all values.
    tangents
        (registers, n) with the derivatives of the given values; receives those of all values.

    Returns
    -------
    bool
        Whether all derivatives are finite and implemented.
    """
    for run in range(len(runs)):
        operation = runs[run, 0]
        for k in range(runs[run, 1], runs[run, 2]):
            to, a, b = codes[k, 0], codes[k, 1], codes[k, 2]
            x, y = memory[a], memory[b]
            value = _value(operation, x, y)
            by_x, by_y = _partials(operation, x, y, value)
            if not (np.isfinite(by_x) and np.isfinite(by_y)):
                return False
            memory[to] = value
            if by_y == 0.0:
                for i in range(tangents.shape[1]):
                    tangents[to, i] = by_x * tangents[a, i]
            else:
                for i in range(tangents.shape[1]):
                    tangents[to, i] = by_x * tangents[a, i] + by_y * tangents[b, i]
    return True


@njit(**OPTIONS)
def _value(operation, x, y):
    """Return the result of an operation."""
    if operation == operations.ADD:
        return x + y
    if operation == operations.SUB:
        return x - y
    if operation == operations.MUL:
        return x * y
    if operation == operations.DIV:
        return x / y
    if operation == operations.NEG:
        return -x
    if operation == operations.SQ:
        return x * x
    if operation == operations.TWICE:
        return 2.0 * x
    if operation == operations.INV:
        return 1.0 / x
    if operation == operations.SQRT:
        return math.sqrt(x) if x >= 0.0 else np.nan
    if operation == operations.ASSIGN:
        return x
    if operation == operations.FABS:
        return abs(x)
    return elementary(operation, x, y)


@njit(**OPTIONS)
# Long: one branch for each operation.
def _partials(operation, x, y, value):
    """Return the derivatives of an operation by its operands; with one operand, only the first."""
    if operation == operations.ADD:
        return 1.0, 1.0
    if operation == operations.SUB:
        return 1.0, -1.0
    if operation == operations.MUL:
        return y, x
    if operation == operations.DIV:
        return 1.0 / y, -value / y
    if operation == operations.NEG:
        return -1.0, 0.0
    if operation == operations.SQ:
        return 2.0 * x, 0.0
    if operation == operations.TWICE:
        return 2.0, 0.0
    if operation == operations.INV:
        return -value * value, 0.0
    if operation == operations.SQRT:
        return 0.5 / value, 0.0
    if operation == operations.ASSIGN:
        return 1.0, 0.0
    if operation == operations.SIN:
        return math.cos(x), 0.0
    if operation == operations.COS:
        return -math.sin(x), 0.0
    if operation == operations.EXP:
        return value, 0.0
    if operation == operations.LOG:
        return 1.0 / x, 0.0
    if operation == operations.TAN:
        return 1.0 + value * value, 0.0
    if operation == operations.TANH:
        return 1.0 - value * value, 0.0
    if operation == operations.SINH:
        return math.cosh(x), 0.0
    if operation == operations.COSH:
        return math.sinh(x), 0.0
    if operation == operations.ASIN:
        return 1.0 / np.sqrt(1.0 - x * x), 0.0
    if operation == operations.ACOS:
        return -1.0 / np.sqrt(1.0 - x * x), 0.0
    if operation == operations.ATAN:
        return 1.0 / (1.0 + x * x), 0.0
    if operation == operations.ATAN2:
        size = x * x + y * y
        return y / size, -x / size
    if operation == operations.CONSTANT_POWER:
        return y * x ** (y - 1.0), 0.0
    if operation == operations.POWER:
        return y * x ** (y - 1.0), np.log(x) * value
    if operation == operations.FABS and x != 0.0:
        return math.copysign(1.0, x), 0.0
    if operation == operations.IF_ELSE_ZERO:
        return 0.0, 1.0 if x != 0.0 else 0.0
    if operation in FLAT:
        return 0.0, 0.0
    return np.nan, np.nan
