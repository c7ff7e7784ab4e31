"""SciPy's adaptive methods with the right-hand side compiled by CasADi: dop853, lsoda."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.integrate import DOP853, LSODA, OdeSolution, OdeSolver

from daesolve.algebra.evaluation import BufferedFunction
from daesolve.algebra.translation import evaluate_block
from daesolve.formulations import OdeProblem
from daesolve.solvers.base import (
    EventHit,
    Observer,
    Pace,
    SegmentEnd,
    Solver,
    State,
    Status,
    positive,
)
from daesolve.solvers.error_control import ErrorControlled
from daesolve.solvers.guards import Steps, find_events, inner_states
from daesolve.solvers.jacobians import exact_jacobian
from daesolve.trajectory.results import StepBlock

BLOCK = 500
"""Steps after which events are looked for, and the monitors see them, at the latest."""
STUCK_AFTER = 200
"""Steps that must have moved the time."""
REPEATED_BY = 1000
"""Steps beyond which a part of one step cannot be repeated."""
SMALLEST_RTOL = 100 * np.finfo(float).eps
"""SciPy's methods cannot do with less."""


def has_failed(stepper: OdeSolver) -> bool:
    """Tell whether a method could not take its last step."""
    return stepper.status == "failed"


@dataclass(frozen=True)
class _ScipySolver(ErrorControlled):
    method: ClassVar[type[OdeSolver]]
    dense_is_exact: ClassVar[bool] = False
    needs_jacobian: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_below_smallest()

    @property
    def smallest_rtol(self) -> float:
        """What SciPy's methods can do with."""
        return SMALLEST_RTOL

    def stepper(
        self, problem: OdeProblem, rate: BufferedFunction, state: State, until: float, first: float
    ) -> OdeSolver:
        """Make SciPy's stepper."""
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol}
        if first:
            options["first_step"] = min(first, abs(until - state.time))
        if self.needs_jacobian:
            options["jac"] = exact_jacobian(problem, state.p)
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
        self.project = (
            BufferedFunction(problem.project, state.p)
            if problem.project is not None and solver.projects_steps
            else None
        )
        self.sign = 1.0 if until >= state.time else -1.0
        self.times = [state.time]
        self.states = [state.x.copy()]
        self.samples: list[np.ndarray] = []
        self.hits: list[EventHit] = []
        self.told = 0

    def run(self, observe: Observer) -> SegmentEnd:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            status, message = self._steps(observe)
        samples = np.array(self.samples).reshape(len(self.samples), len(self.start.x))
        return SegmentEnd(
            status,
            message,
            self.times[-1],
            self.states[-1],
            samples,
            tuple(self.hits),
            len(self.times) - 1,
            self.rate.calls,
        )

    def _steps(self, observe: Observer) -> tuple[Status, str]:
        if not np.all(np.isfinite(self.rate(self.start.time, self.start.x))):
            return Status.FAILED, "the rate of the state is not finite"
        stepper = self.solver.stepper(self.problem, self.rate, self.start, self.until, 0.0)
        outcome = Status.REACHED, ""
        while outcome[0] is Status.REACHED and stepper.status == "running":
            first = len(self.times) - 1
            outcome = self._block(stepper)
            if self._stopped(first):
                outcome = Status.STOPPED, ""
            if len(self.times) > first + 1:
                times, states = self.times[first + 1 :], self.states[first + 1 :]
                spent, self.told = self.rate.calls - self.told, self.rate.calls
                halts = observe(StepBlock(np.array(times), np.array(states), spent)) is True
                outcome = self._sample_again(first) or outcome
                if halts and outcome[0] is Status.REACHED:
                    outcome = Status.HALTED, ""
        return outcome

    def _block(self, stepper: OdeSolver) -> tuple[Status, str]:
        """Take some steps, and samples where the method's own interpolant gives them."""
        pace, due = Pace(BLOCK), False
        while stepper.status == "running" and not due:
            message = stepper.step()
            time, state = float(stepper.t), stepper.y.copy()
            if self._stuck(time):
                return Status.FAILED, "the steps have become too small to go on"
            if has_failed(stepper) or not np.all(np.isfinite(state)):
                return Status.FAILED, message or "the state is no longer finite"
            if self.solver.dense_is_exact:
                self._sample(stepper, time)
            if self.project is not None:
                state = self.project(time, state)
                stepper.y = state.copy()
                setattr(stepper, "f", self.rate(time, state))  # noqa: B010 - of these methods only
            due = pace.due(time - self.times[-1])
            self.times.append(time)
            self.states.append(state)
        return Status.REACHED, ""

    def _stuck(self, time: float) -> bool:
        """Tell whether many steps have led nowhere."""
        if len(self.times) <= STUCK_AFTER:
            return False
        moved = abs(time - self.times[-STUCK_AFTER])
        return moved < 1e-12 * max(abs(time), abs(self.until - self.start.time))

    def _beside(self, before: tuple[float, np.ndarray], time: float) -> OdeSolver:
        """Start from the start of a step to a time within it, beside the main sequence."""
        side = State(before[0], before[1], self.start.p)
        return self.solver.stepper(self.problem, self.rate, side, time, abs(time - before[0]))

    def _advance(self, before: tuple[float, np.ndarray], time: float) -> np.ndarray | None:
        """Integrate from the start of a step to a time within it; None where it takes too long."""
        if time == before[0]:
            return before[1]
        stepper = self._beside(before, time)
        for number, _ in enumerate(_steps_that_move(stepper)):
            if number >= REPEATED_BY:
                return None
        return stepper.y.copy()

    def _again(
        self, before: tuple[float, np.ndarray], end: float
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Take a step once more, for its interpolant: most steps never need theirs."""
        stepper = self._beside(before, end)
        pieces = [(float(stepper.t), stepper.dense_output()) for _ in _steps_that_move(stepper)]
        if not pieces:
            return lambda moments: np.repeat(before[1][:, None], len(moments), axis=1)
        return OdeSolution([before[0], *(time for time, _ in pieces)], [p for _, p in pieces])

    def _sample(self, stepper: OdeSolver, end: float) -> None:
        """Take the samples up to the end of a step that is not yet written down."""
        dense = None
        for time in self._pending(end):
            if time == end:
                self.samples.append(stepper.y.copy())
            else:
                dense = stepper.dense_output() if dense is None else dense
                self.samples.append(np.array(dense(time)))

    def _sample_again(self, first: int) -> tuple[Status, str] | None:
        """Take the samples in the steps since one, each by a step from the step before it.

        A step that many small ones cannot repeat passed over what it did not see: the run ends
        before it.
        """
        ends = self.sign * np.array(self.times[first:])
        for time in self._pending(self.times[-1]):
            step = first + int(np.searchsorted(ends, self.sign * time))
            if self.times[step] == time:
                self.samples.append(self.states[step].copy())
            else:
                found = self._advance((self.times[step - 1], self.states[step - 1]), time)
                if found is None:
                    del self.times[step:], self.states[step:]
                    return Status.FAILED, "a step passed over a singular position"
                self.samples.append(found)
        return None

    def _pending(self, end: float) -> list[float]:
        rest = self.at[len(self.samples) :]
        return [float(time) for time in rest[self.sign * (rest - end) <= 0.0]]

    def _stopped(self, first: int) -> bool:
        """Write the events down since a step; end at the first one that stops, if any does."""
        if not self.problem.events or self.times[-1] == self.times[first]:
            return False
        for hit in find_events(self.problem, self.start.p, self._since(first)):
            self.hits.append(hit)
            if self.problem.guarded[hit.index].then.interrupts:
                kept = int(np.sum(self.sign * (np.array(self.times) - hit.time) < 0.0))
                self.times[kept:], self.states[kept:] = [hit.time], [hit.state]
                reached = self.sign * (self.at[: len(self.samples)] - hit.time) <= 0.0
                del self.samples[int(np.sum(reached)) :]
                return True
        return False

    def _since(self, first: int) -> Steps:
        times, states = np.array(self.times[first:]), np.array(self.states[first:])
        # A method that is stuck takes steps of no length.
        moved = np.append(True, np.diff(times) != 0.0)
        times, states = times[moved], states[moved]
        rates = evaluate_block(self.problem.rhs, times, states, self.start.p)[0]

        @functools.cache
        def interpolant(step: int) -> Callable[[np.ndarray], np.ndarray]:
            return self._again((times[step], states[step]), times[step + 1])

        def dense(moments: np.ndarray) -> np.ndarray:
            steps = np.searchsorted(self.sign * times, self.sign * moments, side="right") - 1
            steps = np.clip(steps, 0, len(times) - 2)
            found = np.empty((len(moments), states.shape[1]))
            for step in np.unique(steps):
                found[steps == step] = interpolant(int(step))(moments[steps == step]).T
            return found

        def advance(step: int, time: float) -> np.ndarray:
            found = self._advance((times[step], states[step]), time)
            return dense(np.array([time]))[0] if found is None else found

        return Steps(times, states, inner_states(times, states, rates), dense, advance)


def _steps_that_move(stepper: OdeSolver) -> Iterator[None]:
    """Step on to the end; give up where many steps in a row have no length."""
    still, time = 0, stepper.t
    while stepper.status == "running" and still < STUCK_AFTER:
        stepper.step()
        still = 0 if stepper.t != time else still + 1
        if not still:
            yield
        time = stepper.t


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
    projects_steps = True
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

    def refined(self) -> Solver:
        """Return the method with a tenth of the tolerances, or half the fixed step."""
        if self.fixed_step is not None:
            return replace(self, fixed_step=self.fixed_step / 2)
        return super().refined()

    def stepper(
        self, problem: OdeProblem, rate: BufferedFunction, state: State, until: float, first: float
    ) -> OdeSolver:
        """Make SciPy's stepper, with steps of one length if that was asked for."""
        if self.fixed_step is None:
            return super().stepper(problem, rate, state, until, first)
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
