"""Resets that follow each other, with the motion between them, in one compiled loop.

Where a guard passes zero, and nothing else is near, all that is done about it is a few functions
and comparisons. These are the rules of `modes.guard_book` for one guard that fires alone; wherever
they leave anything open the chain ends before that guard fires, and nothing of it has been changed.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit

from daesolve.core.expressions import machine
from daesolve.core.expressions.compilation import OPTIONS, compile_once, version_of
from daesolve.core.solvers.taylor_kernel import halting
from daesolve.core.solvers.taylor_kernel.halting import HALTED, LEAVES, march_to_guards

VERSION = version_of(machine, halting, sys.modules[__name__])
GUARDS, RATES, NUMBERS, FIRST_RESET = 0, 1, 2, 3
"""The programs: guards and their rates, the rates of the states, the numbers of the table that
depend on parameters alone; the resets of guards from here on."""
GROWN = 2.0
"""What counts as zero of a guard is judged again if it exceeds its largest value by this factor."""


@njit(**OPTIONS)
def compute(programs, which, time, x, p, memory, result):
    """Write the outputs of a program at (t, x, p)."""
    runs, codes, constants, places = programs
    first_run, last_run, first_number, last_number, registers, rows = places[which]
    count, states = last_number - first_number, len(x)
    for k in range(count):
        memory[k] = constants[first_number + k]
    memory[count] = time
    for k in range(states):
        memory[count + 1 + k] = x[k]
    for k in range(len(p)):
        memory[count + 1 + states + k] = p[k]
    own = runs[first_run:last_run]
    machine.carry_out(machine.ONE, own, codes, memory.ctypes.data, 1)
    for k in range(rows):
        result[k] = memory[registers - rows + k]


@njit(**OPTIONS)
def take_numbers(programs, time, x, p, memory, numbers):
    """Put the numbers of the kernel's table that follow from p in their places."""
    first = len(p)
    for k in range(first):
        numbers[k, 0] = p[k]
    if programs[3][NUMBERS, 5]:
        compute(programs, NUMBERS, time, x, p, memory, numbers[first:, 0])


@njit(**OPTIONS)
def arm(values, rates, ways, tolerances, armed):
    """Arm guards that are inside, or enter; return whether all are numbers."""
    for k in range(len(ways)):
        if not math.isfinite(values[k] + rates[k]):
            return False
        along = ways[k] * values[k]
        if along < -tolerances[k] or (ways[k] * rates[k] < 0.0 and along <= tolerances[k]):
            armed[k] = True
    return True


@njit(**OPTIONS)
def alone(guard, values, rates, traits, known, accuracy):
    """Return whether a guard fires, and no other is so near to zero that it must be examined."""
    ways, either, recorded, returns, _, _, _ = traits
    tolerances, reach, _ = known
    for k in range(len(ways)):
        size = abs(values[k])
        if size > GROWN * reach[k]:
            return False  # what counts as zero must be judged again
        if k == guard:
            if ways[k] * values[k] < -tolerances[k] or rates[k] == 0.0:
                return False
        elif ((either[k] or recorded[k]) and size <= tolerances[k]) or (
            ways[k] != 0.0
            and (returns[k] or ways[k] * rates[k] >= 0.0)
            and ways[k] * values[k] >= -max(accuracy * reach[k], tolerances[k])
        ):
            return False
    return True


@njit(**OPTIONS)
def clear(values, rates, traits, known, armed):
    """Return whether nothing is due after a reset, and no guard is past zero."""
    ways, _, _, _, _, _, stays = traits
    tolerances, reach, _ = known
    for k in range(len(ways)):
        along = ways[k] * values[k]
        if abs(values[k]) > GROWN * reach[k] or (along > tolerances[k] and (armed[k] or stays[k])):
            return False
        if ways[k] != 0.0 and along >= -tolerances[k] and armed[k] and ways[k] * rates[k] >= 0.0:
            return False
    return True


@njit(**OPTIONS)
def answer(guard, value, before, rate, traits, tolerance, armed, least):
    """Arm a guard that was sent back, disarm one that continues; see `GuardBook.answered`."""
    ways, moved = traits[0], traits[5]
    turned, size = rate * before, least * before**2
    if turned < -size:
        armed[guard] = True
    elif turned > size and ways[guard] * value >= -tolerance and not moved[guard]:
        armed[guard] = False


@njit(**OPTIONS)
def holds(x, after, rest, sizes, worse, angles):
    """Return whether a reset leads to numbers, meets the goals, and leaves no whole turn in angles.

    after: state and values, and what else there is up to `rest`; then residuals before and after.
    """
    for k in angles:
        if not (abs(x[k]) <= math.pi and abs(after[k]) <= math.pi):
            return False
    for k in range(rest):
        if not math.isfinite(after[k]):
            return False
    for k in range(len(sizes)):
        before, left = after[rest + k], after[rest + len(sizes) + k]
        if not abs(left) <= sizes[k] + worse * abs(before):
            return False
    return True


