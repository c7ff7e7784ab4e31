"""How a run ends: an outcome, and a sentence that says what happened and what to change.

Also withdraws the last steps of a run if they cannot be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daesolve.core.events.law import Ending
from daesolve.core.expressions.singular_values import singular_values, unit_length
from daesolve.core.posing.events import Event
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.run.integration.checkpoints import Keeper
from daesolve.core.run.integration.effort import Effort
from daesolve.core.run.integration.record import Boundary, Happening
from daesolve.core.run.integration.run_state import RunState
from daesolve.core.run.integration.watches.conservation_watch import (
    ConservationWatch,
    take_down_refuted,
)
from daesolve.core.run.integration.watches.grip_watch import LostGrip
from daesolve.core.run.integration.watches.monitor import NotFinite
from daesolve.core.run.integration.watches.passage_watch import Breach
from daesolve.core.run.integration.watches.rank_watch import Dependence
from daesolve.core.solvers import SegmentEnd, Status

Verdict = tuple[Outcome, str]

LATE = 1e-8
"""If the rounding of time exceeds this fraction of the mean step, steps cannot resolve what depends
on time."""
UNEVEN = 1e8
"""The ratio of masses from which on rounding may hide the reactions of the light one."""
INDEPENDENT = 1e-4
"""The least singular value of constraints, in units of their own, that are independent."""
DEGENERATE = "degenerate"
"""The event where constraints begin to depend on each other."""

# -- after a segment -------------------------------------------------------------------------------


def verdict(run: RunState, end: SegmentEnd) -> Verdict | None:
    """Return how the run ends with a segment; None if it continues."""
    found = _verdict(run, end)
    if found is None or found[0] is not Outcome.DEGENERATE:
        return found
    aside = [row.name for row in run.prepared.dynamics.aside]
    if not aside:
        return found
    return Outcome.DEGENERATE, (
        f"{found[1]}; {_listed(aside)} {'was' if len(aside) == 1 else 'were'} dropped as "
        "redundant for the whole run, although the kept goals may lose their influence; the "
        "formulations feedback and projected, also with redundant = 'minimum-norm', choose "
        "the kept goals anew along the way"
    )


def judged(run: RunState, outcome: Outcome, message: str) -> Verdict:
    """Judge whether the result of a run that reached its end can be trusted."""
    if outcome.good and run.monitor.untrusted():
        take_down_refuted(run.monitor, run.record)
    untrusted = run.monitor.untrusted_sentence() if outcome.good else ""
    if not untrusted:
        return outcome, message
    return Outcome.FAILED, (
        f"the run finished, but its numbers are {untrusted}; tighten the tolerance, or use "
        "another solver or formulation"
    )


def contradicted(run: RunState) -> Verdict | None:
    """Return that a run, since this was asked last, contradicts what was posed; None if not.

    Parameters
    ----------
    run
        The run, between two segments.
    """
    objection = run.monitor.contradiction(run.record)
    if objection is None:
        return None
    take_down_refuted(run.monitor, run.record)
    # A run that drifted too far fails, and says what to change.
    return None if run.monitor.untrusted() else (Outcome.CONTRADICTED, objection)


def _verdict(run: RunState, end: SegmentEnd) -> Verdict | None:
    monitor, effort = run.monitor, run.effort
    if end.status is Status.FAILED:
        run.watch_the_rest()
    lost = _of_lost(run)
    if lost is not None:
        return lost
    weakest = monitor.weakest()
    if end.time != run.prepared.until and effort.over(run.record.rhs_evaluations):
        monitor.give_up(end.time, end.state, weakest)
        return by_cost(end.time, effort, weakest)
    if end.status is Status.FAILED:
        if weakest:
            monitor.give_up(end.time, end.state, weakest)
            return _of_lost(run) or _of_goals(run, end.time, weakest)
        return by_solver(end.time, end.message, run.prepared.mean_step)
    if end.status is Status.STOPPED and run.transitions is None:
        name = run.record.events[-1].name
        event = next(e for e in run.prepared.problem.events if e.name == name)
        return stopped_by(event, end.time)
    return None


def _of_lost(run: RunState) -> Verdict | None:
    """Say why the monitor ends the run, if it does."""
    monitor, effort = run.monitor, run.effort
    lost = monitor.loss
    if isinstance(lost, Breach):
        return Outcome.DEGENERATE, lost.sentence
    if isinstance(lost, NotFinite):
        return not_a_number(lost.what, lost.time)
    if isinstance(lost, LostGrip):
        if lost.dependence is not None and lost.dependence.sharp:
            seen = lost.dependence
            return by_dependence(seen, uneven_masses(run, seen.time, seen.state))
        if effort.reason:
            return by_cost(lost.time, effort, lost.goals)
        return _of_goals(run, lost.time, lost.goals)
    return None


def held_for_ever(run: RunState, end: SegmentEnd) -> Verdict | None:
    """Return how the run ends if an invariant is not conserved but cannot be released."""
    watch = run.monitor.watch(ConservationWatch)
    held = None if watch is None else watch.stays_driven()
    return None if held is None else by_projection(end.time, held)


def taken_back(run: RunState, end: SegmentEnd, keeper: Keeper | None) -> Boundary:
    """Drop what lies beyond the last trustworthy step, and return to it."""
    record, sign = run.record, run.sign
    lost = run.monitor.loss
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
    elif isinstance(lost, LostGrip) and lost.dependence is not None:
        seen = lost.dependence
        place = Boundary(seen.time, seen.state, here.whole_turns, here.mode)
        record.events.append(Happening(seen.time, DEGENERATE, place))
    return run.after(here, replace(end, time=until, state=lost.last_state))


def ended_at_sample(run: RunState, what: str, first: int) -> tuple[Boundary, Verdict]:
    """End at the last finite sample; drop what lies beyond.

    Parameters
    ----------
    run
        The run.
    what
        What is not finite.
    first
        The sample, in the direction of the run; the start itself stays.
    """
    record, sign = run.record, run.sign
    order = np.argsort(sign * np.array(record.sample_times), kind="stable")
    time = record.sample_times[int(order[first])]
    last = int(order[max(first - 1, 0)])
    place, until = record.sampled_at[last], record.sample_times[last]
    here = Boundary(until, record.samples[last], place.whole_turns, place.mode)
    record.cut(until, sign)
    while len(record.boundaries) > 1 and sign * (record.boundaries[-1].time - until) > 0.0:
        record.boundaries.pop()
    return here, not_a_number(what, time)


def _of_goals(run: RunState, time: float, goals: Sequence[str]) -> Verdict:
    lost = run.monitor.lost_grip
    state = run.record.boundaries[-1].state if lost is None else lost.last_state
    return by_lost_grip(
        time,
        goals,
        uneven=uneven_masses(run, time, state),
        at_rest=set(goals) <= set(run.prepared.problem.singular_goals),
        passes=run.prepared.passes,
    )


# -- in words --------------------------------------------------------------------------------------


def stopped_by(event: Event, time: float, *, at_start: bool = False) -> Verdict:
    """Say which event ended the run, and whether the motion could have gone on.

    Parameters
    ----------
    event, time
        Which, and when, s.
    at_start
        Whether its guard was already past zero at the start.
    """
    if event.then.breakdown:
        return Outcome.DEGENERATE, f"at t = {time:.10g} s {event.then.breakdown}"
    when = "already holds at the start" if at_start else f"at t = {time:.10g} s"
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
            ", but perhaps not later, because the loads depend on time: start a run later to "
            "see this"
        )
    else:
        when = "is at rest from the start on" if at_start else f"came to rest at t = {time:.10g} s"
        later = ""
    return Outcome.STOPPED_BY_EVENT, f"the body {when}: dry friction holds it{later}"


def followed(ending: Ending, message: str) -> Verdict | None:
    """Return how the run ends after a stretch that a law integrated; None if it continues.

    Parameters
    ----------
    ending, message
        How the stretch ended, and why where it failed.
    """
    if ending is Ending.REACHED:
        return Outcome.COMPLETED, ""
    return (Outcome.FAILED, message) if ending is Ending.FAILED else None


def not_a_number(what: str, time: float) -> Verdict:
    """Say what is not finite, and when."""
    return Outcome.FAILED, (
        f"{what} is not finite at t = {time:.10g} s, because its expression leaves its domain "
        "there (a division by zero, a root of a negative number); end earlier, or define it "
        "so that it is finite along the whole motion"
    )


def by_solver(time: float, reason: str, mean_step: float = math.inf) -> Verdict:
    """Say why the solver could not continue, and what to change if the reason does not say it.

    Parameters
    ----------
    time, reason
        When, s, and why.
    mean_step
        The mean step of a short run at the start, s: if the rounding of time is no longer small
        beside it, the message asks for a closer origin of time.
    """
    advice = "; loosen the tolerance, lower the rates or use another solver"
    rounding = math.ulp(time)
    if rounding > LATE * mean_step:
        advice = (
            f"; time itself is rounded to {rounding:.1g} s there: choose an origin of time "
            "that is closer"
        )
    return Outcome.FAILED, f"at t = {time:.10g} s {reason}{'' if ';' in reason else advice}"


def by_projection(time: float, invariant: str) -> Verdict:
    """Say that an invariant cannot be released where it ceases to be conserved."""
    return Outcome.FAILED, (
        f"at t = {time:.10g} s the invariant {invariant!r} is no longer conserved, but "
        "projecting the states keeps it constant; use feedback, or do not drive it"
    )


def by_cost(time: float, effort: Effort, weakest: Sequence[str]) -> Verdict:
    """Say why the run is too expensive to continue.

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
            f"{why}, and the reactions of {_listed(weakest)} have had little influence: "
            "constraints may depend on each other there; end earlier, or choose another start"
        )
    advice = "raise max_evaluations" if effort.over_budget else "lower the rates"
    return Outcome.FAILED, f"{why}; {advice}, loosen the tolerance or use another solver"


