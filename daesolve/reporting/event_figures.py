"""The figure of events: how many there were, when, and what impacts took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from daesolve.reporting.curves import common_legend, empty, settle
from daesolve.reporting.document import Document
from daesolve.reporting.event_statistics import Occurrences, happened
from daesolve.reporting.facts import labels
from daesolve.reporting.style import PANEL_WIDTH, colour, style, tick, ticks

LEAST = 1e-16
"""The part of the kinetic energy below which a loss is rounding."""
DECADES = 30.0
"""Times between events that differ by more than this factor have a logarithmic axis."""


def events(documents: Sequence[Document]) -> Figure:
    """Draw the number of events against time, the times between them, and what impacts took."""
    told = [happened(document) for document in documents]
    if not any(run.named for run in told):
        return empty("nothing happened")
    several = len(documents) > 1
    impacts = any(run.impacts.count for run in told)
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 2.6))
        count, between, *lost = figure.subplots(1, 2 + impacts)
        shades = 0
        for document, run, label in zip(documents, told, labels(documents), strict=True):
            for name, entry in run.named.items():
                words = label if several else name.replace("_", " ")
                _count(count, document, entry, words, colour(shades))
                _dots(between, entry.table[1], entry.table[2], words, colour(shades))
                for axes in lost:
                    seen = entry.table[3] > LEAST
                    _dots(axes, entry.table[1][seen], entry.table[3][seen], words, colour(shades))
                shades += 1
        ticks(count)
        count.set_title("events so far")
        _settle_gaps(between)
        for axes in lost:
            _settle_losses(axes)
        for axes in (count, between, *lost):
            axes.set_xlabel("time (s)")
            axes.margins(x=0.02)
        if several or len(count.lines) > 1:
            common_legend(figure)
    return figure


def _count(axes: Axes, document: Document, entry: Occurrences, label: str, shade: str) -> None:
    numbers, times = entry.table[:2]
    start, end = document.get("start_time", times[0]), document["end_time"]
    axes.step(
        np.array([start, *times, end], dtype=float),
        np.array([0, *numbers, entry.count], dtype=float),
        where="post",
        color=shade,
        label=label,
    )


def _dots(axes: Axes, times: np.ndarray, values: np.ndarray, label: str, shade: str) -> None:
    style: dict[str, Any] = {
        "markersize": 2.4,
        "markeredgewidth": 0.0,
        "color": shade,
        "label": label,
    }
    axes.plot(times, values, "o", **style)


def _shown(axes: Axes) -> np.ndarray:
    sizes = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    return sizes[np.isfinite(sizes)]


def _settle_gaps(axes: Axes) -> None:
    axes.set_title("time since the one before (s)")
    sizes = _shown(axes)
    settle(axes, [np.append(sizes, 0.0)])
    positive = sizes[sizes > 0.0]
    if positive.size and positive.max() > DECADES * positive.min():
        axes.set_yscale("log")
        axes.set_ylim(positive.min() / 2.0, 2.0 * positive.max())
        axes.yaxis.set_major_formatter(FuncFormatter(tick))


def _settle_losses(axes: Axes) -> None:
    axes.set_title("energy lost / kinetic energy")
    sizes = _shown(axes)
    if sizes.size:
        axes.set_ylim(sizes.min() / 3.0, 3.0 * sizes.max())
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(tick))
