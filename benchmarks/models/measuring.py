"""One model file: how long it takes until it runs, whether accelerations agree, and a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.attempts import untyped
from benchmarks.common.processes import write
from daesolve.multibody import read
from daesolve.multibody.model_files import FileMechanism, Freedom
from daesolve.multibody.model_files.contacts import GeomContacts
from daesolve.multibody.model_files.file_mechanism import mechanism_of
from daesolve.multibody.model_files.kinematics import matrix_of
from daesolve.multibody.model_files.parsing import parsed
from daesolve.multibody.referee import refereed
from daesolve.multibody.referee.engine import Gauge, switch_off

STATES = 20
SPEED = 1.0
"""rad/s and m/s; the standard deviation of the random joint speeds."""
TURN = 0.5
"""rad and m; the standard deviation of the random joint positions."""
FRICTION, EQUALITIES = 4, 2
"""MuJoCo's bits for disabled features."""


@dataclass(frozen=True)
class Measurement:
    """A model file.

    Parameters
    ----------
    name
        Name of the file, with its directory.
    bodies, joints, rows
        Groups that move as one piece, joint speeds, and rows of equalities.
    left_out
        Kinds of elements that daesolve does not support.
    reading, equations, preparation, run, mujoco
        Wall-clock seconds; the last for MuJoCo's run.
    acceleration
        The largest error of the acceleration of a mass centre, or of a rotation, against MuJoCo's
        at random states, with open loops and without dry friction, over the largest of its kind.
    gap, drift
        The largest residual of a joint or loop over every accepted step, m or rad, and the drift
        of the energy over the largest kinetic energy.
    soft_gap, soft_drift
        The same for MuJoCo with the step of the file, at samples.
    reason
        Why there is no result; otherwise empty.
    """

    name: str
    bodies: int = 0
    joints: int = 0
    rows: int = 0
    left_out: tuple[str, ...] = ()
    reading: float = 0.0
    equations: float = 0.0
    preparation: float = 0.0
    run: float = 0.0
    mujoco: float = 0.0
    acceleration: float | None = None
    gap: float = 0.0
    drift: float = 0.0
    soft_gap: float | None = None
    soft_drift: float = 0.0
    reason: str = ""


def title(file: Path) -> str:
    """Return the name of a file in tables."""
    return f"{file.resolve().parent.name}/{file.name}"


def random_start(mechanism: FileMechanism, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return random positions and speeds of all joints except the positions of balls, by name."""
    random = np.random.default_rng(seed)
    places: dict[str, float] = {}
    rates: dict[str, float] = {}
    for freedom in mechanism.freedoms.values():
        own, speeds = freedom.start_names
        usual = freedom.start_values
        if freedom.outputs:
            drawn = {name: usual[name] + TURN * random.standard_normal() for name in own}
            places |= {name: within_limits(freedom, value) for name, value in drawn.items()}
        rates |= {name: SPEED * random.standard_normal() for name in speeds}
    return places, rates


def within_limits(freedom: Freedom, value: float) -> float:
    """Return the place of a joint that is nearest to a value."""
    return float(np.clip(value, *freedom.joint.range)) if freedom.joint.limited else value


def acceleration_error(file: Path) -> float:
    """Return the relative difference of accelerations at random states from MuJoCo's."""
    given = parsed(file)
    without = replace(given, disabled=given.disabled | FRICTION | EQUALITIES)
    mechanism = mechanism_of(without, file, choice=GeomContacts("none"))
    system = mechanism.system()
    names = list(system.dynamics.labels.states)
    function: Any = system.function("accelerations")
    own = [*system.dynamics.ranges]
    model = _tree(mechanism)
    gauge, worst, largest = Gauge(model), [0.0, 0.0], [0.0, 0.0]
    for seed in range(STATES):
        places, rates = random_start(mechanism, seed)
        values = {**mechanism.start_values, **places, **rates}
        qpos, qvel = np.zeros(int(model.nq)), np.zeros(int(model.nv))
        for freedom in mechanism.freedoms.values():
            freedom.put(values, qpos, qvel)
        state = mechanism.start_from(qpos, qvel)
        p = {**dict.fromkeys(own, 0.0), **mechanism.discrete_values_with(values)}
        found = np.asarray(
            function(0.0, [state[name] for name in names], [p[name] for name in own])
        ).reshape(-1, 6)
        axes = [matrix_of(np.array([state[f"{body.name}_q{number}"] for number in range(4)]))
                for body in mechanism.bodies]  # fmt: skip
        turning = np.array([own @ six[3:] for own, six in zip(axes, found, strict=True)])
        pairs = zip((found[:, :3], turning), _accelerations(gauge, qpos, qvel), strict=True)
        for kind, (ours, right) in enumerate(pairs):
            worst[kind] = max(worst[kind], float(np.abs(ours - right).max()))
            largest[kind] = max(largest[kind], float(np.abs(right).max()))
    return max(error / size for error, size in zip(worst, largest, strict=True) if size)


def _tree(mechanism: FileMechanism) -> Any:
    """Return MuJoCo's model with open loops and without dry friction."""
    from daesolve.multibody.model_files.child import compiled

    model, _ = compiled(mechanism.path)
    switch_off(model, mechanism.left_out)
    flags = untyped("mujoco").mjtDisableBit
    model.opt.disableflags |= int(flags.mjDSBL_EQUALITY) | int(flags.mjDSBL_FRICTIONLOSS)
    return model


def _accelerations(
    gauge: Gauge, qpos: np.ndarray, qvel: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the accelerations of the mass centres of the moving pieces, and of their rotation.

    Each has the shape (roots, 3), in axes of space.
    """
    mujoco, model, data = untyped("mujoco"), gauge.model, gauge.data
    gauge.look(qpos, qvel)
    mujoco.mj_rnePostConstraint(model, data)
    bodies = np.zeros((int(model.nbody), 6))
    for body in range(1, len(bodies)):
        mujoco.mj_objectAcceleration(model, data, mujoco.mjtObj.mjOBJ_BODY, body, bodies[body], 0)
    return gauge.together(bodies[:, 3:] + np.array(model.opt.gravity)), bodies[gauge.roots, :3]


def measured(file: Path, until: float) -> Measurement:
    """Read, prepare and run a file, from its start with random speeds."""
    mechanism = read(file, contacts="none")
    _, rates = random_start(mechanism, 1)
    usual = {
        name: within_limits(freedom, value)
        for freedom in mechanism.freedoms.values()
        if freedom.outputs
        for name, value in freedom.start_values.items()
        if name in freedom.start_names[0] and within_limits(freedom, value) != value
    }
    found = refereed(file, until, initial={**usual, **rates}, halvings=0).verdict
    (other,) = found.others
    gaps = [size for size in (other.gap, other.turn) if size is not None]
    return Measurement(
        title(file),
        found.bodies,
        found.joints,
        found.loops,
        tuple(entry.kind for entry in mechanism.left_out),
        **found.preparation,
        run=found.own.seconds,
        mujoco=other.seconds,
        gap=max(size for size, _ in found.goals.values()) if found.goals else 0.0,
        drift=found.own.drift,
        soft_gap=max(gaps, default=None),
        soft_drift=other.drift,
        reason=found.own.motion.message,
    )


def _all(file: Path, until: float) -> Iterator[Measurement]:
    found = measured(file, until)
    yield found
    yield replace(found, acceleration=acceleration_error(file))


if __name__ == "__main__":
    write(Path(sys.argv[1]), _all(Path(sys.argv[2]), float(sys.argv[3])))
