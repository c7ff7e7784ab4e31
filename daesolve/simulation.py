"""The run itself: segments from boundary to boundary, samples, events, monitors, interruption."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from daesolve import endings
from daesolve.archive import StorageError
from daesolve.checkpoints import Keeper, restored_boundaries, saved_boundary
from daesolve.degeneracy import RankWatch
from daesolve.effort import Counted, Effort
from daesolve.errors import (
    ChatteringError,
    OutOfRangeError,
    ResetError,
    VariantError,
    is_number,
)
from daesolve.friction.guides import AT_REST, SLOW
from daesolve.interruption import interruptible
from daesolve.monitors import Monitor
from daesolve.passages import Breach
from daesolve.preparation import Prepared
from daesolve.record import Assembly, Boundary, Happening, Record
from daesolve.resting.coming_to_rest import RestStatus
from daesolve.results import Outcome, Point, StepBlock
from daesolve.samples import Recorded
from daesolve.sampling import At, EveryEvent, Schedule, sample_times
from daesolve.solvers import EventHit, Observer, SegmentEnd, State, Status
from daesolve.stopping import follow_to_rest, set_out_again, written_down
from daesolve.trajectory import Trajectory
from daesolve.transitions import INSTANT, Instant, Jump, Transitions
from daesolve.translation import evaluate_block
from daesolve.turns import wrap

LONGER = 1.2
"""Times the time from one interruption to the next, to be gone at once."""
SHORTEST = 1e-9
HALVINGS = 40
"""Of a segment, to look whether a guard that starts at zero was inside afterwards."""
WATCHED_AT_ONCE = 500
"""Steps after which the monitors see those between resets, which are few at a time."""

LEAST_TOLERANCE = 1e-10
"""Rank is judged by no smaller one: solvers keep that of a step only far from degeneracy."""
DEGENERATE = "degenerate"
"""The event where constraints come to depend on each other."""

Progress = Callable[[float, "Monitor", int], None]
"""Called after each segment with the time reached, the monitor and the number of events."""
Verdict = endings.Verdict | None


def simulate(prepared: Prepared, at: At = None, progress: Progress | None = None) -> Trajectory:
    """Integrate a prepared run.

    Parameters
    ----------
    prepared
        From `preparation.prepare`.
    at
        Sample times, `every(...)`, `every_event()`, or None for 1001 even samples.
    progress
        Called after each segment.

    Returns
    -------
    Trajectory
        With everything up to where the run ended, however it ended. Ctrl-C ends it after the
        segment that is under way.
    """
    return simulate_recorded(prepared, at, progress)[0]


def simulate_recorded(
    prepared: Prepared, at: At = None, progress: Progress | None = None
) -> tuple[Trajectory, Record]:
    """Integrate a prepared run, as `simulate`; return what it gathered too."""
    times = sample_times(at, prepared.start_time, prepared.until)
    run = _Run(prepared, at, progress)
    outcome, message = run.ended()
    listed = not isinstance(at, EveryEvent)
    order = np.argsort(run.sign * times, kind="stable") if listed else None
    return run.trajectory(outcome, message, run.assembly.samples(order)), run.record


def simulate_stored(
    prepared: Prepared, at: At, progress: Progress | None, keeper: Keeper
) -> Trajectory:
    """Integrate a prepared run, or go on with it, part by part to disk.

    Parameters
    ----------
    prepared, at, progress
        As in `simulate`.
    keeper
        Where to, and from which checkpoint on.

    Returns
    -------
    Trajectory
        Its samples are on disk.
    """
    run = _Run(prepared, at, progress, keeper)
    outcome, message = run.ended()
    return run.trajectory(outcome, message, keeper.samples())


class _PassedError(Exception):
    """Ends a run that is repeated as far as a time that was asked for."""


class _Run:
    def __init__(
        self,
        prepared: Prepared,
        at: At,
        progress: Progress | None,
        keeper: Keeper | None = None,
        resumed: Mapping[str, Any] | None = None,
    ) -> None:
        self.prepared, self.progress, self.keeper = prepared, progress, keeper
        self.resumed = keeper.resumed if keeper is not None else resumed
        self.sign = 1.0 if prepared.until >= prepared.start_time else -1.0
        after = None if keeper is None else keeper.extended_from
        self.schedule = Schedule(at, prepared.start_time, prepared.until, after)
        self.samples_events = isinstance(at, EveryEvent)
        self.record = Record([prepared.values])
        self.monitor = Monitor(
            prepared.problem,
            prepared.values,
            prepared.scales,
            prepared.start_time,
            surplus=prepared.surplus,
            passes=prepared.rank_loss == "pass",
            ranks=_rank_watch(prepared),
            peaks=prepared.dynamics.peaks,
        )
        self.effort = Effort(prepared.max_evaluations, prepared.mean_step)
        self.assembly = Assembly(prepared, self.record, self.monitor)
        self.angles = np.array(prepared.wrapped, dtype=int)
        self.entered = prepared.start_time
        self.stretch = prepared.segment / 50.0
        self.instant = Instant(INSTANT * prepared.segment)
        self.transitions = prepared.transitions and prepared.transitions.fresh()
        self.unwatched: list[tuple[StepBlock, int]] = []
        self.unwatched_count = 0
        self.looks_ahead = not prepared.solver.halts_at_events(prepared.problem)
        self.segments = 0
        self.over = self.rests = False
        self.clock = 0.0

    def ended(self) -> tuple[Outcome, str]:
        """Integrate, and return how it ended."""
        self.clock = time.perf_counter()
        try:
            return self._integrate()
        finally:
            self._take_time()

    def _take_time(self) -> None:
        now = time.perf_counter()
        self.record.wall_seconds += now - self.clock
        self.clock = now

    def trajectory(self, outcome: Outcome, message: str, samples: Recorded) -> Trajectory:
        """Return the trajectory with its samples."""
        lost = self._lost_for_good()
        trajectory = self.assembly.trajectory(outcome, message, samples, lost_for_good=lost)
        return replace(trajectory, _evaluate=self._point)

    # -- integration --------------------------------------------------------------------------

    def _next_boundary(self, here: Boundary) -> float:
        """Return the end of the next segment: a whole multiple from the start, or the end."""
        prepared, least = self.prepared, 1e-9 * self.prepared.segment
        while True:
            count = self.segments + 1
            boundary = prepared.start_time + self.sign * count * prepared.segment
            if self.sign * (boundary - prepared.until) >= -least:
                return prepared.until
            if self.sign * (boundary - here.time) > least:
                return boundary
            # The run was extended from a time that is no multiple.
            self.segments = count

    def _integrate(self) -> tuple[Outcome, str]:
        here, verdict = self._begin()
        with interruptible(by_termination=self.keeper is not None) as interrupted:
            while verdict is None:
                boundary = self._next_boundary(here)
                try:
                    here, verdict = self._to_boundary(here, boundary)
                except StorageError as error:
                    verdict = self._not_written(error)
                if self.progress is not None:
                    self.progress(here.time, self.monitor, self.record.event_count)
                if verdict is None and boundary == self.prepared.until:
                    verdict = (Outcome.COMPLETED, "")
                elif verdict is None:
                    self.segments += 1
                    here, verdict = self._kept(here, interrupted=interrupted())
        return self._ended(here, verdict)

    def _begin(self) -> tuple[Boundary, Verdict]:
        """Return where the run starts, or where it goes on."""
        prepared = self.prepared
        if self.resumed is not None:
            here, ended = self._restore(self.resumed), self.resumed["ended"]
            if ended is None or self.resumed["until"] != prepared.until:
                return here, None
            self.over = True
            return here, (Outcome(ended[0]), str(ended[1]))
        here = Boundary(
            prepared.start_time, prepared.initial, np.zeros(len(self.angles), dtype=int)
        )
        self._wrap(here)
        self.monitor.start(here.state)
        self._sampled(self.schedule.up_to(0, here.time), itertools.repeat(here.state), here)
        return self._start(here)

    def _ended(self, here: Boundary, verdict: tuple[Outcome, str]) -> tuple[Outcome, str]:
        self.record.boundaries.append(here)
        if self.keeper is None or self.keeper.done or self.over:
            return verdict
        if verdict[0] is not Outcome.INTERRUPTED:
            failure = self._write(here, verdict)
            return verdict if failure is None else failure
        try:
            self.keeper.write_partial(self.assembly)
        except StorageError:
            unread = "samples of the part that was under way could not be written"
            return Outcome.INTERRUPTED, f"{verdict[1]} ({unread})"
        return verdict

    # -- parts on disk ------------------------------------------------------------------------

    def _kept(self, here: Boundary, *, interrupted: bool) -> tuple[Boundary, Verdict]:
        """Hand a part that is full to the keeper; end where there was an interruption."""
        keeper = self.keeper
        if keeper is not None and keeper.full(self.segments) and self.monitor.settled:
            failure = self._write(here, None)
            if failure is not None:
                return here, failure
            here = self.record.flushed(here)
            if keeper.done:
                return here, (Outcome.COMPLETED, "")
        if not interrupted:
            return here, None
        kept = f"interrupted at t = {here.time:g} s; everything up to there is kept"
        how = "" if keeper is None else f", and {keeper.advice}"
        return here, (Outcome.INTERRUPTED, kept + how)

    def _write(self, here: Boundary, verdict: Verdict) -> Verdict:
        """Write a part; return how the run ends where that fails."""
        assert self.keeper is not None
        self._take_time()
        try:
            self.keeper.write(self.assembly, here, self._saved(here), verdict)
        except StorageError as error:
            return self._not_written(error)
        return None

    def _not_written(self, error: StorageError) -> tuple[Outcome, str]:
        assert self.keeper is not None
        return Outcome.INTERRUPTED, f"{error}; nothing is lost: {self.keeper.advice}"

    def _saved(self, here: Boundary) -> dict[str, Any]:
        """Return all that is needed to go on from here in another process."""
        return {
            "here": saved_boundary(here, self.record),
            "before": saved_boundary(self.record.boundaries[-1], self.record),
            "until": self.prepared.until,
            "segments": self.segments,
            "taken": self.record.taken,
            "steps": self.record.steps,
            "rhs_evaluations": self.record.rhs_evaluations,
            "wall_seconds": self.record.wall_seconds,
            "tally": self.record.tally_so_far(),
            "recent": self.record.at_instant(here.time),
            "monitor": self.monitor.saved(),
            "transitions": self.transitions and self.transitions.saved(),
            "instant": [self.instant.began, self.instant.count],
            "ahead": [self.entered, self.stretch],
            "effort": self.effort.saved(),
        }

    def _restore(self, saved: Mapping[str, Any]) -> Boundary:
        record = self.record
        here = record.goes_on(*restored_boundaries(saved["before"], saved["here"]))
        self.segments = int(saved["segments"])
        record.taken = int(saved["taken"]) if saved["until"] == self.prepared.until else 0
        record.steps, record.rhs_evaluations = int(saved["steps"]), int(saved["rhs_evaluations"])
        record.wall_seconds = float(saved["wall_seconds"])
        record.restore(saved["tally"], saved["recent"])
        self.monitor.restore(saved["monitor"])
        if self.transitions is not None:
            self.transitions.restore(saved["transitions"])
        self.instant.began, self.instant.count = float(saved["instant"][0]), saved["instant"][1]
        self.entered, self.stretch = map(float, saved["ahead"])
        self.effort.restore(saved["effort"])
        return here

    def _start(self, here: Boundary) -> tuple[Boundary, Verdict]:
        if self.prepared.resting:
            self.record.events.append(Happening(here.time, AT_REST, here))
            self._sample_event(here)
            return here, endings.at_rest(here.time, at_start=True, timed=self._timed())
        stop = self._stopped_at_start(here)
        if stop is not None or self.transitions is None:
            return here, stop
        return self._through(self.transitions, here, ())

    def _to_boundary(self, here: Boundary, boundary: float) -> tuple[Boundary, Verdict]:
        """Integrate to a boundary, through resets, and from chart to chart."""
        transitions, past = self.transitions, []
        while True:
            self.record.boundaries.append(here)
            if transitions is not None:
                past = transitions.late(here.time, here.state, self.record.modes[here.mode])
            end = self._segment(here, self._reach(here, boundary))
            if self._lost_for_good():
                return self._taken_back(end), self._verdict(end)
            verdict = None if self._left_chart(end) else self._verdict(end)
            arrived = self._next(here, end)
            if end.status is Status.STOPPED:
                self._expect(end.time, boundary)
            else:
                self.stretch *= 2.0
            if self._left_chart(end):
                here = self._on_next_chart(arrived)
                continue
            if verdict is None and transitions is not None:
                arrived, verdict = self._through(transitions, arrived, end.hits, past)
            if verdict is not None or end.time == boundary:
                self._watch_the_rest()
                if self._lost_for_good():
                    return self._taken_back(end), self._verdict(end)
                return arrived, verdict
            here = arrived

    def _expect(self, interrupted: float, boundary: float) -> None:
        """Let the next interruption be as far as this one was from the one before it."""
        self.stretch = LONGER * max(abs(interrupted - self.entered), SHORTEST * abs(boundary))
        self.entered = interrupted

    def _reach(self, here: Boundary, boundary: float) -> float:
        """Return how far to go at once: not much farther than the motion is known to last."""
        prepared = self.prepared
        chart = prepared.problem.chart
        lasts = chart is None or chart.choose is None
        resets = self.transitions is not None
        if lasts and not (resets and self.looks_ahead):
            return boundary
        ahead = here.time + self.sign * self.stretch
        return boundary if self.sign * (ahead - boundary) >= 0.0 else ahead

    def _next(self, here: Boundary, end: SegmentEnd) -> Boundary:
        """Return the start of the segment after one that has ended."""
        problem, solver = self.prepared.problem, self.prepared.solver
        state = end.state.copy()
        if problem.project is not None and not solver.projects_steps:
            values = self.record.modes[here.mode]
            projected = np.asarray(problem.project(end.time, state, values)).ravel()
            state = projected if np.all(np.isfinite(projected)) else state
        after = Boundary(end.time, state, here.turns.copy(), here.mode)
        self._wrap(after)
        return after

    def _left_chart(self, end: SegmentEnd) -> bool:
        problem = self.prepared.problem
        charted = problem.chart is not None and problem.chart.choose is not None
        stopped = end.status is Status.STOPPED and bool(end.hits)
        return charted and stopped and end.hits[-1].index == len(problem.guarded) - 1

    def _on_next_chart(self, here: Boundary) -> Boundary:
        """Choose the independent velocities anew."""
        problem = self.prepared.problem
        assert problem.chart is not None
        assert problem.chart.choose is not None
        values = self.record.modes[here.mode]
        states = problem.visible(np.array([here.time]), here.state[None, :], values)[0]
        chosen = problem.chart.choose(here.time, states, values, self.prepared.path)
        works = here.state[problem.chart.embed.nnz_in(1) :]
        return self._in_mode(here, problem.enter(here.time, states, chosen, works), chosen)

    def _in_mode(self, here: Boundary, state: np.ndarray, values: np.ndarray) -> Boundary:
        """Return the place from which the motion goes on with other values."""
        self.record.modes.append(values)
        if self.transitions is None:
            self.monitor.change_values(values)
        return Boundary(here.time, state, here.turns.copy(), len(self.record.modes) - 1)

    # -- one segment --------------------------------------------------------------------------

    def _segment(self, here: Boundary, boundary: float) -> SegmentEnd:
        at = self.schedule.up_to(self.record.taken, boundary)
        start = State(here.time, here.state, self.record.modes[here.mode])
        if self.transitions is None:
            end = self._solve_within_budget(start, boundary, at, self._watch)
        else:
            end = self._up_to_guards(self.transitions, here, start, boundary, at)
        self._sampled(at, end.samples, here)
        for hit in end.hits[:-1] if self._left_chart(end) else end.hits:
            if self.prepared.problem.guarded[hit.index].then.reset is None:
                self._happened(hit, here)
        if self.transitions is not None and end.status is Status.STOPPED:
            for index in self.transitions.passing(end.time, end.state, start.p):
                self._happened(EventHit(index, end.time, end.state), here)
        self.record.steps += end.steps
        self.record.rhs_evaluations += end.rhs_evaluations
        return end

    def _solve(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        return self.prepared.solver.segment(self.prepared.problem, start, until, at, observe)

    def _solve_within_budget(
        self, start: State, until: float, at: np.ndarray, observe: Observer
    ) -> SegmentEnd:
        """Integrate, and end with a block of steps where the run is not to cost more."""
        self.effort.begin(start.time)
        spent = self.record.rhs_evaluations
        return self._solve(start, until, at, Counted(self.effort, self.monitor, observe, spent))

    def _up_to_guards(
        self,
        transitions: Transitions,
        here: Boundary,
        start: State,
        boundary: float,
        at: np.ndarray,
    ) -> SegmentEnd:
        """Integrate up to the first reset, and see that none was passed over."""
        blocks: list[StepBlock] = []
        end = self._solve_within_budget(start, boundary, at, blocks.append)
        passed = {hit.index for hit in end.hits}
        late = [k for k in transitions.late(end.time, end.state, start.p) if k not in passed]
        late = [k for k in late if k not in transitions.late(start.time, start.x, start.p)]
        if late:
            guard, moment = self._first_zero(transitions, start, end, late)
            blocks.clear()
            if moment == start.time:
                nothing = np.empty((0, len(start.x)))
                end = SegmentEnd(Status.STOPPED, "", moment, start.x, nothing, (), 0, 0)
            else:
                at = at[self.sign * (at - moment) <= 0.0]
                end = self._solve(start, moment, at, blocks.append)
            hit = EventHit(guard, end.time, end.state)
            end = replace(end, status=Status.STOPPED, hits=(*end.hits, hit))
        for block in blocks:
            self.unwatched.append((block, here.mode))
            self.unwatched_count += len(block.times)
        if self.unwatched_count >= WATCHED_AT_ONCE:
            self._watch_the_rest()
        return end

    def _first_zero(
        self, transitions: Transitions, start: State, end: SegmentEnd, late: Sequence[int]
    ) -> tuple[int, float]:
        """Return which of some guards passed first, and when, by integrating again."""

        def look(moment: float) -> tuple[State, np.ndarray]:
            reached = self._solve(low, moment, np.empty(0), _ignore)
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

    def _watch(self, block: StepBlock) -> bool:
        """Let the monitors see some steps; return whether what follows is not to be trusted."""
        self.monitor.observe(block)
        return self._lost_for_good()

    def _watch_the_rest(self) -> None:
        """Let the monitors see the steps that they have not seen."""
        if not self.unwatched:
            return
        blocks = [block for block, _ in self.unwatched]
        counts = [len(block.times) for block in blocks]
        modes = np.repeat([mode for _, mode in self.unwatched], counts)
        joined = StepBlock(
            np.concatenate([block.times for block in blocks]),
            np.concatenate([block.states for block in blocks]),
        )
        self.unwatched.clear()
        self.unwatched_count = 0
        self.monitor.observe(joined, modes, self.record.modes)

    # -- events -------------------------------------------------------------------------------

    def _through(
        self,
        transitions: Transitions,
        here: Boundary,
        hits: Sequence[EventHit],
        past: Sequence[int] = (),
    ) -> tuple[Boundary, Verdict]:
        """Do what is due here, until nothing is.

        Guards `past` zero all the way here have not passed it.
        """
        guarded = self.prepared.problem.guarded
        found = self._found(transitions, here, hits)
        while True:
            values = self.record.modes[here.mode]
            due = {*transitions.due(here.time, here.state, values)} - {*past}
            due, past = sorted({*found, *due}), ()
            stops = [k for k in due if guarded[k].then.stops]
            resets = [k for k in due if guarded[k].then.reset is not None]
            for index in stops:
                if index not in resets:
                    self._happened(EventHit(index, here.time, here.state), here)
            if resets:
                if transitions.sliding and any(guarded[k].name == SLOW for k in resets):
                    return self._come_to_rest(transitions, here)
                here, found, verdict = self._tried(transitions, here, resets)
                if verdict is not None:
                    return here, verdict
            if stops:
                return here, endings.stopped_by(guarded[stops[0]], here.time)
            if not resets:
                return here, None

    def _found(
        self, transitions: Transitions, here: Boundary, hits: Sequence[EventHit]
    ) -> list[int]:
        """Return the guards that interrupted the motion here, as the solver found."""
        guarded = self.prepared.problem.guarded
        found = [
            hit.index
            for hit in hits
            if guarded[hit.index].then.interrupts and transitions.counts(hit.time, hit.index)
        ]
        if found:
            found += transitions.beside(here.time, here.state, self.record.modes[here.mode])
        return found

    def _tried(
        self, transitions: Transitions, here: Boundary, resets: Sequence[int]
    ) -> tuple[Boundary, list[int], Verdict]:
        """Do what these guards ask for, as `_reset`, and tell whether the motion ends there."""
        try:
            here, switched = self._reset(transitions, here, resets)
        except (ChatteringError, ResetError) as error:
            return here, [], (Outcome.FAILED, str(error))
        except VariantError as error:
            return here, [], self._without_variant(here, error)
        return (
            here,
            switched,
            endings.at_rest(here.time, timed=self._timed()) if self.rests else None,
        )

    def _reset(
        self, transitions: Transitions, here: Boundary, resets: Sequence[int]
    ) -> tuple[Boundary, list[int]]:
        """Do what these guards ask for; return the guards of values alone that it switched."""
        guarded = self.prepared.problem.guarded
        values = self.record.modes[here.mode]
        here = self._unwrapped(here, resets)
        before, _ = transitions.measure(here.time, here.state, values)
        rates = transitions.fire(here.time, here.state, values, resets)
        self.instant.take(here.time, guarded[resets[0]].name)
        for jump in transitions.jumps(here.time, here.state, values, resets):
            here = self._jumped(here, jump)
            self.rests = jump.rests
            rates = transitions.answered(here.time, here.state, jump.p, jump, rates)
        switched = transitions.switched(here.time, here.state, self.record.modes[here.mode], before)
        for index in switched:
            if not guarded[index].then.interrupts:
                self._happened(EventHit(index, here.time, here.state), here)
        return here, switched

    def _unwrapped(self, here: Boundary, guards: Sequence[int]) -> Boundary:
        """Put whole turns back into the angles that a reset names: it changes what is shown."""
        if not here.turns.any():
            return here
        dynamics, guarded = self.prepared.dynamics, self.prepared.problem.guarded
        owners = [self.prepared.problem.events.index(guarded[guard]) for guard in guards]
        named = {index for owner in owners for index in dynamics.resets[owner].states}
        put = np.array([int(angle) in named for angle in self.angles], dtype=bool)
        state, turns = here.state.copy(), here.turns.copy()
        state[self.angles[put]] += 2.0 * math.pi * turns[put]
        turns[put] = 0
        return Boundary(here.time, state, turns, here.mode)

    def _jumped(self, here: Boundary, jump: Jump) -> Boundary:
        after = self._in_mode(here, jump.x, jump.p)
        self._wrap(after)
        names = {index: self.prepared.problem.events[index].name for index in jump.events}
        hidden = self.prepared.dynamics.hidden_events
        if not hidden.issuperset(names.values()):
            self._sample_event(here)
        impact = jump.impact
        for index, fired in jump.events.items():
            name = names[index]
            if name in hidden:
                continue
            self.record.events.append(Happening(here.time, name, here, after, fired, impact))
            impact = None
        return after

    def _happened(self, hit: EventHit, here: Boundary) -> None:
        """Write down an event that changes nothing: once an instant, with all its guards."""
        name = self.prepared.problem.guarded[hit.index].name
        place = Boundary(hit.time, hit.state, here.turns, here.mode)
        fired = hit.index - self.prepared.problem.guarded.index(
            self.prepared.problem.guarded[hit.index]
        )
        events = self.record.events
        near = 1e-14 * max(abs(hit.time), 1.0)
        recent = itertools.takewhile(
            lambda k: abs(hit.time - events[k].time) <= near, reversed(range(len(events)))
        )
        for known in recent:
            if events[known].name == name:
                joined = tuple(sorted({*events[known].fired, fired}))
                events[known] = replace(events[known], fired=joined)
                return
        if self.record.known(name, hit.time, near, fired):
            return
        events.append(Happening(hit.time, name, place, fired=(fired,)))
        self._sample_event(place)

    def _stopped_at_start(self, here: Boundary) -> Verdict:
        """Find a stopping event whose guard is past zero already: a crossing cannot show it."""
        problem = self.prepared.problem
        if not problem.events:
            return None
        guards = self._evaluate(problem.guards, here)
        for index, event in enumerate(problem.guarded):
            past = -event.direction.value * guards[index] < 0.0
            if event.then.stops and event.then.reset is None and event.direction.value and past:
                self._happened(EventHit(index, here.time, here.state), here)
                return endings.stopped_by(event, here.time, at_start=True)
        return None

    def _evaluate(self, function: Any, here: Boundary) -> np.ndarray:
        return evaluate_block(
            function, np.array([here.time]), here.state[None, :], self.record.modes[here.mode]
        )[0][0]

    # -- where guides slide -------------------------------------------------------------------

    def _without_variant(self, here: Boundary, error: VariantError) -> Verdict:
        """Write down where no choice of loaded supports goes on."""
        self.record.events.append(Happening(here.time, error.event, here))
        self._sample_event(here)
        return Outcome.DEGENERATE, str(error)

    def _timed(self) -> bool:
        """Tell whether what acts on the body depends on time."""
        dynamics = self.prepared.dynamics
        numbers = ca.DM(self.record.modes[-1][: len(dynamics.values)])
        acting = ca.veccat(dynamics.mass, dynamics.force, dynamics.influence)
        return bool(ca.depends_on(ca.substitute(acting, dynamics.p, numbers), dynamics.t))

    def _come_to_rest(self, transitions: Transitions, here: Boundary) -> tuple[Boundary, Verdict]:
        """Follow a slow motion to its stop, in scaled time."""
        assert transitions.sliding is not None
        values, until = self.record.modes[here.mode], self.prepared.until
        follow = partial(
            follow_to_rest,
            transitions.sliding,
            self.prepared.problem,
            here.time,
            here.state,
            values,
            until,
        )
        rest = follow()
        times = self.schedule.up_to(self.record.taken, rest.time)
        if len(times):
            rest = follow(times)
        events = len(self.record.events)
        end, blocks = written_down(self.record, rest, here, times)
        for event in self.record.events[events:]:
            self._sample_event(event.at)
        self.unwatched.extend(blocks)
        if rest.error is not None:
            return end, self._without_variant(end, rest.error)
        if rest.status is RestStatus.AT_REST and rest.time < until:
            try:
                again = set_out_again(transitions.sliding, rest, until)
            except VariantError as error:
                return end, self._without_variant(end, error)
            if again is not None:
                return self._in_mode(end, *again), None
        return end, endings.slow(rest, timed=self._timed())

    # -- samples and angles -------------------------------------------------------------------

    def _sampled(self, times: np.ndarray, samples: Iterable[np.ndarray], here: Boundary) -> None:
        """Keep samples wrapped, so that what is computed from them loses no digits."""
        for moment, sample in zip(times.tolist(), samples, strict=False):
            self.record.take(moment, sample, here)
            self.record.taken += 1

    def _sample_event(self, place: Boundary) -> None:
        if self.samples_events:
            self.record.take(place.time, place.state, place)

    def _wrap(self, here: Boundary) -> None:
        if self.angles.size:
            wrap(here.state, here.turns, self.prepared.wrapped)

    # -- how it ends --------------------------------------------------------------------------

    def _lost_for_good(self) -> bool:
        if self.monitor.breach is not None:
            return True
        lost = self.monitor.lost_grip
        if lost is None or self.prepared.rank_loss == "pass":
            return False
        return not (self._singular(lost.goals) and self.prepared.solver.steps_over)

    def _taken_back(self, end: SegmentEnd) -> Boundary:
        """Drop what lies beyond the last step that is to be trusted, and return to it."""
        lost = self.monitor.breach or self.monitor.lost_grip
        assert lost is not None
        record, until = self.record, lost.last_time
        record.cut(until, self.sign)
        if self.keeper is not None:
            record.tally = replace(record.tally, events=self.keeper.cut(until, self.sign))
        while len(record.boundaries) > 1 and self.sign * (record.boundaries[-1].time - until) > 0:
            record.boundaries.pop()
        here = record.boundaries[-1]
        if isinstance(lost, Breach):
            place = Boundary(until, lost.last_state, here.turns, here.mode)
            record.events.append(Happening(lost.time, lost.event, place))
        elif lost.dependence is not None:
            seen = lost.dependence
            place = Boundary(seen.time, seen.state, here.turns, here.mode)
            record.events.append(Happening(seen.time, DEGENERATE, place))
        return self._next(here, replace(end, time=until, state=lost.last_state))

    def _verdict(self, end: SegmentEnd) -> Verdict:
        if end.status is Status.FAILED:
            self._watch_the_rest()
        breach, lost = self.monitor.breach, self.monitor.lost_grip
        if breach is not None:
            return Outcome.DEGENERATE, breach.sentence
        if lost is not None and self._lost_for_good():
            if lost.dependence is not None and lost.dependence.sharp:
                return endings.dependent(lost.dependence)
            if self.effort.reason:
                return endings.given_up(lost.time, self.effort, lost.goals)
            return self._lost_grip(lost.time, lost.goals)
        weakest = self.monitor.weakest()
        spent = self.record.rhs_evaluations
        if end.time != self.prepared.until and self.effort.over(spent):
            self.monitor.give_up(end.time, end.state, weakest)
            return endings.given_up(end.time, self.effort, weakest)
        if end.status is Status.FAILED:
            if weakest:
                self.monitor.give_up(end.time, end.state, weakest)
                return self._lost_grip(end.time, weakest)
            return endings.failed(end.time, end.message)
        if end.status is Status.STOPPED and self.transitions is None:
            name = self.record.events[-1].name
            event = next(e for e in self.prepared.problem.events if e.name == name)
            return endings.stopped_by(event, end.time)
        return None

    def _lost_grip(self, time: float, goals: Sequence[str]) -> Verdict:
        return endings.lost_grip(
            time, goals, at_rest=self._singular(goals), passes=self.prepared.rank_loss == "pass"
        )

    def _singular(self, goals: Sequence[str]) -> bool:
        """Tell whether these goals have no grip at rest."""
        return set(goals) <= set(self.prepared.problem.singular_goals)

    # -- any time of the run ------------------------------------------------------------------

    def _point(self, moment: float) -> Point:
        """Integrate from the last boundary before a time, with the run's own solver."""
        first = self.prepared.start_time
        last = self.record.boundaries[-1]
        low, high = min(first, last.time), max(first, last.time)
        if not is_number(moment):
            raise OutOfRangeError(f"the time is {moment!r}, but must be a number")
        if not low <= moment <= high:
            raise OutOfRangeError(f"the run covers {low:g} to {high:g} s, not t = {moment:g} s")
        passed = self._passed(moment)
        return self._point_after(passed[-1], moment) if passed else self._point_of_part(moment)

    def _passed(self, moment: float) -> list[Boundary]:
        return [b for b in self.record.boundaries if self.sign * (b.time - moment) <= 0.0]

    def _point_after(self, here: Boundary, moment: float) -> Point:
        problem = self.prepared.problem
        state, values = here.state, self.record.modes[here.mode]
        if moment != here.time:
            end = self._solve(
                State(here.time, here.state, values), moment, np.array([moment]), _ignore
            )
            state = end.state
        place = Boundary(moment, state, here.turns, here.mode)
        _, reactions, outputs = evaluate_block(
            problem.recover, np.array([moment]), state[None, :], values
        )
        labels = problem.labels
        numbers = zip(labels.reactions + labels.outputs, (*reactions[0], *outputs[0]), strict=True)
        named = self.assembly.named([place])[0]
        return Point(moment, named | {n: float(v) for n, v in numbers})

    def _point_of_part(self, moment: float) -> Point:
        """Integrate a part that is on disk again, until a segment of it ends beyond a time."""
        assert self.keeper is not None
        checkpoint, until = self.keeper.around(moment, self.sign)

        def look(reached: float, monitor: Monitor, events: int) -> None:
            if self.sign * (reached - moment) > 0.0:
                raise _PassedError

        prepared = replace(self.prepared, until=until)
        again = _Run(prepared, [until], look, resumed=checkpoint)
        with suppress(_PassedError):
            if again.ended()[0] is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
        return again._point_after(again._passed(moment)[-1], moment)


def _rank_watch(prepared: Prepared) -> RankWatch | None:
    """Return what judges the rank along a run that does not pass where it is lost."""
    if prepared.rank_loss == "pass" or not prepared.problem.pivot_goals:
        return None
    solver = prepared.solver
    return RankWatch(
        prepared.dynamics,
        prepared.problem,
        prepared.values,
        prepared.samples,
        max(solver.step_tolerance, LEAST_TOLERANCE) * solver.converges_to(prepared.problem),
        prepared.surplus,
    )


def _ignore(block: StepBlock) -> None:
    """Watch nothing."""
