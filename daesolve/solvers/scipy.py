"""SciPy's adaptive methods with the right-hand side compiled by CasADi: dop853, radau, lsoda."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.integrate import DOP853, LSODA, OdeSolver, Radau

from daesolve.errors import OutOfRangeError
from daesolve.formulations import OdeProblem
from daesolve.solvers.base import (
    BufferedFunction,
    EventHit,
    Observer,
    SegmentEnd,
    Solver,
    State,
    Status,
    positive,
    rhs_jacobian,
)
from daesolve.solvers.guards import FEW, LOOKS, crossings, extrema, locate, worth_a_look
from daesolve.trajectory import StepBlock

STUCK_AFTER = 200
"""Steps that must have moved the time."""
SMALLEST_RTOL = 100 * np.finfo(float).eps
"""SciPy's methods cannot do with less."""


@dataclass(frozen=True)
class _ScipySolver(Solver):
    rtol: float = 1e-10
    atol: float = 1e-12
    method: ClassVar[type[OdeSolver]]
    dense_is_exact: ClassVar[bool] = False
    needs_jacobian: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive(self.name, rtol=self.rtol, atol=self.atol)
        if self.rtol < SMALLEST_RTOL:
            raise OutOfRangeError(
                f"{self.name}: rtol is {self.rtol:g}, but must be at least {SMALLEST_RTOL:.3g}"
            )

    def refusal(self, problem: OdeProblem) -> str | None:
        """Take every explicit problem."""
        return None

    def tolerances(self) -> dict[str, float]:
        """Return rtol and atol."""
        return {"rtol": self.rtol, "atol": self.atol}

    def tightened(self) -> Solver:
        """Return the same method with a tenth of the tolerances."""
        return replace(self, rtol=max(self.rtol / 10, SMALLEST_RTOL), atol=self.atol / 10)

    def _start(
        self, problem: OdeProblem, rate: BufferedFunction, state: State, until: float, first: float
    ) -> OdeSolver:
        """Make SciPy's stepper."""
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol}
        if first:
            options["first_step"] = min(first, abs(until - state.time))
        if self.needs_jacobian:
            options["jac"] = BufferedFunction(rhs_jacobian(problem), state.p).matrix
        return self.method(rate, state.time, state.x, until, **options)

    def segment(
        self,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
    ) -> SegmentEnd:
        """Integrate one segment; see `Solver.segment`."""
        return _Stepping(self, problem, state, until, at).run(observe)


