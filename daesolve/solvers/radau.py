"""Radau IIA with exact Jacobians, for stiff equations with many interruptions.

A one-step method goes on from an event at once, and a step to a time within a step is as accurate
as the whole one: samples and events are found by such steps, not by a polynomial of lower order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from daesolve.errors import OutOfRangeError
from daesolve.formulations import OdeProblem
from daesolve.solvers.base import NEWTON
from daesolve.solvers.collocation import radau
from daesolve.solvers.error_control import ErrorControlled
from daesolve.solvers.implicit_stepper import ITERATIONS, Collocated, March
from daesolve.solvers.segment import NO_RATE, UNREPEATABLE, StepError, first_stop
from daesolve.solvers.segment_end import EventHit, State
from daesolve.solvers.step_watch import StepWatch
from daesolve.solvers.stepping import REPEATED_BY, Step, Stepper

SMALLEST_RTOL = 100 * float(np.finfo(float).eps)
"""Rounding in Newton's iteration allows no less."""
FINE = 1e-7
"""Below this tolerance five stages take less time than three."""


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

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Stepper:
        """Return the method at work."""
        stages = self.stages or (3 if self.rtol > FINE else 5)
        return _Stepper(Collocated(problem, start.p, radau(stages), self.rtol, self.atol))


class _Stepper(Stepper):
    """Steps of collocation, with the events in each."""

    samples_each_step = True

    def __init__(self, method: Collocated) -> None:
        super().__init__(method.problem, method.p)
        self._method = method
        self._march: March | None = None
        self._watch = StepWatch(method.problem, method.p) if method.problem.events else None

    @property
    def evaluations(self) -> int:
        """How many right-hand sides were evaluated."""
        return self._method.evaluations

    def steps(self, start: State, until: float) -> Iterator[Step]:
        """Yield the ends of steps."""
        self._march = march = March(self._method, start.time, start.x.copy(), until)
        if not np.all(np.isfinite(march.f)):
            raise StepError(NO_RATE)
        while march.time != until:
            message = march.step()
            if message:
                raise StepError(message)
            yield march.time, march.x

    def step_hits(self) -> list[EventHit]:
        """Return the events in the last step, up to the first that interrupts, and with it."""
        assert self._march is not None
        assert self._watch is not None
        found = self._watch.hits(self._march, self._advance)
        stop = first_stop(self.problem, found)
        if stop is None:
            return found
        count = found.index(stop) + 1
        return [*found[:count], *self._watch.passed(stop, found[count:])]

    def within(self, time: float) -> np.ndarray:
        """Return the state at a time in the last step, by a step to it."""
        found = self._advance(time)
        if found is None:
            raise StepError(UNREPEATABLE)
        return found

    def _advance(self, time: float) -> np.ndarray | None:
        """Step from the start of the last step to a time in it; None where it takes too long."""
        march, method = self._march, self._method
        assert march is not None
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
