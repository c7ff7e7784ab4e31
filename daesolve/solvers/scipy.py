"""SciPy's adaptive methods with the right-hand side compiled by CasADi: dop853, lsoda."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.integrate import DOP853, LSODA, DenseOutput, OdeSolution, OdeSolver

from daesolve.algebra.blocks import StateFunction
from daesolve.formulations import OdeProblem
from daesolve.solvers.base import Solver, positive
from daesolve.solvers.error_control import ErrorControlled
from daesolve.solvers.jacobians import exact_jacobian
from daesolve.solvers.segment import NO_RATE, NOT_FINITE, Observer, SegmentEnd, State, StepError
from daesolve.solvers.stepping import STUCK_AFTER, Interpolant, Step, Stepper

Rate = Callable[[float, np.ndarray], np.ndarray]
SMALLEST_RTOL = 100 * np.finfo(float).eps
"""SciPy's methods cannot do with less."""


LATE = 1e-11
"""Of a segment, the rounding of time beyond which time is counted from its start."""


def has_failed(stepper: OdeSolver) -> bool:
    """Return whether a method could not take its last step."""
    return stepper.status == "failed"


@dataclass(frozen=True)
class _ScipySolver(ErrorControlled):
    method: ClassVar[type[OdeSolver]]
    dense_is_exact: ClassVar[bool] = False
    needs_jacobian: ClassVar[bool] = False
    rounds_steps: ClassVar[bool] = False
    """Whether a step ends where time is rounded, and is not as long as that."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_below_smallest()

    @property
    def smallest_rtol(self) -> float:
        """What SciPy's methods can do with."""
        return SMALLEST_RTOL

    def stepper(
        self, problem: OdeProblem, rate: StateFunction, state: State, until: float, first: float
    ) -> OdeSolver:
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
        self._main: OdeSolver | None = None
        self._dense: DenseOutput | None = None
        self._origin = 0.0

    def segment(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate; see `Solver.segment`. SciPy warns of what it reports besides."""
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

    def _made(self, start: State, until: float, first: float = 0.0) -> OdeSolver:
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
        dense = OdeSolution(times, [p for _, p in pieces])
        return lambda moments: dense(moments - origin).T


def _time(stepper: OdeSolver, origin: float, until: float) -> float:
    """Return when the last step ended."""
    if origin and stepper.status == "finished":
        return until
    return origin + float(stepper.t)


def _steps_that_move(stepper: OdeSolver) -> Iterator[None]:
    """Step on to the end; give up where many steps in a row have no length."""
    still, time = 0, stepper.t
    while stepper.status == "running" and still < STUCK_AFTER:
        stepper.step()
        still = 0 if stepper.t != time else still + 1
        if not still:
            yield
        time = stepper.t


class CompiledDop853(DOP853):
    """SciPy's method, whose steps are taken in compiled code; their interpolant is SciPy's."""

    rtol: float
    atol: float | np.ndarray

    def __init__(
        self, rate: StateFunction, t: float, x: np.ndarray, until: float, **options: Any
    ) -> None:
        from daesolve.solvers import dop853_step  # numba is imported where something is evaluated

        super().__init__(rate, t, x, until, **options)
        self._compiled: Any = dop853_step
        self._rate = rate
        self._tolerances = self.rtol, np.array(np.broadcast_to(self.atol, self.y.shape), float)
        self._tableau = tuple(
            np.ascontiguousarray(part, dtype=float)
            for part in (self.A, self.B, self.C, self.E3, self.E5)
        )

    def _step_impl(self) -> tuple[bool, str | None]:
        x = self.y.copy()
        self.K[0] = self.f
        ends, taken, self.h_abs, rates = self._compiled.take_step(
            self._compiled.VERSION, *self._rate.program, self._rate.places, self._tableau,
            self._tolerances, self.t, x, self.h_abs, self.t_bound, self.max_step, self.K,
        )  # fmt: skip
        self.nfev += rates
        self._rate.calls += rates
        if not taken:
            return False, self.TOO_SMALL_STEP
        self.h_previous, self.y_old = taken, self.y
        self.t, self.y, self.f = ends, x, self.K[-1].copy()
        return True, None

    def several(self, most: int, few: tuple[int, float, float]) -> tuple[np.ndarray, np.ndarray]:
        """Take steps at once; return their ends, (k,), and the states there, (k, size).

        They end with one that is many times as long as the shortest. There is no interpolant.

        Parameters
        ----------
        most
            How many at most.
        few
            The first step for which that holds, how many times, and the shortest before, s.
        """
        times, states, x = np.empty(most), np.empty((most, self.n)), self.y.copy()
        self.K[0] = self.f
        taken, self.h_abs = self._compiled.take_steps(
            self._compiled.VERSION, *self._rate.program, self._rate.places, self._tableau,
            self._tolerances, self.t, x, self.h_abs, self.t_bound, self.max_step, self.K,
            few, times, states,
        )  # fmt: skip
        if taken:
            self.t, self.y, self.f = float(times[taken - 1]), states[taken - 1], self.K[0].copy()
        if not self.h_abs:
            self.status = "failed"
        elif self.t == self.t_bound:
            self.status = "finished"
        return times[:taken], states[:taken]


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
    method = CompiledDop853

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fixed_step is not None:
            positive(self.name, fixed_step=self.fixed_step)

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
    ) -> OdeSolver:
        """Make SciPy's stepper, with steps of one length if that was asked for."""
        if self.fixed_step is None:
            return super().stepper(problem, rate, state, until, first)
        # An infinite tolerance makes every error zero, so that each step grows to the largest.
        step = min(self.fixed_step, abs(until - state.time))
        return CompiledDop853(
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
    rounds_steps = True
    dense_is_exact = True
