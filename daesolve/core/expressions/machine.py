"""The compiled machine that executes a program of operations, for one or several states.

`memory` is the address of the registers; a register takes `stride` numbers there, one for each
state. The token `w` of `vectors` gives how many of them are processed at once: one for a single
state, otherwise as many as fit a wide processor register.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit
from numba.extending import overload

from daesolve.core.expressions import compilation, interpreter, operations, vectors
from daesolve.core.expressions.compilation import (
    OPTIONS,
    announce,
    compile_once,
    for_now,
    version_of,
)
from daesolve.core.expressions.operations import (
    ADD,
    ASSIGN,
    DIV,
    INV,
    MUL,
    NEG,
    SQ,
    SQRT,
    SUB,
    TWICE,
)
from daesolve.core.expressions.vectors import (
    add,
    div,
    full,
    load,
    load_number,
    mul,
    neg,
    root,
    store,
    store_number,
    sub,
)

VERSION = version_of(compilation, operations, vectors, sys.modules[__name__])
ONE = (0.0,)
SEVERAL = (0.0,) * 8
"""The tokens: one number, and the width of a wide processor register.

They are no whole numbers: for these numba would compile a function once as their global, and once
more as its argument.
"""


@njit(**OPTIONS)
# Long: one branch for each operation.
def elementary(operation, x, y):
    """Return the value of an operation that compilers cannot vectorise."""
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
        return x if math.isinf(y) and math.isfinite(x) else x - y * np.rint(x / y)
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
    if operation == operations.FABS:
        return abs(x)
    return 0.0


@njit(**OPTIONS)
# Long: one branch for each operation.
def carry_out(w, runs, codes, memory, stride):
    """Execute a program: runs of the same operation, one after another.

    Parameters
    ----------
    runs
        (n, 3) an operation, and the range of codes to which it applies.
    codes
        (m, 3) the registers of a value and of its operands.
    """
    width = len(w)
    for run in range(len(runs)):
        operation, first, last = runs[run, 0], runs[run, 1], runs[run, 2]
        if operation == ADD:
            for n in range(first, last):
                z, x, y = codes[n, 0] * stride, codes[n, 1] * stride, codes[n, 2] * stride
                for i in range(0, stride, width):
                    v = add(load(w, memory, x + i), load(w, memory, y + i))
                    store(memory, z + i, v)
        elif operation == SUB:
            for n in range(first, last):
                z, x, y = codes[n, 0] * stride, codes[n, 1] * stride, codes[n, 2] * stride
                for i in range(0, stride, width):
                    v = sub(load(w, memory, x + i), load(w, memory, y + i))
                    store(memory, z + i, v)
        elif operation == MUL:
            for n in range(first, last):
                z, x, y = codes[n, 0] * stride, codes[n, 1] * stride, codes[n, 2] * stride
                for i in range(0, stride, width):
                    v = mul(load(w, memory, x + i), load(w, memory, y + i))
                    store(memory, z + i, v)
        elif operation == DIV:
            for n in range(first, last):
                z, x, y = codes[n, 0] * stride, codes[n, 1] * stride, codes[n, 2] * stride
                for i in range(0, stride, width):
                    store(memory, z + i, div(load(w, memory, x + i), load(w, memory, y + i)))
        elif operation == SQ:
            for n in range(first, last):
                z, x = codes[n, 0] * stride, codes[n, 1] * stride
                for i in range(0, stride, width):
                    v = load(w, memory, x + i)
                    store(memory, z + i, mul(v, v))
        elif operation == TWICE:
            for n in range(first, last):
                z, x = codes[n, 0] * stride, codes[n, 1] * stride
                for i in range(0, stride, width):
                    v = load(w, memory, x + i)
                    store(memory, z + i, add(v, v))
        elif operation == NEG:
            for n in range(first, last):
                z, x = codes[n, 0] * stride, codes[n, 1] * stride
                for i in range(0, stride, width):
                    store(memory, z + i, neg(load(w, memory, x + i)))
        elif operation == INV:
            for n in range(first, last):
                z, x = codes[n, 0] * stride, codes[n, 1] * stride
                for i in range(0, stride, width):
                    store(memory, z + i, div(full(w, 1.0), load(w, memory, x + i)))
        elif operation == SQRT:
            for n in range(first, last):
                z, x = codes[n, 0] * stride, codes[n, 1] * stride
                for i in range(0, stride, width):
                    store(memory, z + i, root(load(w, memory, x + i)))
        elif operation == ASSIGN:
            for n in range(first, last):
                z, x = codes[n, 0] * stride, codes[n, 1] * stride
                for i in range(0, stride, width):
                    store(memory, z + i, load(w, memory, x + i))
        else:
            for n in range(first, last):
                z, x, y = codes[n, 0] * stride, codes[n, 1] * stride, codes[n, 2] * stride
                for i in range(stride):
                    a, b = load_number(memory, x + i), load_number(memory, y + i)
                    store_number(memory, z + i, elementary(operation, a, b))


@compile_once
def carry_out_once(version, runs, codes, memory):
    """Execute a program with the content of the registers, (registers, 1)."""
    carry_out(ONE, runs, codes, memory.ctypes.data, 1)


def run_once(version, runs, codes, memory):
    """Execute a program with the content of the registers, (registers, 1); also in kept code."""
    if for_now(carry_out_once, interpreter.seconds, runs, 1):
        interpreter.carry_out(runs, codes, memory)
    else:
        carry_out_once(version, runs, codes, memory)


@overload(run_once, jit_options=OPTIONS)
def _(version, runs, codes, memory):
    return lambda version, runs, codes, memory: carry_out(ONE, runs, codes, memory.ctypes.data, 1)


@compile_once
def carry_out_together(version, runs, codes, memory):
    """Execute a program with the content of the registers, (registers, states)."""
    carry_out(SEVERAL, runs, codes, memory.ctypes.data, memory.shape[1])


def run_together(version, runs, codes, memory):
    """Execute a program with the content of the registers, (registers, states)."""
    if for_now(carry_out_together, interpreter.seconds, runs, memory.shape[1]):
        interpreter.carry_out(runs, codes, memory)
    else:
        carry_out_together(version, runs, codes, memory)


@compile_once
@announce("the evaluation of many states", 1.0)
def run(version, w, runs, codes, numbers, given, registers, stride, found):
    """Execute a program for many states, in groups.

    Parameters
    ----------
    numbers
        The content of the first registers, shared by all states.
    given
        (k, inputs) the content of the next ones.
    registers
        The number of registers.
    found
        (rows, k) receives the content of the last ones.
    """
    memory = np.empty((registers, stride))
    shared, inputs, rows = len(numbers), given.shape[1], len(found)
    for r in range(shared):
        memory[r] = numbers[r]
    for first in range(0, len(given), stride):
        count = min(stride, len(given) - first)
        for j in range(inputs):
            for i in range(stride):  # States beyond the last one are computed too, without use.
                memory[shared + j, i] = given[first + min(i, count - 1), j]
        carry_out(w, runs, codes, memory.ctypes.data, stride)
        for j in range(rows):
            for i in range(count):
                found[j, first + i] = memory[registers - rows + j, i]


@compile_once
def run_in_lanes(version, w, runs, codes, numbers, times, states, inputs, registers, stride, found):
    """Execute a program for many states of several motions.

    Parameters
    ----------
    numbers
        (k, lanes) the content of the first registers, for each motion.
    times, states, inputs
        (lanes, j) and (lanes, j, columns), whose first columns fill the next registers, for each
        motion.
    registers
        The number of registers.
    found
        (lanes, j, rows) receives the content of the last ones.
    """
    memory = np.zeros((registers, stride))
    shared, rows = len(numbers), found.shape[2]
    time, result = memory[shared], registers - rows
    for lane in range(len(times)):
        for r in range(shared):
            memory[r] = numbers[r, lane]
        for first in range(0, times.shape[1], stride):
            count = min(stride, times.shape[1] - first)
            for i in range(stride):  # States beyond the last one are computed too, without use.
                place = first + min(i, count - 1)
                time[i] = times[lane, place]
                for j in range(inputs):
                    memory[shared + 1 + j, i] = states[lane, place, j]
            carry_out(w, runs, codes, memory.ctypes.data, stride)
            for i in range(count):
                for j in range(rows):
                    found[lane, first + i, j] = memory[result + j, i]
