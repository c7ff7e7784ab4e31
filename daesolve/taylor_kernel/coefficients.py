"""The layout of Taylor coefficients in memory, and what is computed from two rows of them.

Either several lanes are held side by side, [row, order, lane]; or, for one lane, a row is held
forwards and, behind it, backwards, so that the sum of x_m y_(k - m) is one product of two stretches
of memory, eight numbers at a time. The token `w` is a tuple of as many whole numbers as there are
lanes, or of one float.

`rows` is the address of the coefficients, and `stride` how many numbers a row takes.
"""
# numba replaces these functions by those for a type of the token when it compiles.
# pyright: basic, reportCallIssue=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

from numba import njit, types
from numba.extending import overload

from daesolve.algebra.compiling import OPTIONS
from daesolve.algebra.vectors import (
    BLOCK,
    add,
    add_product,
    first_of,
    full,
    load,
    load_block,
    mul,
    store,
    sub,
    total,
    zero_block,
)

INLINE = {"forceinline": True}


def stride_of(w: tuple[float, ...], order: int) -> int:
    """Return how many numbers a row takes."""
    if isinstance(w[0], float):
        return -(-2 * (order + 1) // BLOCK) * BLOCK + BLOCK
    return (order + 1) * len(w)


def _both_ways(w) -> bool:
    return isinstance(w[0], types.Float)


def put(w, rows, stride, row, k, v): ...
def get(w, rows, stride, row, k): ...
def convolution(w, rows, stride, x, y, k, low, count): ...
def parts(w, rows, stride, x, y, k, low, count): ...
def no_parts(w): ...
def whole(w, v): ...
def square(w, rows, stride, x, k, low, count): ...
def products(w, rows, stride, terms, first, middle, last, k, spare, row): ...


@overload(put, jit_options=INLINE)
def _put(w, rows, stride, row, k, v):
    if _both_ways(w):

        def both_ways(w, rows, stride, row, k, v):
            store(rows, row * stride + k, v)
            store(rows, row * stride + stride - 9 - k, v)

        return both_ways

    def lanes(w, rows, stride, row, k, v):
        store(rows, row * stride + k * len(w), v)

    return lanes


@overload(get, jit_options=INLINE)
def _get(w, rows, stride, row, k):
    def either(w, rows, stride, row, k):
        return load(w, rows, row * stride + k * len(w))

    return either


@overload(parts, jit_options=INLINE)
def _parts(w, rows, stride, x, y, k, low, count):
    """Return the sum of `count` terms x_m y_(k - m) from m = low on; in parts for one lane."""
    if _both_ways(w):

        def both_ways(w, rows, stride, x, y, k, low, count):
            i, j = x * stride + low, y * stride + stride - 9 - k + low
            found = mul(load_block(rows, i), load_block(rows, j))
            if count <= 8:
                return first_of(found, count)
            if count <= 16:
                second = mul(load_block(rows, i + 8), load_block(rows, j + 8))
                return add(found, first_of(second, count - 8))
            m = 8
            while m + 8 <= count:
                found = add_product(found, load_block(rows, i + m), load_block(rows, j + m))
                m += 8
            rest = mul(load_block(rows, i + m), load_block(rows, j + m))
            return add(found, first_of(rest, count - m))

        return both_ways

    def lanes(w, rows, stride, x, y, k, low, count):
        width = len(w)
        i, j = x * stride + low * width, y * stride + (k - low) * width
        found = full(w, 0.0)
        for _ in range(count):
            found = add_product(found, load(w, rows, i), load(w, rows, j))
            i += width
            j -= width
        return found

    return lanes


@overload(no_parts, jit_options=INLINE)
def _no_parts(w):
    if _both_ways(w):
        return lambda w: zero_block()
    return lambda w: full(w, 0.0)


@overload(whole, jit_options=INLINE)
def _whole(w, v):
    if _both_ways(w):
        return lambda w, v: total(v)
    return lambda w, v: v


@overload(convolution, jit_options=INLINE)
def _convolution(w, rows, stride, x, y, k, low, count):
    """Return the sum of `count` terms x_m y_(k - m) from m = low on."""

    def either(w, rows, stride, x, y, k, low, count):
        return whole(w, parts(w, rows, stride, x, y, k, low, count))

    return either


@overload(square, jit_options=INLINE)
def _square(w, rows, stride, x, k, low, count):
    """Twice the sum of `count` terms x_m x_(k - m) from m = low on, and the middle one."""

    def either(w, rows, stride, x, k, low, count):
        v = convolution(w, rows, stride, x, x, k, low, count)
        v = add(v, v)
        if k % 2 == 0:
            middle = get(w, rows, stride, x, k // 2)
            v = add(v, mul(middle, middle))
        return v

    return either


@njit(forceinline=True, **OPTIONS)
def both_orders(w, rows, x, y, k):
    """Return coefficient k of a product, and what is known by then of coefficient k + 1.

    That lacks the terms in which a factor is of order zero. What is read serves both: rows of many
    lanes are more than the nearest cache has.

    x, y: the places of coefficient 0 of one factor and of coefficient k of the other.
    """
    width = len(w)
    before = load(w, rows, y)
    found, next_one = mul(load(w, rows, x), before), full(w, 0.0)
    for _ in range(k):
        x += width
        y -= width
        one, other = load(w, rows, x), load(w, rows, y)
        found = add_product(found, one, other)
        next_one = add_product(next_one, one, before)
        before = other
    return found, next_one


@overload(products, jit_options=INLINE)
def _products(w, rows, stride, terms, first, middle, last, k, spare, row):
    """Return coefficient k of a sum of products: terms up to `middle` count, those behind negative.

    In lanes, what is known of coefficient k + 1 is kept for it where k is even.

    spare
        The address of memory, [row, lane].
    """
    if _both_ways(w):

        def both_ways(w, rows, stride, terms, first, middle, last, k, spare, row):
            found = no_parts(w)
            for m in range(first, middle):
                found = add(found, parts(w, rows, stride, terms[m, 0], terms[m, 1], k, 0, k + 1))
            for m in range(middle, last):
                found = sub(found, parts(w, rows, stride, terms[m, 0], terms[m, 1], k, 0, k + 1))
            return whole(w, found)

        return both_ways

    def lanes(w, rows, stride, terms, first, middle, last, k, spare, row):
        width = len(w)
        if k % 2 == 1:
            found = load(w, spare, row * width)
            for m in range(first, last):
                x, y = terms[m, 0] * stride, terms[m, 1] * stride
                edge = mul(load(w, rows, x), load(w, rows, y + k * width))
                edge = add_product(edge, load(w, rows, x + k * width), load(w, rows, y))
                found = add(found, edge) if m < middle else sub(found, edge)
            return found
        found, next_one = full(w, 0.0), full(w, 0.0)
        for m in range(first, last):
            x, y = terms[m, 0] * stride, terms[m, 1] * stride + k * width
            own, next_own = both_orders(w, rows, x, y, k)
            if m < middle:
                found, next_one = add(found, own), add(next_one, next_own)
            else:
                found, next_one = sub(found, own), sub(next_one, next_own)
        store(spare, row * width, next_one)
        return found

    return lanes
