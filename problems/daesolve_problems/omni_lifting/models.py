"""Sizes of the vehicle, and its equations in velocities with constant masses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.multibody import Body, Frame, PlaneContact, Spindle
from daesolve.typing import DifferentiableVector, Parameters, SymbolVector
from daesolve_problems import spindle
from daesolve_problems.omni_wheels import check_counts, equal_directions, numbered


def numbers() -> Parameters:
    """Return the parameters."""
    return ds.parameters(
        platform_mass=(1.0, "kg", ds.POSITIVE),
        platform_radius=(0.15, "m", ds.POSITIVE),
        platform_height=(0.0, "m", ds.NON_NEGATIVE),
        wheel_mass=(0.15, "kg", ds.POSITIVE),
        roller_share=(0.3, "", ds.Interval(0.0, 1.0, open_low=True)),
        wheel_radius=(0.05, "m", ds.POSITIVE),
        roller_end_radius=(0.003, "m", ds.NON_NEGATIVE),
        friction=(0.3, "", ds.NON_NEGATIVE),
        restitution=(0.2, "", ds.Interval(0.0, 1.0)),
        gravity=(9.81, "m/s^2", ds.POSITIVE),
    )


@dataclass(frozen=True)
class Sizes:
    """Masses, moments and places; numbers or expressions of parameters.

    Parameters
    ----------
    p
        Parameters by name.
    wheels, rollers
        N and n.
    """

    p: Any
    wheels: int
    rollers: int

    @property
    def wheel(self) -> spindle.Wheel:
        """One of the wheels."""
        p = self.p
        roller = spindle.Spindle(p["wheel_radius"], self.rollers, p["roller_end_radius"])
        return spindle.Wheel(p["wheel_mass"], p["roller_share"], roller)

    @property
    def mass(self) -> Any:
        """Of the whole, kg."""
        return self.p["platform_mass"] + self.wheels * self.p["wheel_mass"]

    @property
    def above(self) -> Any:
        """How high its mass centre lies over the axles, m."""
        return self.p["platform_mass"] * self.p["platform_height"] / self.mass

    @property
    def moments(self) -> tuple[Any, Any, Any]:
        """About the mass centre, kg m^2, wheels and rollers without J and B."""
        p, reach = self.p, self.p["platform_radius"]
        turned = self.wheel.upright + p["wheel_mass"] * reach**2
        level = p["platform_mass"] * reach**2
        lifted = p["platform_mass"] * (p["platform_height"] - self.above) ** 2
        lowered = self.wheels * p["wheel_mass"] * self.above**2
        across = level / 4.0 + lifted + lowered + self.wheels * turned / 2.0
        return across, across, level / 2.0 + self.wheels * turned


@dataclass(frozen=True, eq=False)
class Model:
    """The symbols of the vehicle.

    Parameters
    ----------
    wheels, rollers
        N and n.
    p
        Parameters.
    """

    wheels: int
    rollers: int
    p: Parameters

    @cached_property
    def sizes(self) -> Sizes:
        """Masses, moments and places."""
        return Sizes(self.p, self.wheels, self.rollers)

    @cached_property
    def body(self) -> Body:
        """The whole, as if wheels and rollers did not turn about their axes."""
        return Body("vehicle", self.sizes.mass, self.sizes.moments)

    @cached_property
    def chi(self) -> DifferentiableVector:
        """The angles of the wheels."""
        return ds.coordinates(**dict.fromkeys(numbered("chi", self.wheels), ds.ANGLE))

    @cached_property
    def rates(self) -> SymbolVector:
        """V_i."""
        return ds.velocities(**dict.fromkeys(numbered("wheel", self.wheels), "rad/s"))

    @cached_property
    def spins(self) -> SymbolVector:
        """W_ij."""
        return ds.velocities(**dict.fromkeys(numbered("spin", self.wheels, self.rollers), "rad/s"))

    @property
    def turning(self) -> ca.SX:
        """Return w, in axes of the platform."""
        return self.body.velocities.vector[3:]

    @cached_property
    def axles(self) -> list[ca.SX]:
        """Return n_i, in axes of the platform."""
        return [ca.SX([cos, sin, 0.0]) for cos, sin in equal_directions(self.wheels)]

    @cached_property
    def axes(self) -> list[list[ca.SX]]:
        """Return e_ij, in axes of the platform."""
        found: list[list[ca.SX]] = []
        for axle, chi in zip(self.axles, ca.vertsplit(self.chi.vector), strict=True):
            # At chi = 0 a wheel's first axis points against e_z x n, its second one down.
            first, down = ca.vertcat(axle[1], -axle[0], 0), ca.SX([0.0, 0.0, -1.0])
            turned = [
                ca.cos(chi) * first + ca.sin(chi) * down,
                ca.cos(chi) * down - ca.sin(chi) * first,
            ]
            found.append(
                [
                    cosine * turned[0] + sine * turned[1]
                    for cosine, sine in equal_directions(self.rollers)
                ]
            )
        return found

    @cached_property
    def momenta(self) -> list[ca.SX]:
        """Return h_i, in axes of the platform."""
        along, spins = self.sizes.wheel.roller_along, iter(ca.vertsplit(self.spins.vector))
        return [
            along * sum((next(spins) * axis for axis in axes), start=ca.SX(3, 1))
            for axes in self.axes
        ]

    def frame(self, wheel: int, roller: int, spin: ca.SX) -> Frame:
        """Return the frame of a roller; axis 3 is its own."""
        axle, axis = self.axles[wheel], self.axes[wheel][roller]
        rate = self.rates.vector[wheel]
        turns = ca.SX(self.turning) + (rate - ca.dot(axle, self.turning)) * axle
        hub = ca.vertcat(self.p.platform_radius * axle[:2], -self.sizes.above)
        out = self.sizes.wheel.roller.axis_distance * ca.cross(axle, axis)
        base, place = self.body.frame(), hub + out
        speed = ca.cross(self.turning, hub) + ca.cross(turns, out)
        spun = turns + (spin - ca.dot(axis, self.turning)) * axis
        own = ca.horzcat(axle, ca.cross(axis, axle), axis)
        return Frame(
            self.body,
            base.position + base.rotation @ place,
            base.velocity + base.rotation @ speed,
            base.rotation @ own,
            base.rotation @ spun,
            turning=True,
        )

    @cached_property
    def contacts(self) -> list[PlaneContact]:
        """Return the contacts of all rollers."""
        roller = self.sizes.wheel.roller
        surface = Spindle(self.p.wheel_radius, roller.axis_distance, roller.half_length)
        names = iter(numbered("roller", self.wheels, self.rollers))
        spins = iter(ca.vertsplit(self.spins.vector))
        return [
            PlaneContact(
                next(names),
                self.frame(i, j, next(spins)),
                surface,
                friction=self.p.friction,
                unilateral=True,
                restitution=self.p.restitution,
                closed=False,
            )
            for i in range(self.wheels)
            for j in range(self.rollers)
        ]


def posed(wheels: int, rollers: int) -> ds.MechanicalSystem:
    """Pose the vehicle.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    check_counts(wheels, rollers)
    model = Model(wheels, rollers, numbers())
    body, sizes, turning = model.body, model.sizes, model.turning
    axial, along = sizes.wheel.axial, sizes.wheel.roller_along
    rates = ca.vertsplit(model.rates.vector)
    carried = ca.SX(3, 1)
    driven: list[ca.SX] = []
    for axle, rate, momentum in zip(model.axles, rates, model.momenta, strict=True):
        carried -= axial * rate * ca.cross(turning, axle) + rate * ca.cross(axle, momentum)
        driven.append(-ca.dot(axle, ca.cross(turning, momentum)))
    turned = [rate - ca.dot(axle, turning) for axle, rate in zip(model.axles, rates, strict=True)]
    parts = [contact.contribution for contact in model.contacts]
    discrete, *others = [part.discrete for part in parts]
    for other in others:
        discrete = discrete.joined(other)
    spins = model.spins.vector
    up = body.frame().axis(2)
    return ds.MechanicalSystem(
        body.coordinates.joined(model.chi),
        model.p,
        velocities=body.velocities.joined(model.rates).joined(model.spins),
        kinematics=ca.vertcat(body.kinematics, *turned),
        mass_matrix=ca.diagcat(
            body.mass_matrix, axial * ca.SX.eye(wheels), along * ca.SX.eye(wheels * rollers)
        ),
        gyroscopic=ca.vertcat(
            body.gyroscopic + ca.vertcat(ca.SX(3, 1), carried),
            *driven,
            ca.SX(wheels * rollers, 1),
        ),
        kinetic=body.kinetic
        + axial * ca.sumsqr(model.rates.vector) / 2
        + along * ca.sumsqr(spins) / 2,
        potential=sizes.mass * model.p.gravity * body.coordinates.vehicle_z,
        goals=[body.norm, *[goal for part in parts for goal in part.goals]],
        events=[event for part in parts for event in part.events],
        discrete=discrete,
        outputs={name: out for part in parts for name, out in part.outputs.items()}
        | {"up_x": (up[0], ""), "up_y": (up[1], ""), "up_z": (up[2], "")},
    )
