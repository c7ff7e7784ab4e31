"""MuJoCo: hinges in joint coordinates, N of them without constraints."""

from __future__ import annotations

import numpy as np

from benchmarks.common.attempts import untyped
from benchmarks.peers.mujoco import model_text
from benchmarks.peers.tree import Link, Tree

from .motion import Bodies, Ready, Setting, jointed

mujoco = untyped("mujoco")

STEPS = {"implicitfast": (1e-3, 1e-4), "RK4": (1e-2, 1e-3, 1e-4)}
FOR_COST = 1e-3


def _ready(integrator: str, step: float, rods: int, until: float) -> Ready:
    tree = Tree(tuple(Link(k - 1, 0.0, 1.0, 0.0, 0.0) for k in range(rods)), (), ())
    model = mujoco.MjModel.from_xml_string(model_text(tree, integrator, step))
    data = mujoco.MjData(model)
    count = round(until / step)

    def integrate() -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, nstep=count)

    def end(_: None) -> tuple[Bodies, int]:
        angles, rates = (np.cumsum(np.asarray(part, float)) for part in (data.qpos, data.qvel))
        return jointed(angles, rates), count

    return Ready(integrate, end)


def settings() -> list[Setting]:
    """Return each integrator with smaller and smaller steps."""
    return [
        Setting(
            integrator,
            f"step {step:g}",
            lambda rods, until, chosen=integrator, step=step: _ready(chosen, step, rods, until),
            step == FOR_COST,
        )
        for integrator, steps in STEPS.items()
        for step in steps
    ]
