"""The vehicle in its three velocities: every free roller keeps its momentum.

With the momenta B m_ij, m_ij = phi_ij' + theta' sin(chi_ij), the equations of the free rollers
are m_ij' = 0: the m_ij are discrete values (momentum_i_j), which change only at switches. The rest
is, with nu = (nu_1, nu_2, nu_3) and n_i = (c_i, s_i),

    chi_i' = a_i . nu    a_i = (R s_i / l, -R c_i / l, -R / (l Lambda))
    m_i = b_i . nu       b_i = (R c_i / rho_i, R s_i / rho_i, sin(chi_i) / Lambda)
    G = diag(R^2 M, R^2 M, (I_S - B N n / 2) / Lambda^2) + sum_i (J a_i a_i^T + B b_i b_i^T)
    G nu' = (nu_3 X, -nu_3 Y, nu_2 Y - nu_1 X) - sum_i B b_i k_i
    T = (nu . G nu + B sum of m_ij^2 over the free rollers) / 2

m_i that of the contact roller, where

    X = R^2 M nu_2 / Lambda + R / (l Lambda) sum_i s_i S_i
    Y = R^2 M nu_1 / Lambda + R / (l Lambda) sum_i c_i S_i
    S_i = B sum_j cos(chi_ij) m_ij
    k_i = (R (c_i nu_1 + s_i nu_2) l sin(chi_i) / rho_i^2 + nu_3 cos(chi_i) / Lambda) chi_i'.

The forces at the contacts are force_n_i = -B m_i' / rho_i and
force_tau_i = (J chi_i'' - theta' S_i) / l.

At a switch every roller, also one that leaves the floor, keeps its momentum, except those that
come to the floor:

    G+ nu+ = (G - sum_i B b_i b_i^T) nu- + sum_i B b_i+ m_i,

with m_i of the entering roller before the switch. This is the impact of `thesis`. Nothing is
divided by B, so rollers without inertia are a regular limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

import daesolve as ds
from daesolve.core.expressions.linear import solve_definite
from daesolve.typing import DifferentiableVector, Order, Parameters, SymbolVector
from daesolve_problems.omni_vehicle.geometry import (
    Vehicle,
    parameters,
    pitch,
    rolled_on,
    torques,
    vehicle,
    within_sector,
)
from daesolve_problems.omni_wheels import equal_directions, numbered


@dataclass(frozen=True, eq=False)
class _Contact:
    """A wheel on its contact roller; sqrt(B) goes with b, so that no product is written twice.

    Parameters
    ----------
    direction
        n, in the platform's own axes.
    cosine, sine
        Of the contact roller's angle.
    slope
        l sin(chi) / rho.
    arm
        sqrt(B) (R / rho, sin(chi) / Lambda).
    """

    direction: tuple[float, float]
    cosine: ca.SX
    sine: ca.SX
    slope: ca.SX
    arm: tuple[ca.SX, ca.SX]

    def along(self, nu: ca.SX) -> ca.SX:
        """Return v_S . n / R."""
        return self.direction[0] * nu[0] + self.direction[1] * nu[1]

    def momentum(self, nu: ca.SX) -> ca.SX:
        """Return sqrt(B) b . nu."""
        return self.along(nu) * self.arm[0] + nu[2] * self.arm[1]

    def spread(self, value: ca.SX) -> ca.SX:
        """Return sqrt(B) b times a value."""
        first, last = value * self.arm[0], value * self.arm[1]
        return ca.vertcat(self.direction[0] * first, self.direction[1] * first, last)


@dataclass(frozen=True, eq=False)
class _Compact:
    """The symbols of the model."""

    wheels: int
    rollers: int
    q: DifferentiableVector
    v: SymbolVector
    d: Parameters
    car: Vehicle

    @property
    def root(self) -> ca.SX:
        """sqrt(B)."""
        inertia: ca.SX = self.car.roller_inertia
        return ca.sqrt(inertia)

    @property
    def turn(self) -> ca.SX:
        """R / (l Lambda)."""
        return self.car.platform_radius / (self.car.wheel_radius * self.car.velocity_scale)

    @property
    def constant_part(self) -> ca.SX:
        """The diagonal of G without the contact rollers.

        For three and more wheels the sum of J a_i a_i^T is diagonal.
        """
        car = self.car
        turned = self.wheels * car.wheel_inertia * (car.platform_radius / car.wheel_radius) ** 2
        along: ca.SX = car.platform_radius**2 * car.total_mass + turned / 2
        about = car.vehicle_inertia - self.wheels * self.rollers * car.roller_inertia / 2 + turned
        last: ca.SX = about / car.velocity_scale**2
        return ca.vertcat(along, along, last)

    def contacts(self, angles: list[ca.SX]) -> list[_Contact]:
        """Return the wheels on rollers at these angles."""
        car = self.car
        found: list[_Contact] = []
        for direction, chi in zip(equal_directions(self.wheels), angles, strict=True):
            cosine, sine = ca.cos(chi), ca.sin(chi)
            inverse = 1 / (cosine - car.roller_axis_radius / car.wheel_radius)
            size = self.root * (car.platform_radius / car.wheel_radius)
            arm = (size * inverse, self.root / car.velocity_scale * sine)
            found.append(_Contact(direction, cosine, sine, sine * inverse, arm))
        return found

    def turning(self, nu: ca.SX) -> list[ca.SX]:
        """Return a_i . nu for every wheel: its rate of turn, where nu are the velocities."""
        ratio = self.car.platform_radius / self.car.wheel_radius
        return [
            (ratio * s) * nu[0] - (ratio * c) * nu[1] - self.turn * nu[2]
            for c, s in equal_directions(self.wheels)
        ]

    def ahead(self, i: int, j: int) -> ca.SX:
        """Return the angle by which roller j of wheel i is ahead of the contact roller."""
        return pitch(self.rollers) * (j - self.d[f"contact_{i}"])

    def free(self, i: int) -> list[tuple[int, ca.SX]]:
        """Return every roller's number and m_ij, zero for the contact roller."""
        contact = self.d[f"contact_{i}"]
        return [
            (j, (contact != j) * self.d[f"momentum_{i}_{j}"]) for j in range(1, self.rollers + 1)
        ]


