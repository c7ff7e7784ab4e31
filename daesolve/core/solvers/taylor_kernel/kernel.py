"""The compiled kernel: it fills rows with Taylor coefficients, and takes steps with them.

It is compiled once for each number of lanes, not for equations, and kept on disk by numba. `w`,
`rows` and `stride` are those of `coefficients`; `numbers` is the address of the numbers,
[number, lane]; `codes`, `ends`, `terms`, `blocks` and `outputs` those of `Instructions`.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit

from daesolve.core.expressions import compilation, machine, operations, vectors
from daesolve.core.expressions.compilation import OPTIONS, announce, compile_once, version_of
from daesolve.core.expressions.machine import elementary
from daesolve.core.expressions.vectors import (
    add,
    chosen,
    div,
    farther,
    full,
    larger,
    load,
    load_number,
    mul,
    neg,
    store,
    store_number,
    sub,
)
from daesolve.core.solvers.taylor_kernel import coefficients, kinds
from daesolve.core.solvers.taylor_kernel.coefficients import (
    convolution,
    get,
    products,
    put,
    square,
)

SAFETY = 2.0, 0.7
"""A step is exp(-2 - 0.7/(order - 1)) times the radius of convergence (Jorba and Zou 2005)."""


VERSION = version_of(
    compilation, operations, machine, kinds, vectors, coefficients, sys.modules[__name__]
)


@njit(forceinline=True, **OPTIONS)
def sum_of_terms(w, rows, stride, numbers, ends, terms, i, k, spare):
    """Return coefficient k of a sum of products, rows and rows times numbers."""
    width = len(w)
    found = full(w, 0.0)
    if ends[i, 2] > ends[i, 0]:
        places = ends[i, 0], ends[i, 1], ends[i, 2]
        found = products(w, rows, stride, terms, 0, *places, k, spare, i)
    for m in range(ends[i, 2], ends[i, 3]):
        found = add(found, get(w, rows, stride, terms[m, 0], k))
    for m in range(ends[i, 3], ends[i, 4]):
        found = sub(found, get(w, rows, stride, terms[m, 0], k))
    for m in range(ends[i, 4], ends[i, 5]):
        factor = load(w, numbers, terms[m, 1] * width)
        found = add(found, mul(get(w, rows, stride, terms[m, 0], k), factor))
    for m in range(ends[i, 5], ends[i, 6]):
        factor = load(w, numbers, terms[m, 1] * width)
        found = sub(found, mul(get(w, rows, stride, terms[m, 0], k), factor))
    return found


@njit(forceinline=True, **OPTIONS)
# Long: one branch for each kind of row.
def sweep(w, rows, stride, numbers, codes, ends, terms, blocks, base, k, spare):
    """Fill coefficient k of all rows from `base` on."""
    width = len(w)
    for block in range(len(blocks)):
        kind, first, last = blocks[block, 0], blocks[block, 1], blocks[block, 2]
        if kind == kinds.PRODUCT:
            for i in range(first, last):
                v = products(w, rows, stride, codes, 1, i, i + 1, i + 1, k, spare, i)
                put(w, rows, stride, base + i, k, v)
        elif kind == kinds.SUM:
            for i in range(first, last):
                v = sum_of_terms(w, rows, stride, numbers, ends, terms, i, k, spare)
                put(w, rows, stride, base + i, k, v)
        elif kind == kinds.ADD:
            for i in range(first, last):
                x = get(w, rows, stride, codes[i, 1], k)
                put(w, rows, stride, base + i, k, add(x, get(w, rows, stride, codes[i, 2], k)))
        elif kind == kinds.SUB:
            for i in range(first, last):
                x = get(w, rows, stride, codes[i, 1], k)
                put(w, rows, stride, base + i, k, sub(x, get(w, rows, stride, codes[i, 2], k)))
        elif kind == kinds.NEG:
            for i in range(first, last):
                put(w, rows, stride, base + i, k, neg(get(w, rows, stride, codes[i, 1], k)))
        elif kind == kinds.TIMES_NUMBER:
            for i in range(first, last):
                x, c = get(w, rows, stride, codes[i, 1], k), load(w, numbers, codes[i, 2] * width)
                put(w, rows, stride, base + i, k, mul(x, c))
        elif kind == kinds.OVER_NUMBER:
            for i in range(first, last):
                x, c = get(w, rows, stride, codes[i, 1], k), load(w, numbers, codes[i, 2] * width)
                put(w, rows, stride, base + i, k, div(x, c))
        elif kind == kinds.DERIVATIVE:
            order = full(w, float(k))
            for i in range(first, last):
                v = mul(get(w, rows, stride, codes[i, 1], k), order)
                put(w, rows, stride, base + i, k, v)
        elif kind == kinds.ADD_NUMBER:
            for i in range(first, last):
                v = get(w, rows, stride, codes[i, 1], k)
                if k == 0:
                    v = add(v, load(w, numbers, codes[i, 2] * width))
                put(w, rows, stride, base + i, k, v)
        elif kind == kinds.NUMBER_SUB:
            for i in range(first, last):
                v = neg(get(w, rows, stride, codes[i, 2], k))
                if k == 0:
                    v = add(v, load(w, numbers, codes[i, 1] * width))
                put(w, rows, stride, base + i, k, v)
        elif kind == kinds.SQUARE:
            for i in range(first, last):
                v = square(w, rows, stride, codes[i, 1], k, 0, (k + 1) // 2)
                put(w, rows, stride, base + i, k, v)
        elif kind == kinds.QUOTIENT:
            for i in range(first, last):
                v = convolution(w, rows, stride, base + i, codes[i, 2], k, 0, k)
                v = sub(get(w, rows, stride, codes[i, 1], k), v)
                put(w, rows, stride, base + i, k, div(v, get(w, rows, stride, codes[i, 2], 0)))
        elif kind == kinds.NUMBER_OVER:
            for i in range(first, last):
                v = load(w, numbers, codes[i, 1] * width)
                if k > 0:
                    v = neg(convolution(w, rows, stride, base + i, codes[i, 2], k, 0, k))
                put(w, rows, stride, base + i, k, div(v, get(w, rows, stride, codes[i, 2], 0)))
        elif kind == kinds.CHOSEN:
            for i in range(first, last):
                condition = load(w, numbers, codes[i, 2] * width)
                x = get(w, rows, stride, codes[i, 1], k)
                put(w, rows, stride, base + i, k, chosen(condition, x, full(w, 0.0)))
        elif kind == kinds.HELD:
            for i in range(first, last):
                beyond = farther(get(w, rows, stride, codes[i, 1], 0), kinds.FARTHEST)
                v = chosen(beyond, full(w, 0.0), get(w, rows, stride, codes[i, 1], k))
                put(w, rows, stride, base + i, k, v)
                if k == 0:
                    for lane in range(width):
                        x = load_number(rows, codes[i, 1] * stride + lane)
                        x = min(max(x, -kinds.FARTHEST), kinds.FARTHEST)
                        store_number(rows, (base + i) * stride + lane, x)
                    v = get(w, rows, stride, base + i, 0)
                    put(w, rows, stride, base + i, 0, v)
        elif kind == kinds.NUMBER:
            for i in range(first, last):
                v = load(w, numbers, codes[i, 1] * width) if k == 0 else full(w, 0.0)
                put(w, rows, stride, base + i, k, v)
        elif k == 0:
            begin(w, rows, stride, numbers, codes, first, last, base)
        elif kind == kinds.ROOT:
            for i in range(first, last):
                v = square(w, rows, stride, base + i, k, 1, (k - 1) // 2)
                v = sub(get(w, rows, stride, codes[i, 1], k), v)
                root = get(w, rows, stride, base + i, 0)
                put(w, rows, stride, base + i, k, div(v, add(root, root)))
        elif kind == kinds.INTEGRAL:
            order = full(w, float(k))
            for i in range(first, last):
                v = convolution(w, rows, stride, codes[i, 1], codes[i, 2], k, 1, k)
                put(w, rows, stride, base + i, k, div(v, order))


@njit(**OPTIONS)
def begin(w, rows, stride, numbers, codes, first, last, base):
    """Fill coefficient 0 of roots and integrals."""
    width = len(w)
    for i in range(first, last):
        for lane in range(width):
            if codes[i, 0] == kinds.ROOT:
                y = math.sqrt(load_number(rows, codes[i, 1] * stride + lane))
            else:
                function = codes[i, 5]
                x = load_number(rows, codes[i, 3] * stride + lane)
                if function == operations.POWER:
                    y = load_number(numbers, codes[i, 4] * width + lane)
                else:
                    y = load_number(rows, codes[i, 4] * stride + lane)
                y = elementary(function, x, y)
            store_number(rows, (base + i) * stride + lane, y)
        put(w, rows, stride, base + i, 0, get(w, rows, stride, base + i, 0))


@njit(inline="always", **OPTIONS)
def expand(w, rows, stride, numbers, table, states, order):
    """Fill all coefficients, from those of order zero of the states and time."""
    codes, ends, terms, blocks, outputs = table
    width = len(w)
    memory = np.empty((len(codes) + 1) * width)
    spare = memory.ctypes.data
    for k in range(order):
        sweep(w, rows, stride, numbers, codes, ends, terms, blocks, states + 1, k, spare)
        for s in range(states):
            if outputs[s, 0]:
                v = get(w, rows, stride, outputs[s, 1], k)
            elif k == 0:
                v = load(w, numbers, outputs[s, 1] * width)
            else:
                v = full(w, 0.0)
            put(w, rows, stride, s, k + 1, div(v, full(w, float(k + 1))))
    # Used once more: numba frees an array behind its last use, and knows nothing of its address.
    memory[0] = 0.0


@njit(**OPTIONS)
def step_lengths(w, rows, stride, states, order, lengths):
    """Write for each lane how far the series holds, by its last two terms."""
    width = len(w)
    sizes = np.empty((3, width))
    place = sizes.ctypes.data
    size, last_but_one, last = full(w, 0.0), full(w, 0.0), full(w, 0.0)
    for s in range(states):
        size = larger(size, get(w, rows, stride, s, 0))
        last_but_one = larger(last_but_one, get(w, rows, stride, s, order - 1))
        last = larger(last, get(w, rows, stride, s, order))
    store(place, 0, size)
    store(place, width, last_but_one)
    store(place, 2 * width, last)
    factor = math.exp(-SAFETY[0] - SAFETY[1] / (order - 1))
    for lane in range(width):
        one = max(1.0, sizes[0, lane])
        first = (one / sizes[1, lane]) ** (1.0 / (order - 1))
        second = (one / sizes[2, lane]) ** (1.0 / order)
        length = factor * min(first, second)
        # If a coefficient is infinite, the result of the step is not a number.
        lengths[lane] = length if length > 0.0 else math.nan


@njit(**OPTIONS)
def advance_time(time, end, lengths, when):
    """Move time, held in two numbers, by a step in each lane; return whether one has ended.

    The last step of a lane lands on its end; one that has ended moves no more.
    """
    ended = False
    for lane in range(len(end)):
        high, low = time[0, lane], time[1, lane]
        left = (end[lane] - high) - low
        length = lengths[lane]
        when[0, lane], when[1, lane] = high, low
        if not length < abs(left):
            ended = ended or left != 0.0
            when[2, lane] = left
            time[0, lane], time[1, lane] = end[lane], 0.0
            continue
        length = math.copysign(length, left)
        when[2, lane] = length
        moved = high + length
        back = moved - high
        rest = (high - (moved - back)) + (length - back) + low
        time[0, lane] = moved + rest
        time[1, lane] = rest - (time[0, lane] - moved)
    return ended


@njit(**OPTIONS)
def add_steps(w, rows, stride, states, order, lengths, x, low):
    """Add to the states what the series give, with what rounding left of the steps before.

    x, low: addresses of the states, [state, lane], and of what was left.
    """
    width = len(w)
    length = load(w, lengths, 0)
    for s in range(states):
        v = get(w, rows, stride, s, order)
        for k in range(order - 1, 0, -1):
            v = add(get(w, rows, stride, s, k), mul(length, v))
        old, left = load(w, x, s * width), load(w, low, s * width)
        v = add(mul(length, v), left)
        new = add(old, v)
        back = sub(new, old)
        rest = add(sub(old, sub(new, back)), sub(v, back))
        store(x, s * width, chosen(length, new, old))
        store(low, s * width, chosen(length, rest, left))


@compile_once
@announce("Taylor's method", 4.0)
def march(version, w, work, stride, given, table, order, x, low, time, end, found, when, wait):
    """Take steps in all lanes until they end or one is no longer finite; return how many.

    The first that has ended waits for so many steps of the others at most, and moves no more.

    Parameters
    ----------
    work, given
        Memory for the rows; the numbers, (numbers, lanes).
    x, low
        (states, lanes) the states, and what rounding left of them; both change.
    time, end
        (2, lanes) and (lanes,); time changes.
    found
        (lanes, steps, states, order + 1) receives the coefficients of each step.
    when
        (steps, 3, lanes) receives its start, in two numbers, and its length.
    wait
        How many steps.
    """
    states, width = len(x), len(w)
    last = len(when)
    rows, numbers = work.ctypes.data, given.ctypes.data
    state, left = x.ctypes.data, low.ctypes.data
    lengths = np.empty(width)
    for k in range(order + 1):
        put(w, rows, stride, states, k, full(w, 1.0 if k == 1 else 0.0))
    for step in range(len(when)):
        for s in range(states):
            put(w, rows, stride, s, 0, load(w, state, s * width))
        put(w, rows, stride, states, 0, load(w, time.ctypes.data, 0))
        expand(w, rows, stride, numbers, table, states, order)
        step_lengths(w, rows, stride, states, order, lengths)
        if advance_time(time, end, lengths, when[step]):
            last = min(last, step + 1 + wait)
        add_steps(w, rows, stride, states, order, when[step, 2].ctypes.data, state, left)
        for s in range(states):  # one by one, since all of them are more than the nearest cache has
            for lane in range(width):
                for k in range(order + 1):
                    found[lane, step, s, k] = load_number(rows, s * stride + k * width + lane)
        ended = True
        for lane in range(width):
            ended = ended and time[0, lane] == end[lane]
        for s in range(states):
            for lane in range(width):
                ended = ended or not math.isfinite(x[s, lane])
        if ended or step + 1 >= last:
            return step + 1
    return len(when)


@compile_once
def states_within(version, series, when, moments):
    """Return the states, (j, states), at times, (j,), within steps, by their series.

    series, when: (steps, states, order + 1), and the start of each step, in two numbers, and its
    length, (steps, 3).
    """
    found = np.empty((len(moments), series.shape[1]))
    sign = math.copysign(1.0, when[0, 2])
    for i in range(len(moments)):
        step, above = 0, len(when)
        while above - step > 1:
            middle = (step + above) // 2
            if sign * when[middle, 0] <= sign * moments[i]:
                step = middle
            else:
                above = middle
        h = (moments[i] - when[step, 0]) - when[step, 1]
        for s in range(series.shape[1]):
            v = 0.0
            for k in range(series.shape[2] - 1, -1, -1):
                v = series[step, s, k] + h * v
            found[i, s] = v
    return found
