"""The vehicle with dry friction as rigid bodies: platform, wheel discs and rollers, joint by joint.

Every body has its mass centre, a unit quaternion and an angular velocity: 13 equations each, 208
for three wheels of four rollers. Every disc is hinged to the platform and every roller to its disc
(5 constraints each, 75 together); every wheel stands on the floor with one of its rollers (78).

The discrete value contact_i says which one. The constraint of wheel i is the gap of a
spindle whose place, axis and velocity are those of the chosen roller, so that it moves from roller
to roller without a new compilation; where the tips of rollers meet, the gap and its rate are
continuous. Friction is that of the reduced model, F = -mu N u / max(|u|, delta), N the reaction of
the gap and u the slip of the material that touches. A roller's axes do not spin with it.

More than three wheels have one reaction each and only three independent gaps. With `compliant`,
the gaps of the others are left out, and their reactions follow from those of equal springs.

K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and with
friction, Moscow State University (2018), chapter 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

import daesolve as ds
from daesolve.multibody import (
    GROUND,
    AppliedForce,
    Body,
    Contribution,
    Frame,
    Mechanism,
    Revolute,
    Spindle,
)
from daesolve.multibody.contact_geometry import SurfaceOnPlane
from daesolve.typing import Parameters, SymbolVector
from daesolve_problems.omni_friction.geometry import Vehicle, harmonics, parameters, vehicle
from daesolve_problems.omni_friction.placing import axle_axes, roller_axes
from daesolve_problems.omni_wheels import equal_directions, numbered

INDEPENDENT = 3
"""Contacts with a plane that do not depend on each other."""


@dataclass(frozen=True, eq=False)
class Bodies:
    """The bodies of the vehicle, and the choice between its rollers.

    Parameters
    ----------
    wheels, rollers
        N and n.
    p, d
        Parameters, discrete values.
    compliant
        Whether more than three wheels share their load like equal springs.
    """

    wheels: int
    rollers: int
    p: Parameters
    d: Parameters
    compliant: bool = False

    @cached_property
    def vehicle(self) -> Vehicle:
        """Sizes and inertias."""
        return vehicle(self.p, self.wheels, self.rollers)

    @cached_property
    def platform(self) -> Body:
        """A homogeneous disc."""
        mass, radius = self.p.platform_mass, self.p.platform_radius
        across = mass * radius**2 / 4.0
        return Body("platform", mass, (across, across, mass * radius**2 / 2.0))

    @cached_property
    def discs(self) -> list[Body]:
        """The discs of the wheels, thin; axis 3 is the axle."""
        wheel = self.vehicle.wheel
        across = wheel.disc_mass * wheel.disc_radius**2 / 4.0
        moments = (across, across, 2.0 * across)
        return [Body(name, wheel.disc_mass, moments) for name in numbered("disc", self.wheels)]

    @cached_property
    def spindles(self) -> list[list[Body]]:
        """The rollers of each wheel; axis 3 is their own."""
        wheel = self.vehicle.wheel
        across = wheel.roller_across
        moments = (across, across, wheel.roller_along)
        return [
            [
                Body(roller, wheel.roller_mass, moments, axisymmetric=True)
                for roller in numbered(name, self.rollers)
            ]
            for name in numbered("roller", self.wheels)
        ]

    @property
    def centre(self) -> Frame:
        """The platform's frame at O."""
        return self.platform.frame((-self.p.platform_centre_x, -self.p.platform_centre_y, 0.0))

    @cached_property
    def axles(self) -> list[Revolute]:
        """The hinges of the discs; axis 3 of their frames is n_i, axis 1 is tau_i."""
        reach = self.p.platform_radius
        place = (-self.p.platform_centre_x, -self.p.platform_centre_y)
        return [
            Revolute(
                f"axle_{i}",
                self.platform.frame(
                    (place[0] + reach * axle[0], place[1] + reach * axle[1], 0.0), axle_axes(axle)
                ),
                disc.frame(),
            )
            for i, (disc, axle) in enumerate(
                zip(self.discs, equal_directions(self.wheels), strict=True), start=1
            )
        ]

    @cached_property
    def pins(self) -> list[Revolute]:
        """The hinges of the rollers."""
        reach = self.vehicle.axis_distance
        return [
            Revolute(
                f"pin_{i}_{j}",
                disc.frame((reach * ahead[1], -reach * ahead[0], 0.0), roller_axes(ahead)),
                roller.frame(),
            )
            for i, (disc, rollers) in enumerate(zip(self.discs, self.spindles, strict=True), 1)
            for j, (roller, ahead) in enumerate(
                zip(rollers, equal_directions(self.rollers), strict=True), start=1
            )
        ]

    @cached_property
    def stands(self) -> list[Stand]:
        """How each wheel stands on the floor."""
        return [Stand(self, i) for i in range(1, self.wheels + 1)]

    @property
    def freely(self) -> Mechanism:
        """The vehicle off the floor: bodies and hinges."""
        rollers = [roller for wheel in self.spindles for roller in wheel]
        return Mechanism(
            [self.platform, *self.discs, *rollers],
            [*self.axles, *self.pins],
            self.p,
            gravity=(0.0, 0.0, -self.p.gravity),
        )


