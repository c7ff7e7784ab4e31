"""One model file: how long it takes until it runs, whether accelerations agree, and a run."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.common.attempts import untyped
from benchmarks.common.processes import write
from benchmarks.common.timing import processor_seconds
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.solving.solving import solve
from daesolve.multibody import read
from daesolve.multibody.model_files import ContactKind, FileMechanism, Freedom
from daesolve.multibody.model_files.contacts import GeomContacts
from daesolve.multibody.model_files.file_mechanism import mechanism_of
from daesolve.multibody.model_files.kinematics import matrix_of
from daesolve.multibody.model_files.left_out import LeftOut
from daesolve.multibody.model_files.parsing import parsed
from daesolve.multibody.referee import RefereeReport, refereed
from daesolve.multibody.referee.barriers import Barriers, Touches
from daesolve.multibody.referee.engine import Gauge, compiled_with, switch_off

STATES = 20
SPEED = 1.0
"""rad/s and m/s; the standard deviation of the random joint speeds."""
TURN = 0.5
"""rad and m; the standard deviation of the random joint positions."""
CLEARANCE = 1e-3
"""Above the planes into which a file places free bodies, m."""
SHORT = 1e-4
"""The horizon of a run that does little but prepare, s."""
FRICTION, EQUALITIES = 4, 2
"""MuJoCo's bits for disabled features."""


@dataclass(frozen=True)
class Measurement:
    """A model file.

    Parameters
    ----------
    name
        Name of the file, with its directory.
    kind
        Of its contacts, "rigid" or "none"; limits act with both.
    bodies, joints, rows, contacts
        Groups that move as one piece, joint speeds, rows of equalities, and contacts of geoms.
    solver
        That daesolve chose.
    left_out
        Kinds of elements that daesolve does not have, each with their number.
    first, again, mujoco
        Processor seconds: of daesolve until the first run has ended, reading and preparation
        included, of the same run once more, and of MuJoCo's run.
    events
        Of daesolve's run.
    acceleration
        The largest error of the acceleration of a mass centre, or of a rotation, against MuJoCo's
        at random states, with open loops and without dry friction, over the largest of its kind.
    residual, drift
        daesolve's largest residual of a joint, a loop or a closed contact over every accepted step,
        m or rad, and the drift of the energy over the largest kinetic energy.
    depth, soft_depth
        How far geoms are within each other at most, m: daesolve's at samples, MuJoCo's with the
        step of the file after every step. None where nothing touches.
    beyond, soft_beyond
        How far joints are beyond their limits at most, rad or m, as well.
    soft_gap
        Of MuJoCo's loops, at samples.
    touched, apart
        When geoms or limits first touch, and the first sample at which a mass centre of MuJoCo's is
        a millimetre from daesolve's, s.
    reason
        Why there is no result; otherwise empty.
    """

    name: str
    kind: ContactKind = "rigid"
    bodies: int = 0
    joints: int = 0
    rows: int = 0
    contacts: int = 0
    solver: str = ""
    left_out: tuple[str, ...] = ()
    first: float = 0.0
    again: float | None = None
    mujoco: float = 0.0
    events: int = 0
    acceleration: float | None = None
    residual: float = 0.0
    drift: float | None = None
    depth: float | None = None
    beyond: float | None = None
    soft_depth: float | None = None
    soft_beyond: float | None = None
    soft_gap: float | None = None
    touched: float | None = None
    apart: float | None = None
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
    model = compiled_with(mechanism.path, ())
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


def start_values(mechanism: FileMechanism) -> dict[str, float]:
    """Return random speeds of all joints within limits, with free bodies lifted off planes."""
    # In the middle, not at the limit, beyond which closing the loops might move it again.
    values = {
        name: float(np.mean(freedom.joint.range))
        for freedom in mechanism.freedoms.values()
        if freedom.outputs
        for name, value in freedom.start_values.items()
        if name in freedom.start_names[0] and within_limits(freedom, value) != value
    }
    for keyframe in [*mechanism.starts.values()][:1]:
        values |= keyframe.values
    values |= random_start(mechanism, 1)[1]
    gauge = Gauge(compiled_with(mechanism.path, mechanism.touching.pairs))
    qpos, qvel = np.zeros(int(gauge.model.nq)), np.zeros(int(gauge.model.nv))
    usual = {**mechanism.start_values, **values}
    for freedom in mechanism.freedoms.values():
        freedom.put(usual, qpos, qvel)
    gauge.look(qpos, qvel)
    depths = Barriers.of(mechanism).depths(gauge.data)[: len(mechanism.touching.pairs)]
    lift = float(np.max(depths, initial=0.0))
    if lift <= 0.0:
        return values
    free = [one for one in mechanism.freedoms.values() if one.joint.kind == "free"]
    heights = [name for one in free for name in one.start_names[0] if name.endswith("_z")]
    return values | {name: usual[name] + lift + CLEARANCE for name in heights}


