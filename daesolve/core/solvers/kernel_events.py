"""Taylor's method by the kernel up to the first guard that interrupts, for motions with resets.

Between resets there are few steps, so that what Python does for each stretch of them counts. Here
all of it is done by `taylor_kernel.halting`. Where that leaves something open (a guard that rests
at zero or grazes it, a step that does not agree with the equations), the segment is integrated by
`KernelIntegrator`, which looks closer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from daesolve.core.expressions.intervals import TimeGuards
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.kernel_stepping import KernelIntegrator, steps_that_fit
from daesolve.core.solvers.observers import Observer
from daesolve.core.solvers.segment import (
    Block,
    EventHit,
    Segment,
    SegmentEnd,
    State,
    Status,
)
from daesolve.core.solvers.series_block import steps_at_once
from daesolve.core.solvers.series_events import scheduled, time_guards
from daesolve.core.solvers.step_checks import LATE, MARGIN, UNSEEN, followed
from daesolve.core.solvers.taylor_kernel import halting
from daesolve.core.solvers.taylor_kernel.instructions import instructions
from daesolve.core.solvers.taylor_kernel.lane_stepping import LaneStepper, LaneStretch

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
        self.stepper = LaneStepper(instructions(followed(problem)), tolerance)
        relative = MARGIN * tolerance
        self.tolerances = tolerance, relative, UNSEEN * relative, LATE
        self._most = min(MOST_STEPS, steps_that_fit(problem.size, self.stepper.order))
        self._guards = np.zeros((3, len(problem.guarded)))
        for index, event in enumerate(problem.guarded):
            self._guards[:2, index] = event.direction.value, event.then.interrupts
        self._in_force: bytes | None = None
        self._room = _Room.of(STEPS, problem.size, self.stepper.order)

    @cached_property
    def _times(self) -> TimeGuards | None:
        return time_guards(self.problem, {event.name for event in self.problem.events})

    def segment(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate up to the first event that interrupts; see `Solver.segment`.

        It may pause before, where a guard of time passes zero.
        """
        if start.time == until:
            return self.closer.segment(start, until, at, observe)
        stepper, _ = self.begin(start, until)
        segment = Segment(self.problem, start, until, at, observe)
        most, outcome = STEPS, halting.GOES_ON
        while outcome == halting.GOES_ON and segment.time != until:
            most = min(most, steps_at_once(segment, stepper.order))
            room = self._room = self._room.grown_to(most)
            taken, outcome, index = self._taken(room, most)
            if outcome == halting.UNDECIDED:
                return self._looked_closer(segment)
            if taken and segment.take(_Block(segment, room, taken, index, stepper.order)):
                break
            most = min(2 * most, self._most)
        return segment.end()

    def _looked_closer(self, segment: Segment) -> SegmentEnd:
        """Let the closer examination take over, which knows less of guards of time."""
        until, p = segment.until, segment.start.p
        stop = scheduled(self._times, segment.time, until, p)
        here, rest = State(segment.time, segment.state, p), segment.pending(stop)
        whole = segment.end().followed_by(self.closer.segment(here, stop, rest, segment.observe))
        pauses = whole.status is Status.REACHED and stop != until
        return replace(whole, status=Status.PAUSED) if pauses else whole

    def begin(self, start: State, until: float) -> tuple[LaneStepper, np.ndarray]:
        """Return the steps that begin somewhere, and the guards as `march_to_guards` takes them."""
        stepper = self.stepper
        if self._in_force != (in_force := start.p.tobytes()):
            stepper.numbers[:, 0] = stepper.instructions.numbers(start.p)
            self._in_force = in_force
        stepper.x[:, 0], stepper.low[:] = start.x, 0.0
        stepper.time[0, 0], stepper.time[1, 0], stepper.end[0] = start.time, 0.0, until
        self._guards[2] = 0.0
        return stepper, self._guards

    def most_steps(self, wanted: int) -> int:
        """Return how many steps fit in memory, at most so many."""
        return min(wanted, steps_that_fit(self.problem.size, self.stepper.order))

    def _taken(self, room: _Room, most: int) -> tuple[int, int, int]:
        """Take at most so many steps; see `march_to_guards`."""
        stepper = self.stepper
        room.met_count[0] = 0
        return march_to_guards(
            compiled.VERSION, stepper.work, stepper.stride, stepper.numbers, stepper.table,
            stepper.order, stepper.x, stepper.low, stepper.time, stepper.end, self.tolerances,
            self._guards, stepper.instructions.borders, room.series, room.when[:most], room.times,
            room.ends, (room.met, room.met_count),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Room:
    """Memory for the results of steps, reused each time; see `march_to_guards`."""

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


def recorded(met: np.ndarray, when: np.ndarray, within: LaneStretch) -> list[EventHit]:
    """Return passages as `march_to_guards` writes them."""
    if not len(met):
        return []
    guards, steps, elapsed = met[:, 0].astype(int), met[:, 1].astype(int), met[:, 2]
    moments = when[steps, 0] + (when[steps, 1] + elapsed)
    found = zip(guards.tolist(), moments.tolist(), within(moments), strict=True)
    return [EventHit(*hit) for hit in found]


class _Block(Block):
    """Steps in the memory of all, with what was found in them."""

    def __init__(self, segment: Segment, room: _Room, taken: int, index: int, order: int) -> None:
        times = np.append(segment.time, room.times[:taken])
        states = np.vstack([segment.state, room.ends[:taken]])
        super().__init__(times, states)
        self._room, self._sign, self._index, self._order = room, segment.sign, index, order
        when, series = room.when[:taken, :, 0].copy(), room.series[:taken]
        self._within = LaneStretch(when, series, float(times[-1]), states[-1])

    def hits(self) -> list[EventHit]:
        """Return what was recorded, and the guard that interrupts."""
        room, end = self._room, (float(self.times[-1]), self.states[-1])
        found = recorded(room.met[: room.met_count[0]], room.when[:, :, 0], self._within)
        hits = [hit for hit in found if self._sign * (hit.time - end[0]) <= 0.0]
        hits.sort(key=lambda hit: self._sign * hit.time)
        return hits if self._index < 0 else [*hits, EventHit(self._index, *end)]

    def samples(self, times: np.ndarray) -> np.ndarray:
        """Return states by the series."""
        return self._within(times)

    def evaluations(self, kept: int) -> int:
        """Count an evaluation for each order."""
        return kept * self._order

    def kept(self) -> LaneStretch:
        """Return the series in memory of their own."""
        return self._within.copied()
