"""A crane that carries its load from rest to rest in the shortest time.

A trolley of 5 kg on a straight rail carries a load of 10 kg on a rigid weightless rope of 2 m. A
force of at most 40 N drives the trolley 5 m along; at the end nothing may move and the load hang
straight down. There are no constraints or reactions. The energy is not conserved: the force, the
only unknown, works; without it, the energy and the momentum along the rail would be. x is the place
of the trolley and `sway` the angle of the rope:

    (M + m) x'' + m l (cos(sway) sway'' - sin(sway) sway'^2) = F
    cos(sway) x'' + l sway'' + g sin(sway) = 0

The case `shortest` has the force of the shortest motion, F = +40, -40, +40, -40 N, which switches
three times; the middle one is at half of the time, because the motion is its own mirror image. The
case `little-sway` is the shortest motion on which the load sways by 0.2 rad at most. Then there are
eight arcs: +, -, one on which the load stays at -0.2 rad while F = (M + m) g tan(0.2), -; and the
same in the mirror. The times of the switches are roots of these conditions for the standard
parameters, computed by shooting from arc to arc (`tests/problems/test_crane_rest_to_rest.py`).

The analysis `optimum` finds the motion of a case anew with `daesolve.optimise`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Circle, Dot, Drawing, Line, Trace
from daesolve.plugins.bound_case import BoundCase

FORCE, WAY, SWAY = 40.0, 5.0, 0.2
SHORTEST = (1.1612554384604912, 0.25459762720635726)
"""The lengths of the arcs +, - of the first half, s."""
LITTLE = (0.2747181375868628, 0.1421244961178272, 1.1538813795556466, 0.25589841724795476)
"""The lengths of the arcs +, -, on the bound, - of the first half, s."""


def crane() -> ds.MechanicalSystem:
    """Pose the trolley and its load."""
    q, u = ds.coordinates(x="m", sway=ds.ANGLE), ds.inputs(force=(0.0, "N"))
    p = ds.parameters(
        trolley=(5.0, "kg", ds.POSITIVE),
        load=(10.0, "kg", ds.POSITIVE),
        rope=(2.0, "m", ds.POSITIVE),
        gravity=(9.81, "m/s^2", ds.POSITIVE),
    )
    load_x, load_z = q.x + p.rope * ca.sin(q.sway), -p.rope * ca.cos(q.sway)
    speed = ca.jacobian(ca.vertcat(load_x, load_z), q.vector) @ q.dot.vector
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.trolley * q.dot.x**2 / 2 + p.load * ca.sumsqr(speed) / 2,
        potential=p.load * p.gravity * load_z,
        force={"x": u.force},
        outputs={"load_x": (load_x, "m"), "load_z": (load_z, "m")},
        inputs=u,
    )


def forces(lengths: tuple[float, ...], values: tuple[float, ...]) -> dict[str, Any]:
    """Return the force whose first half is constant on arcs, and whose second half mirrors it."""
    whole = np.cumsum([0.0, *lengths, *lengths[::-1]])
    mirrored = [-value for value in values[::-1]]
    # The last node repeats the last value.
    return {"force": ds.table("force", whole, [*values, *mirrored, mirrored[-1]], "steps")}


STAYING = 15.0 * 9.81 * math.tan(SWAY)
"""The force that accelerates both as much as keeps the load at its bound, N."""


def optimum(case: BoundCase) -> ds.Answer:
    """Find the shortest motion of a case from its start to rest 5 m on."""
    bounds = {"force": (-FORCE, FORCE)}
    if case.case.name == "little-sway":
        bounds["sway"] = (-SWAY, SWAY)
    found = ds.optimise(case, time=(0.5, 20.0), end=END, bounds=bounds, nodes=11)
    values = {"time": found.duration, "digits": found.digits, "objection": found.objection}
    return ds.Answer({**values, "excesses": dict(found.excesses)}, words=str(found))


END = {"x": WAY, "sway": 0.0, "x_dot": 0.0, "sway_dot": 0.0}


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the rail, the trolley, and the load with its path."""
    trolley, load = ("x", 0.0), ("load_x", "load_z")
    return Drawing(
        [
            Line([(-1.0, 0.0), (WAY + 1.0, 0.0)], role="ground", label="rail"),
            Trace(load, label="path of the load"),
            Line([trolley, load], label="rope"),
            Dot(trolley, label="trolley"),
            Circle(load, 0.12, role="accent", label="load"),
        ],
        x_label="x (m)",
        y_label="z (m)",
    )


problem = ds.Problem(
    "crane-rest-to-rest",
    title="A crane from rest to rest in the shortest time",
    models={"crane": crane},
    sources=[
        "L. S. Pontryagin, V. G. Boltyanskii, R. V. Gamkrelidze, E. F. Mishchenko, The "
        "Mathematical Theory of Optimal Processes (Interscience, 1962)",
        "Y. Sakawa, Y. Shindo, Optimal control of container cranes, Automatica 18 (1982) 257-266",
    ],
    drawing=drawing,
    analyses={"optimum": optimum},
    cases=[
        ds.Case(
            "shortest",
            start={"x": 0.0, "sway": 0.0, "x_dot": 0.0, "sway_dot": 0.0},
            until=2.0 * sum(SHORTEST),
            inputs=forces(SHORTEST, (FORCE, -FORCE)),
            note="three switches",
        ),
        ds.Case(
            "little-sway",
            start={"x": 0.0, "sway": 0.0, "x_dot": 0.0, "sway_dot": 0.0},
            until=2.0 * sum(LITTLE),
            inputs=forces(LITTLE, (FORCE, -FORCE, STAYING, -FORCE)),
            note="the load sways by 0.2 rad at most",
        ),
    ],
)
