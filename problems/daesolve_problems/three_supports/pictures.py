"""The figures of a body on three pairs of pads, and its drawing from above."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from daesolve.multibody.drawing import (
    Arrow,
    Circle,
    Dot,
    Drawing,
    Linear,
    Outline,
    Point,
    Shape,
    Trace,
)
from daesolve_problems.figures import (
    Document,
    draw_curve,
    new_figure,
    panels_over_time,
    plane,
    series,
)
from daesolve_problems.three_supports.models import NORMALS, PAIRS, SIDES, UP
from daesolve_problems.three_supports.pads import pad_motions
from daesolve_problems.vehicles import fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Place = tuple[float, float]

SHOWN = 7
"""Positions of the body along its path."""
MARGIN = 1.45
"""How far the corners of the body lie, in distances of the pads."""
FAR = 4.0
"""Sizes of the body beyond which the velocity centre is not drawn."""
STYLES = {1: "--", 2: "-"}
"""The line styles of upper and lower pads."""
LONGEST = 0.5
"""The largest friction in the drawing, in sizes of the body."""
SMALL: dict[str, Any] = {"frameon": False, "fontsize": "small"}
ABOVE: dict[str, Any] = {**SMALL, "loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 4}


# -- over time -----------------------------------------------------------------------------------


def trajectory(document: Document) -> Figure:
    """Draw the path of the mass centre, and the body in some positions; filled where it stops."""
    figure = new_figure(6.4, 5.2)
    axes = figure.add_subplot()
    x, y, phi = (series(document, "states", name) for name in ("x", "y", "phi"))
    draw_curve(axes, document, "x", "y", "mass centre", color="C0", linewidth=1.2)
    corners = np.array([complex(*corner) for corner in _corners(document["parameters"])])
    way = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    shown = np.searchsorted(way, np.linspace(0.0, float(way[-1]), SHOWN)).clip(0, len(x) - 1)
    for index in shown.tolist():
        _draw_body(
            axes, corners, (float(x[index]), float(y[index]), float(phi[index])), stopped=False
        )
    for event in _switches(document):
        at = event["detail"]
        axes.plot(at["x"], at["y"], "o", color="C1", markersize=5)
        axes.annotate(_switched_pair(event), (at["x"], at["y"]), fontsize="x-small")
    if _stop(document) is not None:
        end = document["end_state"]
        _draw_body(axes, corners, (end["x"], end["y"], end["phi"]), stopped=True)
        axes.plot(end["x"], end["y"], "s", color="C3", markersize=6, label="at rest")
    plane(axes)
    axes.legend(**SMALL)
    return figure


def reactions(document: Document) -> Figure:
    """Draw the reactions, positive where the lower pad is loaded, and a strip of loaded pads."""
    figure, (over, loaded) = panels_over_time(2)
    times = series(document, "times")
    rows = [(pair, side) for pair in reversed(PAIRS) for side in reversed(SIDES)]
    for pair in PAIRS:
        reaction = series(document, "outputs", NORMALS[pair])
        over.plot(times, reaction, linewidth=1.2, color=f"C{pair - 1}", label=NORMALS[pair])
        for side in SIDES:
            row = np.full_like(times, rows.index((pair, side)))
            where = (UP[side] * reaction > 0.0).tolist()
            loaded.fill_between(times, row - 0.35, row + 0.35, where=where, color=f"C{pair - 1}")
    over.axhline(0.0, color="0.6", linewidth=0.8)
    over.set_ylabel("reaction (N)")
    loaded.set_yticks(range(len(rows)), [f"{SIDES[side]} {pair}" for pair, side in rows])
    loaded.set_ylim(-0.6, len(rows) - 0.4)
    loaded.set_title("loaded pads", fontsize="medium")
    for axes in (over, loaded):
        _mark(axes, document)
    over.legend(**ABOVE)
    return figure


def stopping(document: Document) -> Figure:
    """Draw the speeds of the loaded pads, and their distances from the velocity centre."""
    figure, (speeds, ratios) = panels_over_time(2)
    times = series(document, "times")
    for (pair, side), pad in pad_motions(document).items():
        if np.isnan(pad.ratio).all():
            continue
        style, label = f"C{pair - 1}{STYLES[side]}", f"{SIDES[side]} {pair}"
        speeds.plot(times, pad.speed, style, linewidth=1.2, label=label)
        ratios.plot(times, pad.ratio, style, linewidth=1.2, label=label)
    speeds.set_ylabel("speed of the pad (m/s)")
    ratios.set_ylabel("from the velocity centre (radii)")
    ratios.set_yscale("log")
    for axes in (speeds, ratios):
        _mark(axes, document)
    speeds.legend(**ABOVE)
    return figure


FIGURES = {
    "trajectory": trajectory,
    "reactions and loaded pads": reactions,
    "all pads stop together": stopping,
}
"""The problem's own figures, by title."""