def by_lost_grip(
    time: float,
    goals: Sequence[str],
    *,
    at_rest: bool = False,
    passes: bool = False,
    uneven: str = "",
) -> Verdict:
    """Say which reactions lost their grip, and why.

    Parameters
    ----------
    time, goals
        When, s, and whose.
    at_rest
        Whether these goals have no grip at rest.
    passes
        Whether the run passes positions where constraints lose rank.
    uneven
        What `uneven_masses` says.
    """
    if uneven:
        why = uneven
    elif at_rest:
        why = (
            "no reaction influences the goals there, for example because the system is at "
            "rest; write them linear in the velocities, step over the instant with a fixed "
            "step, or end earlier"
        )
    elif passes:
        why = "the run could not pass; raise the rate, for instance to 'auto', or end earlier"
    else:
        why = "constraints depend on each other there; set rank_loss = 'pass', or end earlier"
    where = f"at t = {time:.10g} s the reactions of {_listed(goals)} lost their influence"
    return Outcome.DEGENERATE, f"{where}: {why}"


def by_dependence(seen: Dependence, uneven: str = "") -> Verdict:
    """Say where constraints nearly depended on each other, or only masses make them."""
    if uneven:
        return Outcome.DEGENERATE, f"at t = {seen.time:.10g} s {seen.sentence}: {uneven}"
    return Outcome.DEGENERATE, (
        f"at t = {seen.time:.10g} s {seen.sentence}, and below {seen.threshold:.3g} the "
        "tolerance cannot be kept, because dependent constraints do not determine how the "
        "motion continues; end earlier, set rank_loss = 'pass' if the motion passes through, "
        "or 'viscous' (friction instead of constraints, which then affects the motion)"
    )


