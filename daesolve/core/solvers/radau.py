"""Radau IIA with exact Jacobians, for stiff equations with many interruptions.

A one-step method continues from an event at once, and a step to a time within a step is as accurate
as the whole one: events are located by such steps, not by a polynomial of lower order. Samples are
of the polynomial with what the estimate of the error adds, which is within the tolerance.

A call of `guards.find_events`, which serves many steps at once, costs some milliseconds: it is
called only where a few values of a step's polynomial do not show that no guard passes zero.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from daesolve.core.expressions.blocks import StateFunction, evaluate_block
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.base import NEWTON, Compilation
from daesolve.core.solvers.collocation import ITERATIONS, Collocated, CollocationStepper, radau
from daesolve.core.solvers.dense_segments import INNER, AcceptedSteps
from daesolve.core.solvers.error_control import ErrorControlled
from daesolve.core.solvers.guards import LOOKS, find_events
from daesolve.core.solvers.jacobians import bordered
from daesolve.core.solvers.phase_splitting import FAR, phase_advance
from daesolve.core.solvers.segment import (
    NO_RATE,
    EventHit,
    State,
    StepError,
    first_stop,
)
from daesolve.core.solvers.shapes import dips, unresolved
from daesolve.core.solvers.stepping import REPEATED_BY, Step, Stepper
from daesolve.core.solvers.unresolved_terms import phases
from daesolve.errors import OutOfRangeError, is_one_of

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
        3 (order 5), 5 (order 9) or 7 (order 13); None takes 7 for large systems, 3 for others with
        tolerances above 1e-7, else 5.
    """

    stages: int | None = None
    name: ClassVar[str] = "radau"
    projects_steps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_below_smallest()
        if not is_one_of(self.stages, (None, *ITERATIONS)):
            raise OutOfRangeError(f"{self.name}: stages is {self.stages!r}, but must be 3, 5 or 7")

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

    def compile(self, problem: OdeProblem) -> Compilation:
        """Build the functions that a step needs."""
        begun = time.perf_counter()
        self._stepper(problem, problem.value_vector({}))
        return Compilation(time.perf_counter() - begun)

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Stepper:
        """Return the method at work."""
        return self._stepper(problem, start.p)

    def _stepper(self, problem: OdeProblem, p: np.ndarray) -> Stepper:
        stages = self.stages or (3 if self.rtol > FINE else 5)
        if self.stages is None and bordered(problem):
            stages = max(ITERATIONS)
        return _Stepper(Collocated(problem, p, radau(stages), self.rtol, self.atol))


class _Stepper(Stepper):
    """Steps of collocation, with the events in each."""

    samples_each_step = True

    def __init__(self, method: Collocated) -> None:
        super().__init__(method.problem, method.p)
        self._method = method
        self._main: CollocationStepper | None = None
        self._looks = StateFunction(method.problem.guards, method.p, LOOKS + 1)
        self._swings = phases(method.problem.guards) is not None

    @property
    def evaluations(self) -> int:
        """How many right-hand sides were evaluated."""
        return self._method.evaluations

    def steps(self, start: State, until: float) -> Iterator[Step]:
        """Yield the ends of steps."""
        self._main = main = CollocationStepper(self._method, start.time, start.x.copy(), until)
        if not np.all(np.isfinite(main.f)):
            raise StepError(NO_RATE)
        while main.time != until:
            message = main.step()
            if message:
                raise StepError(message)
            yield main.time, main.x

    def step_hits(self) -> list[EventHit]:
        """Return the events in the last step, up to the first that interrupts, and with it."""
        assert self._main is not None
        values = self._guards_within(self._main)
        near = _is_near(values) and not (np.all(np.isfinite(values)) and _is_clear(values))
        if not near and not self._turns_far(self._main):
            return []
        found = find_events(self.problem, self.p, self._as_block(self._main))
        stop = first_stop(self.problem, found)
        if stop is None:
            return found
        count = found.index(stop) + 1
        return [*found[:count], *self._passed(stop, found[count:])]

    def within(self, time: float) -> np.ndarray:
        """Return the state at a time in the last step."""
        main, project = self._main, self._method.project
        assert main is not None
        parts = np.array([(time - main.start[0]) / main.step_taken])
        found = main.inside(parts)[0]
        return found if project is None else project(time, found)

    def _advance(self, time: float) -> np.ndarray | None:
        """Step from the start of the last step to a time in it; None if it takes too long."""
        main, method = self._main, self._method
        assert main is not None
        before, x = main.start[0], main.start[1][: method.problem.size]
        if time == before:
            return x
        once = main.shortened(time - before)
        if once is not None:
            return once if method.project is None else method.project(time, once)
        beside = CollocationStepper(method, before, x, time)
        for _ in range(REPEATED_BY):
            if beside.step():
                return None
            if beside.time == time:
                return beside.x
        return None

    def _passed(self, stop: EventHit, others: Sequence[EventHit]) -> list[EventHit]:
        """Return which of other events have happened where the motion is interrupted.

        But for rounding they are at the same time; from there on they would not be seen.
        """
        values = evaluate_block(
            self.problem.guards, np.array([stop.time]), stop.state[None, :], self.p
        )[0][0]
        found: list[EventHit] = []
        for hit in others:
            way = self.problem.guarded[hit.index].direction.value
            if way * values[hit.index] >= 0.0 and (way or values[hit.index] == 0.0):
                found.append(EventHit(hit.index, stop.time, stop.state))
        return found

    def _guards_within(self, main: CollocationStepper) -> np.ndarray:
        """Return the guards at even looks into the step, its ends included, (LOOKS + 1, guards)."""
        start, parts = main.start[0], np.arange(LOOKS + 1) / LOOKS
        states = main.inside(parts)
        states[-1] = main.x
        return self._looks(start + main.step_taken * parts, states)

    def _turns_far(self, main: CollocationStepper) -> bool:
        """Return whether a sine or cosine in a guard turns far in the step."""
        if not self._swings:
            return False
        return bool(phase_advance(self.problem, self.p, self._as_block(main))[0] > FAR)

    def _as_block(self, main: CollocationStepper) -> AcceptedSteps:
        """Return the step as a block of one."""
        start, span = main.start, main.step_taken

        def dense(moments: np.ndarray) -> np.ndarray:
            return main.inside((moments - start[0]) / span)

        def exact(step: int, time: float) -> np.ndarray:
            found = self._advance(time)
            return dense(np.array([time]))[0] if found is None else found

        return AcceptedSteps(
            np.array([start[0], main.time]),
            np.array([start[1][: len(main.x)], main.x]),
            main.inside(np.array([INNER])),
            dense,
            exact,
        )


def _is_near(values: np.ndarray) -> bool:
    """Return whether a guard comes nearer to zero than it moves, or is not finite."""
    moves = np.max(np.abs(values[1:] - values[:-1]), axis=0)
    return not np.all(np.min(np.abs(values), axis=0) > 2.0 * moves)


def _is_clear(values: np.ndarray) -> bool:
    """Return whether guards that come near to zero change no sign, and do not seem to dip."""
    shown = (values[:-1] * values[1:] <= 0.0, dips(values), *unresolved(values))
    return not any(bool(np.any(table)) for table in shown)
