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

from daesolve.errors import OutOfRangeError
from daesolve.monitors import Monitor
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
TURN_PARTS = (6.28125, 0.0019353071693331003, 1.0253376489868793e-11, 1.1650928224373424e-19)
"""2 pi in parts of few digits, so that a whole number of turns (up to 1e7) is exact in each."""

Progress = Callable[[float, "Monitor", int], None]
"""Called after each segment with the time reached, the monitor and the number of events."""


@dataclass(frozen=True)
class Every:
    """Samples at a constant interval, the start and the end included."""

    interval: float


def every(interval: float) -> Every:
    """Ask for samples every `interval` s."""
    if not (math.isfinite(interval) and interval > 0):
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
        count = math.ceil(abs(until - start) / at.interval * (1 - 1e-12))
        inner = start + sign * at.interval * np.arange(count)
        return np.append(inner, until)
    times = np.asarray(at, dtype=float).ravel()
    low, high = min(start, until), max(start, until)
    outside = ~np.isfinite(times) | (times < low) | (times > high)
    if np.any(outside):
        raise OutOfRangeError(
            f"the sample time {times[outside][0]:g} lies outside of the run, {low:g} to {high:g} s"
        )
    return times


@dataclass
class _Boundary:
    """The state at the start of a segment; `turns` are whole turns taken out of its angles."""

    time: float
    state: np.ndarray
    turns: np.ndarray


@dataclass
class _Record:
    """What a run has gathered so far."""

    samples: list[np.ndarray] = field(default_factory=list)
    turns: list[np.ndarray] = field(default_factory=list)
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
        self.record = _Record()
        self.monitor = Monitor(
            prepared.problem, prepared.values, prepared.scales, prepared.start_time
        )
        self.angles = np.array(prepared.wrapped, dtype=int)

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
                self.record.boundaries.append(here)
                end = self._segment(here, boundary)
                verdict = self._verdict(end)
                if verdict is not None and self._lost_for_good():
                    end = self._cut(end)
                here = _Boundary(end.time, end.state.copy(), here.turns.copy())
                self._wrap(here)
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

    def _segment(self, here: _Boundary, boundary: float) -> SegmentEnd:
        prepared = self.prepared
        pending = self.times[self.order[len(self.record.samples) :]]
        at = pending[self.sign * (pending - boundary) <= 0.0]
        end = prepared.solver.segment(
            prepared.problem,
            State(here.time, here.state, prepared.values),
            boundary,
            at,
            self.monitor.observe,
        )
        self._keep(end.samples, here)
        for hit in end.hits:
            if not self._seen(hit):
                self.record.events.append(self._event(hit, here))
        self.record.steps += end.steps
        self.record.rhs_evaluations += end.rhs_evaluations
        return end

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
            self.record.turns.append(here.turns)

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
            function, np.array([here.time]), here.state[None, :], self.prepared.values
        )[0][0]

    def _lost_for_good(self) -> bool:
        lost = self.monitor.lost_grip
        if lost is None or self.prepared.rank_loss == "pass":
            return False
        at_rest = set(lost.goals) <= set(self.prepared.problem.singular_goals)
        return not (at_rest and self.prepared.solver.steps_over)

    def _cut(self, end: SegmentEnd) -> SegmentEnd:
        """Take back what lies beyond the last step before the reactions lost their grip."""
        lost = self.monitor.lost_grip
        assert lost is not None
        ordered = self.times[self.order[: len(self.record.samples)]]
        kept = int(np.sum(self.sign * (ordered - lost.last_time) <= 0.0))
        del self.record.samples[kept:], self.record.turns[kept:]
        self.record.events = [
            event for event in self.record.events if self.sign * (event.time - lost.last_time) <= 0
        ]
        return replace(end, time=lost.last_time, state=lost.last_state)

    def _verdict(self, end: SegmentEnd) -> tuple[Outcome, str] | None:
        lost = self.monitor.lost_grip
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
        if set(goals) <= set(self.prepared.problem.singular_goals):
            why = (
                "no reaction influences them there, as at rest; pose them linear in the "
                "velocities, step over it with a fixed step, or end before"
            )
        return f"at t = {moment:.10g} s the reactions of {names} lost their grip: {why}"

    # -- the result ---------------------------------------------------------------------------

    def _event(self, hit: EventHit, here: _Boundary) -> EventRecord:
        state = self._unwrapped(hit.state, here)
        names = self.prepared.problem.labels.states
        detail = {name: float(value) for name, value in zip(names, state, strict=False)}
        return EventRecord(hit.time, self.prepared.problem.events[hit.index].name, detail)

    def _assemble(self, outcome: Outcome, message: str) -> Trajectory:
        prepared, problem = self.prepared, self.prepared.problem
        count = len(self.record.samples)
        reached = np.sort(self.order[:count])
        position = np.argsort(self.order[:count], kind="stable")
        times = self.times[reached]
        table = np.array(self.record.samples).reshape(count, problem.size)[position]
        _, reactions, outputs = evaluate_block(problem.recover, times, table, prepared.values)
        turns = np.array(self.record.turns).reshape(count, len(self.angles))[position]
        table[:, self.angles] += 2.0 * math.pi * turns
        labels = problem.labels
        last = self.record.boundaries[-1]
        end_state = self._unwrapped(last.state, last)
        drift = self.monitor.drift()
        description = describe(prepared)
        lost = self.monitor.lost_grip
        if lost is not None and not self._lost_for_good():
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
            end_state={
                name: float(value) for name, value in zip(labels.states, end_state, strict=False)
            },
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

    def _point(self, moment: float) -> Point:
        """Integrate from the last boundary before a time, with the run's own solver."""
        prepared, problem = self.prepared, self.prepared.problem
        first, last = self.record.boundaries[0], self.record.boundaries[-1]
        low, high = min(first.time, last.time), max(first.time, last.time)
        if not low <= moment <= high:
            raise OutOfRangeError(f"the run covers {low:g} to {high:g} s, not t = {moment:g} s")
        here = [b for b in self.record.boundaries if self.sign * (b.time - moment) <= 0.0][-1]
        state = here.state
        if moment != here.time:
            end = prepared.solver.segment(
                problem,
                State(here.time, here.state, prepared.values),
                moment,
                np.array([moment]),
                _ignore,
            )
            state = end.state
        _, reactions, outputs = evaluate_block(
            problem.recover, np.array([moment]), state[None, :], prepared.values
        )
        labels = problem.labels
        names = labels.states + labels.reactions + labels.outputs
        visible = self._unwrapped(state, here)[: len(labels.states)]
        numbers = np.concatenate([visible, reactions[0], outputs[0]])
        return Point(moment, {n: float(v) for n, v in zip(names, numbers, strict=True)})


def describe(prepared: Prepared) -> dict[str, Any]:
    """Return what a run is, in words and numbers, for the report."""
    return {
        "parameters": dict(prepared.parameters),
        "formulation": prepared.formulation.name,
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
