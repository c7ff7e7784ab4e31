"""Numbers of axes and places of panels, made with less work than Matplotlib needs for any figure.

Matplotlib makes five artists for each number of an axis, and its constrained layout measures every
word several times: both together take longer than to draw a figure.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from itertools import chain
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.legend import Legend
from matplotlib.spines import Spine
from matplotlib.text import Text
from matplotlib.ticker import NullLocator
from matplotlib.transforms import Bbox, ScaledTranslation
from numpy.typing import ArrayLike

PAD = 0.042
"""What stays free around a figure and around each panel, inches."""
INCH = 72.0
"""Points."""
BELOW = 0.5
"""Where Matplotlib draws a grid below curves."""
SIDES = ("bottom", "top", "left", "right")
USUAL = {*SIDES, *(f"label{side}" for side in SIDES), "gridOn"}
"""What tells where numbers stand; any other parameter gives them a look of their own."""
ROUNDED = 1e-10
"""How far beyond an axis a number may be, over its length."""


@dataclass(frozen=True)
class Margins:
    """What the words of a panel take on each of its sides, inches."""

    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    top: float = 0.0

    def __or__(self, other: Margins) -> Margins:
        """Return margins in which both fit."""
        return Margins(*map(max, astuple(self), astuple(other)))


@contextmanager
def panels_in_place(figure: Figure, renderer: RendererBase) -> Generator[bool]:
    """Place the panels of a figure, with plain words for the numbers of its axes while it is drawn.

    Parameters
    ----------
    figure
        Whose panels stand in one grid, and have straight axes left and below.
    renderer
        Measures words. The settings of Matplotlib are those with which the figure was made.

    Yields
    ------
    bool
        Whether the figure is of that kind; of another one, nothing changes.
    """
    specs = {axes: spec for axes in figure.axes if (spec := axes.get_subplotspec()) is not None}
    if not _in_one_grid(figure, specs):
        yield False
        return
    for axes in specs:
        axes.apply_aspect()
    scales: list[Axis] = [axis for axes in specs for axis in (axes.xaxis, axes.yaxis)]
    locators = [(axis, axis.get_major_locator(), axis.get_minor_locator()) for axis in scales]
    numbers = {axis: _write_numbers(axis) for axis in scales}
    grids = [_draw_grid(axis) for axis in scales]
    for axis in scales:
        axis.set_major_locator(NullLocator())
        axis.set_minor_locator(NullLocator())
    try:
        _place_panels(figure, specs, numbers, renderer)
        yield True
    finally:
        for axis, major, minor in locators:
            axis.set_major_locator(major)
            axis.set_minor_locator(minor)
        for artist in chain(grids, *numbers.values()):
            artist.remove()


def _in_one_grid(figure: Figure, specs: dict[Axes, SubplotSpec]) -> bool:
    """Return whether each panel has a cell of one grid to itself, and axes left and below."""
    cells = {(spec.rowspan, spec.colspan) for spec in specs.values()}
    return (
        0 < len(specs) == len(figure.axes) == len(cells)
        and len({id(spec.get_gridspec()) for spec in specs.values()}) == 1
        and all(spec is spec.get_topmost_subplotspec() for spec in specs.values())
        and all(_is_plain(axes) for axes in specs)
        and not figure.subfigs
        and not figure.get_supylabel()
    )


def _is_plain(axes: Axes) -> bool:
    """Return whether axes are straight, keep their limits, and have plain numbers left, below."""
    ticks = {**axes.xaxis.get_tick_params(), **axes.yaxis.get_tick_params()}
    elsewhere = {*SIDES, "labeltop", "labelright"}
    return (
        axes.name == "rectilinear"
        and axes.axison
        and (axes.get_aspect() == "auto" or axes.get_adjustable() == "box")
        and not axes.child_axes
        and ticks.keys() <= USUAL
        and not any(ticks[side] for side in elsewhere)
        and {axes.xaxis.get_label_position(), axes.yaxis.get_label_position()} <= {"bottom", "left"}
        and not any(map(_has_offset, (axes.xaxis, axes.yaxis)))
    )


def _has_offset(axis: Axis) -> bool:
    """Return whether a factor or a summand of the numbers of an axis stands in its corner."""
    formatter = axis.get_major_formatter()
    formatter.format_ticks(axis.get_majorticklocs().tolist())
    return bool(formatter.get_offset())


def _write_numbers(axis: Axis) -> list[Text]:
    """Write the numbers of an axis as words."""
    axes, name = axis.axes, _name(axis)
    settings: Any = mpl.rcParams
    if not axis.get_tick_params()["labelbottom" if name == "x" else "labelleft"]:
        return []
    pad = settings[f"{name}tick.major.pad"]
    transform, upright, across = getattr(axes, f"get_{name}axis_text1_transform")(pad)
    look: dict[str, Any] = {
        "transform": transform,
        "verticalalignment": upright,
        "horizontalalignment": across,
        "fontsize": settings[f"{name}tick.labelsize"],
        "color": settings[f"{name}tick.labelcolor"],
    }
    found: list[Text] = []
    for places, formatter in (
        (axis.get_majorticklocs(), axis.get_major_formatter()),
        (axis.get_minorticklocs(), axis.get_minor_formatter()),
    ):
        words = formatter.format_ticks(places.tolist())
        found += [
            axes.text(*((place, 0.0) if name == "x" else (0.0, place)), word, **look)
            for place, word, inside in zip(places, words, _inside(axis, places), strict=True)
            if inside and word
        ]
    return found


def _draw_grid(axis: Axis) -> LineCollection:
    """Draw the lines of a grid across an axis."""
    axes, name = axis.axes, _name(axis)
    places = axis.get_majorticklocs()
    places = places[_inside(axis, places)] if axis.get_tick_params()["gridOn"] else places[:0]
    lines = [((x, 0.0), (x, 1.0)) if name == "x" else ((0.0, x), (1.0, x)) for x in places]
    grid = LineCollection(
        lines,
        transform=axes.get_xaxis_transform() if name == "x" else axes.get_yaxis_transform(),
        colors=mpl.rcParams["grid.color"],
        linewidths=mpl.rcParams["grid.linewidth"],
        zorder=BELOW,
    )
    grid.set_in_layout(False)
    axes.add_collection(grid, autolim=False)
    return grid


def _inside(axis: Axis, places: np.ndarray) -> np.ndarray:
    """Return which places an axis shows."""
    shown = axis.get_transform().transform(np.asarray(places, dtype=float))
    low, high = np.sort(axis.get_transform().transform(np.asarray(axis.get_view_interval())))
    slack = ROUNDED * (high - low)
    return (low - slack <= shown) & (shown <= high + slack)


def _place_panels(
    figure: Figure,
    specs: dict[Axes, SubplotSpec],
    numbers: dict[Axis, list[Text]],
    renderer: RendererBase,
) -> None:
    margins = {axes: _margins(axes, numbers, renderer) for axes in specs}
    width, height = map(float, figure.get_size_inches())
    above, below = _strips(figure, renderer)
    grid = next(iter(specs.values())).get_gridspec()
    columns = _divide(
        width,
        grid.get_width_ratios() or [1.0] * grid.ncols,
        [(spec.colspan, margins[axes].left, margins[axes].right) for axes, spec in specs.items()],
    )
    rows = _divide(
        height - above - below,
        grid.get_height_ratios() or [1.0] * grid.nrows,
        [(spec.rowspan, margins[axes].top, margins[axes].bottom) for axes, spec in specs.items()],
    )
    for axes, spec in specs.items():
        left, right = columns[spec.colspan.start, 0], columns[spec.colspan.stop - 1, 1]
        top, bottom = rows[spec.rowspan.start, 0], rows[spec.rowspan.stop - 1, 1]
        corner = left / width, (height - above - bottom) / height
        axes.set_position((*corner, (right - left) / width, (bottom - top) / height))


def _strips(figure: Figure, renderer: RendererBase) -> tuple[float, float]:
    """Return what words of the whole figure take above and below its panels, inches."""
    above = below = 0.0
    outside: list[Artist] = [*figure.legends]
    heads = {figure.get_suptitle(), figure.get_supxlabel()} - {""}
    outside += [text for text in figure.texts if text.get_text() in heads]
    for artist in outside:
        box = artist.get_tightbbox(renderer)
        assert box is not None
        size = box.height / figure.dpi + PAD
        if box.y0 + box.y1 > figure.bbox.height:
            above += size
        else:
            below += size
    return above, below


def _divide(
    length: float, ratios: ArrayLike, panels: list[tuple[range, float, float]]
) -> np.ndarray:
    """Return where panels of each row (or column) begin and end, (n, 2), inches.

    Parameters
    ----------
    length
        What rows and the words between them share, inches.
    ratios
        The heights of rows over each other.
    panels
        The rows over which each panel goes, and what its words take before and after it, inches.
    """
    shares = np.asarray(ratios, dtype=float)
    before, after = np.zeros(shares.size), np.zeros(shares.size)
    for span, first, last in panels:
        before[span.start] = max(before[span.start], first + PAD)
        after[span.stop - 1] = max(after[span.stop - 1], last + PAD)
    free = max(length - float(np.sum(before + after)), 0.1 * length)
    sizes = free * shares / np.sum(shares)
    begins = np.cumsum(before + sizes + after) - after - sizes
    return np.column_stack([begins, begins + sizes])


def _margins(axes: Axes, numbers: dict[Axis, list[Text]], renderer: RendererBase) -> Margins:
    """Return what the words of a panel take; the labels of its axes get their places."""
    margins = Margins()
    for axis in (axes.xaxis, axes.yaxis):
        margins |= _label_axis(axis, numbers[axis], renderer)
    written = {*numbers[axes.xaxis], *numbers[axes.yaxis]}
    for artist in axes.get_children():
        within = artist is axes.patch or isinstance(artist, Axis | Spine) or artist.get_clip_on()
        if (within and not isinstance(artist, Text | Legend)) or artist in written:
            continue
        if artist.get_visible() and artist.get_in_layout():
            around = _beyond(axes, [artist.get_tightbbox(renderer)])
            is_title = isinstance(artist, Text) and artist not in axes.texts
            margins |= Margins(top=around.top) if is_title else around
    return margins


def _label_axis(axis: Axis, numbers: list[Text], renderer: RendererBase) -> Margins:
    """Put the label of an axis beyond its numbers, and return what both take."""
    axes, label, lies = axis.axes, axis.label, _name(axis) == "x"
    margins = _beyond(axes, [number.get_window_extent(renderer) for number in numbers])
    if label.get_text() and label.get_visible():
        size = label.get_window_extent(renderer)
        depth = (margins.bottom if lies else margins.left) + axis.labelpad / INCH
        shift = (0.0, -depth) if lies else (-depth, 0.0)
        moved = axes.transAxes + ScaledTranslation(*shift, _root(axes).dpi_scale_trans)
        axis.set_label_coords(*((0.5, 0.0) if lies else (0.0, 0.5)), transform=moved)
        thick = depth + (size.height if lies else size.width) / _root(axes).dpi
        margins |= Margins(bottom=thick) if lies else Margins(left=thick)
    return margins


def _beyond(axes: Axes, boxes: Iterable[Bbox | None]) -> Margins:
    """Return how far some boxes reach beyond axes."""
    sized = [box for box in boxes if box is not None and box.width > 0.0 and box.height > 0.0]
    if not sized:
        return Margins()
    own, whole = axes.bbox, Bbox.union(sized)
    sizes = (own.x0 - whole.x0, whole.x1 - own.x1, own.y0 - whole.y0, whole.y1 - own.y1)
    return Margins(*(max(0.0, float(size)) / _root(axes).dpi for size in sizes))


def _name(axis: Axis) -> str:
    return "x" if axis is axis.axes.xaxis else "y"


def _root(axes: Axes) -> Figure:
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure
