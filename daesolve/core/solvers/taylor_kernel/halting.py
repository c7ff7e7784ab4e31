"""Steps of one motion up to the first guard that passes zero, found in the guards' own series.

The guards follow the rates among the outputs of the instructions, so that one recurrence yields
both series. What these cannot decide is left to a closer examination: a guard that
touches zero or rests there but for rounding, a step that does not agree with the equations.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit

from daesolve.core.expressions import agreement
from daesolve.core.expressions.agreement import miss
from daesolve.core.expressions.compilation import OPTIONS, announce, compile_once, version_of
from daesolve.core.expressions.vectors import full, load_number
from daesolve.core.solvers.taylor_kernel import kernel
from daesolve.core.solvers.taylor_kernel import passages as passing
from daesolve.core.solvers.taylor_kernel.coefficients import put
from daesolve.core.solvers.taylor_kernel.kernel import (
    add_steps,
    advance_time,
    expand,
    step_lengths,
    sweep,
)
from daesolve.core.solvers.taylor_kernel.passages import (
    DEEPEST,
    UNRESOLVED,
    passages,
    size_of,
    value,
)

GOES_ON, ENDED, HALTED, UNDECIDED = 0, 1, 2, 3
"""How a march ends: all steps taken, end reached, a guard passed, or a closer look needed."""
ONE = (0.0,)
"""The token of one lane."""
FIRST = np.int64(0)
"""The first coefficient. For a literal 0, numba would compile everything once more."""
POLISHED = 1.0
"""Units in the last place of the time, to which the zero of a guard's series is left as it is."""
NEAR = 1e-3
"""The largest distance, as a fraction of a step, between the zero of a series and that of the guard
itself."""
MOST_MOVES = 8
"""How often the time is moved until the guard is at zero or past it."""
RESTS = 1e-11
"""A guard may be rounding if it stays below this fraction of the largest state over a step."""
ROUNDING = 64 * 2.0**-52, 4 * 2.0**-52
"""The rounding of a guard, as fractions of its terms over a step and of the largest state."""
ENDS = 1e3
"""The last two terms of a guard must not exceed this many times the tolerance of a step, relative
to all of them: the step is as long as the series of the states hold, and a guard may swing
faster."""
FORESEEN = 1e-11
"""The fraction of the terms of a guard by which its series may miss it where a step ends: the last
terms of a series that leaves many out, as that of sin(t^2), say nothing of those which follow."""
MOST_CUTS = 48
"""The most times that a step is shortened until the series of a guard holds over it."""
BEYOND = 1.0 + 1e-6
"""How far the series of a step is used to find where the guard itself passes, over its length."""
LEAVES = 2.0
"""The factor on the sign of a guard that has just been answered, and leaves zero to that side."""
BEFORE_EVENT = 0.99
"""The fraction of a step that a guard cuts short up to which it is compared with the equations."""

VERSION = version_of(kernel, agreement, passing, sys.modules[__name__])


@njit(**OPTIONS)
def fill(rows, stride, numbers, table, states, k):
    """Fill coefficient k of all rows but those of the states and time."""
    codes, ends, terms, blocks, _ = table
    unused = rows  # One lane keeps nothing for the next coefficient.
    sweep(ONE, rows, stride, numbers, codes, ends, terms, blocks, states + 1, k, unused)


@njit(**OPTIONS)
def output(rows, stride, numbers, outputs, i, k):
    """Return coefficient k of an output."""
    if outputs[i, 0]:
        return load_number(rows, outputs[i, 1] * stride + k)
    return load_number(numbers, outputs[i, 1]) if k == 0 else 0.0


@njit(**OPTIONS)
def put_state(rows, stride, states, series, left, elapsed, time):
    """Put the state within a step, and its time, in the place of those at its start."""
    order = series.shape[1] - 1
    for s in range(states):
        v = 0.0
        for k in range(order, 0, -1):
            v = series[s, k] + elapsed * v
        put(ONE, rows, stride, s, 0, full(ONE, series[s, 0] + (elapsed * v + left[s, 0])))
    put(ONE, rows, stride, states, 0, full(ONE, time))


@njit(**OPTIONS)
def polished(rows, stride, numbers, table, states, series, left, when, tau, c, guard, way):
    """Return when a guard itself is at zero or past it, near where its series is, and elapsed.

    c: its coefficients times powers of the step, when: start of the step in two numbers, length.
    """
    outputs = table[4]
    high, low, length = when[0, 0], when[1, 0], when[2, 0]
    now = high + (low + tau)
    unit = np.spacing(max(abs(high), abs(now)))
    rate = value(c, tau / length)[1] / length
    move, span = unit if length > 0.0 else -unit, abs(length)
    if now == high:
        now += move
    best, least = now, math.inf
    for attempt in range(MOST_MOVES):
        elapsed = (now - high) - low
        put_state(rows, stride, states, series, left, elapsed, now)
        fill(rows, stride, numbers, table, states, FIRST)
        v = output(rows, stride, numbers, outputs, states + guard, 0)
        if abs(v) < least:
            best, least = now, abs(v)
        shift = -v / rate if rate != 0.0 else 0.0
        if attempt < 3 and POLISHED * unit < abs(shift) < NEAR * span:
            now += shift
        elif v * way < 0.0:
            now += move
            move *= 2.0
        else:
            return now
    return best


