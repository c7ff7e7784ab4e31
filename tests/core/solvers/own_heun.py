"""A solver of a user's own that controls the error of its steps, as a file of his own holds it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import daesolve as ds
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers import State, Step, StepError, Stepper


@dataclass(frozen=True)
class Heun(ds.Solver):
    """Heun's method of order 2; Euler's step, of order 1, tells the error."""

    rtol: float = 1e-6
    atol: float = 1e-8
    name = "heun"
    any_time = True

    def tolerances(self) -> dict[str, float]:
        return {"rtol": self.rtol, "atol": self.atol}

    def refined(self) -> Heun:
        return replace(self, rtol=self.rtol / 10, atol=self.atol / 10)

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Stepper:
        return ControlledSteps(self, problem, start.p)


class ControlledSteps(Stepper):
    def __init__(self, settings: Heun, problem: OdeProblem, p: np.ndarray) -> None:
        super().__init__(problem, p)
        self.settings = settings

    def steps(self, start: State, until: float) -> Iterator[Step]:
        f, t, x = self.rate, start.time, start.x
        first = f(t, x)
        h = 0.01 * (until - t) / max(1.0, self.size((until - t) * first, x, x) ** 0.5)
        while t != until:
            if abs(h) <= 4.0 * math.ulp(t):
                raise StepError(f"the step at t = {t:.10g} s is too small to continue")
            end = until if abs(h) >= abs(until - t) else t + h
            h = end - t
            second = f(end, x + h * first)
            new = x + h / 2 * (first + second)
            error = max(1e-9, self.size(h / 2 * (second - first), x, new))
            if error <= 1.0:
                t, x = end, new
                yield t, x
                first = f(t, x)
            h *= min(5.0, max(0.2, 0.9 / math.sqrt(error)))

    def size(self, error: np.ndarray, before: np.ndarray, after: np.ndarray) -> float:
        """Return the largest error, in units of what the tolerances allow."""
        allowed = self.settings.atol + self.settings.rtol * np.maximum(abs(before), abs(after))
        found = float(np.max(abs(error) / allowed, initial=0.0))
        return found if math.isfinite(found) else math.inf
