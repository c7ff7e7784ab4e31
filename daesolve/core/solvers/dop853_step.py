"""Steps of DOP853 in compiled code, rates included: what SciPy does, without Python in between."""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import sys

import numpy as np

from daesolve.core.expressions import compilation, machine
from daesolve.core.expressions.compilation import compile_once, inline_part, version_of
from daesolve.core.expressions.machine import run_once
from daesolve.core.solvers import dormand_prince
from daesolve.core.solvers.dormand_prince import FIFTH, INCREMENTS, ORDER, PARTS, THIRD, WEIGHTS

VERSION = version_of(compilation, dormand_prince, sys.modules[__name__]), machine.VERSION
"""The version of this code, and of the machine."""
SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
"""Safety factor and bounds of the change of the step, as in SciPy."""
POWER = -1.0 / ORDER


@inline_part
# Long: one step, with its stages, its error and its repetitions.
def stepped(version, runs, codes, memory, places, tolerances, t, y, length, until, most, stages):
    """Take a step; return when it ends, its length, the next one, and how many rates it took.

    Where there is none, the length is zero.

    Parameters
    ----------
    runs, codes, memory, places
        The program of the rate (`machine`), and the registers of t, of the first state and of the
        first rate.
    tolerances
        Relative, and absolute of each state, (size,).
    t, y, length, until, most
        Where the step starts, (size,); its length; where time ends; the longest step.
    stages
        (13, size) receives the rates; the first one is known. `y` receives the state.
    """
    rtol, atol = tolerances
    size, count = len(y), len(WEIGHTS)
    sign = 1.0 if until >= t else -1.0
    least = 10.0 * abs(np.nextafter(t, sign * np.inf) - t)
    length = min(max(length, least), most)
    new = np.empty(size)
    rejected, taken = False, 0
    while length >= least:
        ends = t + sign * length
        if sign * (ends - until) > 0.0:
            ends = until
        h = ends - t
        length = abs(h)
        for stage in range(1, count + 1):
            for n in range(size):
                change = 0.0
                for k in range(stage):
                    change += stages[k, n] * (INCREMENTS[stage, k] if stage < count else WEIGHTS[k])
                new[n] = y[n] + change * h
                memory[places[1] + n, 0] = new[n]
            memory[places[0], 0] = t + (PARTS[stage] * h if stage < count else h)
            run_once(version[1], runs, codes, memory)
            for n in range(size):
                stages[stage, n] = memory[places[2] + n, 0]
        taken += count
        third, fifth = 0.0, 0.0
        for n in range(size):
            scale = atol[n] + max(abs(y[n]), abs(new[n])) * rtol
            low, high = 0.0, 0.0
            for k in range(count + 1):
                low += stages[k, n] * THIRD[k]
                high += stages[k, n] * FIFTH[k]
            third += (low / scale) * (low / scale)
            fifth += (high / scale) * (high / scale)
        error = 0.0
        if third != 0.0 or fifth != 0.0:
            error = length * fifth / math.sqrt((fifth + 0.01 * third) * size)
        if error < 1.0:
            factor = MOST if error == 0.0 else min(MOST, SAFETY * math.pow(error, POWER))
            for n in range(size):  # An assignment of arrays takes a second to compile.
                y[n] = new[n]
            return ends, h, length * (min(1.0, factor) if rejected else factor), taken
        factor = SAFETY * math.pow(error, POWER)
        length *= factor if factor > LEAST else LEAST  # also if it is NaN
        rejected = True
    return t, 0.0, length, taken


@compile_once
def take_step(version, runs, codes, memory, places, tolerances, t, y, length, until, most, stages):
    """Take a step; see `stepped`."""
    return stepped(
        version, runs, codes, memory, places, tolerances, t, y, length, until, most, stages
    )


@compile_once
def take_steps(
    version, runs, codes, memory, places, tolerances, t, y, length, until, most, stages,
    few, times, states,
):  # fmt: skip
    """Take steps until the end, or one that leads nowhere, or one out of all proportion.

    Return how many were taken, and the next length: zero where a step is too small, or leads to
    what is not a number. The arguments are those of `stepped` and more:

    Parameters
    ----------
    few
        The first step that ends them where it is so many times as long as the shortest, how many
        times, and the shortest before.
    times, states
        (k,) and (k, size) receive the ends.
    """
    first, endless, shortest = few
    for step in range(len(times)):
        ends, taken, length, _ = stepped(
            version, runs, codes, memory, places, tolerances, t, y, length, until, most, stages,
        )  # fmt: skip
        finite = taken != 0.0
        for n in range(len(y)):
            finite = finite and math.isfinite(y[n])
        if not finite:
            return step, 0.0
        times[step] = ends
        for n in range(len(y)):
            stages[0, n], states[step, n] = stages[len(WEIGHTS), n], y[n]
        span = abs(ends - t)
        shortest, t = min(shortest, span), ends
        if t == until or (step >= first and span > endless * shortest):
            return step + 1, length
    return len(times), length
