"""What Assimulo's solvers share, and CVode for explicit equations.

Assimulo is a separate package, built from source or installed from conda-forge. Everything used
here exists in release 3.0 as well as in releases from 3.5 on.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from daesolve.core.expressions.evaluation import BufferedFunction
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.error_control import ErrorControlled, Multistep
from daesolve.core.solvers.guard_zeros import crossings
from daesolve.core.solvers.jacobians import exact_jacobian
from daesolve.core.solvers.segment import Block, Segment, State, StepError
from daesolve.core.solvers.stepping import Gathered, Step, Stepper
from daesolve.errors import MissingBackendError

Interpolate = Callable[[float], np.ndarray]
AfterStep = Callable[[float, np.ndarray, Interpolate], bool]
"""Called after each step with its end and what gives states at times in it; returns whether that
is enough."""
SMALLEST_RTOL = 100 * float(np.finfo(float).eps)
"""SUNDIALS cannot do with less."""
HOP = 1e-13
"""The fraction of the time that Assimulo takes for an empty span; over it, Euler's step is
exact."""
QUIET = 50
"""Assimulo's level of messages at which there are none."""


@functools.cache
def backend(module: str) -> Any:
    """Import a module of Assimulo when it is first needed.

    Raises
    ------
    MissingBackendError
        Assimulo is not installed.
    """
    try:
        return importlib.import_module(f"assimulo.{module}")
    except ImportError as error:
        raise MissingBackendError(
            "this solver needs Assimulo, which is not installed here; install it from conda-forge "
            "(conda install -c conda-forge assimulo), or build it for Python 3.11 on Debian from "
            'the sources of daesolve (bash tools/assimulo/install "$(which python)")'
        ) from error


class AssimuloFunctions(ABC):
    """The functions of a problem as Assimulo calls them.

    Assimulo's time is `sign * t`, because it only runs forwards. It loses or prints errors raised
    in the functions that it calls: the first such error is kept here, and later calls answer in a
    way that makes it give up.
    """

    def __init__(self, sign: float) -> None:
        self.sign = sign
        self.error: BaseException | None = None

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """How often rates or residuals were evaluated."""

    def kept(
        self, function: Callable[..., Any], otherwise: Callable[[], Any]
    ) -> Callable[..., Any]:
        """Return a function that keeps an exception, and from then on returns other numbers."""

        def call(*arguments: Any) -> Any:
            if self.error is None:
                try:
                    return function(*arguments)
                except backend("exception").AssimuloRecoverableError:
                    raise
                except BaseException as error:  # Ctrl-C as well
                    self.error = error
            return otherwise()

        return call


def shorter_step() -> Any:
    """Ask a solver of SUNDIALS for a shorter step; it gives up after some."""
    raise backend("exception").AssimuloRecoverableError


def finite(values: np.ndarray) -> np.ndarray:
    """Return values, or ask for a shorter step where they are not finite."""
    return values if np.all(np.isfinite(values)) else shorter_step()


@dataclass(frozen=True)
class AssimuloSolver(ErrorControlled):
    """The base of Assimulo's solvers.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    """

    rtol: float = 1e-8
    atol: float = 1e-10
    share: ClassVar[float] = 1.0
    """The part of the tolerances that the method receives."""
    interpolates: ClassVar[bool] = True
    """Whether states within a step come at the method's own order."""
    reports_start: ClassVar[bool] = False
    """Whether the start is reported like the end of a step."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_below_smallest()
        backend("solvers")

    @property
    def smallest_rtol(self) -> float:
        """What gives the method no smaller one than it can do with."""
        return SMALLEST_RTOL / self.share

    @property
    def step_tolerance(self) -> float:
        """What the method is given."""
        return self.share * self.rtol

    @abstractmethod
    def equations(self, problem: OdeProblem, p: np.ndarray, sign: float) -> AssimuloFunctions:
        """Return the functions that Assimulo is to call."""

    @abstractmethod
    def simulator(self, equations: Any, start: State, until: float) -> Any:
        """Make Assimulo's object, with tolerances set, at its start."""

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Stepper:
        """Return the method at work, which raises what a function of the problem raises."""
        sign = 1.0 if until >= start.time else -1.0
        return _Stepper(self, problem, start.p, self.equations(problem, start.p, sign))

    def integrate(
        self,
        problem: OdeProblem,
        equations: AssimuloFunctions,
        start: State,
        until: float,
        after: AfterStep,
    ) -> str:
        """Integrate from a start to a time; return why it could not be reached, "" where it was.

        Parameters
        ----------
        problem, equations
            The functions.
        start
            The start.
        until
            The end, s.
        after
            Called after each step.
        """
        sign, size = equations.sign, len(start.x)
        if abs(until - start.time) <= HOP * max(1.0, abs(until), abs(start.time)):
            rate = np.asarray(problem.rhs(start.time, start.x, start.p)).ravel()
            x = start.x + (until - start.time) * rate
            after(until, x, lambda time: x)
            return ""
        simulator = self.simulator(equations, start, until)
        simulator.verbosity = QUIET
        simulator.display_progress = False

        def interpolate(time: float) -> np.ndarray:
            return np.array(simulator.interpolate(sign * time)[:size])

        reports = itertools.count(0 if self.reports_start else 1)

        def step_events(simulator: Any) -> bool:
            if not next(reports):
                return False
            time = sign * float(simulator.t)
            arrived = abs(time - until) <= HOP * max(1.0, abs(until))
            x = np.array(simulator.y[:size])
            return after(until if arrived else time, x, interpolate) or arrived

        simulator.problem.step_events = equations.kept(step_events, lambda: True)
        try:
            simulator.simulate(sign * until)
        except Exception as error:
            if equations.error is None:
                return f"{self.name}: {_reason_of(error)}"
        if equations.error is not None:
            raise equations.error
        return ""


