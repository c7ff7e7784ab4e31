"""SciPy's adaptive methods with the right-hand side compiled by CasADi: dop853, lsoda."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy

from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.base import Solver, positive
from daesolve.core.solvers.dop853 import Dop853Steps
from daesolve.core.solvers.error_control import ErrorControlled
from daesolve.core.solvers.jacobians import exact_jacobian
from daesolve.core.solvers.observers import Observer
from daesolve.core.solvers.segment import (
    NO_RATE,
    NOT_FINITE,
    SegmentEnd,
    State,
    StepError,
)
from daesolve.core.solvers.stepping import STUCK_AFTER, Interpolant, Step, Stepper

Rate = Callable[[float, np.ndarray], np.ndarray]
SMALLEST_RTOL = 100 * np.finfo(float).eps
"""The smallest tolerance of SciPy's methods."""


LATE = 1e-11
"""If the rounding of time exceeds this fraction of a segment, time is counted from its start."""


def has_failed(stepper: scipy.integrate.OdeSolver | Dop853Steps) -> bool:
    """Return whether a method could not take its last step."""
    return stepper.status == "failed"


@dataclass(frozen=True)
class _ScipySolver(ErrorControlled):
    dense_is_exact: ClassVar[bool] = False
    needs_jacobian: ClassVar[bool] = False
    rounds_steps: ClassVar[bool] = False
    """Whether a step ends where time is rounded, and is not as long as that."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_below_smallest()

    @property
    @abstractmethod
    def method(self) -> type[scipy.integrate.OdeSolver]:
        """SciPy's class of it, imported where it is used."""

    @property
    def smallest_rtol(self) -> float:
        """The smallest tolerance of SciPy's methods."""
        return SMALLEST_RTOL

    def stepper(
        self, problem: OdeProblem, rate: StateFunction, state: State, until: float, first: float
    ) -> scipy.integrate.OdeSolver:
        """Make SciPy's stepper."""
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol}
        if first:
            options["first_step"] = min(first, abs(until - state.time))
        origin = self.origin(state.time, until)

        def counted(function: Rate) -> Rate:
            return function if not origin else lambda time, x: function(origin + time, x)

        if self.needs_jacobian:
            options["jac"] = counted(exact_jacobian(problem, state.p))
        return self.method(counted(rate), state.time - origin, state.x, until - origin, **options)

    def origin(self, start: float, until: float) -> float:
        """Return from when on the method counts time, s."""
        late = np.spacing(max(abs(start), abs(until))) > LATE * abs(until - start)
        return start if self.rounds_steps and late else 0.0

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Stepper:
        """Return SciPy's method at work."""
        return _Stepper(self, problem, start.p)


class _Stepper(Stepper):
    """One of SciPy's methods at work."""

    def __init__(self, solver: _ScipySolver, problem: OdeProblem, p: np.ndarray) -> None:
        super().__init__(problem, p)
        self.solver = solver
        self.samples_each_step = solver.dense_is_exact
        self._project = (
            StateFunction(problem.project, p)
            if problem.project is not None and solver.projects_steps
            else None
        )
        self._main: scipy.integrate.OdeSolver | None = None
        self._dense: scipy.integrate.DenseOutput | None = None
        self._origin = 0.0

    def segment(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate; see `Solver.segment`. SciPy's warnings repeat what it reports."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super().segment(start, until, at, observe)

    def steps(self, start: State, until: float) -> Iterator[Step]:
        """Yield the ends of steps."""
        if not np.all(np.isfinite(self.rate(start.time, start.x))):
            raise StepError(NO_RATE)
        self._main = stepper = self._made(start, until)
        self._origin = origin = self.solver.origin(start.time, until)
        while stepper.status == "running":
            message = stepper.step()
            time, x = _time(stepper, origin, until), stepper.y.copy()
            if has_failed(stepper):
                raise StepError(message or NOT_FINITE)
            self._dense = None
            if self._project is not None and np.all(np.isfinite(x)):
                x = self._project(time, x)
                stepper.y = x.copy()
                setattr(stepper, "f", self.rate(time, x))  # noqa: B010 - of these methods only
            yield time, x

    def _made(self, start: State, until: float, first: float = 0.0) -> scipy.integrate.OdeSolver:
        return self.solver.stepper(self.problem, self.rate, start, until, first)

    def within(self, time: float) -> np.ndarray:
        """Return the state at a time in the last step."""
        assert self._main is not None
        if self._dense is None:
            self._dense = self._main.dense_output()
        return np.array(self._dense(time - self._origin))

    def again(self, start: State, until: float) -> Iterator[Step]:
        """Yield the steps to a time within a step."""
        stepper = self._made(start, until, abs(until - start.time))
        origin = self.solver.origin(start.time, until)
        for _ in _steps_that_move(stepper):
            yield _time(stepper, origin, until), stepper.y.copy()

    def interpolant(self, start: State, end: float) -> Interpolant:
        """Take a step once more, for SciPy's interpolant."""
        stepper = self._made(start, end, abs(end - start.time))
        pieces = [(float(stepper.t), stepper.dense_output()) for _ in _steps_that_move(stepper)]
        if not pieces:
            return lambda moments: np.repeat(start.x[None, :], len(moments), axis=0)
        origin = self.solver.origin(start.time, end)
        times = [start.time - origin, *(time for time, _ in pieces)]
        dense = scipy.integrate.OdeSolution(times, [p for _, p in pieces])
        return lambda moments: dense(moments - origin).T


def _time(stepper: scipy.integrate.OdeSolver, origin: float, until: float) -> float:
    """Return when the last step ended."""
    if origin and stepper.status == "finished":
        return until
    return origin + float(stepper.t)


def _steps_that_move(stepper: scipy.integrate.OdeSolver) -> Iterator[None]:
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
        A fixed step without error control, s; None for error control.
    """

    fixed_step: float | None = None
    name = "dop853"
    projects_steps = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fixed_step is not None:
            positive(self.name, fixed_step=self.fixed_step)

    @property
    def method(self) -> type[scipy.integrate.OdeSolver]:
        """SciPy's, with steps in compiled code."""
        from daesolve.core.solvers.scipy_dop853 import CompiledDop853

        return CompiledDop853

    @property
    def any_time(self) -> bool:
        """Whether the step is not fixed."""
        return self.fixed_step is None

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
        self, problem: OdeProblem, rate: StateFunction, state: State, until: float, first: float
    ) -> scipy.integrate.OdeSolver:
        """Make SciPy's stepper, with fixed steps if requested."""
        if self.fixed_step is None:
            return super().stepper(problem, rate, state, until, first)
        # An infinite tolerance makes every error zero, so that each step grows to the largest.
        step = min(self.fixed_step, abs(until - state.time))
        options: dict[str, Any] = {"first_step": step, "max_step": self.fixed_step}
        options |= {"rtol": 1e-3, "atol": np.inf}
        return self.method(rate, state.time, state.x, until, **options)


@dataclass(frozen=True)
class Lsoda(_ScipySolver):
    """ODEPACK's multistep method, which switches between Adams and BDF, with the exact Jacobian.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    """

    name = "lsoda"
    needs_jacobian = True
    rounds_steps = True
    dense_is_exact = True

    @property
    def method(self) -> type[scipy.integrate.OdeSolver]:
        """SciPy's."""
        return scipy.integrate.LSODA
