"""Derivatives of a program of operations for one state, carried forwards or backwards.

See `machine` for programs and registers.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit

from daesolve.core.expressions import compilation, machine, operations
from daesolve.core.expressions.compilation import OPTIONS, compile_once, version_of
from daesolve.core.expressions.machine import elementary

VERSION = version_of(compilation, operations, machine, sys.modules[__name__])
FLAT = (
    operations.LT, operations.LE, operations.EQ, operations.NE, operations.NOT, operations.AND,
    operations.OR, operations.FLOOR, operations.CEIL, operations.SIGN,
)  # fmt: skip
"""Operations whose derivative is zero."""


@compile_once
def carried_along(version, runs, codes, memory, tangents):
    """Execute a program for one state, with the derivatives of every register.

    What has no derivative gets one that is not finite.

    Parameters
    ----------
    runs, codes
        See `carry_out`.
    memory
        (registers,) with the given values; receives all values.
    tangents
        (registers, n) with the derivatives of the given values; receives those of all values.
    """
    for run in range(len(runs)):
        operation = runs[run, 0]
        for k in range(runs[run, 1], runs[run, 2]):
            to, a, b = codes[k, 0], codes[k, 1], codes[k, 2]
            x, y = memory[a], memory[b]
            value = _value(operation, x, y)
            by_x, by_y = _partials(operation, x, y, value)
            memory[to] = value
            if by_y == 0.0:
                for i in range(tangents.shape[1]):
                    tangents[to, i] = by_x * tangents[a, i]
            else:
                for i in range(tangents.shape[1]):
                    tangents[to, i] = by_x * tangents[a, i] + by_y * tangents[b, i]


@compile_once
def carried_back(version, runs, codes, memory, slopes, adjoints):
    """Execute a program for one state, then carry derivatives by its registers back to the given.

    Parameters
    ----------
    runs, codes
        See `carry_out`.
    memory
        (registers,) with the given values; receives all values.
    slopes
        (codes, 2) receives the derivatives of each value by its operands.
    adjoints
        (registers, n) with the derivatives of n numbers by the last registers; receives those by
        the given values.
    """
    for run in range(len(runs)):
        operation = runs[run, 0]
        for k in range(runs[run, 1], runs[run, 2]):
            x, y = memory[codes[k, 1]], memory[codes[k, 2]]
            value = _value(operation, x, y)
            slopes[k, 0], slopes[k, 1] = _partials(operation, x, y, value)
            memory[codes[k, 0]] = value
    for k in range(len(codes) - 1, -1, -1):
        to, a, b = codes[k, 0], codes[k, 1], codes[k, 2]
        by_x, by_y = slopes[k, 0], slopes[k, 1]
        for i in range(adjoints.shape[1]):
            carried = adjoints[to, i]
            adjoints[to, i] = 0.0
            if carried != 0.0:
                if by_x != 0.0:
                    adjoints[a, i] += by_x * carried
                if by_y != 0.0:
                    adjoints[b, i] += by_y * carried


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
    if operation == operations.EXPM1:
        return value + 1.0, 0.0
    if operation == operations.LOG1P:
        return 1.0 / (1.0 + x), 0.0
    if operation == operations.ASINH:
        return 1.0 / np.sqrt(1.0 + x * x), 0.0
    if operation == operations.ACOSH:
        return 1.0 / np.sqrt(x * x - 1.0), 0.0
    if operation == operations.ATANH:
        return 1.0 / (1.0 - x * x), 0.0
    if operation == operations.ERF:
        return 2.0 / math.sqrt(math.pi) * math.exp(-x * x), 0.0
    if operation == operations.HYPOT:
        return x / value, y / value
    if operation == operations.FABS:
        return 0.0 if x == 0.0 else math.copysign(1.0, x), 0.0
    if operation == operations.FMIN:
        return (1.0, 0.0) if x < y else (0.0, 1.0) if y < x else (0.5, 0.5)
    if operation == operations.FMAX:
        return (1.0, 0.0) if x > y else (0.0, 1.0) if y > x else (0.5, 0.5)
    if operation == operations.COPYSIGN:
        return math.copysign(1.0, x) * math.copysign(1.0, y), 0.0
    if operation == operations.FMOD or operation == operations.REMAINDER:
        return 1.0, -round((x - value) / y)
    if operation == operations.IF_ELSE_ZERO:
        return 0.0, 1.0 if x != 0.0 else 0.0
    if operation in FLAT:
        return 0.0, 0.0
    return np.nan, np.nan
