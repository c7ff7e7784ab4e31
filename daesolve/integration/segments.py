"""From one boundary of a run to the next: segments, guards that were passed over, charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daesolve.integration.checkpoints import Keeper
from daesolve.integration.effort import Counted
from daesolve.integration.endings import Verdict
from daesolve.integration.instants import through
from daesolve.integration.record import Boundary
from daesolve.integration.run_state import Course, unobserved
from daesolve.integration.verdicts import taken_back, verdict
from daesolve.modes.transitions import Transitions
from daesolve.solvers import EventHit, Observer, SegmentEnd, State, Status
from daesolve.trajectory.results import StepBlock

LONGER = 1.2
"""Times the time from one interruption to the next, to be gone at once."""
SHORTEST = 1e-9
"""Of the boundary's time, what is gone at once at least."""
HALVINGS = 40
"""Of a segment, to look whether a guard that starts at zero was inside afterwards."""


def next_boundary(course: Course, here: Boundary) -> float:
    """Return the end of the next segment: a whole multiple from the start, or the end."""
    prepared, least = course.prepared, 1e-9 * course.prepared.segment
    while True:
        count = course.segments + 1
        boundary = prepared.start_time + course.sign * count * prepared.segment
        if course.sign * (boundary - prepared.until) >= -least:
            return prepared.until
        if course.sign * (boundary - here.time) > least:
            return boundary
        # The run was extended from a time that is no multiple.
        course.segments = count


