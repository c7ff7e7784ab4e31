"""What happens at an instant of a run: modes that switch, stops, events that are only recorded.

This happens at the start and wherever a segment ends on a guard. The laws of `modes` decide what
follows; this module applies it to the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from daesolve.core.events.guard_slopes import near_at_start, rounding_at_start
from daesolve.core.events.guard_table import Place
from daesolve.core.events.law import Ending, Jump, Stretch, SwitchingLaw
from daesolve.core.events.transitions import Transitions
from daesolve.core.posing.events import AT_REST
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.run.integration import endings
from daesolve.core.run.integration.endings import Verdict
from daesolve.core.run.integration.record import Boundary, Happening
from daesolve.core.run.integration.run_state import RunState
from daesolve.core.run.integration.watches.watch import AGREED_STEPS
from daesolve.core.solvers import EventHit
from daesolve.core.solvers.grazing import guard_evaluator
from daesolve.core.solvers.guard_zeros import no_number
from daesolve.errors import ChatteringError, ResetError, VariantError

AT_ONCE = 1e-9
"""A guard within this fraction of its largest value of zero passes together with another one."""


def at_start(run: RunState, here: Boundary) -> tuple[Boundary, Verdict | None]:
    """Do what is due at the start of a run; return where it continues and, if it ends, how."""
    fired = _fired(run.prepared).items()
    run.record.recent = [(name, here.time, tuple(guards)) for name, guards in fired]
    if run.prepared.resting:
        run.record.events.append(Happening(here.time, AT_REST, here))
        run.sample_event(here)
        if run.transitions is None:
            return here, endings.at_rest(here.time, at_start=True, timed=run.timed())
        return through(run, run.transitions, here, (), rests=True)
    stop = _stopped_at_start(run, here)
    if stop is not None or run.transitions is None:
        return here, stop
    going_on(run.prepared, run.transitions, (here.time, here.state, run.values(here)))
    return through(run, run.transitions, here, ())


def at_end(run: RunState, here: Boundary) -> tuple[Boundary, Verdict | None]:
    """Do what is due where a run is complete; return where it ends and, if otherwise, how.

    A guard that would pass zero within the rounding of the time passes there: rounding alone says
    whether a solver finds it before.
    """
    problem, transitions = run.prepared.problem, run.transitions
    if not problem.guarded:
        return here, None
    values, rates = guard_evaluator(problem)(here.time, here.state, run.values(here))
    ways = np.array([event.direction.value for event in problem.guarded])
    speeds = run.sign * rates
    soon = np.isfinite(speeds) & (values * speeds < 0.0) & (ways * speeds >= 0.0)
    soon &= np.abs(values) <= run.record.near(here.time) * np.abs(speeds)
    hits = [EventHit(guard, here.time, here.state) for guard in np.flatnonzero(soon).tolist()]
    for hit in hits:
        if transitions is None or not transitions.switches[hit.index]:
            run.happened(hit, here)
    due = [hit for hit in hits if problem.guarded[hit.index].then.interrupts]
    if due and transitions is not None:
        return through(run, transitions, here, due)
    return here, endings.stopped_by(problem.guarded[due[0].index], here.time) if due else None


def going_on(prepared: Prepared, transitions: Transitions, place: Place) -> None:
    """Let guards that have passed in a run that this one continues not pass again, at its start."""
    if prepared.request.begun is None or not transitions.tracks:
        return
    rounded = float(place[0]), np.asarray(place[1], dtype=float), place[2]
    transitions.book.go_on(place, near_at_start(prepared.problem, rounded, _fired(prepared)))


def _fired(prepared: Prepared) -> Mapping[str, Sequence[int]]:
    """Return which guards have fired where another run is continued, by the names of events."""
    return (prepared.request.continues or {}).get("fired", {})


def with_values(
    run: RunState, here: Boundary, values: np.ndarray, *, started: bool
) -> tuple[Boundary, Verdict | None]:
    """Continue with values set from outside; do what follows from them.

    Parameters
    ----------
    run, here
        The run, and where it is.
    values
        p from here on.
    started
        Whether a motion came here.

    Returns
    -------
    Boundary
        Where the run continues.
    tuple or None
        How it ends, if it does.
    """
    transitions, place, old = run.transitions, (here.time, here.state), run.values(here)
    before = np.empty(0) if transitions is None else transitions.guards(*place, old)
    come, here = here, run.in_mode(here, here.state, values)
    if transitions is None:
        return here, _stopped_by_step(run, come, here) if started else None
    try:
        transitions.check_inputs(*place, old, values)
        for jump in transitions.asked(*place, values):
            here = _jumped(run, here, jump, ())
    except (ChatteringError, ResetError) as error:
        return here, (Outcome.FAILED, str(error))
    except VariantError as error:
        return here, _without_variant(run, here, error)
    if not transitions.tracks:
        return here, None
    passed = transitions.book.switched((here.time, here.state, run.values(here)), before)
    hits = [EventHit(guard, here.time, here.state) for guard in passed]
    return through(run, transitions, here, hits)


def _stopped_by_step(run: RunState, come: Boundary, here: Boundary) -> Verdict | None:
    """Stop where a step of inputs puts the guard of a stop past zero, unless it is on its way back.

    As `GuardBook` does where modes are switched.
    """
    problem = run.prepared.problem
    if not any(event.then.stops for event in problem.events):
        return None
    evaluate = guard_evaluator(problem)
    before, _ = evaluate(come.time, come.state, run.values(come))
    values, rates = evaluate(here.time, here.state, run.values(here))
    for index, event in enumerate(problem.guarded):
        way = event.direction.value
        carried = way * before[index] < 0.0 < way * values[index]
        if event.then.stops and carried and way * rates[index] >= 0.0:
            run.happened(EventHit(index, here.time, here.state), here)
            return endings.stopped_by(event, here.time)
    return None


def through(
    run: RunState,
    transitions: Transitions,
    here: Boundary,
    hits: Sequence[EventHit],
    past: Sequence[int] = (),
    *,
    rests: bool = False,
) -> tuple[Boundary, Verdict | None]:
    """Do what is due here, until nothing is.

    Parameters
    ----------
    run, transitions
        The run, and what switches its modes.
    here
        Where a segment ended.
    hits
        The guards that the solver found to pass zero there.
    past
        Guards that were past zero all the way here, and so have not passed it.
    rests
        Whether friction holds the body here.

    Returns
    -------
    Boundary
        Where the run continues.
    tuple or None
        How it ends, if it does.
    """
    if rests:
        here, hits, verdict = _held(run, transitions, here, at_start=True)
        if verdict is not None or not hits:
            return here, verdict
    while True:
        here, verdict, stops = _due(run, transitions, here, hits, past)
        if rests and not stops and verdict is None:
            stops = transitions.still_held(here.time, here.state, run.values(here))
        if verdict is not None or not stops:
            return here, verdict
        rests = True
        here, hits, verdict = _held(run, transitions, here)
        if verdict is not None or not hits:
            return here, verdict
        past = ()


def _due(
    run: RunState,
    transitions: Transitions,
    here: Boundary,
    hits: Sequence[EventHit],
    past: Sequence[int],
) -> tuple[Boundary, Verdict | None, bool]:
    """Do what is due, as `through`; return whether friction holds the body then, too."""
    guarded = run.prepared.problem.guarded
    place = here.time, here.state, run.values(here)
    found = transitions.interrupting(*place, [(hit.index, hit.time) for hit in hits])
    # Instants that a solver cannot distinguish count as one: the order of impacts would be
    # arbitrary.
    accuracy = min(AGREED_STEPS * run.prepared.solver.step_tolerance, AT_ONCE)
    found = [*found, *({*transitions.at_once(*place, found, accuracy)} - {*past})]
    while True:
        due = transitions.due(here.time, here.state, run.values(here))
        due, past = sorted({*found, *({*due} - {*past})}), ()
        stops = [guard for guard in due if transitions.stops[guard]]
        switches = [guard for guard in due if transitions.switches[guard]]
        rests, verdict = False, None
        for guard in stops:
            if guard not in switches:
                run.happened(EventHit(guard, here.time, here.state), here)
        place = here.time, here.state, run.values(here)
        law, switches = transitions.follower_from(place, switches)
        if law is not None:
            here, found, verdict, rests = _followed(run, law, here)
            if verdict is not None or rests:
                return here, verdict, rests
            # What it has followed is done; what else was due still is.
            past = [guard for guard in switches if law.follows([guard])]
            continue
        if switches:
            here, found, verdict, rests = _tried(run, transitions, here, switches)
        if verdict is not None:
            return here, verdict, False
        if stops:
            return here, endings.stopped_by(guarded[stops[0]], here.time), False
        if rests or not switches:
            return here, None, rests


def past_at_start(prepared: Prepared, place: Place, guards: np.ndarray) -> int | None:
    """Find the first stopping event whose guard is past zero already: no crossing can show it.

    An event that also resets is left until the run reaches its guard. Where a run continues one
    that such an event has stopped, its guard is at zero to rounding.

    Parameters
    ----------
    prepared
        The run.
    place
        Time, state and values at the start.
    guards
        The guards' values there.
    """
    guarded, least = prepared.problem.guarded, np.zeros(len(guards))
    if prepared.request.begun is not None and any(event.then.stops for event in guarded):
        least = rounding_at_start(prepared.problem, place)
        least = np.fmax(least, near_at_start(prepared.problem, place, _fired(prepared)))
    for index, event in enumerate(guarded):
        past = event.direction.value * guards[index] > least[index]
        if past and event.then.stops and event.then.reset is None:
            return index
    return None


def _stopped_at_start(run: RunState, here: Boundary) -> Verdict | None:
    """Record what stops the run before it begins, and say how it ends."""
    problem = run.prepared.problem
    if not problem.events:
        return None
    times, states = np.array([here.time]), here.state[None, :]
    guards = problem.block("guards", times, states, run.values(here))[0][0]
    if not np.all(np.isfinite(guards)):
        return Outcome.FAILED, no_number(problem, here.time, guards)
    index = past_at_start(run.prepared, (here.time, here.state, run.values(here)), guards)
    if index is None:
        return None
    run.happened(EventHit(index, here.time, here.state), here)
    return endings.stopped_by(problem.guarded[index], here.time, at_start=True)


# -- jumps -----------------------------------------------------------------------------------------


def _tried(
    run: RunState, transitions: Transitions, here: Boundary, guards: Sequence[int]
) -> tuple[Boundary, list[int], Verdict | None, bool]:
    """Do what these guards ask for, as `_switched`; say how the run ends, or that it rests."""
    try:
        here, switched, rests = _switched(run, transitions, here, guards)
    except (ChatteringError, ResetError) as error:
        return here, [], (Outcome.FAILED, str(error)), False
    except VariantError as error:
        return here, [], _without_variant(run, here, error), False
    return here, switched, None, rests


def _switched(
    run: RunState, transitions: Transitions, here: Boundary, guards: Sequence[int]
) -> tuple[Boundary, list[int], bool]:
    """Do what these guards ask for.

    Returns
    -------
    Boundary
        Where the motion continues.
    list
        The guards of values alone that it took through zero.
    bool
        Whether the body stays at rest.
    """
    guarded = run.prepared.problem.guarded
    values = run.values(here)
    here = run.unwrapped(here, guards)
    before = transitions.guards(here.time, here.state, values)
    name = guarded[guards[0]].name
    run.instant.take(
        here.time,
        name,
        unresolved=transitions.book.unresolved((here.time, here.state, values), guards[0]),
        switches=name in run.prepared.dynamics.switches,
    )
    rests = False
    for jump in transitions.decide(here.time, here.state, values, guards):
        here = _jumped(run, here, jump, tuple(guards))
        rests = jump.rests
    place = here.time, here.state, run.values(here)
    switched = transitions.book.switched(place, before, guards)
    for index in switched:
        if not guarded[index].then.interrupts:
            run.happened(EventHit(index, here.time, here.state), here)
    return here, switched, rests


def _jumped(run: RunState, here: Boundary, jump: Jump, asked: tuple[int, ...]) -> Boundary:
    """Continue after a jump, and record its events, with the guards that caused it."""
    after = run.in_mode(here, jump.x, jump.p)
    run.wrap(after)
    events = run.prepared.problem.events
    names = {index: events[index].name for index in jump.events}
    hidden = run.hidden
    if not hidden.issuperset(names.values()):
        run.sample_event(here)
    impact = jump.impact
    zeros = None if run.transitions is None else run.transitions.book.tolerances
    for index, fired in jump.events.items():
        if names[index] in hidden:
            continue
        happening = Happening(here.time, names[index], here, after, fired, impact, asked, zeros)
        run.record.events.append(happening)
        impact = None
    return after


def _without_variant(run: RunState, here: Boundary, error: VariantError) -> Verdict:
    """Record where no mode continues the motion; say how the run ends."""
    run.record.events.append(Happening(here.time, error.event, here))
    run.sample_event(here)
    return Outcome.DEGENERATE, str(error)


# -- stretches that a law integrates itself --------------------------------------------------------


def _followed(
    run: RunState, law: SwitchingLaw, here: Boundary
) -> tuple[Boundary, list[int], Verdict | None, bool]:
    """Let a law integrate a stretch.

    Returns
    -------
    Boundary
        Where it ends.
    list
        The guards that are met there.
    tuple or None
        How the run ends, if it does.
    bool
        Whether friction holds the body there.
    """
    taken = run.record.taken

    def samples_up_to(time: float) -> np.ndarray:
        return run.schedule.up_to(taken, time)

    until, values = run.prepared.until, run.values(here)
    stretch = law.finish(here.time, here.state, values, until, samples_up_to)
    end = _written_down(run, stretch, here, samples_up_to(stretch.time))
    if stretch.error is not None:
        return end, [], _without_variant(run, end, stretch.error), False
    if stretch.onward is not None:
        return run.in_mode(end, *stretch.onward), [], None, False
    ended = endings.followed(stretch.ending, stretch.message)
    return end, list(stretch.fires), ended, stretch.ending is Ending.RESTS


def _held(
    run: RunState, transitions: Transitions, here: Boundary, *, at_start: bool = False
) -> tuple[Boundary, list[EventHit], Verdict | None]:
    """Follow a body that friction holds until it slides, or something else happens.

    Returns
    -------
    Boundary
        Where that is.
    list
        The guards that are met there; none where it slides.
    tuple or None
        How the run ends, if it does.
    """
    while True:
        taken = run.record.taken

        def samples_up_to(time: float, taken: int = taken) -> np.ndarray:
            return run.schedule.up_to(taken, time)

        until, values = run.prepared.until, run.values(here)
        stretch = transitions.held(here.time, here.state, values, until, samples_up_to)
        if stretch is None:
            return here, [], endings.at_rest(here.time, at_start=at_start, timed=run.timed())
        end = _written_down(run, stretch, here, samples_up_to(stretch.time))
        run.record.held |= stretch.time != here.time
        if stretch.error is not None:
            return end, [], _without_variant(run, end, stretch.error)
        if stretch.onward is not None:
            return run.in_mode(end, *stretch.onward), [], None
        hits = [EventHit(guard, end.time, end.state) for guard in stretch.fires]
        if not hits:
            return end, [], endings.followed(stretch.ending, stretch.message)
        here, at_start = end, False
        guarded = run.prepared.problem.guarded
        switched = any(transitions.switches[hit.index] for hit in hits)
        due = [hit for hit in hits if switched and guarded[hit.index].then.interrupts]
        verdict = _recorded(run, transitions, end, [hit for hit in hits if hit not in due])
        if due or verdict is not None:
            return end, due, verdict


def _recorded(
    run: RunState, transitions: Transitions, here: Boundary, hits: Sequence[EventHit]
) -> Verdict | None:
    """Record events that change nothing; say how the run ends if one stops it."""
    for hit in hits:
        run.happened(hit, here)
    stops = [hit.index for hit in hits if transitions.stops[hit.index]]
    if not stops:
        return None
    return endings.stopped_by(run.prepared.problem.guarded[stops[0]], here.time)


def _written_down(run: RunState, stretch: Stretch, here: Boundary, times: np.ndarray) -> Boundary:
    """Write a stretch into the record of its run; return where it ended.

    Parameters
    ----------
    run, stretch
        The run, and what a law followed.
    here
        Where it began.
    times
        The times of requested samples, s.
    """
    record, known = run.record, len(run.record.events)
    record.boundaries.append(here)
    places = [here]
    for switching in stretch.switchings:
        before = Boundary(switching.time, switching.state, here.whole_turns, places[-1].mode)
        record.modes.append(switching.values)
        after = replace(before, mode=len(record.modes) - 1)
        record.events.append(
            Happening(switching.time, switching.event, before, after, (switching.place,))
        )
        record.boundaries.append(after)
        places.append(after)

    def place_at(moment: float) -> Boundary:
        return next(place for place in reversed(places) if place.time <= moment)

    for moment, sample in zip(times.tolist(), stretch.samples, strict=False):
        record.take([moment], [sample], place_at(moment))
        record.taken += 1
    record.rhs_evaluations += stretch.evaluations
    end = replace(places[-1], time=stretch.time, state=stretch.state)
    if stretch.event:
        record.events.append(Happening(stretch.time, stretch.event, end))
    for event in record.events[known:]:
        run.sample_event(event.at)
    for block in stretch.blocks:
        record.steps += len(block.times)
        run.queue.blocks.append((block, place_at(float(block.times[0])).mode))
    return end
