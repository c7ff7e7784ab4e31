"""A disc that rolls without slip on a level plane, its rim a knife edge.

A rigid axisymmetric disc under its weight rolls, upright or leaned, on a rough level plane. It
neither slips nor leaves the plane, and nothing resists its rolling or its turning about the
vertical. The three unknown reactions are the components of the force of the ground at the contact,
none of which does work. Its energy is conserved, and so are two more integrals, linear in the
velocities, whose coefficients are hypergeometric functions of the lean.

x, y, z is the centre, z upwards. The disc is turned by alpha (about the vertical), leaned by beta
(about its heading; it stands upright at 0) and spun by gamma (about its axle). Velocities are
measured along the heading (`speed`) and to the left of it (`lateral_speed`), so that nothing
depends on x, y, alpha and gamma, and a circle is a steady motion. With A = `inertia_diameter` and C
= `inertia_axle`:

    T = m v^2 / 2 + A (beta'^2 + (alpha' cos beta)^2) / 2 + C (gamma' + alpha' sin beta)^2 / 2
    clearance z - r cos beta = 0
    speed - r (gamma' + alpha' sin beta) = 0,  lateral_speed + r beta' cos beta = 0

The reactions are the forces of the ground: upwards, along the heading, to the left. Its contact
goes round a circle of radius R, leaned by a constant beta to the inside, where gamma' = -R alpha'/r
and

    alpha'^2 = m g r sin beta / (cos beta ((A - C) sin beta + C R / r + m r (R - r sin beta))).
"""

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve_problems.classics import pictures


def disc() -> ds.MechanicalSystem:
    """Pose the disc by its centre and three angles, with the contact and no slip as constraints."""
    q = ds.coordinates(x="m", y="m", z="m", alpha=ds.ANGLE, beta=ds.ANGLE, gamma=ds.ANGLE)
    v = ds.velocities(
        speed="m/s",
        lateral_speed="m/s",
        z_dot="m/s",
        alpha_dot="rad/s",
        beta_dot="rad/s",
        gamma_dot="rad/s",
    )
    p = ds.parameters(
        mass=(0.3048, "kg", ds.POSITIVE),
        radius=(0.05, "m", ds.POSITIVE),
        inertia_diameter=(0.3048 * 0.05**2 / 4, "kg m^2", ds.POSITIVE),
        inertia_axle=(0.3048 * 0.05**2 / 2, "kg m^2", ds.POSITIVE),
        gravity=(9.81, "m/s^2"),
    )
    sine, cosine = ca.sin(q.alpha), ca.cos(q.alpha)
    kinematics = ca.vertcat(
        cosine * v.speed - sine * v.lateral_speed,
        sine * v.speed + cosine * v.lateral_speed,
        v.vector[2:],
    )
    about_axle = v.gamma_dot + v.alpha_dot * ca.sin(q.beta)
    across = v.beta_dot**2 + (v.alpha_dot * ca.cos(q.beta)) ** 2
    moving = p.mass * ca.sumsqr(v.vector[:3])
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(moving + p.inertia_diameter * across + p.inertia_axle * about_axle**2) / 2,
        potential=p.mass * p.gravity * q.z,
        velocities=v,
        kinematics=kinematics,
        goals=[
            ds.Holonomic("normal", q.z - p.radius * ca.cos(q.beta), unit="N"),
            ds.Nonholonomic("longitudinal", v.speed - p.radius * about_axle, unit="N"),
            ds.Nonholonomic(
                "lateral", v.lateral_speed + p.radius * v.beta_dot * ca.cos(q.beta), unit="N"
            ),
        ],
        outputs={
            "contact_x": (q.x - p.radius * ca.sin(q.beta) * sine, "m"),
            "contact_y": (q.y + p.radius * ca.sin(q.beta) * cosine, "m"),
        },
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Roll along x from the top of a circle about the origin, or with the rates that are given."""
    p, beta = parameters, given["beta"]
    sine, cosine = np.sin(beta), np.cos(beta)
    state = {"beta": beta, "z": p["radius"] * cosine, **given}
    circle = state.pop("circle_radius", None)
    if circle is not None:
        mass, radius, axle = p["mass"], p["radius"], p["inertia_axle"]
        square = (mass * p["gravity"] * radius * sine) / (
            cosine
            * (
                (p["inertia_diameter"] - axle) * sine
                + axle * circle / radius
                + mass * radius * (circle - radius * sine)
            )
        )
        alpha_dot = -np.sqrt(square)
        rates = {"alpha_dot": alpha_dot, "gamma_dot": -circle / radius * alpha_dot}
        state |= {"y": circle - radius * sine, **rates}
    turning = state.get("gamma_dot", 0.0) + state.get("alpha_dot", 0.0) * sine
    falling = state.get("beta_dot", 0.0)
    return state | {
        "speed": p["radius"] * turning,
        "lateral_speed": -p["radius"] * falling * cosine,
        "z_dot": -p["radius"] * falling * sine,
    }


problem = ds.Problem(
    "rolling-disc",
    title="A disc that rolls without slip",
    models={"knife-edge": disc},
    sources=[
        "C. Le Saux, R. I. Leine, C. Glocker, Dynamics of a rolling disk in the presence of dry "
        "friction, J. Nonlinear Sci. 15 (2005) 27-61, (5.11)-(5.12)",
    ],
    start=start,
    drawing=pictures.rolling_disc,
    cases=[
        ds.Case(
            "circle",
            start={"beta": float(np.radians(5.0)), "circle_radius": 0.5},
            until=5.85217378295631893,
            note="once round a circle of 0.5 m, leaned by 5 degrees",
        ),
        ds.Case(
            "wobble",
            start={"beta": 0.5, "alpha_dot": -5.0, "beta_dot": 0.0, "gamma_dot": 10.0},
            until=20.0,
            note="its lean swings between 0.50 and 0.86 as it goes round",
        ),
    ],
)
