"""The equations that all laws of contact share, without the forces at the contacts.

Velocities are v = (v_1, v_2) of the platform's middle in its own axes, w = theta', the rates chi_i'
of the wheels, and the rates Om_ij of the rollers about their axes, counted in space. With M, C, I',
J_i, B as in `description`, J = [[0, -1], [1, 0]], and g the pull of gravity along the floor,

    M (v' + w' J C) + M w J v - M w^2 C = M g + sum F
    I' w' + M C . J^T v' + M w v . C + B sum cos(psi_i) chi_i' Om_ij cos(chi_ij) = M C x g + ...
    J_i chi_i'' - B cos(psi_i) w sum_j Om_ij cos(chi_ij) = ...
    B Om_ij' = ...

where dots mean the generalised forces of the floor by Jourdain's principle: the slip u of a contact
is linear in the velocities, and F . du / dv is the force on velocity v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.typing import DifferentiableVector, Order, Parameters, SymbolVector
from daesolve_problems.omni_laws.description import (
    INERTIALESS,
    Description,
    described,
    parameters,
)
from daesolve_problems.omni_vehicle.geometry import next_roller, pitch, rolled_on, within_sector
from daesolve_problems.omni_vehicle.wheels import Contact, Wheel, contact
from daesolve_problems.omni_wheels import numbered

PLACE = ("v_1", "v_2", "omega")
"""The velocities of the platform."""


@dataclass(frozen=True, eq=False)
class Model:
    """The symbols of the vehicle by one law.

    Parameters
    ----------
    wheels, rollers
        N and n.
    p, q, v, d
        Parameters, coordinates, velocities, discrete values.
    car
        What they describe.
    massive
        Whether rollers have their own velocities.
    """

    wheels: int
    rollers: int
    p: Parameters
    q: DifferentiableVector
    v: SymbolVector
    d: Parameters
    car: Description
    massive: bool

    @property
    def velocity(self) -> tuple[ca.SX, ca.SX]:
        """(v_1, v_2), m/s."""
        return self.v.v_1, self.v.v_2

    @cached_property
    def stands(self) -> list[Stand]:
        """How the wheels stand on the floor."""
        return [Stand(self, i) for i in range(1, self.wheels + 1)]

    @cached_property
    def mass_matrix(self) -> ca.SX:
        """Of the kinetic energy in the velocities."""
        car = self.car
        spins = [car.frame.along] * (self.wheels * self.rollers if self.massive else 0)
        diagonal: list[ca.SX] = [car.mass, car.mass, car.inertia, *car.axial, *spins]
        matrix = ca.diag(ca.vertcat(*diagonal))
        matrix[0, 2] = matrix[2, 0] = -car.mass * car.centre[1]
        matrix[1, 2] = matrix[2, 1] = car.mass * car.centre[0]
        return matrix

    @property
    def kinetic(self) -> ca.SX:
        """T, J."""
        return ca.dot(self.v.vector, self.mass_matrix @ self.v.vector) / 2

    @property
    def potential(self) -> ca.SX:
        """V, J: the floor falls in the direction of x."""
        q, (c_x, c_y) = self.q, self.car.centre
        way = q.x + ca.cos(q.theta) * c_x - ca.sin(q.theta) * c_y
        return -self.car.mass * self.p.gravity * ca.sin(self.p.slope) * way

    @property
    def gyroscopic(self) -> ca.SX:
        """Inertial forces that do no work, as a column."""
        (v_1, v_2), omega, car = self.velocity, self.v.omega, self.car
        c_x, c_y = car.centre
        turned = [stand.turned for stand in self.stands]
        about = -omega * car.mass * (v_1 * c_x + v_2 * c_y)
        for stand, moment in zip(self.stands, turned, strict=True):
            about -= stand.rate * moment
        return ca.vertcat(
            omega * car.mass * (v_2 + omega * c_x),
            -omega * car.mass * (v_1 - omega * c_y),
            about,
            *[omega * moment for moment in turned],
            ca.SX.zeros(self.wheels * self.rollers if self.massive else 0),
        )

    @property
    def kinematics(self) -> ca.SX:
        """Rates of the coordinates."""
        (v_1, v_2), cosine, sine = self.velocity, ca.cos(self.q.theta), ca.sin(self.q.theta)
        rates = [stand.rate for stand in self.stands]
        return ca.vertcat(
            cosine * v_1 - sine * v_2, sine * v_1 + cosine * v_2, self.v.omega, *rates
        )

    def system(self, **further: Any) -> ds.MechanicalSystem:
        """Return the vehicle with what a law adds, as options of `MechanicalSystem`."""
        return ds.MechanicalSystem(
            self.q,
            self.p,
            kinetic=self.kinetic,
            potential=self.potential,
            mass_matrix=self.mass_matrix,
            gyroscopic=self.gyroscopic,
            velocities=self.v,
            kinematics=self.kinematics,
            discrete=self.d,
            **further,
        )

    def pushed(self, stand: Stand, force: ca.SX) -> ca.SX:
        """Return a force (F_n, F_tau) on a contact as generalised forces."""
        return ca.jacobian(stand.slip, self.v.vector).T @ force


@dataclass(frozen=True, eq=False)
class Stand:
    """A wheel on its contact roller.

    Parameters
    ----------
    model
        The symbols.
    i
        The wheel's number.
    chi, number
        The angle of the roller on the floor and its number; None takes those at hand.
    """

    model: Model
    i: int
    chi: ca.SX | None = None
    number: ca.SX | None = None

    @property
    def wheel(self) -> Wheel:
        """Its place and directions."""
        return self.model.car.frame.wheels[self.i - 1]

    @property
    def angle(self) -> ca.SX:
        """The angle of the contact roller from straight below, rad."""
        return self.model.q[f"chi_{self.i}"] if self.chi is None else self.chi

    @property
    def contact_number(self) -> ca.SX:
        """The number of the contact roller."""
        return self.model.d[f"contact_{self.i}"] if self.number is None else self.number

    @property
    def rate(self) -> ca.SX:
        """chi_i'."""
        return self.model.v[f"chi_dot_{self.i}"]

    @cached_property
    def spins(self) -> list[ca.SX]:
        """Om_ij of its rollers; none where they have no inertia."""
        count = self.model.rollers if self.model.massive else 0
        return [self.model.v[name] for name in numbered(f"spin_{self.i}", count)]

    @cached_property
    def spin(self) -> ca.SX:
        """Om of the contact roller."""
        found = ca.SX(0)
        for j, value in enumerate(self.spins, start=1):
            found += (self.contact_number == j) * value
        return found

    @cached_property
    def carried(self) -> tuple[ca.SX, ca.SX]:
        """The sums of Om_ij cos(chi_ij) and of Om_ij sin(chi_ij)."""
        along = across = ca.SX(0)
        for j, value in enumerate(self.spins, start=1):
            ahead = pitch(self.model.rollers) * (j - self.contact_number)
            along += value * ca.cos(ahead)
            across += value * ca.sin(ahead)
        cosine, sine = ca.cos(self.angle), ca.sin(self.angle)
        return cosine * along - sine * across, sine * along + cosine * across

    @property
    def turned(self) -> ca.SX:
        """B cos(psi) sum_j Om_ij cos(chi_ij)."""
        own: ca.SX = self.model.car.frame.along * self.wheel.tilt[0]
        return own * self.carried[0]

    @cached_property
    def contact(self) -> Contact:
        """The geometry of the contact."""
        model = self.model
        return contact(model.car.frame, self.i, self.angle, model.velocity, model.v.omega)

    @cached_property
    def slip(self) -> ca.SX:
        """The velocity (u_n, u_tau) of the roller where it touches the floor, m/s."""
        cosine, sine = self.wheel.tilt
        carried = cosine * ca.sin(self.angle) * self.model.v.omega + sine * self.rate
        pair: tuple[ca.SX, ca.SX] = self.contact.slip(self.rate, self.spin - carried)
        return ca.vertcat(*pair)

    @property
    def lagging(self) -> ca.SX:
        """The slip left after the spin of a roller without inertia takes u_n away, m/s."""
        cosine, sine = self.wheel.tilt
        along: ca.SX = self.contact.along * sine / (cosine * ca.cos(self.angle))
        across: ca.SX = self.contact.across + self.contact.wheel * self.rate
        total: ca.SX = across + along
        return total


