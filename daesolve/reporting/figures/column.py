"""Wide figures of problems in a column of text: their panels below each other, words as large."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.legend import Legend
from numpy.typing import ArrayLike

from daesolve.reporting.figures.style import COLUMN, LABELS, LEGEND_LETTER, LEGEND_MARK

TALLEST = 3.2
"""The height of a panel that need not be as high as it is wide, inches."""


def stack(figure: Figure) -> None:
    """Make a figure as narrow as a column: panels that stood side by side stand in a stack.

    Words stay as large as they are. A figure that is no wider than the column stays as it is.
    Panels in nested grids and axes without a grid keep their places.

    Parameters
    ----------
    figure
        What to change.
    """
    width, height = map(float, figure.get_size_inches())
    if width <= COLUMN:
        return
    panels = {axes: spec for axes in figure.axes if (spec := axes.get_subplotspec()) is not None}
    grids = {id(spec.get_gridspec()) for spec in panels.values()}
    nested = any(spec is not spec.get_topmost_subplotspec() for spec in panels.values())
    if len(grids) != 1 or nested:
        figure.set_size_inches(COLUMN, height)
    else:
        _name_apart(panels)
        places = list(dict.fromkeys(sorted(map(_place, panels.values()))))
        heights = [0.0] * len(places)
        for axes, spec in panels.items():
            place = places.index(_place(spec))
            heights[place] = max(heights[place], _height(axes, spec, width, height))
        grid = figure.add_gridspec(len(places), 1, height_ratios=heights)
        for axes, spec in panels.items():
            axes.set_subplotspec(grid[places.index(_place(spec))])
        figure.set_size_inches(COLUMN, sum(heights))
    for axes in figure.axes:
        _raise_legend(axes)
    for legend in list(figure.legends):
        _narrow_legend(figure, legend)


def _place(spec: SubplotSpec) -> tuple[int, int, int, int]:
    """Return where a panel stands, in the order of reading."""
    return spec.rowspan.start, spec.colspan.start, spec.rowspan.stop, spec.colspan.stop


def _height(axes: Axes, spec: SubplotSpec, width: float, height: float) -> float:
    """Return the height of a panel in a column, inches."""
    grid = spec.get_gridspec()
    wide = width * _part(grid.get_width_ratios(), spec.colspan, grid.ncols)
    high = height * _part(grid.get_height_ratios(), spec.rowspan, grid.nrows)
    if axes.get_aspect() == "auto":
        return min(high, TALLEST)
    return min(high * COLUMN / wide, COLUMN)


def _part(ratios: ArrayLike | None, span: range, count: int) -> float:
    """Return which part of a figure some rows or columns of its grid take."""
    shares = np.ones(count) if ratios is None else np.asarray(ratios, dtype=float)
    return float(np.sum(shares[span.start : span.stop]) / np.sum(shares))


def _name_apart(panels: dict[Axes, SubplotSpec]) -> None:
    """Give panels that shared an axis with a neighbour its label and numbers."""
    for axes, spec in panels.items():
        for other, beside in panels.items():
            row, column = beside.rowspan == spec.rowspan, beside.colspan == spec.colspan
            if row and axes.get_shared_y_axes().joined(axes, other) and not axes.get_ylabel():
                axes.set_ylabel(other.get_ylabel())
            if column and axes.get_shared_x_axes().joined(axes, other) and not axes.get_xlabel():
                axes.set_xlabel(other.get_xlabel())
        if spec.get_gridspec().ncols > 1:
            axes.tick_params(labelleft=True, labelbottom=True)


def _raise_legend(axes: Axes) -> None:
    """Put a legend above its panel: inside a narrow one it lies on curves."""
    legend = axes.get_legend()
    if legend is None or axes.get_title() or axes.get_title("left") or axes.get_title("right"):
        return
    axes.legend(**_content(legend), loc="lower right", bbox_to_anchor=(1.0, 1.0))


def _narrow_legend(figure: Figure, legend: Legend) -> None:
    """Give a legend of a figure as few columns as fit."""
    below = cast(Any, legend)._outside_loc == "lower"  # no public name tells it
    legend.remove()
    figure.legend(**_content(legend), loc="outside lower left" if below else "outside upper left")


def _content(legend: Legend) -> dict[str, Any]:
    """Return what a legend says, in as many columns as fit."""
    words = [text.get_text() for text in legend.get_texts()]
    fitting = int((COLUMN - LABELS) / (LEGEND_MARK + LEGEND_LETTER * max(map(len, words))))
    return {
        "handles": [handle for handle in legend.legend_handles if handle is not None],
        "labels": words,
        "title": legend.get_title().get_text() or None,
        "ncols": max(1, min(fitting, len(words))),
        "prop": legend.prop,
    }
