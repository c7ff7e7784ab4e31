"""The wheel with a contact that rubs, opens and closes: the model `friction`. See `models`."""

from __future__ import annotations

import math

import casadi as ca

import daesolve as ds
from daesolve.errors import PosingError
from daesolve.typing import DifferentiableVector, Parameters
from daesolve_problems.curves import Curve
from daesolve_problems.rolling_wheel.parts import (
    DRIVE,
    check_drive,
    energies,
    parameters,
    room,
    stops,
    torque_of_the_drive,
    with_the_drive,
)

RIM = 16
"""Points of the rim, at equal angles from the contact; those off the contact are watched.

A flat piece of curve is 1 - cos(pi / RIM) of the radius, 2 %, inside the wheel at most before one
of them meets it."""


def friction(
    pendulum: bool, one_sided: bool, curve: Curve, drive: bool = False, limited: bool = False
) -> ds.MechanicalSystem:
    """Pose the wheel with a contact that rubs, opens and closes.

    Raises
    ------
    PosingError
        `one_sided` is False, so the contact would hold both ways; `limited` is True, so rolling
        would end where friction is insufficient; or there is a drive but no pendulum.
    """
    check_drive(pendulum, drive)
    _check(one_sided, limited)
    p = parameters(
        curve,
        pendulum,
        friction=(0.5, "", ds.NON_NEGATIVE),
        restitution=(0.0, "", ds.NON_NEGATIVE),
        **(DRIVE if drive else {}),
    )
    q = ds.coordinates(x="m", z="m", theta=ds.ANGLE, **({"phi": ds.ANGLE} if pendulum else {}))
    w = ds.implicit(alpha=ds.ANGLE, gap="m")
    normal = ca.vertcat(ca.cos(w.alpha), ca.sin(w.alpha))
    tangent = ca.vertcat(-normal[1], normal[0])
    away = p.radius + w.gap
    at = ds.auxiliaries(
        contact_x=(q.x + away * normal[0], "m"), contact_z=(q.z + away * normal[1], "m")
    )
    f = ca.SX(curve.residual(at.contact_x, at.contact_z, p))
    gradient = ca.vertcat(ca.jacobian(f, at.contact_x), ca.jacobian(f, at.contact_z))
    bend = ca.jacobian(gradient, at.vector)
    clearance = ca.dot(gradient, normal) - away * ca.dot(tangent, bend @ tangent)
    speed = q.dot.x * tangent[0] + q.dot.z * tangent[1]
    kinetic, potential = energies(q, p, pendulum=pendulum)
    stopping = stops()
    elsewhere = _clear_of_the_curve(curve, p, q, normal, tangent)
    free = ca.fmin(room(at, stopping, clearance), elsewhere)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=potential,
        force=with_the_drive({}, torque_of_the_drive(q, p) if drive else None),
        implicit=w,
        auxiliaries=at,
        discrete=stopping,
        goals=[
            ds.Contact(
                "contact",
                w.gap,
                slip=speed + p.radius * q.dot.theta,
                friction=p.friction,
                restitution=p.restitution,
            ),
            ds.Implicit("tangency", gradient[0] * normal[1] - gradient[1] * normal[0], w.alpha),
            ds.Implicit("reach", f, w.gap),
        ],
        outputs={
            "contact_x": (at.contact_x, "m"),
            "contact_z": (at.contact_z, "m"),
            "speed": (speed, "m/s"),
        },
        events=[ds.Event("not_admissible", free, ds.FALLING, ds.Stop())],
    )


def _check(one_sided: bool, limited: bool) -> None:
    if limited:
        raise PosingError(
            "the model 'friction' continues where friction is insufficient, so limited = true "
            "does not apply"
        )
    if not one_sided:
        raise PosingError(
            "the model 'friction' has a contact that opens, so one_sided = false does not apply"
        )


def _clear_of_the_curve(
    curve: Curve, p: Parameters, q: DifferentiableVector, normal: ca.SX, tangent: ca.SX
) -> ca.SX:
    """Return what is positive while no other piece of the curve has come into the wheel.

    The contact knows the piece from which the wheel left. So points of the rim are watched, all but
    the one that is next to that piece: RIM in all, n among them, at equal angles.
    """
    room = ca.SX(ca.inf)
    for k in range(1, RIM):
        angle = 2 * math.pi * k / RIM
        x, z = (
            centre + p.radius * (math.cos(angle) * n + math.sin(angle) * t)
            for centre, n, t in zip(
                (q.x, q.z), ca.vertsplit(normal), ca.vertsplit(tangent), strict=True
            )
        )
        room = ca.fmin(room, -ca.SX(curve.residual(x, z, p)))
    return room
