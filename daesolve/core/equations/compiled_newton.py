"""Newton's method with least-cost steps, for a few equations, in compiled code."""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import sys

import numpy as np

from daesolve.core.expressions import compilation, machine
from daesolve.core.expressions.compilation import announce, compile_once, inline_part, version_of
from daesolve.core.expressions.machine import run_once

VERSION = version_of(compilation, sys.modules[__name__]), machine.VERSION
"""The version of this code, and of the machine."""
SWEEPS = 40
"""Sweeps over all pairs of rows, which are orthogonal to rounding long before."""
ROUNDING = 1e-15


@inline_part
def solve_shortest(matrix, right, least, found):
    """Find the shortest x for which matrix @ x is closest to the right side.

    Pairs of rows are rotated until they are orthogonal (one-sided Jacobi method). Their lengths are
    then the singular values; those below `least` times the largest count as zero. Matrix and right
    side are overwritten.
    """
    rows, turned = len(matrix), True
    for _ in range(SWEEPS):
        if not turned:
            break
        turned = False
        for i in range(rows - 1):
            for j in range(i + 1, rows):
                one, other = matrix[i], matrix[j]
                a, b, c = 0.0, 0.0, 0.0
                for k in range(len(one)):
                    a += one[k] * one[k]
                    b += other[k] * other[k]
                    c += one[k] * other[k]
                if abs(c) <= ROUNDING * math.sqrt(a * b):
                    continue
                turned = True
                half = (b - a) / (2.0 * c)
                tangent = math.copysign(1.0, half) / (abs(half) + math.sqrt(1.0 + half * half))
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                sine = cosine * tangent
                for k in range(len(one)):
                    x, y = one[k], other[k]
                    one[k], other[k] = cosine * x - sine * y, sine * x + cosine * y
                x, y = right[i], right[j]
                right[i], right[j] = cosine * x - sine * y, sine * x + cosine * y
    squares, largest = np.zeros(rows), 0.0
    for i in range(rows):
        for k in range(matrix.shape[1]):
            squares[i] += matrix[i, k] * matrix[i, k]
        largest = max(largest, squares[i])
    found[:] = 0.0
    smallest = least * least * largest
    for i in range(rows):
        if squares[i] > smallest:
            for k in range(matrix.shape[1]):
                found[k] += right[i] / squares[i] * matrix[i, k]


@compile_once
@announce("Newton's method", 1.0)
# Long: one iteration, and what ends them.
def newton(
    version, runs, codes, memory, places, columns, moving, inverse_root, leaps, limits, x, best
):  # fmt: skip
    """Iterate from a state, `x`, until equations hold; return the relative residual.

    Parameters
    ----------
    runs, codes, memory, places
        The program of the residuals and, row by row, of their slopes (`machine`); the registers of
        t, of the first state and of the first residual.
    columns, moving
        The states for which there are slopes, and which of these columns may move.
    inverse_root
        (moving, moving) maps coordinates in which a displacement costs its square.
    leaps
        Whether to shorten steps far beyond the state's own size.
    limits
        The tolerance relative to the size of the terms; terms that count as zero; singular values
        that count as zero, relative; the largest number of iterations, and of iterations without
        improvement.
    best
        (n,) receives the state with the smallest residual; the result is infinite if an earlier
        value was not a number.
    """
    tolerance, nothing, least, most, patience = limits
    first = places[2]
    width, free = len(columns), len(moving)
    count = (len(memory) - first) // (width + 1)
    slopes, right = np.empty((count, free)), np.empty(count)
    step, moved = np.empty(free), np.empty(free)
    lowest, stalled = math.inf, 0
    for iteration in range(int(most)):
        for k in range(len(x)):
            memory[places[1] + k, 0] = x[k]
        run_once(version[1], runs, codes, memory)
        for n in range(first, len(memory)):
            if not math.isfinite(memory[n, 0]):
                return math.inf
        typical = 0.0
        for column in columns:
            typical = max(typical, abs(x[column]))
        typical = typical if typical > 0.0 else 1.0
        error = 0.0
        for i in range(count):
            size, row = 0.0, first + count + i * width
            for j in range(width):
                size += abs(memory[row + j, 0]) * max(abs(x[columns[j]]), typical)
            size = size if nothing < size < math.inf else 1.0
            right[i] = -memory[first + i, 0] / size
            error = max(error, abs(right[i]))
            for j in range(free):
                slope = 0.0
                for k in range(free):
                    slope += memory[row + moving[k], 0] * inverse_root[k, j]
                slopes[i, j] = slope / size
        if iteration == 0 or error < 0.5 * lowest:
            lowest, stalled = error, 0
            for k in range(len(x)):  # An assignment of arrays takes a second to compile.
                best[k] = x[k]
        else:
            stalled += 1
        done = error == 0.0 or (stalled >= 2 and lowest <= tolerance) or stalled > patience
        if done or free == 0:
            break
        solve_shortest(slopes, right, least, step)
        longest = 0.0
        for j in range(free):
            moved[j] = 0.0
            for k in range(free):
                moved[j] += inverse_root[j, k] * step[k]
            longest = max(longest, abs(moved[j]))
        limit = 2.0 * max(1.0, typical)
        shorter = limit / longest if leaps and longest > limit else 1.0
        for j in range(free):
            x[columns[moving[j]]] += shorter * moved[j]
    return lowest
