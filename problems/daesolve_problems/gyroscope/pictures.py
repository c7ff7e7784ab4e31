"""The gyroscope's figures, and what it looks like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import daesolve as ds
from daesolve.drawing import Circle, Cosine, Dot, Drawing, Line, Linear, Outline, Polar, Trace
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
    """Draw the way of the rotor's axis, and the velocities, which nutate about the slow ones."""
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


ABOVE, ASIDE, ALONG = (0.0, 0.0), (2.6, 0.0), (5.2, 0.0)
"""The middles of three views."""
RING, HOUSING, ROTOR, HALF_THICKNESS = 1.0, 0.8, 0.55, 0.1
QUARTER_TURN = math.pi / 2


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the gyroscope from above, along the inner axis, and along the rotor's axis.

    From above one sees the outer ring edge-on, turned by alpha, and the way of the rotor's axis;
    along the inner axis the housing and the rotor, raised by beta; along its axis the rotor, turned
    by gamma. Sizes are no parameters of the problem.
    """
    tip = Polar(ABOVE, Cosine(HOUSING, "beta"), Linear({"alpha": 1.0}, QUARTER_TURN))
    disc = [(x, y) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    return Drawing(
        [
            Circle(ABOVE, RING, role="ground"),
            _bar(ABOVE, RING, "alpha", "outer ring"),
            Trace(tip, label="way of the rotor's axis"),
            Line([ABOVE, tip], role="accent"),
            Dot(tip, role="accent", label="rotor's axis"),
            Line([(ASIDE[0], -RING), (ASIDE[0], RING)]),
            _bar(ASIDE, HOUSING, "beta", "housing"),
            Outline(
                [(HALF_THICKNESS * x, ROTOR * y) for x, y in disc],
                at=ASIDE,
                angle="beta",
                role="accent",
                label="rotor",
            ),
            Circle(ALONG, HOUSING),
            Circle(ALONG, ROTOR, angle="gamma", spokes=4, role="accent"),
        ],
        x_label="from above, along the inner axis, along the rotor's axis",
        y_label="",
    )


def _bar(middle: tuple[float, float], half: float, angle: str, label: str) -> Line:
    ends = [Polar(middle, half, Linear({angle: 1.0}, turn)) for turn in (0.0, math.pi)]
    return Line(ends, label=label)
