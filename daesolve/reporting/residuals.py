"""The figure of what is watched: residuals against time, beside what rounding would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from daesolve.reporting.curves import common_legend, empty, strip
from daesolve.reporting.document import Document
from daesolve.reporting.facts import family, labels
from daesolve.reporting.style import MOST_PANELS, PANEL_WIDTH, QUIET, colour, style, tick

ROUNDING = 2.2e-16
LAWS = ((0.5, "√t"), (1.0, "t"))
"""How an error grows that nothing corrects: by rounding at random (Brouwer), and by a bias."""
MOST_GOALS = 6
EDGES = 1.2
"""What the labels beside a panel take, inches."""


def drift(documents: Sequence[Document]) -> Figure:
    """Draw the root mean square of the residuals per bin of time, over their scales."""
    names = list(dict.fromkeys(name for d in documents for name in d.get("drift_history", {})))
    if not names:
        return empty("nothing was watched")
    several = len(documents) > 1
    groups = [[name] for name in names[:MOST_PANELS]] if several else _alike(names)[:MOST_PANELS]
    columns = 1 if len(groups) == 1 else 2
    rows = -(-len(groups) // columns)
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 0.6 + (3.2 if columns == 1 else 2.5) * rows))
        for slot, group in enumerate(groups):
            axes = figure.add_subplot(rows, columns, slot + 1)
            _histories(axes, documents, group, PANEL_WIDTH / columns - EDGES)
            if slot + columns >= len(groups):
                axes.set_xlabel("time since the start (s)")
            if slot % columns == 0:
                axes.set_ylabel("residual / scale (rms)")
        if several:
            common_legend(figure)
    return figure


def _alike(names: Sequence[str]) -> list[list[str]]:
    """Group goals that one panel can show; many numbered ones by what they are numbered of."""
    kinds = {name: family(name) if len(names) > MOST_GOALS else "" for name in names}
    groups: list[list[str]] = []
    for kind in dict.fromkeys(kinds.values()):
        members = [name for name in names if kinds[name] == kind]
        groups += [members[i : i + MOST_GOALS] for i in range(0, len(members), MOST_GOALS)]
    return groups


def _histories(
    axes: Axes, documents: Sequence[Document], group: Sequence[str], room: float
) -> None:
    if len(documents) > 1:
        axes.set_title(group[0])
        for place, (document, label) in enumerate(zip(documents, labels(documents), strict=True)):
            _history(axes, document, group[0], place, label)
    else:
        for place, name in enumerate(group):
            _history(axes, documents[0], name, place, _told(documents[0], name))
        strip(axes, 3, room)
    _settle_drift(axes)
    _guides(axes, documents[0])


def _told(document: Document, name: str) -> str:
    return name if document["drift"][name]["driven"] else f"{name}, measured"


def _history(axes: Axes, document: Document, name: str, place: int, label: str) -> None:
    history = document.get("drift_history", {}).get(name)
    if not history or not history["times"]:
        return
    driven = document["drift"][name]["driven"]
    sizes = np.array(history["rms"], dtype=float)
    sizes[sizes <= 0.0] = np.nan
    axes.plot(
        np.array(history["times"], dtype=float),
        sizes,
        "-" if driven else "--",
        marker="o",
        markersize=2.4,
        markevery=_isolated(sizes),
        color=colour(place),
        label=label,
    )


def _isolated(sizes: np.ndarray) -> list[int]:
    """Return the places of points that no line would show."""
    there = np.pad(np.isfinite(sizes), 1)
    return [int(i) for i in np.flatnonzero(there[1:-1] & ~there[:-2] & ~there[2:])]


def _settle_drift(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(tick))
    axes.yaxis.set_major_formatter(FuncFormatter(tick))
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    sizes = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    finite = np.concatenate([s[np.isfinite(s)] for s in sizes] or [np.empty(0)])
    low = min(1e-17, finite.min() / 3.0) if finite.size else 1e-17
    high = max(1e-14, finite.max() * 30.0) if finite.size else 1e-14
    axes.set_ylim(low, high)


def _guides(axes: Axes, document: Document) -> None:
    """Draw one rounding error, and how one a step would add up."""
    span: float = abs((document["end_time"] or 0.0) - document.get("start_time", 0.0))
    steps = max(float(document["statistics"]["steps"]), 1.0)
    low, high = axes.get_ylim()
    if not span or not axes.lines:
        return
    beginning = min(axes.get_xlim()[0], span)
    times: np.ndarray = np.geomspace(max(beginning, span / steps), span, 60)
    axes.axhline(ROUNDING, color=QUIET, linewidth=0.8, linestyle=":")
    _at_the_edge(axes, "rounding", ROUNDING)
    for power, name in LAWS:
        sizes: np.ndarray = ROUNDING * (times * steps / span) ** power
        axes.plot(times, sizes, color=QUIET, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1.5)
        if sizes[-1] < high / 2.0:
            _at_the_edge(axes, name, sizes[-1])
        else:
            inside = int(np.searchsorted(sizes, high / 3.0))
            place = (times[inside], sizes[inside])
            near: dict[str, Any] = {"xytext": (-5, 2), "textcoords": "offset points"}
            axes.annotate(name, place, **near, ha="right", color=QUIET, fontsize=8)
    axes.set_ylim(low, high)


def _at_the_edge(axes: Axes, words: str, height: float) -> None:
    axes.annotate(
        words,
        (1.0, height),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        color=QUIET,
        fontsize=8,
    )
