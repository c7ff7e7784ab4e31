"""Systems that many tests share, posed through the public API, and small helpers around them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.core.preparation.preparing import Prepared, Request, prepare

from .reference.rolling_wheel import DEFAULT_PARAMETERS as WHEEL

EPSILON = float(np.finfo(float).eps)
WITHOUT_ASSIMULO = find_spec("assimulo") is None and "DAESOLVE_REQUIRE_ASSIMULO" not in os.environ
"""Whether tests of Assimulo's solvers are skipped; with the variable set they fail."""


def prepared_run(system: Any, until: float, initial: Mapping[str, float], **rest: Any) -> Prepared:
    """What `solve` would integrate, without integrating it."""
    return prepare(system, Request(until=until, initial=initial, **rest))


def numbers(prepared: Prepared, **changed: float) -> np.ndarray:
    """The values of a prepared run, some of them changed by name."""
    names = list(prepared.dynamics.values)
    values = prepared.values.copy()
    for name, value in changed.items():
        values[names.index(name)] = value
    return values


# -- one body ------------------------------------------------------------------------------------


def pendulum(**more: Any) -> ds.MechanicalSystem:
    """A point on a rod in Cartesian coordinates; `rod` is x^2 + y^2 - l^2."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE), length=(1.0, "m", ds.POSITIVE), gravity=(9.81, "m/s^2")
    )
    goals = [ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)]
    goals += more.pop("goals", lambda q, p: [])(q, p)
    events = more.pop("events", lambda q, p: [])(q, p)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.mass * p.gravity * q.y,
        goals=goals,
        events=events,
        **more,
    )


def oscillator(**more: Any) -> ds.MechanicalSystem:
    """x'' = -x: from x = 0, x' = 1 it is sin t."""
    q = ds.coordinates(x="m")
    events = more.pop("events", lambda q: [])(q)
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=events, **more
    )


def projectile(**more: Any) -> ds.MechanicalSystem:
    """y'' = -g without any constraint: polynomials of time."""
    q = ds.coordinates(y="m")
    p = ds.parameters(gravity=(9.81, "m/s^2"))
    events = more.pop("events", lambda q: [])(q)
    return ds.MechanicalSystem(
        q, p, kinetic=q.dot.y**2 / 2, potential=p.gravity * q.y, events=events, **more
    )


def sleigh() -> ds.MechanicalSystem:
    """The Chaplygin sleigh: (x, y) the contact, the mass centre a ahead of it."""
    q = ds.coordinates(x="m", y="m", phi=ds.ANGLE)
    p = ds.parameters(mass=(1.0, "kg"), inertia=(0.1, "kg m^2"), centre_distance=(0.1, "m"))
    x_centre_dot = q.dot.x - p.centre_distance * ca.sin(q.phi) * q.dot.phi
    y_centre_dot = q.dot.y + p.centre_distance * ca.cos(q.phi) * q.dot.phi
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (x_centre_dot**2 + y_centre_dot**2) / 2 + p.inertia * q.dot.phi**2 / 2,
        goals=[ds.Nonholonomic("blade", -ca.sin(q.phi) * q.dot.x + ca.cos(q.phi) * q.dot.y)],
    )


# -- the wheel on a quartic curve ----------------------------------------------------------------


