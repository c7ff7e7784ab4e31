"""A particle on a circle, pulled round by forces: a test of index 3 with a known answer.

A point of mass one is held on the unit circle without friction, while a given force of constant
size pulls it along: its speed grows with the time. The one unknown reaction is L, the radial force
of the circle. Nothing is conserved, because the force does work; the energy minus this work is
constant.

    u = x',  u' = 2 y + x L,    v = y',  v' = -2 x + y L,    x^2 + y^2 = 1

From t = 1 on, x = sin t^2, y = cos t^2, L = -4 t^2. The mass is one, and the residual
(x^2 + y^2 - 1)/2 makes L the reaction of the goal `circle`. The quantities have no units.
"""

import math

import daesolve as ds
from daesolve_problems.classics import pictures


def particle() -> ds.MechanicalSystem:
    """Pose the particle in Cartesian coordinates, with the circle as a constraint."""
    q = ds.coordinates(x="", y="")
    circle = ds.Holonomic("circle", (q.x**2 + q.y**2 - 1) / 2)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        force={"x": 2 * q.y, "y": -2 * q.x},
        goals=[circle],
        outputs={"L": circle.reaction},
    )


problem = ds.Problem(
    "particle-on-circle",
    title="A particle pulled round a circle",
    models={"cartesian": particle},
    sources=[
        "C. Arevalo, P. Lotstedt, Improving the accuracy of BDF methods for index 3 "
        "differential-algebraic equations, BIT 35 (1995) 297-308"
    ],
    drawing=pictures.particle,
    cases=[
        ds.Case(
            "accelerate",
            start={
                "x": math.sin(1.0),
                "y": math.cos(1.0),
                "x_dot": 2.0 * math.cos(1.0),
                "y_dot": -2.0 * math.sin(1.0),
            },
            start_time=1.0,
            until=5.0,
            note="x = sin t^2, y = cos t^2",
        ),
    ],
)
