"""A heavy wheel on a curve, rolling without slip, with or without a pendulum on its axle.

x, z is the centre, n = (cos alpha, sin alpha) points from it to the contact, t = (-sin alpha,
cos alpha); theta turns from x towards z, so that rolling is v . t + r theta' = 0 (rolling to +x:
theta' < 0). phi is the absolute angle of the pendulum from the downward vertical. On flat ground
alpha = -pi/2. The curve is f(x, z) = h(x) - z = 0, the wheel above it.

    contact         f(x + r cos alpha, z + r sin alpha) = 0
    tangency        f_x sin alpha - f_z cos alpha = 0        defines alpha
    rolling         v . t + r theta' = 0
    torque_balance  torque = r R . t

The reaction R = (reaction_x, reaction_z) and the torque are free unknowns, as in the paper; that
the torque is the moment of R is an equation of its own, which keeps the system regular at turning
points, where energy alone does not determine it. The wheel is a hoop of mass M and radius r.

Morozov, Matrosov, Pesterev: Using control theory for the numerical integration of rolling (2014).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize_scalar

import daesolve as ds


def quartic(x: Any, p: Any) -> Any:
    """Return the paper's curve x^4 + a x^3 - b x^2 - a x - (1 - b), in Horner's form."""
    a, b = p["curve_a"], p["curve_b"]
    return (((x + a) * x - b) * x - a) * x - (1 - b)


def quartic_slope(x: Any, p: Any) -> Any:
    """Return the derivative of the curve."""
    a, b = p["curve_a"], p["curve_b"]
    square = x * x
    return 2 * x * (2 * square - b) + a * (3 * square - 1)


def wheel_on_curve(pendulum: bool) -> ds.MechanicalSystem:
    """Pose the wheel in its regular form."""
    entries: dict[str, Any] = {
        "wheel_mass": (1.0, "kg", ds.POSITIVE),
        "radius": (0.01, "m", ds.POSITIVE),
        "gravity": (9.81, "m/s^2"),
        "curve_a": (0.13, ""),
        "curve_b": (0.5, ""),
    }
    if pendulum:
        entries |= {
            "bob_mass": (0.5, "kg", ds.POSITIVE),
            "pendulum_length": (0.008, "m", ds.POSITIVE),
            "bob_inertia": (0.0, "kg m^2", ds.NON_NEGATIVE),
        }
    units = {"x": "m", "z": "m", "theta": ds.ANGLE} | ({"phi": ds.ANGLE} if pendulum else {})
    q = ds.coordinates(**units)
    w = ds.implicit(alpha=ds.ANGLE)
    p = ds.parameters(**entries)
    u = ds.reactions(reaction_x="N", reaction_z="N", torque="N m")
    n = ca.vertcat(ca.cos(w.alpha), ca.sin(w.alpha))
    t = ca.vertcat(-n[1], n[0])
    centre_velocity = ca.vertcat(q.dot.x, q.dot.z)
    reaction = ca.vertcat(u.reaction_x, u.reaction_z)
    at = ds.auxiliaries(
        contact_x=(q.x + p.radius * n[0], "m"), contact_z=(q.z + p.radius * n[1], "m")
    )
    height = quartic(at.contact_x, p)
    slope = ca.jacobian(height, at.contact_x)
    kinetic = (
        p.wheel_mass * ca.sumsqr(centre_velocity) / 2
        + p.wheel_mass * p.radius**2 * q.dot.theta**2 / 2
    )
    potential = p.wheel_mass * p.gravity * q.z
    if pendulum:
        bob_x_dot = q.dot.x + p.pendulum_length * ca.cos(q.phi) * q.dot.phi
        bob_z_dot = q.dot.z + p.pendulum_length * ca.sin(q.phi) * q.dot.phi
        kinetic += p.bob_mass * (bob_x_dot**2 + bob_z_dot**2) / 2
        kinetic += p.bob_inertia * q.dot.phi**2 / 2
        potential += p.bob_mass * p.gravity * (q.z - p.pendulum_length * ca.cos(q.phi))
    normal, friction = -ca.dot(reaction, n), ca.dot(reaction, t)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=potential,
        implicit=w,
        auxiliaries=at,
        reactions=u,
        force={"x": u.reaction_x, "z": u.reaction_z, "theta": u.torque},
        goals=[
            ds.Holonomic("contact", height - at.contact_z, ideal=False),
            ds.Implicit("tangency", slope * n[1] + n[0], w.alpha),
            ds.Nonholonomic(
                "rolling", ca.dot(centre_velocity, t) + p.radius * q.dot.theta, ideal=False
            ),
            ds.Relation("torque_balance", u.torque - p.radius * friction),
        ],
        outputs={
            "contact_x": (at.contact_x, "m"),
            "speed": (ca.dot(centre_velocity, t), "m/s"),
            "normal": (normal, "N"),
            "friction": (friction, "N"),
            "required_friction": ca.fabs(friction / normal),
            "alpha_dot": (w.dot.alpha, "rad/s"),
        },
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Place the wheel on the curve at `contact_x`, its centre moving along t with `speed`."""
    contact_x, speed, radius = given["contact_x"], given["speed"], parameters["radius"]
    alpha = math.atan2(-1.0, quartic_slope(contact_x, parameters))
    guess = {
        "x": contact_x - radius * math.cos(alpha),
        "z": float(quartic(contact_x, parameters)) - radius * math.sin(alpha),
        "theta": 0.0,
        "alpha": alpha,
        "x_dot": -speed * math.sin(alpha),
        "z_dot": speed * math.cos(alpha),
        "theta_dot": -speed / radius,
    }
    if structure["pendulum"]:
        guess |= {"phi": given.get("phi", 0.0), "phi_dot": given.get("phi_dot", 0.0)}
    return guess


