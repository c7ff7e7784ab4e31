"""SciPy: index reduction by hand, Baumgarte's stabilisation, NumPy's linear algebra.

The accelerations come from the saddle matrix [M G'; G 0], as in most scripts; `lstsq` instead of
`solve` gives the least-norm solution where constraints become dependent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import odeint, solve_ivp

from benchmarks.common.attempts import BrokeDownError

from .contestant import Contestant, Motion, Ready, timed
from .tasks import BAUMGARTE_RATE, Mechanism, Task

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-13)

Solve = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _least_norm(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(matrix, right, rcond=1e-12)[0]


def right_side(mechanism: Mechanism, solve: Solve) -> Callable[[float, np.ndarray], np.ndarray]:
    """Return f(t, y) of y = (q, v): the rod's error obeys e'' + 2 r e' + r^2 e = 0."""
    n, m = len(mechanism.names), len(mechanism.lengths)
    A, b, c = mechanism.curvature, mechanism.slope, mechanism.constant
    weight, rate = mechanism.weight, BAUMGARTE_RATE
    saddle, right = np.zeros((n + m, n + m)), np.zeros(n + m)
    saddle[:n, :n] = mechanism.mass
    right[:n] = weight

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        q, v = y[:n], y[n:]
        curved = A @ q
        G = curved + b
        speed = G @ v
        saddle[n:, :n] = G
        saddle[:n, n:] = G.T
        residual = (curved @ q) / 2 + b @ q + c
        right[n:] = -(A @ v) @ v - 2 * rate * speed - rate * rate * residual
        return np.concatenate((v, solve(saddle, right)[:n]))

    return rates


def _by_dop853(task: Task, tolerance: float, solve: Solve) -> Ready:
    mechanism = task.mechanism
    n = len(mechanism.names)
    rates = right_side(mechanism, solve)
    start = np.concatenate((mechanism.start, mechanism.start_rate))

    def motion(solution: Any) -> Motion:
        if not solution.success:
            raise BrokeDownError(f"at t = {solution.t[-1]:.3g} s: {solution.message}")
        y = solution.y.T[1:]
        return Motion(y[:, :n], y[:, n:], len(y))

    run = timed(
        lambda: solve_ivp(rates, (0.0, task.until), start, "DOP853", rtol=tolerance, atol=tolerance)
    )
    return Ready(run, motion)


def _by_lsoda(task: Task, tolerance: float) -> Ready:
    mechanism = task.mechanism
    n = len(mechanism.names)
    rates = right_side(mechanism, np.linalg.solve)
    start = np.concatenate((mechanism.start, mechanism.start_rate))
    times = np.linspace(0.0, task.until, 1001)

    def motion(result: Any) -> Motion:
        y, report = result
        if report["message"] != "Integration successful.":
            raise BrokeDownError(report["message"])
        return Motion(y[1:, :n], y[1:, n:], int(report["nst"][-1]))

    run = timed(
        lambda: odeint(
            rates,
            start,
            times,
            rtol=tolerance,
            atol=tolerance,
            tfirst=True,
            full_output=True,
            mxstep=10_000_000,
        )
    )
    return Ready(run, motion)


def contestants(task: Task) -> list[Contestant]:
    """Return DOP853 and LSODA, from coarse to fine."""
    solvers: dict[str, Solve] = {"solve": np.linalg.solve}
    if task.kind == "four-bar":
        solvers["lstsq"] = _least_norm
    found = [
        Contestant(
            f"DOP853, {name}",
            f"{tolerance:.0e}",
            lambda tolerance=tolerance, solve=solve: _by_dop853(task, tolerance, solve),
        )
        for name, solve in solvers.items()
        for tolerance in TOLERANCES
    ]
    found += [
        Contestant(
            "odeint", f"{tolerance:.0e}", lambda tolerance=tolerance: _by_lsoda(task, tolerance)
        )
        for tolerance in TOLERANCES
    ]
    return found
