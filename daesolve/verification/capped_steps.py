"""Dormand and Prince's method of order 8 with each step in one compiled call, and steps capped.

It repeats runs of other methods, which takes it many short steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.base import positive
from daesolve.core.solvers.dop853 import Dop853Steps
from daesolve.core.solvers.error_control import ErrorControlled
from daesolve.core.solvers.scipy import has_failed
from daesolve.core.solvers.segment import NO_RATE, NOT_FINITE, STALLED, Integrator, State, StepError
from daesolve.core.solvers.stepping import Step, Stepper

MOST_LEAPS = 8
"""The most of the shortest steps in a row that are taken whatever their error: one that fails is up
to five times as long."""


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
        self.project = None if problem.project is None else StateFunction(problem.project, p)

    def steps(self, start: State, until: float) -> Iterator[Step]:
        """Yield the ends of steps."""
        return self._steps(start, until, None)

    def again(self, start: State, until: float) -> Iterator[Step]:
        """Yield the steps to a time within a step."""
        return self._steps(start, until, abs(until - start.time))

    def _steps(self, start: State, until: float, first: float | None) -> Iterator[Step]:
        solver = self.solver
        if not np.all(np.isfinite(self.rate(start.time, start.x))):
            raise StepError(NO_RATE)
        method = Dop853Steps(
            self.rate, start.time, start.x, until, rtol=solver.rtol, atol=solver.atol,
            longest=solver.longest_step, first=first,
        )  # fmt: skip
        leaps = 0
        while method.status == "running":
            method.step()
            leaps = leaps + 1 if has_failed(method) else 0
            if leaps > MOST_LEAPS:
                raise StepError(STALLED)
            if leaps:
                # The rates may jump near here, at a time that is not known any better.
                method.step(whatever=True)
            if has_failed(method):
                raise StepError(NOT_FINITE)
            if self.project is not None:
                method.put(self.project(method.t, method.y))
            yield method.t, method.y
