"""Marks in axes: lines, dots with slopes, ranges; legends and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daesolve.reporting.sampling import FEWEST, MOST_TURNS, Series, envelope, turning_points
from daesolve.reporting.style import MOST_DOTS, PANEL_WIDTH, QUIET, style, ticks

BINS = 125
SAMPLES_IN_BIN = 25
LEGEND_LINE = 0.18
NOTHING = 1e-12
"""What no axis magnifies, in units of the quantity: the rounding of what is at rest."""
LEGEND_MARK, LEGEND_LETTER = 0.4, 0.075
"""The width of the mark and of a letter of a legend, inches."""


@dataclass(frozen=True)
class Curve:
    """One series in a panel.

    Parameters
    ----------
    label, series, colour
        What it is and how it looks.
    joinable
        Whether a line through its samples is honest.
    above
        How many curves of the same quantity lie above it, which it must not vanish under.
    beginning
        The first stretch where its samples can be joined.
    """

    label: str
    series: Series
    colour: str
    joinable: bool
    above: int = 0
    beginning: Series | None = None

    @property
    def crowded(self) -> bool:
        """Whether the whole of it is better shown by its range."""
        finite = self.series.values[np.isfinite(self.series.values)]
        if not finite.size or np.ptp(finite) <= NOTHING:
            return False
        scattered = not self.joinable and len(self.series.times) > 2 * FEWEST
        return scattered or turning_points(self.series.values) > MOST_TURNS


def mark(axes: Axes, curve: Curve, *, crowded: bool) -> None:
    """Draw the whole of a series: its range where axes are crowded, else as its samples allow."""
    if crowded:
        bins = min(BINS, len(curve.series.times) // SAMPLES_IN_BIN)
        band(axes, curve.series, max(1, bins), curve.colour, curve.label)
    elif curve.joinable:
        line(axes, curve, curve.series)
    else:
        dots(axes, curve)


def line(axes: Axes, curve: Curve, shown: Series) -> None:
    """Draw samples joined by a line."""
    width = 1.3 + 1.2 * min(curve.above, 3)
    axes.plot(*shown.joined(), color=curve.colour, linewidth=width, label=curve.label)


def dots(axes: Axes, curve: Curve) -> None:
    """Draw samples apart from each other, with short strokes where their slopes are known."""
    shown = curve.series
    axes.plot(
        shown.times,
        shown.values,
        "o",
        markersize=3.2 + 3.0 * min(curve.above, 3),
        fillstyle="none" if curve.above else "full",
        color=curve.colour,
        label=curve.label,
    )
    if shown.slopes is None or len(shown.times) < 2:
        return
    half = 0.22 * float(np.median(np.abs(np.diff(shown.times))))
    gap = np.full_like(shown.times, np.nan)
    times = np.column_stack([shown.times - half, shown.times + half, gap]).ravel()
    rise = half * shown.slopes
    values = np.column_stack([shown.values - rise, shown.values + rise, gap]).ravel()
    axes.plot(times, values, color=curve.colour, linewidth=1.0, alpha=0.8)


def portrait(axes: Axes, curve: Curve) -> None:
    """Draw the slope of each sample over its value: what samples show that cannot be joined."""
    every = -(-len(curve.series.times) // MOST_DOTS)
    assert curve.series.slopes is not None
    axes.plot(
        curve.series.values[::every],
        curve.series.slopes[::every],
        "o",
        markersize=1.6 + 1.6 * min(curve.above, 3),
        markeredgewidth=0,
        color=curve.colour,
    )


def band(axes: Axes, entry: Series, bins: int, shade: str, label: str = "") -> None:
    """Draw the range of the samples in equal spans of time."""
    edges, low, high = envelope(entry, bins)
    axes.stairs(high, edges, baseline=low, fill=True, color=shade, alpha=0.25, label=label)
    for side in (low, high):
        axes.stairs(side, edges, baseline=None, color=shade, linewidth=0.9)


def settle(axes: Axes, values: Sequence[np.ndarray], least: float = 0.0) -> None:
    """Fit the vertical axis to values, without magnifying the rounding errors of constants.

    Parameters
    ----------
    axes
        Where the values are drawn.
    values
        Each (k,).
    least
        The least height of the axis.
    """
    ticks(axes)
    finite = np.concatenate([v[np.isfinite(v)] for v in values] or [np.empty(0)])
    if not finite.size:
        return
    low, high = float(np.min(finite)), float(np.max(finite))
    size = max(abs(low), abs(high))
    height = high - low
    if height <= 1e-9 * size:
        height = 0.2 * size
    height = max(height, least) * 1.16 or 1.0
    middle = low + 0.5 * (high - low)
    axes.set_ylim(middle - 0.5 * height, middle + 0.5 * height)


def empty(sentence: str) -> Figure:
    """Return a figure that says why there is nothing to see."""
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 0.6))
        figure.text(0.5, 0.5, sentence, ha="center", va="center", color=QUIET)
    return figure


def strip(axes: Axes, columns: int = 6, room: float = PANEL_WIDTH) -> None:
    """Put the legend in a strip above the axes.

    Parameters
    ----------
    axes
        With labelled artists, or without.
    columns
        At most so many entries side by side.
    room
        How wide the strip may be, inches.
    """
    labels = axes.get_legend_handles_labels()[1]
    if labels:
        fitting = int(room / (LEGEND_MARK + LEGEND_LETTER * max(map(len, labels))))
        columns = max(1, min(columns, fitting, len(labels)))
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns)


def common_legend(figure: Figure) -> None:
    """Put one legend of the runs above all panels."""
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if not found:
        return
    columns = max(1, min(len(found), 140 // (max(map(len, found)) + 6)))
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * -(-len(found) // columns))
    figure.legend(list(found.values()), list(found), loc="outside upper left", ncols=columns)
