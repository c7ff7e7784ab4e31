"""Bricard's mechanism: six hinges whose axes are normal to each other, and yet it moves.

Rigid bars under their weight are joined by hinges without friction. The unknown reactions are the
force and the moment in each hinge, together five components. The energy is conserved.

Five rods of one mass and length and the ground form a ring. Each hinge's axis is normal to both its
rods and to the axes beside it. Six hinges leave a ring of six bodies no freedom by the count, but
here one of their thirty rows depends on the others, and it moves with one degree of freedom. It
starts at rest on the edges of a cube: P_1 in the origin, where the first rod turns about y, P_2 at
(l, 0, 0), P_3 at (l, -l, 0), P_4 at (l, -l, l), P_5 at (0, -l, l), P_6 at (0, 0, l) on the ground,
where the last one turns about x. Gravity points against y.

With theta the angle of the first rod, the mechanism is symmetric by a third of a turn, and
P_3 = l (cos(theta), -sqrt(1 + 2 sin(theta)), -sin(theta)) / (1 + sin(theta)).

A rod is a bar of square cross-section with the side `width`. Benchmark A04 of the IFToMM library
gives its reference for thin rods; a bar needs a moment about its own axis, so that the case
`benchmark` has a side of l/1000, which moves P_3 by less than 1e-6 m in 10 s. Other programs take
l/10, the case `bars`.

The model `hinges` has all six, and thus redundant constraints, of which the cases drop one. In
`cross`, Hooke's joint replaces the last hinge, which leaves out the redundant row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import daesolve as ds
from daesolve.multibody import GROUND, Body, Mechanism, Revolute, Universal
from daesolve.multibody.drawing import Dot, Drawing, Line, Linear, Trace, Triple
from daesolve.typing import Output

CORNERS = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
TURNS = (
    (1.0, 0.0, 0.0, 0.0),
    (0.5, 0.5, -0.5, -0.5),
    (0.5, 0.5, -0.5, 0.5),
    (0.0, 0.0, 0.0, 1.0),
    (0.5, 0.5, 0.5, 0.5),
)
"""Each rod lies along its first axis; the hinge before it turns about its second axis, the hinge
behind it about its third."""


def ring(closed: bool) -> Mechanism:
    """Assemble the rods, closed by a sixth hinge or by Hooke's joint."""
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        length=(1.0, "m", ds.POSITIVE),
        width=(0.001, "m", ds.POSITIVE),
        gravity=(9.81, "m/s^2"),
    )
    half = p.length / 2
    across = p.mass * (p.length**2 + p.width**2) / 12
    rods = [
        Body(
            f"rod_{i + 1}",
            p.mass,
            (p.mass * p.width**2 / 6, across, across),
            position=[half * (a + b) for a, b in zip(CORNERS[i], CORNERS[i + 1], strict=True)],
            rotation=turn,
        )
        for i, turn in enumerate(TURNS)
    ]
    ends = [
        GROUND.frame(axes=(0, 1, 0)),
        *[rod.frame((half, 0, 0), (0, 0, 1)) for rod in rods],
    ]
    hinges = [
        Revolute(f"hinge_{i + 1}", ends[i], rod.frame((-half, 0, 0), (0, 1, 0)))
        for i, rod in enumerate(rods)
    ]
    if closed:
        last = Revolute("hinge_6", GROUND.frame((0, 0, p.length), (1, 0, 0)), ends[-1])
    else:
        # Its arms lie along z on the ground, and along the axis of the hinge on the rod.
        ground = GROUND.frame((0, 0, p.length), np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
        rod = rods[-1].frame((half, 0, 0), np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]))
        last = Universal("cross", ground, rod)
    return Mechanism(rods, [*hinges, last], p, gravity=(0, -p.gravity, 0))


def posed(closed: bool) -> ds.MechanicalSystem:
    """Pose the ring, with its moving corners as outputs."""
    mechanism = ring(closed)
    half = mechanism.parameters.length / 2
    outputs: dict[str, Output] = {}
    for number, rod in enumerate(mechanism.bodies[:-1], start=2):
        place = rod.point(half, 0, 0).position
        outputs |= {f"p{number}_{axis}": (place[k], "m") for k, axis in enumerate("xyz")}
    return mechanism.system(outputs=outputs)


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Place the rods on the edges of a cube."""
    return ring(closed=True).start_at(parameters)


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the rods in space; y, upwards in the sources, points upwards here too."""
    half = {"length": -1.0}
    fixed: list[Triple] = [(0.0, 0.0, 0.0), (0.0, Linear(half), 0.0)]
    corners: list[Triple] = [(f"p{i}_x", Linear({f"p{i}_z": -1.0}), f"p{i}_y") for i in range(2, 6)]
    return Drawing(
        [
            Trace(corners[1], label="path of P_3"),
            Line([fixed[0], *corners, fixed[1]], label="rods"),
            *[Dot(place, role="ground") for place in fixed],
            *[Dot(corner, role="accent") for corner in corners],
        ],
        eye=(0.5, -1.0, 0.3),
    )


problem = ds.Problem(
    "bricard",
    title="Bricard's mechanism of six hinges",
    models={"hinges": lambda: posed(closed=True), "cross": lambda: posed(closed=False)},
    sources=[
        "IFToMM Technical Committee for Multibody Dynamics, Library of Computational "
        "Benchmark Problems, A04",
        "M. González, D. Dopico, U. Lugrís, J. Cuadrado, A benchmarking system for MBS simulation "
        "software: problem standardization and performance measurement, Multibody Syst. Dyn. 16 "
        "(2006) 179-190",
        "T. Arponen, S. Piipponen, J. Tuomela, Kinematic analysis of Bricard's mechanism, "
        "Nonlinear Dyn. 56 (2009) 85-99",
    ],
    start=start,
    drawing=drawing,
    cases=[
        ds.Case("benchmark", until=10.0, redundant="drop", note="from rest, thin rods"),
        ds.Case(
            "bars",
            parameters={"width": 0.1},
            until=10.0,
            redundant="drop",
            note="from rest, bars as thick as a tenth of their length",
        ),
    ],
)
