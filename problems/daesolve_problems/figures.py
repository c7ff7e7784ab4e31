"""What figures of runs share: the series of a run's document, panels over time, paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Document = Mapping[str, Any]
KINDS = ("states", "reactions", "outputs")
"""Where a document keeps series by name."""


def series(document: Document, *keys: str) -> np.ndarray:
    """Return the numbers of a run's document, such as those of `"reactions", "skate"`."""
    entries: Any = document
    for key in keys:
        entries = entries[key]
    return np.array(entries, dtype=float)


def column(document: Document, name: str) -> np.ndarray:
    """Return the samples of a state, a reaction or an output, NaN where there is none."""
    for kind in KINDS:
        if name in document[kind]:
            return series(document, kind, name)
    raise KeyError(name)


def states(document: Document) -> dict[str, np.ndarray]:
    """Return the series of the states by name."""
    return {name: series(document, "states", name) for name in document["states"]}


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches; Matplotlib is imported for it, and not before."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def draw_paths(places: Mapping[str, np.ndarray]) -> Figure:
    """Draw paths in the plane, with a dot where each begins.

    Parameters
    ----------
    places
        x + i y in m, by the label of the path.
    """
    figure = new_figure(6.0, 5.0)
    axes = figure.add_subplot()
    for label, place in places.items():
        x, y = np.real(place), np.imag(place)
        (line,) = axes.plot(x, y, linewidth=1.2, label=label)
        axes.plot(x[:1], y[:1], "o", markersize=4, color=line.get_color())
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    axes.legend()
    return figure


def panels_over_time(count: int, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels over time, side by side, its height in inches."""
    figure = new_figure(8.0, height)
    panels = list(figure.subplots(1, count, squeeze=False).ravel())
    for axes in panels:
        axes.set_xlabel("t (s)")
        axes.margins(x=0.01)
    return figure, panels
