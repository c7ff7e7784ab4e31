"""How a run ends: an outcome, and a sentence that says what happened and what to change.

And what is taken back of a run whose last steps are not to be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from daesolve.diagnostics.degeneracy import Dependence
from daesolve.diagnostics.passages import Breach
from daesolve.integration.checkpoints import Keeper
from daesolve.integration.effort import Effort
from daesolve.integration.record import Boundary, Happening
from daesolve.integration.run_state import RunState
from daesolve.modes.law import Ending
from daesolve.posing.events import Event
from daesolve.solvers import SegmentEnd, Status
from daesolve.trajectory.results import Outcome

Verdict = tuple[Outcome, str]

DEGENERATE = "degenerate"
"""The event where constraints come to depend on each other."""

# -- after a segment -------------------------------------------------------------------------------


def verdict(run: RunState, end: SegmentEnd) -> Verdict | None:
    """Return how the run ends with a segment; None where it goes on."""
    monitor, effort = run.monitor, run.effort
    if end.status is Status.FAILED:
        run.watch_the_rest()
    breach, lost = monitor.breach, monitor.lost_grip
    if breach is not None:
        return Outcome.DEGENERATE, breach.sentence
    if lost is not None and monitor.over:
        if lost.dependence is not None and lost.dependence.sharp:
            return by_dependence(lost.dependence)
        if effort.reason:
            return by_cost(lost.time, effort, lost.goals)
        return _of_goals(run, lost.time, lost.goals)
    weakest = monitor.weakest()
    if end.time != run.prepared.until and effort.over(run.record.rhs_evaluations):
        monitor.give_up(end.time, end.state, weakest)
        return by_cost(end.time, effort, weakest)
    if end.status is Status.FAILED:
        if weakest:
            monitor.give_up(end.time, end.state, weakest)
            return _of_goals(run, end.time, weakest)
        return by_solver(end.time, end.message)
    if end.status is Status.STOPPED and run.transitions is None:
        name = run.record.events[-1].name
        event = next(e for e in run.prepared.problem.events if e.name == name)
        return stopped_by(event, end.time)
    return None


def taken_back(run: RunState, end: SegmentEnd, keeper: Keeper | None) -> Boundary:
    """Drop what lies beyond the last step that is to be trusted, and return to it."""
    record, sign = run.record, run.sign
    lost = run.monitor.breach or run.monitor.lost_grip
    assert lost is not None
    until = lost.last_time
    record.cut(until, sign)
    if keeper is not None:
        record.tally = replace(record.tally, events=keeper.cut(until, sign))
    while len(record.boundaries) > 1 and sign * (record.boundaries[-1].time - until) > 0:
        record.boundaries.pop()
    here = record.boundaries[-1]
    if isinstance(lost, Breach):
        place = Boundary(until, lost.last_state, here.whole_turns, here.mode)
        record.events.append(Happening(lost.time, lost.event, place))
    elif lost.dependence is not None:
        seen = lost.dependence
        place = Boundary(seen.time, seen.state, here.whole_turns, here.mode)
        record.events.append(Happening(seen.time, DEGENERATE, place))
    return run.after(here, replace(end, time=until, state=lost.last_state))


def _of_goals(run: RunState, time: float, goals: Sequence[str]) -> Verdict:
    return by_lost_grip(
        time,
        goals,
        at_rest=set(goals) <= set(run.prepared.problem.singular_goals),
        passes=run.prepared.rank_loss == "pass",
    )


# -- in words --------------------------------------------------------------------------------------


def stopped_by(event: Event, time: float, *, at_start: bool = False) -> Verdict:
    """Say which event ended the run, and whether the motion could have gone on.

    Parameters
    ----------
    event, time
        Which, and when, s.
    at_start
        Whether its guard was past zero at the start already.
    """
    if event.then.breakdown:
        return Outcome.DEGENERATE, f"at t = {time:.10g} s {event.then.breakdown}"
    when = "holds at the start already" if at_start else f"at t = {time:.10g} s"
    return Outcome.STOPPED_BY_EVENT, f"the event {event.name!r} {when}"


def at_rest(time: float, *, at_start: bool = False, timed: bool = False) -> Verdict:
    """Say when dry friction has brought the body to rest, where it stays.

    Parameters
    ----------
    time
        When, s.
    at_start
        Whether it is at rest from the start on.
    timed
        Whether what acts on it depends on time.
    """
    if timed:
        when = f"{'is at' if at_start else 'came to'} rest at t = {time:.10g} s"
        later = (
            ", where it may not hold it later on, for what acts depends on time: a run that starts "
            "then shows it"
        )
    else:
        when = "is at rest from the start on" if at_start else f"came to rest at t = {time:.10g} s"
        later = ""
    return Outcome.STOPPED_BY_EVENT, f"the body {when}: dry friction holds it{later}"


def followed(ending: Ending, time: float, message: str, *, timed: bool) -> Verdict | None:
    """Say how the run ends after a stretch that a law followed by itself; None where it goes on.

    Parameters
    ----------
    ending, time, message
        How the stretch ended, when (s), and why where it failed.
    timed
        Whether what acts on the body depends on time.
    """
    if ending is Ending.RESTS:
        return at_rest(time, timed=timed)
    if ending is Ending.REACHED:
        return Outcome.COMPLETED, ""
    return None if ending is Ending.GOES_ON else (Outcome.FAILED, message)


def by_solver(time: float, reason: str) -> Verdict:
    """Say why the solver could not go on."""
    return Outcome.FAILED, (
        f"at t = {time:.10g} s {reason}; loosen the tolerance, lower the rates or take another "
        "solver"
    )


def by_cost(time: float, effort: Effort, weakest: Sequence[str]) -> Verdict:
    """Say why the run costs too much to go on.

    Parameters
    ----------
    time
        What was reached, s.
    effort
        What it took.
    weakest
        The goals whose grip has been weak.
    """
    why = f"at t = {time:.10g} s {effort.reason}"
    if weakest:
        return Outcome.DEGENERATE, (
            f"{why}, and the reactions of {_listed(weakest)} have had a weak grip: constraints "
            "may depend on each other there; end before, or start in another way"
        )
    advice = "raise max_evaluations" if effort.over_budget else "lower the rates"
    return Outcome.FAILED, f"{why}; {advice}, loosen the tolerance or take another solver"


def by_lost_grip(
    time: float, goals: Sequence[str], *, at_rest: bool = False, passes: bool = False
) -> Verdict:
    """Say which reactions lost their grip, and why.

    Parameters
    ----------
    time, goals
        When, s, and whose.
    at_rest
        Whether these goals have none at rest.
    passes
        Whether the run was to pass.
    """
    if at_rest:
        why = (
            "no reaction influences them there, as at rest; pose them linear in the velocities, "
            "step over it with a fixed step, or end before"
        )
    elif passes:
        why = "the run could not pass; raise the rate, for instance to 'auto', or end before"
    else:
        why = "constraints depend on each other there; ask for rank_loss = 'pass', or end before"
    where = f"at t = {time:.10g} s the reactions of {_listed(goals)} lost their grip"
    return Outcome.DEGENERATE, f"{where}: {why}"


def by_dependence(seen: Dependence) -> Verdict:
    """Say where constraints came near to depending on each other."""
    return Outcome.DEGENERATE, (
        f"at t = {seen.time:.10g} s {seen.sentence}, and below {seen.threshold:.3g} the tolerance "
        "cannot be kept: how a motion goes on where they depend is not determined by them; end "
        "before, ask for rank_loss = 'pass' if it passes through, or for 'viscous' (friction in "
        "place of constraints, on which what follows depends)"
    )


def _listed(goals: Sequence[str]) -> str:
    return ", ".join(map(repr, goals))
