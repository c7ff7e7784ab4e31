"""Model files that land: run by daesolve, and by MuJoCo with steps that go to zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from daesolve_problems.robots import quadruped

import daesolve as ds
from benchmarks.common.attempts import untyped
from benchmarks.common.timing import processor_seconds
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.multibody import read
from daesolve.multibody.referee.engine import STICKS, STIFFEST

STEPS = (1e-3, 5e-4, 2.5e-4, 1.25e-4)
"""MuJoCo's, s."""
INTEGRATORS = ("implicitfast", "RK4")
SAMPLES = 40
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Landing:
    """One run of a scene.

    Parameters
    ----------
    scene, by
        What lands, and what ran it.
    step
        s; None where steps are chosen.
    seconds
        Processor seconds without preparation.
    error, error_at_end
        Of the main body's mass centre against the reference: the largest at the samples after the
        first touch, and at the end, m.
    error_of_loads
        The largest of a load at the end, N.
    sinks_in
        How far geoms are within each other at most, m.
    """

    scene: str
    by: str
    step: float | None
    seconds: float
    error: float
    error_at_end: float
    error_of_loads: float
    sinks_in: float


@dataclass(frozen=True, eq=False)
class Scene:
    """What lands.

    Parameters
    ----------
    name, file, body
        Of the scene, of its model, and of its main body.
    until
        s
    run
        Runs it by daesolve, with samples at given times.
    loads
        The names of the contacts, by those of the geoms.
    start
        Values of joints that differ from those in the file.
    change
        What MuJoCo's model has beside the file.
    exact
        The place of the body in closed form, (times, 3), if it is known.
    """

    name: str
    file: Path
    body: str
    until: float
    run: Callable[[np.ndarray], Trajectory]
    loads: Mapping[str, str]
    start: Mapping[str, float]
    change: Callable[[Any], None] = lambda model: None
    exact: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def times(self) -> np.ndarray:
        """The samples, s."""
        return np.linspace(0.0, self.until, SAMPLES + 1)

    def places(self, run: Trajectory) -> np.ndarray:
        """Return the mass centre of the main body at the samples, (times, 3), m."""
        return np.column_stack([run[f"{self.body}_{axis}"] for axis in "xyz"])


def ball_in_closed_form(times: np.ndarray) -> np.ndarray:
    """Return the mass centre of the ball: it falls, slides and rolls."""
    drop, speed, friction, gravity = 0.2, 1.0, 0.3, 9.81
    landing = float(np.sqrt(2.0 * drop / gravity))
    touched = speed - friction * gravity * landing  # the impulse of friction, as far as it slides
    sliding = max(0.0, (touched - 5.0 / 7.0 * speed) / (friction * gravity))
    rolling = min(touched, 5.0 / 7.0 * speed) if sliding else 5.0 / 7.0 * speed
    after = np.maximum(times - landing, 0.0)
    slid = np.minimum(after, sliding)
    x = speed * np.minimum(times, landing) + np.where(
        after <= sliding,
        touched * after - friction * gravity * after**2 / 2.0,
        touched * slid - friction * gravity * slid**2 / 2.0 + rolling * (after - slid),
    )
    z = 0.3 - gravity * np.minimum(times, landing) ** 2 / 2.0
    return np.column_stack([x, np.zeros_like(x), z])


def scenes() -> Iterator[Scene]:
    """Return what lands."""
    yield _from_file("ball", "ball", 1.0, {"ball": "ball_floor"}, {"flies_x_dot": 1.0},
                     ball_in_closed_form)  # fmt: skip
    bent = {"hip_angle": 0.6, "knee_angle": -1.2, "ahead_speed": 0.3}
    yield _from_file("hopper", "torso", 1.0, {"foot": "foot_floor"}, bent)
    case = quadruped.problem.case("stands")
    feet = {f"{leg}_foot": name for leg, name in zip(quadruped.LEGS, quadruped.FEET, strict=True)}
    stance = {f"{name}_angle": angle for name, angle in quadruped.stance(_values()).items()}
    reach = quadruped.LINK * (np.cos(0.6) + np.cos(-0.6))
    yield Scene(
        "quadruped",
        quadruped.FILE,
        "trunk",
        1.0,
        lambda times: case.solve(until=1.0, at=times),
        feet,
        {**stance, "base_z": quadruped.FOOT + reach + 0.04},
        _driven,
    )


