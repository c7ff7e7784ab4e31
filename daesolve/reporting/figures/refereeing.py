"""Figures of a file that two packages ran: gaps, energy, divergence, and where the bodies are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from daesolve.multibody.drawing import Drawing, Placed, Trace, evaluate
from daesolve.multibody.referee.verdict import RefereeVerdict, Side
from daesolve.reporting.figures.renderer import look_at, paint
from daesolve.reporting.figures.style import PANEL_WIDTH, QUIET, colour, strip, style, tick
from daesolve.reporting.film import around, framed

LOWEST = 1e-18
"""What is smaller is drawn here: a zero has no logarithm."""
STROKES = ("-", "--", "-.", ":")
HEIGHT = 2.9
TALLEST = 4.6


@dataclass(frozen=True, eq=False)
class Still:
    """A drawing and the values at one instant.

    Parameters
    ----------
    title
        Above it.
    drawing, values, parameters
        What `evaluate` takes; of the series the last values are shown.
    """

    title: str
    drawing: Drawing
    values: Mapping[str, np.ndarray]
    parameters: Mapping[str, float]

    @property
    def bodies(self) -> list[Placed]:
        """What is drawn: all but the paths."""
        shapes = [shape for shape in self.drawing.shapes if not isinstance(shape, Trace)]
        return evaluate(replace(self.drawing, shapes=shapes), self.values, self.parameters, -1)


def gaps(verdict: RefereeVerdict) -> Figure | None:
    """Draw the largest gap of the loops over time; None if there are no loops."""
    if not verdict.own.motion.gaps.size:
        return None
    return _curves(
        verdict, lambda side: np.max(side.motion.gaps, axis=1), "largest gap (m, rad)", None
    )


def energy(verdict: RefereeVerdict) -> Figure:
    """Draw what of the change of the energy no work accounts for, over the kinetic energy."""

    def lost(side: Side) -> np.ndarray:
        motion = side.motion
        return np.abs(motion.energy - motion.energy[0] - motion.work) / (
            verdict.own.motion.kinetic or 1.0
        )

    label = "E − E₀" if verdict.conserved else "E − E₀ − work"
    return _curves(verdict, lost, f"|{label}| / largest kinetic energy", None)


def divergence(verdict: RefereeVerdict) -> Figure:
    """Draw how far MuJoCo's bodies are from daesolve's, for each step."""
    found = {one.step: one.distances for one in verdict.divergences}

    def distances(side: Side) -> np.ndarray:
        return found[side.step] if side.step is not None else np.empty(0)

    return _curves(verdict, distances, "largest distance of a body (m)", verdict.tolerance)


def _curves(
    verdict: RefereeVerdict, value: Callable[[Side], np.ndarray], label: str, level: float | None
) -> Figure:
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, HEIGHT))
        axes = figure.add_subplot()
        for place, side in enumerate((verdict.own, *verdict.others)):
            sizes = value(side)
            if sizes.size:
                axes.plot(
                    side.motion.times[: sizes.size],
                    np.maximum(sizes, LOWEST),
                    STROKES[place % len(STROKES)],
                    color=colour(place),
                    label=side.title,
                )
        if level is not None:
            axes.axhline(level, color=QUIET, linewidth=0.8, linestyle=":")
            near: dict[str, Any] = {
                "xycoords": ("axes fraction", "data"),
                "textcoords": "offset points",
            }
            looks: dict[str, Any] = {"va": "center", "color": QUIET, "fontsize": 8}
            axes.annotate("apart", (1.0, level), xytext=(4, 0), **near, **looks)
        _logarithmic(axes)
        axes.set_xlabel("time (s)")
        axes.set_ylabel(label)
        strip(axes)
    return figure


def _logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(tick))
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.margins(x=0.01)
    low, high = axes.get_ylim()
    if high < 10.0 * low:
        axes.set_ylim(low / 10.0, 10.0 * high)


def at_the_end(stills: Sequence[Still]) -> Figure | None:
    """Draw the bodies at the end, side by side and at one scale; None if nothing is drawn."""
    shown = [still.bodies for still in stills]
    boxes = [entry.box for bodies in shown for entry in bodies]
    boxes = [box for box in boxes if np.isfinite(box).all()]
    if not boxes:
        return None
    limits = framed(around(boxes))
    wide, tall = np.ptp(limits, axis=0)
    width = PANEL_WIDTH / len(stills)
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, min(TALLEST, width * tall / wide) + 0.9))
        panels = np.atleast_1d(figure.subplots(1, len(stills), sharey=True))
        for axes, still, bodies in zip(panels, stills, shown, strict=True):
            for body in bodies:
                paint(axes, body)
            look_at(axes, limits)
            axes.set_title(still.title)
            axes.set_xlabel(still.drawing.x_label)
        panels[0].set_ylabel(stills[0].drawing.y_label)
    return figure