@njit(**OPTIONS)
def reset(guard, now, x, p, programs, traits, known, limits, armed, memory, room):
    """Let a guard fire that passes zero at a place of the motion; return whether that is simple.

    armed: changed as `GuardBook` would. room: guards and rates before and after, the rates of the
    states, and what the program of the reset gives.
    """
    accuracy, least, _, _, _, sizes, worse, angles = limits
    before, behind, rates, after = room
    tolerances, _, program = known
    count, ways = len(armed), traits[0]
    compute(programs, GUARDS, now, x, p, memory, before)
    values, slopes = before[:count], before[count:]
    if not (
        arm(values, slopes, ways, tolerances, armed)
        and alone(guard, values, slopes, traits, known, accuracy)
    ):
        return False
    compute(programs, program[guard], now, x, p, memory, after)
    rest = programs[3][program[guard], 5] - 2 * len(sizes)
    if not holds(x, after, rest, sizes, worse, angles):
        return False
    state, given = after[: len(x)], after[len(x) : len(x) + len(p)]
    compute(programs, RATES, now, state, given, memory, rates)
    compute(programs, GUARDS, now, state, given, memory, behind)
    armed[guard] = traits[4][guard]
    if not (
        math.isfinite(np.sum(rates))
        and arm(behind[:count], behind[count:], ways, tolerances, armed)
    ):
        return False
    value, rate, tolerance = behind[guard], behind[count + guard], tolerances[guard]
    answer(guard, value, slopes[guard], rate, traits, tolerance, armed, least)
    return clear(behind[:count], behind[count:], traits, known, armed)


@compile_once
def chain(
    version, march, guards, borders, numbers, programs, p, traits, known, book, limits, room, found,
):  # fmt: skip
    """Follow a motion from reset to reset, as long as these are simple.

    Parameters
    ----------
    march
        Of `march_to_guards`: work, stride, table, order, x, low, time, end, tolerances.
    guards, borders
        As there.
    numbers
        Those of the table, of which none is the logarithm of another.
    programs
        Runs, codes and constants of all, and (k, 6) which of these are whose, how many registers,
        and how many results there are.
    p
        The values; changed.
    traits
        Of each guard: ways, either, recorded, returns, barriers, moved, stays.
    known
        Of each guard what counts as zero, and its largest value; (guards,) the program that
        resets it, or -1.
    book
        armed, passed and reached of each guard, and (1,) when one fired last; changed.
    limits
        The accuracy of guards, `guard_book.ANSWERED`, what counts as one instant absolutely and
        relatively, the time of the last reset; (j,) what residuals may be, and times what they
        were before; the wrapped angles.
    room
        Of `march_to_guards`: found, when, times, ends, met.
    found
        For each reset: the guard, and the steps and the passages met up to it; its time; the state
        before it; after it the state, the values, and what else its program yields.

    Returns
    -------
    tuple
        How many resets there were, and how many steps up to the last.
    """
    work, stride, table, order, x, low, time, end, tolerances = march
    armed, passed, reached, entered = book
    series, when, times, ends, met = room
    which, moments, befores, results = found
    count, taken, resets, passages, last = len(armed), 0, 0, 0, limits[4]
    memory = np.empty(programs[3][:, 4].max() + 1)
    before, behind = np.empty(2 * count), np.empty(2 * count)
    rates, trial, state = np.empty(len(x)), np.empty(count, np.bool_), np.empty(len(x))
    guards[2] = 0.0
    while resets < len(which) and taken < len(when):
        steps, outcome, guard = march_to_guards(
            version, work, stride, numbers, table, order, x, low, time, end, tolerances, guards,
            borders, series[taken:], when[taken:], times[taken:], ends[taken:], met,
        )  # fmt: skip
        now = time[0, 0]
        if outcome != HALTED or known[2][guard] < 0 or now == end[0]:
            break
        if abs(now - last) <= limits[2] + limits[3] * abs(now):
            break
        if not (armed[guard] or now > passed[guard]):
            break
        befores[resets], trial[:] = x[:, 0], armed
        after = results[resets]
        own = before, behind, rates, after
        if not reset(
            guard, now, befores[resets], p, programs, traits, known, limits, trial, memory, own
        ):
            break
        armed[:] = trial
        for k in range(count):
            reached[k] = max(reached[k], abs(before[count + k]) * abs(now - entered[0]))
        past = max(-traits[0][guard] * before[guard], 0.0)
        passed[guard] = now + (past + 2.0 * known[0][guard]) / abs(before[count + guard])
        for m in range(passages, met[1][0]):
            met[0][m, 1] += taken
        taken, passages, entered[0], last = taken + steps, met[1][0], now, now
        which[resets, 0], which[resets, 1], which[resets, 2] = guard, taken, passages
        moments[resets] = now
        state[:], p[:] = after[: len(x)], after[len(x) : len(x) + len(p)]
        take_numbers(programs, now, state, p, memory, numbers)
        x[:, 0], low[:, 0], time[0, 0], time[1, 0] = state, 0.0, now, 0.0
        guards[2] = 0.0
        if guards[0, guard] == 0.0:
            guards[2, guard] = LEAVES * np.sign(behind[count + guard])
        resets += 1
    return resets, taken