def _from_file(
    name: str,
    body: str,
    until: float,
    loads: Mapping[str, str],
    start: Mapping[str, float],
    exact: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Scene:
    mechanism = read(HERE / f"{name}.xml")
    system, guess = mechanism.system(), mechanism.start_with(start)
    counted = mechanism.discrete_values_with(start)

    def run(times: np.ndarray) -> Trajectory:
        return ds.solve(system, until, guess=guess, parameters=counted, at=times)

    return Scene(name, mechanism.path, body, until, run, loads, start, exact=exact)


def _driven(model: Any) -> None:
    """Let springs and dampers be what the motors are, so that MuJoCo integrates them implicitly."""
    values = _values()
    for name, angle in quadruped.stance(values).items():
        joint = model.joint(name)
        model.jnt_stiffness[joint.id] = values["stiffness"]
        model.dof_damping[joint.dofadr[0]] = values["damping"]
        model.qpos_spring[joint.qposadr[0]] = angle


def _values() -> Mapping[str, float]:
    """Return the parameters of the quadruped."""
    return quadruped.legged()[1].values({})


def measured(scene: Scene, steps: tuple[float, ...]) -> Iterator[Landing]:
    """Run a scene by both programs."""
    times = scene.times
    scene.run(times)
    seconds, run = processor_seconds(lambda: scene.run(times))
    places = scene.places(run)
    exact = places if scene.exact is None else scene.exact(times)
    loads = np.array([run[name][-1] for name in scene.loads.values()])
    sinks_in = max(0.0, *(-float(np.min(run[f"{name}_gap"])) for name in scene.loads.values()))
    touched = times > min(event.time for event in run.events)
    own = np.linalg.norm(places - exact, axis=1)
    yield Landing(scene.name, "daesolve", None, seconds, float(np.max(own[touched])),
                  float(own[-1]), 0.0, sinks_in)  # fmt: skip
    for integrator in INTEGRATORS:
        for step in steps:
            peer = Peer(scene, integrator, step)
            places, its_loads, its_depth = peer.motion()
            apart = np.linalg.norm(places - exact, axis=1)
            yield Landing(scene.name, f"MuJoCo, {integrator}", step, peer.seconds(),
                          float(np.max(apart[touched])), float(apart[-1]),
                          float(np.max(np.abs(its_loads - loads))), its_depth)  # fmt: skip


class Peer:
    """A scene in MuJoCo, with contacts as hard as its documentation allows."""

    def __init__(self, scene: Scene, integrator: str, step: float) -> None:
        self.mujoco, self.scene = untyped("mujoco"), scene
        mj = self.mujoco
        self.model = mj.MjModel.from_xml_path(str(scene.file))
        option = self.model.opt
        option.timestep = step
        option.integrator = getattr(mj.mjtIntegrator, f"mjINT_{integrator.upper()}")
        option.cone, option.impratio = mj.mjtCone.mjCONE_ELLIPTIC, STICKS
        option.solver, option.iterations = mj.mjtSolver.mjSOL_NEWTON, 100
        option.tolerance = 1e-12
        self.model.geom_solref[:] = (2.0 * step, 1.0)
        self.model.geom_solimp[:] = STIFFEST
        scene.change(self.model)

    def _begun(self) -> Any:
        data = self.mujoco.MjData(self.model)
        mechanism = read(self.scene.file)
        qpos, qvel = np.array(data.qpos), np.array(data.qvel)
        for freedom in mechanism.freedoms.values():
            freedom.put(self.scene.start, qpos, qvel)
        data.qpos[:], data.qvel[:] = qpos, qvel
        return data

    def seconds(self) -> float:
        """Return the processor seconds of a run."""
        data, count = self._begun(), round(self.scene.until / self.model.opt.timestep)
        return processor_seconds(lambda: self.mujoco.mj_step(self.model, data, count))[0]

    def motion(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the places at the samples, the loads at the end, and how far geoms sink in."""
        mj, model, data = self.mujoco, self.model, self._begun()
        body = model.body(self.scene.body).id
        count = round(self.scene.until / model.opt.timestep)
        step = float(model.opt.timestep)
        taken = {round(time / step) for time in self.scene.times.tolist()}
        places, depth = list[np.ndarray](), 0.0
        for number in range(count + 1):
            if number in taken:
                mj.mj_forward(model, data)
                places.append(np.array(data.xipos[body]))
            if data.ncon:
                depth = max(depth, -float(np.min(data.contact.dist)))
            if number < count:
                mj.mj_step(model, data)
        return np.array(places), self._loads(data), depth

    def _loads(self, data: Any) -> np.ndarray:
        mj, model = self.mujoco, self.model
        numbers = [self._geom(name) for name in self.scene.loads]
        loads, force = np.zeros(len(numbers)), np.zeros(6)
        for number, contact in enumerate(data.contact):
            mj.mj_contactForce(model, data, number, force)
            for place, geom in enumerate(numbers):
                loads[place] += force[0] * (geom in contact.geom)
        return loads

    def _geom(self, name: str) -> int:
        number = self.mujoco.mj_name2id(self.model, self.mujoco.mjtObj.mjOBJ_GEOM, name)
        return int(number if number >= 0 else self.model.body(name).geomadr[0])