@njit(**OPTIONS)
def slopes_within(series, elapsed, slopes):
    """Write the derivatives of states within a step; return how large these are at its start."""
    size = 0.0
    for s in range(len(series)):
        d = 0.0
        for k in range(series.shape[1] - 1, 0, -1):
            d = k * series[s, k] + elapsed * d
        slopes[s] = d
        size = max(size, abs(series[s, 0]))
    return size


@njit(**OPTIONS)
def agrees(rows, stride, numbers, outputs, series, elapsed, span, time, tolerances, slopes, rates):
    """Return whether the derivative of a step's series, `elapsed` in it, equals the rows' rate."""
    size = slopes_within(series, elapsed, slopes)
    for s in range(len(rates)):
        rates[s] = output(rows, stride, numbers, outputs, s, 0)
    _, relative, absolute, roundings = tolerances
    late = roundings * np.spacing(abs(time))
    return miss(slopes, rates, abs(span), size, relative, absolute, late) <= 1.0


@njit(**OPTIONS)
def holds(rows, stride, borders, guard, length, order):
    """Return whether a guard has neither poles nor branch points in the circle of a step.

    What is zero there begins with less than the sum of its other terms (Rouche).
    """
    for j in range(len(borders)):
        if borders[j, 0] != guard:
            continue
        place, power, rest = borders[j, 1] * stride, length, 0.0
        for k in range(1, order + 1):
            rest += abs(load_number(rows, place + k) * power)
            power *= length
        if not abs(load_number(rows, place)) > rest:
            return False
    return True


@njit(**OPTIONS)
def seen_length(rows, stride, numbers, outputs, borders, states, count, most, order, ends):
    """Return how far the series of all guards hold, at most so far.

    Where that is nearly nothing, they hold nowhere, and all is returned.
    """
    length = most
    for j in range(count):
        for _ in range(MOST_CUTS):
            whole, power, last, before = 0.0, 1.0, 0.0, 0.0
            for k in range(order + 1):
                before, last = (
                    last,
                    abs(output(rows, stride, numbers, outputs, states + j, k)) * power,
                )
                whole += last
                power *= length
            end, moves = (
                before + last,
                whole > abs(output(rows, stride, numbers, outputs, states + j, 0)),
            )
            if not moves:
                break
            if end > ends * whole:
                length *= max(0.9 * (ends * whole / end) ** (1.0 / (order - 1)), 0.5)
            elif not holds(rows, stride, borders, j, length, order):
                length *= 0.5
            else:
                break
        else:
            return most
    return length


@njit(**OPTIONS)
def foresee(rows, stride, numbers, outputs, states, order, elapsed, unit, size, foreseen):
    """Write what each guard is within a step by its series, and what it may be off."""
    for j in range(len(foreseen)):
        v, whole, rate = 0.0, 0.0, 0.0
        for k in range(order, -1, -1):
            term = output(rows, stride, numbers, outputs, states + j, k)
            rate = rate * abs(elapsed) + whole
            whole = whole * abs(elapsed) + abs(term)
            v = v * elapsed + term
        foreseen[j, 0] = v
        foreseen[j, 1] = FORESEEN * whole + ROUNDING[0] * size + 4.0 * unit * rate


@njit(**OPTIONS)
def as_foreseen(rows, stride, numbers, outputs, states, foreseen):
    """Return whether the guards, which rows hold, are what their series say."""
    for j in range(len(foreseen)):
        v = output(rows, stride, numbers, outputs, states + j, 0)
        if not abs(v - foreseen[j, 0]) <= foreseen[j, 1]:
            return False
    return True


@njit(**OPTIONS)
def onward(c, least, side):
    """Return how a guard that interrupts either way passes zero next.

    Where it is at zero it is about to pass, or else it has just done so, and turns round before it
    does again.
    """
    if side != 0.0:
        return -side
    if abs(c[0]) > least:
        return -np.sign(c[0])
    return np.sign(c[1]) if c[0] * c[1] < 0.0 else -np.sign(c[1])


@njit(**OPTIONS)
def divide_by_argument(c):
    """Divide a polynomial that is zero at zero by its argument."""
    for k in range(len(c) - 1):
        c[k] = c[k + 1]
    c[len(c) - 1] = 0.0


