"""The symbols of the vehicle in independent velocities, and how each of its wheels stands.

The contact roller of a wheel is chosen by a discrete value, and so is the branch of its friction:
F = -mu N u / delta at slips |u| below delta, F = -mu N u / |u| beyond. `reduced` has the equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

import daesolve as ds
from daesolve.typing import DifferentiableVector, Parameters, SymbolVector
from daesolve_problems.omni_friction.branches import direction
from daesolve_problems.omni_friction.geometry import Vehicle, parameters, vehicle
from daesolve_problems.omni_wheels import equal_directions, numbered


@dataclass(frozen=True, eq=False)
class Symbols:
    """The symbols of the model.

    Parameters
    ----------
    wheels, rollers
        N and n.
    p, q, v, d
        Parameters, coordinates, velocities, discrete values.
    reactions
        The floor's normal reactions.
    """

    wheels: int
    rollers: int
    p: Parameters
    q: DifferentiableVector
    v: SymbolVector
    d: Parameters
    reactions: SymbolVector

    @cached_property
    def vehicle(self) -> Vehicle:
        """Sizes and inertias."""
        return vehicle(self.p, self.wheels, self.rollers)

    def turned(self, x: ca.SX | float, y: ca.SX | float) -> ca.SX:
        """Turn a vector of the platform's axes into fixed axes."""
        cosine, sine = ca.cos(self.q.theta), ca.sin(self.q.theta)
        return ca.vertcat(cosine * x - sine * y, sine * x + cosine * y)

    def stand(self, i: int) -> Stand:
        """Return how wheel i stands on the floor."""
        return Stand(self, i)


@dataclass(frozen=True, eq=False)
class Stand:
    """A wheel on its contact roller.

    Parameters
    ----------
    model
        The symbols.
    i
        The wheel's number.
    contact
        The number of its contact roller; None takes the one it stands on.
    """

    model: Symbols
    i: int
    contact: ca.SX | None = None

    @cached_property
    def chosen(self) -> list[ca.SX]:
        """1 for the contact roller, 0 for the others."""
        number = self.model.d[f"contact_{self.i}"] if self.contact is None else self.contact
        return [number == j for j in range(1, self.model.rollers + 1)]

    @cached_property
    def angle(self) -> tuple[ca.SX, ca.SX]:
        """Cosine and sine of psi_i; what depends on discrete values alone is a factor."""
        ahead = equal_directions(self.model.rollers)
        cosine = sum(
            (is_it * c for is_it, (c, _) in zip(self.chosen, ahead, strict=True)), ca.SX(0)
        )
        sine = sum((is_it * s for is_it, (_, s) in zip(self.chosen, ahead, strict=True)), ca.SX(0))
        return self._ahead(cosine, sine)

    def _ahead(self, cosine: ca.SX | float, sine: ca.SX | float) -> tuple[ca.SX, ca.SX]:
        chi = self.model.q[f"chi_{self.i}"]
        return (
            ca.cos(chi) * cosine - ca.sin(chi) * sine,
            ca.sin(chi) * cosine + ca.cos(chi) * sine,
        )

    @cached_property
    def spins(self) -> list[ca.SX]:
        """Om_ij of the wheel's rollers."""
        return [self.model.v[name] for name in numbered(f"spin_{self.i}", self.model.rollers)]

    @cached_property
    def carried(self) -> tuple[ca.SX, ca.SX]:
        """The sums of Om_ij cos(psi_ij) and of Om_ij sin(psi_ij)."""
        ahead = equal_directions(self.model.rollers)
        along = sum((s * c for s, (c, _) in zip(self.spins, ahead, strict=True)), ca.SX(0))
        across = sum((s * k for s, (_, k) in zip(self.spins, ahead, strict=True)), ca.SX(0))
        return self._ahead(along, across)

    @property
    def rate(self) -> ca.SX:
        """chi_i'."""
        return self.model.v[f"chi_dot_{self.i}"]

    @cached_property
    def thickness(self) -> ca.SX:
        """The radius rho of the contact roller at the contact, m."""
        car = self.model.vehicle
        return car.wheel_radius * self.angle[0] - car.axis_distance

    @cached_property
    def directions(self) -> tuple[ca.SX, ca.SX]:
        """The directions n and tau in fixed axes."""
        cosine, sine = equal_directions(self.model.wheels)[self.i - 1]
        return self.model.turned(cosine, sine), self.model.turned(-sine, cosine)

    @cached_property
    def slip(self) -> ca.SX:
        """The velocity (u_n, u_tau) of the contact roller where it touches the floor, m/s."""
        v, car = self.model.v, self.model.vehicle
        velocity = ca.vertcat(v.x_dot, v.y_dot)
        along, across = (ca.dot(velocity, direction) for direction in self.directions)
        spin = sum((c * s for c, s in zip(self.chosen, self.spins, strict=True)), ca.SX(0))
        rolling = self.thickness * (spin - v.omega * self.angle[1])
        return ca.vertcat(
            along - rolling, across + car.reach * v.omega + car.wheel_radius * self.rate
        )

    @cached_property
    def direction(self) -> ca.SX:
        """The slip over max(|u|, delta), of which the discrete value names the larger."""
        saturated = self.model.d[f"saturated_{self.i}"]
        return direction(self.slip, saturated, self.model.p.slip_velocity)

    @property
    def normal(self) -> ca.SX:
        """The normal reaction N."""
        return self.model.reactions[f"support_{self.i}"]

    @cached_property
    def friction(self) -> ca.SX:
        """The friction (F_n, F_tau), N."""
        return -self.model.p.friction * self.normal * self.direction

    @cached_property
    def leverage(self) -> ca.SX:
        """The factor D of the normal reaction in the balance of moments, m."""
        height = self.model.vehicle.wheel_radius - self.thickness * self.angle[0]
        return self.model.vehicle.reach - self.model.p.friction * height * self.direction[0]

    @cached_property
    def gyroscopic(self) -> ca.SX:
        """The moment G that turns the wheel's momentum with the platform, N m."""
        car = self.model.vehicle
        turning = car.wheel.axial * self.model.v.omega
        return self.rate * (turning - car.wheel.roller_along * self.carried[1])


def symbols(wheels: int, rollers: int) -> Symbols:
    """Name the coordinates, velocities and discrete values.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    p = parameters()
    vehicle(p, wheels, rollers)
    return Symbols(
        wheels,
        rollers,
        p,
        ds.coordinates(
            x="m", y="m", theta=ds.ANGLE, **dict.fromkeys(numbered("chi", wheels), ds.ANGLE)
        ),
        ds.velocities(
            x_dot="m/s",
            y_dot="m/s",
            omega="rad/s",
            **dict.fromkeys(numbered("chi_dot", wheels), "rad/s"),
            **dict.fromkeys(numbered("spin", wheels, rollers), "rad/s"),
        ),
        ds.discrete(
            **dict.fromkeys(numbered("contact", wheels), 1.0),
            **dict.fromkeys(numbered("saturated", wheels), 0.0),
        ),
        ds.reactions(**dict.fromkeys(numbered("support", wheels), "N")),
    )
