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
from numba.extending import intrinsic, overload

from daesolve.core.expressions.compilation import OPTIONS
from daesolve.core.expressions.vectors import (
    BLOCK,
    INT64,
    Vector,
    add,
    add_product,
    first_of,
    folded,
    full,
    load,
    load_block,
    mul,
    read,
    store,
    sub,
    width_of,
    write,
    zero,
)

INLINE = {"forceinline": True}


def stride_of(w: tuple[float, ...], order: int) -> int:
    """Return how many numbers a row takes."""
    if isinstance(w[0], float):
        return -(-2 * (order + 1) // BLOCK) * BLOCK + BLOCK
    return (order + 1) * len(w)


def _both_ways(w) -> bool:
    return isinstance(w[0], types.Float)


def convolution(w, rows, stride, x, y, k, low, count): ...
def parts(w, rows, stride, x, y, k, low, count): ...
def square(w, rows, stride, x, k, low, count): ...
def products(w, rows, stride, terms, column, first, middle, last, k, spare, row): ...


# The shortest of these functions are used so often that calls of them would take long to compile.
@intrinsic
def get(typingctx, w, rows, stride, row, k):
    """Return coefficient k of a row."""
    width = width_of(w)

    def generate(context, builder, signature, arguments):
        return read(builder, width, arguments[1], _offset(builder, width, *arguments[2:]))

    return Vector(width)(w, *[types.intp] * 4), generate


@intrinsic
def put(typingctx, w, rows, stride, row, k, v):
    """Write coefficient k of a row; for one lane also where it is held backwards."""
    width, both_ways = width_of(w), _both_ways(w)

    def generate(context, builder, signature, arguments):
        _, rows, stride, row, k, v = arguments
        write(builder, width, rows, _offset(builder, width, stride, row, k), v)
        if both_ways:
            end = builder.mul(builder.add(row, INT64(1)), stride)
            write(builder, width, rows, builder.sub(builder.sub(end, INT64(9)), k), v)
        return context.get_dummy_value()

    return types.void(w, *[types.intp] * 4, Vector(width)), generate


def _offset(builder, width, stride, row, k):
    return builder.add(builder.mul(row, stride), builder.mul(k, INT64(width)))


@intrinsic
def no_parts(typingctx, w):
    """Return zero, in parts for one lane."""
    width = BLOCK if _both_ways(w) else width_of(w)
    return Vector(width)(w), lambda context, builder, signature, arguments: zero(width)


@intrinsic
def whole(typingctx, w, v):
    """Return what the parts are together."""
    if not _both_ways(w):
        return v(w, v), lambda context, builder, signature, arguments: arguments[1]
    return Vector(1)(w, v), lambda context, builder, signature, arguments: folded(
        builder, arguments[1], v.width
    )


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
    """Return coefficient k of a product, and the part of coefficient k + 1 that is known by then.

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
def _products(w, rows, stride, terms, column, first, middle, last, k, spare, row):
    """Return coefficient k of a sum of products: terms up to `middle` count, those behind negative.

    In lanes, what is known of coefficient k + 1 is kept for it where k is even.

    terms, column
        The factors, in this column and the next.
    spare
        The address of memory, [row, lane].
    """
    if _both_ways(w):

        def both_ways(w, rows, stride, terms, column, first, middle, last, k, spare, row):
            found = no_parts(w)
            for m in range(first, middle):
                x, y = terms[m, column], terms[m, column + 1]
                found = add(found, parts(w, rows, stride, x, y, k, 0, k + 1))
            for m in range(middle, last):
                x, y = terms[m, column], terms[m, column + 1]
                found = sub(found, parts(w, rows, stride, x, y, k, 0, k + 1))
            return whole(w, found)

        return both_ways

    def lanes(w, rows, stride, terms, column, first, middle, last, k, spare, row):
        width = len(w)
        if k % 2 == 1:
            found = load(w, spare, row * width)
            for m in range(first, last):
                x, y = terms[m, column] * stride, terms[m, column + 1] * stride
                edge = mul(load(w, rows, x), load(w, rows, y + k * width))
                edge = add_product(edge, load(w, rows, x + k * width), load(w, rows, y))
                found = add(found, edge) if m < middle else sub(found, edge)
            return found
        found, next_one = full(w, 0.0), full(w, 0.0)
        for m in range(first, last):
            x, y = terms[m, column] * stride, terms[m, column + 1] * stride + k * width
            own, next_own = both_orders(w, rows, x, y, k)
            if m < middle:
                found, next_one = add(found, own), add(next_one, next_own)
            else:
                found, next_one = sub(found, own), sub(next_one, next_own)
        store(spare, row * width, next_one)
        return found

    return lanes
