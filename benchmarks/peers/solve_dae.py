"""solve_dae: Radau IIA of order 5 and 9 on the stabilised index 1, with exact Jacobians."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common.attempts import BrokeDownError, untyped

from .contestant import Contestant, Motion, Ready, timed
from .stabilised import Stabilised
from .tasks import Task

solve_dae = untyped("solve_dae.integrate").solve_dae

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)


def _by_radau(task: Task, tolerance: float, stages: int) -> Ready:
    posed = Stabilised(task.mechanism, integrated=True)
    n = len(task.mechanism.names)
    y, rate = posed.start

    def residual(t: float, y: np.ndarray, rate: np.ndarray) -> np.ndarray:
        return posed.residual(y, rate)

    def jacobians(t: float, y: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return posed.jacobians(y, rate)

    def motion(solution: Any) -> Motion:
        if not solution.success:
            raise BrokeDownError(f"at t = {solution.t[-1]:.3g} s: {solution.message}")
        found = solution.y.T[1:]
        return Motion(found[:, :n], found[:, n : 2 * n], len(found))

    run = timed(
        lambda: solve_dae(
            residual,
            (0.0, task.until),
            y,
            rate,
            method="Radau",
            stages=stages,
            rtol=tolerance,
            atol=tolerance,
            jac=jacobians,
        )
    )
    return Ready(run, motion)


def contestants(task: Task) -> list[Contestant]:
    """Return three and five stages, from coarse to fine."""
    return [
        Contestant(
            f"Radau, {stages} stages",
            f"{tolerance:.0e}",
            lambda stages=stages, tolerance=tolerance: _by_radau(task, tolerance, stages),
        )
        for stages in (3, 5)
        for tolerance in TOLERANCES
    ]
