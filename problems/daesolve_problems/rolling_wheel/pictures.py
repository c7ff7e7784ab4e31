"""The paper's figure 3, and the drawing of the wheel; figure 2 is in every report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from daesolve.multibody.drawing import (
    Arrow,
    Circle,
    Dot,
    Drawing,
    Line,
    Linear,
    Polar,
    Shape,
    Trace,
)
from daesolve_problems.curves import Curve
from daesolve_problems.figures import Document, column, draw_curve, new_figure
from daesolve_problems.tracks import trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def reactions_along_the_curve(document: Document) -> Figure:
    """Draw the reaction over the place (figure 3): a hoop's is one closed curve, run after run."""
    figure, axes = _axes(3.6)
    named = {"reaction_x": "Rx", "reaction_z": "Rz"}
    if document["model"] == "friction":
        named = {"contact": "normal", "contact_friction": "friction"}
    for name, label in named.items():
        draw_curve(axes, document, "contact_x", name, label, linewidth=1.0)
    axes.set_xlabel("contact_x (m)")
    axes.set_ylabel("reaction (N)")
    axes.legend(markerscale=4)
    return figure


def drawing(curves: Mapping[str, Curve], document: Document) -> Drawing:
    """Draw the curve, the wheel with its spokes, the pendulum and the reaction at the contact."""
    centre = ("x", "z")
    shapes: list[Shape] = [
        _ground(curves, document),
        Circle(centre, "radius", angle="theta", spokes=6, label="wheel"),
    ]
    if document["structure"]["pendulum"]:
        bob = Polar(centre, "pendulum_length", Linear({"phi": 1.0}, -math.pi / 2))
        shapes += [
            Trace(bob, label="path of the bob"),
            Line([centre, bob], role="accent"),
            Dot(bob, role="accent", label="bob"),
        ]
    if document["model"] != "friction":
        size = np.hypot(column(document, "reaction_x"), column(document, "reaction_z"))
        shapes.append(
            Arrow(
                Polar(centre, "radius", "alpha"),
                ("reaction_x", "reaction_z"),
                scale=3.0 * document["parameters"]["radius"] / max(float(np.nanmax(size)), 1e-300),
                label="reaction",
            )
        )
    return Drawing(shapes, x_label="x (m)", y_label="z (m)")


def _ground(curves: Mapping[str, Curve], document: Document) -> Shape:
    """Return the curve about where the wheel was; of a nameless curve, where it was."""
    contact = np.column_stack([column(document, f"contact_{axis}") for axis in "xz"])
    curve = curves.get(document["structure"]["curve"])
    if curve is None:
        return Trace(("contact_x", "contact_z"), role="ground", label="rolled over")
    low, high = np.nanmin(contact, axis=0), np.nanmax(contact, axis=0)
    margin = 0.08 * max(float(np.max(high - low)), 10 * document["parameters"]["radius"])
    length = 2.0 * float(np.linalg.norm(high - low)) + 4.0 * margin
    traced = trace(curve, document["parameters"], contact[0], length)
    near = np.all((traced.points > low - margin) & (traced.points < high + margin), axis=1)
    piece = _around_the_start(near, int(np.argmin(np.abs(traced.s))))
    return Line(traced.points[piece], role="ground", label=curve.label)


def _around_the_start(near: np.ndarray, start: int) -> slice:
    """Return the samples about the start that are near without a gap."""
    after = np.flatnonzero(~near[start:])
    before = np.flatnonzero(~near[: start + 1])
    last = start + int(after[0]) if after.size else len(near)
    return slice(int(before[-1]) + 1 if before.size else 0, last)


def _axes(height: float) -> tuple[Figure, Axes]:
    figure = new_figure(8.0, height)
    return figure, figure.add_subplot()
