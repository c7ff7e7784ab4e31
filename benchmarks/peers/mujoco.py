"""MuJoCo: joint coordinates, loops closed by `connect`, its Runge-Kutta method, `rollout`.

MuJoCo's constraints are soft by design. They are as hard here as its documentation allows: the
impedance at its upper limit 0.9999, the time constant at twice the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common.attempts import BrokeDownError, untyped

from .contestant import Contestant, Motion, Ready, thinned, timed
from .tasks import GRAVITY, Task
from .tree import TREES, Tree

mujoco = untyped("mujoco")
rollout = untyped("mujoco.rollout")

STEPS = {
    "RK4": (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4),
    "implicitfast": (0.01, 0.001),
}
LEAST = 2e-15
"""Inertia of a point mass: MuJoCo requires more than 1e-15."""
STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS


def model_text(tree: Tree, integrator: str, step: float) -> str:
    """Return the model in MuJoCo's own XML."""
    children: dict[int, list[int]] = {k: [] for k in range(-1, len(tree.links))}
    for k, link in enumerate(tree.links):
        children[link.parent].append(k)

    def body(k: int) -> str:
        link = tree.links[k]
        place = link.anchor if link.parent < 0 else tree.links[link.parent].length
        kind = 'type="slide" axis="1 0 0"' if link.slides else 'type="hinge" axis="0 0 1"'
        around = max(link.inertia, LEAST)
        inside = "".join(body(child) for child in children[k])
        return (
            f'<body pos="{place} 0 0"><joint {kind}/>'
            f'<inertial pos="{link.centre} 0 0" mass="1" diaginertia="{LEAST} {around} {around}"/>'
            f'<site name="end{k}" pos="{link.length} 0 0"/>{inside}</body>'
        )

    bodies = "".join(body(k) for k in children[-1])
    loops = "".join(
        f'<connect site1="end{a}" site2="end{b}" solref="{2 * step} 1" '
        'solimp="0.9999 0.9999 0.001 0.5 2"/>'
        for a, b in tree.loops
    )
    return (
        f'<mujoco><option gravity="0 {-GRAVITY} 0" timestep="{step}" integrator="{integrator}" '
        'solver="Newton" tolerance="1e-15" iterations="100"><flag contact="disable"/></option>'
        f"<worldbody>{bodies}</worldbody><equality>{loops}</equality></mujoco>"
    )


def _by_rollout(task: Task, integrator: str, step: float) -> Ready:
    tree = TREES[task.kind]
    model = mujoco.MjModel.from_xml_string(model_text(tree, integrator, step))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = tree.start, tree.start_rate
    start = np.zeros((1, mujoco.mj_stateSize(model, STATE)))
    mujoco.mj_getState(model, data, start[0], STATE)
    count = round(task.until / step)

    def motion(result: Any) -> Motion:
        states = result[0][0]
        chosen = states[thinned(len(states))]
        if not np.all(np.isfinite(chosen)) or abs(chosen[-1, 0] - task.until) > step / 2:
            raise BrokeDownError("the simulation became unstable and was reset")
        joints = len(tree.links)
        q, v = chosen[:, 1 : 1 + joints], chosen[:, 1 + joints : 1 + 2 * joints]
        return tree.motion(q, v, count)

    return Ready(timed(lambda: rollout.rollout(model, data, start, nstep=count)), motion)


def contestants(task: Task) -> list[Contestant]:
    """Return each integrator with smaller and smaller steps."""
    return [
        Contestant(
            integrator,
            f"step {step:g}",
            lambda integrator=integrator, step=step: _by_rollout(task, integrator, step),
        )
        for integrator, steps in STEPS.items()
        for step in steps
    ]
