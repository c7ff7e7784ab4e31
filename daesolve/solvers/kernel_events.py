"""Taylor's method by the kernel up to the first guard that interrupts, for motions with resets.

Between resets there are few steps, so that what Python does for each stretch of them counts. Here
all of it is done by `taylor_kernel.halting`. Where that leaves something open (a guard that rests
at zero or grazes it, a step that does not agree with the equations), the segment is integrated by
`KernelIntegrator`, which looks closer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from daesolve.formulations import OdeProblem
from daesolve.solvers.kernel_stepping import KernelIntegrator
from daesolve.solvers.segment import (
    EventHit,
    Observer,
    SegmentEnd,
    State,
    Status,
    believed,
    stacked,
)
from daesolve.solvers.step_checks import UNSEEN, followed
from daesolve.taylor_kernel import halting
from daesolve.taylor_kernel.instructions import instructions
from daesolve.taylor_kernel.marching import LaneStretch, March
from daesolve.trajectory.results import StepBlock

compiled: Any = halting
march_to_guards: Callable[..., tuple[int, int, int]] = compiled.march_to_guards
STEPS, MOST_STEPS = 32, 512
"""Steps that are taken at first before anybody sees them; then twice as many each time."""
MOST_MET = 4
"""Times as many passages of guards that do not interrupt may be in them."""


class KernelEventIntegrator:
    """The kernel at work on one problem and its guards.

    Parameters
    ----------
    tolerance
        As in `Taylor`.
    problem
        Of which `event_stepping.halts_in_kernel` is true.
    """

    def __init__(self, tolerance: float, problem: OdeProblem) -> None:
        self.problem, self.closer = problem, KernelIntegrator(tolerance, problem)
        self.march = March(instructions(followed(problem)), tolerance)
        self._tolerances = tolerance, UNSEEN * tolerance
        self._guards = np.zeros((3, len(problem.guarded)))
        for index, event in enumerate(problem.guarded):
            self._guards[:2, index] = event.direction.value, event.then.interrupts
        self._in_force = b""

    def segment(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate up to the first event that interrupts; see `Solver.segment`."""
        march = self.march
        if self._in_force != (in_force := start.p.tobytes()):
            march.numbers[:, 0] = march.instructions.numbers(start.p)
            self._in_force = in_force
        march.x[:, 0], march.low[:] = start.x, 0.0
        march.time[0, 0], march.time[1, 0], march.end[0] = start.time, 0.0, until
        self._guards[2] = 0.0
        way = _Way(start, until, at)
        most, outcome = STEPS, halting.GOES_ON
        while outcome == halting.GOES_ON and way.time != until:
            allowed = getattr(observe, "remaining", None)
            if allowed is not None:
                most = min(most, max(-(-allowed // march.order), 1))
            outcome, index, stretch, met = self._taken(most, begins=way.steps == 0)
            if outcome == halting.UNDECIDED:
                # From here on somebody looks more closely.
                here = State(way.time, way.state, start.p)
                rest = self.closer.segment(here, until, at[len(way.samples) :], observe)
                return way.joined(rest)
            if way.take(stretch, met, observe, march.order):
                return way.end(Status.HALTED)
            if outcome == halting.HALTED:
                way.hits.append(EventHit(index, way.time, way.state))
                return way.end(Status.STOPPED)
            most = min(2 * most, MOST_STEPS)
        return way.end(Status.REACHED)

    def _taken(self, most: int, *, begins: bool) -> tuple[int, int, LaneStretch, np.ndarray]:
        """Take at most so many steps; return how they ended, the guard that interrupts, and them.

        The last are the passages of other guards: (m, 3) the guard, the step, the part of it.
        """
        march = self.march
        kept = np.empty((most, march.instructions.states, march.order + 1))
        when = np.empty((most, 3, 1))
        met, count = np.empty((MOST_MET * most, 3)), np.zeros(1, dtype=np.int64)
        taken, outcome, index = march_to_guards(
            compiled.VERSION, march.work, march.stride, march.numbers, march.table, march.order,
            march.x, march.low, march.time, march.end, self._tolerances, self._guards, kept, when,
            (met, count), begins,
        )  # fmt: skip
        end = float(march.time[0, 0])
        stretch = LaneStretch(when[:taken, :, 0], kept[:taken], end, march.x[:, 0].copy())
        return outcome, index, stretch, met[: count[0]]


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
        self.samples = [start.x.copy() for time in at if time == start.time]
        self.hits: list[EventHit] = []
        self.steps = self.evaluations = 0

    def take(self, stretch: LaneStretch, met: np.ndarray, observe: Observer, order: int) -> bool:
        """Take in steps; return whether they are the last that the observer wants."""
        if not len(stretch.when):
            return False
        times, states = stretch.times[1:], stretch.states[1:]
        count = believed(observe, times, states)
        whole = count == len(times)
        times, states = times[:count], states[:count]
        if count:
            self.time, self.state = float(times[-1]), states[-1].copy()
        rest = self.at[len(self.samples) :]
        if len(rest):
            pending = rest[self.sign * (rest - self.time) <= 0.0]
            self.samples.extend(stretch.at(pending) if len(pending) else ())
        for guard, step, part in met.tolist():
            high, low, length = stretch.when[int(step)]
            moment = float(high + (low + part * length))
            if self.sign * (moment - self.time) <= 0.0:
                self.hits.append(EventHit(int(guard), moment, stretch.at(np.array([moment]))[0]))
        self.hits.sort(key=lambda hit: self.sign * hit.time)
        self.steps, self.evaluations = self.steps + count, self.evaluations + count * order
        halts = bool(count) and bool(observe(StepBlock(times, states, count * order)))
        return halts or not whole

    def joined(self, rest: SegmentEnd) -> SegmentEnd:
        """Return what the segment gives back, with a rest that another has integrated."""
        own = self.end(rest.status)
        return replace(
            rest,
            samples=np.vstack([own.samples, rest.samples]),
            hits=(*own.hits, *rest.hits),
            steps=own.steps + rest.steps,
            rhs_evaluations=own.rhs_evaluations + rest.rhs_evaluations,
        )

    def end(self, status: Status) -> SegmentEnd:
        """Return what the segment gives back."""
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
