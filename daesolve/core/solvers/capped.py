"""Dormand and Prince's method of order 8 with each step in one compiled call, and steps capped.

It repeats runs of other methods, which takes it many short steps: twelve stages a step in one call
of CasADi cost a tenth of as many calls from Python. Coefficients, error estimate and control are
those of `dop853` (Hairer, Norsett, Wanner, Solving ODEs I, II.5 and the appendix).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
import scipy

from daesolve.core.expressions.built_once import built_once
from daesolve.core.expressions.evaluation import BufferedFunction, Evaluator
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.base import positive
from daesolve.core.solvers.dormand_prince import FIFTH, INCREMENTS, ORDER, PARTS, THIRD, WEIGHTS
from daesolve.core.solvers.error_control import ErrorControlled
from daesolve.core.solvers.segment import NO_RATE, NOT_FINITE, STALLED, Integrator, State, StepError
from daesolve.core.solvers.stepping import Interpolant, Step, Stepper

SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0
"""The next step over the one that would just keep the tolerance, and the bounds of a step over the
one before."""
FIRST = 1e-3
"""The first step over the longest, before its error is known."""
SHORTEST = 10.0
"""The shortest step over the rounding of its time."""
LEAST = 1e-300
"""A sum of squares that is not an error at all."""


@dataclass(frozen=True)
class CappedDop853(ErrorControlled):
    """The explicit Runge-Kutta method `dop853` with a bound on its steps.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    longest_step
        s
    """

    rtol: float = 1e-14
    atol: float = 1e-14
    longest_step: float = math.inf
    name = "dop853"
    projects_steps = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest_step != math.inf:
            positive(self.name, longest_step=self.longest_step)

    @property
    def any_time(self) -> bool:
        """Whether no step has a bound."""
        return self.longest_step == math.inf

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Integrator:
        """Return the method at work."""
        return _CappedStepper(self, problem, start.p)


class _CappedStepper(Stepper):
    def __init__(self, solver: CappedDop853, problem: OdeProblem, p: np.ndarray) -> None:
        super().__init__(problem, p)
        self.solver = solver
        self.step = Evaluator(_step_of(problem))
        self.taken = 0
        project = problem.project
        self.project = None if project is None else BufferedFunction(project, p)

    @property
    def evaluations(self) -> int:
        """How many right-hand sides were evaluated."""
        return self.rate.calls + 12 * self.taken

    def steps(self, start: State, until: float) -> Iterator[Step]:
        """Yield the ends of steps."""
        return self._steps(start, until, FIRST)

    def again(self, start: State, until: float) -> Iterator[Step]:
        """Yield the steps to a time within a step."""
        return self._steps(start, until, 1.0)

    def interpolant(self, start: State, end: float) -> Interpolant:
        """Take a step once more; its slopes are few, and evaluated one by one."""
        passed = [(start.time, start.x), *self.again(start, end)]
        times, states = np.array([t for t, _ in passed]), np.array([x for _, x in passed])
        rates = np.array([self.rate(t, x) for t, x in passed])
        sign = 1.0 if end >= start.time else -1.0
        spline: Interpolant = scipy.interpolate.CubicHermiteSpline(
            sign * times, states, sign * rates
        )
        return lambda moments: spline(sign * moments)

    def _steps(self, start: State, until: float, first: float) -> Iterator[Step]:
        time, x = start.time, start.x
        rate = self.rate(time, x)
        if not np.all(np.isfinite(rate)):
            raise StepError(NO_RATE)
        longest = min(abs(until - time), self.solver.longest_step)
        size, sign, jumped = first * longest, 1.0 if until >= time else -1.0, False
        tolerances = np.array([self.solver.rtol, self.solver.atol])
        while time != until:
            size = min(size, self.solver.longest_step)
            last = size >= abs(until - time) * (1.0 - 1e-12)
            end = until if last else time + sign * size
            found, slope, error = self.step(time, end - time, x, rate, self.p, tolerances)
            self.taken += 1
            factor = _factor(float(error[0]))
            least = max(SHORTEST * math.ulp(abs(time)), 1e-300)
            passes = factor >= SAFETY and math.isfinite(float(error[0]))
            if not passes and size > least:
                # The step is repeated, shorter.
                size = max(abs(end - time) * min(factor, SAFETY), least)
                continue
            if not passes:
                # The rates may jump here, at a time that is not known any better; once, not again.
                finite = math.isfinite(float(np.sum(found)))
                if jumped or not finite:
                    raise StepError(STALLED if finite else NOT_FINITE)
            elif not last:
                size = max(size, abs(end - time)) * factor
            jumped = not passes
            time, x, rate = end, found, slope
            if self.project is not None:
                x = self.project(time, x)
                rate = self.rate(time, x)
            yield time, x


def _factor(error: float) -> float:
    """Return the next step over this one; below `SAFETY` where this one is not accepted."""
    if not math.isfinite(error):
        return SHRINK
    if error == 0.0:
        return GROW
    factor = SAFETY * error ** (-1.0 / ORDER)
    return min(max(factor, SHRINK), GROW)


@built_once
def _step_of(problem: OdeProblem) -> ca.Function:
    return step_function(problem.rhs)


def step_function(rhs: ca.Function) -> ca.Function:
    """(t, h, x, x', p, [rtol, atol]) -> (x, x', error) after a step; an error of one is allowed.

    Parameters
    ----------
    rhs
        (t, x, p) -> x'
    """
    size, count = rhs.nnz_in(1), rhs.nnz_in(2)
    t, h = _matrix("t", 1), _matrix("h", 1)
    x, rate, p = _matrix("x", size), _matrix("rate", size), _matrix("p", count)
    tolerances = _matrix("tolerances", 2)
    stages: list[ca.MX] = [rate]
    for weights, part in zip(INCREMENTS[1:], PARTS[1:], strict=True):
        moved = x + h * _combined(weights, stages)
        stages.append(_called(rhs, t + part * h, moved, p))
    after = x + h * _combined(WEIGHTS, stages)
    slope = _called(rhs, t + h, after, p)
    stages.append(slope)
    scale = tolerances[1] + tolerances[0] * ca.fmax(ca.fabs(x), ca.fabs(after))
    fifth = ca.sumsqr(_combined(FIFTH, stages) / scale)
    third = ca.sumsqr(_combined(THIRD, stages) / scale)
    error = ca.fabs(h) * fifth / ca.sqrt((fifth + 0.01 * third) * size + LEAST)
    return ca.Function("step", [t, h, x, rate, p, tolerances], [after, slope, error])


def _matrix(name: str, count: int) -> ca.MX:
    # The stubs of CasADi know `MX.sym` by another signature.
    return ca.MX.sym(name, count)  # pyright: ignore[reportArgumentType]


def _called(rhs: ca.Function, t: ca.MX, x: ca.MX, p: ca.MX) -> ca.MX:
    return ca.densify(rhs(t, x, p))  # pyright: ignore[reportArgumentType, reportCallIssue]


def _combined(weights: np.ndarray, stages: list[ca.MX]) -> ca.MX:
    """Return the sum of stages with their weights, of which many are zero."""
    whole = ca.MX(0)
    for weight, stage in zip(weights.tolist(), stages, strict=False):
        if weight:
            whole = whole + weight * stage
    return whole
