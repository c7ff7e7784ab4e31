"""Newton's cradle: balls that touch, and impacts of several at once.

Equal balls hang side by side on strings of equal length and touch each other; one or more are
pulled aside and let go. Balls only push. The unknown reactions are the forces between neighbours.
Between impacts, and at impacts where restitution is one, the energy is conserved.

All balls that touch take part in an impact, and rigid bodies do not determine its result: a law
must be chosen. With restitution e = 1 one ball that strikes two at rest leaves them, by Newton's
and Poisson's laws, with -1/3, 2/3 and 2/3 of its speed; where neighbours strike one after the
other, with 0, 0 and 1, as the toy does. Balls that are a hair's breadth apart do so under any law
(`spacing`). If balls come from both sides, the order of the impacts decides, and must be given too.

With phi_k the angle of a string, l its length and r the radius of a ball,

    2 T = m l^2 sum phi_k'^2,    V = -m g l sum cos phi_k,    gaps |P_k+1 - P_k| - 2 r.

In the model `line` the balls are free on a straight line: positions and speeds of its impacts are
rational numbers.

A start has the angles `phi_k` and rates `phi_dot_k`, or on the line speeds `x_dot_k`, k = 1, 2, ...
from the left; what is not given is zero, and the balls touch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import Circle, Drawing, Line, Linear, Polar, Shape
from daesolve_problems.figures import Document, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daesolve.typing import DifferentiableVector, Parameters

FEWEST, MOST = 2, 12
"""The least and the largest number of balls: an impact of more has too many combinations."""


def _numbers(balls: int) -> Parameters:
    masses = {f"mass_{k}": (0.1, "kg", ds.POSITIVE) for k in range(1, balls + 1)}
    return ds.parameters(
        radius=(0.02, "m", ds.POSITIVE),
        spacing=(0.0, "m", ds.NON_NEGATIVE),
        length=(0.3, "m", ds.POSITIVE),
        restitution=(1.0, "", ds.NON_NEGATIVE),
        gravity=(9.81, "m/s^2"),
        **masses,
    )


def _check(balls: int) -> None:
    if not FEWEST <= balls <= MOST:
        raise OutOfRangeError(f"balls is {balls}, but must be from {FEWEST} to {MOST}")


def hanging(balls: int) -> ds.MechanicalSystem:
    """Pose balls on strings."""
    _check(balls)
    q = ds.coordinates(**{f"phi_{k}": "rad" for k in range(1, balls + 1)})
    p = _numbers(balls)
    apart = 2 * p.radius + p.spacing
    places = [
        ca.vertcat(apart * k + p.length * ca.sin(angle), -p.length * ca.cos(angle))
        for k, angle in enumerate(ca.vertsplit(q.vector))
    ]
    gaps = [ca.norm_2(right - left) - 2 * p.radius for left, right in itertools.pairwise(places)]
    return _system(q, p, gaps, p.length, -p.length * ca.cos(q.vector))


def on_a_line(balls: int) -> ds.MechanicalSystem:
    """Pose free balls on a straight line."""
    _check(balls)
    q = ds.coordinates(**{f"x_{k}": "m" for k in range(1, balls + 1)})
    p = _numbers(balls)
    places = ca.vertsplit(q.vector)
    gaps = [right - left - 2 * p.radius for left, right in itertools.pairwise(places)]
    return _system(q, p, gaps, ca.SX(1), ca.SX.zeros(balls))


def _system(
    q: DifferentiableVector, p: Parameters, gaps: Sequence[ca.SX], arm: ca.SX, heights: ca.SX
) -> ds.MechanicalSystem:
    """Pose the balls with the gaps between neighbours; their speeds are `arm` times the rates."""
    masses = ca.vertcat(*[p[f"mass_{k}"] for k in range(1, len(q) + 1)])
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=ca.dot(masses, (arm * q.dot.vector) ** 2) / 2,
        potential=p.gravity * ca.dot(masses, heights),
        goals=[
            ds.Contact(f"between_{k}_{k + 1}", gap, restitution=p.restitution, closed=False)
            for k, gap in enumerate(gaps, start=1)
        ],
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Let all balls hang at rest, except the given ones."""
    names = [f"phi_{way}{k}" for way in ("", "dot_") for k in range(1, structure["balls"] + 1)]
    return {**dict.fromkeys(names, 0.0), **given}


