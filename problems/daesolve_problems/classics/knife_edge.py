"""A knife edge on an incline: it slides along its blade and turns, but never sideways.

A body on a smooth inclined plane touches it with a blade at its mass centre; along the blade there
is no friction, across it no motion. That is a non-holonomic constraint, and its one unknown
reaction is the force of the plane across the blade, which does no work. The energy and the rate of
turn are conserved, because neither weight nor reaction has a moment about the mass centre.

x points down the slope, y along the level line, phi is the direction of the blade.

    m x'' = m g sin(incline) - u sin(phi),  m y'' = u cos(phi),  -x' sin(phi) + y' cos(phi) = 0

u, the reaction in N, acts to the left of the blade. It turns at a constant rate W, and released
from rest at the origin with phi = 0 it does not slide down for good, but drifts sideways:

    x = G sin^2(W t) / (2 W^2),  y = G (W t - sin(2 W t) / 2) / (2 W^2),  G = g sin(incline),
    u = 2 m G sin(W t).
"""

import casadi as ca

import daesolve as ds
from daesolve_problems.classics import pictures


def blade_on_an_incline() -> ds.MechanicalSystem:
    """Pose the blade in Cartesian coordinates, with no side slip as a constraint."""
    q = ds.coordinates(x="m", y="m", phi=ds.ANGLE)
    p = ds.parameters(
        mass=(1.25, "kg", ds.POSITIVE),
        inertia=(1.0, "kg m^2", ds.POSITIVE),
        incline=(float(ca.pi) / 6, "rad"),
        gravity=(9.81, "m/s^2"),
    )
    sine, cosine = ca.sin(q.phi), ca.cos(q.phi)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2 + p.inertia * q.dot.phi**2 / 2,
        potential=-p.mass * p.gravity * ca.sin(p.incline) * q.x,
        goals=[ds.Nonholonomic("blade", cosine * q.dot.y - sine * q.dot.x, unit="N")],
        outputs={"speed": (cosine * q.dot.x + sine * q.dot.y, "m/s")},
    )


problem = ds.Problem(
    "knife-edge",
    title="A knife edge on an incline",
    models={"blade": blade_on_an_incline},
    sources=["A. M. Bloch, Nonholonomic Mechanics and Control, 2nd ed. (2015), section 1.6"],
    drawing=pictures.knife_edge,
    cases=[
        ds.Case(
            "release",
            start={"x": 0.0, "y": 0.0, "phi": 0.0, "x_dot": 0.0, "y_dot": 0.0, "phi_dot": 1.0},
            until=100.0,
            note="spun at 1 rad/s without a push: drifts along the level line",
        ),
    ],
)
