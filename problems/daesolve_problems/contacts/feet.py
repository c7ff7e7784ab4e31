"""A uniform block on two feet, which may slide, stick, lift off and strike the ground."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.core.posing.symbols import Interval
from daesolve.multibody.drawing import Arrow, Dot, Drawing, Line, Outline, Polar, Shape, Trace
from daesolve.typing import DifferentiableVector, Parameters
from daesolve_problems.figures import Document, series

FEET = {"rear": -1.0, "front": 1.0}
"""The feet, and on which side of the centre they are."""
AT_LEAST_ONE = Interval(1.0, math.inf)
"""The range of static over sliding friction."""
SHORTEST = 0.1
"""The least extent around the block in a drawing, as a fraction of its path."""
LONGEST = 1.5
"""The weight in a drawing, in heights of the block's centre."""


def numbers(
    half_width: float,
    height: float,
    friction: tuple[float, float],
    **more: tuple[float, str] | tuple[float, str, Interval],
) -> Parameters:
    """Return the parameters of a block of 1 kg, and those of what it stands on."""
    return ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        half_width=(half_width, "m", ds.POSITIVE),
        height=(height, "m", ds.POSITIVE),
        mu_rear=(friction[0], "", ds.NON_NEGATIVE),
        mu_front=(friction[1], "", ds.NON_NEGATIVE),
        static_share=(1.0, "", AT_LEAST_ONE),
        restitution=(0.0, "", ds.NON_NEGATIVE),
        gravity=(9.81, "m/s^2"),
        **more,
    )


def block(
    q: DifferentiableVector,
    p: Parameters,
    ground_speed: ca.SX | float = 0.0,
    incline: ca.SX | float = 0.0,
    pull: ca.SX | float = 0.0,
) -> ds.MechanicalSystem:
    """Pose a block on a plane.

    Parameters
    ----------
    q, p
        From `coordinates` and `numbers`.
    ground_speed
        With which the ground moves along x, m/s.
    incline
        By which the plane falls towards x, rad.
    pull
        The potential of further loads, J.
    """
    feet = [
        ds.Contact(
            foot,
            q.y + side * p.half_width * ca.sin(q.theta) - p.height * ca.cos(q.theta),
            slip=_speed(q, foot_place(q, p, side)) - ground_speed,
            friction=p[f"mu_{foot}"],
            static_friction=p.static_share * p[f"mu_{foot}"],
            restitution=p.restitution,
        )
        for foot, side in FEET.items()
    ]
    inertia = p.mass * ((2 * p.half_width) ** 2 + (2 * p.height) ** 2) / 12
    up = q.y * ca.cos(incline) - q.x * ca.sin(incline)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2 + inertia * q.dot.theta**2 / 2,
        potential=p.mass * p.gravity * up + pull,
        goals=feet,
    )


def coordinates() -> DifferentiableVector:
    """Return the coordinates of a block: its centre and its tilt."""
    return ds.coordinates(x="m", y="m", theta="rad")


def foot_place(q: DifferentiableVector, p: Parameters, side: float) -> ca.SX:
    """Return the position of a foot along the plane, m."""
    return q.x + side * p.half_width * ca.cos(q.theta) + p.height * ca.sin(q.theta)


def _speed(q: DifferentiableVector, place: ca.SX) -> ca.SX:
    return ca.jacobian(place, q.vector) @ q.dot.vector


def standing(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Let a block stand on both feet, or lean on one of them where `theta` is given."""
    theta = given.get("theta", 0.0)
    state = {"x": 0.0, "x_dot": 0.0, "y_dot": 0.0, "theta": theta, "theta_dot": 0.0, **given}
    half, height = parameters["half_width"], parameters["height"]
    return {"y": half * abs(math.sin(theta)) + height * math.cos(theta), **state}


def lifted(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Return which foot is off the ground at the start."""
    theta = given.get("theta", 0.0)
    return {"contact_front": float(theta <= 0.0), "contact_rear": float(theta >= 0.0)}


def drawing(document: Document) -> Drawing:
    """Draw the block on its plane, with the forces on its feet."""
    half, height = (document["parameters"][name] for name in ("half_width", "height"))
    weight = document["parameters"]["mass"] * document["parameters"]["gravity"]
    x = series(document, "states", "x")
    reach = max(2.0 * (half + height), SHORTEST * float(x.max() - x.min()))
    ground = (float(x.min()) - reach, 0.0), (float(x.max()) + reach, 0.0)
    box = [(-half, -height), (half, -height), (half, height), (-half, height)]
    shapes: list[Shape] = [
        Line(ground, role="ground", label="ground"),
        Trace(("x", "y"), label="path of the centre"),
        Outline(box, at=("x", "y"), angle="theta", label="block"),
        Dot(("x", "y"), role="accent"),
    ]
    scale = LONGEST * height / weight
    upright = series(document, "states", "theta") + math.pi / 2.0
    for foot, side in FEET.items():
        beside = Polar(("x", "y"), side * half, "theta")
        place = Polar(beside, -height, "upright")
        label = "forces of the ground" if foot == "rear" else ""
        shapes.append(Arrow(place, (f"{foot}_friction", foot), scale, label=label))
    return Drawing(shapes, series={"upright": upright})
