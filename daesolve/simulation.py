"""The run itself: segments from boundary to boundary, samples, events, monitors, interruption."""

from __future__ import annotations

import itertools
import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import numpy as np

from daesolve.errors import OutOfRangeError, is_number
from daesolve.monitors import Monitor
from daesolve.passages import Breach
from daesolve.preparation import Prepared
from daesolve.solvers import EventHit, SegmentEnd, State, Status
from daesolve.trajectory import (
    EventRecord,
    Outcome,
    Point,
    Statistics,
    StepBlock,
    Trajectory,
)
from daesolve.translation import evaluate_block

DEFAULT_SAMPLES = 1001
MOST_SAMPLES = 1e8
"""More would not fit into memory."""
TURN_PARTS = (6.28125, 0.0019353071693331003, 1.0253376489868793e-11, 1.1650928224373424e-19)
"""2 pi in parts of few digits, so that a whole number of turns (up to 1e7) is exact in each."""

LONGER = 1.2
"""Times the time for which the last chart held, to be gone at once."""
SHORTEST = 1e-9

Progress = Callable[[float, "Monitor", int], None]
"""Called after each segment with the time reached, the monitor and the number of events."""


@dataclass(frozen=True)
class Every:
    """Samples at a constant interval, the start and the end included."""

    interval: float


def every(interval: float) -> Every:
    """Ask for samples every `interval` s."""
    if not (is_number(interval) and interval > 0):
        raise OutOfRangeError(f"the sample interval is {interval!r}, but must be > 0")
    return Every(interval)


At = Every | Sequence[float] | np.ndarray | None


def sample_times(at: At, start: float, until: float) -> np.ndarray:
    """Return the sample times: those asked for, or 1001 even ones.

    Raises
    ------
    OutOfRangeError
        A time is not finite or lies outside the run.
    """
    if at is None:
        return np.linspace(start, until, DEFAULT_SAMPLES)
    if isinstance(at, Every):
        sign = 1.0 if until >= start else -1.0
        if abs(until - start) / at.interval > MOST_SAMPLES:
            raise OutOfRangeError(
                f"the sample interval {at.interval:g} s asks for more than {MOST_SAMPLES:g} samples"
            )
        # until - start is rounded as start and until are.
        rounding = 4.0 * np.finfo(float).eps * max(abs(start), abs(until))
        span = abs(until - start) * (1 - 1e-12) - rounding
        count = max(math.ceil(span / at.interval), 1)
        inner = start + sign * at.interval * np.arange(count)
        return np.append(inner, until)
    try:
        times = np.asarray(None if isinstance(at, str) else at, dtype=float).ravel()
    except (TypeError, ValueError):
        times = np.array([np.nan])
    if isinstance(at, str) or np.any(np.isnan(times)):
        raise OutOfRangeError(f"the sample times must be numbers or every(...), not {at!r}")
    low, high = min(start, until), max(start, until)
    outside = ~np.isfinite(times) | (times < low) | (times > high)
    if np.any(outside):
        raise OutOfRangeError(
            f"the sample time {times[outside][0]:g} lies outside of the run, {low:g} to {high:g} s"
        )
    return times


class _UntrustedError(Exception):
    """Ends a segment in which reactions lost their grip: what follows is not to be trusted."""


@dataclass
class _Boundary:
    """The state at the start of a segment.

    `turns` are whole turns taken out of its angles, `mode` is the index of p in the record.
    """

    time: float
    state: np.ndarray
    turns: np.ndarray
    mode: int = 0


@dataclass
class _Record:
    """What a run has gathered so far; `modes` are the values of p that were in force."""

    modes: list[np.ndarray]
    samples: list[np.ndarray] = field(default_factory=list)
    sampled_at: list[_Boundary] = field(default_factory=list)
    events: list[EventRecord] = field(default_factory=list)
    boundaries: list[_Boundary] = field(default_factory=list)
    steps: int = 0
    rhs_evaluations: int = 0
    wall_seconds: float = 0.0


def simulate(prepared: Prepared, at: At = None, progress: Progress | None = None) -> Trajectory:
    """Integrate a prepared run.

    Parameters
    ----------
    prepared
        From `preparation.prepare`.
    at
        Sample times, `every(...)`, or None for 1001 even samples.
    progress
        Called after each segment.

    Returns
    -------
    Trajectory
        With everything up to where the run ended, however it ended. Ctrl-C ends it after the
        segment that is under way.
    """
    return _Run(prepared, at, progress).trajectory()


