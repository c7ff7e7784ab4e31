"""The figures of a wheelset, and its drawing between the rails."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Camera, Drawing, Line, Linear, Outline, Polar, Shape, Trace
from daesolve_problems.figures import Document, draw_curve, new_figure, series
from daesolve_problems.orders import FULL
from daesolve_problems.wheelset.vehicles import kinematic_frequency

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HALF_TRACK = 1.5
"""In the drawing, where om0 T runs along the track, so that a wave is 2 pi long."""
SWAY = 0.6
"""The largest lateral motion in the drawing."""
WHEEL = [(-0.3, -0.08), (0.3, -0.08), (0.3, 0.08), (-0.3, 0.08)]
LABELS = {"y": "y", "psi": "ψ"}


def slips(document: Document) -> Figure:
    """Draw the slips of each axle's left wheel over time."""
    figure, axes = _axes(2)
    for name in document["outputs"]:
        if name.startswith("slip_"):
            slip = series(document, "outputs", name)
            axes[name.startswith("slip_y")].plot(document["times"], slip, label=name)
    for axis, label in zip(axes, ("along (eps V)", "across (eps V)"), strict=True):
        axis.set_ylabel(f"slip {label}")
        axis.legend()
    axes[-1].set_xlabel(_time(document))
    return figure


def path(document: Document) -> Figure:
    """Draw the angle of yaw over the lateral place."""
    figure = new_figure(5.0, 4.6)
    axes = figure.add_subplot()
    draw_curve(axes, document, *(f"scaled_{name}" for name in LABELS), linewidth=1.0)
    axes.set_xlabel("y, normalised")
    axes.set_ylabel("ψ, normalised")
    return figure


FIGURES = {"slips": slips, "yaw over lateral place": path}


def trajectories(runs: Mapping[str, ds.Trajectory]) -> Figure:
    """Draw the motion by each model."""
    figure, axes = _axes(2)
    for axis, (name, label) in zip(axes, LABELS.items(), strict=True):
        for number, (model, run) in enumerate(runs.items()):
            style = "-" if number == 0 else "--"
            axis.plot(run.times, run[name], style, label=model, linewidth=1.2)
        axis.set_ylabel(label)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(runs), frameon=False)
    axes[-1].set_xlabel("t")
    return figure


def pressed(run: ds.Trajectory, play: float, limit: float) -> Figure:
    """Draw the shift within the free play, and the flange's quotient where it is at the rail."""
    figure, axes = _axes(2)
    axes[0].plot(run.times, 1e3 * run["y"])
    axes[0].axhspan(-1e3 * play, 1e3 * play, color="0.9", label="free play")
    axes[0].set_ylim(-1.6e3 * play, 1.6e3 * play)
    axes[0].set_ylabel("y (mm)")
    quotient = run["flange_quotient"]
    axes[1].plot(run.times, quotient, color="0.7", label="if held where it is")
    axes[1].plot(
        run.times,
        np.where(np.abs(run["y"]) >= play, quotient, np.nan),
        color="C3",
        label="at the rail",
    )
    axes[1].axhline(limit, color="black", linestyle="--", label="Nadal's limit")
    axes[1].set_ylabel("L / N")
    for axis in axes:
        axis.legend()
    axes[-1].set_xlabel("t (s)")
    return figure


