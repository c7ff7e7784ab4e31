"""The equations of motion, corrected and as printed, and the constraints with their reactions.

O is the platform's own point, v its velocity in the platform's axes, w = theta' the rate of turn, u
= (v_1, v_2, w) and J = [[0, -1], [1, 0]]. Wheel i of radius h stands at r_i; al_i is the axis of
the roller below it, s_i its component along the wheel, and a_i = (al_i, J r_i . al_i), so that the
constraint is a_i . u + s_i h chi_i' = 0. With r_C the place of the mass centre, m the mass of the
whole vehicle, I its moment about the vertical through O, I_w that of a wheel about its axle,

    2 T = m (v + w J r_C)^2 + (I - m r_C^2) w^2 + sum I_w chi_i'^2,  chi_i' = -a_i . u / (s_i h).

A wheel's own equation is I_w chi_i'' = lambda_i h s_i, lambda_i the reaction along al_i; a_i is
constant. Hence, E the unit matrix,

    (Gamma + m E) v' + m w' (J r_C + R) + m w J (v + w J r_C) = 0
    I^ w' + m (J r_C + R) . v' + m w v . r_C = 0

    [[Gamma, m R], [m R^T, I^ - I]] = sum I_w a_i a_i^T / (s_i h)^2,

section 3.1 of the thesis with these misprints set right:

* J is [[0, -1], [1, 0]], with theta' = w; printed is its transpose, which needs theta' = -w.
* R also appears in the second equation, where an undefined r is printed.
* I_w is the moment of a wheel about its axle, not about its diameter.
* I is the moment of the whole vehicle, wheels included, not of the platform alone.

`corrected` are these equations; the angles chi_i are integrated besides. Their mass matrix is that
of T, but their other terms are not those that Lagrange's equations make of this T: the constraints
must not be put into T before. `constrained` has chi_i among its coordinates and the constraints as
goals, with the multipliers lambda_i; it uses nothing from the thesis. `printed` has the J as
printed, and the other three corrections; it conserves T with -J for J, not the energy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

import daesolve as ds
from daesolve.core.expressions.linear import solve_definite
from daesolve.typing import DifferentiableVector, Parameters, SymbolVector
from daesolve_problems.omni_inertialess.vehicle import STATES, Wheel, parameters, wheels_of
from daesolve_problems.omni_wheels import numbered


@dataclass(frozen=True, eq=False)
class _Vehicle:
    """The symbols of a model; the velocities begin with v_1, v_2, omega."""

    p: Parameters
    wheels: list[Wheel]
    q: DifferentiableVector
    v: SymbolVector

    @property
    def u(self) -> ca.SX:
        """(v_1, v_2, omega)."""
        return self.v.vector[:3]

    @property
    def speed(self) -> tuple[ca.SX, str]:
        """|v| with its unit."""
        return ca.norm_2(self.u[:2]), "m/s"

    def energy(self, turning: Sequence[ca.SX]) -> ca.SX:
        """Return T of wheels that turn at these rates, J."""
        p, (v_1, v_2, omega) = self.p, ca.vertsplit(self.u)
        own = p.inertia - p.mass * (p.centre_x**2 + p.centre_y**2)
        centre = (v_1 - omega * p.centre_y) ** 2 + (v_2 + omega * p.centre_x) ** 2
        wheels = p.wheel_inertia * sum((rate**2 for rate in turning), ca.SX(0))
        return (p.mass * centre + own * omega**2 + wheels) / 2

    @property
    def place_rates(self) -> ca.SX:
        """(x', y', theta')."""
        cosine, sine = ca.cos(self.q.theta), ca.sin(self.q.theta)
        v_1, v_2, omega = ca.vertsplit(self.u)
        return ca.vertcat(cosine * v_1 - sine * v_2, sine * v_1 + cosine * v_2, omega)

    def slip(self, wheel: Wheel) -> ca.SX:
        """Return a_i . u, the velocity along al_i that the wheel's turning takes away, m/s."""
        return ca.dot(_row(wheel), self.u)

    def turning(self, wheel: Wheel, u: ca.SX) -> ca.SX:
        """Return -a_i . u / (s_i h): chi_i' of velocities u, chi_i'' of accelerations."""
        return -ca.dot(_row(wheel), u) / (wheel.sine * self.p.wheel_radius)


def _row(wheel: Wheel) -> ca.SX:
    """Return a_i as a column of symbols."""
    entries: tuple[ca.SX, ca.SX, ca.SX] = wheel.row
    return ca.vertcat(*entries)


def corrected(wheels: int) -> ds.MechanicalSystem:
    """Pose the thesis' equations with their misprints set right; the reactions are eliminated.

    Raises
    ------
    OutOfRangeError
        There is no wheel.
    """
    car = _vehicle(wheels, with_angles=False)
    return _ordinary(car, _equations(car, 1.0), watched=True)


def printed(wheels: int) -> ds.MechanicalSystem:
    """Pose the equations with J as printed, the transpose of the right one.

    Raises
    ------
    OutOfRangeError
        There is no wheel.
    """
    car = _vehicle(wheels, with_angles=False)
    return _ordinary(car, _equations(car, -1.0), watched=False)


def constrained(wheels: int) -> ds.MechanicalSystem:
    """Pose the constraints, with the angles of the wheels among the coordinates.

    Raises
    ------
    OutOfRangeError
        There is no wheel.
    """
    car = _vehicle(wheels, with_angles=True)
    turned = [car.v[name] for name in numbered("chi_dot", wheels)]
    goals = [
        ds.Nonholonomic(
            f"no_slip_{i}",
            car.slip(wheel) + wheel.sine * car.p.wheel_radius * rate,
            unit="N",
            reaction_name=f"lambda_{i}",
        )
        for i, (wheel, rate) in enumerate(zip(car.wheels, turned, strict=True), start=1)
    ]
    return ds.MechanicalSystem(
        car.q,
        car.p,
        kinetic=car.energy(turned),
        velocities=car.v,
        kinematics=ca.vertcat(car.place_rates, *turned),
        goals=goals,
        independent={name: car.v[name] for name in STATES[3:]},
        outputs={"speed": car.speed},
    )


def _vehicle(wheels: int, *, with_angles: bool) -> _Vehicle:
    """Name the symbols, with or without those of the wheels' own turning."""
    p = parameters(wheels)
    count = wheels if with_angles else 0
    angles = dict.fromkeys(numbered("chi", count), "rad")
    rates = dict.fromkeys(numbered("chi_dot", count), "rad/s")
    return _Vehicle(
        p,
        wheels_of(p, wheels),
        ds.coordinates(x="m", y="m", theta=ds.ANGLE, **angles),
        ds.velocities(v_1="m/s", v_2="m/s", omega="rad/s", **rates),
    )


def _equations(car: _Vehicle, turn: float) -> tuple[ca.SX, ca.SX]:
    """Return the mass matrix and the force of the equations with turn * J instead of J."""
    p, (v_1, v_2, omega) = car.p, ca.vertsplit(car.u)
    moment_x, moment_y = p.mass * p.centre_x, p.mass * p.centre_y
    matrix = ca.vertcat(
        ca.horzcat(p.mass, 0, -moment_y),
        ca.horzcat(0, p.mass, moment_x),
        ca.horzcat(-moment_y, moment_x, p.inertia),
    )
    for wheel in car.wheels:
        row = _row(wheel)
        matrix += p.wheel_inertia / (wheel.sine * p.wheel_radius) ** 2 * (row @ row.T)
    signs = ca.diag(ca.SX([1, 1, turn]))
    force = omega * ca.vertcat(
        turn * p.mass * v_2 + moment_x * omega,
        -turn * p.mass * v_1 + moment_y * omega,
        -moment_x * v_1 - moment_y * v_2,
    )
    return signs @ matrix @ signs, force


def _ordinary(
    car: _Vehicle, equations: tuple[ca.SX, ca.SX], *, watched: bool
) -> ds.MechanicalSystem:
    """Pose matrix @ u' = force; T is kept where `watched`, else an output alone."""
    matrix, force = equations
    accelerations = solve_definite(matrix, force)
    turning = [car.turning(wheel, car.u) for wheel in car.wheels]
    angles = numbered("chi", len(car.wheels))
    rates = numbered("chi_dot", len(car.wheels))
    reactions = {
        f"lambda_{i}": (
            car.p.wheel_inertia
            * car.turning(wheel, accelerations)
            / (wheel.sine * car.p.wheel_radius),
            "N",
        )
        for i, wheel in enumerate(car.wheels, start=1)
    }
    energy = car.energy(turning)
    return ds.MechanicalSystem(
        car.q,
        car.p,
        mass_matrix=matrix,
        kinetic=energy if watched else None,
        gyroscopic=force if watched else {},
        force={} if watched else force,
        velocities=car.v,
        kinematics=car.place_rates,
        quadratures=ds.states(**dict.fromkeys(angles, "rad")),
        integrands=dict(zip(angles, turning, strict=True)),
        outputs={
            "energy": (energy, "J"),
            "speed": car.speed,
            **{name: (rate, "rad/s") for name, rate in zip(rates, turning, strict=True)},
        },
        recovered=reactions,
    )
