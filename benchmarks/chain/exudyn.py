"""Exudyn: two-dimensional rigid bodies with revolute joints, implicit methods, sparse solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common.attempts import BrokeDownError, untyped
from benchmarks.peers.exudyn import IMPLICIT, add_links, settings_of
from benchmarks.peers.tree import Link, Tree

from .motion import Bodies, Ready, Setting

exudyn = untyped("exudyn")

STEPS = (1e-2, 1e-3, 1e-4)
FOR_COST = 1e-3


def _ready(method: str, step: float, rods: int, until: float) -> Ready:
    tree = Tree(tuple(Link(k - 1, 0.0, 1.0, 0.0, 0.0) for k in range(rods)), (), ())
    settings = settings_of(method, step, until)
    settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
    solver = getattr(exudyn.DynamicSolverType, method)
    mbs = exudyn.SystemContainer().AddSystem()
    nodes = add_links(mbs, tree)
    mbs.Assemble()
    first = np.column_stack([np.arange(rods) + 0.5, np.zeros((rods, 2))])
    coordinates = exudyn.OutputVariableType.Coordinates
    velocities = exudyn.OutputVariableType.Coordinates_t

    def read(kind: Any) -> np.ndarray:
        return np.array([mbs.GetNodeOutput(node, kind) for node in nodes], float)

    def integrate() -> bool:
        return mbs.SolveDynamic(settings, solverType=solver, updateInitialValues=False)

    def end(succeeded: bool) -> tuple[Bodies, int]:
        if not succeeded:
            raise BrokeDownError("SolveDynamic did not succeed")
        moved, rates = read(coordinates), read(velocities)
        return Bodies(first + moved, rates), round(until / step)

    return Ready(integrate, end)


def settings() -> list[Setting]:
    """Return each method with smaller and smaller steps."""
    return [
        Setting(
            method,
            f"step {step:g}",
            lambda rods, until, method=method, step=step: _ready(method, step, rods, until),
            step == FOR_COST,
        )
        for method in IMPLICIT
        for step in STEPS
    ]
