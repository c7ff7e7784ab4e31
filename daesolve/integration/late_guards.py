"""Finds where a guard passed that no solver found, by integrating again to ever closer times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daesolve.integration.run_state import RunState, unobserved
from daesolve.modes.transitions import Transitions
from daesolve.solvers import Observer, SegmentEnd, State, Status

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
    """Return which of some guards passed first, and when, by integrating again."""

    def look(moment: float) -> tuple[State, np.ndarray]:
        reached = solve_through(run, low, moment, np.empty(0), unobserved)
        place = reached.time, reached.state, start.p
        outside = transitions.book.outside(*place)[late]
        if np.all(outside < 0.0):
            transitions.book.measure(*place)  # The motion comes there: so large are its guards.
        return State(*place), outside

    # Guards that are at zero at the start may have been inside since then, or not at all.
    span = end.time - start.time
    low, high, below = start, end.time, -np.inf
    outside = transitions.book.outside(end.time, end.state, start.p)[late]
    for part in 0.5 ** np.arange(1, HALVINGS):
        reached, found = look(start.time + part * span)
        if np.all(found < 0.0):
            low, below = reached, float(np.max(found))
            break
        high, outside = reached.time, found
    if low is start:
        return late[int(np.argmax(outside))], start.time
    above, halves = float(np.max(outside)), False
    while (middle := _between(low.time, high, below, above, halves=halves)) not in (low.time, high):
        before = abs(high - low.time)
        reached, found = look(middle)
        # The end that stays counts less and less, so that both come near to the zero.
        if np.all(found < 0.0) and reached.time == middle:
            low, below, above = reached, float(np.max(found)), above / 2.0
        else:
            high, outside = reached.time, found
            above, below = float(np.max(found)), below / 2.0
        halves = abs(high - low.time) > before / 2.0 and not halves
    return late[int(np.argmax(outside))], high


def _between(low: float, high: float, below: float, above: float, *, halves: bool) -> float:
    """Return a time between two: where a straight line is zero, or halfway if that is none."""
    middle = 0.5 * (low + high)
    if halves or not below < 0.0 < above or not np.isfinite(above - below):
        return middle
    part = below / (below - above)
    straight = low + part * (high - low)
    return middle if straight in (low, high) else straight
