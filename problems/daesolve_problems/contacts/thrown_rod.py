"""A rod that is thrown on a rough floor and bounces on both ends.

A uniform rigid rod flies under its weight in a vertical plane; each of its ends may strike the
floor, slide on it and stick. The unknown reactions are the normal force and the friction of each
end. In flight the energy is conserved; at each impact restitution and friction take some of it.

With the mass m, the half length l and the angle phi of the rod from the floor, a touching end
responds to impulses along its gap and along its slip with

    A_NN = (1 + 3 cos^2 phi) / m,    A_NT = -+3 sin phi cos phi / m,    A_TT = (1 + 3 sin^2 phi) / m

because both tilt it: an impulse along the gap changes the slip. So impact laws differ here. Whether
an end that arrives with the slip c and the speed w sticks depends on c / (1 + e) w: between (-mu
A_TT - A_NT) / (A_NN + mu A_NT) and (mu A_TT - A_NT) / (A_NN - mu A_NT) it sticks.

A start has the height `y` of the centre, the angle `theta` and the rates `x_dot`, `y_dot`,
`theta_dot`; `x` is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Arrow, Dot, Drawing, Line, Polar, Trace
from daesolve_problems.figures import Document, draw_paths, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ENDS = {"A": -1.0, "B": 1.0}
"""The ends, and on which side of the centre they are."""
LONGEST = 1.0
"""The weight in a drawing, in half lengths."""


def posed() -> ds.MechanicalSystem:
    """Pose the rod over its floor."""
    q = ds.coordinates(x="m", y="m", theta="rad")
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        half_length=(0.5, "m", ds.POSITIVE),
        friction=(0.3, "", ds.NON_NEGATIVE),
        restitution=(0.6, "", ds.NON_NEGATIVE),
        gravity=(9.81, "m/s^2"),
    )
    contacts: list[ds.Contact] = []
    for end, side in ENDS.items():
        place = q.x + side * p.half_length * ca.cos(q.theta)
        contacts.append(
            ds.Contact(
                end,
                q.y + side * p.half_length * ca.sin(q.theta),
                slip=ca.jacobian(place, q.vector) @ q.dot.vector,
                friction=p.friction,
                restitution=p.restitution,
                closed=False,
            )
        )
    inertia = p.mass * p.half_length**2 / 3
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2 + inertia * q.dot.theta**2 / 2,
        potential=p.mass * p.gravity * q.y,
        goals=contacts,
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Throw the rod from above the origin."""
    still = dict.fromkeys(("x", "theta", "x_dot", "y_dot", "theta_dot"), 0.0)
    return {**still, "y": 1.0, **given}


def _places(document: Document) -> dict[str, np.ndarray]:
    """Return where the centre and the ends are, x + i y, m."""
    angle, half = series(document, "states", "theta"), document["parameters"]["half_length"]
    centre = series(document, "states", "x") + 1j * series(document, "states", "y")
    rod = half * (np.cos(angle) + 1j * np.sin(angle))
    return {"centre": centre, **{k: centre + side * rod for k, side in ENDS.items()}}


def paths(document: Document) -> Figure:
    """Draw the paths of the centre and of the ends."""
    return draw_paths(document, _places)


def drawing(document: Document) -> Drawing:
    """Draw the rod over the floor, with the forces on its ends."""
    numbers = document["parameters"]
    half, x = numbers["half_length"], series(document, "states", "x")
    scale = LONGEST * half / (numbers["mass"] * numbers["gravity"])
    ends = {end: Polar(("x", "y"), side * half, "theta") for end, side in ENDS.items()}
    floor = [(float(x.min()) - 2 * half, 0.0), (float(x.max()) + 2 * half, 0.0)]
    forces = [
        Arrow(place, (f"{end}_friction", end), scale, label="" if number else "force of the floor")
        for number, (end, place) in enumerate(ends.items())
    ]
    return Drawing(
        [
            Line(floor, role="ground", label="floor"),
            Trace(("x", "y"), label="path of the centre"),
            Line([ends["A"], ends["B"]], label="rod"),
            *[Dot(place, role="accent") for place in ends.values()],
            *forces,
        ]
    )


THROWN = {"y": 1.0, "theta": 0.6, "x_dot": 1.0, "theta_dot": 2.0}

problem = ds.Problem(
    "thrown-rod",
    title="A thrown rod that bounces on both ends",
    models={"rod": posed},
    sources=[
        "C. Glocker, Set-Valued Force Laws: Dynamics of Non-Smooth Systems (2001)",
        "W. J. Stronge, Impact Mechanics (2000)",
    ],
    start=start,
    start_values=lambda structure: ("x", "y_dot"),
    figures={"paths": paths},
    drawing=drawing,
    cases=[
        ds.Case("thrown", start=THROWN, until=1.5, note="14 impacts by Newton's law"),
        ds.Case(
            "poisson",
            start=THROWN,
            until=1.5,
            impact="poisson",
            note="the same throw by Poisson's law",
        ),
        ds.Case(
            "routh",
            start=THROWN,
            until=1.5,
            impact="routh",
            note="the same throw; slip may end within an impact",
        ),
    ],
)
