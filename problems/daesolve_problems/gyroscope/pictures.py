"""The gyroscope's figures and drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import (
    Dot,
    Drawing,
    Line,
    Outline,
    Pose,
    Trace,
    axes_by_turns,
    ring,
    series_of,
    wheel,
)
from daesolve_problems.figures import draw_curve, new_figure
from daesolve_problems.gyroscope.models import ANGLES, SMALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def angles(runs: Mapping[str, ds.Trajectory]) -> Figure:
    """Draw the angles of the rings over time, by several models."""
    figure = new_figure(8.0, 5.2)
    panels = figure.subplots(2, 1, sharex=True)
    for panel, name in zip(panels, ANGLES, strict=True):
        for model, run in runs.items():
            panel.plot(run.times, run[name], linewidth=1.0, label=model)
        panel.set_ylabel(f"{name} (rad)")
    panels[-1].set_xlabel("t (s)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def nutation(runs: Mapping[str, ds.Trajectory]) -> Figure:
    """Draw the path of the rotor's axis, and the velocities, which nutate about the slow ones."""
    figure = new_figure(8.0, 4.0)
    panels = figure.subplots(1, 2)
    for panel, names, unit in zip(panels, (ANGLES, SMALL), ("rad", "rad/s"), strict=True):
        for model, run in runs.items():
            panel.plot(run[names[0]], run[names[1]], linewidth=0.9, label=model)
        panel.set_xlabel(f"{names[0]} ({unit})")
        panel.set_ylabel(f"{names[1]} ({unit})")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def way_of_the_axis(document: Mapping[str, Any]) -> Figure:
    """Draw where the rotor's axis points: azimuth alpha, elevation beta."""
    states = document["states"]
    figure = new_figure(6.0, 4.4)
    axes = figure.add_subplot()
    draw_curve(axes, document, "alpha", "beta", linewidth=0.9)
    axes.plot(states["alpha"][0], states["beta"][0], "o", color="C3", label="start")
    axes.set_xlabel("alpha (rad)")
    axes.set_ylabel("beta (rad)")
    axes.legend()
    return figure


RING, HOUSING, ROTOR = 1.0, 0.8, 0.55
"""Radii in the drawing; the problem has no parameters for sizes."""


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the outer ring, the housing in it, the rotor, and the path of the rotor's axis.

    The outer ring turns about the vertical by alpha, the housing in it about the inner axis, which
    raises the rotor's axis by beta, and the rotor about its own by gamma.
    """
    alpha, beta, gamma = series_of(document, "alpha", "beta", "gamma")
    outer = axes_by_turns([(2, alpha)])
    housing = outer @ axes_by_turns([(1, -beta)])
    turned = {"ring": outer, "housing": housing, "rotor": housing @ axes_by_turns([(0, gamma)])}
    poses = {name: Pose(name) for name in turned}
    nowhere = np.zeros((len(alpha), 3))
    series: dict[str, np.ndarray] = {}
    for name, pose in poses.items():
        series |= pose.series(nowhere, turned[name])
    tip = poses["housing"].place((HOUSING, 0.0, 0.0))
    inner = [poses["ring"].place((0.0, side, 0.0)) for side in (-RING, RING)]
    return Drawing(
        [
            Line([(0.0, 0.0, -1.3 * RING), (0.0, 0.0, -RING)], role="ground"),
            Line([(0.0, 0.0, RING), (0.0, 0.0, 1.3 * RING)], role="ground", label="outer axis"),
            Trace(tip, label="path of the rotor's axis"),
            Line(inner, role="detail"),
            Outline(poses["ring"].places(ring(RING, 0)), label="outer ring"),
            Outline(poses["housing"].places(ring(HOUSING, 2)), role="force", label="housing"),
            *wheel(poses["rotor"], ROTOR, 0, "rotor"),
            Dot(tip, role="accent", label="end of the rotor's axis"),
        ],
        x_label="across",
        y_label="up",
        series=series,
        eye=(0.8, -1.0, 0.5),
    )