@njit(**OPTIONS)
def first_passage(
    rows, stride, numbers, outputs, borders, states, length, ended, guards, step, met, room
):  # fmt: skip
    """Look where guards pass zero in a step.

    guards: [how each counts, whether it interrupts, its side so far], (3, guards); met: (m, 3) and
    how many there are: passages of those that do not interrupt; ended: whether the march ends with
    this step. Returns the first guard that interrupts, or -1; the part of the step up to it;
    whether all was decided.
    """
    places, c, pieces, size, ends = room
    order = len(c) - 1
    first, part, known = -1, 2.0, met[1][0]
    begin = load_number(rows, states * stride)
    unit = np.spacing(max(abs(begin), abs(begin + length)))
    for j in range(guards.shape[1]):
        power = 1.0
        for k in range(order + 1):
            c[k] = output(rows, stride, numbers, outputs, states + j, k) * power
            power *= length
        interrupts, side = guards[1, j] != 0.0, np.sign(guards[2, j])
        whole, end = size_of(c), abs(c[order]) + abs(c[order - 1])
        least = ROUNDING[0] * whole + ROUNDING[1] * size
        way = guards[0, j]
        if interrupts and way == 0.0:
            way = onward(c, least, side)
        # Between two steps it may have passed by rounding.
        leaves = abs(guards[2, j]) == LEAVES and abs(c[0]) <= least
        between = side != 0.0 and side * c[0] <= 0.0 and not leaves
        moves, (last, slope) = whole > abs(c[0]), value(c, 1.0)
        goes = side == 0.0 or abs(guards[2, j]) == LEAVES
        if goes and abs(c[0]) <= least and way * c[1] < 0.0:
            # It goes from zero, and may come back before it is clearly away: what is left of its
            # series without the zero has the sign that it has.
            divide_by_argument(c)
        count = UNRESOLVED if between else passages(c, way, least, pieces, places)
        if moves and abs(last) <= least and not ended:
            count = UNRESOLVED  # It may turn there, between two steps.
        if count < 0 or (count and whole <= RESTS * size) or end > ends * whole:
            return -1, 0.0, False
        if moves and not holds(rows, stride, borders, j, length, order):
            return -1, 0.0, False
        if interrupts:
            if count and places[0] < part:
                first, part = j, places[0]
        else:
            for k in range(count):
                if met[1][0] == len(met[0]):
                    return -1, 0.0, False
                own = met[0][met[1][0]]
                own[0], own[1], own[2] = j, step, places[k] * length
                met[1][0] += 1
        rounding = max(least, 2.0 * abs(slope * (unit / length)))
        if abs(last) <= rounding:
            # Its sign here is rounding; it comes from where it falls or rises from.
            met_here = count > 0 and abs((1.0 - places[count - 1]) * slope) <= 4.0 * rounding
            last = slope if met_here else -slope
        guards[2, j] = np.sign(last)
    if first >= 0:  # what only is recorded later is not reached
        recorded = known
        for m in range(known, met[1][0]):
            if met[0][m, 2] / length <= part:
                for k in range(met[0].shape[1]):
                    met[0][recorded, k] = met[0][m, k]
                recorded += 1
        met[1][0] = recorded
    return first, part, True


@njit(**OPTIONS)
def at_end(rows, stride, numbers, outputs, states, span, guards, step, met):
    """Look which guards are at zero or past it at the very end, where rows hold them.

    Where the next march begins they do not pass any more. Returns one that interrupts, or -1.
    """
    first = -1
    for j in range(guards.shape[1]):
        way, interrupts, side = guards[0, j], guards[1, j] != 0.0, guards[2, j]
        v = output(rows, stride, numbers, outputs, states + j, 0)
        if side == 0.0 or side * v > 0.0 or side * way > 0.0:
            continue
        if interrupts:
            first = j
        elif met[1][0] < len(met[0]):
            own = met[0][met[1][0]]
            own[0], own[1], own[2] = j, step, span
            met[1][0] += 1
    return first


