"""The compiled method of Dormand and Prince of order 8, step for step as SciPy's DOP853.

It takes some hundred steps of a program for the machine without a word of Python in between.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit
from scipy.integrate import DOP853

from daesolve.algebra import compiling, machine, operations
from daesolve.algebra.blocks import Bound
from daesolve.algebra.compiling import OPTIONS, kept, version_of
from daesolve.algebra.machine import evaluate

VERSION = version_of(compiling, operations, machine, sys.modules[__name__])
STAGES = DOP853.n_stages
TABLES = tuple(
    np.ascontiguousarray(table, dtype=float)
    for table in (DOP853.A[:STAGES, :STAGES], DOP853.B, DOP853.C[:STAGES], DOP853.E3, DOP853.E5)
)
SAFETY, LEAST_FACTOR, MOST_FACTOR = 0.9, 0.2, 10.0
EXPONENT = -1.0 / 8.0


@njit(**OPTIONS)
def norm(x, scale):
    """Return the root mean square of numbers in units of their own."""
    total = 0.0
    for i in range(len(x)):
        total += (x[i] / scale[i]) ** 2
    return math.sqrt(total / len(x))


@njit(**OPTIONS)
def first_step(steps, loads, stores, work, t, y, f, end, relative, absolute):
    """Return the length of the first step (Hairer, Norsett and Wanner, II.4)."""
    span, sign = abs(end - t), math.copysign(1.0, end - t)
    scale = absolute + np.abs(y) * relative
    size, pace = norm(y, scale), norm(f, scale)
    trial = 1e-6 if size < 1e-5 or pace < 1e-5 else 0.01 * size / pace
    trial = min(trial, span)
    other = np.zeros(len(y))
    evaluate(steps, loads, stores, work, t + trial * sign, y + trial * sign * f, other)
    bend = norm(other - f, scale) / trial
    if pace <= 1e-15 and bend <= 1e-15:
        length = max(1e-6, trial * 1e-3)
    else:
        length = (0.01 / max(pace, bend)) ** -EXPONENT
    return min(100.0 * trial, length, span)


@njit(**OPTIONS)
def error_of(stages, span, scale, e3, e5):
    """Return the error of a step over what it may be."""
    third, fifth = 0.0, 0.0
    for i in range(len(scale)):
        a, b = 0.0, 0.0
        for s in range(len(e3)):
            a += stages[s, i] * e3[s]
            b += stages[s, i] * e5[s]
        third += (a / scale[i]) ** 2
        fifth += (b / scale[i]) ** 2
    if third == 0.0 and fifth == 0.0:
        return 0.0
    return abs(span) * fifth / math.sqrt((fifth + 0.01 * third) * len(scale))


@kept
# Long: the stages of a step, and what its error says of the next.
def take_steps(
    version,
    steps,
    loads,
    stores,
    numbers,
    registers,
    tables,
    end,
    relative,
    absolute,
    times,
    states,
):
    """Take steps towards an end, from the first row of times and states; return how many.

    They fill the other rows. It ends before a step that cannot be taken, or is no number.
    """
    a, b, c, e3, e5 = tables
    work = np.empty(registers)
    work[: len(numbers)] = numbers
    count, size = len(b), states.shape[1]
    stages = np.zeros((count + 1, size))
    t, y = times[0], states[0].copy()
    evaluate(steps, loads, stores, work, t, y, stages[0])
    sign = math.copysign(1.0, end - t)
    length = first_step(steps, loads, stores, work, t, y, stages[0], end, relative, absolute)
    for taken in range(len(times) - 1):
        if t == end:
            return taken
        least = 10.0 * abs(np.nextafter(t, sign * np.inf) - t)
        length = max(length, least)
        rejected = False
        while True:
            if length < least or length != length:
                return taken
            moment = t + length * sign
            if sign * (moment - end) > 0.0:
                moment = end
            span = moment - t
            length = abs(span)
            for s in range(1, count):
                place = y.copy()
                for i in range(size):
                    total = 0.0
                    for r in range(s):
                        total += stages[r, i] * a[s, r]
                    place[i] += total * span
                evaluate(steps, loads, stores, work, t + c[s] * span, place, stages[s])
            place = y.copy()
            for i in range(size):
                total = 0.0
                for r in range(count):
                    total += stages[r, i] * b[r]
                place[i] += span * total
            evaluate(steps, loads, stores, work, moment, place, stages[count])
            scale = absolute + np.maximum(np.abs(y), np.abs(place)) * relative
            error = error_of(stages, span, scale, e3, e5)
            if error < 1.0:
                factor = MOST_FACTOR
                if error > 0.0:
                    factor = min(MOST_FACTOR, SAFETY * error**EXPONENT)
                length *= min(1.0, factor) if rejected else factor
                break
            factor = LEAST_FACTOR
            if error == error:
                factor = max(LEAST_FACTOR, SAFETY * error**EXPONENT)
            length *= factor
            rejected = True
        t, y = moment, place
        stages[0] = stages[count]
        if not np.all(np.isfinite(y)):
            return taken
        times[taken + 1], states[taken + 1] = t, y
    return len(times) - 1


def steps_of(
    rate: Bound,
    start: tuple[float, np.ndarray],
    end: float,
    most: int,
    tolerances: tuple[float, float | np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of at most so many steps, (k,) and (k, size), from the start on.

    Parameters
    ----------
    rate
        x' as a program.
    start
        When, s, and where.
    end
        How far, s.
    most
        How many steps.
    tolerances
        Relative, and absolute, (size,).
    """
    relative, absolute = tolerances
    times, states = np.zeros(most + 1), np.zeros((most + 1, len(start[1])))
    times[0], states[0] = start
    taken = take_steps(
        VERSION, rate.part.steps, rate.part.loads, rate.part.stores, rate.numbers,
        rate.part.registers, TABLES, end, relative,
        np.broadcast_to(absolute, states[0].shape).copy(), times, states,
    )  # fmt: skip
    return times[: taken + 1], states[: taken + 1]
