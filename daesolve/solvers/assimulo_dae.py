"""Assimulo's solvers of F(t, y, y') = 0: IDA, Radau5DAE and ODASSL.

They integrate (x, w) with w' = z instead of y = (x, z), after C. W. Gear, Differential-algebraic
equation index transformations, SIAM J. Sci. Stat. Comput. 9 (1988) 39-47. No equation contains z',
so F becomes F(t, x, x', w'), in which w itself does not occur, and the index sinks by one: one of
index 1 becomes an ordinary differential equation in implicit form. The step is controlled by w,
which is smoother than z, and Radau5DAE is right in taking all of y' for variables of index 2.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.evaluation import BufferedFunction
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import DaeProblem, OdeProblem, implicit
from daesolve.core.posing.symbols import symbol
from daesolve.core.solvers.segment import State
from daesolve.solvers.assimulo import (
    AssimuloFunctions,
    AssimuloSolver,
    backend,
    finite,
    problem_of,
    shorter_step,
)

MULTISTEP_SHARE = 0.01
"""The fraction of the tolerances that IDA and ODASSL get: errors of BDF have one sign, and add up
over thousands of steps to hundreds of times the tolerance."""
RADAU_SHARE = 0.1
"""The factor on the tolerances given to RADAU5, which itself turns 1e-9 into 1e-7."""
LOOSER = 1e4
"""The factor on IDA's absolute tolerance for variables of index 2 and 3."""
HIGHEST_ORDER = {1: 5, 2: 5, 3: 4}
"""The highest order of IDA's formulas, by the index: order 5 is the least stable, which shows in
index 3."""
MOST_STEPS = 10**9
"""The length of a segment is limited elsewhere."""


@dataclass(frozen=True, eq=False)
class _Integrated:
    """F and its Jacobian in terms of (x, w) and (x', w'), as functions of (t, stacked, p)."""

    residual: ca.Function
    jacobian: ca.Function


@built_once
def _integrated(problem: DaeProblem) -> _Integrated:
    form = implicit(problem)
    size, count = problem.size, problem.size + len(problem.unknowns)
    t, p = problem.rhs.sx_in(0), problem.rhs.sx_in(2)
    y, yd = symbol("y", count), symbol("yd", count)
    c = symbol("c")
    # A slice of one entry from its end on would be a row.
    known = ca.vertcat(y[:size], ca.vertsplit(yd, [0, size, count])[-1])
    residual = form.residual(t, known, yd, p)
    jacobian = form.jacobian(t, known, yd, c, p)
    scaled = ca.horzcat(jacobian[:, :size], c * jacobian[:, size:])
    names = ["t", "stacked", "p"]
    return _Integrated(
        function_of("residual", [t, ca.vertcat(y, yd), p], [residual], (names, ["residual"])),
        function_of("jacobian", [t, ca.vertcat(y, yd, c), p], [scaled], (names, ["jacobian"])),
    )


@built_once
def _curvature(problem: DaeProblem) -> ca.Function:
    """Return x'' as a function of (t, x, p)."""
    t, x, p = (problem.rhs.sx_in(k) for k in range(3))
    rate = problem.rhs(t, x, p)
    change = ca.jtimes(rate, x, rate) + ca.jacobian(rate, t)
    return function_of("curvature", [t, x, p], [change], (["t", "x", "p"], ["curvature"]))


