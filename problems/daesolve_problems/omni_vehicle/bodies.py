"""What the models with every roller as a separate body share: all but geometry and inertia.

Coordinates x, y, theta, chi_i, phi_ij; velocities nu, chi_i', phi_ij'; the roller that wheel i
stands on, contact_i; with R and Lambda of the model

    v_S = R nu_1 e_xi + R nu_2 e_eta,  nu_3 = Lambda theta'.

Where a wheel rolls on to its next roller, the new contact acts at once and is perfectly plastic:
the velocities are projected onto the new constraints in the metric of the masses. For wheels that
switch at the same instant this is done at once (`simultaneous`) or one after the other
(`sequential`); the two differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

import daesolve as ds
from daesolve.typing import DifferentiableVector, Order, Parameters, SymbolVector
from daesolve_problems.omni_vehicle.geometry import (
    next_roller,
    pitch,
    rolled_on,
    torques,
    within_sector,
)
from daesolve_problems.omni_wheels import check_counts, numbered


@dataclass(frozen=True, eq=False)
class Bodies:
    """The symbols of a model.

    Parameters
    ----------
    wheels, rollers
        N and n.
    radius, scale
        R, m, and Lambda.
    q, v, d
        Coordinates, velocities, discrete values.
    """

    wheels: int
    rollers: int
    radius: ca.SX
    scale: ca.SX
    q: DifferentiableVector
    v: SymbolVector
    d: Parameters

    @property
    def velocity(self) -> tuple[ca.SX, ca.SX]:
        """Return v_S in the platform's axes, m/s."""
        return self.radius * self.v.nu_1, self.radius * self.v.nu_2

    @property
    def turning(self) -> ca.SX:
        """Return theta', rad/s."""
        return self.v.nu_3 / self.scale

    def pairs(self) -> list[tuple[int, int]]:
        """Return every wheel with each of its rollers."""
        return [(i, j) for i in range(1, self.wheels + 1) for j in range(1, self.rollers + 1)]

    def spin(self, i: int, number: ca.SX | None = None) -> ca.SX:
        """Return phi_ij' of a roller by a number known only in the run; of the contact roller."""
        wanted = self.d[f"contact_{i}"] if number is None else number
        numbers = range(1, self.rollers + 1)
        return sum(((wanted == j) * self.v[f"phi_dot_{i}_{j}"] for j in numbers), ca.SX(0))

    def sine(self, i: int, j: int) -> ca.SX:
        """Return sin(chi_ij), with discrete values in a separate factor."""
        ahead = pitch(self.rollers) * (j - self.d[f"contact_{i}"])
        chi = self.q[f"chi_{i}"]
        return ca.sin(chi) * ca.cos(ahead) + ca.cos(chi) * ca.sin(ahead)


def bodies(wheels: int, rollers: int, radius: ca.SX, scale: ca.SX) -> Bodies:
    """Name the coordinates, velocities and discrete values.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    check_counts(wheels, rollers)
    return Bodies(
        wheels,
        rollers,
        radius,
        scale,
        ds.coordinates(
            x="m",
            y="m",
            theta=ds.ANGLE,
            **dict.fromkeys(numbered("chi", wheels), "rad"),
            **dict.fromkeys(numbered("phi", wheels, rollers), ds.ANGLE),
        ),
        ds.velocities(
            **dict.fromkeys(numbered("nu", 3), "1/s"),
            **dict.fromkeys(numbered("chi_dot", wheels), "rad/s"),
            **dict.fromkeys(numbered("phi_dot", wheels, rollers), "rad/s"),
        ),
        ds.discrete(**dict.fromkeys(numbered("contact", wheels), 1.0)),
    )


def system(
    model: Bodies,
    parameters: Parameters,
    kinetic: ca.SX,
    slip: Sequence[tuple[ca.SX, ca.SX]],
    carried: Callable[[int, int], ca.SX],
    imposition: Order,
    motors: bool,
) -> ds.MechanicalSystem:
    """Put a model together.

    Parameters
    ----------
    model, parameters
        Its symbols.
    kinetic
        T, J.
    slip
        The velocity of each contact along n_i and tau_i, m/s.
    carried
        The rate at which platform and wheel i turn roller j about its axis, rad/s: a free roller
        keeps the sum of this and its phi_ij'.
    imposition
        How wheels that switch at the same instant are treated.
    motors
        Whether a torque acts between the platform and each wheel, about its axle.
    """
    driving = torques(model.wheels if motors else 0)
    turned = ca.vertcat(*[model.v[name] for name in numbered("chi_dot", model.wheels)])
    push = {f"chi_dot_{i}": driving[name] for i, name in enumerate(driving.names, start=1)}
    goals = [
        ds.Nonholonomic(
            f"no_slip_{side}_{i}", velocity, unit="N", reaction_name=f"force_{side}_{i}"
        )
        for i, pair in enumerate(slip, start=1)
        for side, velocity in zip(("n", "tau"), pair, strict=True)
    ]
    momenta = [
        ds.Invariant(
            f"roller_momentum_{i}_{j}",
            # Zero for the contact roller, which is not free.
            (model.d[f"contact_{i}"] != j) * (model.v[f"phi_dot_{i}_{j}"] + carried(i, j)),
            scale=1.0,
        )
        for i, j in model.pairs()
    ]
    return ds.MechanicalSystem(
        model.q,
        parameters,
        kinetic=kinetic,
        velocities=model.v,
        kinematics=_kinematics(model),
        discrete=model.d,
        goals=[*goals, *momenta],
        independent=_independent(model),
        events=[_roller_switch(model, [goal.name for goal in goals], imposition)],
        outputs={"speed": (ca.norm_2(ca.vertcat(*model.velocity)), "m/s")},
        force=push,
        inputs=driving,
        meters={"motor_work": (ca.dot(driving.vector, turned), "J")} if motors else {},
    )


def _kinematics(model: Bodies) -> ca.SX:
    along, across = model.velocity
    cosine, sine = ca.cos(model.q.theta), ca.sin(model.q.theta)
    x_dot, y_dot = cosine * along - sine * across, sine * along + cosine * across
    return ca.vertcat(x_dot, y_dot, model.turning, model.v.vector[3:])


def _independent(model: Bodies) -> dict[str, ca.SX]:
    """Return nu and the rates of the free rollers, counted from the contact roller."""
    chosen = {name: model.v[name] for name in numbered("nu", 3)}
    for i in range(1, model.wheels + 1):
        for k in range(1, model.rollers):
            number = next_roller(model.d[f"contact_{i}"] + k, model.rollers)
            chosen[f"free_{i}_{k}"] = model.spin(i, number)
    return chosen


def _roller_switch(model: Bodies, slip: list[str], imposition: Order) -> ds.Event:
    angles, contacts = numbered("chi", model.wheels), numbered("contact", model.wheels)

    def changes(fired: ca.SX) -> dict[str, ca.SX]:
        changed: dict[str, ca.SX] = {}
        for index, (chi, contact) in enumerate(zip(angles, contacts, strict=True)):
            changed[chi], changed[contact] = rolled_on(
                model.q[chi], model.d[contact], fired[index], model.rollers
            )
        return changed

    return ds.Event(
        "roller_switch",
        [within_sector(model.q[chi], model.rollers) for chi in angles],
        ds.FALLING,
        then=ds.Reset(changes, impose=slip, order=imposition),
    )
