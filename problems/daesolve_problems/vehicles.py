"""What vehicles on wheels that stand upright look like from above, and figures of their motion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daesolve.drawing import Cosine, Linear, Outline, Point, Polar, Shape

Document = Mapping[str, Any]

TREADS = 5
"""How many marks there are round a wheel."""
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
        Where it stands, and the direction of its axle.
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
            # the upper side is at -radius sin(angle), for the wheel rolls by -radius phi'
            Cosine(radius, Linear(above.terms, above.constant + math.pi / 2.0 + side * THICKNESS))
            for side in (1.0, -1.0)
        )
        mark = [(half, front), (-half, front), (-half, rear), (half, rear)]
        shapes.append(Outline(mark, centre, axle, shown=Cosine(1.0, above), role="detail"))
    return shapes


# -- figures -------------------------------------------------------------------------------------


def series(document: Document, *keys: str) -> np.ndarray:
    """Return the numbers of a run's document, such as those of `"reactions", "skate"`."""
    entries: Any = document
    for key in keys:
        entries = entries[key]
    return np.array(entries, dtype=float)


def states(document: Document) -> dict[str, np.ndarray]:
    """Return the series of the states by name."""
    return {name: series(document, "states", name) for name in document["states"]}


def draw_paths(places: Mapping[str, np.ndarray]) -> Figure:
    """Draw paths in the plane, with a dot where each begins.

    Parameters
    ----------
    places
        x + i y in m, by the label of the path.
    """
    figure = Figure(figsize=(6.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    for label, place in places.items():
        x, y = np.real(place), np.imag(place)
        (line,) = axes.plot(x, y, linewidth=1.2, label=label)
        axes.plot(x[:1], y[:1], "o", markersize=4, color=line.get_color())
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    axes.legend()
    return figure


def panels_over_time(count: int, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels over time, side by side, its height in inches."""
    figure = Figure(figsize=(8.0, height), layout="constrained")
    panels = list(figure.subplots(1, count, squeeze=False).ravel())
    for axes in panels:
        axes.set_xlabel("t (s)")
        axes.margins(x=0.01)
    return figure, panels
