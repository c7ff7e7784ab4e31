"""Rows of panels that show series against time, with the beginning beside long motions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daesolve.reporting.document import Document
from daesolve.reporting.facts import labels
from daesolve.reporting.sampling import (
    FEWEST,
    MOST_SAMPLES,
    MOST_TURNS,
    Series,
    envelope,
    opening,
    resolved,
    series,
    turning_points,
)
from daesolve.reporting.style import PANEL_WIDTH, QUIET, colour, style, ticks

MOST_CURVES = 6
MOST_PANELS = 12
BINS = 125
SAMPLES_IN_BIN = 20


@dataclass(frozen=True)
class Curve:
    """One series in a panel, and whether a line through its samples is honest."""

    label: str
    series: Series
    colour: str
    joinable: bool

    @property
    def crowded(self) -> bool:
        """Whether the whole of it is better shown by its range."""
        many = len(self.series.times) > MOST_SAMPLES
        return many or turning_points(self.series.values) > MOST_TURNS or self._scattered

    @property
    def _scattered(self) -> bool:
        return not self.joinable and len(self.series.times) > 2 * FEWEST


@dataclass(frozen=True)
class Panel:
    """Curves that share axes."""

    label: str
    curves: tuple[Curve, ...]

    @property
    def crowded(self) -> bool:
        """Whether a second panel must show the beginning."""
        return any(curve.crowded for curve in self.curves)


def arrange(documents: Sequence[Document], kind: str, names: Sequence[str]) -> list[Panel]:
    """Arrange series in panels: by unit for one run, by name for several.

    Parameters
    ----------
    documents
        One run or several.
    kind
        "states", "reactions" or "outputs".
    names
        Which of them.
    """
    runs = [series(document, kind) for document in documents]
    joinable = [resolved(document) for document in documents]
    units: Mapping[str, str] = {}
    for document in documents:
        units = {**document.get("units", {}), **units}
    if len(documents) > 1:
        shown = labels(documents)
        return [
            Panel(
                _with_unit(name, units),
                tuple(
                    Curve(shown[number], run[name], colour(number), joinable[number])
                    for number, run in enumerate(runs)
                    if name in run and run[name].times.size
                ),
            )
            for name in names
        ]
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(units.get(name, ""), []).append(name)
    panels: list[Panel] = []
    for unit, members in groups.items():
        for begin in range(0, len(members), MOST_CURVES):
            chosen = members[begin : begin + MOST_CURVES]
            curves = tuple(
                Curve(name, runs[0][name], colour(number), joinable[0])
                for number, name in enumerate(chosen)
                if runs[0][name].times.size
            )
            label = unit if len(chosen) > 1 else _with_unit(chosen[0], units)
            panels.append(Panel(label, curves))
    return panels


def draw(panels: Sequence[Panel], nothing: str, *, several: bool = False) -> Figure:
    """Draw panels below each other, the beginning beside the crowded ones.

    Parameters
    ----------
    panels
        What to draw; of more than twelve the first twelve are drawn.
    nothing
        What to say if there is none.
    several
        Whether curves are runs, so that one legend serves all panels.
    """
    shown = [panel for panel in panels if panel.curves][:MOST_PANELS]
    if not shown:
        return empty(nothing)
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 0.5 + 1.75 * len(shown)))
        grid = figure.add_gridspec(len(shown), 2, width_ratios=(5, 4))
        crowded = any(panel.crowded for panel in shown)
        for row, panel in enumerate(shown):
            if panel.crowded:
                _whole(figure.add_subplot(grid[row, 0]), panel)
                _beginning(figure.add_subplot(grid[row, 1]), panel)
            else:
                _whole(figure.add_subplot(grid[row, :]), panel)
        left = [axes for axes in figure.axes if axes.get_gid() == "whole"]
        left[-1].set_xlabel("time (s); bands: range of the samples" if crowded else "time (s)")
        right = [axes for axes in figure.axes if axes.get_gid() == "beginning"]
        if right:
            right[-1].set_xlabel("time (s)")
        if several:
            common_legend(figure)
        else:
            for axes in left:
                strip(axes)
        hidden = sum(bool(panel.curves) for panel in panels) - len(shown)
        if hidden:
            figure.supxlabel(f"and {hidden} panels more, not drawn", fontsize=9, color=QUIET)
    return figure


def empty(sentence: str) -> Figure:
    """Return a figure that says why there is nothing to see."""
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 0.6))
        figure.text(0.5, 0.5, sentence, ha="center", va="center", color=QUIET)
    return figure


def strip(axes: Axes, columns: int = 6) -> None:
    """Put the legend in a strip above the axes."""
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns)


def common_legend(figure: Figure) -> None:
    """Put one legend of the runs above all panels."""
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    longest = max(map(len, found), default=1)
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside upper left",
        ncols=max(1, min(len(found), 140 // (longest + 6))),
    )


def settle(axes: Axes, values: Sequence[np.ndarray], scale: float = 0.0) -> None:
    """Keep the axis from magnifying the rounding errors of what is constant."""
    ticks(axes)
    finite = np.concatenate([v[np.isfinite(v)] for v in values] or [np.empty(0)])
    if not finite.size:
        return
    middle, width = float(np.mean(finite)), float(np.ptp(finite))
    size = max(abs(middle), scale)
    if width <= 1e-9 * size:
        axes.set_ylim(middle - 0.1 * size, middle + 0.1 * size)


def _whole(axes: Axes, panel: Panel) -> None:
    axes.set_gid("whole")
    for curve in panel.curves:
        if curve.crowded:
            _band(axes, curve)
        elif curve.joinable:
            axes.plot(*curve.series.joined(), color=curve.colour, label=curve.label)
        else:
            _dots(axes, curve, curve.series)
    settle(axes, [curve.series.values for curve in panel.curves])
    axes.set_ylabel(panel.label)
    axes.margins(x=0.01)


def _band(axes: Axes, curve: Curve) -> None:
    bins = max(1, min(BINS, len(curve.series.times) // SAMPLES_IN_BIN))
    edges, low, high = envelope(curve.series, bins)
    axes.stairs(
        high, edges, baseline=low, fill=True, color=curve.colour, alpha=0.25, label=curve.label
    )
    for side in (low, high):
        axes.stairs(side, edges, baseline=None, color=curve.colour, linewidth=0.9)


def _beginning(axes: Axes, panel: Panel) -> None:
    axes.set_gid("beginning")
    spans = [
        abs(curve.series.times[opening(curve.series, joinable=curve.joinable) - 1] - start)
        for curve in panel.curves
        for start in curve.series.times[:1]
    ]
    shown: list[np.ndarray] = []
    for curve in panel.curves:
        elapsed = np.abs(curve.series.times - curve.series.times[0])
        first = curve.series.first(int(np.sum(elapsed <= max(spans) * (1 + 1e-9))))
        shown.append(first.values)
        if curve.joinable:
            axes.plot(*first.joined(), color=curve.colour)
        else:
            _dots(axes, curve, first)
    settle(axes, shown)
    if all(curve.joinable for curve in panel.curves):
        axes.set_title("the beginning")
    else:
        strokes = any(curve.series.slopes is not None for curve in panel.curves)
        axes.set_title(f"the first samples{', with slopes' if strokes else ''}, not joined")


def _dots(axes: Axes, curve: Curve, shown: Series) -> None:
    axes.plot(shown.times, shown.values, "o", markersize=3.2, color=curve.colour, label=curve.label)
    if shown.slopes is None or len(shown.times) < 2:
        return
    half = 0.22 * float(np.median(np.abs(np.diff(shown.times))))
    gap = np.full_like(shown.times, np.nan)
    times = np.column_stack([shown.times - half, shown.times + half, gap]).ravel()
    rise = half * shown.slopes
    values = np.column_stack([shown.values - rise, shown.values + rise, gap]).ravel()
    axes.plot(times, values, color=curve.colour, linewidth=1.0, alpha=0.8)


def _with_unit(name: str, units: Mapping[str, str]) -> str:
    unit = units.get(name, "")
    return f"{name} ({unit})" if unit else name