def start_on_the_line(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Let the balls touch, at rest except for the given speeds."""
    balls, apart = structure["balls"], 2.0 * parameters["radius"] + parameters["spacing"]
    places = {f"x_{k + 1}": k * apart for k in range(balls)}
    return {**places, **{f"x_dot_{k + 1}": 0.0 for k in range(balls)}, **given}


def swings(document: Document) -> Figure:
    """Draw the positions and speeds of the balls."""
    times = series(document, "times")
    figure, (places, speeds) = panels_over_time(2)
    names = [name for name in document["states"] if "_dot_" not in name]
    for name in names:
        places.plot(times, series(document, "states", name), linewidth=1.2, label=name)
        speeds.plot(times, series(document, "states", name.replace("_", "_dot_")), linewidth=1.2)
    unit = "rad" if names[0].startswith("phi") else "m"
    places.set_ylabel(f"place ({unit})")
    speeds.set_ylabel(f"rate ({unit}/s)")
    places.legend(fontsize="small")
    return figure


def drawing(document: Document) -> Drawing:
    """Draw the balls, with their strings where they hang."""
    radius, states = document["parameters"]["radius"], document["states"]
    shapes: list[Shape] = []
    for k in range(1, len(states) // 2 + 1):
        role = "accent" if k == 1 else "body"
        if f"x_{k}" in states:
            shapes.append(Circle((f"x_{k}", 0.0), radius, role=role))
            continue
        hook = ((2.0 * radius + document["parameters"]["spacing"]) * (k - 1), 0.0)
        ball = Polar(hook, "length", Linear({f"phi_{k}": 1.0}, -math.pi / 2.0))
        shapes += [Line([hook, ball], role="detail"), Circle(ball, radius, role=role)]
    if "phi_1" in states:
        beam = 2.0 * radius * (len(states) // 2)
        shapes.insert(0, Line([(-2.0 * radius, 0.0), (beam, 0.0)], role="ground", label="beam"))
    return Drawing(shapes)


THREE = {"balls": 3}
ONE_STRIKES = {"x_dot_1": 1.0}

problem = ds.Problem(
    "newtons-cradle",
    title="Newton's cradle, by several laws of impact",
    models={"strings": hanging, "line": on_a_line},
    structure={"balls": 5},
    sources=[
        "C. Glocker, Set-Valued Force Laws: Dynamics of Non-Smooth Systems (2001)",
        "V. Acary, B. Brogliato, Numerical Methods for Nonsmooth Dynamical Systems (2008)",
    ],
    start={"strings": start, "line": start_on_the_line},
    figures={"swings": swings},
    drawing=drawing,
    cases=[
        ds.Case(
            "one",
            parameters={"spacing": 1e-5},
            start={"phi_1": -0.5},
            until=10.0,
            note="balls 10 um apart strike one after the other: one ball leaves on the other side",
        ),
        ds.Case(
            "two",
            parameters={"spacing": 1e-5},
            start={"phi_1": -0.5, "phi_2": -0.5},
            until=10.0,
            note="two balls strike, and two leave",
        ),
        ds.Case(
            "touching",
            start={"phi_1": -0.5},
            until=0.4,
            impact="sequential",
            note="balls that touch, impacts one after the other: one ball leaves",
        ),
        ds.Case(
            "at-once",
            start={"phi_1": -0.5},
            until=0.4,
            note="by Newton's law all neighbours push at once, and all balls part",
        ),
        ds.Case(
            "line-newton",
            start=ONE_STRIKES,
            model="line",
            structure=THREE,
            until=0.1,
            note="leaves -1/3, 2/3 and 2/3",
        ),
        ds.Case(
            "line-poisson",
            start=ONE_STRIKES,
            model="line",
            structure=THREE,
            until=0.1,
            impact="poisson",
            note="the same as Newton's",
        ),
        ds.Case(
            "line-sequential",
            start=ONE_STRIKES,
            model="line",
            structure=THREE,
            until=0.1,
            impact="sequential",
            note="leaves 0, 0 and 1",
        ),
        ds.Case(
            "both-sides",
            parameters={"mass_2": 0.2, "restitution": 0.8},
            start={"x_dot_1": 1.0, "x_dot_3": -1.0},
            model="line",
            structure=THREE,
            until=0.1,
            impact="sequential",
            impact_order=("between_1_2", "between_2_3"),
            note="balls come from both sides: the left impact first leaves -49/125, -33/125, 23/25",
        ),
    ],
)