def _reason_of(error: Exception) -> str:
    """Return what Assimulo says, without the time, whose sign may be turned."""
    text = re.sub(r"\s*At time [-+.\w]*\.$", "", str(error).strip("'\"")).rstrip(".")
    return text or type(error).__name__


def problem_of(kind: str, *arguments: Any, **functions: Callable[..., Any]) -> Any:
    """Make a problem of Assimulo's with functions of its own; it stores no results."""
    made = getattr(backend("problem"), kind)(*arguments)
    made.handle_result = _keep_nothing
    # A solver asks at once whether there is this, to call it after each step.
    made.step_events = _pass_on
    # An event for which it returns True ends the simulation.
    made.handle_event = _terminate
    for name, function in functions.items():
        setattr(made, name, function)
    return made


def _keep_nothing(*result: Any) -> None:
    pass


def _pass_on(solver: Any) -> bool:
    return False


def _terminate(*event: Any) -> None:
    raise backend("exception").TerminateSimulation


class _Stepper(Stepper):
    """Steps that Assimulo hands over while it integrates."""

    def __init__(
        self,
        solver: AssimuloSolver,
        problem: OdeProblem,
        p: np.ndarray,
        equations: AssimuloFunctions,
    ) -> None:
        super().__init__(problem, p)
        self.samples_each_step = solver.interpolates
        self._solver, self._equations = solver, equations
        self._interpolate: Interpolate | None = None
        self._stopping = any(event.then.interrupts for event in problem.events)
        self._guards = BufferedFunction(problem.guards, p)
        self._directions = [event.direction for event in problem.guarded]

    @property
    def evaluations(self) -> int:
        return self._equations.evaluations

    def within(self, time: float) -> np.ndarray:
        assert self._interpolate is not None
        return self._interpolate(time)

    def steps(self, start: State, until: float) -> Iterator[Step]:
        passed: list[Step] = []

        def after(time: float, x: np.ndarray, interpolate: Interpolate) -> bool:
            passed.append((time, x))
            return False

        self._solver.integrate(self.problem, self._equations, start, until, after)
        return iter(passed)

    def blocks(self, segment: Segment) -> Generator[Block]:
        """Integrate, pausing where an event may interrupt, to see whether it does.

        A full block is handed over while Assimulo integrates.
        """
        gathered, failure, over = Gathered(self, segment), "", False
        guarded = self._guards(segment.time, segment.state)

        def after(time: float, x: np.ndarray, interpolate: Interpolate) -> bool:
            nonlocal failure, guarded, over
            self._interpolate = interpolate
            try:
                full = gathered.add(time, x)
            except StepError as error:
                failure = str(error)
                return True
            if self._stopping:
                before, guarded = guarded, self._guards(time, x)
                if self._may_stop(before, guarded):
                    return True
            over = full and segment.take(gathered.block())
            return over

        while gathered.last.time != segment.until and not over:
            here = gathered.last
            message = self._solver.integrate(
                self.problem, self._equations, here, segment.until, after
            )
            failure = failure or message
            if gathered.last.time == here.time and not over:
                failure = failure or "the solver took no step"
            if not over and (failure or gathered.count):
                yield gathered.block(failure)

    def _may_stop(self, before: np.ndarray, now: np.ndarray) -> bool:
        """Return whether a guard that interrupts has changed its sign in the last step."""
        passed = crossings(before, now, self._directions)
        return any(self.problem.guarded[index].then.interrupts for index in passed)


class _ExplicitEquations(AssimuloFunctions):
    """x' = f, and its exact Jacobian."""

    def __init__(self, problem: OdeProblem, p: np.ndarray, sign: float) -> None:
        super().__init__(sign)
        self._rate = BufferedFunction(problem.rhs, p)
        self._jacobian = exact_jacobian(problem, p)

    @property
    def evaluations(self) -> int:
        return self._rate.calls

    def rate(self, tau: float, x: np.ndarray) -> np.ndarray:
        return self.sign * finite(self._rate(self.sign * tau, x))

    def jacobian(self, tau: float, x: np.ndarray) -> np.ndarray:
        return self.sign * finite(self._jacobian(self.sign * tau, x))


@dataclass(frozen=True)
class AssimuloCvode(Multistep, AssimuloSolver):
    """SUNDIALS' CVODE through Assimulo: multistep, of variable order, with the exact Jacobian.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    method
        "adams" for smooth motion, "bdf" for stiff.
    """

    rtol: float = 1e-10
    atol: float = 1e-12
    name = "assimulo-cvode"
    forms = frozenset({"ode"})

    def equations(self, problem: OdeProblem, p: np.ndarray, sign: float) -> _ExplicitEquations:
        """Return the rate and its Jacobian."""
        return _ExplicitEquations(problem, p, sign)

    def simulator(self, equations: _ExplicitEquations, start: State, until: float) -> Any:
        """Make Assimulo's CVode."""
        problem = problem_of(
            "Explicit_Problem",
            equations.kept(equations.rate, shorter_step),
            start.x,
            equations.sign * start.time,
            jac=equations.kept(equations.jacobian, shorter_step),
        )
        simulator = backend("solvers").CVode(problem)
        simulator.discr = self.method
        simulator.iter = "Newton"
        simulator.rtol, simulator.atol = self.rtol, self.atol
        return simulator
