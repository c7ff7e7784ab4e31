"""The compiled machine that carries out a program of operations for many states at once."""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit

from daesolve.algebra import compiling, operations
from daesolve.algebra.compiling import OPTIONS, kept, version_of
from daesolve.algebra.operations import ADD, ASSIGN, DIV, FABS, INV, MUL, NEG, SQ, SQRT, SUB, TWICE

VERSION = version_of(compiling, operations, sys.modules[__name__])
WIDTH = 64
"""States that are taken together: their values stay in the nearest cache."""


@njit(**OPTIONS)
# Long: one branch for each operation.
def elementary(operation, x, y):
    """Return the value of an operation that compilers cannot take several of at once."""
    if operation == operations.SIN:
        return math.sin(x)
    if operation == operations.COS:
        return math.cos(x)
    if operation == operations.EXP:
        return math.exp(x)
    if operation == operations.LOG:
        return math.log(x)
    if operation == operations.POWER or operation == operations.CONSTANT_POWER:
        return x**y
    if operation == operations.IF_ELSE_ZERO:
        return y if x != 0.0 else 0.0
    if operation == operations.LT:
        return 1.0 if x < y else 0.0
    if operation == operations.LE:
        return 1.0 if x <= y else 0.0
    if operation == operations.EQ:
        return 1.0 if x == y else 0.0
    if operation == operations.NE:
        return 1.0 if x != y else 0.0
    if operation == operations.NOT:
        return 1.0 if x == 0.0 else 0.0
    if operation == operations.AND:
        return 1.0 if x != 0.0 and y != 0.0 else 0.0
    if operation == operations.OR:
        return 1.0 if x != 0.0 or y != 0.0 else 0.0
    if operation == operations.FMIN:
        return y if x != x or y < x else x
    if operation == operations.FMAX:
        return y if x != x or y > x else x
    if operation == operations.SIGN:
        return x if x != x or x == 0.0 else math.copysign(1.0, x)
    if operation == operations.COPYSIGN:
        return math.copysign(x, y)
    if operation == operations.FLOOR:
        return np.floor(x)
    if operation == operations.CEIL:
        return np.ceil(x)
    if operation == operations.FMOD:
        return np.fmod(x, y)
    if operation == operations.REMAINDER:
        return x - y * np.rint(x / y)
    if operation == operations.HYPOT:
        return math.hypot(x, y)
    if operation == operations.ATAN2:
        return math.atan2(x, y)
    if operation == operations.EXPM1:
        return math.expm1(x)
    if operation == operations.LOG1P:
        return math.log1p(x)
    if operation == operations.TAN:
        return math.tan(x)
    if operation == operations.TANH:
        return math.tanh(x)
    if operation == operations.SINH:
        return math.sinh(x)
    if operation == operations.COSH:
        return math.cosh(x)
    if operation == operations.ASIN:
        return math.asin(x)
    if operation == operations.ACOS:
        return math.acos(x)
    if operation == operations.ATAN:
        return math.atan(x)
    if operation == operations.ASINH:
        return math.asinh(x)
    if operation == operations.ACOSH:
        return math.acosh(x)
    if operation == operations.ATANH:
        return math.atanh(x)
    if operation == operations.ERF:
        return math.erf(x)
    return 0.0


@njit(**OPTIONS)
# Long: one branch for each operation.
def carry_out(operation, x, y, z, count):
    """Write to z what an operation makes of so many numbers in x and y."""
    if operation == ADD:
        for i in range(count):
            z[i] = x[i] + y[i]
    elif operation == SUB:
        for i in range(count):
            z[i] = x[i] - y[i]
    elif operation == MUL:
        for i in range(count):
            z[i] = x[i] * y[i]
    elif operation == DIV:
        for i in range(count):
            z[i] = x[i] / y[i]
    elif operation == NEG:
        for i in range(count):
            z[i] = -x[i]
    elif operation == SQ:
        for i in range(count):
            z[i] = x[i] * x[i]
    elif operation == TWICE:
        for i in range(count):
            z[i] = x[i] + x[i]
    elif operation == INV:
        for i in range(count):
            z[i] = 1.0 / x[i]
    elif operation == SQRT:
        for i in range(count):
            z[i] = math.sqrt(x[i])
    elif operation == FABS:
        for i in range(count):
            z[i] = abs(x[i])
    elif operation == ASSIGN:
        for i in range(count):
            z[i] = x[i]
    else:
        for i in range(count):
            z[i] = elementary(operation, x[i], y[i])


@njit(**OPTIONS)
def evaluate(steps, loads, stores, work, time, state, found):
    """Carry out a program for one state; `work` are the registers, of which the first are given.

    The other arguments are those of `run`, with values that are the same for all states.
    """
    for m in range(len(loads)):
        work[loads[m, 0]] = time if loads[m, 1] == 0 else state[loads[m, 2]]
    for n in range(len(steps)):
        operation, target = steps[n, 0], steps[n, 1]
        x, y = work[steps[n, 2]], work[steps[n, 3]]
        if operation == MUL:
            work[target] = x * y
        elif operation == ADD:
            work[target] = x + y
        elif operation == SUB:
            work[target] = x - y
        elif operation == DIV:
            work[target] = x / y
        elif operation == NEG:
            work[target] = -x
        elif operation == SQ:
            work[target] = x * x
        elif operation == TWICE:
            work[target] = x + x
        elif operation == INV:
            work[target] = 1.0 / x
        elif operation == SQRT:
            work[target] = math.sqrt(x)
        elif operation == FABS:
            work[target] = abs(x)
        elif operation == ASSIGN:
            work[target] = x
        else:
            work[target] = elementary(operation, x, y)
    for j in range(len(stores)):
        found[stores[j, 1]] = work[stores[j, 0]]


@kept
def run(version, steps, loads, stores, numbers, registers, times, states, values, owners, found):
    """Carry out a program for all states.

    Parameters
    ----------
    steps
        (n, 4) an operation, the register of its value, and those of its operands.
    loads
        (m, 3) a register, and which of times (0), states (1) and values (2) it takes, and the
        column of that.
    stores
        (j, 2) a register, and the row of `found` that takes it.
    numbers
        What the first registers hold, the same for all states.
    registers
        How many there are.
    times, states, values
        (k,), (k, columns) and (j, columns).
    owners
        (k,) the row of values of each state.
    found
        (rows, k)
    """
    work = np.empty((registers, WIDTH))
    for r in range(len(numbers)):
        work[r] = numbers[r]
    for first in range(0, len(times), WIDTH):
        count = min(WIDTH, len(times) - first)
        for m in range(len(loads)):
            row, source, column = work[loads[m, 0]], loads[m, 1], loads[m, 2]
            for i in range(count):
                if source == 0:
                    row[i] = times[first + i]
                elif source == 1:
                    row[i] = states[first + i, column]
                else:
                    row[i] = values[owners[first + i], column]
        for n in range(len(steps)):
            operation, target, x, y = steps[n, 0], steps[n, 1], steps[n, 2], steps[n, 3]
            carry_out(operation, work[x], work[y], work[target], count)
        for j in range(len(stores)):
            row, place = work[stores[j, 0]], stores[j, 1]
            for i in range(count):
                found[place, first + i] = row[i]
