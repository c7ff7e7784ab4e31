"""daesolve with its own problems: Taylor's method at several tolerances.

Every step is monitored for drift and rank loss, as in any run. The slider-crank among the problems
has six constraints between seven coordinates of rigid bodies, so it is also posed in the three
coordinates of points that the hand-written peers use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import heyoka
import numpy as np

import daesolve as ds
from benchmarks.common.attempts import BrokeDownError
from daesolve.core.posing.symbols import velocity_name

from .contestant import Contestant, Motion, Ready
from .tasks import Mechanism, Task

TOLERANCES = (1e-2, 1e-3, 1e-5, 1e-7, 1e-9, 1e-10, 1e-11, 1e-13, float(np.finfo(float).eps))
SAMPLES = 1000
OPTIMISED = ds.Taylor(code="unrolled", optimisation=3)


@dataclass(frozen=True, eq=False)
class Posed:
    """How to solve, and where to find the task's coordinates.

    Parameters
    ----------
    solve
        Accepts `solver` and `at`.
    coordinates
        A coordinate of the task -> a state and a factor.
    joints
        Goals whose residuals are gaps in m that the task's coordinates do not show.
    """

    solve: Callable[..., ds.Trajectory]
    coordinates: Mapping[str, tuple[str, float]]
    joints: tuple[str, ...] = field(default=())

    def velocity(self, name: str) -> tuple[str, float]:
        """Return the state and the factor of a coordinate's rate."""
        state, factor = self.coordinates[name]
        return velocity_name(state), factor


def in_points(mechanism: Mechanism) -> ds.MechanicalSystem:
    """Pose the mechanism in the task's coordinates."""
    q = ds.coordinates(**dict.fromkeys(mechanism.names, "m"))
    x, v = q.vector, q.dot.vector
    constraints = zip(mechanism.curvature, mechanism.slope, mechanism.constant, strict=True)
    goals = [
        ds.Holonomic(f"rod_{k}", x.T @ ca.sparsify(ca.DM(A)) @ x / 2 + ca.DM(b).T @ x + c)
        for k, (A, b, c) in enumerate(constraints)
    ]
    return ds.MechanicalSystem(
        q,
        kinetic=v.T @ ca.sparsify(ca.DM(mechanism.mass)) @ v / 2,
        potential=-ca.DM(mechanism.weight).T @ x,
        goals=goals,
    )


def _points(task: Task) -> Posed:
    mechanism = task.mechanism
    system = in_points(mechanism)
    start = dict(zip(mechanism.names, mechanism.start.tolist(), strict=True))
    for name, rate in zip(mechanism.names, mechanism.start_rate.tolist(), strict=True):
        start[velocity_name(name)] = rate

    def solve(**options: Any) -> ds.Trajectory:
        return ds.solve(system, task.until, start, **options)

    return Posed(solve, {name: (name, 1.0) for name in mechanism.names})


def _problem(task: Task) -> Posed:
    bound = ds.problem(task.kind).case()

    def solve(**options: Any) -> ds.Trajectory:
        return bound.solve(task.until, **options)

    names = task.mechanism.names
    if task.kind == "slider-crank":
        places = {"pin_x": ("x_1", 2.0), "pin_y": ("y_1", 2.0), "slider": ("x_3", 1.0)}
        joints = tuple(f"{joint}_{axis}" for joint in ("pivot", "pin", "wrist") for axis in "xy")
        return Posed(solve, places, joints)
    if task.kind == "four-bar":  # the problem counts its points from 1
        return Posed(solve, {name: (f"{name[0]}_{int(name[2:]) + 1}", 1.0) for name in names})
    return Posed(solve, {name: (name, 1.0) for name in names})


def _ready(posed: Posed, task: Task, solver: ds.Taylor) -> Ready:
    names = task.mechanism.names

    def integrate() -> tuple[float, ds.Trajectory]:
        run = posed.solve(solver=solver, at=[task.until])
        return run.statistics.wall_seconds, run

    def column(run: ds.Trajectory, place: tuple[str, float]) -> np.ndarray:
        return place[1] * run[place[0]]

    def motion(run: ds.Trajectory) -> Motion:
        if run.outcome is not ds.Outcome.COMPLETED:
            raise BrokeDownError(run.message)
        at = np.linspace(task.until / SAMPLES, task.until, SAMPLES)
        whole = posed.solve(solver=solver, at=at)
        gaps = [run.drift[joint].max_abs for joint in posed.joints]
        return Motion(
            np.column_stack([column(whole, posed.coordinates[name]) for name in names]),
            np.column_stack([column(whole, posed.velocity(name)) for name in names]),
            run.statistics.steps,
            np.array(gaps) if gaps else None,
        )

    return Ready(integrate, motion)


def contestants(task: Task) -> list[Contestant]:
    """Return one setting for each tolerance, with automatically chosen and with optimised code.

    A short run uses the code that compiles fastest. Optimised code pays off over many runs; for
    equations as large as the four-bar linkage's it takes minutes to compile.
    """
    heyoka.llvm_state.set_diskcache_enabled(False)  # so that compilation counts
    chosen: dict[str, tuple[Callable[[Task], Posed], ds.Taylor]] = {
        "taylor": (_problem, ds.Taylor())
    }
    if task.kind == "pendulum":
        chosen["taylor, optimised"] = _problem, OPTIMISED
    elif task.kind == "slider-crank":
        chosen = {
            "taylor, points": (_points, ds.Taylor()),
            "taylor, points, optimised": (_points, OPTIMISED),
            "taylor, bodies": (_problem, ds.Taylor()),
        }

    def prepared(pose: Callable[[Task], Posed], solver: ds.Taylor) -> Callable[[], Ready]:
        return lambda: _ready(pose(task), task, solver)

    return [
        Contestant(name, f"{tolerance:.0e}", prepared(pose, replace(solver, tolerance=tolerance)))
        for name, (pose, solver) in chosen.items()
        for tolerance in TOLERANCES
    ]
