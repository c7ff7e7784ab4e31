"""Runs a file with daesolve, measured in the same way as MuJoCo's motion.

At each sample the joints' coordinates are read off the bodies, and MuJoCo's own rows give how far
its equalities gape there: both sides are measured in the same way. daesolve also reports the
largest residual of each joint and loop over every accepted step.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from daesolve.core.posing.goals import AnyGoal
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.solving.early_ends import reported_otherwise
from daesolve.core.run.solving.solving import solve
from daesolve.errors import StepFailedError
from daesolve.multibody.model_files import FileMechanism
from daesolve.multibody.model_files.kinematics import matrix_of, quaternion_of
from daesolve.multibody.referee.barriers import Barriers, TouchLog
from daesolve.multibody.referee.engine import CommonStart, EqualityRows, Gauge
from daesolve.multibody.referee.mujoco_run import Motion


@dataclass(frozen=True, eq=False)
class OwnRun:
    """A motion by daesolve.

    Parameters
    ----------
    motion
        What was seen.
    trajectory
        The run.
    goals
        The largest residual over every accepted step, by goal, and its unit.
    preparation
        Seconds by stage.
    """

    motion: Motion
    trajectory: Trajectory
    goals: Mapping[str, tuple[float, str]]
    preparation: Mapping[str, float]


def own_run(
    mechanism: FileMechanism,
    gauge: Gauge,
    rows: Sequence[EqualityRows],
    start: CommonStart,
    times: np.ndarray,
    barriers: Barriers,
) -> OwnRun:
    """Run a mechanism from the same start.

    Parameters
    ----------
    mechanism
        As it was read.
    gauge, rows
        What measures MuJoCo's model, and what it measures of equalities.
    start
        Where both begin.
    times
        (n,) the samples, s, from zero.
    barriers
        What is watched.

    Raises
    ------
    DaesolveError
        The system cannot be prepared, or the run ends before the first sample.
    """
    begun = time.perf_counter()
    system = mechanism.system()
    posed = time.perf_counter()
    values = mechanism.values_at(start.qpos, start.qvel)
    with reported_otherwise():
        run = solve(
            system,
            float(times[-1]),
            guess=mechanism.start_from(start.qpos, start.qvel),
            parameters=mechanism.discrete_values_with(values),
            inputs=start.inputs or None,
            at=times,
            redundant="minimum-norm",
        )
    whole = time.perf_counter() - posed
    seconds = run.statistics.wall_seconds
    if not len(run.times):
        raise StepFailedError(f"daesolve's run ended at its start: {run.message}")
    sight = Sight(mechanism, gauge, run)
    log, gaps = TouchLog(len(barriers.listed)), np.zeros((len(run.times), len(rows)))
    for k, time_ in enumerate(run.times if rows or barriers.listed else ()):
        gauge.look(sight.qpos(k), np.zeros(int(gauge.model.nv)))
        gaps[k] = gauge.gaps(rows)
        log.add(float(time_), barriers.depths(gauge.data))
    touches, events = log.touches, barriers.first_events(run)
    by_event = ~np.isnan(events) & ~(touches.first == 0.0)
    touches = replace(touches, first=np.where(by_event, events, touches.first))
    energy = run.drift["energy"]
    motion = Motion(
        times=np.array(run.times),
        positions=sight.positions,
        energy=np.array(run.outputs["energy"]),
        work=np.array(run.outputs["work"]) if "work" in run.outputs else np.zeros(len(gaps)),
        gaps=gaps,
        touches=touches,
        kinetic=energy.scale,
        seconds=seconds,
        message="" if run.outcome.good else f"daesolve, {run.outcome.value}: {run.message}",
    )
    preparation = {"equations": posed - begun, "preparation": whole - seconds}
    return OwnRun(motion, run, _goals(run, mechanism), preparation)


def _goals(run: Trajectory, mechanism: FileMechanism) -> dict[str, tuple[float, str]]:
    """Return the largest residual of each goal of joints and loops, and its unit."""
    units = {goal.name: _unit(goal) for part in mechanism.contributions for goal in part.goals}
    return {name: (run.drift[name].max_abs, unit) for name, unit in units.items()
            if name in run.drift}  # fmt: skip


def _unit(goal: AnyGoal) -> str:
    """Return the unit of a residual, which is that in which its reaction does work."""
    return "rad" if "m" in getattr(goal, "unit", "").split() else "m"


class Sight:
    """Reads off the states of daesolve's bodies what MuJoCo knows of them.

    Parameters
    ----------
    mechanism
        Which has the bodies.
    gauge
        Which says what moves in one piece.
    run
        The states.
    """

    def __init__(self, mechanism: FileMechanism, gauge: Gauge, run: Trajectory) -> None:
        self._assembly, self._gauge = mechanism.assembly, gauge
        names = [name for body in mechanism.bodies for name in body.coordinates.names]
        self._states = {name: np.array(run.states[name]) for name in names}
        moved = [one for one in self._assembly.freedoms.values() if one.outputs]
        names = [name for freedom in moved for name in freedom.start_names[0]]
        self._moved = {name: np.array(run.outputs[name]) for name in names}

    @property
    def positions(self) -> np.ndarray:
        """The mass centres, (n, roots, 3)."""
        return np.stack([self._centre(root) for root in self._gauge.roots], axis=1)

    def _centre(self, root: int) -> np.ndarray:
        body = self._assembly.carriers[root].body
        assert body is not None
        return np.stack([self._states[f"{body.name}_{axis}"] for axis in "xyz"], axis=1)

    def _frame(self, number: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the origin and the axes of a body of the file at a sample."""
        root = self._assembly.model.bodies[number].welded
        carrier, (place, own) = self._assembly.carriers[root], self._assembly.relative[number]
        if carrier.body is None:
            return place, own
        name = carrier.body.name
        axes = matrix_of(np.array([self._states[f"{name}_q{part}"][k] for part in range(4)]))
        return self._centre(root)[k] + axes @ (place - carrier.centre), axes @ own

    def qpos(self, k: int) -> np.ndarray:
        """Return the positions of the joints at a sample, as MuJoCo orders them, (nq,)."""
        model = self._assembly.model
        qpos = np.array(model.qpos0)
        for freedom in self._assembly.freedoms.values():
            joint = freedom.joint
            if freedom.outputs:
                qpos[joint.place] = self._moved[freedom.start_names[0][0]][k]
                continue
            origin, axes = self._frame(joint.body, k)
            if joint.kind == "free":
                qpos[joint.place : joint.place + 7] = [*origin, *quaternion_of(axes)]
                continue
            body = model.bodies[joint.body]
            outer = self._frame(body.parent, k)[1] @ matrix_of(body.rotation)
            qpos[joint.place : joint.place + 4] = quaternion_of(outer.T @ axes)
        return qpos
