"""The page of what was measured of a sweep: figures over the varied number, with local orders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daesolve.ensembles.orders import Dependence, Measured
from daesolve.reporting.document import replace_file
from daesolve.reporting.html import template
from daesolve.reporting.style import colour, style, svg

MEASURES_FILE = "measures.html"
MOST_COLUMNS = 3
PANEL = 3.3
"""The width and height of a panel, inches."""


def draw(found: Dependence) -> Figure:
    """Draw each measure over the varied number, log-log."""
    shown = [measured for measured in found.measures if np.any(np.array(measured.values) > 0.0)]
    columns = min(len(shown), MOST_COLUMNS)
    rows = -(-len(shown) // columns) if columns else 1
    figure = Figure(figsize=(PANEL * max(columns, 1), PANEL * rows), layout="constrained")
    for place, measured in enumerate(shown):
        axes = figure.add_subplot(rows, columns, place + 1)
        _panel(axes, found, measured, colour(place))
    return figure


def _panel(axes: Axes, found: Dependence, measured: Measured, shade: str) -> None:
    axes.set(xscale="log", yscale="log", title=measured.name.replace("_", " "))
    axes.plot(found.values, measured.values, "o-", color=shade, markersize=4)
    for number, order in enumerate(measured.orders):
        if order is not None:
            x, y = (np.sqrt(n[number] * n[number + 1]) for n in (found.values, measured.values))
            axes.annotate(
                f"{order:.3f}", (x, y), xytext=(4, -9), textcoords="offset points", fontsize=7
            )
    axes.set_xlabel(f"{found.over} ({found.unit})" if found.unit else found.over)
    axes.set_ylabel(measured.unit)


def write_measures(directory: Path, found: Dependence, title: str) -> Path:
    """Write `measures.html` and return where it is.

    Parameters
    ----------
    directory
        Of the sweep.
    found
        What was measured.
    title
        Of the page.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    with style():
        figure = svg(draw(found), "measures")
    page = template("daesolve.reporting", "measures.html.jinja").render(
        title=title,
        over=found.over,
        values=found.values,
        measures=found.measures,
        figure=Markup(figure),
    )
    return replace_file(directory / MEASURES_FILE, page)
