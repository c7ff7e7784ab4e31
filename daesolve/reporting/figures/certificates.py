"""The half-widths of certified boxes over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from daesolve.reporting.figures.style import QUIET, colour, panel_width, style, tick
from daesolve.reporting.sampling import Document

MOST_LINES = 8
"""Beyond so many states only the widest is drawn."""


def half_widths(documents: Sequence[Document]) -> Figure:
    """Draw how wide the boxes of the states are, and where each certificate ends."""
    with style():
        figure = Figure(figsize=(panel_width(), 3.6))
        axes = figure.add_subplot()
        place = 0
        for document in documents:
            entry = document.get("certificate")
            if not entry:
                continue
            rows = {name: np.array(entry["widths"][name], dtype=float) for name in entry["states"]}
            if len(documents) > 1 or len(rows) > MOST_LINES:
                rows = {"the widest state": np.max([*rows.values()], axis=0)}
            for name, row in rows.items():
                row[row < 1e-100] = np.nan
                axes.plot(entry["times"], row, color=colour(place), label=name)
                place += 1
            if entry["message"]:
                axes.axvline(entry["until"], color=QUIET, linewidth=0.8, linestyle=":")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(tick))
        axes.yaxis.set_major_locator(LogLocator(numticks=8))
        axes.set_xlabel("t (s)")
        axes.set_ylabel("half-width")
        if place > 1:
            axes.legend(frameon=False, ncols=min(place, 4))
    return figure
