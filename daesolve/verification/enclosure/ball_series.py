"""Taylor coefficients of a table of instructions, in balls.

The table is that of Taylor's kernel (`instructions`). Rows are (rows, orders, 3), numbers (n, 3).
Elementary functions of coefficients of order zero come from outside: `fill` stops there.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit

from daesolve.core.expressions import compilation
from daesolve.core.expressions.compilation import OPTIONS, announce, compile_once, version_of
from daesolve.core.solvers.taylor_kernel import kinds
from daesolve.verification.enclosure import balls
from daesolve.verification.enclosure.balls import (
    INLINE,
    add,
    div,
    mignitude,
    mul,
    neg,
    root,
    square,
    sub,
)

VERSION = version_of(compilation, kinds, balls, sys.modules[__name__])
COMPLETE, POLE = -1, -2
"""All coefficients are there; one is not finite."""


@njit(**INLINE)
def get(rows, row, k):
    """Return coefficient k of a row."""
    return rows[row, k, 0], rows[row, k, 1], rows[row, k, 2]


@njit(**INLINE)
def number(numbers, n):
    """Return a number."""
    return numbers[n, 0], numbers[n, 1], numbers[n, 2]


@njit(**OPTIONS)
def convolution(rows, x, y, k, low, count):
    """Return the sum of `count` terms x_m y_(k - m) from m = low on."""
    found = (0.0, 0.0, 0.0)
    for m in range(low, low + count):
        found = add(found, mul(get(rows, x, m), get(rows, y, k - m)))
    return found


@njit(**OPTIONS)
def square_of(rows, x, k, low):
    """Return coefficient k of a square, without the terms that have a factor below `low`."""
    found = convolution(rows, x, x, k, low, max((k + 1) // 2 - low, 0))
    found = add(found, found)
    if k % 2 == 0 and k // 2 >= low:
        found = add(found, square(get(rows, x, k // 2)))
    return found


@njit(**OPTIONS)
def sum_of_terms(rows, numbers, ends, terms, i, k):
    """Return coefficient k of a sum of products, rows and rows times numbers."""
    found = (0.0, 0.0, 0.0)
    for m in range(ends[i, 0], ends[i, 6]):
        x, y = terms[m, 0], terms[m, 1]
        if m < ends[i, 2]:
            v = convolution(rows, x, y, k, 0, k + 1)
        elif m < ends[i, 4]:
            v = get(rows, x, k)
        else:
            v = mul(get(rows, x, k), number(numbers, y))
        plus = m < ends[i, 1] or ends[i, 2] <= m < ends[i, 3] or ends[i, 4] <= m < ends[i, 5]
        found = add(found, v) if plus else sub(found, v)
    return found


@njit(**OPTIONS)
def chosen(a, b):
    """Return a where b is not zero, zero where it is; not a number where that is open."""
    if mignitude(b) > 0.0:
        return a
    if b[0] == 0.0 and b[1] == 0.0 and b[2] == 0.0:
        return 0.0, 0.0, 0.0
    return math.nan, math.nan, math.inf


@njit(**OPTIONS)
# Long: one branch for each kind of row.
def coefficient(rows, numbers, codes, ends, terms, i, base, k):
    """Return coefficient k of instruction i; that of functions only beyond order zero."""
    kind, x, y = codes[i, 0], codes[i, 1], codes[i, 2]
    if kind == kinds.SUM:
        return sum_of_terms(rows, numbers, ends, terms, i, k)
    if kind == kinds.PRODUCT:
        return convolution(rows, x, y, k, 0, k + 1)
    if kind == kinds.ADD:
        return add(get(rows, x, k), get(rows, y, k))
    if kind == kinds.SUB:
        return sub(get(rows, x, k), get(rows, y, k))
    if kind == kinds.NEG:
        return neg(get(rows, x, k))
    if kind == kinds.TIMES_NUMBER:
        return mul(get(rows, x, k), number(numbers, y))
    if kind == kinds.OVER_NUMBER:
        return div(get(rows, x, k), number(numbers, y))
    if kind == kinds.DERIVATIVE:
        return mul(get(rows, x, k), (float(k), 0.0, 0.0))
    if kind == kinds.ADD_NUMBER:
        return add(get(rows, x, k), number(numbers, y)) if k == 0 else get(rows, x, k)
    if kind == kinds.NUMBER_SUB:
        v = neg(get(rows, y, k))
        return add(v, number(numbers, x)) if k == 0 else v
    if kind == kinds.SQUARE:
        return square_of(rows, x, k, 0)
    if kind == kinds.QUOTIENT:
        v = sub(get(rows, x, k), convolution(rows, base + i, y, k, 0, k))
        return div(v, get(rows, y, 0))
    if kind == kinds.NUMBER_OVER:
        v = number(numbers, x) if k == 0 else neg(convolution(rows, base + i, y, k, 0, k))
        return div(v, get(rows, y, 0))
    if kind == kinds.CHOSEN:
        return chosen(get(rows, x, k), number(numbers, y))
    if kind == kinds.NUMBER:
        return number(numbers, x) if k == 0 else (0.0, 0.0, 0.0)
    if kind == kinds.ROOT:
        if k == 0:
            return root(get(rows, x, 0))
        v = sub(get(rows, x, k), square_of(rows, base + i, k, 1))
        first = get(rows, base + i, 0)
        return div(v, add(first, first))
    # An integral.
    return div(convolution(rows, x, y, k, 1, k), (float(k), 0.0, 0.0))


@compile_once
@announce("enclosures", 8.0)
def fill(version, rows, numbers, codes, ends, terms, outputs, states, first, order):
    """Fill coefficients of all rows, from those of order zero of the states, and of time.

    Parameters
    ----------
    rows
        (rows, order + 1, 3); receives the coefficients.
    numbers
        (n, 3)
    codes, ends, terms, outputs
        See `Instructions`.
    states
        How many states there are; those beyond as many outputs are rates.
    first
        The instruction of order zero to go on with.
    order
        The highest coefficient of the states.

    Returns
    -------
    int
        The instruction whose function of order zero is needed, `COMPLETE` or `POLE`.
    """
    base = states + 1
    for k in range(order + 1):
        for i in range(first if k == 0 else 0, len(codes)):
            if k == 0 and codes[i, 0] == kinds.INTEGRAL:
                return i
            v = coefficient(rows, numbers, codes, ends, terms, i, base, k)
            if not v[2] < 1e250:
                return POLE
            rows[base + i, k, 0], rows[base + i, k, 1], rows[base + i, k, 2] = v
        if k == order:
            break
        for s in range(states):
            v = (0.0, 0.0, 0.0)
            if outputs[s, 0]:
                v = get(rows, outputs[s, 1], k)
            elif k == 0:
                v = number(numbers, outputs[s, 1])
            v = div(v, (float(k + 1), 0.0, 0.0))
            rows[s, k + 1, 0], rows[s, k + 1, 1], rows[s, k + 1, 2] = v
    return COMPLETE


@compile_once
def polynomials(version, series, h):
    """Return the values, (n, 3), of power series, (n, order + 1, 3), at a ball h, (3,)."""
    count, orders = series.shape[0], series.shape[1]
    found = np.empty((count, 3))
    argument = (h[0], h[1], h[2])
    for s in range(count):
        v = get(series, s, orders - 1)
        for k in range(orders - 2, -1, -1):
            v = add(mul(v, argument), get(series, s, k))
        found[s, 0], found[s, 1], found[s, 2] = v
    return found
