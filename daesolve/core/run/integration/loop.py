"""The loop of a run from boundary to boundary.

It integrates a segment, up to a guard or to the boundary, lets the watches see its steps, and lets
the laws decide what follows at the instant where it ended, until the boundary is reached or the run
is over. `late_guards` returns to guards that were passed over, `event_handling` applies what the
laws decide, `endings` says how a run ends, and `run_state` is what they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daesolve.core.events.transitions import Transitions
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.checkpoints import Keeper
from daesolve.core.run.integration.endings import (
    Verdict,
    by_cost,
    held_for_ever,
    taken_back,
    verdict,
)
from daesolve.core.run.integration.event_handling import through
from daesolve.core.run.integration.late_guards import solve_past_errors, up_to_guards
from daesolve.core.run.integration.record import Boundary
from daesolve.core.run.integration.run_state import RunState
from daesolve.core.run.integration.simple_resets import SimpleResets
from daesolve.core.solvers import EventHit, SegmentEnd, State, Status


def to_boundary(
    run: RunState,
    here: Boundary,
    boundary: float,
    resets: SimpleResets | None,
    keeper: Keeper | None = None,
) -> tuple[Boundary, Verdict | None]:
    """Integrate to a boundary, from mode to mode.

    Parameters
    ----------
    run, here
        The run, and where it is.
    boundary
        How far, s.
    resets
        What follows its simple resets; None if nothing switches it.
    keeper
        Stores it on disk; None if it stays in memory.

    Returns
    -------
    Boundary
        Where it arrived.
    tuple or None
        How the run ends there, if it does.
    """
    past = list[int]()
    while True:
        if resets is not None:
            here = resets.follow(here, boundary)
        run.record.boundaries.append(here)
        if run.transitions is not None:
            past = run.transitions.late(here.time, here.state, run.values(here))
        end = _integrate(run, here, boundary)
        if run.monitor.over:
            break
        ended = verdict(run, end) or held_for_ever(run, end)
        arrived = run.let_go(run.after(here, end))
        run.ahead.take(end, boundary)
        if ended is None and run.transitions is not None:
            arrived, ended = _decide(run, run.transitions, arrived, end, past)
        # A law that integrated on its own may have gone beyond.
        if ended is not None or end.time == boundary or run.sign * (arrived.time - boundary) >= 0.0:
            run.watch_the_rest()
            if run.monitor.over:
                break
            _see_peaks(run, arrived)
            return arrived, ended
        here = arrived
    return taken_back(run, end, keeper), verdict(run, end)


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
        # The run was extended from a time that is not a multiple.
        run.segments = count


def _decide(
    run: RunState, transitions: Transitions, here: Boundary, end: SegmentEnd, past: Sequence[int]
) -> tuple[Boundary, Verdict | None]:
    """Do what is due at the end of a segment; end the run if this repeats without progress."""
    modes = len(run.record.modes)
    arrived, ended = through(run, transitions, here, end.hits, past)
    if ended is not None or end.status is not Status.STOPPED:
        return arrived, ended
    idle = modes == len(run.record.modes)
    name = run.prepared.problem.guarded[end.hits[-1].index].name if end.hits else ""
    if run.effort.interrupted(end.time, name, idle=idle):
        return arrived, by_cost(end.time, run.effort, ())
    return arrived, None


def _integrate(run: RunState, here: Boundary, boundary: float) -> SegmentEnd:
    """Integrate until a guard, or as far as the motion is known to last; take in samples.

    Events that are only recorded are taken in as well.
    """
    record, transitions, p = run.record, run.transitions, run.values(here)
    until = run.ahead.reach(here.time, boundary)
    if run.scheduled is not None:
        until = run.scheduled.first_zero(here.time, until, p)
    at = run.schedule.up_to(record.taken, until)
    times, is_look = _with_looks(run, at, here.time, until)
    start = State(here.time, here.state, p)
    _see_peaks(run, here)
    if run.motion is not None:
        run.motion.begin(here.time, p, here.whole_turns)
    if transitions is not None and run.switched:
        blocks: list[StepBlock] = []
        end = up_to_guards(run, transitions, start, until, times, blocks)
        run.watch_later(blocks, here.mode)
    else:
        end, _ = solve_past_errors(run, None, start, until, times, run.watch)
    end = _look(run, p, times, is_look, end)
    run.sample(at, end.samples, here)
    run.monitor.pass_guards(end.hits, here.time, p)
    for hit in end.hits:
        if transitions is None or not transitions.switches[hit.index]:
            run.happened(hit, here)
    if transitions is not None and end.status is Status.STOPPED:
        for index in transitions.book.passing(end.time, end.state, p):
            run.happened(EventHit(index, end.time, end.state), here)
    record.steps += end.steps
    # A segment without evaluations counts as one.
    record.rhs_evaluations += end.rhs_evaluations or 1
    if run.releases:
        run.watch_the_rest()
    return end


# -- looks between the ends of steps ---------------------------------------------------------------


def _with_looks(
    run: RunState, at: np.ndarray, since: float, until: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return sample times and times of looks together, and which are looks; empty without any."""
    looks = run.monitor.look_times(since, until)
    if not len(looks):
        return at, np.zeros(0, dtype=bool)
    times = np.concatenate([at, looks])
    order = np.argsort(run.sign * times, kind="stable")
    return times[order], order >= len(at)


def _look(
    run: RunState, p: np.ndarray, times: np.ndarray, is_look: np.ndarray, end: SegmentEnd
) -> SegmentEnd:
    """Show the monitor what was looked at between steps; leave the samples requested."""
    if not len(is_look):
        return end
    reached = is_look[: len(end.samples)]
    times = times[: len(reached)]
    run.monitor.see(StepBlock(times, end.samples), p)
    run.monitor.look(StepBlock(times[reached], end.samples[reached]), p, end.time)
    return replace(end, samples=end.samples[~reached])


def _see_peaks(run: RunState, here: Boundary) -> None:
    """Look at the peaks here: a reset may have taken an output to its peak."""
    run.monitor.see(StepBlock(np.array([here.time]), here.state[None, :]), run.values(here))
