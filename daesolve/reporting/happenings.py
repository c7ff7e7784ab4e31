"""The figure of events: how many there were, and what impacts took."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daesolve.reporting.curves import common_legend, empty, strip
from daesolve.reporting.document import Document
from daesolve.reporting.facts import labels
from daesolve.reporting.style import PANEL_WIDTH, colour, style, ticks

LEAST = 1e-16
"""The part of the kinetic energy below which a loss is rounding."""


def events(documents: Sequence[Document]) -> Figure:
    """Draw the number of events against time, and the kinetic energy that each impact took."""
    if not any(document["events"] for document in documents):
        return empty("nothing happened")
    impacts = any("impact" in event for d in documents for event in d["events"])
    several = len(documents) > 1
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 2.5))
        left, *right = figure.subplots(1, 1 + impacts, squeeze=False)[0]
        shades = 0
        for document, run in zip(documents, labels(documents), strict=True):
            for name in dict.fromkeys(event["name"] for event in document["events"]):
                label = run if several else name.replace("_", " ")
                _count(left, document, name, label, colour(shades))
                for axes in right:
                    _losses(axes, document, name, label, colour(shades))
                shades += 1
        left.set_ylabel("events so far")
        ticks(left)
        for axes in right:
            _settle_losses(axes)
        for axes in (left, *right):
            axes.set_xlabel("time (s)")
            axes.margins(x=0.01)
        if several:
            common_legend(figure)
        else:
            strip(left)
    return figure


def _settle_losses(axes: Axes) -> None:
    axes.set_ylabel("energy lost / kinetic energy")
    sizes = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    if sizes.size:
        axes.set_ylim(sizes.min() / 3.0, 3.0 * sizes.max())
        axes.set_yscale("log")


def _count(axes: Axes, document: Document, name: str, label: str, shade: str) -> None:
    times = [event["time"] for event in document["events"] if event["name"] == name]
    start, end = document.get("start_time", times[0]), document["end_time"]
    known = np.array([start, *times, end], dtype=float)
    counts = [*range(len(times) + 1), len(times)]
    axes.step(known, counts, where="post", color=shade, label=label)


def _losses(axes: Axes, document: Document, name: str, label: str, shade: str) -> None:
    told = [
        (event["time"], event["impact"])
        for event in document["events"]
        if event["name"] == name and event.get("impact")
    ]
    before = np.array([impact["kinetic_before"] for _, impact in told], dtype=float)
    after = np.array([impact["kinetic_after"] for _, impact in told], dtype=float)
    lost = (before - after) / np.maximum(before, np.finfo(float).tiny)
    seen = lost > LEAST
    times = np.array([time for time, _ in told], dtype=float)
    axes.plot(
        times[seen],
        lost[seen],
        "o",
        markersize=2.2,
        markeredgewidth=0,
        color=shade,
        label=label,
    )
