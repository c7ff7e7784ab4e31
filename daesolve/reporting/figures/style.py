"""How figures look: palette, Matplotlib settings, and SVG that follows the page's theme."""

from __future__ import annotations

import io
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator

from daesolve.reporting.facts import short
from daesolve.reporting.figures.margins import INCH, panels_in_place

INK, QUIET, RULE, SURFACE = "#1d2126", "#667077", "#dfe3e6", "#fefefe"
SERIES = ("#2a6bb0", "#c25a16", "#1b8573", "#a4407c", "#8a6d00", "#6a5fc0")
"""Colours of curves; they differ in lightness too, and never carry a meaning alone."""
PANEL_WIDTH = 10.4
"""The width of a figure of a report, inches."""
COLUMN = 5.2
"""The width of a figure whose words can be read on a telephone, which shrinks it to the screen."""
_WIDTH = ContextVar("width of figures", default=PANEL_WIDTH)
MOST_PANELS = 12
"""The most panels of one figure."""
MOST_DOTS = 1200
"""Samples that are drawn as dots of their own."""
NOT_IN_FILES = re.compile(r"[^\w.-]+")
"""What the name of a figure may contain, but not the name of its file."""
_VARIABLES = {
    INK: "var(--ink)",
    QUIET: "var(--quiet)",
    RULE: "var(--rule)",
    SURFACE: "var(--surface)",
    "#000000": "var(--ink)",
    "#ffffff": "var(--surface)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(SERIES, start=1)},
}
_COLOURS = {variable: shade for shade, variable in reversed(_VARIABLES.items())}
_MARKS = re.compile(
    r'<use [^>]*? style="([^"]*)"/>(?:\s*<use [^>]*? style="\1"/>)+',
)
_SETTINGS: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": QUIET,
    "axes.facecolor": "none",
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.6,
    "axes.prop_cycle": cycler(color=SERIES),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titley": 1.0,  # to place a title by what is drawn takes longer than to draw it
    "axes.unicode_minus": True,
    "figure.constrained_layout.use": True,
    "figure.facecolor": SURFACE,
    "font.family": ["sans-serif"],
    "font.size": 9,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.borderaxespad": 0.2,
    "legend.borderpad": 0.2,
    "legend.columnspacing": 1.4,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "lines.linewidth": 1.3,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.bottom": False,
    "xtick.color": QUIET,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "xtick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.left": False,
    "ytick.color": QUIET,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8.5,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
}
ROUNDED = 1e-9
"""A range over its size that is nothing but rounding."""
LEGEND_LINE = 0.18
LETTERS = 140
"""How many letters of a legend a figure of a report has side by side."""
LABELS = 0.7
"""What the labels left of a panel take, inches."""
LEGEND_MARK, LEGEND_LETTER = 0.45, 0.075
"""The width of the mark and of a letter of a legend, inches."""


@contextmanager
def style() -> Generator[None]:
    """Let figures that are made inside look like the report's own."""
    with mpl.rc_context(_SETTINGS):
        yield


@contextmanager
def in_a_column() -> Generator[None]:
    """Let figures that are made inside be as narrow as a column, their panels below each other."""
    before = _WIDTH.set(COLUMN)
    try:
        yield
    finally:
        _WIDTH.reset(before)


def panel_width() -> float:
    """Return the width of a figure, inches."""
    return _WIDTH.get()


def narrow() -> bool:
    """Return whether panels stand below each other."""
    return panel_width() < PANEL_WIDTH


def colour(index: int) -> str:
    """Return the colour of the curve with this number."""
    return SERIES[index % len(SERIES)]


def tick(value: float, position: int | None = None) -> str:
    """Return the text of a tick: plain, so that no common factor is hidden in a corner."""
    return short(value + 0.0, 6).replace("-", "−")


def ticks(axes: Axes) -> None:
    """Write plain numbers at the ticks of the vertical axis."""
    axes.yaxis.set_major_formatter(FuncFormatter(tick))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def svg(figure: Figure, name: str) -> str:
    """Return a figure as an <svg> element for a page.

    The text is the same for the same figure. Colours of the palette become the page's CSS
    variables, and identifiers begin with `name`, so that figures do not get into each other's
    way.

    Parameters
    ----------
    figure
        What to draw.
    name
        Different for each figure of a page.
    """
    _without_broken_mathematics(figure)
    _without_magnified_rounding(figure)
    buffer = io.StringIO()
    with mpl.rc_context(_SETTINGS | {"svg.hashsalt": name}), _arranged(figure) as canvas:
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = text.replace("xlink:href=", "href=")
    prefix = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = text.replace('href="#', f'href="#{prefix}-').replace("url(#", f"url(#{prefix}-")
    text = re.sub(r'\b(?:d|x|y|points)="[^"]*"', _rounded, text)
    text = _MARKS.sub(_shared, text)
    text = re.sub(r'<svg ([^>]*?)width="([^"]+)"', _framed, text, count=1)
    text = re.sub(
        r"#[0-9a-fA-F]{6}\b", lambda found: _VARIABLES.get(found[0].lower(), found[0]), text
    )
    return re.sub(r"\n\s*", "\n", text).strip()


