"""Rows of panels that show series against time, with the beginning beside long motions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daesolve.reporting.curves import Curve, common_legend, dots, empty, line, mark, settle, strip
from daesolve.reporting.document import Document
from daesolve.reporting.facts import family, labels
from daesolve.reporting.sampling import FEWEST, Series, opening, resolved, series
from daesolve.reporting.style import PANEL_WIDTH, QUIET, colour, style

MOST_CURVES = 6
MOST_PANELS = 12
SQUASHED = 15.0
HALF = 4.8
"""The width of a panel with the beginning beside it, inches."""
NOTHING = 1e-12
"""What no axis magnifies, in units of the quantity: the rounding of what is at rest."""


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
                    Curve(shown[place], runs[place][name], colour(place), joinable[place], above)
                    for above, place in reversed(list(enumerate(reversed(_having(runs, name)))))
                ),
            )
            for name in names
        ]
    found = {name: runs[0][name] for name in names if runs[0][name].times.size}
    panels: list[Panel] = []
    for group in _alike(found, units):
        curves = tuple(
            Curve(name, found[name], colour(place), joinable[0]) for place, name in enumerate(group)
        )
        label = units.get(group[0], "") if len(group) > 1 else _with_unit(group[0], units)
        panels.append(Panel(label, curves))
    return panels


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
        left: list[Axes] = []
        for row, panel in enumerate(shown):
            place = grid[row, 0] if panel.crowded else grid[row, :]
            left.append(figure.add_subplot(place))
            _whole(left[-1], panel)
            if panel.crowded:
                right = figure.add_subplot(grid[row, 1])
                _beginning(right, panel)
                if not any(later.crowded for later in shown[row + 1 :]):
                    right.set_xlabel("time (s)")
        left[-1].set_xlabel("time (s); bands: range of the samples" if crowded else "time (s)")
        if several:
            common_legend(figure)
        else:
            for axes, panel in zip(left, shown, strict=True):
                strip(axes, room=HALF if panel.crowded else PANEL_WIDTH)
        hidden = sum(bool(panel.curves) for panel in panels) - len(shown)
        if hidden:
            figure.supxlabel(f"and {hidden} panels more, not drawn", fontsize=9, color=QUIET)
    return figure


def _whole(axes: Axes, panel: Panel) -> None:
    for curve in panel.curves:
        mark(axes, curve, crowded=panel.crowded and len(curve.series.times) > FEWEST)
    settle(axes, [curve.series.values for curve in panel.curves], NOTHING)
    axes.set_ylabel(panel.label)
    axes.margins(x=0.01)


def _beginning(axes: Axes, panel: Panel) -> None:
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
            line(axes, curve, first)
        else:
            dots(axes, curve, first)
    settle(axes, shown, NOTHING)
    axes.margins(x=0.02)
    if all(curve.joinable for curve in panel.curves):
        axes.set_title("the beginning")
    else:
        strokes = any(curve.series.slopes is not None for curve in panel.curves)
        axes.set_title(f"the first samples{', with slopes' if strokes else ''}, not joined")


def _with_unit(name: str, units: Mapping[str, str]) -> str:
    unit = units.get(name, "")
    return f"{name} ({unit})" if unit else name