def _switches(document: Document) -> list[Mapping[str, Any]]:
    return [event for event in document["events"] if event["name"] == "support_switch"]


def _switched_pair(event: Mapping[str, Any]) -> str:
    return " ".join(f" {PAIRS[number]}" for number in event["fired"])


def _stop(document: Document) -> float | None:
    stops = [event["time"] for event in document["events"] if event["name"] == "at_rest"]
    return stops[0] if stops else None


def _mark(axes: Axes, document: Document) -> None:
    """Mark where other pads are loaded, and the stop."""
    for event in _switches(document):
        axes.axvline(event["time"], color="0.75", linewidth=0.8, linestyle=":", zorder=0)
    stop = _stop(document)
    if stop is not None:
        axes.axvline(stop, color="C3", linewidth=1.0, zorder=0, label="at rest")


def _draw_body(
    axes: Axes, corners: np.ndarray, place: tuple[float, float, float], *, stopped: bool
) -> None:
    x, y, phi = place
    rim = complex(x, y) + corners * np.exp(1j * phi)
    colour = "C3" if stopped else "0.55"
    axes.fill(rim.real, rim.imag, facecolor=colour, alpha=0.3 if stopped else 0.1)
    axes.plot(*np.append(rim, rim[0]).view(float).reshape(-1, 2).T, color=colour, linewidth=0.8)
    axes.plot([x, rim[0].real], [y, rim[0].imag], color=colour, linewidth=0.8)


def _corners(numbers: Mapping[str, float]) -> list[Place]:
    """Return the corners of the body in its own axes: beyond the middle of each pair."""
    middles = [
        [
            MARGIN * sum(numbers[f"{name}_{axis}_{pair}"] for name in SIDES.values()) / 2.0
            for axis in ("a", "b")
        ]
        for pair in PAIRS
    ]
    return [(a, b) for a, b in middles]


# -- from above ----------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the body from above: its pads, the loaded ones, and their friction.

    A loaded upper pad has spokes, a loaded lower one has none. The velocity centre is the point
    about which the body turns; it is drawn where it is near.
    """
    numbers, motions = document["parameters"], pad_motions(document)
    corners = _corners(numbers)
    size = 2.0 * max(math.hypot(*corner) for corner in corners)
    centre: Point = ("x", "y")
    shapes: list[Shape] = [
        Trace(centre, label="path of the mass centre"),
        Outline(corners, centre, "phi", label="body"),
    ]
    shapes += _pads(numbers, loaded=False)
    shapes += _pads(numbers, loaded=True)
    found = _turning_about(document, FAR * size)
    frictions = {at: np.nan_to_num(motion.friction) for at, motion in motions.items()}
    largest = max(float(np.max(np.hypot(*force))) for force in frictions.values())
    scale = LONGEST * size / largest if largest > 0.0 else 1.0
    for number, ((pair, side), force) in enumerate(frictions.items()):
        names = [f"friction_{axis}_{SIDES[side]}_{pair}" for axis in ("x", "y")]
        found |= dict(zip(names, force, strict=True))
        place = _at(numbers, pair, side)
        loaded = Linear({NORMALS[pair]: UP[side]})
        label = "friction" if number == 0 else ""
        shapes.append(Arrow(place, (names[0], names[1]), scale, shown=loaded, label=label))
    shapes.append(Dot(centre, label="mass centre"))
    shapes.append(Dot(("centre_x", "centre_y"), role="path", label="velocity centre"))
    return Drawing(shapes, series=found)


def _pads(numbers: Mapping[str, float], *, loaded: bool) -> list[Shape]:
    shapes: list[Shape] = []
    for pair in PAIRS:
        for side, name in SIDES.items():
            place, radius = _at(numbers, pair, side), numbers[f"{name}_pad_radius_{pair}"]
            if not loaded:
                shapes.append(Circle(place, radius, role="detail"))
                continue
            label = f"loaded {name} pad" if pair == PAIRS[0] else ""
            spokes: dict[str, Any] = {"angle": "phi", "spokes": 4} if name == "upper" else {}
            shown = Linear({NORMALS[pair]: UP[side]})
            shapes.append(Circle(place, radius, role="accent", label=label, shown=shown, **spokes))
    return shapes


def _at(numbers: Mapping[str, float], pair: int, side: int) -> Point:
    first, second = (numbers[f"{SIDES[side]}_{axis}_{pair}"] for axis in ("a", "b"))
    return fixed(("x", "y"), Linear({"phi": 1.0}), first, second)


def _turning_about(document: Document, far: float) -> dict[str, np.ndarray]:
    """Return the velocity centre of the body, NaN where it is far away."""
    given = {name: series(document, "states", name) for name in document["states"]}
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.array([-given["y_dot"], given["x_dot"]]) / given["phi_dot"]
        near = np.hypot(*away) < far
    return {
        f"centre_{axis}": np.where(near, given[axis] + part, np.nan)
        for axis, part in zip(("x", "y"), away, strict=True)
    }
