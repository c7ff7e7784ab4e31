"""Pinocchio: joint coordinates, loops closed by rigid constraints with Baumgarte's corrector.

Its only integrator is the single step `integrate`. As in its example of a four-bar linkage, one
method takes semi-implicit Euler steps. Because these have order 1, SciPy's DOP853 and a Runge-Kutta
method of order 4 also integrate its forward dynamics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.common.attempts import BrokeDownError, untyped

from .contestant import Contestant, Motion, Ready, thinned, timed
from .tasks import BAUMGARTE_RATE, GRAVITY, Task
from .tree import TREES, Tree

pin = untyped("pinocchio")

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-13)
STEPS = {"Runge-Kutta 4": (0.02, 0.005, 0.001, 2e-4), "Euler": (5e-3, 1e-3)}

Acceleration = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _model(tree: Tree) -> tuple[Any, list[Any]]:
    """Return the model and its loop constraints."""
    model = pin.Model()
    model.gravity.linear = np.array([0.0, -GRAVITY, 0.0])
    joints: list[int] = []
    for k, link in enumerate(tree.links):
        place = link.anchor if link.parent < 0 else tree.links[link.parent].length
        parent = 0 if link.parent < 0 else joints[link.parent]
        joint = pin.JointModelPX() if link.slides else pin.JointModelRZ()
        at = pin.SE3(np.eye(3), np.array([place, 0.0, 0.0]))
        joints.append(model.addJoint(parent, joint, at, f"joint{k}"))
        centre = np.array([link.centre, 0.0, 0.0])
        around = np.diag([0.0, link.inertia, link.inertia])
        model.appendBodyToJoint(joints[-1], pin.Inertia(1.0, centre, around), pin.SE3.Identity())

    def end(k: int) -> Any:
        return pin.SE3(np.eye(3), np.array([tree.links[k].length, 0.0, 0.0]))

    loops: list[Any] = []
    for a, b in tree.loops:
        loop = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, joints[a], end(a), joints[b], end(b)
        )
        corrector = pin.BaumgarteCorrectorParameters(BAUMGARTE_RATE**2, 2 * BAUMGARTE_RATE)
        loop.setBaumgarteCorrectorParameters(corrector)
        loops.append(loop)
    return model, loops


def _acceleration(tree: Tree) -> Acceleration:
    """Return v'(q, v)."""
    model, loops = _model(tree)
    data, still = model.createData(), np.zeros(len(tree.links))
    if not loops:
        return lambda q, v: pin.aba(model, data, q, v, still)
    constraints, values = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in loops:
        constraints.append(loop)
        values.append(loop.createData())
    pin.initConstraintDynamics(model, data, constraints, values)
    # a planar loop has a dependent third row, which the proximal term handles
    settings = pin.ProximalSettings(1e-14, 1e-10, 20)
    return lambda q, v: pin.constraintDynamics(
        model, data, q, v, still, constraints, values, settings
    )


def _by_dop853(task: Task, tolerance: float) -> Ready:
    tree = TREES[task.kind]
    acceleration = _acceleration(tree)
    n = len(tree.links)
    start = np.concatenate((tree.start, tree.start_rate))

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate((y[n:], acceleration(y[:n], y[n:])))

    def motion(solution: Any) -> Motion:
        if not solution.success:
            raise BrokeDownError(f"at t = {solution.t[-1]:.3g} s: {solution.message}")
        y = solution.y.T[1:]
        return tree.motion(y[:, :n], y[:, n:], len(y))

    run = timed(
        lambda: solve_ivp(rates, (0.0, task.until), start, "DOP853", rtol=tolerance, atol=tolerance)
    )
    return Ready(run, motion)


def _euler(acceleration: Acceleration, q: np.ndarray, v: np.ndarray, h: float) -> Any:
    """Return the next state by a semi-implicit step."""
    v = v + h * acceleration(q, v)
    return q + h * v, v


def _runge_kutta(acceleration: Acceleration, q: np.ndarray, v: np.ndarray, h: float) -> Any:
    """Return the next state by the classical method of order 4."""
    a1 = acceleration(q, v).copy()
    v2 = v + h / 2 * a1
    a2 = acceleration(q + h / 2 * v, v2).copy()
    v3 = v + h / 2 * a2
    a3 = acceleration(q + h / 2 * v2, v3).copy()
    v4 = v + h * a3
    a4 = acceleration(q + h * v3, v4)
    return q + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def _by_steps(task: Task, method: str, step: float) -> Ready:
    tree = TREES[task.kind]
    acceleration = _acceleration(tree)
    count = round(task.until / step)
    advance = _euler if method == "Euler" else _runge_kutta

    def run() -> tuple[np.ndarray, np.ndarray]:
        q, v = tree.start, tree.start_rate
        positions, velocities = np.empty((count, len(q))), np.empty((count, len(q)))
        for k in range(count):
            q, v = advance(acceleration, q, v, step)
            positions[k], velocities[k] = q, v
        return positions, velocities

    def motion(result: Any) -> Motion:
        chosen = thinned(count)
        return tree.motion(result[0][chosen], result[1][chosen], count)

    return Ready(timed(run), motion)


def contestants(task: Task) -> list[Contestant]:
    """Return SciPy's DOP853 and fixed steps, from coarse to fine."""
    found = [
        Contestant(
            "DOP853", f"{tolerance:.0e}", lambda tolerance=tolerance: _by_dop853(task, tolerance)
        )
        for tolerance in TOLERANCES
    ]
    found += [
        Contestant(
            method,
            f"step {step:g}",
            lambda method=method, step=step: _by_steps(task, method, step),
        )
        for method, steps in STEPS.items()
        for step in steps
    ]
    return found