class _Run:
    def __init__(self, prepared: Prepared, at: At, progress: Progress | None) -> None:
        self.prepared = prepared
        self.times = sample_times(at, prepared.start_time, prepared.until)
        self.sign = 1.0 if prepared.until >= prepared.start_time else -1.0
        self.order = np.argsort(self.sign * self.times, kind="stable")
        self.progress = progress
        self.record = _Record([prepared.values])
        self.monitor = Monitor(
            prepared.problem,
            prepared.values,
            prepared.scales,
            prepared.start_time,
            surplus=prepared.surplus,
            passes=prepared.rank_loss == "pass",
        )
        self.angles = np.array(prepared.wrapped, dtype=int)
        self.entered = prepared.start_time
        self.stretch = prepared.segment / 50.0

    def trajectory(self) -> Trajectory:
        begin = time.perf_counter()
        outcome, message = self._integrate()
        self.record.wall_seconds = time.perf_counter() - begin
        return self._assemble(outcome, message)

    # -- integration --------------------------------------------------------------------------

    def _boundaries(self) -> Iterator[float]:
        prepared = self.prepared
        count = 1
        while True:
            boundary = prepared.start_time + self.sign * count * prepared.segment
            if self.sign * (boundary - prepared.until) >= -1e-9 * prepared.segment:
                yield prepared.until
                return
            yield boundary
            count += 1

    def _integrate(self) -> tuple[Outcome, str]:
        prepared = self.prepared
        here = _Boundary(
            prepared.start_time, prepared.initial, np.zeros(len(self.angles), dtype=int)
        )
        self._wrap(here)
        self.monitor.start(here.state)
        self._take_samples_at_start(here)
        stop = self._stopped_at_start(here)
        if stop is not None:
            return stop
        with _interruptible() as interrupted:
            for boundary in self._boundaries():
                here, end = self._to_boundary(here, boundary)
                verdict = self._verdict(end)
                if verdict is not None and self._lost_for_good():
                    end = self._cut(end)
                here = self._next(here, end)
                if self.progress is not None:
                    self.progress(end.time, self.monitor, len(self.record.events))
                if verdict is not None:
                    self.record.boundaries.append(here)
                    return verdict
                if interrupted() and boundary != prepared.until:
                    self.record.boundaries.append(here)
                    return (
                        Outcome.INTERRUPTED,
                        f"interrupted at t = {end.time:g} s; everything up to there is kept",
                    )
        self.record.boundaries.append(here)
        return Outcome.COMPLETED, ""

    def _to_boundary(self, here: _Boundary, boundary: float) -> tuple[_Boundary, SegmentEnd]:
        """Integrate to a boundary, from chart to chart where one does not reach so far."""
        while True:
            self.record.boundaries.append(here)
            end = self._segment(here, self._reach(here, boundary))
            left = self._left_chart(end)
            ended = not left and (end.status is not Status.REACHED or end.time == boundary)
            if ended or self._lost_for_good():
                return here, end
            if left:
                self.stretch = LONGER * max(abs(end.time - self.entered), SHORTEST * abs(boundary))
                self.entered = end.time
                here = self._on_next_chart(self._next(here, end))
            else:
                self.stretch *= 2.0
                here = self._next(here, end)

    def _reach(self, here: _Boundary, boundary: float) -> float:
        """Return how far to go at once: not much farther than the last chart is known to hold."""
        problem = self.prepared.problem
        if problem.chart is None or problem.chart.choose is None:
            return boundary
        ahead = here.time + self.sign * self.stretch
        return boundary if self.sign * (ahead - boundary) >= 0.0 else ahead

    def _next(self, here: _Boundary, end: SegmentEnd) -> _Boundary:
        """Return the start of the segment after one that has ended."""
        problem, solver = self.prepared.problem, self.prepared.solver
        state = end.state.copy()
        if problem.project is not None and not solver.projects_steps:
            values = self.record.modes[here.mode]
            projected = np.asarray(problem.project(end.time, state, values)).ravel()
            state = projected if np.all(np.isfinite(projected)) else state
        after = _Boundary(end.time, state, here.turns.copy(), here.mode)
        self._wrap(after)
        return after

    def _left_chart(self, end: SegmentEnd) -> bool:
        problem = self.prepared.problem
        charted = problem.chart is not None and problem.chart.choose is not None
        stopped = end.status is Status.STOPPED and bool(end.hits)
        return charted and stopped and end.hits[-1].index == len(problem.events) - 1

    def _on_next_chart(self, here: _Boundary) -> _Boundary:
        """Choose the independent velocities anew."""
        problem = self.prepared.problem
        assert problem.chart is not None
        assert problem.chart.choose is not None
        values = self.record.modes[here.mode]
        states = problem.visible(np.array([here.time]), here.state[None, :], values)[0]
        chosen = problem.chart.choose(here.time, states, values, self.prepared.path)
        works = here.state[problem.chart.embed.nnz_in(1) :]
        entered = problem.enter(here.time, states, chosen, works)
        self.record.modes.append(chosen)
        self.monitor.change_values(chosen)
        return replace(here, state=entered, mode=len(self.record.modes) - 1)

    def _segment(self, here: _Boundary, boundary: float) -> SegmentEnd:
        prepared = self.prepared
        pending = self.times[self.order[len(self.record.samples) :]]
        at = pending[self.sign * (pending - boundary) <= 0.0]
        start = State(here.time, here.state, self.record.modes[here.mode])
        try:
            end = prepared.solver.segment(prepared.problem, start, boundary, at, self._watch)
        except _UntrustedError:
            end = self._up_to_loss(start, at)
        self._keep(end.samples, here)
        for hit in end.hits[:-1] if self._left_chart(end) else end.hits:
            if not self._seen(hit):
                self.record.events.append(self._event(hit, here))
        self.record.steps += end.steps
        self.record.rhs_evaluations += end.rhs_evaluations
        return end

    def _watch(self, block: StepBlock) -> None:
        self.monitor.observe(block)
        if self.monitor.breach is not None or self._lost_for_good():
            raise _UntrustedError

    def _up_to_loss(self, start: State, at: np.ndarray) -> SegmentEnd:
        """Integrate again, as far as the run is to be trusted: for samples and events."""
        loss, prepared = self.monitor.breach or self.monitor.lost_grip, self.prepared
        assert loss is not None
        until = loss.last_time
        if self.sign * (until - start.time) <= 0.0:
            nothing = np.empty((0, prepared.problem.size))
            return SegmentEnd(Status.FAILED, "", until, loss.last_state, nothing, (), 0, 0)
        kept = at[self.sign * (at - until) <= 0.0]
        return prepared.solver.segment(prepared.problem, start, until, kept, _ignore)

    def _seen(self, hit: EventHit) -> bool:
        """Tell whether an event at a boundary was counted in the segment before."""
        name = self.prepared.problem.events[hit.index].name
        near = 1e-14 * max(abs(hit.time), 1.0)
        recent = itertools.takewhile(
            lambda event: abs(hit.time - event.time) <= near, reversed(self.record.events)
        )
        return any(event.name == name for event in recent)

    def _take_samples_at_start(self, here: _Boundary) -> None:
        count = int(np.sum(self.times == self.prepared.start_time))
        self._keep([here.state] * count, here)

    def _keep(self, samples: Iterable[np.ndarray], here: _Boundary) -> None:
        """Keep samples wrapped, so that what is computed from them loses no digits."""
        for sample in samples:
            self.record.samples.append(sample)
            self.record.sampled_at.append(here)

    def _wrap(self, here: _Boundary) -> None:
        """Take whole turns out of the angles, exactly."""
        if not self.angles.size:
            return
        angles = here.state[self.angles]
        turns = np.round(angles / (2.0 * math.pi))
        if not np.all(np.isfinite(turns)):
            return
        for part in TURN_PARTS:
            angles = angles - turns * part
        here.state[self.angles] = angles
        here.turns += turns.astype(int)

    def _unwrapped(self, state: np.ndarray, here: _Boundary) -> np.ndarray:
        if not self.angles.size:
            return state
        whole = state.copy()
        whole[self.angles] += 2.0 * math.pi * here.turns
        return whole

    # -- how it ends --------------------------------------------------------------------------

    def _stopped_at_start(self, here: _Boundary) -> tuple[Outcome, str] | None:
        """Find a stopping event whose guard is past zero already: a crossing cannot show it."""
        problem = self.prepared.problem
        if not problem.events:
            return None
        guards = self._evaluate(problem.guards, here)
        for index, event in enumerate(problem.events):
            past = -event.direction.value * guards[index] < 0.0
            if event.then.stops and event.direction.value and past:
                self.record.events.append(self._event(EventHit(index, here.time, here.state), here))
                self.record.boundaries.append(here)
                return (
                    Outcome.STOPPED_BY_EVENT,
                    f"the event {event.name!r} holds at the start already",
                )
        return None

    def _evaluate(self, function: Any, here: _Boundary) -> np.ndarray:
        return evaluate_block(
            function, np.array([here.time]), here.state[None, :], self.record.modes[here.mode]
        )[0][0]

    def _lost_for_good(self) -> bool:
        if self.monitor.breach is not None:
            return True
        lost = self.monitor.lost_grip
        if lost is None or self.prepared.rank_loss == "pass":
            return False
        at_rest = set(lost.goals) <= set(self.prepared.problem.singular_goals)
        return not (at_rest and self.prepared.solver.steps_over)

    def _cut(self, end: SegmentEnd) -> SegmentEnd:
        """Take back what lies beyond the last step that is to be trusted."""
        lost = self.monitor.breach or self.monitor.lost_grip
        assert lost is not None
        ordered = self.times[self.order[: len(self.record.samples)]]
        kept = int(np.sum(self.sign * (ordered - lost.last_time) <= 0.0))
        del self.record.samples[kept:], self.record.sampled_at[kept:]
        self.record.events = [
            event for event in self.record.events if self.sign * (event.time - lost.last_time) <= 0
        ]
        if isinstance(lost, Breach):
            detail = self._named(lost.last_time, lost.last_state, self.record.boundaries[-1])
            self.record.events.append(EventRecord(lost.time, lost.event, detail))
        return replace(end, time=lost.last_time, state=lost.last_state)

    def _verdict(self, end: SegmentEnd) -> tuple[Outcome, str] | None:
        breach, lost = self.monitor.breach, self.monitor.lost_grip
        if breach is not None:
            return Outcome.DEGENERATE, breach.sentence
        if lost is not None and self._lost_for_good():
            return Outcome.DEGENERATE, self._loss(lost.time, lost.goals)
        if end.status is Status.FAILED:
            weakest = self.monitor.weakest()
            if weakest:
                return Outcome.DEGENERATE, self._loss(end.time, weakest)
            return (
                Outcome.FAILED,
                f"at t = {end.time:.10g} s {end.message}; loosen the tolerance, lower the rates "
                "or take another solver",
            )
        if end.status is Status.STOPPED:
            return (
                Outcome.STOPPED_BY_EVENT,
                f"the event {self.record.events[-1].name!r} at t = {end.time:.10g} s",
            )
        return None

    def _loss(self, moment: float, goals: Sequence[str]) -> str:
        """Say which reactions lost their grip, why, and what to change."""
        names = ", ".join(map(repr, goals))
        why = "constraints depend on each other there; ask for rank_loss = 'pass', or end before"
        if self.prepared.rank_loss == "pass":
            why = "the run could not pass; raise the rate, for instance to 'auto', or end before"
        if set(goals) <= set(self.prepared.problem.singular_goals):
            why = (
                "no reaction influences them there, as at rest; pose them linear in the "
                "velocities, step over it with a fixed step, or end before"
            )
        return f"at t = {moment:.10g} s the reactions of {names} lost their grip: {why}"

    # -- the result ---------------------------------------------------------------------------

    def _event(self, hit: EventHit, here: _Boundary) -> EventRecord:
        detail = self._named(hit.time, hit.state, here)
        return EventRecord(hit.time, self.prepared.problem.events[hit.index].name, detail)

    def _named(self, moment: float, x: np.ndarray, here: _Boundary) -> dict[str, float]:
        """Return the states by name, with their whole turns, after a boundary."""
        problem = self.prepared.problem
        values = self.record.modes[here.mode]
        states = problem.visible(np.array([moment]), x[None, :], values)[0]
        unwrapped = self._unwrapped(states, here)
        return {n: float(v) for n, v in zip(problem.labels.states, unwrapped, strict=True)}

    def _assemble(self, outcome: Outcome, message: str) -> Trajectory:
        prepared, problem = self.prepared, self.prepared.problem
        count = len(self.record.samples)
        reached = np.sort(self.order[:count])
        position = np.argsort(self.order[:count], kind="stable")
        times = self.times[reached]
        table, reactions, outputs = self._tables(times, position)
        labels = problem.labels
        last = self.record.boundaries[-1]
        drift = self.monitor.drift()
        description = describe(prepared)
        if len(self.record.modes) > 1:
            description["notes"].append(
                f"independent velocities chosen anew {len(self.record.modes) - 1} times"
            )
        if self.monitor.passages and self.monitor.breach is None:
            description["notes"].append(
                f"passed positions where constraints lose rank {self.monitor.passages} times"
            )
        lost = self.monitor.lost_grip
        if lost is not None and not self.monitor.passages and not self._lost_for_good():
            description["notes"].append(
                f"went on past t = {lost.time:.10g} s, where {', '.join(lost.goals)} lost their "
                "grip, and wherever else they did"
                + (
                    ": at rest the goals do not tell how the motion goes on"
                    if set(lost.goals) <= set(problem.singular_goals)
                    else ""
                )
            )
        untrusted = [n for n, d in drift.items() if not d.max_relative <= 1e-2 and not d.note]
        if untrusted:
            description["notes"].append(
                f"not to be trusted: the residual of {', '.join(untrusted)} grew beyond a "
                "hundredth of its scale"
            )
        return Trajectory(
            times=times,
            states=_by_name(labels.states, table),
            reactions=_by_name(labels.reactions, reactions),
            outputs=_by_name(labels.outputs, outputs),
            drift=drift,
            events=tuple(self.record.events),
            event_count=len(self.record.events),
            outcome=outcome,
            message=message,
            end_time=last.time,
            start=prepared.start.changes,
            end_state=self._named(last.time, last.state, last),
            units=labels.units(),
            description=description,
            statistics=Statistics(
                steps=self.record.steps,
                rhs_evaluations=self.record.rhs_evaluations,
                compile_seconds=prepared.compilation.seconds,
                compile_cached=prepared.compilation.cached,
                wall_seconds=self.record.wall_seconds,
                instructions=problem.rhs.n_instructions(),
            ),
            _evaluate=self._point,
        )

    def _tables(
        self, times: np.ndarray, position: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return states, reactions and outputs at the samples, each with the p of its time."""
        problem, labels = self.prepared.problem, self.prepared.problem.labels
        places = [self.record.sampled_at[index] for index in position]
        table = np.array(self.record.samples).reshape(len(places), problem.size)[position]
        modes = np.array([place.mode for place in places], dtype=int)
        turns = np.array([p.turns for p in places], dtype=float).reshape(
            len(places), len(self.angles)
        )
        states = np.empty((len(places), len(labels.states)))
        reactions = np.empty((len(places), len(labels.reactions)))
        outputs = np.empty((len(places), len(labels.outputs)))
        for mode in np.unique(modes):
            chosen, values = modes == mode, self.record.modes[mode]
            states[chosen] = problem.visible(times[chosen], table[chosen], values)
            _, reactions[chosen], outputs[chosen] = evaluate_block(
                problem.recover, times[chosen], table[chosen], values
            )
        states[:, self.angles] += 2.0 * math.pi * turns
        return states, reactions, outputs

    def _point(self, moment: float) -> Point:
        """Integrate from the last boundary before a time, with the run's own solver."""
        prepared, problem = self.prepared, self.prepared.problem
        first, last = self.record.boundaries[0], self.record.boundaries[-1]
        low, high = min(first.time, last.time), max(first.time, last.time)
        if not is_number(moment):
            raise OutOfRangeError(f"the time is {moment!r}, but must be a number")
        if not low <= moment <= high:
            raise OutOfRangeError(f"the run covers {low:g} to {high:g} s, not t = {moment:g} s")
        here = [b for b in self.record.boundaries if self.sign * (b.time - moment) <= 0.0][-1]
        state, values = here.state, self.record.modes[here.mode]
        if moment != here.time:
            end = prepared.solver.segment(
                problem, State(here.time, here.state, values), moment, np.array([moment]), _ignore
            )
            state = end.state
        _, reactions, outputs = evaluate_block(
            problem.recover, np.array([moment]), state[None, :], values
        )
        labels = problem.labels
        numbers = zip(labels.reactions + labels.outputs, (*reactions[0], *outputs[0]), strict=True)
        return Point(moment, self._named(moment, state, here) | {n: float(v) for n, v in numbers})


def describe(prepared: Prepared) -> dict[str, Any]:
    """Return what a run is, in words and numbers, for the report."""
    return {
        "parameters": dict(prepared.parameters),
        "formulation": prepared.formulation.title,
        "solver": prepared.solver.name,
        "rates": dict(prepared.rates),
        "tolerances": prepared.solver.tolerances(),
        "start_time": prepared.start_time,
        "until": prepared.until,
        "segment": prepared.segment,
        "notes": list(prepared.notes),
    }


def _by_name(names: Sequence[str], table: np.ndarray) -> dict[str, np.ndarray]:
    return {name: table[:, index].copy() for index, name in enumerate(names)}


def _ignore(block: StepBlock) -> None:
    """Watch nothing."""


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, so that the segment under way is finished and kept."""
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous = signal.getsignal(signal.SIGINT)

    def remember(number: int, frame: FrameType | None) -> None:
        if pressed:
            signal.signal(signal.SIGINT, previous)
            raise KeyboardInterrupt
        pressed.append(number)

    signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, previous)