class _Stepping:
    """One segment of one of SciPy's methods, step by step."""

    def __init__(
        self,
        solver: _ScipySolver,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
    ) -> None:
        self.solver, self.problem, self.start, self.until, self.at = (
            solver, problem, state, until, at,
        )  # fmt: skip
        self.rate = BufferedFunction(problem.rhs, state.p)
        self.guards = BufferedFunction(problem.guards, state.p)
        self.directions = [event.direction for event in problem.events]
        self.sign = 1.0 if until >= state.time else -1.0
        self.times: list[float] = []
        self.states: list[np.ndarray] = []
        self.samples: list[np.ndarray] = []
        self.hits: list[EventHit] = []
        self.recent: list[np.ndarray] = []

    def run(self, observe: Observer) -> SegmentEnd:
        status, message = self._steps()
        time, state = self.start.time, self.start.x
        if self.times:
            time, state = self.times[-1], self.states[-1]
            observe(StepBlock(np.array(self.times), np.array(self.states)))
        samples = np.array(self.samples).reshape(len(self.samples), len(self.start.x))
        return SegmentEnd(
            status,
            message,
            time,
            state,
            samples,
            tuple(self.hits),
            len(self.times),
            self.rate.calls,
        )

    def _steps(self) -> tuple[Status, str]:
        if not np.all(np.isfinite(self.rate(self.start.time, self.start.x))):
            return Status.FAILED, "the rate of the state is not finite"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stepper = self.solver._start(self.problem, self.rate, self.start, self.until, 0.0)
            while stepper.status == "running":
                before = (float(stepper.t), stepper.y.copy())
                message = stepper.step()
                if self._stuck(float(stepper.t)):
                    return Status.FAILED, "the steps have become too small to go on"
                if stepper.status == "failed" or not np.all(np.isfinite(stepper.y)):
                    return Status.FAILED, message or "the state is no longer finite"
                after = (float(stepper.t), stepper.y.copy())
                if self.directions and after[0] != before[0]:
                    stop = self._events(stepper, before, after)
                    if stop is not None:
                        self._sample(stepper, before, stop[0])
                        self.times.append(stop[0])
                        self.states.append(stop[1])
                        return Status.STOPPED, ""
                self._sample(stepper, before, after[0])
                self.times.append(after[0])
                self.states.append(after[1])
        return Status.REACHED, ""

    def _stuck(self, time: float) -> bool:
        """Tell whether many steps have led nowhere."""
        if len(self.times) < STUCK_AFTER:
            return False
        moved = abs(time - self.times[-STUCK_AFTER])
        return moved < 1e-12 * max(abs(time), abs(self.until - self.start.time))

    def _advance(self, before: tuple[float, np.ndarray], time: float) -> np.ndarray:
        """Integrate from the start of a step to a time within it, beside the main sequence."""
        if time == before[0]:
            return before[1]
        side = State(before[0], before[1], self.start.p)
        stepper = self.solver._start(self.problem, self.rate, side, time, abs(time - before[0]))
        while stepper.status == "running":
            stepper.step()
        return stepper.y.copy()

    def _sample(self, stepper: OdeSolver, before: tuple[float, np.ndarray], end: float) -> None:
        dense = None
        while len(self.samples) < len(self.at):
            time = float(self.at[len(self.samples)])
            if self.sign * (time - end) > 0:
                return
            if time == stepper.t:
                self.samples.append(stepper.y.copy())
            elif self.solver.dense_is_exact:
                dense = stepper.dense_output() if dense is None else dense
                self.samples.append(np.array(dense(time)))
            else:
                self.samples.append(self._advance(before, time))

    def _events(
        self,
        stepper: OdeSolver,
        before: tuple[float, np.ndarray],
        after: tuple[float, np.ndarray],
    ) -> tuple[float, np.ndarray] | None:
        """Write the step's events down; return where the first one that stops does.

        Where a guard comes near to zero it is looked at within the step too, by the interpolant,
        so that one that passes through zero twice is seen; where it does is found by stepping
        again.
        """
        if not self.recent:
            self.recent.append(self.guards(*before))
        self.recent = [*self.recent[-FEW:], self.guards(*after)]
        if not worth_a_look(np.array(self.recent))[-1]:
            return None
        dense = stepper.dense_output()
        inner = before[0] + (after[0] - before[0]) * np.arange(1, LOOKS) / LOOKS
        coarse = [before, *((float(t), np.array(dense(t))) for t in inner), after]
        table = np.array([self.guards(*point) for point in coarse])
        extra = extrema(np.array([time for time, _ in coarse]), table)
        points: list[tuple[float, np.ndarray]] = sorted(
            [*coarse, *((t, np.array(dense(t))) for t in extra)],
            key=lambda point: self.sign * float(point[0]),
        )
        values = [self.guards(*point) for point in points]
        found: list[EventHit] = []
        for left in range(len(points) - 1):
            for index in crossings(values[left], values[left + 1], self.directions):
                time, state = locate(
                    lambda t, x, index=index: float(self.guards(t, x)[index]),
                    lambda time: self._advance(before, time),
                    points[left],
                    points[left + 1],
                )
                found.append(EventHit(index, time, state))
        found.sort(key=lambda hit: self.sign * hit.time)
        for hit in found:
            self.hits.append(hit)
            if self.problem.events[hit.index].then.stops:
                return hit.time, hit.state
        return None


@dataclass(frozen=True)
class Dop853(_ScipySolver):
    """The explicit Runge-Kutta method of Dormand and Prince, order 8 (Hairer, Norsett, Wanner).

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    fixed_step
        A step in s that is taken whatever the error, None for error control.
    """

    fixed_step: float | None = None
    name = "dop853"
    method = DOP853

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fixed_step is not None:
            positive(self.name, fixed_step=self.fixed_step)

    @property
    def steps_over(self) -> bool:
        """Whether the step is fixed."""
        return self.fixed_step is not None

    def tolerances(self) -> dict[str, float]:
        """Return rtol and atol, or the fixed step."""
        if self.fixed_step is not None:
            return {"fixed_step": self.fixed_step}
        return super().tolerances()

    def tightened(self) -> Solver:
        """Return the method with a tenth of the tolerances, or half the fixed step."""
        if self.fixed_step is not None:
            return replace(self, fixed_step=self.fixed_step / 2)
        return super().tightened()

    def _start(
        self, problem: OdeProblem, rate: BufferedFunction, state: State, until: float, first: float
    ) -> OdeSolver:
        if self.fixed_step is None:
            return super()._start(problem, rate, state, until, first)
        # An infinite tolerance makes every error zero, so that each step grows to the largest.
        step = min(self.fixed_step, abs(until - state.time))
        return DOP853(
            rate,
            state.time,
            state.x,
            until,
            first_step=step,
            max_step=self.fixed_step,
            rtol=1e-3,
            atol=np.inf,
        )


@dataclass(frozen=True)
class RadauIIA(_ScipySolver):
    """The implicit Runge-Kutta method Radau IIA, order 5, with the exact Jacobian.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    """

    name = "radau"
    method = Radau
    needs_jacobian = True


@dataclass(frozen=True)
class Lsoda(_ScipySolver):
    """ODEPACK's multistep method, which changes between Adams and BDF, with the exact Jacobian.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    """

    name = "lsoda"
    method = LSODA
    needs_jacobian = True
    dense_is_exact = True