@dataclass(frozen=True, eq=False)
class Stand:
    """A wheel on one of its rollers.

    Parameters
    ----------
    model
        The bodies.
    i
        The wheel's number.
    """

    model: Bodies
    i: int

    @property
    def saturated(self) -> ca.SX:
        """1 where the slip is beyond delta."""
        return self.model.d[f"saturated_{self.i}"]

    @property
    def number(self) -> ca.SX:
        """The number of the roller that it stands on."""
        return self.model.d[f"contact_{self.i}"]

    def touch(self, number: ca.SX) -> SurfaceOnPlane:
        """Return how the roller of a number stands on the floor."""
        frames = [roller.frame() for roller in self.model.spindles[self.i - 1]]
        chosen = [number == j for j in range(1, len(frames) + 1)]

        def of_the_chosen(quantity: str) -> ca.SX:
            return sum(
                (is_it * getattr(f, quantity) for is_it, f in zip(chosen, frames, strict=True)),
                start=ca.SX(0),
            )

        frame = Frame(
            self.model.discs[self.i - 1],
            *[of_the_chosen(q) for q in ("position", "velocity", "rotation", "angular_velocity")],
            turning=True,
        )
        car, radius = self.model.vehicle, self.model.p.wheel_radius
        floor = GROUND.frame((0.0, 0.0, -radius))
        assert isinstance(floor, Frame)
        return SurfaceOnPlane(frame, Spindle(radius, car.axis_distance), floor)

    @cached_property
    def own(self) -> SurfaceOnPlane:
        """How its contact roller stands on the floor."""
        return self.touch(self.number)

    @cached_property
    def goal(self) -> ds.Holonomic:
        """The gap."""
        return ds.Holonomic(f"support_{self.i}", self.own.gap, unit="N")

    @cached_property
    def load(self) -> SymbolVector:
        """The normal reaction if no gap determines it."""
        carried = self.model.compliant and self.i > INDEPENDENT
        return ds.reactions(**({f"support_{self.i}": "N"} if carried else {}))

    @property
    def normal(self) -> ca.SX:
        """The normal reaction, N."""
        return self.load.vector if len(self.load) else self.goal.reaction

    @cached_property
    def force(self) -> ca.SX:
        """Friction in axes of the floor, N: (2, 1)."""
        slip, p = self.own.slip, self.model.p
        # One is added under the root of the branch that is not taken: its slope stays finite at
        # zero.
        speed = ca.sqrt(ca.sumsqr(slip) + (1.0 - self.saturated))
        size = self.saturated * speed + (1.0 - self.saturated) * p.slip_velocity
        return -p.friction * self.normal * slip / size

    @cached_property
    def directed(self) -> tuple[ca.SX, ca.SX]:
        """The slip along n_i and tau_i, m/s."""
        axes = self.model.axles[self.i - 1].first
        assert isinstance(axes, Frame)
        along, ahead = axes.axis(2)[:2], axes.axis(0)[:2]
        return ca.dot(along, self.own.slip), ca.dot(ahead, self.own.slip)

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to the mechanism."""
        outputs = {
            f"normal_{self.i}": (self.normal, "N"),
            f"slip_n_{self.i}": (self.directed[0], "m/s"),
            f"slip_tau_{self.i}": (self.directed[1], "m/s"),
            f"slip_{self.i}": (ca.norm_2(self.own.slip), "m/s"),
        }
        rubs = AppliedForce(self.own.slip, self.force)
        if not len(self.load):
            return Contribution((self.goal,), forces=[rubs], outputs=outputs)
        pushes = AppliedForce(self.own.velocity[2], self.normal)
        return Contribution(forces=[rubs, pushes], reactions=self.load, outputs=outputs)


def maximal(wheels: int, rollers: int, compliant: bool = False) -> ds.MechanicalSystem:
    """Pose the vehicle body by body: every joint and every contact has its reactions.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    model = bodies(wheels, rollers, compliant)
    aloft = model.freely
    mechanism = replace(aloft, parts=[*aloft.parts, *model.stands])
    return mechanism.system(
        goals=_shares(model),
        discrete=model.d,
        outputs=_outputs(model),
        events=_events(model),
        meters={
            "friction_work": (sum(ca.dot(s.force, s.own.slip) for s in model.stands), "J"),
        },
    )


