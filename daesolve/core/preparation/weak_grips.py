"""Where goals' grip is weak on a short run: how far apart such positions lie."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.dop853 import Dop853Steps

if TYPE_CHECKING:
    from scipy.integrate import Radau

    from daesolve.core.solvers.scipy_dop853 import CompiledDop853

ProbeStepper: TypeAlias = "Dop853Steps | CompiledDop853 | Radau"
WEAK = 1e-2
"""A grip below this part of the largest one met belongs to a passage."""
LOOKS = 8
"""Places in a step of the probe at which the grip of goals is looked at."""


class Between:
    """Finds how far apart positions of weak grip lie, also within the probe's steps."""

    def __init__(self, problem: OdeProblem, values: np.ndarray, start_time: float) -> None:
        self.problem, self.values, self.looks = problem, values, problem.plan.proximal
        self.times: list[np.ndarray] = [np.array([start_time])]
        self.states: list[np.ndarray] = []

    def look_into(self, stepper: ProbeStepper) -> None:
        """Take in a step of a system that may pass such positions."""
        if self.looks:
            assert stepper.t_old is not None
            assert not isinstance(stepper, Dop853Steps)
            inside = np.linspace(stepper.t_old, stepper.t, LOOKS + 1)[1:]
            self.times.append(inside)
            self.states.append(stepper.dense_output()(inside).T)

    def shortest(self) -> float:
        """Return the shortest time from one to the next, or from the start to the first, in s."""
        times = np.concatenate(self.times)
        elapsed = np.abs(times - times[0])
        if not self.states:
            return math.inf
        table, _ = evaluate_block(
            self.problem.residuals, times[1:], np.vstack(self.states), self.values
        )
        grips = np.nan_to_num(table[:, len(self.problem.watched) + 1 :])
        if not grips.size:
            return math.inf
        largest = grips.max(axis=0)
        least = (grips / np.where(largest > 0.0, largest, 1.0)).min(axis=1)
        apart = np.diff(elapsed[1:][_valleys(least)], prepend=0.0)
        return float(np.min(apart, initial=elapsed[-1]))


def _valleys(height: np.ndarray) -> list[int]:
    """Return where values are least between two that are larger by 1 / WEAK."""
    found: list[int] = []
    top, bottom, place = float(height[0]), math.inf, 0
    for index, value in enumerate(height):
        if value < bottom:
            bottom, place = float(value), index
        if bottom < WEAK * top and value > bottom / WEAK:
            found.append(place)
            top = bottom = float(value)
        elif value > top:
            top, bottom, place = float(value), float(value), index
    return found
