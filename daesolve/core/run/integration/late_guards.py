"""Integrates up to the first guard that interrupts the motion.

A passage that no solver found is looked for by the values of the guard along the motion. One that
a solver found where a guard is only kept at zero is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from daesolve.core.events.bound_guards import BoundGuards
from daesolve.core.events.transitions import Transitions
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.effort import Counted
from daesolve.core.run.integration.run_state import RunState, unobserved
from daesolve.core.run.integration.watches.conservation_watch import ConservationWatch
from daesolve.core.run.integration.watches.flat_zeros import FlatZeros
from daesolve.core.solvers import EventHit, Observer, SegmentEnd, State, Status
from daesolve.core.solvers.guard_zeros import POLE
from daesolve.core.solvers.segment import first_stop

PARTS = 16
"""At the ends of so many parts of a stretch guards are evaluated."""
EVEN = np.arange(1, PARTS) / PARTS
AT_ONCE = 100.0
"""Guards pass at once within so many times what counts as the same time (`RunRecord.near`)."""
HALVINGS = 40
"""How often a segment is halved to find whether a guard that starts at zero was inside
afterwards."""


def solve_through(
    run: RunState, start: State, until: float, at: np.ndarray, observe: Observer
) -> SegmentEnd:
    """Integrate a stretch whose guards are known, without pauses to look at them."""
    end = run.solve(start, until, at, observe)
    while end.status is Status.PAUSED:
        here = State(end.time, end.state, start.p)
        end = end.followed_by(run.solve(here, until, at[len(end.samples) :], observe))
    return end


def solve_within_budget(
    run: RunState,
    start: State,
    until: float,
    at: np.ndarray,
    observe: Observer,
    problem: OdeProblem | None = None,
) -> SegmentEnd:
    """Integrate, and end with a block of steps where the run reaches its limit of cost."""
    run.effort.begin(start.time)
    spent, believed = run.record.rhs_evaluations, None
    watch = run.monitor.watch(ConservationWatch)
    if watch is not None:
        watch.begin(start.time)
        believed = partial(watch.believed, p=start.p)
    counted = Counted(run.effort, run.monitor, observe, spent, believed, run.motion)
    prepared = run.prepared
    problem = prepared.problem if problem is None else problem
    return prepared.scaling.segment(prepared.solver, problem, start, until, at, counted)


def solve_past_errors(
    run: RunState,
    transitions: Transitions | None,
    start: State,
    until: float,
    at: np.ndarray,
    observe: Observer,
) -> tuple[SegmentEnd, np.ndarray]:
    """Integrate, and go on where a guard has only touched zero, or is kept there.

    Parameters
    ----------
    run, transitions
        The run, and what switches its modes, if anything does.
    start, until, at, observe
        As of `Solver.segment`.

    Returns
    -------
    SegmentEnd
        Where it ended.
    ndarray
        Which guards have stayed at zero, (guards,).
    """
    problem = run.prepared.problem.in_mode(start.p)
    if not problem.events:
        return solve_within_budget(run, start, until, at, observe), np.zeros(0, dtype=bool)
    posed, zeros = _posed_guards(run.prepared), run.monitor.watch(FlatZeros)
    if transitions is None:
        kept = _bound_guards(run)(start.time, start.x, start.p)
    else:
        posed = posed & transitions.book.traits.posed
        kept = transitions.book.held(start.time, start.x, start.p)
    unbound, here = _without_guards(problem, tuple(np.flatnonzero(kept).tolist())), start
    end = solve_within_budget(run, start, until, at, observe, unbound)
    while True:
        hits = tuple(
            hit
            for hit in end.hits
            if not (
                posed[hit.index] and zeros is not None and zeros.touches(hit, start.time, start.p)
            )
        )
        over = end.status is not Status.STOPPED or first_stop(problem, hits) is not None
        if over or len(hits) == len(end.hits) or end.time == here.time:
            return replace(end, hits=hits), kept
        here = State(end.time, end.state, start.p)
        rest = solve_within_budget(run, here, until, at[len(end.samples) :], observe, unbound)
        end = replace(end, hits=hits).followed_by(rest)


@built_once
def _posed_guards(prepared: Prepared) -> np.ndarray:
    """Return which guards are the user's own, (guards,).

    Laws and formulations answer theirs: what ends a slip touches zero.
    """
    own = {event.name for event in prepared.system.events} - {*prepared.dynamics.hidden_events}
    return np.array([event.name in own for event in prepared.problem.guarded], dtype=bool)


@built_once
def _bound_guards(run: RunState) -> BoundGuards:
    prepared = run.prepared
    return BoundGuards(prepared.dynamics, prepared.problem, _posed_guards(prepared))


def up_to_guards(
    run: RunState,
    transitions: Transitions,
    start: State,
    until: float,
    at: np.ndarray,
    blocks: list[StepBlock],
) -> SegmentEnd:
    """Integrate up to the first reset, and see that none was passed over.

    Parameters
    ----------
    run, transitions
        The run, and what switches its modes.
    start, until, at
        As of `Solver.segment`.
    blocks
        Takes the steps.
    """
    end, kept = solve_past_errors(run, transitions, start, until, at, blocks.append)
    late = transitions.late(end.time, end.state, start.p)
    if late:
        known = {*transitions.late(start.time, start.x, start.p), *(hit.index for hit in end.hits)}
        late = [guard for guard in late if guard not in known and not kept[guard]]
        late = _not_at_once(run, transitions, start.p, end, late) if late else late
    while late:
        guard, moment, size = first_zero(run, transitions, start, end, late)
        if size <= POLE:
            break
        # A pole is no zero: the guard has not passed, and may once it was before zero again.
        transitions.book.armed[guard] = False
        late = [other for other in late if other != guard]
    else:
        return end
    blocks.clear()
    if moment == start.time:
        nothing = np.empty((0, len(start.x)))
        end = SegmentEnd(Status.STOPPED, "", moment, start.x, nothing, (), 0, 0)
    else:
        at = at[run.sign * (at - moment) <= 0.0]
        end = solve_through(run, start, moment, at, blocks.append)
    if end.time != moment:
        return end
    hit = EventHit(guard, end.time, end.state)
    return replace(end, status=Status.STOPPED, hits=(*end.hits, hit))


def _not_at_once(
    run: RunState, transitions: Transitions, p: np.ndarray, end: SegmentEnd, late: Sequence[int]
) -> list[int]:
    """Leave out guards that have passed where another one has that interrupts the motion.

    A slip that passes straight through zero is too slow to count just before it changes its sign,
    and right after that its friction, which has changed its sign too, lets others slip.
    """
    guarded = run.prepared.problem.guarded
    if not any(hit.time == end.time and guarded[hit.index].then.interrupts for hit in end.hits):
        return [*late]
    values, rates = transitions.book.at(end.time, end.state, p)
    moved = AT_ONCE * run.record.near(end.time) * np.abs(rates)
    return [guard for guard in late if not abs(values[guard]) <= moved[guard]]


def first_zero(
    run: RunState,
    transitions: Transitions,
    start: State,
    end: SegmentEnd,
    late: Sequence[int],
) -> tuple[int, float, float]:
    """Return which of some guards passed first, when, and how large it is there.

    Its size is that over the larger of those at the ends of the stretch.
    The stretch in which it is becomes `PARTS` times shorter each time that it is integrated, so
    that all of this costs little more than the segment did.
    """
    book, begun = transitions.book, False
    # Guards that are at zero at the start may have been inside since then, or not at all; there,
    # rounding has any sign.
    parts = np.union1d(0.5 ** np.arange(1, HALVINGS), EVEN)
    low, high, least = start, end.time, book.tolerances[late]
    outside = book.outside(end.time, end.state, start.p)[late]
    usual = np.fmax(np.abs(outside), np.abs(book.outside(start.time, start.x, start.p)[late]))

    def first(moment: float) -> tuple[int, float, float]:
        k = int(np.argmax(outside))
        return late[k], moment, abs(outside[k]) / max(usual[k], np.finfo(float).tiny)

    while True:
        times = low.time + (high - low.time) * parts
        times = times[(np.diff(times, prepend=low.time) != 0.0) & (times != high)]
        states = _states(run, low, high, times)
        places = zip(times.tolist(), states, strict=False)
        found = [book.outside(time, state, start.p)[late] for time, state in places]
        inside = [k for k, guards in enumerate(found) if np.all(guards < -least)]
        if not begun and not inside:
            return first(start.time)
        begins = 0 if begun else inside[0]
        past = [k for k in range(begins, len(found)) if np.any(found[k] > least)]
        known = past[0] if past else len(found)
        if past:
            high, outside = float(times[known]), found[known]
        if known:
            low = State(float(times[known - 1]), states[known - 1], start.p)
            if np.all(np.abs(found[known - 1]) <= POLE * usual):
                # The motion comes there: so large are its guards.
                book.measure(low.time, low.x, low.p)
        if not found:
            return first(high)
        begun, parts, least = True, EVEN, np.zeros(len(late))


def _states(run: RunState, start: State, until: float, times: np.ndarray) -> np.ndarray:
    """Return the states at times of a stretch, (k, size), whatever its guards are there."""
    if not len(times):
        return np.empty((0, len(start.x)))
    prepared, silent = run.prepared, _without_events(run.prepared.problem.in_mode(start.p))
    segment = prepared.scaling.segment
    end = segment(prepared.solver, silent, start, until, times, unobserved)
    while end.status is Status.PAUSED:
        here, rest = State(end.time, end.state, start.p), times[len(end.samples) :]
        end = end.followed_by(segment(prepared.solver, silent, here, until, rest, unobserved))
    run.record.rhs_evaluations += end.rhs_evaluations
    if end.status is Status.FAILED:
        # Guards that hold a motion to its mode may be what lets its equations be solved.
        end = solve_through(run, start, until, times, unobserved)
    return end.samples


@built_once
def _without_guards(problem: OdeProblem, guards: tuple[int, ...]) -> OdeProblem:
    """Return the problem whose guards pass nowhere if they are among some."""
    if not guards:
        return problem
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    watched = problem.guards(t, x, p)
    watched[list(guards)] = 1.0
    return replace(
        problem, guards=function_of("guards", [t, x, p], [watched], (["t", "x", "p"], ["g"]))
    )


@built_once
def _without_events(problem: OdeProblem) -> OdeProblem:
    return replace(problem, events=())
