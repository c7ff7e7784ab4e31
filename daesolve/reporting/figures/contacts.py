"""A strip for each contact: when it was open, slid, and stuck."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from daesolve.reporting.contacts import (
    BACKWARD,
    CLOSED,
    FORWARD,
    OPEN,
    SLIDES,
    STICKS,
    ContactSpan,
    stretches,
)
from daesolve.reporting.facts import labels, short
from daesolve.reporting.figures.style import PANEL_WIDTH, RULE, colour, empty, style
from daesolve.reporting.sampling import Document

MOST_STRETCHES = 400
"""The most stretches of a run that are drawn, from its beginning."""
LOOKS = {
    STICKS: (colour(0), 0.0, 0.72),
    CLOSED: (colour(2), 0.0, 0.72),
    SLIDES: (colour(1), 0.0, 0.36),
    FORWARD: (colour(1), 0.18, 0.36),
    BACKWARD: (colour(3), -0.18, 0.36),
    OPEN: (RULE, 0.0, 0.06),
}
"""Colour, where in the strip, and how high: what slides is in the half to which it slides."""
ROW = 0.34
"""The height of a strip, inches."""


def contacts(documents: Sequence[Document]) -> Figure:
    """Draw what every contact did over time; a run that changes often from its beginning alone."""
    found = [stretches(document) for document in documents]
    if not any(found):
        return empty("there are no contacts")
    heights = [max(len(run), 1) for run in found]
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 0.9 + ROW * sum(heights) + 0.35 * len(found)))
        panels = figure.subplots(len(found), 1, squeeze=False, height_ratios=heights).ravel()
        for axes, run, label in zip(panels, found, labels(documents), strict=True):
            title = label if len(documents) > 1 else ""
            _strips(axes, run, title)
        panels[-1].set_xlabel("time (s)")
        seen = {part.state for run in found for parts in run.values() for part in parts}
        figure.legend(
            handles=[
                Patch(color=shade, label=state)
                for state, (shade, _, _) in LOOKS.items()
                if state in seen
            ],
            loc="outside upper left",
            ncols=len(LOOKS),
        )
    return figure


def _strips(axes: Axes, run: dict[str, list[ContactSpan]], title: str) -> None:
    names = list(run)
    ends = [parts[MOST_STRETCHES - 1].end for parts in run.values() if len(parts) > MOST_STRETCHES]
    for row, name in enumerate(names):
        for state, (shade, middle, height) in LOOKS.items():
            parts = [part for part in run[name][:MOST_STRETCHES] if part.state == state]
            spans = [(part.begin, part.end - part.begin) for part in parts]
            low = len(names) - 1 - row + middle - height / 2.0
            axes.broken_barh(spans, (low, height), facecolors=shade, linewidth=0.0)
    axes.set_yticks(range(len(names)), names[::-1])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.01)
    if ends:
        axes.set_xlim(right=min(ends))
        title = f"{title}, " * bool(title) + f"the beginning, up to {short(min(ends), 4)} s"
    axes.set_title(title)
