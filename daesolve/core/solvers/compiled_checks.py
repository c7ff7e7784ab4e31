"""Compiled loops over many steps: looks into them, and conditions of checks and of guards."""
# numba's decorators have no types.
# pyright: basic
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from daesolve.core.expressions import agreement, compilation
from daesolve.core.expressions.agreement import miss
from daesolve.core.expressions.compilation import compile_once, for_size, inline_part, version_of

VERSION = version_of(compilation, agreement, sys.modules[__name__])


@inline_part
def moves_near(row, lowest, highest, width, largest):
    """Return whether an argument, (looks,), moves so far and so near that a term may hide."""
    low, high, beyond, before = math.inf, -math.inf, 0.0, 0.0
    for look in range(len(row)):
        x = row[look]
        if math.isnan(x):
            x = largest
        elif math.isinf(x):
            x = math.copysign(largest, x)
        if look > 0:
            beyond = max(beyond, abs(x - before))
        low, high, before = min(low, x), max(high, x), x
    return low - beyond <= highest and high + beyond >= lowest and high - low > width


@compile_once
def active(version, looks, lowest, highest, width, largest, found):
    """Return which arguments move so much, and come so near, that terms may hide.

    Parameters
    ----------
    looks
        (looks, k, m) arguments, of which none counts for more than `largest`.
    lowest, highest, width
        (m,) of the places at which terms hide, and how far an argument moves at least.
    found
        (k, m) receives the answer.
    """
    row = np.empty(len(looks))
    for i in range(looks.shape[1]):
        for j in range(looks.shape[2]):
            for look in range(len(looks)):
                row[look] = looks[look, i, j]
            found[i, j] = moves_near(row, lowest[j], highest[j], width[j], largest)


@compile_once
def any_active(version, ends, inside, lowest, highest, width, largest, phases, turned, found):
    """Return in which motions a step has a active argument, or a phase that turns far.

    Parameters
    ----------
    ends, inside
        (lanes, k + 1, m) arguments at the ends of steps, and (lanes, k, m) within, several times.
    lowest, highest, width, largest
        As in `active`.
    phases, turned
        (m,) which arguments are phases, and how far one may turn in a step, rad.
    found
        (lanes,) receives the answer.
    """
    last = len(inside) + 1
    row = np.empty(last + 1)
    for lane in range(len(ends)):
        found[lane] = False
        for i in range(ends.shape[1] - 1):
            for j in range(ends.shape[2]):
                row[0], row[last] = ends[lane, i, j], ends[lane, i + 1, j]
                for look in range(len(inside)):
                    row[look + 1] = inside[look][lane, i, j]
                far = False
                if phases[j]:
                    turn = 0.0
                    for look in range(last):
                        turn += abs(row[look + 1] - row[look])
                    far = turn > turned and turn < math.inf
                if far or moves_near(row, lowest[j], highest[j], width[j], largest):
                    found[lane] = True
            if found[lane]:
                break


@inline_part
def larger(x, y):
    """Return the larger number of two, of which one may be none."""
    return x if x >= y or math.isnan(y) else y


@inline_part
def rows_to_the_end(times):
    """Return after how many rows the last time, (k + 1,), is reached."""
    count = len(times) - 1
    while count > 0 and times[count] == times[count - 1]:
        count -= 1
    return count


@compile_once
def come_near(version, times, table, limit, found):
    """Return between which rows a guard comes near to zero, or is not smooth; see `shapes`.

    The last rows of a lane, where they are all of one time, are one.

    Parameters
    ----------
    times, table
        (lanes, k + 1) and (lanes, k + 1, guards).
    limit
        Third over first differences of a guard that is not smooth.
    found
        (lanes, k) receives the answer.
    """
    most = times.shape[1] - 1
    spans, moves, slopes = np.empty(most), np.empty(most), np.empty(most + 2)
    slopes[0] = math.nan
    for lane in range(len(times)):
        found[lane] = False
        count = rows_to_the_end(times[lane])
        slopes[count + 1] = math.nan
        for guard in range(table.shape[2]):
            own, largest = table[lane, :, guard], 0.0
            for i in range(count + 1):
                if math.isfinite(own[i]):
                    largest = max(largest, abs(own[i]))
            for i in range(count):
                spans[i] = abs(times[lane, i + 1] - times[lane, i])
                moves[i] = own[i + 1] - own[i]
                slopes[i + 1] = abs(moves[i]) / spans[i]
            for i in range(count):
                x, y = own[i], own[i + 1]
                reach = 2.0 * larger(larger(slopes[i], slopes[i + 1]), slopes[i + 2]) * spans[i]
                near = x * y <= 0.0 or abs(x) <= reach or abs(y) <= reach
                if near or math.isfinite(x) != math.isfinite(y):
                    found[lane, i] = True
            for i in range(1, count - 1):
                a, b, c = moves[i - 1], moves[i], moves[i + 1]
                if abs((c - b) - (b - a)) > limit * max(abs(a), abs(b), abs(c)) + 1e-12 * largest:
                    found[lane, i] = True


@compile_once
def misses(version, slopes, rates, spans, sizes, relative, absolute, late, found):
    """Write for each step, (k,), what its derivative, (k, n), is off; see `agreement.miss`."""
    for i in range(len(slopes)):
        found[i] = miss(slopes[i], rates[i], spans[i], sizes[i], relative, absolute, late[i])


