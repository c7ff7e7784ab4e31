"""What is due at an instant of a run: resets, stops, events that are only written down.

At the start and wherever a segment ended on a guard. What a reset changes is up to `transitions`;
here it is put into the run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daesolve.algebra.translation import evaluate_block
from daesolve.errors import ChatteringError, ResetError, VariantError
from daesolve.integration import endings
from daesolve.integration.endings import Verdict
from daesolve.integration.record import Boundary, Happening
from daesolve.integration.run_state import Course
from daesolve.integration.stopping import come_to_rest, without_variant
from daesolve.modes.transitions import Jump, Transitions
from daesolve.posing.events import Event
from daesolve.posing.guides import AT_REST, SLOW
from daesolve.solvers import EventHit
from daesolve.trajectory.results import Outcome


def at_start(course: Course, here: Boundary) -> tuple[Boundary, Verdict | None]:
    """Do what is due at the start of a run; return where it goes on, and how it ends if it does."""
    if course.prepared.resting:
        course.record.events.append(Happening(here.time, AT_REST, here))
        course.sample_event(here)
        return here, endings.at_rest(here.time, at_start=True, timed=course.timed())
    stop = _stopped_at_start(course, here)
    if stop is not None or course.transitions is None:
        return here, stop
    return through(course, course.transitions, here, ())


def through(
    course: Course,
    transitions: Transitions,
    here: Boundary,
    hits: Sequence[EventHit],
    past: Sequence[int] = (),
) -> tuple[Boundary, Verdict | None]:
    """Do what is due here, until nothing is.

    Parameters
    ----------
    course, transitions
        The run and its resets.
    here
        Where a segment ended.
    hits
        The guards that the solver found to pass zero there.
    past
        Guards that were past zero all the way here, and so have not passed it.

    Returns
    -------
    Boundary
        Where the run goes on.
    tuple or None
        How it ends, if it does.
    """
    guarded = course.prepared.problem.guarded
    found = _found(course, transitions, here, hits)
    while True:
        due = {*transitions.due(here.time, here.state, course.values(here))} - {*past}
        due, past = sorted({*found, *due}), ()
        stops = [k for k in due if guarded[k].then.stops]
        resets = [k for k in due if guarded[k].then.reset is not None]
        for index in stops:
            if index not in resets:
                course.happened(EventHit(index, here.time, here.state), here)
        if resets:
            if transitions.sliding and any(guarded[k].name == SLOW for k in resets):
                return come_to_rest(course, transitions.sliding, here)
            here, found, verdict = _tried(course, transitions, here, resets)
            if verdict is not None:
                return here, verdict
        if stops:
            return here, endings.stopped_by(guarded[stops[0]], here.time)
        if not resets:
            return here, None


def past_at_start(guarded: Sequence[Event], guards: np.ndarray) -> int | None:
    """Find the first stopping event whose guard is past zero already: no crossing can show it.

    One that resets as well is left until its guard is met.

    Parameters
    ----------
    guarded, guards
        The event of each guard, and the guards' values at the start.
    """
    for index, event in enumerate(guarded):
        past = event.direction.value * guards[index] > 0.0
        if past and event.then.stops and event.then.reset is None:
            return index
    return None


def _stopped_at_start(course: Course, here: Boundary) -> Verdict | None:
    """Write down what stops the run before it begins, and tell how it ends."""
    problem = course.prepared.problem
    if not problem.events:
        return None
    times, states = np.array([here.time]), here.state[None, :]
    guards = evaluate_block(problem.guards, times, states, course.values(here))[0][0]
    index = past_at_start(problem.guarded, guards)
    if index is None:
        return None
    course.happened(EventHit(index, here.time, here.state), here)
    return endings.stopped_by(problem.guarded[index], here.time, at_start=True)


def _found(
    course: Course, transitions: Transitions, here: Boundary, hits: Sequence[EventHit]
) -> list[int]:
    """Return the guards that interrupted the motion here, as the solver found."""
    guarded = course.prepared.problem.guarded
    found = [
        hit.index
        for hit in hits
        if guarded[hit.index].then.interrupts and transitions.counts(hit.time, hit.index)
    ]
    if found:
        found += transitions.beside(here.time, here.state, course.values(here))
    return found


def _tried(
    course: Course, transitions: Transitions, here: Boundary, resets: Sequence[int]
) -> tuple[Boundary, list[int], Verdict | None]:
    """Do what these guards ask for, as `_reset`, and tell whether the motion ends there."""
    try:
        here, switched, rests = _reset(course, transitions, here, resets)
    except (ChatteringError, ResetError) as error:
        return here, [], (Outcome.FAILED, str(error))
    except VariantError as error:
        return here, [], without_variant(course, here, error)
    return here, switched, endings.at_rest(here.time, timed=course.timed()) if rests else None


def _reset(
    course: Course, transitions: Transitions, here: Boundary, resets: Sequence[int]
) -> tuple[Boundary, list[int], bool]:
    """Do what these guards ask for.

    Returns
    -------
    Boundary
        Where the motion goes on.
    list
        The guards of values alone that it switched.
    bool
        Whether the body stays at rest.
    """
    guarded = course.prepared.problem.guarded
    values = course.values(here)
    here = course.unwrapped(here, resets)
    before, _ = transitions.measure(here.time, here.state, values)
    rates = transitions.fire(here.time, here.state, values, resets)
    course.instant.take(here.time, guarded[resets[0]].name)
    rests = False
    for jump in transitions.jumps(here.time, here.state, values, resets):
        here = _jumped(course, here, jump)
        rests = jump.rests
        rates = transitions.answered(here.time, here.state, jump.p, jump, rates)
    switched = transitions.switched(here.time, here.state, course.values(here), before)
    for index in switched:
        if not guarded[index].then.interrupts:
            course.happened(EventHit(index, here.time, here.state), here)
    return here, switched, rests


def _jumped(course: Course, here: Boundary, jump: Jump) -> Boundary:
    """Go on after a jump, and write down the events that asked for it."""
    after = course.in_mode(here, jump.x, jump.p)
    course.wrap(after)
    events = course.prepared.problem.events
    names = {index: events[index].name for index in jump.events}
    hidden = course.prepared.dynamics.hidden_events
    if not hidden.issuperset(names.values()):
        course.sample_event(here)
    impact = jump.impact
    for index, fired in jump.events.items():
        if names[index] in hidden:
            continue
        happening = Happening(here.time, names[index], here, after, fired, impact)
        course.record.events.append(happening)
        impact = None
    return after
