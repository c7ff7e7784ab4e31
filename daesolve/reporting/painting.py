"""Shapes of a drawing as Matplotlib's artists, and where a text has room between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle as Disc
from matplotlib.patches import FancyArrowPatch, Patch, Polygon
from scipy.spatial import KDTree

from daesolve.drawing import Arrow, Circle, Dot, Outline, Placed, Role, Shape
from daesolve.reporting.style import MOST_DOTS, QUIET, SERIES, SURFACE

COLOURS: Mapping[Role, str] = {
    "body": SERIES[0],
    "accent": SERIES[1],
    "ground": QUIET,
    "path": SERIES[2],
    "force": SERIES[3],
    "detail": QUIET,
}
FILL = 0.14
FINE = 0.7
"""The stroke of details, points; that of all else is 1.5."""
ABOVE = 2.0
"""One height for all artists, so that later ones lie above, be they lines or patches."""
COMPASS = np.array([[0, -1], [-1, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [1, 1], [0, 1]])
"""Sides of a body on which a text may stand, the best one last."""
ENOUGH = 0.99
"""The distance from what is drawn, in sizes of a text, beyond which more is no gain."""


def paint(axes: Axes, entry: Placed, *, strength: float = 1.0, size: float = 1.0) -> None:
    """Draw a shape where it is, if it is to be seen.

    Parameters
    ----------
    axes
        In the coordinates of the drawing.
    entry
        A shape in its place.
    strength
        From 0, invisible, to 1.
    size
        Of strokes, dots and arrow heads; 1 suits bodies that one can recognize.
    """
    if not entry.shown:
        return
    stroke: dict[str, Any] = {
        "color": COLOURS[entry.shape.role],
        "alpha": strength,
        "linewidth": (FINE if entry.shape.role == "detail" else 1.5) * size,
        "zorder": ABOVE,
    }
    solid = entry.shape.role == "detail"
    match entry.shape:
        case Circle():
            disc = Disc((entry.points[0, 0], entry.points[0, 1]), entry.radius)
            _fill(axes, disc, stroke, solid=solid)
            finer: dict[str, Any] = {**stroke, "linewidth": 0.8 * size}
            for spoke in entry.spokes:
                axes.plot(*spoke.T, **finer)
        case Outline():
            _fill(axes, Polygon(entry.points), stroke, solid=solid)
        case Dot():
            axes.plot(*entry.points.T, "o", markersize=6.5 * size, markeredgewidth=0, **stroke)
        case Arrow():
            head = {"arrowstyle": "-|>", "mutation_scale": 9.0 * size, "shrinkA": 0, "shrinkB": 0}
            tail, tip = entry.points
            axes.add_patch(FancyArrowPatch((tail[0], tail[1]), (tip[0], tip[1]), **head, **stroke))
        case _:
            axes.plot(*entry.points.T, **stroke)


def paint_samples(axes: Axes, trace: Placed) -> None:
    """Draw the samples of a trace as dots, where a line between them would not be honest."""
    axes.plot(
        *trace.points[:: -(-len(trace.points) // MOST_DOTS)].T,
        "o",
        color=COLOURS[trace.shape.role],
        markersize=2.0,
        markeredgewidth=0,
        zorder=ABOVE,
    )


def name(axes: Axes, shape: Shape, *, scattered: bool = False) -> None:
    """Enter the label of a shape for the legend of axes; `scattered` means a trace in dots."""
    if not shape.label:
        return
    hollow = isinstance(shape, Circle | Outline)
    alone = hollow or scattered or isinstance(shape, Dot)
    axes.plot(
        [],
        [],
        "s" if isinstance(shape, Outline) else "o" if alone else "-",
        fillstyle="none" if hollow else "full",
        markersize=2.0 if scattered else 6.0,
        color=COLOURS[shape.role],
        label=f"{shape.label} (samples)" if scattered else shape.label,
    )


def look_at(axes: Axes, corners: np.ndarray) -> None:
    """Show what lies between two corners, (2, 2), at the same scale along both axes."""
    axes.set_xlim(*corners[:, 0])
    axes.set_ylim(*corners[:, 1])
    axes.set_aspect("equal")


def strokes(entries: Sequence[Placed]) -> np.ndarray:
    """Return (k, 2) points along what is drawn of shapes, so close that no text fits between."""
    found = np.concatenate([_strokes(entry) for entry in entries])
    return found[np.isfinite(found).all(axis=1)]


def free_spot(
    bodies: Sequence[Placed],
    others: np.ndarray,
    taken: np.ndarray,
    text: np.ndarray,
    limits: np.ndarray,
) -> np.ndarray:
    """Return where a text beside bodies goes: in sight, upon nothing, apart from other bodies.

    Parameters
    ----------
    bodies
        What the text is about.
    others
        (k, 2) points of what it is not about; it may be empty.
    taken
        (m, 2) points of all that is drawn.
    text
        (2,) how far the middle of the text stays from what is drawn, to its sides and above it.
    limits
        (2, 2) the corners of the axes.
    """
    points = np.concatenate([body.points for body in bodies])
    radii = np.concatenate([np.full(len(body.points), body.radius) for body in bodies])
    towards = COMPASS / np.linalg.norm(COMPASS, axis=1)[:, None]
    spots = points[:, None] + radii[:, None, None] * towards + text * COMPASS
    spots = spots.reshape(-1, 2)
    inside = ((spots - text >= limits[0]) & (spots + text <= limits[1])).all(axis=1)
    room = np.minimum(KDTree(taken / text).query(spots / text)[0], ENOUGH)
    apart = KDTree(others / text).query(points / text)[0] if len(others) else np.zeros(len(points))
    return spots[np.lexsort((np.repeat(apart, len(COMPASS)), room, inside))[-1]]


def _strokes(entry: Placed) -> np.ndarray:
    if isinstance(entry.shape, Circle):
        turns = np.linspace(0.0, 2.0 * math.pi, 24)
        rim = entry.points + entry.radius * np.column_stack([np.cos(turns), np.sin(turns)])
        along = np.linspace(entry.spokes[:, 0], entry.spokes[:, 1], 12)
        return np.concatenate([rim, along.reshape(-1, 2)])
    parts = np.linspace(0.0, 1.0, 2 + 200 // len(entry.points))[:, None, None]
    closed = isinstance(entry.shape, Outline)
    ends = np.vstack([entry.points, entry.points[:1]]) if closed else entry.points
    between = ends[:-1] + parts * np.diff(ends, axis=0)
    return np.concatenate([entry.points, between.reshape(-1, 2)])


def _fill(axes: Axes, patch: Patch, stroke: Mapping[str, Any], *, solid: bool) -> None:
    """Fill a patch faintly; a solid one hides what is behind it."""
    colour, strength = stroke["color"], stroke["alpha"]
    faint = (_mixed(colour, FILL), strength) if solid else (colour, FILL * strength)
    patch.set(
        facecolor=faint,
        edgecolor=(colour, strength),
        linewidth=stroke["linewidth"],
        zorder=stroke["zorder"],
    )
    axes.add_patch(patch)


def _mixed(colour: str, part: float) -> tuple[float, ...]:
    """Return a colour upon the surface of the page, opaque."""
    return tuple(part * np.array(to_rgb(colour)) + (1.0 - part) * np.array(to_rgb(SURFACE)))