def uneven_masses(run: RunState, time: float, state: np.ndarray) -> str:
    """Say that constraints depend on each other only because masses are far apart; "" otherwise."""
    dynamics = run.prepared.dynamics
    values = run.record.modes[-1]
    (visible,) = run.prepared.problem.visible(np.array([time]), state[None], values)
    found = dynamics.matrices(time, visible[: dynamics.x.numel()], values[: len(dynamics.values)])
    masses, rows = np.diag(found["mass"]), found["jacobian"]
    if not (len(rows) and np.all(np.isfinite(masses)) and np.all(masses > 0.0)):
        return ""
    least, most = int(np.argmin(masses)), int(np.argmax(masses))
    smallest = float(np.min(singular_values(unit_length(rows, 1), len(rows)), initial=np.inf))
    if masses[most] <= UNEVEN * masses[least] or not smallest > INDEPENDENT:
        return ""
    names = dynamics.labels.states[dynamics.position_count :]
    return (
        f"the constraints themselves are independent, but the inertia of {names[least]!r}, "
        f"{masses[least]:.2g}, is so small beside that of {names[most]!r}, {masses[most]:.2g}, "
        "that rounding hides what holds the one in what holds the other; give it more mass, or "
        "pose it without mass (a constraint between what it joins)"
    )


def _listed(goals: Sequence[str]) -> str:
    return ", ".join(map(repr, goals))
