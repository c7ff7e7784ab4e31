"""scikit-sundae: IDA on the index reduction of Gear, Gupta and Leimkuhler, with exact Jacobians.

`index 2` has the multipliers among the unknowns; `index 1` has their integrals. IDA's own example
of a slider-crank excludes the multipliers from the error test (IDASetSuppressAlg). scikit-sundae
has no such option, so the multipliers get an absolute tolerance larger than any error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sksundae.ida import IDA

from benchmarks.common.attempts import BrokeDownError

from .contestant import Contestant, Motion, Ready, timed
from .stabilised import Stabilised
from .tasks import Task

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
UNTESTED = 1e6


def _by_ida(task: Task, tolerance: float, integrated: bool) -> Ready:
    posed = Stabilised(task.mechanism, integrated)
    n = len(task.mechanism.names)
    y, rate = posed.start

    def residual(t: float, y: np.ndarray, rate: np.ndarray, out: np.ndarray) -> None:
        out[:] = posed.residual(y, rate)

    def jacobian(
        t: float, y: np.ndarray, rate: np.ndarray, _: np.ndarray, cj: float, out: np.ndarray
    ) -> None:
        by_y, by_rate = posed.jacobians(y, rate)
        out[:] = by_y + cj * by_rate

    algebraic = [] if integrated else list(range(2 * n, posed.size))
    absolute = np.full(posed.size, tolerance)
    absolute[algebraic] = UNTESTED
    solver = IDA(
        residual,
        rtol=tolerance,
        atol=absolute,
        jacfn=jacobian,
        algebraic_idx=algebraic or None,
        max_num_steps=10_000_000,
    )

    def motion(solution: Any) -> Motion:
        if not solution.success:
            raise BrokeDownError(f"at t = {solution.t[-1]:.3g} s: {solution.message}")
        found = solution.y[1:]
        return Motion(found[:, :n], found[:, n : 2 * n], len(found))

    return Ready(timed(lambda: solver.solve(np.array([0.0, task.until]), y, rate)), motion)


def contestants(task: Task) -> list[Contestant]:
    """Return both forms, from coarse to fine."""
    return [
        Contestant(
            f"IDA, {form}",
            f"{tolerance:.0e}",
            lambda tolerance=tolerance, integrated=integrated: _by_ida(task, tolerance, integrated),
        )
        for form, integrated in (("index 2", False), ("index 1", True))
        for tolerance in TOLERANCES
    ]
