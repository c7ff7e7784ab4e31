"""Helpers for figures of runs: the series of a run's document, panels over time, paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daesolve.multibody.drawing import axes_by_quaternions
from daesolve.multibody.drawing.traced import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from daesolve import Trajectory

Document = Mapping[str, Any]
KINDS = ("states", "reactions", "outputs")
"""Where a document keeps series by name."""


def series(document: Document, *keys: str) -> np.ndarray:
    """Return the numbers of a run's document, such as those of `"reactions", "skate"`."""
    entries: Any = document
    for key in keys:
        entries = entries[key]
    return numbers(entries)


def column(document: Document, name: str) -> np.ndarray:
    """Return the samples of a state, a reaction or an output, NaN if there is none."""
    for kind in KINDS:
        if name in document[kind]:
            return series(document, kind, name)
    raise KeyError(name)


def frames_of(document: Document, body: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions (k, 3), m, and the axes (k, 3, 3), as columns, of a body in space."""
    turns = [series(document, "states", f"{body}_q{k}") for k in range(4)]
    places = [series(document, "states", f"{body}_{axis}") for axis in "xyz"]
    return np.column_stack(places), axes_by_quaternions(np.column_stack(turns))


def states(document: Document) -> dict[str, np.ndarray]:
    """Return the series of the states by name."""
    return {name: series(document, "states", name) for name in document["states"]}


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches; Matplotlib is only imported here."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


Quantity = str | Callable[[Document], np.ndarray]
Place = Callable[[Document], np.ndarray]
"""x + i y of each sample, m."""
Places = Callable[[Document], Mapping[str, np.ndarray]]
"""The same of several points by name."""
LEAST_VIEW = 1e-12
"""Rounding at rest, which no axis magnifies."""


def draw_curve(
    axes: Axes, document: Document, x: Quantity, y: Quantity, label: str = "", **look: Any
) -> None:
    """Draw one quantity of a run over another: a line where its samples follow the motion.

    Where they do not, every sample is a dot, and the line goes through the beginning of the run,
    which is sampled within each accepted step. See `daesolve.reporting.figures.curves`.
    """
    from daesolve.reporting.figures.curves import draw_curve as draw

    draw(axes, document, x, y, label, **look)


def near_events(run: Trajectory, even: int = 401, beside: int = 120) -> np.ndarray:
    """Return sample times that miss nothing brief beside an event.

    Parameters
    ----------
    run
        The run with the events.
    even
        The number of even samples from the first to the last.
    beside
        The number of samples on each side of an event, at geometrically growing distances.

    Returns
    -------
    numpy.ndarray
        (k,) s, increasing.
    """
    first, last = float(np.min(run.times)), float(np.max(run.times))
    away = np.geomspace(1e-8, 1e-2, beside) * (last - first)
    moments = [[event.time, *(event.time - away), *(event.time + away)] for event in run.events]
    times = np.concatenate([np.linspace(first, last, even), *map(np.array, moments)])
    return np.unique(times[(times >= first) & (times <= last)])


def mark_peaks(axes: Axes, document: Document, names: Mapping[str, str]) -> None:
    """Mark the values of largest magnitude over every accepted step, which samples may miss.

    Parameters
    ----------
    axes
        The axes with lines over time.
    document
        Of the run.
    names
        The output of each line, by the label of the line.
    """
    from daesolve.reporting.figures.curves import mark_peak

    for line in list(axes.lines):
        peak = document.get("peaks", {}).get(names.get(str(line.get_label()), ""))
        if peak is not None:
            mark_peak(axes, peak["time"], peak["value"], line.get_color())
    axes.relim()
    axes.autoscale_view()


def place_of_centre(document: Document) -> np.ndarray:
    """Return x + i y of each sample, m."""
    return column(document, "x") + 1j * column(document, "y")


def draw_over_time(
    axes: Axes, times: np.ndarray | Sequence[float], series: Mapping[str, np.ndarray], what: str
) -> None:
    """Draw quantities over time, by their labels, in a panel with a title."""
    for label, values in series.items():
        axes.plot(times, values, linewidth=1.0, label=label)
    lowest, highest = (f(list(series.values())) for f in (np.nanmin, np.nanmax))
    if highest - lowest < LEAST_VIEW:
        axes.set_ylim(lowest - LEAST_VIEW, highest + LEAST_VIEW)
    if len(series) > 1:
        axes.legend(loc="best")
    name_panel(axes, what)


def name_panel(axes: Axes, what: str, across: str = "t (s)") -> None:
    """Give a panel a title, the name of its horizontal axis, and no margins along it."""
    axes.set_title(what)
    axes.set_xlabel(across)
    axes.margins(x=0.01)


def draw_path(axes: Axes, document: Document, place: Place, label: str = "", **look: Any) -> None:
    """Draw the path of a point in the plane, with a dot where it begins."""
    first = len(axes.lines)
    look = {"linewidth": 1.2, **look}

    def across(part: Document) -> np.ndarray:
        return np.real(place(part))

    def up(part: Document) -> np.ndarray:
        return np.imag(place(part))

    draw_curve(axes, document, across, up, label, **look)
    begun = across(document)[:1], up(document)[:1]
    axes.plot(*begun, "o", markersize=4, color=axes.lines[first].get_color())


def plane(axes: Axes) -> None:
    """Give a plane of paths the same scale along both axes, and no magnified rounding."""
    points = [np.asarray(line.get_xydata(), dtype=float) for line in axes.lines]
    spans = [np.ptp(p[np.isfinite(p).all(axis=1)], axis=0).max(initial=0.0) for p in points]
    if max(spans, default=0.0) < LEAST_VIEW:
        # Limits that are set are widened by the aspect; data limits are not, and no warning is
        # given.
        x, y = points[0][0]
        corners = [(x - LEAST_VIEW, y - LEAST_VIEW), (x + LEAST_VIEW, y + LEAST_VIEW)]
        axes.update_datalim(corners)
        axes.autoscale_view()
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")


def _one(places: Places, label: str, document: Document) -> np.ndarray:
    return places(document)[label]


def draw_paths(document: Document, places: Places) -> Figure:
    """Draw paths in the plane, with a dot where each begins.

    Parameters
    ----------
    document
        Of the run.
    places
        Returns x + i y in m of the samples of a document, by the label of the path.
    """
    figure = new_figure(6.0, 5.0)
    axes = figure.add_subplot()
    for number, label in enumerate(places(document)):
        draw_path(axes, document, partial(_one, places, label), label, color=f"C{number}")
    plane(axes)
    axes.legend()
    return figure


def panels_over_time(count: int, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels over time, side by side, with a height in inches."""
    figure = new_figure(8.0, height)
    panels = list(figure.subplots(1, count, squeeze=False).ravel())
    for axes in panels:
        axes.set_xlabel("t (s)")
        axes.margins(x=0.01)
    return figure, panels
