"""Drawings from above of vehicles on upright wheels."""

from __future__ import annotations

import math

from daesolve.multibody.drawing import Cosine, Linear, Outline, Point, Polar, Role, Shape

TREADS = 5
"""The number of marks around a wheel."""
WIDTH, THICKNESS = 0.3, 0.12
"""The width of a wheel, and half the length of a mark on it, in radii."""


def fixed(origin: Point, angle: Linear, first: float, second: float) -> Point:
    """Return a point that is fixed to a body: along its first axis, then along its second."""
    across = Linear(angle.terms, angle.constant + math.pi / 2.0)
    return Polar(Polar(origin, first, angle), second, across)


def wheel_above(
    centre: Point, axle: Linear, radius: float, turn: str, label: str = ""
) -> list[Shape]:
    """Return a wheel that rolls across its axle, and the marks on its upper side.

    Parameters
    ----------
    centre, axle
        Its place, and the direction of its axle.
    radius
        m
    turn
        The name of its angle, which falls as it rolls forwards, to the left of its axle.
    label
        Its name in the legend.
    """
    half = WIDTH * radius / 2.0
    corners = [(half, radius), (-half, radius), (-half, -radius), (half, -radius)]
    shapes: list[Shape] = [Outline(corners, centre, axle, label=label)]
    for number in range(TREADS):
        above = Linear({turn: 1.0}, 2.0 * math.pi * number / TREADS)
        front, rear = (
            # the upper side is at -radius sin(angle), because the wheel rolls by -radius phi'
            Cosine(radius, Linear(above.terms, above.constant + math.pi / 2.0 + side * THICKNESS))
            for side in (1.0, -1.0)
        )
        mark = [(half, front), (-half, front), (-half, rear), (half, rear)]
        shapes.append(Outline(mark, centre, axle, shown=Cosine(1.0, above), role="detail"))
    return shapes


def tyre(
    centre: Point, along: Linear, radius: float, role: Role = "detail", label: str = ""
) -> Outline:
    """Return a wheel from above that rolls along a direction, m."""
    half = WIDTH * radius / 2.0
    corners = [(radius, half), (-radius, half), (-radius, -half), (radius, -half)]
    return Outline(corners, centre, along, role=role, label=label)
