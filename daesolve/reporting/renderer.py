"""The pictures of a film in Matplotlib, one at a time, for files that hold pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from daesolve.drawing import Trace
from daesolve.reporting.film import Film, Picture
from daesolve.reporting.painting import ABOVE, look_at, name, paint, paint_samples
from daesolve.reporting.scene import framed
from daesolve.reporting.style import INK, QUIET, RULE, style

INCHES = 8.0
"""The width of a picture, whatever its pixels: text and strokes grow with them."""
SIDE = 4.9
"""The side of the square that goes along with bodies, inches."""
LEFT, BELOW, HEAD, EDGE, GAP = 0.75, 0.55, 0.62, 0.15, 0.35
"""Room for the labels of the axes, for the lines above, margins, inches."""
LEGEND = 0.3
TALLEST = 5.2


@dataclass(frozen=True, eq=False)
class Stage:
    """A figure that shows one picture after the other.

    Parameters
    ----------
    figure
        An even number of pixels wide and high.
    show
        Puts a picture of the film in place of the one before.
    changing
        What differs from picture to picture, in the order of drawing.
    """

    figure: Figure
    show: Callable[[Picture], None]
    changing: Sequence[Artist]


def stage(film: Film, width: int) -> Stage:
    """Make the figure in which a film is shown.

    Parameters
    ----------
    film
        What will be shown.
    width
        Pixels, an even number.
    """
    with style():
        return _following(film, width) if film.follows else _at_rest(film, width)


def _at_rest(film: Film, width: int) -> Stage:
    """Lay out one view for all pictures, the legend above it."""
    view = film.pictures[0].view
    steepness = float(np.ptp(view[:, 1]) / np.ptp(view[:, 0]))
    across = min(INCHES - LEFT - EDGE, TALLEST / steepness)
    height = across * steepness
    figure = _figure(width, BELOW + height + LEGEND + HEAD)
    axes = _axes(figure, (0.5 * (INCHES + LEFT - EDGE - across), BELOW, across, height))
    show_bodies = _pane(axes, film)
    look_at(axes, view)
    corner = (EDGE, BELOW + height + 0.05)
    _legend(figure, axes, corner, loc="lower left", ncols=5)
    clock = _head(figure, film)

    def show(picture: Picture) -> None:
        show_bodies(picture)
        clock.set_text(_time(film, picture))

    return Stage(figure, show, [axes, clock])


def _following(film: Film, width: int) -> Stage:
    """Lay out a square that goes along with the bodies, and beside it a map of the whole way."""
    figure = _figure(width, BELOW + SIDE + HEAD)
    axes = _axes(figure, (LEFT, BELOW, SIDE, SIDE))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    show_bodies = _pane(axes, film)
    left, room = LEFT + SIDE + GAP, INCHES - LEFT - SIDE - GAP - EDGE
    corners = framed(film.whole)
    tall = min(room * float(np.ptp(corners[:, 1]) / np.ptp(corners[:, 0])), SIDE - 2.0)
    low = BELOW + SIDE - tall
    chart = _axes(figure, (left, low, room, tall))
    show_paths = _map(chart, film, corners)
    _legend(figure, axes, (left, low - 0.15), loc="upper left")
    clock = _head(figure, film)

    def show(picture: Picture) -> None:
        show_bodies(picture)
        show_paths(picture)
        look_at(axes, picture.view)
        clock.set_text(_time(film, picture))

    return Stage(figure, show, [axes, chart, clock])


def _pane(axes: Axes, film: Film) -> Callable[[Picture], None]:
    """Return what draws the bodies of a picture in axes, in place of those before."""
    for entry in film.surroundings:
        paint(axes, entry)
    for shape in film.drawing.shapes:
        name(axes, shape, scattered=isinstance(shape, Trace) and not film.joined)
    axes.set_xlabel(film.drawing.x_label)
    axes.set_ylabel(film.drawing.y_label)
    lines, patches = len(axes.lines), len(axes.patches)

    def show(picture: Picture) -> None:
        for artist in (*axes.lines[lines:], *axes.patches[patches:]):
            artist.remove()
        for body in picture.bodies:
            if isinstance(body.shape, Trace) and not film.joined:
                paint_samples(axes, body)
            else:
                paint(axes, body)

    return show


def _map(axes: Axes, film: Film, corners: np.ndarray) -> Callable[[Picture], None]:
    """Draw the whole way, faint; return what draws how far a picture has come."""
    for entry in film.surroundings:
        paint(axes, entry, size=0.5)
    for entry in film.pictures[-1].bodies:
        if isinstance(entry.shape, Trace):
            mark = "-" if film.joined else "."
            axes.plot(*entry.points.T, mark, color=QUIET, alpha=0.35, linewidth=0.9, markersize=2)
    here = axes.scatter([], [], s=22, color=INK, zorder=ABOVE + 1, linewidth=0)
    look_at(axes, corners)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(visible=True, color=RULE)
    axes.set_title("the whole way", color=QUIET)
    lines = len(axes.lines)

    def show(picture: Picture) -> None:
        for line in axes.lines[lines:]:
            line.remove()
        for body in picture.bodies:
            if isinstance(body.shape, Trace):
                paint_samples(axes, body) if not film.joined else paint(axes, body, size=0.6)
        here.set_offsets(picture.view.mean(axis=0))

    return show


def _figure(width: int, height: float) -> Figure:
    dots = width / INCHES
    figure = Figure(figsize=(INCHES, 2 * round(0.5 * height * dots) / dots), dpi=dots)
    # What stands where must not depend on the texts of a picture.
    figure.set_layout_engine("none")
    return figure


def _axes(figure: Figure, inches: tuple[float, float, float, float]) -> Axes:
    size = (INCHES, figure.get_figheight()) * 2
    return figure.add_axes(tuple(part / whole for part, whole in zip(inches, size, strict=True)))  # pyright: ignore


def _legend(figure: Figure, axes: Axes, inches: tuple[float, float], **options: Any) -> None:
    """Write a legend of axes with its corner at a place of the figure."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        corner = (inches[0] / INCHES, inches[1] / figure.get_figheight())
        figure.legend(handles, labels, bbox_to_anchor=corner, borderaxespad=0.0, **options)


def _head(figure: Figure, film: Film) -> Text:
    """Write what is shown and how fast above the axes, and return the place for the time."""
    top = 1.0 - 0.14 / figure.get_figheight()
    below = top - 0.25 / figure.get_figheight()
    right = 1.0 - EDGE / INCHES
    figure.text(EDGE / INCHES, top, film.title, va="top", fontsize=11, fontweight="bold")
    figure.text(EDGE / INCHES, below, film.speed, va="top", color=QUIET)
    return figure.text(right, top, "", va="top", ha="right", fontsize=11)


def _time(film: Film, picture: Picture) -> str:
    return f"t = {picture.time:.{film.decimals}f} s"