def measured(file: Path, until: float, kind: ContactKind) -> Iterator[Measurement]:
    """Read, prepare and run a file, from its start with random speeds.

    What is known so far is yielded before anything that may take too long.
    """
    begun = _processor()
    mechanism = read(file, contacts=kind)
    known = Measurement(
        title(file),
        kind,
        contacts=len(mechanism.touching.parts),
        left_out=tuple(_counted(entry) for entry in mechanism.left_out),
        reason="it was not prepared",
    )
    yield known
    values = start_values(mechanism)
    refereed(file, SHORT, initial=values, halvings=0, samples=1, contacts=kind)
    took = f"it was prepared in {_processor() - begun:.0f} s, but its run did not end"
    yield replace(known, reason=took)
    report = refereed(file, until, initial=values, halvings=0, contacts=kind)
    known = _of_report(known, report, _processor() - begun)
    yield known
    if not known.reason:
        yield replace(known, again=_again(report, until))


def _counted(entry: LeftOut) -> str:
    return f"{entry.kind} ({len(entry.names)})" if entry.names else entry.kind


def _of_report(known: Measurement, report: RefereeReport, seconds: float) -> Measurement:
    found, run = report.verdict, report.own.trajectory
    (other,) = found.others
    gaps = [size for size in (other.gap, other.turn) if size is not None]
    own, soft = found.own.motion.touches, other.motion.touches
    pairs = len(report.mechanism.touching.pairs)
    firsts = own.first[np.isfinite(own.first)]
    return replace(
        known,
        bodies=found.bodies,
        joints=found.joints,
        rows=found.loops,
        solver=found.own.method,
        first=seconds,
        mujoco=other.seconds,
        events=len(run.events),
        residual=max((size for size, _ in found.goals.values()), default=0.0),
        drift=found.own.drift,
        depth=_deepest(own, slice(pairs)),
        beyond=_deepest(own, slice(pairs, None)),
        soft_depth=_deepest(soft, slice(pairs)),
        soft_beyond=_deepest(soft, slice(pairs, None)),
        soft_gap=max(gaps, default=None),
        touched=float(np.min(firsts)) if firsts.size else None,
        apart=found.divergences[0].leaves(1e-3),
        reason=found.own.motion.message,
    )


def _deepest(touches: Touches, part: slice) -> float | None:
    depths = touches.depths[part][np.isfinite(touches.first[part])]
    return max(0.0, float(np.max(depths))) if depths.size else None


def _again(report: RefereeReport, until: float) -> float:
    """Return the processor seconds of daesolve's run, per second of motion, all being built."""
    mechanism, start = report.mechanism, report.start
    values = mechanism.values_at(start.qpos, start.qvel)
    system = mechanism.system()

    def run() -> Trajectory:
        return solve(
            system,
            until,
            guess=mechanism.start_from(start.qpos, start.qvel),
            parameters=mechanism.discrete_values_with(values),
            inputs=start.inputs or None,
            at=[until],
            redundant="minimum-norm",
        )

    run()
    seconds, _ = processor_seconds(run)
    return seconds / until


def _processor() -> float:
    """Return the processor seconds of this process and of those that it started."""
    return sum(os.times()[:4])


def _all(file: Path, until: float, limit: int, kind: ContactKind) -> Iterator[Measurement]:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    found = None
    for found in measured(file, until, kind):
        yield found
    if found is not None and not found.reason:
        yield replace(found, acceleration=acceleration_error(file))


if __name__ == "__main__":
    results, model, horizon, most, *kinds = sys.argv[1:]
    (way,) = [one for one in get_args(ContactKind) if one in kinds]
    write(Path(results), _all(Path(model), float(horizon), int(most), way))
