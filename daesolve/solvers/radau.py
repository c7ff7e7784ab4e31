"""Radau IIA with exact Jacobians, for stiff equations with many interruptions.

A one-step method goes on from an event at once, and a step to a time within a step is as accurate
as the whole one: samples and events are found by such steps, not by a polynomial of lower order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from daesolve.errors import OutOfRangeError
from daesolve.formulations import OdeProblem
from daesolve.solvers.base import (
    NEWTON,
    EventHit,
    Observer,
    Pace,
    SegmentEnd,
    State,
    Status,
)
from daesolve.solvers.collocation import radau
from daesolve.solvers.error_control import ErrorControlled
from daesolve.solvers.implicit_stepper import ITERATIONS, March, Method
from daesolve.solvers.step_watch import StepWatch
from daesolve.trajectory.results import StepBlock

SMALLEST_RTOL = 100 * float(np.finfo(float).eps)
"""Rounding in Newton's iteration allows no less."""
FINE = 1e-7
"""Below this tolerance five stages take less time than three."""
BLOCK = 500
"""Steps after which they are handed over, at the latest."""
STUCK_AFTER = 200
"""Steps that must have moved the time."""
REPEATED_BY = 1000
"""Steps beyond which a part of one step cannot be repeated."""


@dataclass(frozen=True)
class RadauIIA(ErrorControlled):
    """The implicit Runge-Kutta method Radau IIA, with the exact Jacobian.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    stages
        3 (order 5) or 5 (order 9); None takes 3 for tolerances above 1e-7, else 5.
    """

    stages: int | None = None
    name: ClassVar[str] = "radau"
    projects_steps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_below_smallest()
        if self.stages not in (None, *ITERATIONS):
            raise OutOfRangeError(f"{self.name}: stages is {self.stages!r}, but must be 3 or 5")

    @property
    def smallest_rtol(self) -> float:
        """What rounding allows."""
        return SMALLEST_RTOL

    def tolerances(self) -> dict[str, float]:
        """Return rtol and atol, and the stages where they were chosen."""
        stages = {} if self.stages is None else {"stages": self.stages}
        return super().tolerances() | stages

    def converges_to(self, problem: OdeProblem) -> float:
        """Count with an iteration that goes far below the tolerance: to its root, times it."""
        return NEWTON

    def halts_at_events(self, problem: OdeProblem) -> bool:
        """Go no farther than the step in which the first event that interrupts lies."""
        return True

    def segment(
        self,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
    ) -> SegmentEnd:
        """Integrate one segment; see `Solver.segment`."""
        stages = self.stages or (3 if self.rtol > FINE else 5)
        method = Method(problem, state.p, radau(stages), self.rtol, self.atol)
        return Segment(method, state, until, at).run(observe)


class Segment:
    """One segment step by step: its events, samples and blocks of steps."""

    def __init__(self, method: Method, start: State, until: float, at: np.ndarray) -> None:
        self.method, self.start, self.until, self.at = method, start, until, at
        self.sign = 1.0 if until >= start.time else -1.0
        self.march = March(method, start.time, start.x.copy(), until)
        self.times, self.states = [start.time], [start.x.copy()]
        self.samples = [start.x.copy() for time in at if time == start.time]
        self.hits: list[EventHit] = []
        self.watch = StepWatch(method.problem, start.p) if method.problem.events else None
        self.told = 0

    def run(self, observe: Observer) -> SegmentEnd:
        """Integrate; see `Solver.segment`."""
        status, message = Status.REACHED, ""
        if not np.all(np.isfinite(self.march.f)):
            status, message = Status.FAILED, "the rate of the state is not finite"
        handed, pace = 1, Pace(BLOCK)
        while status is Status.REACHED and self.times[-1] != self.until:
            status, message = self._step()
            ended = status is not Status.REACHED or self.times[-1] == self.until
            if ended or pace.due(self.march.step_taken):
                times, states = self.times[handed:], self.states[handed:]
                handed = len(self.times)
                if times:
                    spent, self.told = self.method.evaluations - self.told, self.method.evaluations
                    block = StepBlock(np.array(times), np.array(states), spent)
                    if observe(block) is True and status is Status.REACHED:
                        status = Status.HALTED
        return SegmentEnd(
            status,
            message,
            self.times[-1],
            self.states[-1],
            np.array(self.samples).reshape(len(self.samples), len(self.start.x)),
            tuple(self.hits),
            len(self.times) - 1,
            self.method.evaluations,
        )

    def _step(self) -> tuple[Status, str]:
        march = self.march
        message = march.step()
        if message:
            return Status.FAILED, message
        if not np.all(np.isfinite(march.x)):
            return Status.FAILED, "the state is no longer finite"
        if self._stuck(march.time):
            return Status.FAILED, "the steps have become too small to go on"
        end, state, stopped = march.time, march.x, False
        hits = [] if self.watch is None else self.watch.hits(march, self._advance)
        for number, hit in enumerate(hits):
            self.hits.append(hit)
            if self.method.problem.guarded[hit.index].then.interrupts:
                end, state, stopped = hit.time, hit.state, True
                assert self.watch is not None
                self.hits += self.watch.passed(hit, hits[number + 1 :])
                break
        if not self._sample(end, state):
            return Status.FAILED, "a step passed over a singular position"
        self.times.append(end)
        self.states.append(state)
        return (Status.STOPPED if stopped else Status.REACHED), ""

    def _stuck(self, time: float) -> bool:
        """Tell whether many steps have led nowhere."""
        if len(self.times) <= STUCK_AFTER:
            return False
        moved = abs(time - self.times[-STUCK_AFTER])
        return moved < 1e-12 * max(abs(time), abs(self.until - self.start.time))

    def _sample(self, end: float, state: np.ndarray) -> bool:
        """Take the samples up to the end of a step; return whether it could be repeated."""
        while len(self.samples) < len(self.at):
            time = float(self.at[len(self.samples)])
            if self.sign * (time - end) > 0.0:
                break
            found = state.copy() if time == end else self._advance(time)
            if found is None:
                return False
            self.samples.append(found)
        return True

    def _advance(self, time: float) -> np.ndarray | None:
        """Step from the start of the last step to a time in it; None where it takes too long."""
        march, method = self.march, self.method
        before, x = march.start
        if time == before:
            return x
        once = march.shortened(time - before)
        if once is not None:
            return once if method.project is None else method.project(time, once)
        beside = March(method, before, x, time)
        for _ in range(REPEATED_BY):
            if beside.step():
                return None
            if beside.time == time:
                return beside.x
        return None