def to_boundary(
    course: Course, here: Boundary, boundary: float, keeper: Keeper | None
) -> tuple[Boundary, Verdict | None]:
    """Integrate to a boundary, through resets, and from chart to chart.

    Parameters
    ----------
    course, here
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
    transitions, past = course.transitions, list[int]()
    while True:
        course.record.boundaries.append(here)
        if transitions is not None:
            past = transitions.late(here.time, here.state, course.values(here))
        end = _segment(course, here, _reach(course, here, boundary))
        if course.monitor.over:
            return taken_back(course, end, keeper), verdict(course, end)
        ended = None if _left_chart(course, end) else verdict(course, end)
        arrived = course.after(here, end)
        if end.status is Status.STOPPED:
            _expect(course, end.time, boundary)
        else:
            course.stretch *= 2.0
        if _left_chart(course, end):
            here = _on_next_chart(course, arrived)
            continue
        if ended is None and transitions is not None:
            arrived, ended = through(course, transitions, arrived, end.hits, past)
        if ended is not None or end.time == boundary:
            course.watch_the_rest()
            if course.monitor.over:
                return taken_back(course, end, keeper), verdict(course, end)
            return arrived, ended
        here = arrived


# -- how far at once -------------------------------------------------------------------------------


def _expect(course: Course, interrupted: float, boundary: float) -> None:
    """Let the next interruption be as far as this one was from the one before it."""
    course.stretch = LONGER * max(abs(interrupted - course.entered), SHORTEST * abs(boundary))
    course.entered = interrupted


def _reach(course: Course, here: Boundary, boundary: float) -> float:
    """Return how far to go at once: not much farther than the motion is known to last."""
    chart = course.prepared.problem.chart
    lasts = chart is None or chart.choose is None
    resets = course.transitions is not None
    if lasts and not (resets and course.looks_ahead):
        return boundary
    ahead = here.time + course.sign * course.stretch
    return boundary if course.sign * (ahead - boundary) >= 0.0 else ahead


# -- charts ----------------------------------------------------------------------------------------


def _left_chart(course: Course, end: SegmentEnd) -> bool:
    """Tell whether independent velocities are to be chosen anew: the last guard says so."""
    problem = course.prepared.problem
    charted = problem.chart is not None and problem.chart.choose is not None
    stopped = end.status is Status.STOPPED and bool(end.hits)
    return charted and stopped and end.hits[-1].index == len(problem.guarded) - 1


def _on_next_chart(course: Course, here: Boundary) -> Boundary:
    """Choose the independent velocities anew."""
    problem = course.prepared.problem
    assert problem.chart is not None
    assert problem.chart.choose is not None
    values = course.values(here)
    states = problem.visible(np.array([here.time]), here.state[None, :], values)[0]
    chosen = problem.chart.choose(here.time, states, values, course.prepared.path)
    works = here.state[problem.chart.embed.nnz_in(1) :]
    return course.in_mode(here, problem.enter(here.time, states, chosen, works), chosen)


# -- one segment -----------------------------------------------------------------------------------


def _segment(course: Course, here: Boundary, until: float) -> SegmentEnd:
    """Integrate until a time or a guard; take in samples, and events that are only recorded."""
    record, guarded = course.record, course.prepared.problem.guarded
    at = course.schedule.up_to(record.taken, until)
    start = State(here.time, here.state, course.values(here))
    if course.transitions is None:
        end = _solve_within_budget(course, start, until, at, _watching(course))
    else:
        end = _up_to_guards(course, course.transitions, here, until, at)
    course.sample(at, end.samples, here)
    for hit in end.hits[:-1] if _left_chart(course, end) else end.hits:
        if guarded[hit.index].then.reset is None:
            course.happened(hit, here)
    if course.transitions is not None and end.status is Status.STOPPED:
        for index in course.transitions.passing(end.time, end.state, start.p):
            course.happened(EventHit(index, end.time, end.state), here)
    record.steps += end.steps
    record.rhs_evaluations += end.rhs_evaluations
    return end


def _watching(course: Course) -> Observer:
    """Return what lets the monitor see steps, and ends a segment that is not to be trusted."""

    def watch(block: StepBlock) -> bool:
        course.monitor.observe(block)
        return course.monitor.over

    return watch


def _solve_within_budget(
    course: Course, start: State, until: float, at: np.ndarray, observe: Observer
) -> SegmentEnd:
    """Integrate, and end with a block of steps where the run is not to cost more."""
    course.effort.begin(start.time)
    spent = course.record.rhs_evaluations
    counted = Counted(course.effort, course.monitor, observe, spent)
    return course.solve(start, until, at, counted)


def _up_to_guards(
    course: Course, transitions: Transitions, here: Boundary, until: float, at: np.ndarray
) -> SegmentEnd:
    """Integrate up to the first reset, and see that none was passed over."""
    start = State(here.time, here.state, course.values(here))
    blocks: list[StepBlock] = []
    end = _solve_within_budget(course, start, until, at, blocks.append)
    passed = {hit.index for hit in end.hits}
    late = [k for k in transitions.late(end.time, end.state, start.p) if k not in passed]
    late = [k for k in late if k not in transitions.late(start.time, start.x, start.p)]
    if late:
        guard, moment = _first_zero(course, transitions, start, end, late)
        blocks.clear()
        if moment == start.time:
            nothing = np.empty((0, len(start.x)))
            end = SegmentEnd(Status.STOPPED, "", moment, start.x, nothing, (), 0, 0)
        else:
            at = at[course.sign * (at - moment) <= 0.0]
            end = course.solve(start, moment, at, blocks.append)
        hit = EventHit(guard, end.time, end.state)
        end = replace(end, status=Status.STOPPED, hits=(*end.hits, hit))
    course.watch_later(blocks, here.mode)
    return end


def _first_zero(
    course: Course,
    transitions: Transitions,
    start: State,
    end: SegmentEnd,
    late: Sequence[int],
) -> tuple[int, float]:
    """Return which of some guards passed first, and when, by integrating again."""

    def look(moment: float) -> tuple[State, np.ndarray]:
        reached = course.solve(low, moment, np.empty(0), unobserved)
        outside = transitions.outside(reached.time, reached.state, start.p)[late]
        return State(reached.time, reached.state, start.p), outside

    # Guards that are at zero at the start may have been inside since then, or not at all.
    span = end.time - start.time
    low, high = start, end.time
    outside = transitions.outside(end.time, end.state, start.p)[late]
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