def slips_against(found: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the largest slips and the distance from the motion without slip against eps."""
    figure = new_figure(6.4, 4.4)
    axes = figure.add_subplot()
    for name, label in (
        ("slip_x", "slip along"),
        ("slip_y", "slip across"),
        ("distance", "distance from the motion without slip"),
    ):
        axes.loglog(found["eps"], found[name], "o-", label=label)
    axes.set_xticks(found["eps"], [f"{eps:g}" for eps in found["eps"]])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("eps")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def root_locus(found: Mapping[str, ds.analysis.RootLocus]) -> Figure:
    """Draw the two slowest eigenvalues in the plane, and growth rates over the speed.

    The fast ones are left out, because their real parts are many times as large; so are eigenvalues
    of reduced models far from those of the full one, outside their range.
    """
    figure = new_figure(9.0, 4.2)
    plane, over = figure.subplots(1, 2)
    for number, (model, locus) in enumerate(found.items()):
        colour = f"C{number}"
        slow = _slowest(locus)
        plane.plot(np.real(slow), np.imag(slow), ".", markersize=4, color=colour)
        over.plot(locus.values, locus.growth, color=colour, label=model)
        for critical in locus.critical:
            over.axvline(critical.value, color="0.7", linewidth=0.8)
            plane.plot(0.0, critical.frequency, "o", markersize=6, color=colour)
    plane.axvline(0.0, color="0.6", linewidth=0.8)
    over.axhline(0.0, color="0.6", linewidth=0.8)
    plane.set_xlabel("real part (1/s)")
    plane.set_ylabel("imaginary part (rad/s)")
    over.set_xlabel("speed (m/s)")
    over.set_ylabel("growth rate (1/s)")
    usual = _slowest(found[FULL])
    plane.set(xlim=_around(np.real(usual)), ylim=_around(np.imag(usual)))
    over.set_ylim(_around(found[FULL].growth))
    over.legend()
    return figure


def _slowest(locus: ds.analysis.RootLocus) -> np.ndarray:
    """Return the two eigenvalues with the largest real parts, (m, 2)."""
    order = np.argsort(np.real(locus.eigenvalues), axis=1)
    return np.take_along_axis(locus.eigenvalues, order[:, -2:], axis=1)


def _around(values: np.ndarray) -> tuple[float, float]:
    """Return a range twice as wide as that of some values."""
    low, high = float(np.min(values)), float(np.max(values))
    return low - (high - low) / 2, high + (high - low) / 2


def drawing(document: Document) -> Drawing:
    """Draw the axles from above as they run along the rails, their lateral motion enlarged.

    Both axes are enlarged so that the path of the centre has its true slope to the axles.
    """
    parameters = document["parameters"]
    dimensional = "speed" in parameters
    om0 = kinematic_frequency(parameters) if dimensional else 1.0
    y, psi = (series(document, "states", name) for name in LABELS)
    farthest = float(np.nanmax(np.abs(y)))
    factor = SWAY / farthest if farthest > 0.0 else 1.0
    slope = factor * psi * (parameters["speed"] / om0 if dimensional else 1.0)
    along = om0 * series(document, "times")
    moved = {"along": along, "across": factor * y, "heading": np.arctan(slope)}
    base = _wheelbase(parameters, om0)
    first, last = float(along[0]) - 2.0, float(along[-1]) + 2.0
    shapes: list[Shape] = [
        Line([(first, side * HALF_TRACK), (last, side * HALF_TRACK)], role="ground")
        for side in (-1, 1)
    ]
    centre = ("along", "across")
    shapes.append(Trace(centre, label="path of the centre"))
    middles = [Polar(centre, ahead, "heading") for ahead in ((-base, base) if base else (0.0,))]
    if base:
        shapes.append(Line(middles, label="frame"))
    for middle, label in zip(middles, ("axle", ""), strict=False):
        shapes += _axle(middle, label)
    return Drawing(
        shapes,
        x_label="way along the track · ω₀/V",
        y_label=f"lateral motion · {factor:.3g}",
        series=moved,
        camera=Camera(centre, 4 * HALF_TRACK),
    )


def _wheelbase(parameters: Mapping[str, float], om0: float) -> float:
    """Return half the wheelbase in the units of the drawing; zero for a wheelset."""
    if "half_wheelbase" in parameters:
        return parameters["half_wheelbase"] * om0 / parameters["speed"]
    return parameters["wheelbase"] * parameters["eta"] if "wheelbase" in parameters else 0.0


def _axle(middle: Polar, label: str) -> list[Shape]:
    """Return an axle across the heading and its wheels."""
    across = Linear({"heading": 1.0}, math.pi / 2)
    ends = [Polar(middle, side * HALF_TRACK, across) for side in (-1, 1)]
    wheels = [Outline(WHEEL, at=end, angle="heading", role="accent") for end in ends]
    return [Line(ends, label=label), *wheels]


def _axes(rows: int) -> tuple[Figure, list[Axes]]:
    figure = new_figure(8.0, 2.3 * rows)
    return figure, list(figure.subplots(rows, 1, sharex=True))


def _time(document: Document) -> str:
    return "t (s)" if "speed" in document["parameters"] else "t"
