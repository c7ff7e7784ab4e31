"""A coin that rolls on its edge: a rigid body, a disc as its surface, rolling without slip.

A thin rigid disc under its weight rolls on a rough level plane without slip and without resistance,
and never leaves it. The three unknown reactions are the normal force of the ground and two
components of friction, none of which does work. The energy is conserved.

The coin is a disc with a sharp edge; its axes do not spin with it, so that a fast roll costs no
more than a slow one. It leans by beta from the upright, rolls along its heading alpha (from the x
axis), and turns about its axle (third axis, to the left of the heading) at the rate `coin_spin`.
With A and C the moments of inertia about a diameter and the axle, a circle of radius R (of the
contact), leaned by beta to the inside, is followed steadily at

    alpha'^2 = m g r sin(beta) / (cos(beta) ((A - C) sin(beta) + C R/r + m r (R - r sin(beta)))).

`rolling-disc` has the same motions in other angles.

A start has the lean `beta` and the rates `alpha_dot`, `beta_dot` and `gamma_dot` (of the roll
against the heading), or, instead of rates, the radius `circle_radius` of a steady circle about the
origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody import Body, Disc, Mechanism, Rolling, quaternion
from daesolve.multibody.drawing import (
    Dot,
    Drawing,
    Line,
    Outline,
    Pose,
    Trace,
    ring,
    tiles,
)
from daesolve_problems.figures import draw_curve, frames_of, new_figure, plane

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def coin(
    beta: float = 0.0,
    alpha_dot: float = 0.0,
    beta_dot: float = 0.0,
    gamma_dot: float = 0.0,
    y: float = 0.0,
) -> tuple[Mechanism, Body]:
    """Assemble the coin on its plane, and place it, heading along x."""
    p = ds.parameters(
        mass=(0.0075, "kg", ds.POSITIVE),
        radius=(0.012, "m", ds.POSITIVE),
        gravity=(9.81, "m/s^2"),
    )
    moment = p.mass * p.radius**2 / 4
    sine, cosine = np.sin(beta), np.cos(beta)
    turning = gamma_dot + alpha_dot * sine
    body = Body(
        "coin",
        p.mass,
        (moment, moment, 2 * moment),
        axisymmetric=True,
        position=(0.0, y, p.radius * cosine),
        # Axis 1 along the heading, axis 3 the axle, to the left and, where it leans, upwards.
        rotation=quaternion((1, 0, 0), beta - np.pi / 2),
        velocity=(
            p.radius * turning,
            -p.radius * beta_dot * cosine,
            -p.radius * beta_dot * sine,
        ),
        angular_velocity=(beta_dot, -alpha_dot * cosine, turning),
    )
    rolling = Rolling("ground", body.frame(), Disc(p.radius))
    return Mechanism([body], [rolling], p, gravity=(0, 0, -p.gravity)), body


def posed() -> ds.MechanicalSystem:
    """Pose the coin, with its lean as an output."""
    mechanism, body = coin()
    axle = body.frame().axis(2)
    lean = ca.atan2(axle[2], ca.norm_2(axle[:2]))
    return mechanism.system(outputs={"lean": (lean, "rad")})


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Roll along x, from the top of a circle about the origin or with the rates that are given."""
    motion = dict(given)
    radius = motion.pop("circle_radius", None)
    if radius is not None:
        motion |= steady_circle(motion["beta"], radius, parameters)
    mechanism, _ = coin(**motion)
    return mechanism.start_at(parameters)


def steady_circle(beta: float, circle: float, parameters: Mapping[str, float]) -> dict[str, float]:
    """Return the rates on a steady circle, clockwise, and y at its top.

    Raises
    ------
    OutOfRangeError
        The coin cannot roll steadily in this way.
    """
    radius, gravity = parameters["radius"], parameters["gravity"]
    sine, cosine = np.sin(beta), np.cos(beta)
    # A = m r^2/4, C = 2 A: the mass cancels.
    inertia = radius * (-sine * radius / 4 + circle / 2 + circle - radius * sine)
    square = gravity * radius * sine / (cosine * inertia)
    if not square > 0:
        raise OutOfRangeError(
            f"no steady circle has the radius {circle:g} m and the lean {beta:g} rad: the coin "
            "must lean inwards, 0 < beta < pi/2, and the circle must not be too small"
        )
    alpha_dot = -float(np.sqrt(square))
    return {
        "alpha_dot": alpha_dot,
        "gamma_dot": -circle / radius * alpha_dot,
        "y": circle - radius * sine,
    }


def path_of_the_contact(document: Mapping[str, Any]) -> Figure:
    """Draw the track on the plane, and the path of the centre."""
    figure = new_figure(5.4, 5.4)
    axes = figure.add_subplot()
    draw_curve(axes, document, "ground_x", "ground_y", "contact", color="C0", linewidth=0.9)
    draw_curve(axes, document, "coin_x", "coin_y", "centre", color="C1", linewidth=0.6)
    plane(axes)
    axes.legend()
    return figure


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the coin and its track; its axes do not spin with it, so the drawing shows no spin."""
    pose, radius = Pose("coin"), document["parameters"]["radius"]
    positions, axes = frames_of(document, "coin")
    contact = ("ground_x", "ground_y", 0.0)
    return Drawing(
        [
            *tiles(positions, 2.0 * radius),
            Trace(contact, label="track"),
            Outline(pose.places(ring(radius)), label="coin"),
            Line([contact, pose.place((0.0, 0.0, 0.0))], role="detail"),
            Dot(contact, role="accent", label="contact"),
        ],
        series=pose.series(positions, axes),
        eye=(-0.6, -1.0, 0.6),
    )


problem = ds.Problem(
    "rolling-coin",
    title="A coin that rolls on its edge",
    models={"body": posed},
    sources=[
        "C. Le Saux, R. I. Leine, C. Glocker, Dynamics of a rolling disk in the presence of dry "
        "friction, J. Nonlinear Sci. 15 (2005) 27-61, (5.11)-(5.12)",
    ],
    start=start,
    start_values=lambda structure: ("alpha_dot", "beta_dot", "gamma_dot", "y"),
    figures={"track": path_of_the_contact},
    drawing=drawing,
    cases=[
        ds.Case(
            "circle",
            start={"beta": 0.2, "circle_radius": 0.1},
            until=60.0,
            note="round and round a circle of 10 cm, leaned by 0.2 rad",
        ),
        ds.Case(
            "wobble",
            start={"beta": 0.4, "alpha_dot": -8.0, "beta_dot": 0.0, "gamma_dot": 25.0},
            until=20.0,
            note="its lean swings as it goes round",
        ),
        ds.Case(
            "straight",
            start={"beta": 1e-3, "alpha_dot": 0.0, "beta_dot": 0.0, "gamma_dot": 60.0},
            until=20.0,
            note="rolls nearly straight on: fast enough not to fall",
        ),
    ],
)
