"""Arithmetic of balls: numbers of 106 bits, each with a bound of how far the true one may be.

A ball (h, l, r) contains every number within r of h + l. The centre is the unevaluated sum of two
doubles (Joldes, Muller and Popescu 2017, doi 10.1145/3121432); rounding of the centre is added to
the radius, and a radius is rounded upwards by a factor. Nothing depends on the rounding mode.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math

from numba import njit, types
from numba.extending import intrinsic

from daesolve.core.expressions.compilation import OPTIONS

INLINE = {"forceinline": True, **OPTIONS}
EPSILON = 2.0**-103
"""A bound of the relative error of a sum or a product of centres, 8 u^2 with u = 2^-53; those of
the algorithms are 3 u^2 and 5 u^2, to first order."""
LEAST = 1e-280
"""A bound of what underflow takes from a product or a quotient."""
UP = 1.0 + 2.0**-45
"""By this a radius is multiplied, which covers the rounding of its own few operations."""


@intrinsic
def fused(typingctx, a, b, c):
    """Return a b + c, rounded once."""

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@njit(**INLINE)
def quick_sum(a, b):
    """Return a + b and what rounding left of it, where |a| >= |b| or a is zero."""
    s = a + b
    return s, b - (s - a)


@njit(**INLINE)
def two_sum(a, b):
    """Return a + b and what rounding left of it."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)


@njit(**INLINE)
def add(a, b):
    """Return a ball that contains all sums."""
    s, e = two_sum(a[0], b[0])
    t, f = two_sum(a[1], b[1])
    s, e = quick_sum(s, e + t)
    s, e = quick_sum(s, e + f)
    return s, e, (a[2] + b[2] + EPSILON * abs(s)) * UP


@njit(**INLINE)
def neg(a):
    """Return the ball of negatives."""
    return -a[0], -a[1], a[2]


@njit(**INLINE)
def sub(a, b):
    """Return a ball that contains all differences."""
    return add(a, neg(b))


@njit(**INLINE)
def mul(a, b):
    """Return a ball that contains all products."""
    p = a[0] * b[0]
    e = fused(a[0], b[0], -p)
    e += fused(a[1], b[0], fused(a[0], b[1], a[1] * b[1]))
    s, e = quick_sum(p, e)
    x, y = abs(a[0]) * UP, abs(b[0]) * UP
    if x + a[2] == 0.0 or y + b[2] == 0.0:
        return 0.0, 0.0, 0.0
    return s, e, ((x + a[2]) * b[2] + a[2] * y + EPSILON * abs(s) + LEAST) * UP


@njit(**INLINE)
def square(a):
    """Return a ball that contains all squares."""
    return mul(a, a)


@njit(**INLINE)
def times(a, c):
    """Return a ball that contains all products with a double."""
    return mul(a, (c, 0.0, 0.0))


@njit(**INLINE)
def magnitude(a):
    """Return a bound of the absolute value."""
    return (abs(a[0]) + abs(a[1]) + a[2]) * UP


@njit(**INLINE)
def mignitude(a):
    """Return what the absolute value is at least, 0 where the ball contains zero."""
    return max(abs(a[0]) * (1.0 - 2.0**-50) - abs(a[1]) - a[2] * UP, 0.0) * (1.0 - 2.0**-50)


@njit(**OPTIONS)
def div(a, b):
    """Return a ball that contains all quotients; not a number where a divisor may be zero."""
    low = mignitude(b)
    if not low > 0.0:
        return math.nan, math.nan, math.inf
    q = a[0] / b[0]
    rest = sub(a, times(b, q))
    s, e = quick_sum(q, rest[0] / b[0])
    # However the centre was found: a/b - q = (a - q b)/b.
    rest = sub(a, mul(b, (s, e, 0.0)))
    return s, e, (magnitude(rest) / low + LEAST) * UP


@njit(**OPTIONS)
def root(a):
    """Return a ball that contains all roots; not a number where one may be of a negative number."""
    if not a[0] - abs(a[1]) - a[2] * UP > 0.0:
        if a[0] == 0.0 and a[1] == 0.0 and a[2] == 0.0:
            return 0.0, 0.0, 0.0
        return math.nan, math.nan, math.inf
    r = math.sqrt(a[0])
    rest = sub(a, mul((r, 0.0, 0.0), (r, 0.0, 0.0)))
    s, e = quick_sum(r, rest[0] / (2.0 * r))
    # sqrt(a) - s = (a - s^2)/(sqrt(a) + s), whose divisor is at least s.
    rest = sub(a, square((s, e, 0.0)))
    return s, e, (magnitude(rest) / (s * (1.0 - 2.0**-50)) + LEAST) * UP
