"""Steps cut into parts in which the sines and cosines of guards swing little.

A step is as long as the rates allow. A guard may have a sine that no rate has: a table that is
shaken under a ball in free flight, the end of a rod that turns evenly. Such a step may hold any
number of its swings, and a few looks into it show none of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.dense_segments import AcceptedSteps
from daesolve.core.solvers.segment import EventHit, GuardError
from daesolve.core.solvers.unresolved_terms import phases

FAR = 2.0
"""Radians that a phase may turn in a step."""
TAKEN = 1.0
"""Radians that it turns in a part of one that is cut."""
MOST_PARTS = 1 << 20
"""The most parts of all steps together."""
ROUNDS = 8
"""How often parts are cut again if phases turn to and fro in them."""


def split_phases(problem: OdeProblem, p: np.ndarray, steps: AcceptedSteps) -> AcceptedSteps:
    """Return steps in which no phase of a sine or cosine in a guard turns far.

    A phase that jumps does so within one part, however short: there the guard is looked at as any
    other.

    Parameters
    ----------
    problem, p
        Its guards, and the values.
    steps
        Accepted steps.

    Raises
    ------
    GuardError
        There are more swings than can be looked at.
    """
    for _ in range(ROUNDS):
        ways = phase_advance(problem, p, steps)
        if not np.any(ways > FAR):
            break
        parts = np.where(ways > FAR, np.ceil(ways / TAKEN), 1.0)
        if np.sum(parts) > MOST_PARTS:
            raise _too_many(problem, steps)
        steps = _cut(steps, parts.astype(int))
    return steps


def phase_advance(problem: OdeProblem, p: np.ndarray, steps: AcceptedSteps) -> np.ndarray:
    """Return how far the phase that turns farthest does so in each step, rad, (k,)."""
    arguments, count = phases(problem.guards), len(steps.times) - 1
    if arguments is None:
        return np.zeros(count)
    ends = evaluate_block(arguments, steps.times, steps.states, p)[0]
    inner = evaluate_block(arguments, steps.inner_times, steps.inner, p)[0]
    with np.errstate(invalid="ignore", over="ignore"):
        ways = np.abs(inner - ends[:-1]) + np.abs(ends[1:] - inner)
    return np.nan_to_num(np.max(ways, axis=1), nan=0.0, posinf=0.0)


def _cut(steps: AcceptedSteps, parts: np.ndarray) -> AcceptedSteps:
    """Return steps each of which is cut into so many even parts."""
    owners: np.ndarray = np.repeat(np.arange(len(parts)), parts)
    first: np.ndarray = np.cumsum(parts) - parts
    within = (np.arange(len(owners)) - first[owners]) / parts[owners]
    starts = steps.times[owners] + within * np.diff(steps.times)[owners]
    times = np.append(starts, steps.times[-1])
    states = np.concatenate([steps.states[owners], steps.states[-1:]])
    new = np.flatnonzero(within > 0.0)
    states[new] = steps.dense(times[new])

    def advance(part: int, time: float) -> np.ndarray:
        return steps.advance(int(owners[part]), time)

    cut = replace(
        steps,
        times=times,
        states=states,
        inner=steps.inner[owners],
        advance=advance,
    )
    again = np.flatnonzero(parts[owners] > 1)
    cut.inner[again] = steps.dense(cut.inner_times[again])
    return cut


def _too_many(problem: OdeProblem, steps: AcceptedSteps) -> GuardError:
    names = " or ".join(repr(event.name) for event in problem.guarded)
    time = float(steps.times[0])
    return GuardError(
        f"from t = {time:.10g} s on, a sine or cosine in the guard of {names} turns through "
        f"more than {MOST_PARTS * TAKEN:g} rad within a few steps: too much to search for "
        "events",
        [],
        EventHit(0, time, steps.states[0]),
    )
