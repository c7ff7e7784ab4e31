"""Bodies in space that stand on feet, slide, spin and fall, as systems with contacts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca

import daesolve as ds

GRAVITY = 9.81


def turned(roll: ca.SX, pitch: ca.SX, yaw: ca.SX) -> ca.SX:
    """Return the rotation by roll about x, then pitch about y, then yaw about z."""
    cx, sx, cy, sy, cz, sz = (f(a) for a in (roll, pitch, yaw) for f in (ca.cos, ca.sin))
    about_x = ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, cx, -sx), ca.horzcat(0, sx, cx))
    about_y = ca.vertcat(ca.horzcat(cy, 0, sy), ca.horzcat(0, 1, 0), ca.horzcat(-sy, 0, cy))
    about_z = ca.vertcat(ca.horzcat(cz, -sz, 0), ca.horzcat(sz, cz, 0), ca.horzcat(0, 0, 1))
    return about_z @ about_y @ about_x


def standing(
    feet: Mapping[str, Sequence[float]],
    friction: float,
    inertia: Sequence[float],
    *,
    mass: float = 1.0,
    incline: float = 0.0,
    floor: Callable[[Any], tuple[Any, Any]] = lambda q: (0.0, 0.0),
    static: float | None = None,
    restitution: float = 0.0,
    closed: bool = True,
    force: Callable[[Any], Mapping[str, Any]] | None = None,
    **more: Any,
) -> ds.MechanicalSystem:
    """Return a body on feet at places of its own axes, which may rub on a floor that moves."""
    q = ds.coordinates(x="m", y="m", z="m", roll="rad", pitch="rad", yaw="rad")
    rotation = turned(q.roll, q.pitch, q.yaw)
    spin = ca.jacobian(ca.vec(rotation), q.vector) @ q.dot.vector
    wheel = rotation.T @ ca.reshape(spin, 3, 3)
    rates = ca.vertcat(wheel[2, 1], wheel[0, 2], wheel[1, 0])
    place = ca.vertcat(q.x, q.y, q.z)
    contacts = []
    for name, foot in feet.items():
        point = place + rotation @ ca.DM(list(foot))
        speed = ca.jacobian(point, q.vector) @ q.dot.vector
        moving = floor(point)
        contacts.append(
            ds.Contact(
                name,
                point[2],
                slip=(speed[0] - moving[0], speed[1] - moving[1]),
                friction=friction,
                static_friction=static,
                restitution=restitution,
                closed=closed,
                **more,
            )
        )
    down = math.cos(incline) * q.z - math.sin(incline) * q.x
    kinetic = mass * ca.sumsqr(ca.vertcat(q.dot.x, q.dot.y, q.dot.z)) / 2
    return ds.MechanicalSystem(
        q,
        kinetic=kinetic + ca.dot(ca.DM(list(inertia)) * rates, rates) / 2,
        potential=mass * GRAVITY * down,
        goals=contacts,
        force=force(q) if force else (),
    )


def tripod(friction: float = 0.3, radius: float = 0.1, h: float = 0.05, **more: Any):
    """Return the tripod of the reference, by its feet at 0.3 + 2 pi k / 3."""
    angles = [0.3 + 2 * math.pi * k / 3 for k in range(3)]
    feet = {
        f"foot{k}": (radius * math.cos(angle), radius * math.sin(angle), -h)
        for k, angle in enumerate(angles)
    }
    return standing(feet, friction, more.pop("inertia", (0.0042, 0.0042, 0.006)), **more)


def sliding(h: float = 0.05, speed=(0.6, 0.2), spin: float = 6.0) -> dict[str, float]:
    """Return where a body starts that slides and spins on its feet."""
    state = dict.fromkeys(("x", "y", "roll", "pitch", "yaw"), 0.0) | {"z": h}
    still = dict.fromkeys(("z_dot", "roll_dot", "pitch_dot"), 0.0)
    return state | still | {"x_dot": speed[0], "y_dot": speed[1], "yaw_dot": spin}


def ball(
    mass: float,
    radius: float,
    k: float,
    friction: float,
    restitution: float,
    tangential: float = 0.0,
):
    """Return a ball of moment of inertia k m r^2 over the floor; its turn is that of no axes."""
    q = ds.coordinates(x="m", y="m", z="m", a="rad", b="rad", c="rad")
    slip = (q.dot.x - radius * q.dot.b, q.dot.y + radius * q.dot.a)
    floor = ds.Contact(
        "floor",
        q.z - radius,
        slip=slip,
        friction=friction,
        restitution=restitution,
        tangential_restitution=tangential,
        closed=False,
    )
    speeds = ca.vertcat(q.dot.x, q.dot.y, q.dot.z)
    spins = ca.vertcat(q.dot.a, q.dot.b, q.dot.c)
    kinetic = mass * (ca.sumsqr(speeds) + k * radius**2 * ca.sumsqr(spins)) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=mass * GRAVITY * q.z, goals=[floor])


def brick(params: Mapping[str, Any], *, mass: float | None = None) -> ds.MechanicalSystem:
    """Return a brick over the floor, with a contact at each of its corners."""
    sides = params["sides"]
    m = params["m"] if mass is None else mass
    a, b, c = (side**2 for side in sides)
    corners = {
        f"corner{place}": [
            (side / 2) * (1 if place >> k & 1 else -1) for k, side in enumerate(sides)
        ]
        for place in range(8)
    }
    inertia = (m * (b + c) / 12, m * (a + c) / 12, m * (a + b) / 12)
    return standing(corners, params["mu"], inertia, mass=m, restitution=params["e"], closed=False)
