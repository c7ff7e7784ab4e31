"""Taylor's method by the kernel up to the first guard that interrupts, for motions with resets.

Between resets there are few steps, so that what Python does for each stretch of them counts. Here
all of it is done by `taylor_kernel.halting`. Where that leaves something open (a guard that rests
at zero or grazes it, a step that does not agree with the equations), the segment is integrated by
`KernelIntegrator`, which looks closer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from daesolve.core.expressions.intervals import TimeGuards
from daesolve.core.formulations import OdeProblem
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.solvers.kernel_stepping import KernelIntegrator, steps_that_fit
from daesolve.core.solvers.segment import (
    EventHit,
    Observer,
    SegmentEnd,
    State,
    Status,
    believed,
    keeps,
    stacked,
)
from daesolve.core.solvers.series_events import scheduled, time_guards
from daesolve.core.solvers.step_checks import LATE, MARGIN, UNSEEN, followed
from daesolve.core.solvers.taylor_kernel import halting
from daesolve.core.solvers.taylor_kernel.instructions import instructions
from daesolve.core.solvers.taylor_kernel.marching import LaneStepper, LaneStretch

compiled: Any = halting
march_to_guards: Callable[..., tuple[int, int, int]] = compiled.march_to_guards
STEPS, MOST_STEPS = 32, 2048
"""Steps that are taken at first before anybody sees them; then twice as many each time."""
MOST_MET = 4
"""The memory holds this factor times as many passages of guards that do not interrupt."""


class KernelEventIntegrator:
    """The kernel at work on one problem and its guards.

    Parameters
    ----------
    tolerance
        As in `Taylor`.
    problem
        Of which `series_events.halts_in_kernel` is true.
    """

    def __init__(self, tolerance: float, problem: OdeProblem) -> None:
        self.problem, self.closer = problem, KernelIntegrator(tolerance, problem)
        self.march = LaneStepper(instructions(followed(problem)), tolerance)
        relative = MARGIN * tolerance
        self.tolerances = tolerance, relative, UNSEEN * relative, LATE
        self._most = min(MOST_STEPS, steps_that_fit(problem.size, self.march.order))
        self._guards = np.zeros((3, len(problem.guarded)))
        for index, event in enumerate(problem.guarded):
            self._guards[:2, index] = event.direction.value, event.then.interrupts
        self._in_force: bytes | None = None
        self._room = _Room.of(STEPS, problem.size, self.march.order)

    @cached_property
    def _times(self) -> TimeGuards | None:
        return time_guards(self.problem, {event.name for event in self.problem.events})

    def segment(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate up to the first event that interrupts; see `Solver.segment`.

        It may pause before, where a guard of time passes zero.
        """
        if start.time == until:
            return self.closer.segment(start, until, at, observe)
        march, _ = self.begin(start, until)
        way = _Way(start, until, at)
        most, outcome = STEPS, halting.GOES_ON
        while outcome == halting.GOES_ON and way.time != until:
            allowed = getattr(observe, "remaining", None)
            if allowed is not None:
                most = min(most, max(-(-allowed // march.order), 1))
            room = self._room = self._room.grown_to(most)
            taken, outcome, index = self._taken(room, most)
            if outcome == halting.UNDECIDED:
                # From here on the closer examination takes over, which knows less of guards of
                # time.
                here = State(way.time, way.state, start.p)
                stop = scheduled(self._times, way.time, until, start.p)
                rest = at[len(way.samples) :]
                rest = rest[way.sign * (stop - rest) >= 0.0]
                whole = way.joined(self.closer.segment(here, stop, rest, observe))
                pauses = whole.status is Status.REACHED and stop != until
                return replace(whole, status=Status.PAUSED) if pauses else whole
            if taken and way.take(room, taken, observe, march.order):
                return way.end(Status.HALTED)
            if index >= 0:
                way.hits.append(EventHit(index, way.time, way.state))
                return way.end(Status.STOPPED)
            most = min(2 * most, self._most)
        return way.end(Status.REACHED)

    def begin(self, start: State, until: float) -> tuple[LaneStepper, np.ndarray]:
        """Return the steps that begin somewhere, and the guards as `march_to_guards` takes them."""
        march = self.march
        if self._in_force != (in_force := start.p.tobytes()):
            march.numbers[:, 0] = march.instructions.numbers(start.p)
            self._in_force = in_force
        march.x[:, 0], march.low[:] = start.x, 0.0
        march.time[0, 0], march.time[1, 0], march.end[0] = start.time, 0.0, until
        self._guards[2] = 0.0
        return march, self._guards

    def most_steps(self, wanted: int) -> int:
        """Return how many steps fit in memory, at most so many."""
        return min(wanted, steps_that_fit(self.problem.size, self.march.order))

    def _taken(self, room: _Room, most: int) -> tuple[int, int, int]:
        """Take at most so many steps; see `march_to_guards`."""
        march = self.march
        room.met_count[0] = 0
        return march_to_guards(
            compiled.VERSION, march.work, march.stride, march.numbers, march.table, march.order,
            march.x, march.low, march.time, march.end, self.tolerances, self._guards,
            march.instructions.borders, room.series, room.when[:most], room.times, room.ends,
            (room.met, room.met_count),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Room:
    """Memory for the results of a march, reused each time; see `march_to_guards`."""

    series: np.ndarray
    when: np.ndarray
    times: np.ndarray
    ends: np.ndarray
    met: np.ndarray
    met_count: np.ndarray

    @staticmethod
    def of(steps: int, size: int, order: int) -> _Room:
        """Return room for so many steps."""
        return _Room(
            np.empty((steps, size, order + 1)),
            np.empty((steps, 3, 1)),
            np.empty(steps),
            np.empty((steps, size)),
            np.empty((MOST_MET * steps, 3)),
            np.zeros(1, dtype=np.int64),
        )

    def grown_to(self, steps: int) -> _Room:
        """Return room for so many steps at least."""
        if steps <= len(self.times):
            return self
        return _Room.of(steps, self.ends.shape[1], self.series.shape[2] - 1)

    def copied(self, times: np.ndarray, states: np.ndarray) -> LaneStretch:
        """Return the first steps, whose ends are given, in memory of their own."""
        when, series = self.when[: len(times), :, 0].copy(), self.series[: len(times)].copy()
        return LaneStretch(when, series, float(times[-1]), states[-1])

    def states_at(self, taken: int, moments: np.ndarray) -> np.ndarray:
        """Return the states, (j, size), at times, (j,), in their order, within the first steps."""
        return compiled.states_at(compiled.VERSION, self.series, self.when, taken, moments)


def passages_of(met: np.ndarray, when: np.ndarray) -> Iterator[tuple[int, float]]:
    """Yield guards and the times at which they pass, s, as `march_to_guards` writes them."""
    for guard, step, elapsed in met.tolist():
        high, low, _ = when[int(step), :, 0].tolist()
        yield int(guard), high + (low + elapsed)


class _Way:
    """A segment under way.

    Parameters
    ----------
    start, until, at
        Those of the segment.
    """

    def __init__(self, start: State, until: float, at: np.ndarray) -> None:
        self.time, self.state, self.at = start.time, start.x.copy(), at
        self.sign = 1.0 if until >= start.time else -1.0
        self.samples: list[np.ndarray] = []
        for _ in itertools.takewhile(lambda time: time == start.time, at):
            self.samples.append(start.x.copy())
        self.hits: list[EventHit] = []
        self.steps = self.evaluations = 0

    def take(self, room: _Room, taken: int, observe: Observer, order: int) -> bool:
        """Take in steps; return whether they are the last that the observer wants."""
        count = believed(observe, room.times[:taken], room.ends[:taken])
        times, states = room.times[:count].copy(), room.ends[:count].copy()
        if count:
            self.time, self.state = float(times[-1]), states[-1].copy()
        known = len(self.samples)
        pending = self.at[known : max(self._reached(), known)]
        if len(pending):
            self.samples.extend(room.states_at(taken, pending))
        for guard, moment in passages_of(room.met[: room.met_count[0]], room.when):
            if self.sign * (moment - self.time) <= 0.0:
                state = room.states_at(taken, np.array([moment]))[0]
                self.hits.append(EventHit(guard, moment, state))
        if room.met_count[0]:
            self.hits.sort(key=lambda hit: self.sign * hit.time)
        self.steps, self.evaluations = self.steps + count, self.evaluations + count * order
        dense = room.copied(times, states) if count and keeps(observe) else None
        block = StepBlock(times, states, count * order, dense=dense)
        halts = bool(count) and bool(observe(block))
        return halts or count != taken

    def _reached(self) -> int:
        """Return how many sample times have been reached."""
        if self.sign > 0.0:
            return int(self.at.searchsorted(self.time, side="right"))
        return len(self.at) - int(self.at[::-1].searchsorted(self.time, side="left"))

    def joined(self, rest: SegmentEnd) -> SegmentEnd:
        """Return the end of the segment, whose rest another integrator has integrated."""
        return self.end(rest.status).followed_by(rest)

    def end(self, status: Status) -> SegmentEnd:
        """Return the end of the segment."""
        return SegmentEnd(
            status,
            "",
            self.time,
            self.state,
            stacked(self.samples, len(self.state)),
            tuple(self.hits),
            self.steps,
            self.evaluations,
        )
