"""A point on a rigid rod in Cartesian coordinates.

A heavy point hangs on a massless rod of constant length, hinged without friction at the origin, and
moves in a vertical plane. Its one constraint is the length of the rod, the one unknown reaction the
force in it, from which `tension` follows. The energy is conserved.

    m x'' = 2 x u,  m y'' = -m g + 2 y u,  x^2 + y^2 = l^2

u is the multiplier of the rod's residual, in N/m; its tension is -2 l u. The motion is known in
Jacobi's elliptic functions. Case `release` is benchmark A01 of the IFToMM library.
"""

from collections.abc import Mapping
from typing import Any

import daesolve as ds
from daesolve.multibody.drawing import Dot, Drawing, Line, Trace


def point_on_a_rod() -> ds.MechanicalSystem:
    """Pose the point in Cartesian coordinates, with the rod as a constraint."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE), length=(1.0, "m", ds.POSITIVE), gravity=(9.81, "m/s^2")
    )
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2, unit="N/m")
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.mass * p.gravity * q.y,
        goals=[rod],
        independent={"speed": (q.x * q.dot.y - q.y * q.dot.x) / p.length},
        outputs={"tension": (-2 * p.length * rod.reaction, "N")},
    )


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the rod and the point with its path."""
    point = ("x", "y")
    return Drawing(
        [Trace(point, label="path"), Line([(0.0, 0.0), point]), Dot(point, role="accent")]
    )


problem = ds.Problem(
    "pendulum",
    title="A point on a rigid rod",
    models={"cartesian": point_on_a_rod},
    sources=[
        "IFToMM Technical Committee for Multibody Dynamics, Library of Computational "
        "Benchmark Problems, A01",
    ],
    drawing=drawing,
    cases=[
        ds.Case(
            "release",
            start={"x": -1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0},
            until=100.0,
            note="released from the horizontal",
        ),
    ],
)