@compile_once
@announce("Taylor's method up to events", 8.0)
# Long: one step after the other, with what is looked at in each.
def march_to_guards(
    version, work, stride, given, table, order, x, low, time, end, tolerances, guards, borders,
    found, when, times, ends, met,
):  # fmt: skip
    """Take steps up to the end, or to the first guard that interrupts.

    Parameters
    ----------
    work, given, x, low, time, end
        As in `march`, of one lane.
    tolerances
        That of a step; what its derivative may be off, relative and absolute, and by how many
        roundings of the time.
    guards
        (3, guards) -1, 0 or 1 as each falls, either or rises; whether it interrupts; its sign on
        the motion so far, `LEAVES` times that where it leaves zero, 0 where it is not known. The
        last changes.
    borders
        See `Instructions`.
    found, when
        (steps, states, order + 1) and (steps, 3, 1) as for `march`.
    times, ends
        (steps,) and (steps, states) receive where each step ends.
    met
        (m, 3) and (1,), a guard that does not interrupt, the step and how far in it; how many.

    Returns
    -------
    tuple
        How many steps; how it ended; the guard that interrupts, or -1.
    """
    states, count = len(x), guards.shape[1]
    rows, numbers, outputs = work.ctypes.data, given.ctypes.data, table[4]
    lengths, slopes, rates = np.empty(1), np.empty(states), np.empty(states)
    left, places, c = low.copy(), np.empty(order + 1), np.empty(order + 1)
    pieces = np.empty((DEEPEST + 3, order + 1)), np.empty((DEEPEST + 3, 2))
    before, foreseen = np.empty((2, 1)), np.empty((count, 2))
    for k in range(order + 1):
        put(ONE, rows, stride, states, k, full(ONE, 1.0 if k == 1 else 0.0))
    for step in range(len(when)):
        for s in range(states):
            put(ONE, rows, stride, s, 0, full(ONE, x[s, 0]))
        put(ONE, rows, stride, states, 0, full(ONE, time[0, 0]))
        expand(ONE, rows, stride, numbers, table, states, order)
        if step > 0:
            span = when[step - 1, 2, 0]
            if not agrees(
                rows, stride, numbers, outputs, found[step - 1], span, span, time[0, 0],
                tolerances, slopes, rates,
            ) or not as_foreseen(rows, stride, numbers, outputs, states, foreseen):  # fmt: skip
                return step, UNDECIDED, -1
        if count:
            fill(rows, stride, numbers, table, states, order)
        step_lengths(ONE, rows, stride, states, order, lengths)
        if not lengths[0] > 0.0:
            return step, UNDECIDED, -1
        most = min(lengths[0], abs((end[0] - time[0, 0]) - time[1, 0]))
        seen = seen_length(
            rows, stride, numbers, outputs, borders, states, count, most, order,
            ENDS * tolerances[0],
        )  # fmt: skip
        if seen < most:
            lengths[0] = seen
        before[0, 0], before[1, 0] = time[0, 0], time[1, 0]
        for s in range(states):
            left[s, 0] = low[s, 0]
        ended = advance_time(time, end, lengths, when[step])
        length = when[step, 2, 0]
        for s in range(states):
            for k in range(order + 1):
                found[step, s, k] = load_number(rows, s * stride + k)
        size = 0.0
        for s in range(states):
            size = max(size, abs(x[s, 0]))
        room = places, c, pieces, size, ENDS * tolerances[0]
        guard, part, decided = first_passage(
            rows, stride, numbers, outputs, borders, states, length, ended, guards, step, met, room
        )
        if not decided:
            return step, UNDECIDED, -1
        checked = length if guard < 0 else BEFORE_EVENT * part * length
        unit = np.spacing(max(abs(before[0, 0]), abs(before[0, 0] + length)))
        foresee(rows, stride, numbers, outputs, states, order, checked, unit, size, foreseen)
        if guard >= 0:
            power = 1.0
            for k in range(order + 1):
                c[k] = output(rows, stride, numbers, outputs, states + guard, k) * power
                power *= length
            now = polished(
                rows, stride, numbers, table, states, found[step], left, when[step],
                part * length, c, guard, guards[0, guard] or np.sign(value(c, part)[1]),
            )  # fmt: skip
            elapsed = (now - before[0, 0]) - before[1, 0]
            if (
                elapsed * length <= 0.0
                or not abs(elapsed) <= BEYOND * abs(length)
                or (end[0] - now) * length < 0.0
            ):
                return step, UNDECIDED, -1
            when[step, 2, 0] = elapsed
            time[0, 0], time[1, 0] = now, 0.0
        taken = when[step, 2].ctypes.data
        add_steps(ONE, rows, stride, states, order, taken, x.ctypes.data, low.ctypes.data)
        times[step] = time[0, 0]
        for s in range(states):
            ends[step, s] = x[s, 0]
            if not math.isfinite(x[s, 0]):
                return step, UNDECIDED, -1
        if guard >= 0 or ended or step == len(when) - 1:
            span = when[step, 2, 0]
            place = (before[0, 0] + before[1, 0]) + checked
            put_state(rows, stride, states, found[step], left, checked, place)
            fill(rows, stride, numbers, table, states, FIRST)
            if not agrees(
                rows, stride, numbers, outputs, found[step], checked, span, time[0, 0],
                tolerances, slopes, rates,
            ) or not as_foreseen(rows, stride, numbers, outputs, states, foreseen):  # fmt: skip
                return step, UNDECIDED, -1
            if guard >= 0:
                return step + 1, HALTED, guard
            if ended:
                return (
                    step + 1,
                    ENDED,
                    at_end(rows, stride, numbers, outputs, states, span, guards, step, met),
                )
    return len(when), GOES_ON, -1
