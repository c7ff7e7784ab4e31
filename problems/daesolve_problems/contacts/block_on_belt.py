"""A block on a belt, held by a spring: it sticks to the belt, and slips back.

A rigid block stands on two feet on a belt that runs on. A spring ties it to a wall. The belt takes
the block along until the spring pulls it off; it slips back, and comes near to the speed of the
belt again. The unknown reactions are the normal force and the friction of each foot, of which only
the sum is determined while both stick. Nothing is conserved: the belt does work, and friction
dissipates some of it.

The spring is attached d above the mass centre, so that it shifts the load from foot to foot. Feet
of different friction feel that: slipping, the block swings as if the spring were stiffer, with

    k (1 + s d / (1 + s h)),    s = (mu_front - mu_rear) / 2 b.

Where friction has the same limit at rest and in slip, the block comes back to the speed of the belt
once a period and only grazes it: no stick-slip cycle lasts. A limit at rest that is higher by
`static_share` makes one: the spring stretches to x_s = f S mu g / k while the block sticks, and the
block slips back about x_0 = mu g / k (for feet alike, f = `static_share`).

A start has `x`, by which the spring is stretched, and the speed `x_dot`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

import daesolve as ds
from daesolve.multibody.drawing import Drawing, Line, Polar
from daesolve_problems.contacts import feet
from daesolve_problems.figures import Document, draw_curve, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def posed() -> ds.MechanicalSystem:
    """Pose the block on its belt, with the spring."""
    q = feet.coordinates()
    p = feet.numbers(
        0.2,
        0.1,
        (0.2, 0.4),
        belt_speed=(0.3, "m/s"),
        stiffness=(40.0, "N/m", ds.NON_NEGATIVE),
        spring_above=(0.05, "m"),
    )
    stretch = q.x - p.spring_above * ca.sin(q.theta)
    return feet.block(q, p, ground_speed=p.belt_speed, pull=p.stiffness * stretch**2 / 2)


def cycle(document: Document) -> Figure:
    """Draw the speed over time, beside that of the belt, and over the place."""
    times, speed = series(document, "times"), series(document, "states", "x_dot")
    figure, (over_time, over_place) = panels_over_time(2)
    over_time.axhline(document["parameters"]["belt_speed"], color="0.6", linewidth=0.8)
    over_time.plot(times, speed, linewidth=1.2)
    over_time.set_ylabel("speed (m/s)")
    draw_curve(over_place, document, "x", "x_dot", linewidth=1.2)
    over_place.set_xlabel("x (m)")
    over_place.set_ylabel("speed (m/s)")
    return figure


def drawing(document: Document) -> Drawing:
    """Draw the block on its belt, and the spring."""
    plain = feet.drawing(document)
    above, height = (document["parameters"][name] for name in ("spring_above", "height"))
    left = float(series(document, "states", "x").min()) - 6.0 * height
    hook = Polar(("x", "y"), above, "upright")
    spring = Line([(left, height + above), hook], role="detail", label="spring")
    return Drawing([*plain.shapes, spring], series=plain.series)


problem = ds.Problem(
    "block-on-belt",
    title="A block on a belt, held by a spring",
    models={"feet": posed},
    sources=[
        "F. Pfeiffer, C. Glocker, Multibody Dynamics with Unilateral Contacts (1996)",
    ],
    start=feet.standing,
    start_values=lambda structure: ("x", "x_dot"),
    derived=feet.lifted,
    figures={"cycle": cycle},
    drawing=drawing,
    cases=[
        ds.Case(
            "one-limit",
            until=1.15,
            note="sticks after 0.1179 s, is pulled off after 0.2841 s, and grazes the belt's speed",
        ),
        ds.Case(
            "stick-slip",
            parameters={"mu_rear": 0.3, "mu_front": 0.3, "static_share": 1.5},
            until=20.0,
            note="static friction is higher by half: it sticks and slips for ever",
        ),
    ],
)
