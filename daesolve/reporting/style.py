"""How figures look: palette, Matplotlib settings, and SVG that follows the page's theme."""

from __future__ import annotations

import io
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from daesolve.reporting.facts import short

INK, QUIET, RULE, SURFACE = "#1d2126", "#667077", "#dfe3e6", "#fefefe"
SERIES = ("#2a6bb0", "#c25a16", "#1b8573", "#a4407c", "#8a6d00", "#6a5fc0")
"""Colours of curves; they differ in lightness too, and never carry a meaning alone."""
PANEL_WIDTH = 10.4
MOST_PANELS = 12
"""Of one figure."""
MOST_DOTS = 1200
"""Samples that are drawn as dots of their own."""

_VARIABLES = {
    INK: "var(--ink)",
    QUIET: "var(--quiet)",
    RULE: "var(--rule)",
    SURFACE: "var(--surface)",
    "#000000": "var(--ink)",
    "#ffffff": "var(--surface)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(SERIES, start=1)},
}
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
    "xtick.color": QUIET,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "xtick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.color": QUIET,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8.5,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
}


@contextmanager
def style() -> Generator[None]:
    """Let figures that are made inside look like the report's own."""
    with mpl.rc_context(_SETTINGS):
        yield


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
    """Return a figure as an <svg> element to stand inside of a page.

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
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(
            buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=False
        )
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


def save_figure(figure: Figure, directory: Path, name: str) -> list[Path]:
    """Write a figure as SVG and PNG into a directory that is there, and return the files."""
    files = [directory / f"{name}.{ending}" for ending in ("svg", "png")]
    for file in files:
        figure.savefig(file, dpi=200)
    return files


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