@compile_once
def at_parts(version, coefficients, steps, elapsed, derived, found):
    """Write what series, (k, size, order + 1), are at times in some steps, (j,), or their slopes.

    Parameters
    ----------
    steps, elapsed
        (j,) which steps, and how far in each.
    derived
        Whether slopes are requested.
    found
        (j, size) receives the values.
    """
    size, order = coefficients.shape[1], coefficients.shape[2] - 1
    for j in range(len(steps)):
        h = elapsed[j]
        for s in range(size):
            v = 0.0
            if derived:
                for k in range(order, 0, -1):
                    v = k * coefficients[steps[j], s, k] + h * v
            else:
                for k in range(order, -1, -1):
                    v = coefficients[steps[j], s, k] + h * v
            found[j, s] = v


def _applied(function: Any, size: int, *arguments: Any) -> None:
    """Apply a function that goes through so many values; uncompiled, numbers may overflow too."""
    with np.errstate(all="ignore"):
        for_size(function, size)(VERSION, *arguments)


def series_at(
    coefficients: np.ndarray, steps: np.ndarray, elapsed: np.ndarray, *, derived: bool = False
) -> np.ndarray:
    """Return what series are at times in some steps, (j, size), or their slopes: `at_parts`."""
    found = np.empty((len(steps), coefficients.shape[1]))
    series = np.ascontiguousarray(coefficients)
    size = found.size * series.shape[2]
    _applied(at_parts, size, series, steps, elapsed, derived, found)
    return found


def are_active(
    looks: np.ndarray, low: np.ndarray, high: np.ndarray, width: np.ndarray, largest: float
) -> np.ndarray:
    """Return which arguments may hide something, (k, m); see `active`."""
    found = np.empty(looks.shape[1:], dtype=bool)
    ordered = np.ascontiguousarray(looks)
    _applied(active, looks.size, ordered, low, high, width, largest, found)
    return found


def missed(
    slopes: np.ndarray,
    rates: np.ndarray,
    steps: tuple[np.ndarray, np.ndarray, np.ndarray],
    relative: float,
    absolute: float,
) -> np.ndarray:
    """Return the errors of derivatives, (..., n), over the allowed ones, (...).

    See `agreement.miss`; the steps are their lengths, how large states are, and how late.
    """
    found = np.empty(slopes.shape[:-1])
    size = slopes.shape[-1]
    one, other = (np.ascontiguousarray(table).reshape(-1, size) for table in (slopes, rates))
    spans, sizes, late = (np.ascontiguousarray(part).reshape(-1) for part in steps)
    flat = found.reshape(-1)
    _applied(misses, one.size, one, other, spans, sizes, relative, absolute, late, flat)
    return found


def have_active(
    ends: np.ndarray,
    inside: tuple[np.ndarray, ...],
    kinds: tuple[np.ndarray, np.ndarray, np.ndarray],
    largest: float,
    turns: tuple[np.ndarray, float],
) -> np.ndarray:
    """Return in which motions something may hide, (lanes,); see `any_active`."""
    found = np.empty(len(ends), dtype=bool)
    size = ends.size * (1 + len(inside))
    _applied(any_active, size, ends, inside, *kinds, largest, *turns, found)
    return found


def are_near(times: np.ndarray, table: np.ndarray, limit: float) -> np.ndarray:
    """Return between which rows guards come near to zero, (lanes, k); see `come_near`."""
    found = np.empty((len(times), times.shape[1] - 1), dtype=bool)
    _applied(come_near, table.size, times, table, limit, found)
    return found


@compile_once
def looks(version, series, spans, parts, inner, slopes):
    """Evaluate series at three parts of each step, and their derivatives at its end.

    Parameters
    ----------
    series
        (lanes, k or more, states, order + 1) coefficients.
    spans
        (lanes, k) the lengths of the steps.
    parts
        (3,)
    inner, slopes
        (3, lanes, k, states) and (lanes, k, states) receive what is found.
    """
    states, last = series.shape[2], series.shape[3] - 1
    for lane in range(spans.shape[0]):
        for i in range(spans.shape[1]):
            h = spans[lane, i]
            a, b, c = parts[0] * h, parts[1] * h, parts[2] * h
            # Two states in turn, so that one does not wait for its own last product.
            for s in range(0, states, 2):
                t = min(s + 1, states - 1)
                one, two = series[lane, i, s], series[lane, i, t]
                u = v = w = one[last]
                x = y = z = two[last]
                d, e = last * one[last], last * two[last]
                for k in range(last - 1, 0, -1):
                    f, g = one[k], two[k]
                    u, x = f + a * u, g + a * x
                    v, y = f + b * v, g + b * y
                    w, z = f + c * w, g + c * z
                    d, e = k * f + h * d, k * g + h * e
                slopes[lane, i, s], slopes[lane, i, t] = d, e
                for look, length, found, other in ((0, a, u, x), (1, b, v, y), (2, c, w, z)):
                    inner[look, lane, i, s] = one[0] + length * found
                    inner[look, lane, i, t] = two[0] + length * other


def looked(
    series: np.ndarray, spans: np.ndarray, parts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return states within steps, (3, lanes, k, states), and slopes at their ends; see `looks`."""
    lanes, count, states = *spans.shape, series.shape[2]
    inner, slopes = np.empty((3, lanes, count, states)), np.empty((lanes, count, states))
    looks(VERSION, series, spans, parts, inner, slopes)
    return inner, slopes
