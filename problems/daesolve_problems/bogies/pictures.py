"""The figures of the vehicle, and its drawing from above."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Dot, Drawing, Line, Linear, Point, Polar, Shape, Trace
from daesolve_problems.bogies.theory import NEAR, LocalTheory
from daesolve_problems.figures import Document, column, draw_curve, new_figure, plane

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANGLES = ("theta_1", "theta_2")
FORCES = {"skate_1": "C0-", "skate_2": "C1--", "resultant": "C3-"}
QUARTER = math.pi / 2
SMALL: dict[str, Any] = {"frameon": False, "fontsize": "x-small"}
HALF_SKATE = 0.25
"""Half the length of a drawn skate, in distances of the bogies."""


def motion(document: Document) -> Figure:
    """Draw the path and the rates of turn."""
    figure = new_figure(9.0, 3.6)
    path, rates = figure.subplots(1, 2)
    times = np.array(document["times"], dtype=float)
    turning = column(document, "psi_dot")
    draw_curve(path, document, "x", "y", linewidth=1.0)
    start = column(document, "x")[:1], column(document, "y")[:1]
    path.plot(*start, "o", color="C3", markersize=5, label="start")
    plane(path)
    path.legend(frameon=False)
    rates.plot(times, turning, linewidth=1.0, label="psi_dot")
    for k in (1, 2):
        own = column(document, f"theta_dot_{k}")
        rates.plot(times, own, linewidth=1.0, label=f"theta_dot_{k}")
    rates.set_ylabel("rate of turn (rad/s)")
    rates.set_xlabel("t (s)")
    rates.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, **SMALL)
    return figure


def reactions(document: Document) -> Figure:
    """Draw the forces of the skates and their resultant about the sample nearest to degeneracy."""
    known = {**document["reactions"], **document["outputs"]}
    forces = {name: np.array(known[name], dtype=float) for name in FORCES if name in known}
    angles = [column(document, name) for name in ANGLES]
    return _forces(np.array(document["times"], dtype=float), angles, forces)


def passing(before: ds.Trajectory, after: ds.Trajectory) -> Figure:
    """Draw the forces of two runs that start from one state, one back and one ahead."""

    def joined(name: str) -> np.ndarray:
        return np.concatenate([before[name][::-1], after[name]])

    times = np.concatenate([before.times[::-1], after.times])
    return _forces(times, [joined(n) for n in ANGLES], {n: joined(n) for n in FORCES})


def sides(theory: LocalTheory) -> Figure:
    """Draw F for both signs of k, with its roots: filled those that attract before the point."""
    figure = new_figure(7.0, 4.0)
    axes = figure.add_subplot()
    roots = {side: theory.roots(side) for side in (-1.0, 1.0)}
    places = [root.x for found in roots.values() for root in found]
    margin = 0.3 * (max(places) - min(places)) + 0.5
    x = np.linspace(min(places) - margin, max(places) + margin, 801)
    for side, colour in ((-1.0, "C0"), (1.0, "C1")):
        values = [theory.value(place, side) for place in x]
        axes.plot(x, values, color=colour, label=f"k = {side:+.0f}")
        for root in roots[side]:
            fill = colour if root.slope > 0.0 else "white"
            axes.plot(root.x, 0.0, "o", color=colour, markerfacecolor=fill)
    axes.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    axes.set_xlabel("x = s / τ (m/s)")
    axes.set_ylabel("F(x) (m/s)")
    axes.legend(frameon=False)
    return figure


def _forces(
    times: np.ndarray, angles: Sequence[np.ndarray], forces: Mapping[str, np.ndarray]
) -> Figure:
    """Draw sizes of forces, logarithmic, over the time from the sample nearest to degeneracy.

    Where that is near, the time is logarithmic as well on both sides, from about where the
    distance has doubled.
    """
    distance = np.hypot(*np.cos(angles))
    nearest = int(np.nanargmin(distance))
    away = times - times[nearest]
    far = np.abs(away[distance > 2.0 * distance[nearest]])
    figure = new_figure(8.0, 3.8)
    axes = figure.add_subplot()
    for name, force in forces.items():
        size = np.abs(force)
        shown = np.where(size > 0.0, size, np.nan)
        axes.plot(away, shown, FORCES[name], label=name)
    if far.size and distance[nearest] < NEAR:
        axes.set_xscale("symlog", linthresh=10.0 ** math.ceil(math.log10(np.min(far))))
    axes.set_yscale("log")
    axes.set_xlabel(f"time from t = {times[nearest]:.4g} s (s)")
    axes.set_ylabel("force (N)")
    axes.legend(frameon=False)
    return figure


def drawing(document: Document) -> Drawing:
    """Draw the frame, the skates along their directions, and the path of the origin."""
    length = HALF_SKATE * (document["parameters"]["front"] + document["parameters"]["rear"])
    centre: Point = ("x", "y")
    pivots = [
        Polar(centre, "front", Linear({"psi": 1.0}, QUARTER)),
        Polar(centre, "rear", Linear({"psi": 1.0}, -QUARTER)),
    ]
    shapes: list[Shape] = [Trace(centre, label="path of the origin"), Line(pivots, label="frame")]
    for k, pivot in enumerate(pivots, start=1):
        along, back = (
            Polar(pivot, length, Linear({"psi": 1.0, f"theta_{k}": 1.0}, way))
            for way in (QUARTER, -QUARTER)
        )
        shapes.append(Line([along, back], role="accent", label="skates" * (k == 1)))
    mass_centre = Polar(centre, "centre", "psi")
    shapes += [Line([centre, mass_centre], role="detail"), Dot(mass_centre, label="mass centre")]
    return Drawing(shapes, x_label="x (m)", y_label="y (m)")