def model_of(law: str, wheels: int, rollers: int, further: dict[str, float] | None = None) -> Model:
    """Name the coordinates, velocities and discrete values.

    Parameters
    ----------
    law
        One of `LAWS`.
    wheels, rollers
        N and n.
    further
        Discrete values besides the contact rollers.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    p = parameters(law, wheels)
    car = described(law, p, wheels, rollers)
    massive = law != INERTIALESS
    spins = numbered("spin", wheels, rollers) if massive else []
    return Model(
        wheels,
        rollers,
        p,
        ds.coordinates(
            x="m", y="m", theta=ds.ANGLE, **dict.fromkeys(numbered("chi", wheels), "rad")
        ),
        ds.velocities(
            v_1="m/s",
            v_2="m/s",
            omega="rad/s",
            **dict.fromkeys([*numbered("chi_dot", wheels), *spins], "rad/s"),
        ),
        ds.discrete(**dict.fromkeys(numbered("contact", wheels), 1.0), **(further or {})),
        car,
        massive,
    )


def next_stands(model: Model, fired: ca.SX) -> list[Stand]:
    """Return how the wheels stand after those in `fired` changed to their next rollers."""
    found: list[Stand] = []
    for i in range(1, model.wheels + 1):
        chi, contact_number = model.q[f"chi_{i}"], model.d[f"contact_{i}"]
        found.append(Stand(model, i, *rolled_on(chi, contact_number, fired[i - 1], model.rollers)))
    return found


def roller_switch(model: Model, impose: Sequence[str], order: Order) -> ds.Event:
    """Return the event at which wheels change to their next rollers, and what is imposed there."""

    def changes(fired: ca.SX) -> dict[str, ca.SX]:
        changed: dict[str, ca.SX] = {}
        for stand in next_stands(model, fired):
            changed |= {f"chi_{stand.i}": stand.angle, f"contact_{stand.i}": stand.contact_number}
        return changed

    guards = [within_sector(model.q[name], model.rollers) for name in numbered("chi", model.wheels)]
    return ds.Event(
        "roller_switch", guards, ds.FALLING, ds.Reset(changes, impose=impose, order=order)
    )


def independent(model: Model) -> dict[str, ca.SX]:
    """Return the velocities of the platform and the rates of the free rollers."""
    chosen: dict[str, ca.SX] = {name: model.v[name] for name in PLACE}
    for stand in model.stands if model.massive else []:
        for k in range(1, model.rollers):
            number = next_roller(stand.contact_number + k, model.rollers)
            chosen[f"free_{stand.i}_{k}"] = Stand(model, stand.i, number=number).spin
    return chosen


def speed(model: Model) -> tuple[ca.SX, str]:
    """Return the speed of the platform's middle with its unit."""
    return ca.norm_2(ca.vertcat(*model.velocity)), "m/s"
