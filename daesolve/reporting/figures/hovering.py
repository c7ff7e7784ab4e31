"""Values that a pointer finds on the curves of a figure: circles that are not seen, with titles.

A page needs no script for them: browsers show the title of what is under the pointer.
"""

from __future__ import annotations

import numpy as np
from markupsafe import escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from daesolve.reporting.facts import short

POINTS = 40
"""The most points of a curve with values, evenly chosen among those in view."""
RADIUS = 5.0
"""The radius around a point within which the pointer shows its value, in points."""
INCH = 72.0
"""Points of an SVG."""
END = "</svg>"


def with_values(figure: Figure, text: str) -> str:
    """Return the SVG of a figure with the values of its curves.

    Parameters
    ----------
    figure
        After it was drawn, so that everything has its place.
    text
        An <svg> element.
    """
    height = INCH * figure.get_figheight()
    scale = INCH / figure.dpi
    found = [
        f'<circle cx="{scale * x:.1f}" cy="{height - scale * y:.1f}" r="{RADIUS:g}">'
        f"<title>{escape(words)}</title></circle>"
        for axes in figure.axes
        for line in axes.lines
        if (name := _name(line)) is not None
        for x, y, words in _points(axes, line, name)
    ]
    if not found:
        return text
    before, _, after = text.rpartition(END)
    return f'{before}<g class="values">{"".join(found)}</g>{END}{after}'


def _name(line: Line2D) -> str | None:
    """Return the label of a curve; None for lines that are not curves of the figure."""
    label = str(line.get_label())
    return None if label.startswith("_") else label


def _points(axes: Axes, line: Line2D, name: str) -> list[tuple[float, float, str]]:
    """Return places of a curve in the figure, pixels, and the text to show there."""
    x = np.asarray(line.get_xdata(orig=False), dtype=float)
    y = np.asarray(line.get_ydata(orig=False), dtype=float)
    low, high = sorted(axes.get_xlim()), sorted(axes.get_ylim())
    seen = (low[0] <= x) & (x <= low[1]) & (high[0] <= y) & (y <= high[1])
    places = np.flatnonzero(seen)
    if not places.size:
        return []
    places = places[np.unique(np.linspace(0, places.size - 1, POINTS).round().astype(int))]
    at = axes.transData.transform(np.column_stack([x[places], y[places]]))
    return [
        (float(where[0]), float(where[1]), f"{name}: {short(b, 6)} at {short(a, 6)}")
        for where, a, b in zip(at, x[places].tolist(), y[places].tolist(), strict=True)
    ]
