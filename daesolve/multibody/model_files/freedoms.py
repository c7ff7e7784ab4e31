"""The motion that a joint of a file leaves free, and what acts along it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import cos

import casadi as ca
import numpy as np

from daesolve.multibody.contribution import AppliedForce, Contribution, GearedInertia
from daesolve.multibody.friction_laws import Coulomb
from daesolve.multibody.joint_rows import wrapped
from daesolve.multibody.model_files.model import FileJoint
from daesolve.posing.events import FALLING, Event, Reset
from daesolve.posing.symbols import ANY, Parameters
from daesolve.system.system import Output

TOLD_ANEW = 3.0
"""rad, how far an angle turns before that from which it is counted is told anew; below pi."""
STARTS = {
    "hinge": (("angle",), ("rate",)),
    "slide": (("displacement",), ("speed",)),
    "ball": (("q0", "q1", "q2", "q3"), ("w1", "w2", "w3")),
    "free": (
        ("x", "y", "z", "q0", "q1", "q2", "q3"),
        ("x_dot", "y_dot", "z_dot", "w1", "w2", "w3"),
    ),
}
"""What the coordinates and velocities of a joint are called, after its name."""


@dataclass(frozen=True, eq=False)
class Drive:
    """A force along a freedom.

    Parameters
    ----------
    name
        A word.
    force
        N or N m, an expression of inputs, positions and velocities.
    """

    name: str
    force: ca.SX


@dataclass(frozen=True, eq=False)
class Freedom:
    """The motion of one joint, with its spring, damper, friction, rotor and drives.

    Parameters
    ----------
    name
        A word.
    joint
        As the file has it.
    shift
        How far it is moved from its reference: an angle between -pi and pi, rad, or a way, m; None
        for a ball and for a free body.
    rates
        Its velocities, in the order of the file.
    counted
        Whether whole turns count.
    """

    name: str
    joint: FileJoint
    shift: ca.SX | None
    rates: Sequence[ca.SX]
    counted: bool = False
    drives: list[Drive] = field(default_factory=list[Drive])

    @property
    def turns(self) -> bool:
        """Whether it is a hinge."""
        return self.joint.kind == "hinge"

    @cached_property
    def told_from(self) -> Parameters:
        """The angle from which it is counted, rad; nothing where it is not."""
        if not self.counted:
            return Parameters({}, {}, {}, "discrete value")
        name = f"told_{self.name}"
        return Parameters({name: 0.0}, {name: "rad"}, {name: ANY}, "discrete value")

    @cached_property
    def place(self) -> ca.SX:
        """Its coordinate as the file counts it, rad or m."""
        assert self.shift is not None
        reference = float(self.joint.reference[0])
        if not self.counted:
            return reference + self.shift
        origin = self.told_from.vector
        return reference + origin + wrapped(self.shift - origin)

    @property
    def start_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of its coordinates and of its velocities as start values."""
        places, rates = STARTS[self.joint.kind]
        return (
            tuple(f"{self.name}_{word}" for word in places),
            tuple(f"{self.name}_{word}" for word in rates),
        )

    @property
    def start_values(self) -> dict[str, float]:
        """Its start values where nothing is moved."""
        places, rates = self.start_names
        return dict(zip(places, self.joint.reference.tolist(), strict=True)) | dict.fromkeys(
            rates, 0.0
        )

    def put(self, values: Mapping[str, float], qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Write those of its start values that are given to coordinates and velocities."""
        for first, names, into in zip(
            (self.joint.place, self.joint.rate), self.start_names, (qpos, qvel), strict=True
        ):
            for number, name in enumerate(names, first):
                into[number] = values.get(name, into[number])

    @property
    def outputs(self) -> dict[str, Output]:
        """Its place and rate by name."""
        if self.shift is None:
            return {}
        unit = "rad" if self.turns else "m"
        (place,), (rate,) = self.start_names
        return {place: (self.place, unit), rate: (self.rates[0], f"{unit}/s")}

    @cached_property
    def contribution(self) -> Contribution:
        """What it adds to a mechanism."""
        joint = self.joint
        forces = [
            AppliedForce(rate, -damping * rate)
            for rate, damping in zip(self.rates, joint.damping, strict=True)
            if damping
        ]
        forces += [AppliedForce(self.rates[0], drive.force) for drive in self.drives]
        inertias = [
            GearedInertia(rate, float(rotor))
            for rate, rotor in zip(self.rates, joint.armature, strict=True)
            if rotor
        ]
        potential = ca.SX(0)
        if joint.stiffness:
            potential = joint.stiffness * (self.place - float(joint.slack[0])) ** 2 / 2
        unit = "N" if joint.kind == "slide" else "N m"
        rubs = [
            Coulomb(1.0).act(f"{self.name}_rubs", self.rates[0], ca.SX(float(size)), unit=unit)
            for size in joint.friction
            if size
        ]
        meters: dict[str, Output] = {
            f"{drive.name}_work": (drive.force * self.rates[0], "J") for drive in self.drives
        }
        outputs: dict[str, Output] = {drive.name: (drive.force, unit) for drive in self.drives}
        discrete, events = self.told_from, list(self._counting())
        goals = [goal for law in rubs for goal in law.goals]
        for law in rubs:
            forces.append(AppliedForce(law.slip, law.force))
            discrete = discrete.joined(law.discrete)
            events += law.events
            outputs[f"{self.name}_friction"] = (law.total, unit)
            meters[f"{self.name}_friction_work"] = (law.power, "J")
        return Contribution(
            goals=goals,
            potential=potential,
            forces=forces,
            inertias=inertias,
            discrete=discrete,
            events=events,
            outputs={**self.outputs, **outputs},
            meters=meters,
        )

    def _counting(self) -> tuple[Event, ...]:
        """Return the event that tells whole turns: what it changes has no effect on the motion."""
        if not self.counted:
            return ()
        assert self.shift is not None
        origin = self.told_from.vector
        turned = self.place - float(self.joint.reference[0])
        anew = Reset({f"told_{self.name}": turned}, whenever_past=True)
        guard = ca.cos(self.shift - origin) - cos(TOLD_ANEW)
        return (Event(f"{self.name}_told_anew", guard, FALLING, anew, listed=False),)