@dataclass(frozen=True, eq=False)
class _Equations:
    """G nu' = force, and what the outputs need of it; `couples` are the S_i, `rates` k_i."""

    contacts: list[_Contact]
    matrix: ca.SX
    force: ca.SX
    turning: list[ca.SX]
    couples: list[ca.SX]
    rates: list[ca.SX]


def compact(
    wheels: int, rollers: int, imposition: Order, motors: bool = False
) -> ds.MechanicalSystem:
    """Pose the vehicle by its three velocities; rollers off the floor keep their momenta.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    p = parameters()
    model = _Compact(
        wheels,
        rollers,
        ds.coordinates(
            x="m", y="m", theta=ds.ANGLE, **dict.fromkeys(numbered("chi", wheels), "rad")
        ),
        ds.velocities(**dict.fromkeys(numbered("nu", 3), "1/s")),
        ds.discrete(
            **dict.fromkeys(numbered("contact", wheels), 1.0),
            **dict.fromkeys(numbered("momentum", wheels, rollers), 0.0),
        ),
        vehicle(p, wheels, rollers),
    )
    equations = _equations(model)
    energy = _energy(model, equations)
    turning = ca.vertcat(*equations.turning)
    driving = torques(wheels if motors else 0)
    push = ca.jacobian(turning, model.v.vector).T @ driving.vector if motors else ca.SX(3, 1)
    return ds.MechanicalSystem(
        model.q,
        p,
        mass_matrix=equations.matrix,
        force=equations.force + push if motors else equations.force,
        inputs=driving,
        meters={"motor_work": (ca.dot(push, model.v.vector), "J")} if motors else {},
        velocities=model.v,
        kinematics=_kinematics(model, equations.turning),
        discrete=model.d,
        goals=[] if motors else [ds.Invariant("energy", energy)],
        events=[_roller_switch(model, equations, imposition)],
        outputs=_outputs(model, equations) | {"energy": (energy, "J")},
    )


def _matrix(model: _Compact, contacts: list[_Contact]) -> ca.SX:
    """Return G, its upper and lower parts the same expressions."""
    along = [contact.arm[0] ** 2 for contact in contacts]
    mixed = [contact.arm[0] * contact.arm[1] for contact in contacts]
    c, s = zip(*(contact.direction for contact in contacts), strict=True)
    first = _sum([a * a * w for a, w in zip(c, along, strict=True)])
    cross = _sum([a * b * w for a, b, w in zip(c, s, along, strict=True)])
    outer = [_sum([a * w for a, w in zip(part, mixed, strict=True)]) for part in (c, s)]
    steady = model.constant_part
    about = steady[2] + _sum([contact.arm[1] ** 2 for contact in contacts])
    return ca.vertcat(
        ca.horzcat(steady[0] + first, cross, outer[0]),
        ca.horzcat(cross, steady[1] + (_sum(along) - first), outer[1]),
        ca.horzcat(outer[0], outer[1], about),
    )


def _sum(terms: list[ca.SX]) -> ca.SX:
    return sum(terms[1:], terms[0])


def _equations(model: _Compact) -> _Equations:
    nu, car = model.v.vector, model.car
    contacts = model.contacts([model.q[name] for name in numbered("chi", model.wheels)])
    turning = model.turning(nu)
    swing = model.root / car.velocity_scale * nu[2]
    couples: list[ca.SX] = []
    rates: list[ca.SX] = []
    force = ca.SX.zeros(3)
    for i, (contact, chi_dot) in enumerate(zip(contacts, turning, strict=True), start=1):
        momentum = contact.along(nu) * contact.arm[0]
        rate = (momentum * contact.slope + swing * contact.cosine) * chi_dot
        free = model.free(i)
        even = _sum([ca.cos(model.ahead(i, j)) * value for j, value in free])
        odd = _sum([ca.sin(model.ahead(i, j)) * value for j, value in free])
        own = car.roller_inertia * even + model.root * contact.momentum(nu)
        couples.append(own * contact.cosine - car.roller_inertia * odd * contact.sine)
        rates.append(rate)
        force -= contact.spread(rate)
    inertia = car.platform_radius**2 * car.total_mass / car.velocity_scale
    gyroscopic: list[ca.SX] = [
        inertia * nu[1 - axis]
        + model.turn
        * _sum([k.direction[1 - axis] * s for k, s in zip(contacts, couples, strict=True)])
        for axis in (0, 1)
    ]
    force += ca.vertcat(
        nu[2] * gyroscopic[0],
        -nu[2] * gyroscopic[1],
        nu[1] * gyroscopic[1] - nu[0] * gyroscopic[0],
    )
    return _Equations(contacts, _matrix(model, contacts), force, turning, couples, rates)


def _energy(model: _Compact, equations: _Equations) -> ca.SX:
    nu = model.v.vector
    free = _sum([m**2 for i in range(1, model.wheels + 1) for _, m in model.free(i)])
    return (ca.dot(nu, equations.matrix @ nu) + model.car.roller_inertia * free) / 2


def _kinematics(model: _Compact, turning: list[ca.SX]) -> ca.SX:
    nu, radius = model.v.vector, model.car.platform_radius
    cosine, sine = ca.cos(model.q.theta), ca.sin(model.q.theta)
    return ca.vertcat(
        radius * (cosine * nu[0] - sine * nu[1]),
        radius * (sine * nu[0] + cosine * nu[1]),
        nu[2] / model.car.velocity_scale,
        *turning,
    )


def _outputs(model: _Compact, equations: _Equations) -> dict[str, tuple[ca.SX, str]]:
    """Return the speed, the forces at the contacts and the rates of turn of the rollers."""
    nu, car = model.v.vector, model.car
    theta_dot = nu[2] / car.velocity_scale
    outputs = {"speed": (car.platform_radius * ca.norm_2(nu[:2]), "m/s")}
    outputs |= _forces(model, equations)
    for i, contact in enumerate(equations.contacts, start=1):
        for j, momentum in model.free(i):
            ahead = model.ahead(i, j)
            sine = contact.sine * ca.cos(ahead) + contact.cosine * ca.sin(ahead)
            stands = model.d[f"contact_{i}"] == j
            rate = ca.if_else(stands, _rolling(model, contact), momentum - theta_dot * sine)
            outputs[f"phi_dot_{i}_{j}"] = (rate, "rad/s")
    return outputs


def _forces(model: _Compact, equations: _Equations) -> dict[str, tuple[ca.SX, str]]:
    car, theta_dot = model.car, model.v.nu_3 / model.car.velocity_scale
    nu_dot = solve_definite(equations.matrix, equations.force)
    spins = model.turning(nu_dot)
    forces: dict[str, tuple[ca.SX, str]] = {}
    for i, contact in enumerate(equations.contacts, start=1):
        change = contact.momentum(nu_dot) + equations.rates[i - 1]
        couple = theta_dot * equations.couples[i - 1]
        across = (car.wheel_inertia * spins[i - 1] - couple) / car.wheel_radius
        forces[f"force_n_{i}"] = (-contact.arm[0] / car.platform_radius * change, "N")
        forces[f"force_tau_{i}"] = (across, "N")
    return forces


def _rolling(model: _Compact, contact: _Contact) -> ca.SX:
    """Return the rate of turn of a contact roller, rad/s."""
    car = model.car
    rho = car.wheel_radius * contact.cosine - car.roller_axis_radius
    return car.platform_radius * contact.along(model.v.vector) / rho


def _roller_switch(model: _Compact, equations: _Equations, imposition: Order) -> ds.Event:
    q, d, numbers = model.q, model.d, range(1, model.wheels + 1)

    def changes(fired: ca.SX) -> dict[str, ca.SX]:
        changed: dict[str, ca.SX] = {}
        for i in numbers:
            angle, roller = rolled_on(q[f"chi_{i}"], d[f"contact_{i}"], fired[i - 1], model.rollers)
            changed |= {f"chi_{i}": angle, f"contact_{i}": roller}
            changed |= _kept(model, i, equations.contacts[i - 1], fired[i - 1])
        nu = _impact(model, equations, fired, changed)
        return changed | {f"nu_{k}": nu[k - 1] for k in (1, 2, 3)}

    return ds.Event(
        "roller_switch",
        [within_sector(q[f"chi_{i}"], model.rollers) for i in numbers],
        ds.FALLING,
        then=ds.Reset(
            changes,
            order=imposition,
            energies=lambda fired: _energies(model, equations, changes(fired)),
        ),
    )


def _energies(
    model: _Compact, equations: _Equations, changed: dict[str, ca.SX]
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return T before and after an impact, and the energy of the velocities that it takes.

    The platform loses nu, the wheels a_i . nu, and every roller the change of its m_ij: that of
    the roller which is left is kept, that of the roller which is met changes.
    """
    nu = model.v.vector
    new = ca.vertcat(*[changed[f"nu_{k}"] for k in (1, 2, 3)])
    angles = [changed[f"chi_{i}"] for i in range(1, model.wheels + 1)]
    after = model.contacts(angles)
    kinetic = ca.dot(new, _matrix(model, after) @ new)
    lost = ca.dot(new - nu, model.constant_part * (new - nu))
    own = model.car.roller_inertia
    for i, (old, contact) in enumerate(zip(equations.contacts, after, strict=True), start=1):
        place, was = changed[f"contact_{i}"], model.d[f"contact_{i}"]
        for j in range(1, model.rollers + 1):
            kept = changed[f"momentum_{i}_{j}"]
            kinetic += own * (place != j) * kept**2
            before = _momentum(model, old, was == j, model.d[f"momentum_{i}_{j}"], nu)
            change = _momentum(model, contact, place == j, kept, new) - before
            lost += change**2
    return _energy(model, equations), kinetic / 2, lost / 2


