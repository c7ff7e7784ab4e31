"""Finds where a guard passed that no solver found, by its values along the motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daesolve.algebra.built_once import built_once
from daesolve.formulations import OdeProblem
from daesolve.integration.run_state import RunState, unobserved
from daesolve.modes.transitions import Transitions
from daesolve.solvers import Observer, SegmentEnd, State, Status

PARTS = 16
"""At the ends of so many parts of a stretch guards are evaluated."""
EVEN = np.arange(1, PARTS) / PARTS
HALVINGS = 40
"""How often a segment is halved to find whether a guard that starts at zero was inside
afterwards."""


def solve_through(
    run: RunState, start: State, until: float, at: np.ndarray, observe: Observer
) -> SegmentEnd:
    """Integrate a stretch whose guards are known, without pauses to look at them."""
    end = run.solve(start, until, at, observe)
    while end.status is Status.PAUSED:
        here = State(end.time, end.state, start.p, start.motion)
        end = end.followed_by(run.solve(here, until, at[len(end.samples) :], observe))
    return end


def first_zero(
    run: RunState,
    transitions: Transitions,
    start: State,
    end: SegmentEnd,
    late: Sequence[int],
) -> tuple[int, float]:
    """Return which of some guards passed first, and when.

    The stretch in which it is becomes `PARTS` times shorter each time that it is integrated, so
    that all of this costs little more than the segment did.
    """
    book, begun = transitions.book, False
    # Guards that are at zero at the start may have been inside since then, or not at all; there,
    # rounding has any sign.
    parts = np.union1d(0.5 ** np.arange(1, HALVINGS), EVEN)
    low, high, least = start, end.time, book.tolerances[late]
    outside = book.outside(end.time, end.state, start.p)[late]
    while True:
        times = low.time + (high - low.time) * parts
        times = times[(np.diff(times, prepend=low.time) != 0.0) & (times != high)]
        states = _states(run, low, high, times)
        places = zip(times.tolist(), states, strict=False)
        found = [book.outside(time, state, start.p)[late] for time, state in places]
        inside = [k for k, guards in enumerate(found) if np.all(guards < -least)]
        if not begun and not inside:
            return late[int(np.argmax(outside))], start.time
        first = 0 if begun else inside[0]
        past = [k for k in range(first, len(found)) if np.any(found[k] > least)]
        known = past[0] if past else len(found)
        if past:
            high, outside = float(times[known]), found[known]
        if known:
            low = State(float(times[known - 1]), states[known - 1], start.p)
            book.measure(low.time, low.x, low.p)  # The motion comes there: so large are its guards.
        if not found:
            return late[int(np.argmax(outside))], high
        begun, parts, least = True, EVEN, np.zeros(len(late))


def _states(run: RunState, start: State, until: float, times: np.ndarray) -> np.ndarray:
    """Return the states at times of a stretch, (k, size), whatever its guards are there."""
    if not len(times):
        return np.empty((0, len(start.x)))
    problem, prepared = run.prepared.problem, run.prepared
    end = prepared.scaling.segment(
        prepared.solver, _without_events(problem), start, until, times, unobserved
    )
    run.record.rhs_evaluations += end.rhs_evaluations
    return end.samples


@built_once
def _without_events(problem: OdeProblem) -> OdeProblem:
    return replace(problem, events=())
