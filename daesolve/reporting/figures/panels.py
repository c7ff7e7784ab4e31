"""Rows of panels that show series against time, of long motions the beginning first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from daesolve.core.results.trajectory.curves import (
    FEWEST,
    LEAST_RANGE,
    Series,
    opening,
    turning_points,
)
from daesolve.reporting.facts import family, labels
from daesolve.reporting.figures.curves import mark_peak
from daesolve.reporting.figures.style import (
    LABELS,
    MOST_DOTS,
    MOST_PANELS,
    QUIET,
    colour,
    common_legend,
    empty,
    narrow,
    panel_width,
    settle,
    strip,
    style,
)
from daesolve.reporting.sampling import (
    MOST_TURNS,
    Document,
    beginnings,
    envelope,
    resolved,
    series,
)

BINS = 125
SAMPLES_IN_BIN = 25
MOST_CURVES = 6
ROWS = 5
"""Panels below each other that a sheet of paper takes."""
ROW = 1.75
"""The height of a row, inches."""
SQUASHED = 15.0
HALF, TITLE = 4.8, 1.0
"""The width of a panel with another beside it, and of the title above it, inches."""


@dataclass(frozen=True)
class PlottedSeries:
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
    peak
        When, and how large, its value of largest magnitude is over every accepted step.
    """

    label: str
    series: Series
    colour: str
    joinable: bool
    above: int = 0
    beginning: Series | None = None
    peak: tuple[float, float] | None = None

    @property
    def crowded(self) -> bool:
        """Whether the whole of it is better shown by its range."""
        finite = self.series.values[np.isfinite(self.series.values)]
        if not finite.size or np.ptp(finite) <= LEAST_RANGE:
            return False
        scattered = not self.joinable and len(self.series.times) > 2 * FEWEST
        return scattered or turning_points(self.series.values) > MOST_TURNS


