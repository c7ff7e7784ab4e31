"""The product structure of a program's values, and their growth, by one compiled loop."""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import sys

import numpy as np

from daesolve.core.expressions import compilation, operations
from daesolve.core.expressions.compilation import announce, compile_once, inline_part, version_of

VERSION = version_of(compilation, operations, sys.modules[__name__])
NONE = -1
"""No value; for the number of factors: not a product."""
MOST = 8
"""The largest number of factors of a product."""
EXPONENTIAL = (operations.EXP, operations.EXPM1, operations.SINH, operations.COSH)


@compile_once
@announce("the examination of large products", 2.0)
def products(version, codes, operands, moving, timed, numbers, high, dividing, in_time):
    """Return for each value its factors, and where a product may hide.

    Parameters
    ----------
    codes, operands
        Of the program, by `operations`.
    moving
        (k,) which leaves change along the motion; receives the same for the other values.
    timed
        (k,) the same for those that depend on time.
    numbers
        (k,) constants; NaN for other values.
    high
        The degree from which a product is negligible or dominant over most of its range.
    dividing, in_time
        The degree from which a denominator has poles that matter only nearby; and where it depends
        on time.

    Returns
    -------
    tuple
        (k,) the growth with moving values, as a power; (k,) the number of factors; (k, 8) the
        factors; (k, 8) their exponents; (k,) whether it is a sum with a term that may hide, a
        product that may hide, or divides by one.
    """
    count = len(codes)
    degrees, sizes = np.zeros(count), np.full(count, NONE)
    factors, powers = np.empty((count, MOST), np.int64), np.empty((count, MOST))
    grows, hides = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    own = np.empty(2 * MOST, np.int64), np.empty(2 * MOST)
    for n in range(count):
        a, b = operands[n, 0], operands[n, 1]
        if a == NONE:
            degrees[n] = 1.0 if moving[n] else 0.0
            continue
        moving[n] = moving[a] or (b != NONE and moving[b])
        timed[n] = timed[a] or (b != NONE and timed[b])
        if not moving[n]:
            continue
        code = codes[n]
        power = numbers[b] if code in (operations.CONSTANT_POWER, operations.POWER) else np.nan
        degrees[n] = _degree(code, degrees[a], 0.0 if b == NONE else degrees[b], power)
        grows[n] = code in EXPONENTIAL or (code == operations.POWER and moving[b])
        known = degrees, sizes, factors, powers
        of_a, of_b = _exponents(code, power)
        size = NONE
        if not np.isnan(of_a):
            size = _raised(a, of_a, known, own, 0)
        if not np.isnan(of_b):
            size = _raised(b, of_b, known, own, size)
        if NONE < size <= MOST:
            sizes[n] = size
            for k in range(size):
                factors[n, k], powers[n, k] = own[0][k], own[1][k]
        sums = code == operations.ADD or code == operations.SUB
        if sums or sizes[n] != NONE or code == operations.DIV:
            for looked in (a, b) if sums else (n, n):
                hides[n] |= _hides(looked, known, moving, grows, high)
            limits = dividing, in_time
            hides[n] |= not sums and _divides(n, code, a, b, known, grows, timed, limits)
    return degrees, sizes, factors, powers, hides


@inline_part
def _degree(code, first, second, power):
    """Return the growth of a value with moving values, as a power."""
    if code in (
        operations.ADD, operations.SUB, operations.NEG, operations.ASSIGN, operations.FABS
    ):  # fmt: skip
        return max(first, second)
    if code == operations.MUL:
        return first + second
    if code == operations.DIV:
        return max(first - second, 0.0)
    if code == operations.SQ:
        return 2.0 * first
    if code == operations.SQRT:
        return 0.5 * first
    if code == operations.CONSTANT_POWER or code == operations.POWER:
        return 0.0 if np.isnan(power) else max(power, 0.0) * first
    return 0.0 if code == operations.INV else 1.0


@inline_part
def _exponents(code, power):
    """Return the exponents of a product's operands; NaN if one is not a factor."""
    if code == operations.MUL:
        return 1.0, 1.0
    if code == operations.DIV:
        return 1.0, -1.0
    if code == operations.SQ:
        return 2.0, np.nan
    if code == operations.INV:
        return -1.0, np.nan
    if code == operations.NEG or code == operations.ASSIGN:
        return 1.0, np.nan
    if code == operations.SQRT:
        return 0.5, np.nan
    return power, np.nan


@inline_part
def _raised(n, power, known, own, size):
    """Multiply by the factors of a value, raised to a power."""
    _, sizes, factors, powers = known
    for k in range(max(sizes[n], 1)):
        factor = n if sizes[n] == NONE else factors[n, k]
        exponent = power if sizes[n] == NONE else power * powers[n, k]
        place = 0
        while place < size and own[0][place] != factor:
            place += 1
        if place == size:
            own[0][place], own[1][place] = factor, 0.0
            size += 1
        own[1][place] += exponent
    return size


@inline_part
def _hides(n, known, moving, grows, high):
    """Return whether a product is mostly negligible or dominant."""
    _, sizes, factors, powers = known
    if sizes[n] == NONE:
        return grows[n] or (moving[n] and high <= 1.0)
    degree = 0.0
    for k in range(sizes[n]):
        if grows[factors[n, k]]:
            return True
        if moving[factors[n, k]]:
            degree += abs(powers[n, k])
    return degree >= high


@inline_part
# Long: single denominators first, then their product.
def _divides(n, code, a, b, known, grows, timed, limits):
    """Return whether a value divides by something that grows so fast that its poles stay hidden."""
    degrees, sizes, factors, powers = known
    dividing, in_time = limits
    total, growing, soon = 0.0, False, False
    for k in range(sizes[n]):
        factor, power = factors[n, k], powers[n, k]
        if power >= 0.0:
            continue
        growing |= grows[factor]
        soon |= timed[factor]
        total -= power * degrees[factor]
        least = in_time if timed[factor] else dividing
        if grows[factor] or -power * degrees[factor] < least:
            continue
        if _power_in(a, factor, known) != power and (
            b == NONE or _power_in(b, factor, known) != power
        ):
            return True
    if code == operations.DIV:
        total, growing, soon = 0.0, False, False
        for k in range(max(sizes[b], 1)):
            factor = b if sizes[b] == NONE else factors[b, k]
            power = 1.0 if sizes[b] == NONE else powers[b, k]
            growing |= grows[factor]
            if power > 0.0:
                soon |= timed[factor]
                total += power * degrees[factor]
    elif code not in (operations.INV, operations.CONSTANT_POWER, operations.POWER):
        return False
    return total >= (in_time if soon else dividing) and not growing


@inline_part
def _power_in(n, factor, known):
    """Return the exponent of a factor in a value; zero if it does not occur."""
    _, sizes, factors, powers = known
    if sizes[n] == NONE:
        return 1.0 if n == factor else 0.0
    for k in range(sizes[n]):
        if factors[n, k] == factor:
            return powers[n, k]
    return 0.0
