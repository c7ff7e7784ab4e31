"""A mechanism from a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.model_files.assembly import Assembly, assembled
from daesolve.multibody.model_files.freedoms import Freedom
from daesolve.multibody.model_files.parsing import parsed
from daesolve.multibody.model_files.poses import poses, quaternion_of
from daesolve.posing.inputs import NO_INPUTS, Inputs
from daesolve.system.system import MechanicalSystem


@dataclass(frozen=True, eq=False, kw_only=True)
class FileMechanism(Mechanism):
    """A mechanism that stands in a file.

    Parameters
    ----------
    path
        Of the file.
    assembly
        What became of what the file says.
    inputs
        Of its actuators.
    """

    path: Path
    assembly: Assembly
    inputs: Inputs = NO_INPUTS

    @property
    def freedoms(self) -> Mapping[str, Freedom]:
        """The motions of its joints, by their names."""
        return {freedom.name: freedom for freedom in self.assembly.freedoms.values()}

    @property
    def title(self) -> str:
        """What the file is called."""
        return self.path.name

    @property
    def starts(self) -> Mapping[str, Mapping[str, float]]:
        """Start values by the names of keyframes; first, those where nothing is moved."""
        return {"default": {}}

    def start_values(self) -> Mapping[str, float]:
        """Return the start values that there are, where nothing is moved and all is at rest."""
        values: dict[str, float] = {}
        for freedom in self.freedoms.values():
            values |= freedom.start_values
        return values

    def start_with(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the states of all bodies, by start values of joints; the others are as usual."""
        model = self.assembly.model
        qpos = np.array(model.qpos0)
        qvel = np.zeros(sum(len(joint.damping) for joint in model.joints))
        for freedom in self.freedoms.values():
            freedom.put(values, qpos, qvel)
        return self.start_from(qpos, qvel)

    def system(self, **further: Any) -> MechanicalSystem:
        """Return the equations of motion; see `Mechanism.system`."""
        own = {"inputs": self.inputs} if self.inputs.names else {}
        return super().system(**own, **further)

    def start_from(self, qpos: np.ndarray, qvel: np.ndarray) -> dict[str, float]:
        """Return the states of all bodies, by the coordinates and velocities of the file.

        Parameters
        ----------
        qpos, qvel
            As MuJoCo orders them.
        """
        found: dict[str, float] = {}
        placed = poses(self.assembly.model, qpos, qvel)
        for number, carrier in self.assembly.carriers.items():
            if carrier.body is None:
                continue
            pose = placed[number].then(carrier.centre, np.eye(3))
            values = [
                *pose.position,
                *quaternion_of(pose.rotation),
                *pose.velocity,
                *(pose.rotation.T @ pose.angular_velocity),
            ]
            names = (*carrier.body.coordinates.names, *carrier.body.velocities.names)
            found |= dict(zip(names, map(float, values), strict=True))
        return found


def read(path: str | Path) -> FileMechanism:
    """Return the mechanism of a model file.

    Parameters
    ----------
    path
        Of an MJCF or URDF file.

    Raises
    ------
    ModelFileError
        There is no such file, or it holds no model.
    MissingPackageError
        MuJoCo, whose parser reads it, is not installed.
    """
    path = Path(path)
    model = parsed(path)
    assembly = assembled(model, set())
    bodies = [carrier.body for carrier in assembly.carriers.values() if carrier.body is not None]
    return FileMechanism(
        bodies,
        [*assembly.joints, *assembly.freedoms.values(), *assembly.parts],
        gravity=model.gravity.tolist(),
        path=path,
        assembly=assembly,
    )