class ImplicitEquations(AssimuloFunctions):
    """F, its Jacobian and consistent starts."""

    def __init__(self, problem: DaeProblem, p: np.ndarray, sign: float) -> None:
        super().__init__(sign)
        self.problem = problem
        functions = _integrated(problem)
        self._rows = functions.residual.nnz_out(0)
        self._residual = BufferedFunction(functions.residual, p)
        self._jacobian = BufferedFunction(functions.jacobian, p)

    @property
    def evaluations(self) -> int:
        """How often the residual was evaluated."""
        return self._residual.calls

    def residual(self, tau: float, y: np.ndarray, yd: np.ndarray) -> np.ndarray:
        """Return F in Assimulo's time."""
        return self._residual(self.sign * tau, np.concatenate((y, self.sign * yd)))

    def no_number(self) -> np.ndarray:
        """Return numbers instead of F that make the codes in Fortran give up; nothing else does."""
        return np.full(self._rows, np.nan)

    def finite_residual(self, tau: float, y: np.ndarray, yd: np.ndarray) -> np.ndarray:
        """Return F; ask for a shorter step where it is not finite."""
        return finite(self.residual(tau, y, yd))

    def jacobian(self, c: float, tau: float, y: np.ndarray, yd: np.ndarray) -> np.ndarray:
        """Return dF/dy + c dF/dy' in Assimulo's time."""
        stacked = np.concatenate((y, self.sign * yd, [self.sign * c]))
        return np.ascontiguousarray(finite(self._jacobian.matrix(self.sign * tau, stacked)))

    def start(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return (x, w) and their derivatives in Assimulo's time, at a consistent state."""
        problem = self.problem
        rate, z = (
            np.asarray(part).ravel() for part in problem.consistent(state.time, state.x, state.p)
        )
        return (
            np.concatenate((state.x, np.zeros(len(z)))),
            self.sign * np.concatenate((rate, z)),
        )

    def first_step(self, state: State, weights: np.ndarray, longest: float) -> float:
        """Return the step over which Euler's method errs by as much as is allowed.

        Its error is h^2 x'' / 2, with x'' = J x' + f_t. The codes' own choice goes by x', and so
        by z, and is far too small for variables of index 3.
        """
        problem = self.problem
        curvature = np.asarray(_curvature(problem)(state.time, state.x, state.p)).ravel()
        ordinary = np.array(problem.indices[: problem.size]) == 1
        error = float(np.max(np.abs(curvature / weights)[ordinary], initial=0.0))
        return min(longest, np.sqrt(2.0 / error)) if 0.0 < error < np.inf else longest


@dataclass(frozen=True)
class AssimuloDaeSolver(AssimuloSolver):
    """The base of Assimulo's solvers of implicit equations.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    """

    def equations(self, problem: OdeProblem, p: np.ndarray, sign: float) -> ImplicitEquations:
        """Return the residual and its Jacobian."""
        assert isinstance(problem, DaeProblem)
        return ImplicitEquations(problem, p, sign)

    def simulator(self, equations: ImplicitEquations, start: State, until: float) -> Any:
        """Make Assimulo's object."""
        y, yd = equations.start(start)
        simulator = self._made(equations, y, yd, equations.sign * start.time)
        rtol, atol = self.share * self.rtol, self.share * self.atol
        simulator.rtol, simulator.atol = rtol, atol * np.ones(len(y))
        weights = atol + rtol * np.abs(start.x)
        simulator.inith = equations.first_step(start, weights, abs(until - start.time))
        return simulator

    @abstractmethod
    def _made(self, equations: ImplicitEquations, y: np.ndarray, yd: np.ndarray, tau: float) -> Any:
        """Make it without tolerances."""


@dataclass(frozen=True)
class AssimuloIda(AssimuloDaeSolver):
    """SUNDIALS' IDA through Assimulo: BDF of variable order, with the exact Jacobian.

    Variables of index 2 and 3 are left out of the step control (L. R. Petzold, P. Lötstedt, SIAM J.
    Sci. Stat. Comput. 7 (1986) 720-733): their errors are rough when the step changes, so the step
    would keep shrinking. Their absolute tolerances, which still control Newton's iteration, are
    looser, because their rounding errors grow as the step shrinks.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    """

    name = "assimulo-ida"
    share = MULTISTEP_SHARE
    forms = frozenset({"index-1", "index-2", "index-3"})

    def _made(self, equations: ImplicitEquations, y: np.ndarray, yd: np.ndarray, tau: float) -> Any:
        problem = problem_of(
            "Implicit_Problem",
            equations.kept(equations.finite_residual, shorter_step),
            y,
            yd,
            tau,
            jac=equations.kept(equations.jacobian, shorter_step),
        )
        simulator = backend("solvers").IDA(problem)
        simulator.algvar = (np.array(equations.problem.indices) == 1).astype(float)
        simulator.suppress_alg = True
        simulator.maxord = HIGHEST_ORDER[max(equations.problem.indices)]
        return simulator

    def simulator(self, equations: ImplicitEquations, start: State, until: float) -> Any:
        """Make Assimulo's IDA, with Newton's iteration judged by variables of index 1."""
        simulator = super().simulator(equations, start, until)
        higher = np.array(equations.problem.indices) > 1
        simulator.atol = np.where(higher, LOOSER, 1.0) * simulator.atol
        return simulator


@dataclass(frozen=True)
class AssimuloRadau5(AssimuloDaeSolver):
    """Radau IIA of order 5 by Hairer and Wanner in Assimulo, with Jacobians by finite differences.

    If it fails, its Fortran code also prints a message to the standard output, which the command
    `daesolve` redirects to the standard error.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    """

    name = "assimulo-radau5"
    share = RADAU_SHARE
    reports_start = True
    forms = frozenset({"index-1", "index-2"})
    interpolates = False

    def _made(self, equations: ImplicitEquations, y: np.ndarray, yd: np.ndarray, tau: float) -> Any:
        problem = problem_of(
            "Implicit_Problem", equations.kept(equations.residual, equations.no_number), y, yd, tau
        )
        simulator = backend("solvers").Radau5DAE(problem)
        simulator.maxsteps = MOST_STEPS
        return simulator


@dataclass(frozen=True)
class AssimuloOdassl(AssimuloDaeSolver):
    """ODASSL by Fuehrer in Assimulo: BDF for more equations than unknowns.

    It computes Jacobians by finite differences.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    """

    name = "assimulo-odassl"
    share = MULTISTEP_SHARE
    forms = frozenset({"overdetermined"})
    interpolates = False

    def _made(self, equations: ImplicitEquations, y: np.ndarray, yd: np.ndarray, tau: float) -> Any:
        problem = problem_of(
            "Overdetermined_Problem",
            equations.kept(equations.residual, equations.no_number),
            y,
            yd,
            tau,
        )
        simulator = backend("solvers").ODASSL(problem)
        simulator.state_event_info = list  # read when a simulation ends early, but missing
        return simulator
