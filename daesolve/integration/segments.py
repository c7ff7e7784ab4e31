"""From one boundary of a run to the next: segments, and guards that were passed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daesolve.integration.checkpoints import Keeper
from daesolve.integration.endings import Verdict, taken_back, verdict
from daesolve.integration.events import through
from daesolve.integration.limits import Counted
from daesolve.integration.record import Boundary
from daesolve.integration.run_state import RunState, unobserved
from daesolve.modes.transitions import Transitions
from daesolve.solvers import EventHit, Observer, SegmentEnd, State, Status
from daesolve.trajectory.results import StepBlock

HALVINGS = 40
"""Of a segment, to look whether a guard that starts at zero was inside afterwards."""


def next_boundary(run: RunState, here: Boundary) -> float:
    """Return the end of the next segment: a whole multiple from the start, or the end."""
    prepared, least = run.prepared, 1e-9 * run.prepared.segment
    while True:
        count = run.segments + 1
        boundary = prepared.start_time + run.sign * count * prepared.segment
        if run.sign * (boundary - prepared.until) >= -least:
            return prepared.until
        if run.sign * (boundary - here.time) > least:
            return boundary
        # The run was extended from a time that is no multiple.
        run.segments = count


def to_boundary(
    run: RunState, here: Boundary, boundary: float, keeper: Keeper | None
) -> tuple[Boundary, Verdict | None]:
    """Integrate to a boundary, from mode to mode.

    Parameters
    ----------
    run, here
        The run, and where it is.
    boundary
        How far, s.
    keeper
        What keeps it on disk, where something does.

    Returns
    -------
    Boundary
        Where it arrived.
    tuple or None
        How the run ends there, if it does.
    """
    transitions, past = run.transitions, list[int]()
    while True:
        run.record.boundaries.append(here)
        if transitions is not None:
            past = transitions.late(here.time, here.state, run.values(here))
        end = _segment(run, here, run.ahead.reach(here.time, boundary))
        if run.monitor.over:
            return taken_back(run, end, keeper), verdict(run, end)
        ended = verdict(run, end)
        arrived = run.after(here, end)
        if end.status is Status.STOPPED:
            run.ahead.interrupted(end.time, boundary)
        else:
            run.ahead.uninterrupted()
        if ended is None and transitions is not None:
            arrived, ended = through(run, transitions, arrived, end.hits, past)
        if ended is not None or end.time == boundary:
            run.watch_the_rest()
            if run.monitor.over:
                return taken_back(run, end, keeper), verdict(run, end)
            return arrived, ended
        here = arrived


# -- one segment -----------------------------------------------------------------------------------


def _segment(run: RunState, here: Boundary, until: float) -> SegmentEnd:
    """Integrate until a time or a guard; take in samples, and events that are only recorded."""
    record, transitions, switched = run.record, run.transitions, run.switched
    at = run.schedule.up_to(record.taken, until)
    start = State(here.time, here.state, run.values(here))
    if transitions is not None and switched:
        end = _up_to_guards(run, transitions, here, until, at)
    else:
        end = _solve_within_budget(run, start, until, at, _watching(run))
    run.sample(at, end.samples, here)
    for hit in end.hits:
        if transitions is None or not transitions.switches[hit.index]:
            run.happened(hit, here)
    if transitions is not None and end.status is Status.STOPPED:
        for index in transitions.book.passing(end.time, end.state, start.p):
            run.happened(EventHit(index, end.time, end.state), here)
    record.steps += end.steps
    record.rhs_evaluations += end.rhs_evaluations
    return end


def _watching(run: RunState) -> Observer:
    """Return what lets the monitor see steps, and ends a segment that is not to be trusted."""

    def watch(block: StepBlock) -> bool:
        run.monitor.observe(block)
        return run.monitor.over

    return watch


def _solve_within_budget(
    run: RunState, start: State, until: float, at: np.ndarray, observe: Observer
) -> SegmentEnd:
    """Integrate, and end with a block of steps where the run is not to cost more."""
    run.effort.begin(start.time)
    spent = run.record.rhs_evaluations
    counted = Counted(run.effort, run.monitor, observe, spent)
    return run.solve(start, until, at, counted)


def _up_to_guards(
    run: RunState, transitions: Transitions, here: Boundary, until: float, at: np.ndarray
) -> SegmentEnd:
    """Integrate up to the first reset, and see that none was passed over."""
    start = State(here.time, here.state, run.values(here))
    blocks: list[StepBlock] = []
    end = _solve_within_budget(run, start, until, at, blocks.append)
    passed = {hit.index for hit in end.hits}
    late = [k for k in transitions.late(end.time, end.state, start.p) if k not in passed]
    late = [k for k in late if k not in transitions.late(start.time, start.x, start.p)]
    if late:
        guard, moment = _first_zero(run, transitions, start, end, late)
        blocks.clear()
        if moment == start.time:
            nothing = np.empty((0, len(start.x)))
            end = SegmentEnd(Status.STOPPED, "", moment, start.x, nothing, (), 0, 0)
        else:
            at = at[run.sign * (at - moment) <= 0.0]
            end = run.solve(start, moment, at, blocks.append)
        hit = EventHit(guard, end.time, end.state)
        end = replace(end, status=Status.STOPPED, hits=(*end.hits, hit))
    run.watch_later(blocks, here.mode)
    return end


def _first_zero(
    run: RunState,
    transitions: Transitions,
    start: State,
    end: SegmentEnd,
    late: Sequence[int],
) -> tuple[int, float]:
    """Return which of some guards passed first, and when, by integrating again."""

    def look(moment: float) -> tuple[State, np.ndarray]:
        reached = run.solve(low, moment, np.empty(0), unobserved)
        outside = transitions.book.outside(reached.time, reached.state, start.p)[late]
        return State(reached.time, reached.state, start.p), outside

    # Guards that are at zero at the start may have been inside since then, or not at all.
    span = end.time - start.time
    low, high = start, end.time
    outside = transitions.book.outside(end.time, end.state, start.p)[late]
    for part in 0.5 ** np.arange(1, HALVINGS):
        reached, found = look(start.time + part * span)
        if np.all(found < 0.0):
            low = reached
            break
        high, outside = reached.time, found
    if low is start:
        return late[int(np.argmax(outside))], start.time
    while (middle := 0.5 * (low.time + high)) not in (low.time, high):
        reached, found = look(middle)
        if np.all(found < 0.0) and reached.time == middle:
            low = reached
        else:
            high, outside = reached.time, found
    return late[int(np.argmax(outside))], high