def mark(axes: Axes, curve: PlottedSeries, *, crowded: bool) -> None:
    """Draw the whole of a series: its range where axes are crowded, else as its samples allow."""
    if crowded:
        bins = min(BINS, len(curve.series.times) // SAMPLES_IN_BIN)
        band(axes, curve.series, max(1, bins), curve.colour, curve.label)
    elif curve.joinable:
        line(axes, curve, curve.series)
    else:
        dots(axes, curve)


def line(axes: Axes, curve: PlottedSeries, shown: Series) -> None:
    """Draw samples joined by a line."""
    width = 1.3 + 1.2 * min(curve.above, 3)
    axes.plot(*shown.joined(), color=curve.colour, linewidth=width, label=curve.label)


def dots(axes: Axes, curve: PlottedSeries) -> None:
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


def portrait(axes: Axes, curve: PlottedSeries) -> None:
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


@dataclass(frozen=True)
class Panel:
    """Curves that share axes."""

    label: str
    curves: tuple[PlottedSeries, ...]

    @property
    def crowded(self) -> bool:
        """Whether the whole can only be shown by its range."""
        return any(curve.crowded for curve in self.curves)

    @property
    def beside(self) -> bool:
        """Whether a second panel belongs to it."""
        return self.begins or self.portrayed

    @property
    def bare(self) -> bool:
        """Whether it shows only ranges."""
        return self.crowded and not self.beside

    @property
    def begins(self) -> bool:
        """Whether a second panel can show the beginning."""
        return self.crowded and any(curve.beginning is not None for curve in self.curves)

    @property
    def portrayed(self) -> bool:
        """Whether a second panel can show the slopes over the values."""
        sloped = [curve.series.slopes is not None for curve in self.curves]
        return self.crowded and not self.begins and all(sloped)


def arrange(documents: Sequence[Document], kind: str, names: Sequence[str]) -> list[Panel]:
    """Arrange series in panels: by unit and size for one run, by name for several.

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
    starts = [beginnings(document, kind) for document in documents]
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
                    PlottedSeries(
                        shown[place],
                        runs[place][name],
                        colour(place),
                        joinable[place],
                        above,
                        starts[place].get(name),
                        _peak(documents[place], kind, name),
                    )
                    for above, place in reversed(list(enumerate(reversed(_having(runs, name)))))
                ),
            )
            for name in names
        ]
    found = {name: runs[0][name] for name in names if runs[0][name].times.size}
    panels: list[Panel] = []
    for group in _alike(found, units):
        curves = tuple(
            PlottedSeries(
                name,
                found[name],
                colour(place),
                joinable[0],
                beginning=starts[0].get(name),
                peak=_peak(documents[0], kind, name),
            )
            for place, name in enumerate(group)
        )
        label = units.get(group[0], "") if len(group) > 1 else _with_unit(group[0], units)
        panels.append(Panel(label, curves))
    return panels


def _peak(document: Document, kind: str, name: str) -> tuple[float, float] | None:
    """Return when an output is largest over every accepted step, and its value, if it is known."""
    peak = document.get("peaks", {}).get(name) if kind == "outputs" else None
    if peak is None or peak["value"] is None or peak["time"] is None:
        return None
    return float(peak["time"]), float(peak["value"])


def _having(runs: Sequence[Mapping[str, Series]], name: str) -> list[int]:
    return [place for place, run in enumerate(runs) if name in run and run[name].times.size]


def _alike(found: Mapping[str, Series], units: Mapping[str, str]) -> list[list[str]]:
    """Group series of the same unit that vary by as much, so that none is squashed.

    Of many with the same unit, numbered ones stay among themselves.
    """
    many = Counter(units.get(name, "") for name in found)
    groups: list[tuple[tuple[str, str], float, list[str]]] = []
    for name, entry in found.items():
        finite = entry.values[np.isfinite(entry.values)]
        span = float(np.ptp(finite)) if finite.size else 0.0
        unit = units.get(name, "")
        kind = (unit, family(name) if many[unit] > MOST_CURVES else "")
        for other, width, members in groups:
            alike = span == 0.0 or width == 0.0 or 1 / SQUASHED <= span / width <= SQUASHED
            if other == kind and alike and len(members) < MOST_CURVES:
                members.append(name)
                break
        else:
            groups.append((kind, span, [name]))
    return [members for _, _, members in groups]


def draw(panels: Sequence[Panel], nothing: str, *, several: bool = False) -> list[Figure]:
    """Draw panels below each other; of crowded ones the beginning first, or a portrait beside.

    Parameters
    ----------
    panels
        What to draw; of more than twelve the first twelve are drawn.
    nothing
        What to say if there is none.
    several
        Whether curves are runs, so that one legend serves all panels.

    Returns
    -------
    list[Figure]
        As many as fit on a sheet of paper each.
    """
    having = [panel for panel in panels if panel.curves]
    if not having:
        return [empty(nothing)]
    rows = _rows(having[:MOST_PANELS])
    height = -(-len(rows) // -(-len(rows) // ROWS))
    found = [
        _sheet(rows[first : first + height], several=several)
        for first in range(0, len(rows), height)
    ]
    hidden = len(having) - MOST_PANELS
    if hidden > 0:
        found[-1].supxlabel(f"and {hidden} more panels, not drawn", fontsize=9, color=QUIET)
    return found


def _rows(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Arrange panels in rows: those that show only ranges in pairs."""
    rows: list[list[Panel]] = []
    for panel in panels:
        if panel.bare and rows and len(rows[-1]) == 1 and rows[-1][0].bare:
            rows[-1].append(panel)
        else:
            rows.append([panel])
    return rows


def _sheet(rows: Sequence[Sequence[Panel]], *, several: bool) -> Figure:
    with style():
        figure, cells = _cells(rows)
        alone_room = panel_width() - LABELS
        half = alone_room if narrow() else HALF
        named: list[tuple[Axes, Panel, float]] = []
        for row, panels in enumerate(rows):
            last = row + 1 == len(rows)
            if panels[0].begins:
                # What can be followed comes first, the whole horizon second.
                left, right = (figure.add_subplot(cell) for cell in cells[row])
                _beginning(left, panels[0])
                _whole(right, panels[0])
                right.set_title("the whole run")
                named.append((left, panels[0], half - TITLE))
                if last or not rows[row + 1][0].begins:
                    left.set_xlabel("time (s)")
                    right.set_xlabel(_time(panels[0]))
                continue
            alone = len(cells[row]) == 1
            for panel, cell in zip(panels, cells[row], strict=False):
                axes = figure.add_subplot(cell)
                _whole(axes, panel)
                axes.set_ylabel(panel.label)
                named.append((axes, panel, alone_room if alone else half))
                if last:
                    axes.set_xlabel(_time(panel))
            if panels[0].portrayed:
                _portrait(figure.add_subplot(cells[row][1]), panels[0])
        if several:
            common_legend(figure)
        else:
            for axes, panel, room in named:
                _name(axes, panel, room)
    return figure


def _cells(rows: Sequence[Sequence[Panel]]) -> tuple[Figure, list[list[SubplotSpec]]]:
    """Return a figure, and the places of the panels of each row: a narrow one has no columns."""
    counts = [2 if len(panels) == 2 or panels[0].beside else 1 for panels in rows]
    if not narrow():
        figure = Figure(figsize=(panel_width(), 0.5 + ROW * len(rows)))
        grid = figure.add_gridspec(len(rows), 2, width_ratios=(10, 8))
        return figure, [
            [grid[row, :]] if count == 1 else [grid[row, 0], grid[row, 1]]
            for row, count in enumerate(counts)
        ]
    figure = Figure(figsize=(panel_width(), 0.5 + ROW * sum(counts)))
    column = iter(figure.add_gridspec(sum(counts), 1))
    return figure, [[next(column) for _ in range(count)] for count in counts]


def _time(panel: Panel) -> str:
    """Return the label of an axis of time."""
    return "time (s); bands: range of the samples" if panel.crowded else "time (s)"


def _name(axes: Axes, panel: Panel, room: float) -> None:
    """Name the curves, where the axis does not."""
    if len(panel.curves) > 1:
        strip(axes, room=room)


def _whole(axes: Axes, panel: Panel) -> None:
    for curve in panel.curves:
        mark(axes, curve, crowded=panel.crowded and len(curve.series.times) > FEWEST)
        if curve.peak is not None:
            mark_peak(axes, *curve.peak, curve.colour)
    peaks = [np.array([curve.peak[1]]) for curve in panel.curves if curve.peak is not None]
    settle(axes, [*(curve.series.values for curve in panel.curves), *peaks], LEAST_RANGE)
    axes.margins(x=0.01)


def _beginning(axes: Axes, panel: Panel) -> None:
    starts = [(curve, curve.beginning) for curve in panel.curves if curve.beginning is not None]
    spans = [abs(start.times[opening(start) - 1] - start.times[0]) for _, start in starts]
    shown: list[np.ndarray] = []
    for curve, start in starts:
        elapsed = np.abs(start.times - start.times[0])
        first = start.first(int(np.sum(elapsed <= max(spans) * (1 + 1e-9))))
        shown.append(first.values)
        line(axes, curve, first)
    settle(axes, shown, LEAST_RANGE)
    axes.margins(x=0.02)
    axes.set_ylabel(panel.label)
    axes.set_title("the beginning", loc="right")


def _portrait(axes: Axes, panel: Panel) -> None:
    for curve in panel.curves:
        portrait(axes, curve)
    slopes = [curve.series.slopes for curve in panel.curves]
    settle(axes, [rate for rate in slopes if rate is not None], LEAST_RANGE)
    axes.margins(x=0.04)
    axes.set_xlabel(panel.label)
    axes.set_title("every sample: its rate over its value")


def _with_unit(name: str, units: Mapping[str, str]) -> str:
    unit = units.get(name, "")
    return f"{name} ({unit})" if unit else name
