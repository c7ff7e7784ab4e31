"""A solver of a user's own, as a file of his own would hold it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import daesolve as ds
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers import State, Step, Stepper


@dataclass(frozen=True)
class RungeKutta4(ds.Solver):
    """The classical Runge-Kutta method of order 4 with a fixed step."""

    fixed_step: float = 1e-2
    name = "rk4"
    steps_over = True

    def tolerances(self) -> dict[str, float]:
        return {"fixed_step": self.fixed_step}

    def refined(self) -> RungeKutta4:
        return replace(self, fixed_step=self.fixed_step / 2)

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Stepper:
        return FixedSteps(self.fixed_step, problem, start.p)


class FixedSteps(Stepper):
    def __init__(self, length: float, problem: OdeProblem, p) -> None:
        super().__init__(problem, p)
        self.length = length

    def steps(self, start: State, until: float) -> Iterator[Step]:
        f, t, x = self.rate, start.time, start.x
        count = math.ceil(abs(until - t) / self.length * (1.0 - 1e-12))
        h = (until - t) / max(count, 1)
        for number in range(1, count + 1):
            k1 = f(t, x)
            k2 = f(t + h / 2, x + h / 2 * k1)
            k3 = f(t + h / 2, x + h / 2 * k2)
            k4 = f(t + h, x + h * k3)
            t, x = start.time + number * h, x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            yield (until if number == count else t), x
