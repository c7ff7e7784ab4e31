"""Skates and trailers whose growth vectors are known, posed through the public API."""

from __future__ import annotations

from typing import Any

import casadi as ca

import daesolve as ds


def constrained(q: Any, goals: Any) -> ds.MechanicalSystem:
    """Unit masses under constraints."""
    return ds.MechanicalSystem(q, kinetic=ca.sumsqr(q.dot.vector) / 2, goals=goals)


def two_skates(front: float = 1.0, rear: float = 0.8) -> ds.MechanicalSystem:
    """A frame on two skates that turn; v_1, v_2 its velocity in its own axes."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, theta_1="rad", theta_2="rad")
    v = ds.velocities(v_1="m/s", v_2="m/s", omega="rad/s", turn_1="rad/s", turn_2="rad/s")
    c, s = ca.cos(q.psi), ca.sin(q.psi)

    def slip(distance: float, theta: ca.SX) -> ca.SX:
        return (v.v_1 - distance * v.omega) * ca.cos(theta) + v.v_2 * ca.sin(theta)

    return ds.MechanicalSystem(
        q,
        velocities=v,
        kinematics=ca.vertcat(c * v.v_1 - s * v.v_2, s * v.v_1 + c * v.v_2, v.vector[2:]),
        kinetic=ca.sumsqr(v.vector) / 2,
        goals=[
            ds.Nonholonomic("skate_1", slip(front, q.theta_1)),
            ds.Nonholonomic("skate_2", slip(-rear, q.theta_2)),
        ],
    )


def direction_of_two_skates(q: Any, front: float = 1.0, rear: float = 0.8) -> ca.SX:
    """(v_1, v_2, omega) that both skates allow, a polynomial in sines and cosines."""
    s_1, c_1, s_2, c_2 = (f(q[name]) for name in ("theta_1", "theta_2") for f in (ca.sin, ca.cos))
    return ca.vertcat(
        rear * s_1 * c_2 + front * c_1 * s_2,
        -(front + rear) * c_1 * c_2,
        ca.sin(q.theta_2 - q.theta_1),
    )


def two_skates_by_kinematics() -> ds.MechanicalSystem:
    """The same frame, without constraints: three velocities for five coordinates."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, theta_1="rad", theta_2="rad")
    v = ds.velocities(speed="m/s", turn_1="rad/s", turn_2="rad/s")
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    allowed = direction_of_two_skates(q) * v.speed
    return ds.MechanicalSystem(
        q,
        velocities=v,
        kinematics=ca.vertcat(
            c * allowed[0] - s * allowed[1], s * allowed[0] + c * allowed[1], allowed[2],
            v.turn_1, v.turn_2,
        ),
        kinetic=ca.sumsqr(v.vector) / 2,
    )  # fmt: skip


def car_with_trailers(trailers: int, length: float = 1.0) -> ds.MechanicalSystem:
    """A car, the last angle, with trailers, each hitched to the middle of the axle before it."""
    names = [f"theta_{k}" for k in range(trailers + 1)]
    q = ds.coordinates(x="m", y="m", **dict.fromkeys(names, "rad"))
    x_dot, y_dot = q.dot.x, q.dot.y
    goals = []
    for name in names:
        c, s = ca.cos(q[name]), ca.sin(q[name])
        goals.append(ds.Nonholonomic(f"axle_{name}", c * y_dot - s * x_dot))
        x_dot = x_dot - length * s * q.dot[name]
        y_dot = y_dot + length * c * q.dot[name]
    return constrained(q, goals)
