"""A drawer that is pulled off its middle: on plain sides it jams, on wheels it opens.

A drawer runs in its case, which touches it at the case's front edge and at the drawer's back
corners, on one side each. Pulled off the middle it turns until it is wedged between the two, and
both rub. The unknown reactions are the forces of the edge and of the back; which side touches is
unknown too. Nothing is conserved: the pull does work, and friction dissipates some of it.

With the pull F at the distance e from the middle, and l = d - x the part of the depth d that is
still in the case, both sides press with F e / l, and the drawer jams where

    2 f e > l,

however hard it is pulled. Wheels at its back corners (structure `wheels`) and rollers at the edge
of the case (`rollers`) replace the friction f of the sides by the friction of their axles: with the
radius a of an axle, R of its wheel and k = f a / R, a wheel without mass resists with k / sqrt(1 -
k^2) of its load.

A start has the opening `x` and the speed `x_dot`; the drawer is closed and at rest unless given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca

import daesolve as ds
from daesolve.multibody.drawing import Arrow, Circle, Drawing, Line, Linear, Outline
from daesolve_problems.figures import Document, column, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawer(wheels: bool = False, rollers: bool = False) -> ds.MechanicalSystem:
    """Pose the drawer in its case."""
    q = ds.coordinates(x="m", y="m", turn="rad")  # of its middle; x: how far it is open
    p = ds.parameters(
        mass=(2.0, "kg", ds.POSITIVE),
        inertia=(0.08, "kg m^2", ds.POSITIVE),
        depth=(0.5, "m", ds.POSITIVE),
        width=(0.6, "m", ds.POSITIVE),
        pull=(10.0, "N"),
        off=(0.25, "m"),
        friction=(0.4, "", ds.NON_NEGATIVE),
        axle_radius=(0.003, "m", ds.POSITIVE),
        wheel_radius=(0.015, "m", ds.POSITIVE),
        overlap=(0.05, "m", ds.POSITIVE),
    )
    share = p.friction * p.axle_radius / p.wheel_radius
    rolls = share / ca.sqrt(1.0 - share**2)

    def pair(name: str, along: ca.SX, on_wheels: bool) -> ds.friction.VariantPair:
        """Return where the sides touch, `along` ahead of the drawer's middle."""
        supports: list[ds.friction.Support] = []
        for side, push in ((0.5, -1.0), (-0.5, 1.0)):
            across = side * p.width
            velocity = (q.dot.x - across * q.dot.turn, q.dot.y + along * q.dot.turn)
            friction = rolls if on_wheels else p.friction
            supports.append(
                ds.friction.Support(velocity=velocity, normal=(0.0, push), friction=friction)
            )
        return ds.friction.VariantPair(name, supports)

    left = p.depth - p.overlap - q.x
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(p.mass * (q.dot.x**2 + q.dot.y**2) + p.inertia * q.dot.turn**2) / 2.0,
        force={"x": p.pull, "turn": -p.off * p.pull},
        goals=[
            ds.Holonomic("side", q.y, ideal=False, scale=1.0),
            ds.Holonomic("level", q.turn, ideal=False, scale=1.0),
        ],
        pairs=[
            pair("edge", p.depth / 2.0 - q.x, rollers),
            pair("back", -p.depth / 2.0, wheels),
        ],
        events=[ds.Event("open", left, ds.FALLING, ds.Stop())],
        outputs={"pulled": (p.pull, "N"), "overlap_left": (p.depth - q.x, "m")},
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Start closed and at rest by default."""
    rest = dict.fromkeys(("x", "y", "turn", "x_dot", "y_dot", "turn_dot"), 0.0)
    return {**rest, **given}


def opening(document: Document) -> Figure:
    """Draw the opening of the drawer, and the forces of its sides."""
    times = series(document, "times")
    figure, (place, forces) = panels_over_time(2)
    place.plot(times, column(document, "x"), linewidth=1.2)
    place.set_ylabel("opening (m)")
    for name in ("edge", "back"):
        forces.plot(times, column(document, name), linewidth=1.2, label=name)
    forces.set_ylabel("force of the side (N)")
    forces.legend(frameon=False)
    return figure


def drawing(document: Document) -> Drawing:
    """Draw the drawer from above in its case, with the pull and the forces of the sides."""
    p = document["parameters"]
    depth, width = p["depth"], p["width"]
    ahead, aside, radius = depth / 2.0, width / 2.0, p["wheel_radius"]
    box = [(-ahead, -aside), (ahead, -aside), (ahead, aside), (-ahead, aside)]
    structure: Mapping[str, Any] = document.get("structure", {})
    scale = 0.004
    shapes: list[Any] = [
        Outline(box, at=("x", "y"), angle="turn", label="drawer"),
        *[Line([(-ahead, s * aside), (ahead, s * aside)], role="ground") for s in (-1.0, 1.0)],
        Line([(-ahead, -aside), (-ahead, aside)], role="ground"),
        Arrow((Linear({"x": 1.0}, ahead), p["off"]), (Linear({"pulled": 3 * scale}), 0.0),
              label="pull"),
        Arrow((ahead, 0.0), (0.0, Linear({"edge": scale})), label="edge"),
        Arrow((Linear({"x": 1.0}, -ahead), 0.0), (0.0, Linear({"back": scale})), label="back"),
    ]  # fmt: skip
    for side in (-1.0, 1.0):
        if structure.get("rollers"):
            shapes.append(Circle((ahead, side * (aside + radius)), radius, role="detail"))
        if structure.get("wheels"):
            place = Linear({"x": 1.0}, -ahead), side * (aside - radius)
            shapes.append(Circle(place, radius, role="detail"))
    return Drawing(shapes)


ON_WHEELS = {"wheels": True, "rollers": True}

problem = ds.Problem(
    "drawer",
    title="A drawer that jams, and one on wheels",
    models={"drawer": drawer},
    structure={"wheels": False, "rollers": False},
    sources=[
        "P. Appell, Traité de mécanique rationnelle, vol. 2: friction that locks, arc-boutement",
        "V. V. Nikolskii, Yu. P. Smirnov, On the forms of the equations of dynamics of a "
        "system with dry friction (in Russian, received in 1985)",
    ],
    start=start,
    start_values=lambda structure: ("x", "x_dot"),
    figures={"opening": opening},
    drawing=drawing,
    cases=[
        ds.Case("plain", until=2.0, note="opens by 0.446 m, where friction stops and holds it"),
        ds.Case(
            "jams",
            parameters={"off": 0.65},
            until=1.0,
            note="pulled at its corner it does not move, however hard you pull",
        ),
        ds.Case("wheels", structure=ON_WHEELS, until=2.0, note="opens to its end"),
        ds.Case(
            "rollers",
            structure={"wheels": False, "rollers": True},
            until=2.0,
            note="rollers only at the edge are enough: it opens fully",
        ),
    ],
)