def _shares(model: Bodies) -> list[ds.Relation]:
    """Return how the wheels beyond the third take their part of the load."""
    loads = ca.vertcat(*[stand.normal for stand in model.stands])
    waves = harmonics(model.wheels) if model.compliant else []
    return [
        ds.Relation(f"share_{number}", ca.dot(ca.DM(wave), loads))
        for number, wave in enumerate(waves, start=1)
    ]


def bodies(wheels: int, rollers: int, compliant: bool = False) -> Bodies:
    """Name the bodies and the discrete values.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    p = parameters()
    vehicle(p, wheels, rollers)
    values = dict.fromkeys(numbered("contact", wheels), 1.0)
    values |= dict.fromkeys(numbered("saturated", wheels), 0.0)
    return Bodies(wheels, rollers, p, ds.discrete(**values), compliant)


def _outputs(model: Bodies) -> dict[str, tuple[ca.SX, str]]:
    """Return the states of the reduced model; angles between -pi and pi."""
    centre = model.centre
    ahead = centre.axis(0)
    outputs = {
        "x": (centre.position[0], "m"),
        "y": (centre.position[1], "m"),
        "theta": (ca.atan2(ahead[1], ahead[0]), "rad"),
        "x_dot": (centre.velocity[0], "m/s"),
        "y_dot": (centre.velocity[1], "m/s"),
        "omega": (centre.angular_velocity[2], "rad/s"),
    }
    for i, axle in enumerate(model.axles, start=1):
        outputs[f"chi_{i}"] = (axle.angle, "rad")
        outputs[f"chi_dot_{i}"] = (axle.rate, "rad/s")
    for i, rollers in enumerate(model.spindles, start=1):
        for j, roller in enumerate(rollers, start=1):
            outputs[f"spin_{i}_{j}"] = (roller.velocities[f"{roller.name}_spin"], "rad/s")
    return outputs


def _events(model: Bodies) -> list[ds.Event]:
    edge, p = math.sin(math.pi / model.rollers), model.p
    weight = model.vehicle.mass * p.gravity

    def within_branch(stand: Stand) -> ca.SX:
        speed, least = ca.sumsqr(stand.own.slip), p.slip_velocity**2
        return (1.0 - 2.0 * stand.saturated) * (least - speed) / (least + speed)

    def rolled_on(fired: ca.SX) -> dict[str, ca.SX]:
        changed: dict[str, ca.SX] = {}
        for stand, passed in zip(model.stands, ca.vertsplit(fired), strict=True):
            number = stand.number - passed * ca.sign(stand.own.cosine)
            number += model.rollers * ((number < 1) - (number > model.rollers))
            beyond = ca.sumsqr(stand.touch(number).slip) > p.slip_velocity**2
            changed[f"contact_{stand.i}"] = number
            changed[f"saturated_{stand.i}"] = stand.saturated + passed * (beyond - stand.saturated)
        return changed

    def other_branch(fired: ca.SX) -> dict[str, ca.SX]:
        return {
            f"saturated_{stand.i}": stand.saturated + passed * (1.0 - 2.0 * stand.saturated)
            for stand, passed in zip(model.stands, ca.vertsplit(fired), strict=True)
        }

    return [
        ds.Event(
            "roller_switch",
            [edge**2 - stand.own.cosine**2 for stand in model.stands],
            ds.FALLING,
            ds.Reset(rolled_on),
        ),
        ds.Event(
            "saturation",
            [within_branch(stand) for stand in model.stands],
            ds.FALLING,
            ds.Reset(other_branch),
        ),
        ds.Event(
            "contact_lost",
            [stand.normal / weight for stand in model.stands],
            ds.FALLING,
            ds.Stop("a wheel is no longer pressed to the floor"),
        ),
    ]