def _centre_height(contact_x: float, parameters: Mapping[str, float]) -> float:
    slope = quartic_slope(contact_x, parameters)
    return float(quartic(contact_x, parameters)) + parameters["radius"] / math.hypot(1.0, slope)


def energy_scale(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """E0 - V_min, V_min the lowest potential energy on the stretch that the start can reach."""
    mass, gravity = parameters["wheel_mass"], parameters["gravity"]
    contact_x, speed = given["contact_x"], given["speed"]
    kinetic = mass * speed**2
    swing = 0.0
    if structure["pendulum"]:
        bob, length = parameters["bob_mass"], parameters["pendulum_length"]
        phi, rate = given.get("phi", 0.0), given.get("phi_dot", 0.0)
        tilt = math.atan(quartic_slope(contact_x, parameters))
        kinetic += bob * speed**2 / 2 + (bob * length**2 + parameters["bob_inertia"]) * rate**2 / 2
        kinetic += bob * length * speed * rate * math.cos(phi - tilt)
        swing = bob * gravity * length * (1.0 - math.cos(phi))
        mass += bob
    begin = _centre_height(contact_x, parameters)
    top = begin + (kinetic + swing) / (mass * gravity) if gravity > 0 else math.inf
    lowest = begin
    for side in (-1.0, 1.0):
        steps = contact_x + side * np.arange(1, 4001) * 1e-3
        heights = np.array([_centre_height(float(x), parameters) for x in steps])
        barrier = np.flatnonzero(heights > top)
        reach = int(barrier[0]) if barrier.size else len(steps)
        if reach == 0:
            continue
        best = int(np.argmin(heights[:reach]))
        found = minimize_scalar(
            lambda x: _centre_height(float(x), parameters),
            bounds=(float(steps[best]) - 1e-3, float(steps[best]) + 1e-3),
            method="bounded",
            options={"xatol": 1e-9},
        )
        lowest = min(lowest, float(found.fun))  # pyright: ignore[reportAttributeAccessIssue]
    scale = kinetic + swing + mass * gravity * (begin - lowest)
    return {"energy": scale} if scale > 0 else {}


def curve_and_path(document: Mapping[str, Any]) -> Figure:
    """Draw the curve, the stretch that the wheel rolled over, and the wheel at the start."""
    parameters, states, outputs = (document[k] for k in ("parameters", "states", "outputs"))
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    contact = np.array(outputs["contact_x"])
    margin = 0.15 * max(float(np.ptp(contact)), 10 * parameters["radius"])
    x = np.linspace(contact.min() - margin, contact.max() + margin, 600)
    axes.plot(x, quartic(x, parameters), color="0.55", linewidth=1.2, label="curve")
    rolled = np.linspace(contact.min(), contact.max(), 400)
    axes.plot(rolled, quartic(rolled, parameters), color="C0", linewidth=2.4, label="rolled over")
    turn = np.linspace(0.0, 2.0 * math.pi, 80)
    radius = parameters["radius"]
    axes.plot(
        states["x"][0] + radius * np.cos(turn),
        states["z"][0] + radius * np.sin(turn),
        color="C3",
        linewidth=1.2,
        label="wheel at the start",
    )
    axes.set_aspect("equal")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("z (m)")
    axes.legend(frameon=False)
    return figure


def reactions_along_the_curve(document: Mapping[str, Any]) -> Figure:
    """Draw the reaction over the place (the paper's figure 3): one thin closed curve a cycle."""
    outputs, reactions = document["outputs"], document["reactions"]
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for name, colour in (("reaction_x", "C0"), ("reaction_z", "C1")):
        axes.plot(
            outputs["contact_x"], reactions[name], ".", markersize=2, color=colour, label=name
        )
    axes.set_xlabel("contact_x (m)")
    axes.set_ylabel("reaction (N)")
    axes.legend(frameon=False, markerscale=4)
    return figure


problem = ds.Problem(
    "rolling-wheel",
    title="A heavy wheel on a curve",
    models={"physical": wheel_on_curve},
    sources=[
        "Yu. V. Morozov, I. V. Matrosov, A. V. Pesterev: the use of control theory for the "
        "numerical integration of the equations of rolling of robotic systems"
    ],
    structure={"pendulum": True},
    start=start,
    scales=energy_scale,
    figures={"curve": curve_and_path, "reactions along the curve": reactions_along_the_curve},
    cases=[
        ds.Case(
            "hoop",
            structure={"pendulum": False},
            start={"contact_x": 0.0, "speed": 1.5},
            until=1800.0,
            note="thrown from the middle, over both hollows, for half an hour",
        ),
        ds.Case(
            "hoop-from-rest",
            structure={"pendulum": False},
            start={"contact_x": -0.9, "speed": 0.0},
            until=1800.0,
            note="released from rest, where energy alone cannot determine the torque",
        ),
    ],
)
