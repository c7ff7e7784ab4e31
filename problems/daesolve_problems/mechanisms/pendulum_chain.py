"""A chain of rods that hangs from a fixed end: planar bodies, joined by hinges.

Thin rigid rods under their weight hang from each other in a vertical plane, joined by hinges
without friction. Every rod has three coordinates, and every hinge two constraints; the
unknown reactions are the two components of the force in each hinge. The energy is conserved.

All rods are thin, of one mass and length. The chain starts at rest, straight, turned by an angle
from the downward vertical. With two rods or more it moves chaotically if it swings high.

The code of its equations grows linearly with the number of rods, by 152 instructions a rod: 267
for 2, 3003 for 20, 30363 for 200.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import Dot, Drawing, Line, Trace


def chain(rods: int, angle: float = 0.0) -> ds.multibody.Mechanism:
    """Assemble the chain, and place it straight.

    Raises
    ------
    OutOfRangeError
        There is no rod.
    """
    if rods < 1:
        raise OutOfRangeError(f"rods is {rods}, but must be at least 1")
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        length=(1.0, "m", ds.POSITIVE),
        gravity=(9.81, "m/s^2"),
    )
    along = ca.vertcat(ca.sin(angle), -ca.cos(angle)) * p.length
    moment = p.mass * p.length**2 / 12
    bodies = [
        ds.multibody.PlanarBody(
            f"rod_{i + 1}", p.mass, moment, position=(i + 0.5) * along, angle=angle
        )
        for i in range(rods)
    ]
    ends = [ds.multibody.GROUND.frame((0, 0)), *[body.frame((0, -p.length / 2)) for body in bodies]]
    hinges = [
        ds.multibody.Revolute(f"hinge_{i + 1}", ends[i], body.frame((0, p.length / 2)))
        for i, body in enumerate(bodies)
    ]
    return ds.multibody.Mechanism(bodies, hinges, p, gravity=(0, -p.gravity))


def posed(rods: int) -> ds.MechanicalSystem:
    """Pose the chain, with its end as an output."""
    mechanism = chain(rods)
    last = mechanism.bodies[-1].point(0, -mechanism.parameters.length / 2).position
    return mechanism.system(outputs={"end_x": (last[0], "m"), "end_y": (last[1], "m")})


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Hold the chain straight, at an angle."""
    return chain(structure["rods"], given["angle"]).start_at(parameters)


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the chain through the middles of its rods, and the path of its end."""
    middles = [(f"rod_{i}_x", f"rod_{i}_y") for i in range(1, document["structure"]["rods"] + 1)]
    end = ("end_x", "end_y")
    return Drawing(
        [
            Trace(end, label="path of the end"),
            Line([(0.0, 0.0), *middles, end]),
            Dot((0.0, 0.0), role="ground"),
            Dot(end, role="accent"),
        ]
    )


problem = ds.Problem(
    "pendulum-chain",
    title="A chain of rods with hinges",
    models={"bodies": posed},
    sources=[
        "D. Bernoulli, Theoremata de oscillationibus corporum filo flexili connexorum et catenae "
        "verticaliter suspensae, Commentarii Academiae Scientiarum Imperialis Petropolitanae 6 "
        "(1738) 108-122 (in Latin): small oscillations of such chains",
    ],
    structure={"rods": 5},
    start=start,
    drawing=drawing,
    cases=[
        ds.Case("swing", start={"angle": 1.0}, until=10.0, note="five rods let go at 1 rad"),
        ds.Case(
            "double",
            structure={"rods": 2},
            start={"angle": 2.0},
            until=10.0,
            note="a double pendulum, released above the horizontal",
        ),
        ds.Case(
            "long",
            structure={"rods": 40},
            start={"angle": 0.5},
            until=5.0,
            note="forty rods, which move like a heavy rope",
        ),
    ],
)
