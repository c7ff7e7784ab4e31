"""Where a polynomial passes zero on [0, 1].

Bernstein's coefficients of a polynomial bound it: where they have one sign, and are not as small as
rounding, it passes nowhere; where it turns nowhere it passes once at most. Otherwise it is cut in
two.

An array that is assigned to another, or summed by NumPy, takes seconds to compile; a loop does not.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math

import numpy as np
from numba import njit

from daesolve.core.expressions.compilation import OPTIONS

UNRESOLVED = -1
MOST_PIECES = 200
"""The most parts of a step that are examined; beyond, it is undecided whether a guard passes."""
DEEPEST = 48
"""The most halvings of a step; beyond, it is undecided as well."""
LEAST_PART = 0.45
"""Where a step is cut at least, of its length, if it is not cut in half."""


@njit(**OPTIONS)
def value(c, s):
    """Return a polynomial and its derivative."""
    v, d = 0.0, 0.0
    for k in range(len(c) - 1, -1, -1):
        d = d * s + v
        v = v * s + c[k]
    return v, d


@njit(**OPTIONS)
def size_of(c):
    """Return the sum of the sizes of coefficients."""
    size = 0.0
    for k in range(len(c)):
        size += abs(c[k])
    return size


@njit(**OPTIONS)
def are_larger(own, least):
    """Return whether all coefficients are larger than a bound."""
    larger = True
    for k in range(len(own)):
        larger &= abs(own[k]) > least
    return larger


@njit(**OPTIONS)
def refined(c, low, high, before):
    """Return where a polynomial passes zero, once, between two places; `before`: its sign there.

    At zero or past it.
    """
    s = 0.5 * (low + high)
    for _ in range(200):
        v, d = value(c, s)
        if v * before > 0.0:
            low = s
        else:
            high = s
        following = s - v / d if d != 0.0 else 0.5 * (low + high)
        if not low < following < high:
            following = 0.5 * (low + high)
        if following in (low, high) or abs(following - s) <= 1e-17:
            break
        s = following
    move = np.spacing(s)
    while s < high and value(c, s)[0] * before > 0.0:
        s, move = min(s + move, high), 2.0 * move
    return s


@njit(**OPTIONS)
def bernstein(c, own):
    """Write Bernstein's coefficients on [0, 1] of a polynomial: sums with weights below one."""
    order, choose = len(c) - 1, 1.0
    for k in range(order + 1):
        own[k] = c[k] / choose
        choose = choose * (order - k) / (k + 1)
    for r in range(1, order + 1):
        for i in range(order, r - 1, -1):
            own[i] += own[i - 1]


@njit(**OPTIONS)
def signs(own):
    """Return how often coefficients change their sign, and the first one but zeros."""
    changes, first, last = 0, 0.0, 0.0
    for v in own:
        if v != 0.0:
            if first == 0.0:
                first = v
            elif last * v < 0.0:
                changes += 1
            last = v
    return changes, first


@njit(**OPTIONS)
def turns(own):
    """Return whether a polynomial may turn: else its coefficients only rise, or only fall."""
    rises, falls = False, False
    for k in range(1, len(own)):
        rises |= own[k] > own[k - 1]
        falls |= own[k] < own[k - 1]
    return rises and falls


@njit(**OPTIONS)
def halved(own, left, work, least):
    """Cut a piece in two by de Casteljau's scheme: `own` becomes the right one; return where.

    If possible where it is larger than rounding, and so of a side.
    """
    order, part = len(own) - 1, 0.5
    while True:
        for k in range(order + 1):
            work[k] = own[k]
        left[0] = work[0]
        for r in range(1, order + 1):
            for i in range(order - r + 1):
                work[i] = (1.0 - part) * work[i] + part * work[i + 1]
            left[r] = work[0]
        if abs(work[0]) > least or part < LEAST_PART:
            for k in range(order + 1):
                own[k] = work[k]
            return part
        part -= 0.03


@njit(**OPTIONS)
def passages(c, way, least, room, found):
    """Write where a polynomial passes zero in (0, 1], in its direction; return how many.

    c: (order + 1,); way: -1, 0 or 1; least: what of it may be rounding; room: ((DEEPEST + 3,
    order + 1), (DEEPEST + 3, 2)). Undecided where it turns so near zero that it may pass or not.
    """
    pieces, spans = room
    rest = size_of(c[1:])
    if not math.isfinite(rest + c[0]):
        return UNRESOLVED
    if abs(c[0]) > rest + least or rest == 0.0:
        return 0
    bernstein(c, pieces[0])
    spans[0, 0], spans[0, 1] = 0.0, 1.0
    depth, looked, count = 0, 0, 0
    while depth >= 0:
        looked += 1
        if looked > MOST_PIECES or depth >= DEEPEST:
            return UNRESOLVED
        low, high, own = spans[depth, 0], spans[depth, 1], pieces[depth]
        changes, first = signs(own)
        clear = changes == 0 and are_larger(own, least)
        if clear or (changes <= 1 and not turns(own)):
            before = -1.0 if first < 0.0 else 1.0
            if changes == 1 and before * way <= 0.0:
                if count == len(found):
                    return UNRESOLVED
                found[count] = refined(c, low, high, before)
                count += 1
            depth -= 1
            continue
        # The left part is looked at first.
        middle = low + halved(own, pieces[depth + 1], pieces[depth + 2], least) * (high - low)
        if abs(own[0]) <= least:
            return UNRESOLVED
        spans[depth, 0], spans[depth, 1] = middle, high
        spans[depth + 1, 0], spans[depth + 1, 1] = low, middle
        depth += 1
    return count
