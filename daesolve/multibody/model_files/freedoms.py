"""The motion that a joint of a file leaves free, and what acts along it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import cos, inf

import casadi as ca
import numpy as np

from daesolve.core.posing.events import FALLING, Event, Reset
from daesolve.core.posing.symbols import ANY, Parameters
from daesolve.core.system.system import Output
from daesolve.multibody.contribution import (
    NO_VALUES,
    AppliedForce,
    Contribution,
    GearedInertia,
    discrete_values,
    merged,
)
from daesolve.multibody.friction_laws import Coulomb
from daesolve.multibody.model_files.model import FileJoint

RECOUNT_ANGLE = 3.0
"""How far an angle turns before its reference is renewed, rad; below pi."""
STARTS = {
    "hinge": (("angle",), ("rate",)),
    "slide": (("displacement",), ("speed",)),
    "tendon": (("length",), ("speed",)),
    "sum": (("length",), ("speed",)),
    "ball": (("q0", "q1", "q2", "q3"), ("w1", "w2", "w3")),
    "free": (
        ("x", "y", "z", "q0", "q1", "q2", "q3"),
        ("x_dot", "y_dot", "z_dot", "w1", "w2", "w3"),
    ),
}
"""The suffixes of the coordinates and velocities of a joint."""
UNITS = {"slide": ("m", "N"), "tendon": ("m", "N"), "sum": ("", "")}
"""The units of places and forces; rad and N m of other kinds."""


def saturated(value: ca.SX, bounds: np.ndarray) -> ca.SX:
    """Return a value within bounds; where it reaches one that is finite, it has a kink."""
    low, high = bounds.tolist()
    value = value if low == -inf else ca.fmax(value, low)
    return value if high == inf else ca.fmin(value, high)


@dataclass(frozen=True, eq=False)
class FreedomForce:
    """A force along a freedom.

    Parameters
    ----------
    name
        A word.
    force
        N or N m, an expression of inputs, positions and velocities; before its gear.
    gear
        By which it acts.
    """

    name: str
    force: ca.SX
    gear: float = 1.0

    @property
    def geared(self) -> ca.SX:
        """The force along the freedom."""
        return self.gear * self.force


@dataclass(frozen=True, eq=False)
class Freedom:
    """The motion of one joint, with its spring, damper, friction, rotor and drives.

    Parameters
    ----------
    name
        A word.
    joint
        The joint in the file.
    way
        How far a slide is moved from its reference, m.
    direction
        Cosine and sine of the turn of a hinge from its reference, each times the same.
    rates
        Its velocities, in the order of the file.
    counted
        Whether whole turns count.
    unique
        Whether limits keep a hinge within half a turn from its reference.
    half_turn
        The cosine of half the angle by which a ball is turned.
    drives
        What its actuators do.
    handed_on
        Whether its drives act on the joints that it is a sum of, where their ranges of forces
        include them.
    """

    name: str
    joint: FileJoint
    rates: Sequence[ca.SX]
    way: ca.SX | None = None
    direction: tuple[ca.SX, ca.SX] | None = None
    counted: bool = False
    unique: bool = False
    half_turn: ca.SX | None = None
    drives: list[FreedomForce] = field(default_factory=list[FreedomForce])
    handed_on: bool = False

    @property
    def turns(self) -> bool:
        """Whether it is a hinge."""
        return self.joint.kind == "hinge"

    @property
    def units(self) -> tuple[str, str]:
        """The units of its place and of the force along it."""
        return UNITS.get(self.joint.kind, ("rad", "N m"))

    @cached_property
    def counted_from(self) -> Parameters:
        """The angle from which it is counted, rad; nothing where it is not."""
        if not self.counted:
            return NO_VALUES
        name = f"counted_from_{self.name}"
        return discrete_values({name: (0.0, ANY)}, "rad")

    @cached_property
    def place(self) -> ca.SX:
        """Its coordinate as the file counts it, rad or m."""
        reference = float(self.joint.reference[0])
        if self.way is not None:
            return reference + self.way
        assert self.direction is not None
        if not self.counted and not self.unique:
            cosine, sine = self.direction
            return reference + ca.atan2(sine, cosine)
        cosine, sine = self._turned
        # As atan2, but without its jump after half a turn, which this never comes to.
        size = ca.sqrt(cosine**2 + sine**2)
        origin = self.counted_from.vector if self.counted else 0.0
        return reference + origin + 2 * ca.atan(sine / (size + cosine))

    @cached_property
    def _turned(self) -> tuple[ca.SX, ca.SX]:
        """Cosine and sine of the turn from where it is counted."""
        assert self.direction is not None
        if not self.counted:
            return self.direction
        (cosine, sine), origin = self.direction, self.counted_from.vector
        c, s = ca.cos(origin), ca.sin(origin)
        return c * cosine + s * sine, c * sine - s * cosine

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

    def values_of(self, qpos: np.ndarray, qvel: np.ndarray) -> dict[str, float]:
        """Return its start values, by the coordinates and velocities of the file."""
        found: dict[str, float] = {}
        for first, names, source in zip(
            (self.joint.place, self.joint.rate), self.start_names, (qpos, qvel), strict=True
        ):
            found |= {name: float(source[number]) for number, name in enumerate(names, first)}
        return found

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
        if self.way is None and self.direction is None:
            return {}
        unit, _ = self.units
        (place,), (rate,) = self.start_names
        return {place: (self.place, unit), rate: (self.rates[0], f"{unit or 1}/s")}

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        joint = self.joint
        forces = [
            AppliedForce(rate, -float(factor) * rate)
            for rate, factor in zip(self.rates, joint.damping, strict=True)
            if factor
        ]
        driven, rate = {} if self.handed_on else self.driven, self.rates[0]
        forces += [AppliedForce(rate, force) for force in driven.values()]
        inertias = [
            GearedInertia(rate, float(rotor))
            for rate, rotor in zip(self.rates, joint.armature, strict=True)
            if rotor
        ]
        potential = ca.SX(0)
        if joint.stiffness:
            low, high = float(joint.slack[0]), float(joint.slack[-1])
            stretch = self.place - low
            if low < high:  # It is slack between both.
                stretch = ca.fmin(stretch, 0) + ca.fmax(self.place - high, 0)
            potential = joint.stiffness * stretch**2 / 2
        _, unit = self.units
        own = Contribution(
            potential=potential,
            forces=forces,
            inertias=inertias,
            discrete=self.counted_from,
            events=self._counting(),
            outputs={**self.outputs, **{f"{d.name}_force": (d.geared, unit) for d in self.drives},
                     **{f"{name}_force": (force, unit) for name, force in driven.items()}},
            meters={f"{name}_work": (force * rate, "J") for name, force in driven.items()},
        )  # fmt: skip
        return merged([own, *self._rubbing()])

    @property
    def driven(self) -> dict[str, ca.SX]:
        """The forces of its drives by name; one for all of them where their sum saturates.

        That of a tendon is the sum before their gears, as in MuJoCo.
        """
        if not self.drives or not self.joint.force_limited:
            return {drive.name: drive.geared for drive in self.drives}
        name, bounds = f"{self.name}_actuation", self.joint.force_range
        geared = sum((drive.geared for drive in self.drives), start=ca.SX(0))
        if self.joint.kind not in ("tendon", "sum"):
            return {name: saturated(geared, bounds)}
        whole = sum((drive.force for drive in self.drives), start=ca.SX(0))
        gears = {drive.gear for drive in self.drives}
        if len(gears) == 1:
            return {name: gears.pop() * saturated(whole, bounds)}
        low, high = bounds.tolist()
        low, high = (ca.if_else(past, end / whole, 1) for past, end in (
            (whole < low, low), (whole > high, high)))  # fmt: skip
        return {name: geared * low * high}

    def _rubbing(self) -> list[Contribution]:
        """Return the dry friction along each of its velocities."""
        sizes = [float(size) for size in self.joint.friction]
        found: list[Contribution] = []
        for number, (rate, size) in enumerate(zip(self.rates, sizes, strict=True), 1):
            if not size:
                continue
            name = self.name if len(sizes) == 1 else f"{self.name}_{number}"
            unit = "N" if self.joint.kind == "free" and number <= 3 else self.units[1]
            friction = Coulomb(1.0).act(f"{name}_rub", rate, ca.SX(size), unit=unit)
            found.append(friction.contribution(name, unit))
        return found

    def _counting(self) -> tuple[Event, ...]:
        """Return the event that counts whole turns: its changes have no effect on the motion."""
        if not self.counted:
            return ()
        turned = self.place - float(self.joint.reference[0])
        cosine, sine = self._turned
        recount = Reset({f"counted_from_{self.name}": turned}, whenever_past=True)
        guard = cosine - cos(RECOUNT_ANGLE) * ca.sqrt(cosine**2 + sine**2)
        return (Event(f"{self.name}_recounted", guard, FALLING, recount, listed=False),)
