"""Whether a run goes on after a segment, and what is taken back where it is not to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from daesolve.diagnostics.passages import Breach
from daesolve.integration import endings
from daesolve.integration.checkpoints import Keeper
from daesolve.integration.endings import Verdict
from daesolve.integration.record import Boundary, Happening
from daesolve.integration.run_state import Course
from daesolve.solvers import SegmentEnd, Status
from daesolve.trajectory.results import Outcome

DEGENERATE = "degenerate"
"""The event where constraints come to depend on each other."""


def verdict(course: Course, end: SegmentEnd) -> Verdict | None:
    """Return how the run ends with a segment; None where it goes on."""
    monitor, effort = course.monitor, course.effort
    if end.status is Status.FAILED:
        course.watch_the_rest()
    breach, lost = monitor.breach, monitor.lost_grip
    if breach is not None:
        return Outcome.DEGENERATE, breach.sentence
    if lost is not None and monitor.over:
        if lost.dependence is not None and lost.dependence.sharp:
            return endings.dependent(lost.dependence)
        if effort.reason:
            return endings.given_up(lost.time, effort, lost.goals)
        return _lost_grip(course, lost.time, lost.goals)
    weakest = monitor.weakest()
    if end.time != course.prepared.until and effort.over(course.record.rhs_evaluations):
        monitor.give_up(end.time, end.state, weakest)
        return endings.given_up(end.time, effort, weakest)
    if end.status is Status.FAILED:
        if weakest:
            monitor.give_up(end.time, end.state, weakest)
            return _lost_grip(course, end.time, weakest)
        return endings.failed(end.time, end.message)
    if end.status is Status.STOPPED and course.transitions is None:
        name = course.record.events[-1].name
        event = next(e for e in course.prepared.problem.events if e.name == name)
        return endings.stopped_by(event, end.time)
    return None


def taken_back(course: Course, end: SegmentEnd, keeper: Keeper | None) -> Boundary:
    """Drop what lies beyond the last step that is to be trusted, and return to it."""
    record, sign = course.record, course.sign
    lost = course.monitor.breach or course.monitor.lost_grip
    assert lost is not None
    until = lost.last_time
    record.cut(until, sign)
    if keeper is not None:
        record.tally = replace(record.tally, events=keeper.cut(until, sign))
    while len(record.boundaries) > 1 and sign * (record.boundaries[-1].time - until) > 0:
        record.boundaries.pop()
    here = record.boundaries[-1]
    if isinstance(lost, Breach):
        place = Boundary(until, lost.last_state, here.turns, here.mode)
        record.events.append(Happening(lost.time, lost.event, place))
    elif lost.dependence is not None:
        seen = lost.dependence
        place = Boundary(seen.time, seen.state, here.turns, here.mode)
        record.events.append(Happening(seen.time, DEGENERATE, place))
    return course.after(here, replace(end, time=until, state=lost.last_state))


def _lost_grip(course: Course, time: float, goals: Sequence[str]) -> Verdict:
    return endings.lost_grip(
        time,
        goals,
        at_rest=_singular(course, goals),
        passes=course.prepared.rank_loss == "pass",
    )


def _singular(course: Course, goals: Sequence[str]) -> bool:
    """Tell whether these goals have no grip at rest."""
    return set(goals) <= set(course.prepared.problem.singular_goals)
