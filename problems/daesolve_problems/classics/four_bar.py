"""The four-bar linkage with N windows: parallel bars, whose constraints lose rank when they lie.

Thin rigid rods, hinged to each other and to the ground without friction, move in a vertical plane
under their weight. Their constraints are their lengths, and the unknown reactions the forces that
keep these lengths, one for each rod. They leave one freedom, and the energy is conserved. This is
the standard test of a mechanism that runs through positions at which its constraints lose rank.

N + 1 bars stand on the ground, side by side, N bars join their tops: thin uniform rods of one mass
and length. Point i (from 1; B_0 of the literature is 1) is the top of the i-th standing bar, whose
foot is at (i - 1, 0) times the length. A uniform rod between points a and b has the kinetic energy
m/6 (a'.a' + a'.b' + b'.b').

    |B_i - foot_i|^2 = l^2  (bar_i),    |B_(i+1) - B_i|^2 = l^2  (coupler_i)

All bars stay parallel: with theta the angle of the standing ones from the x axis,

    I theta'' = -V g cos(theta),  I = m l^2 ((N + 1)/3 + N),  V = m l ((N + 1)/2 + N).

Wherever they lie (theta a whole multiple of pi) the constraints depend on each other, and the
linkage could leave to a motion in which they are not parallel. Case `swing` with two windows is
benchmark A02 of the IFToMM library.
"""

from collections.abc import Mapping
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import Dot, Drawing, Line, Linear, Shape, Trace


def linkage(windows: int) -> ds.MechanicalSystem:
    """Pose the rods by the positions of their moving ends."""
    if windows < 1:
        raise OutOfRangeError(f"windows is {windows}, but must be at least 1")
    numbers = range(1, windows + 2)
    q = ds.coordinates(**{f"{axis}_{i}": "m" for i in numbers for axis in "xy"})
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE), length=(1.0, "m", ds.POSITIVE), gravity=(9.81, "m/s^2")
    )
    point = {i: ca.vertcat(q[f"x_{i}"], q[f"y_{i}"]) for i in numbers}
    speed = {i: ca.vertcat(q.dot[f"x_{i}"], q.dot[f"y_{i}"]) for i in numbers}
    foot = {i: ca.vertcat((i - 1) * p.length, 0) for i in numbers}
    couplers = [(i, i + 1) for i in numbers[:-1]]
    twice_kinetic = sum(ca.sumsqr(speed[i]) for i in numbers)
    twice_kinetic += sum(
        ca.sumsqr(speed[i]) + ca.dot(speed[i], speed[k]) + ca.sumsqr(speed[k]) for i, k in couplers
    )
    height = sum(point[i][1] for i in numbers) / 2
    height += sum((point[i][1] + point[k][1]) / 2 for i, k in couplers)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass / 6 * twice_kinetic,
        potential=p.mass * p.gravity * height,
        goals=[
            *[
                ds.Holonomic(f"bar_{i}", ca.sumsqr(point[i] - foot[i]) - p.length**2, unit="N/m")
                for i in numbers
            ],
            *[
                ds.Holonomic(
                    f"coupler_{i}", ca.sumsqr(point[k] - point[i]) - p.length**2, unit="N/m"
                )
                for i, k in couplers
            ],
        ],
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Stand all bars upright, their tops moving sideways."""
    length = parameters["length"]
    states: dict[str, float] = {}
    for i in range(1, structure["windows"] + 2):
        states |= {f"x_{i}": (i - 1) * length, f"y_{i}": length, f"x_dot_{i}": given["speed"]}
    return states


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the bars and the path of the first point."""
    numbers = range(1, document["structure"]["windows"] + 2)
    feet = [(Linear({"length": float(i - 1)}), 0.0) for i in numbers]
    tops = [(f"x_{i}", f"y_{i}") for i in numbers]
    bars: list[Shape] = [Line([foot, top]) for foot, top in zip(feet, tops, strict=True)]
    return Drawing(
        [
            Line([feet[0], feet[-1]], role="ground", label="ground"),
            Trace(tops[0], label="path of B_0"),
            *bars,
            Line(tops, role="accent", label="couplers"),
            *[Dot(top, role="accent") for top in tops],
        ]
    )


problem = ds.Problem(
    "four-bar",
    title="The four-bar linkage with N windows",
    models={"points": linkage},
    sources=[
        "IFToMM Technical Committee for Multibody Dynamics, Library of Computational "
        "Benchmark Problems, A02",
    ],
    structure={"windows": 2},
    start=start,
    drawing=drawing,
    cases=[
        ds.Case(
            "swing",
            start={"speed": 1.0},
            until=10.0,
            rate=50.0,
            rank_loss="pass",
            note="upright at first; turns round, and loses rank at every half turn",
        ),
    ],
)
