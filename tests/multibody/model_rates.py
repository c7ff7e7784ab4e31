"""Accelerations of a mechanism from a file, in the velocities of the file, beside MuJoCo's own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import casadi as ca
import mujoco
import numpy as np

import daesolve as ds

RIGID = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT


def written(directory: Path, name: str, text: str) -> Path:
    """Write a model to a file."""
    path = directory / (f"{name}.urdf" if text.lstrip().startswith("<robot") else f"{name}.xml")
    path.write_text(text.strip())
    return path


class Beside:
    """A mechanism and MuJoCo's model of one file."""

    def __init__(self, path: Path) -> None:
        self.mechanism = ds.multibody.read(path, contacts="none")
        self.system = self.mechanism.system()
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.model.opt.disableflags |= int(RIGID)
        self.data = mujoco.MjData(self.model)
        dynamics = self.system.dynamics
        self.names = [name for name in dynamics.ranges if name in dynamics.posed_ranges]

    @cached_property
    def _accelerations(self) -> ca.Function:
        return self.system.function("accelerations")

    @cached_property
    def _rates(self) -> ca.Function:
        """(q, v, v', p) -> the velocities of the file and their rates."""
        mechanism = self.mechanism
        freedoms = [mechanism.assembly.freedoms[k] for k in sorted(mechanism.assembly.freedoms)]
        rates = ca.vertcat(*[rate for freedom in freedoms for rate in freedom.rates])
        q, v = mechanism._coordinates.vector, mechanism._velocities.vector
        kinematics = ca.vertcat(*[body.kinematics for body in mechanism.bodies])
        changing = ca.SX.sym("changing", v.numel())
        found = ca.jtimes(rates, q, kinematics) + ca.jtimes(rates, v, changing)
        p = ca.vertcat(ca.SX(0, 1), *[self.system.owner_of(name)[name] for name in self.names])
        return ca.Function("rates", [q, v, changing, p], [rates, found])

    def states(self, count: int, spread: float = 0.7) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield random coordinates and velocities of the file."""
        random = np.random.default_rng(1)
        for _ in range(count):
            qpos = np.array(self.model.qpos0)
            mujoco.mj_integratePos(
                self.model, qpos, random.normal(size=self.model.nv) * spread, 1.0
            )
            for freedom in self.mechanism.freedoms.values():
                if freedom.joint.limited and freedom.outputs:
                    place = freedom.joint.place
                    qpos[place] = np.clip(qpos[place], *freedom.joint.range)
            yield qpos, random.normal(size=self.model.nv)

    def errors(self, qpos: np.ndarray, qvel: np.ndarray, ctrl: np.ndarray) -> tuple[float, float]:
        """Return by how much velocities and accelerations differ, over the largest of them."""
        data, mechanism = self.data, self.mechanism
        data.qpos[:], data.qvel[:], data.ctrl[: len(ctrl)] = qpos, qvel, ctrl
        mujoco.mj_forward(self.model, data)
        start = mechanism.start_from(qpos, qvel)
        values = dict(self.system.dynamics.values) | mechanism.discrete_values_with(
            self.shown(qpos, qvel)
        )
        values |= dict(zip(mechanism.inputs.names, ctrl, strict=True))
        x = np.array([start[name] for name in self.system.dynamics.labels.states])
        every = [values[name] for name in self.system.dynamics.ranges]
        accelerations = self._accelerations(0.0, x, every)
        split = mechanism._coordinates.vector.numel()
        own = [values[name] for name in self.names]
        rates, changing = self._rates(x[:split], x[split:], accelerations, own)
        return (
            _relative(np.array(rates).ravel(), qvel),
            _relative(np.array(changing).ravel(), data.qacc),
        )

    def shown(self, qpos: np.ndarray, qvel: np.ndarray) -> dict[str, float]:
        """Return start values of joints by coordinates and velocities of the file."""
        found: dict[str, float] = {}
        for freedom in self.mechanism.freedoms.values():
            found |= freedom.values_of(qpos, qvel)
        return found


def _relative(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.max(np.abs(found - true)) / np.max(np.abs(true)))