@contextmanager
def _arranged(figure: Figure) -> Generator[FigureCanvasSVG]:
    """Lay out a figure and return its canvas, which then draws it once.

    `Figure.savefig` draws a figure that has a layout engine twice, even after the engine has run.
    """
    canvas = FigureCanvasSVG(figure)
    figure.set_dpi(INCH)  # as the canvas does, which writes points
    engine = figure.get_layout_engine()
    if engine is None or not figure.axes:
        yield canvas
        return
    with panels_in_place(figure, RendererSVG(*figure.bbox.size, io.StringIO())) as placed:
        if not placed:
            engine.execute(figure)
        figure.set_layout_engine("none")
        yield canvas


def alone(text: str) -> str:
    """Return an <svg> element of a page as a standalone file, with its name space and colours."""
    whole = text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return re.sub(r"var\(--[a-z0-9-]+\)", lambda found: _COLOURS[found[0]], whole) + "\n"


def save_figure(figure: Figure, directory: Path, name: str) -> list[Path]:
    """Write a figure as SVG and PNG into an existing directory, and return the files."""
    files = [directory / f"{NOT_IN_FILES.sub('-', name)}.{ending}" for ending in ("svg", "png")]
    _without_broken_mathematics(figure)
    _without_magnified_rounding(figure)
    for file in files:
        figure.savefig(file, dpi=200)
    return files


def _without_broken_mathematics(figure: Figure) -> None:
    """Show words as they are that have dollar signs and are not mathematics, such as a unit."""
    for text in _words(figure):
        if text.get_text().count("$") > 1:
            try:
                MathTextParser("path").parse(text.get_text())
            except ValueError:
                text.set_parse_math(False)


def _words(figure: Figure) -> Iterator[Text]:
    """Yield the texts of a figure but the numbers at ticks, which are many."""
    for parent in (figure, *figure.axes):
        for artist in parent.get_children():
            if isinstance(artist, Axis):
                yield artist.label
            elif not isinstance(artist, Axes):
                yield from artist.findobj(Text)


def _without_magnified_rounding(figure: Figure) -> None:
    """Widen linear axes whose whole range is a rounding error of what they show."""
    for axes in figure.axes:
        for axis, limits, limit in (
            (axes.xaxis, axes.get_xlim(), axes.set_xlim),
            (axes.yaxis, axes.get_ylim(), axes.set_ylim),
        ):
            low, high = limits
            size = max(abs(low), abs(high))
            if axis.get_scale() == "linear" and 0.0 < abs(high - low) <= ROUNDED * size:
                limit(low - 0.1 * size, high + 0.1 * size)


def _rounded(found: re.Match[str]) -> str:
    """Round coordinates to hundredths of a point."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}", found[0])


def _shared(found: re.Match[str]) -> str:
    """Write the looks of many marks once."""
    look = f'style="{found[1]}"'
    return f"<g {look}>{found[0].replace(f' {look}', '')}</g>"


def _framed(found: re.Match[str]) -> str:
    """Let the page know how wide a figure is by nature."""
    return f'<svg role="img" style="--natural: {found[2]}" {found[1]}width="{found[2]}"'


def settle(axes: Axes, values: Sequence[np.ndarray], least: float = 0.0) -> None:
    """Fit the vertical axis to values, without magnifying the rounding errors of constants.

    Parameters
    ----------
    axes
        Where the values are drawn.
    values
        Each (k,).
    least
        The least height of the axis.
    """
    ticks(axes)
    finite = np.concatenate([v[np.isfinite(v)] for v in values] or [np.empty(0)])
    if not finite.size:
        return
    low, high = float(np.min(finite)), float(np.max(finite))
    size = max(abs(low), abs(high))
    height = high - low
    if height <= ROUNDED * size:
        height = 0.2 * size
    height = max(height, least) * 1.16 or 1.0
    middle = low + 0.5 * (high - low)
    axes.set_ylim(middle - 0.5 * height, middle + 0.5 * height)


def empty(sentence: str) -> Figure:
    """Return a figure that says why there is nothing to show."""
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 0.6))
        figure.text(0.5, 0.5, sentence, ha="center", va="center", color=QUIET)
    return figure


def strip(axes: Axes, columns: int = 6, room: float | None = None) -> None:
    """Put the legend in a strip above the axes.

    Parameters
    ----------
    axes
        With labelled artists, or without.
    columns
        At most so many entries side by side.
    room
        How wide the strip may be, inches; None takes the width of a panel that fills its row.
    """
    labels = axes.get_legend_handles_labels()[1]
    if labels:
        wide = panel_width() - LABELS if room is None else room
        fitting = int(wide / (LEGEND_MARK + LEGEND_LETTER * max(map(len, labels))))
        columns = max(1, min(columns, fitting, len(labels)))
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns)


def common_legend(figure: Figure) -> None:
    """Put one legend of the runs above all panels."""
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if not found:
        return
    letters = int(LETTERS * figure.get_figwidth() / PANEL_WIDTH)
    columns = max(1, min(len(found), letters // (max(map(len, found)) + 6)))
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * -(-len(found) // columns))
    figure.legend(list(found.values()), list(found), loc="outside upper left", ncols=columns)