def wheel(*, with_pendulum: bool = False, **more: Any) -> ds.MechanicalSystem:
    """A hoop rolling on a curve, its reactions directed by hand; signs as in tests/reference."""
    units = {"x": "m", "z": "m", "theta": ds.ANGLE}
    if with_pendulum:
        units["phi"] = ds.ANGLE
    q = ds.coordinates(**units)
    s = ds.implicit(alpha=ds.ANGLE)
    r = ds.reactions(reaction_x="N", reaction_z="N", torque="N m")
    p = ds.parameters(
        wheel_mass=(WHEEL.wheel_mass, "kg"),
        radius=(WHEEL.radius, "m"),
        gravity=(WHEEL.gravity, "m/s^2"),
        curve_a=(WHEEL.curve_a, ""),
        curve_b=(WHEEL.curve_b, ""),
        bob_mass=(WHEEL.bob_mass, "kg"),
        pendulum_length=(WHEEL.pendulum_length, "m"),
        bob_inertia=(WHEEL.bob_inertia, "kg m^2"),
    )
    a, b = p.curve_a, p.curve_b
    contact_x = q.x + p.radius * ca.cos(s.alpha)
    contact_z = q.z + p.radius * ca.sin(s.alpha)
    height = (((contact_x + a) * contact_x - b) * contact_x - a) * contact_x - (1 - b)
    slope = ((4 * contact_x + 3 * a) * contact_x - 2 * b) * contact_x - a
    kinetic = p.wheel_mass * (q.dot.x**2 + q.dot.z**2 + p.radius**2 * q.dot.theta**2) / 2
    potential = p.wheel_mass * p.gravity * q.z
    if with_pendulum:
        x_dot = q.dot.x + p.pendulum_length * ca.cos(q.phi) * q.dot.phi
        z_dot = q.dot.z + p.pendulum_length * ca.sin(q.phi) * q.dot.phi
        kinetic += p.bob_mass * (x_dot**2 + z_dot**2) / 2 + p.bob_inertia * q.dot.phi**2 / 2
        potential += p.bob_mass * p.gravity * (q.z - p.pendulum_length * ca.cos(q.phi))
    along = -ca.sin(s.alpha), ca.cos(s.alpha)
    relations = more.pop(
        "relations",
        lambda r, p, along: [
            ds.Relation(
                "moment", r.torque - p.radius * (r.reaction_x * along[0] + r.reaction_z * along[1])
            )
        ],
    )(r, p, along)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=potential,
        implicit=s,
        reactions=r,
        force={"x": r.reaction_x, "z": r.reaction_z, "theta": r.torque},
        goals=[
            ds.Holonomic("contact", contact_z - height, ideal=False),
            ds.Implicit("tangency", -slope * ca.sin(s.alpha) - ca.cos(s.alpha), s.alpha),
            ds.Nonholonomic(
                "rolling",
                along[0] * q.dot.x + along[1] * q.dot.z + p.radius * q.dot.theta,
                ideal=False,
            ),
            *relations,
        ],
        **more,
    )


def wheel_state(
    contact_x: float, speed: float, theta: float = 0.0, **rest: float
) -> dict[str, float]:
    """The consistent state of the wheel on its curve (and phi, phi_dot as given)."""
    a, b = WHEEL.curve_a, WHEEL.curve_b
    height = (((contact_x + a) * contact_x - b) * contact_x - a) * contact_x - (1 - b)
    slope = ((4 * contact_x + 3 * a) * contact_x - 2 * b) * contact_x - a
    cosine, sine = 1 / np.hypot(1, slope), slope / np.hypot(1, slope)
    return {
        "x": float(contact_x - WHEEL.radius * sine),
        "z": float(height + WHEEL.radius * cosine),
        "theta": theta,
        "alpha": float(np.arctan2(-cosine, sine)),
        "x_dot": float(speed * cosine),
        "z_dot": float(speed * sine),
        "theta_dot": -speed / WHEEL.radius,
        **rest,
    }


# -- several bodies ------------------------------------------------------------------------------


def chain(links: int) -> ds.MechanicalSystem:
    """Uniform bars of unit mass and length in maximal coordinates, hung up by revolute joints."""
    units: dict[str, str] = {}
    for k in range(1, links + 1):
        units |= {f"x_{k}": "m", f"y_{k}": "m", f"theta_{k}": ds.ANGLE}
    q = ds.coordinates(**units)
    p = ds.parameters(gravity=(9.81, "m/s^2"))
    kinetic, potential, goals = ca.SX(0), ca.SX(0), []
    end = (ca.SX(0), ca.SX(0))
    for k in range(1, links + 1):
        x, y, theta = q[f"x_{k}"], q[f"y_{k}"], q[f"theta_{k}"]
        x_dot, y_dot, turn = q.dot[f"x_{k}"], q.dot[f"y_{k}"], q.dot[f"theta_{k}"]
        kinetic += (x_dot**2 + y_dot**2) / 2 + turn**2 / 24
        potential += p.gravity * y
        half = ca.sin(theta) / 2, -ca.cos(theta) / 2
        goals += [
            ds.Holonomic(f"joint_x_{k}", x - half[0] - end[0]),
            ds.Holonomic(f"joint_y_{k}", y - half[1] - end[1]),
        ]
        end = (x + half[0], y + half[1])
    return ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential, goals=goals)


def chain_state(angles: list[float]) -> dict[str, float]:
    """The hanging chain at rest with its bars at these angles from the vertical."""
    state: dict[str, float] = {}
    x = y = 0.0
    for k, theta in enumerate(angles, start=1):
        state |= {f"x_{k}": x + np.sin(theta) / 2, f"y_{k}": y - np.cos(theta) / 2}
        state |= {f"theta_{k}": theta, f"x_dot_{k}": 0.0, f"y_dot_{k}": 0.0, f"theta_dot_{k}": 0.0}
        x, y = x + np.sin(theta), y - np.cos(theta)
    return state


def four_bar_windows(windows: int) -> ds.MechanicalSystem:
    """IFToMM A02: N windows of unit bars, in the points B_0 to B_N and rods between them.

    Point coordinates: a uniform bar of mass m between points a and b has
    T = m (|a'|^2 + a'.b' + |b'|^2) / 6. Ground points stand at (k, 0).
    """
    units: dict[str, str] = {}
    for k in range(windows + 1):
        units |= {f"x_{k}": "m", f"y_{k}": "m"}
    q = ds.coordinates(**units)
    p = ds.parameters(gravity=(9.81, "m/s^2"))
    points = [(q[f"x_{k}"], q[f"y_{k}"]) for k in range(windows + 1)]
    rates = [(q.dot[f"x_{k}"], q.dot[f"y_{k}"]) for k in range(windows + 1)]
    kinetic, potential, goals = ca.SX(0), ca.SX(0), []
    for k, ((x, y), (x_dot, y_dot)) in enumerate(zip(points, rates, strict=True)):
        kinetic += (x_dot**2 + y_dot**2) / 6
        potential += p.gravity * y / 2
        goals.append(ds.Holonomic(f"crank_{k}", (x - k) ** 2 + y**2 - 1))
    for k in range(1, windows + 1):
        (xa, ya), (xb, yb) = points[k - 1], points[k]
        (ua, va), (ub, vb) = rates[k - 1], rates[k]
        kinetic += (ua**2 + ua * ub + ub**2 + va**2 + va * vb + vb**2) / 6
        potential += p.gravity * (ya + yb) / 2
        goals.append(ds.Holonomic(f"coupler_{k}", (xb - xa) ** 2 + (yb - ya) ** 2 - 1))
    return ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential, goals=goals)


def four_bar_state(windows: int) -> dict[str, float]:
    """A02's start: all cranks upright, the couplers moving at 1 m/s."""
    state: dict[str, float] = {}
    for k in range(windows + 1):
        state |= {f"x_{k}": float(k), f"y_{k}": 1.0, f"x_dot_{k}": 1.0, f"y_dot_{k}": 0.0}
    return state


# -- rotations -----------------------------------------------------------------------------------


def quaternion_rates(q: Any, w: Any) -> ca.SX:
    """q' = S(q) w for the body-fixed angular velocity w; q.w is the scalar part."""
    return (
        ca.vertcat(
            -q.i * w.wx - q.j * w.wy - q.k * w.wz,
            q.w * w.wx + q.j * w.wz - q.k * w.wy,
            q.w * w.wy + q.k * w.wx - q.i * w.wz,
            q.w * w.wz + q.i * w.wy - q.j * w.wx,
        )
        / 2
    )


def free_body(**more: Any) -> ds.MechanicalSystem:
    """A free rigid body: quaternion for its attitude, body rates for its velocities."""
    q = ds.coordinates(w="", i="", j="", k="")
    w = ds.velocities(wx="rad/s", wy="rad/s", wz="rad/s")
    p = ds.parameters(
        inertia_x=(2.0, "kg m^2"), inertia_y=(2.0, "kg m^2"), inertia_z=(3.0, "kg m^2")
    )
    norm = ds.Invariant("norm", q.w**2 + q.i**2 + q.j**2 + q.k**2, drive=True, on="positions")
    goals = more.pop("goals", lambda q, w, p: [])(q, w, p)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(p.inertia_x * w.wx**2 + p.inertia_y * w.wy**2 + p.inertia_z * w.wz**2) / 2,
        velocities=w,
        kinematics=quaternion_rates(q, w),
        goals=[norm, *goals],
        **more,
    )
