"""The sleigh of Chaplygin: a rigid body on a plane with a blade that cannot move sideways.

A rigid body slides on a level plane without friction, except that a blade fixed to it cannot move
sideways. That is a non-holonomic constraint, and its one unknown reaction is the force of the plane
across the blade, which does no work. The energy is conserved; yet almost every motion ends in the
same way, straight on, the mass centre ahead of the blade.

x, y is the position of the blade, phi its direction; the mass centre lies `centre` ahead of the
blade.

    -x' sin(phi) + y' cos(phi) = 0

With v along the blade and w = phi': v' = a w^2, w' = -m a v w / (I + m a^2), so that

    v = C tanh(k C t + artanh(v0 / C)),  w = sqrt(2 E / (I + m a^2)) / cosh(k C t + artanh(v0 / C)),
    C = sqrt(2 E / m),  k = m a / (I + m a^2).
"""

from collections.abc import Mapping
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve_problems.classics import pictures


def sleigh() -> ds.MechanicalSystem:
    """Pose the sleigh by the place of its blade, with no side slip as a constraint."""
    q = ds.coordinates(x="m", y="m", phi=ds.ANGLE)
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        inertia=(0.1, "kg m^2", ds.POSITIVE),
        centre=(0.1, "m"),
    )
    sine, cosine = ca.sin(q.phi), ca.cos(q.phi)
    centre_x_dot = q.dot.x - p.centre * sine * q.dot.phi
    centre_y_dot = q.dot.y + p.centre * cosine * q.dot.phi
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (centre_x_dot**2 + centre_y_dot**2) / 2 + p.inertia * q.dot.phi**2 / 2,
        goals=[ds.Nonholonomic("blade", cosine * q.dot.y - sine * q.dot.x, unit="N")],
        independent={"speed": cosine * q.dot.x + sine * q.dot.y, "turning": q.dot.phi},
        outputs={"speed": (cosine * q.dot.x + sine * q.dot.y, "m/s")},
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Start at the origin with a speed along the blade and a rate of turn."""
    cosine, sine = float(ca.cos(given["phi"])), float(ca.sin(given["phi"]))
    return {
        "phi": given["phi"],
        "x_dot": given["speed"] * cosine,
        "y_dot": given["speed"] * sine,
        "phi_dot": given["phi_dot"],
    }


problem = ds.Problem(
    "chaplygin-sleigh",
    title="The sleigh of Chaplygin",
    models={"blade": sleigh},
    sources=["A. M. Bloch, Nonholonomic Mechanics and Control, 2nd ed. (2015), section 1.7"],
    start=start,
    drawing=pictures.sleigh,
    cases=[
        ds.Case(
            "turn",
            start={"phi": 0.0, "speed": 1.0, "phi_dot": 1.0},
            until=10.0,
            note="turns by 1.062 rad in all and goes straight",
        ),
    ],
)