def _momentum(model: _Compact, contact: _Contact, stands: ca.SX, free: ca.SX, nu: ca.SX) -> ca.SX:
    """Return sqrt(B) m_ij of a roller that stands on the floor or is free."""
    return ca.if_else(stands, contact.momentum(nu), model.root * free)


def _kept(model: _Compact, i: int, contact: _Contact, fired: ca.SX) -> dict[str, ca.SX]:
    """Return the momenta m_ij of a wheel: the roller that is left takes its own with it."""
    own = _rolling(model, contact) + model.v.nu_3 / model.car.velocity_scale * contact.sine
    kept: dict[str, ca.SX] = {}
    for j in range(1, model.rollers + 1):
        left = fired * (model.d[f"contact_{i}"] == j)
        name = f"momentum_{i}_{j}"
        kept[name] = ca.if_else(left, own, model.d[name])
    return kept


def _impact(
    model: _Compact, equations: _Equations, fired: ca.SX, changed: dict[str, ca.SX]
) -> ca.SX:
    """Return nu after the wheels in `fired` stand on their next rollers."""
    nu = model.v.vector
    after = model.contacts([changed[f"chi_{i}"] for i in range(1, model.wheels + 1)])
    push = model.constant_part * nu
    for i, (old, new) in enumerate(zip(equations.contacts, after, strict=True), start=1):
        place = changed[f"contact_{i}"]
        met = _sum(
            [(place == j) * model.d[f"momentum_{i}_{j}"] for j in range(1, model.rollers + 1)]
        )
        push += new.spread(ca.if_else(fired[i - 1], model.root * met, old.momentum(nu)))
    return solve_definite(_matrix(model, after), push)
