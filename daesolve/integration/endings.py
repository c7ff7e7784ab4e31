"""How a run ends: an outcome, and a sentence that tells what happened and what to change."""

from __future__ import annotations

from collections.abc import Sequence

from daesolve.diagnostics.degeneracy import Dependence
from daesolve.friction.coming_to_rest import Rest, RestStatus
from daesolve.integration.effort import Effort
from daesolve.posing.events import Event
from daesolve.trajectory.results import Outcome

Verdict = tuple[Outcome, str]


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


def slow(rest: Rest, *, timed: bool = False) -> Verdict | None:
    """Say how a motion that was followed in scaled time ended; None where it goes on."""
    if rest.status is RestStatus.AT_REST:
        return at_rest(rest.time, timed=timed)
    if rest.status is RestStatus.REACHED:
        return Outcome.COMPLETED, ""
    return None if rest.status is RestStatus.SPEEDS_UP else (Outcome.FAILED, rest.message)


def failed(time: float, reason: str) -> Verdict:
    """Say why the solver could not go on."""
    return Outcome.FAILED, (
        f"at t = {time:.10g} s {reason}; loosen the tolerance, lower the rates or take another "
        "solver"
    )


def given_up(time: float, effort: Effort, weakest: Sequence[str]) -> Verdict:
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
    told = f"at t = {time:.10g} s {effort.reason}"
    if weakest:
        return Outcome.DEGENERATE, (
            f"{told}, and the reactions of {_listed(weakest)} have had a weak grip: constraints "
            "may depend on each other there; end before, or start in another way"
        )
    advice = "raise max_evaluations" if effort.over_budget else "lower the rates"
    return Outcome.FAILED, f"{told}; {advice}, loosen the tolerance or take another solver"


def lost_grip(
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
    told = f"at t = {time:.10g} s the reactions of {_listed(goals)} lost their grip"
    return Outcome.DEGENERATE, f"{told}: {why}"


def dependent(seen: Dependence) -> Verdict:
    """Say where constraints came near to depending on each other."""
    return Outcome.DEGENERATE, (
        f"at t = {seen.time:.10g} s {seen.sentence}, and below {seen.threshold:.3g} the tolerance "
        "cannot be kept: how a motion goes on where they depend is not determined by them; end "
        "before, ask for rank_loss = 'pass' if it passes through, or for 'viscous' (friction in "
        "place of constraints, on which what follows depends)"
    )


def _listed(goals: Sequence[str]) -> str:
    return ", ".join(map(repr, goals))
