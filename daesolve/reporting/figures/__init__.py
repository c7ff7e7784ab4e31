"""The figures of every report: motion, path, drift, energy, reactions.

Each takes the document of one run or several and returns a figure; several runs share axes, with a
legend that distinguishes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from daesolve.core.results.trajectory.curves import LEAST_RANGE, Series, joinable
from daesolve.reporting.contacts import contact_names
from daesolve.reporting.facts import labels, short
from daesolve.reporting.figures.accuracy import ENERGIES, drift, energy, terms
from daesolve.reporting.figures.certificates import half_widths
from daesolve.reporting.figures.contacts import contacts
from daesolve.reporting.figures.curves import FAINT
from daesolve.reporting.figures.panels import arrange, draw
from daesolve.reporting.figures.style import (
    INK,
    LEGEND_LINE,
    MOST_DOTS,
    PANEL_WIDTH,
    colour,
    common_legend,
    empty,
    settle,
    strip,
    style,
    tick,
    ticks,
)
from daesolve.reporting.sampling import (
    SEEN,
    Document,
    NamedEvents,
    beginnings,
    event_statistics,
    series,
)

__all__ = [
    "contacts",
    "drift",
    "energy",
    "events",
    "inputs",
    "outputs",
    "path",
    "positions",
    "reactions",
    "standard",
    "velocities",
]

MOST_JOINED = 5000
LEAST = 1e-16
"""The part of the kinetic energy below which a loss is rounding."""
DECADES = 30.0
"""Times between events that differ by more than this factor have a logarithmic axis."""


def standard(documents: Sequence[Document]) -> dict[str, Callable[[], list[Figure]]]:
    """Return the functions that draw the figures of every report, by title, in order.

    A figure with nothing to show is left out.
    """
    sampled = [document for document in documents if len(document["times"]) > 1]
    watched = [entry for d in documents for entry in d.get("drift_history", {}).values()]
    plan: list[tuple[str, Callable[[Sequence[Document]], Figure | list[Figure]], object]] = [
        ("Residuals", drift, any(entry["times"] for entry in watched)),
        (
            "Half-widths",
            half_widths,
            [d for d in documents if (d.get("certificate") or {}).get("times")],
        ),
        ("Energy", energy, any(map(terms, sampled))),
        ("Positions", positions, position_names(sampled)),
        ("Velocities", velocities, velocity_names(sampled)),
        ("Inputs", inputs, input_names(sampled)),
        ("Path", path, sampled and plane(documents)),
        ("Outputs", outputs, output_names(sampled)),
        ("Reactions", reactions, reaction_names(sampled)),
        ("Contacts", contacts, any(map(contact_names, sampled))),
        ("Events", events, max(d["event_count"] for d in documents) > 1),
    ]
    return {title: partial(_sheets, draw, documents) for title, draw, wanted in plan if wanted}


def _sheets(
    draw: Callable[[Sequence[Document]], Figure | list[Figure]], documents: Sequence[Document]
) -> list[Figure]:
    drawn = draw(documents)
    return drawn if isinstance(drawn, list) else [drawn]


def positions(documents: Sequence[Document]) -> list[Figure]:
    """Draw the coordinates against time."""
    return _against_time(documents, "states", position_names(documents))


def velocities(documents: Sequence[Document]) -> list[Figure]:
    """Draw the velocities against time."""
    return _against_time(documents, "states", velocity_names(documents))


def reactions(documents: Sequence[Document]) -> list[Figure]:
    """Draw the reactions against time."""
    return _against_time(documents, "reactions", reaction_names(documents))


def inputs(documents: Sequence[Document]) -> list[Figure]:
    """Draw the inputs against time."""
    return _against_time(documents, "outputs", input_names(documents))


def outputs(documents: Sequence[Document]) -> list[Figure]:
    """Draw the outputs against time, without inputs, energy and work."""
    return _against_time(documents, "outputs", output_names(documents))


def position_names(documents: Sequence[Document]) -> list[str]:
    """Return the states that are not velocities."""
    return [name for name in _names(documents, "states") if not _is_velocity(documents, name)]


def velocity_names(documents: Sequence[Document]) -> list[str]:
    """Return the states that are velocities, by their unit or their name."""
    return [name for name in _names(documents, "states") if _is_velocity(documents, name)]


def reaction_names(documents: Sequence[Document]) -> list[str]:
    """Return the reactions."""
    return _names(documents, "reactions")


def output_names(documents: Sequence[Document]) -> list[str]:
    """Return the outputs other than inputs, energy and work."""
    others = {*ENERGIES, *input_names(documents)}
    return [name for name in _names(documents, "outputs") if name not in others]


def input_names(documents: Sequence[Document]) -> list[str]:
    """Return the inputs, which are columns among the outputs."""
    inputs = {name for document in documents for name in document.get("inputs", ())}
    return [name for name in _names(documents, "outputs") if name in inputs]


def _against_time(documents: Sequence[Document], kind: str, names: Sequence[str]) -> list[Figure]:
    panels = arrange(documents, kind, names)
    return draw(panels, "there are no samples to show", several=len(documents) > 1)


def plane(documents: Sequence[Document]) -> tuple[str, str] | None:
    """Return the two coordinates that span the plane of motion, if they exist and move."""
    names = _names(documents, "states")
    units = documents[0].get("units", {})
    for pair in (("x", "y"), ("x", "z")):
        known = all(name in names for name in pair) and units.get(pair[0]) == units.get(pair[1])
        if known and max(_spans(documents, pair)) > LEAST_RANGE:
            return pair
    return None


def path(documents: Sequence[Document]) -> Figure:
    """Draw the path in the plane of x and y, or of x and z."""
    pair = plane(documents)
    if pair is None:
        return empty("there is no plane of motion")
    unit = documents[0].get("units", {}).get(pair[0], "")
    with style():
        width = 0.6 * PANEL_WIDTH
        figure = Figure(
            figsize=(
                width,
                0.9 + LEGEND_LINE * len(documents) + width * _steepness(documents, pair),
            )
        )
        axes = figure.add_subplot()
        for place, document in enumerate(documents):
            found = series(document, "states")
            if all(name in found and found[name].times.size for name in pair):
                _trace(axes, pair, place, documents)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel(f"{pair[0]} ({unit})" if unit else pair[0])
        axes.set_ylabel(f"{pair[1]} ({unit})" if unit else pair[1])
        strip(axes, 2 if len(documents) == 1 else 1)
    return figure


def _steepness(documents: Sequence[Document], pair: tuple[str, str]) -> float:
    """Return the height of the path over its width, within the bounds of a page."""
    spans = _spans(documents, pair)
    return min(1.0, max(0.3, spans[1] / spans[0])) if spans[0] else 1.0


def _spans(documents: Sequence[Document], pair: tuple[str, str]) -> list[float]:
    """Return the range of each of two coordinates over all runs."""
    spans: list[float] = []
    for name in pair:
        columns = [np.array(d["states"].get(name, []), dtype=float) for d in documents]
        values = np.concatenate(columns)
        values = values[np.isfinite(values)]
        spans.append(float(np.ptp(values)) if values.size else 0.0)
    return spans


def _trace(axes: Axes, names: tuple[str, str], place: int, documents: Sequence[Document]) -> None:
    """Draw the path of a run: a line where samples can be joined, else dots and its beginning."""
    found, begun = series(documents[place], "states"), _begun(documents[place])
    x, y = (found[name] for name in names)
    alone, above = len(documents) == 1, min(len(documents) - 1 - place, 3)
    label = labels(documents)[place]
    if joinable([x, y], SEEN) and len(x.times) <= MOST_JOINED:
        axes.plot(
            x.joined()[1],
            y.joined()[1],
            color=colour(place),
            linewidth=1.0 + 1.5 * above,
            label="path" if alone else label,
        )
    else:
        every = -(-len(x.times) // MOST_DOTS)
        words = "samples" if every == 1 else f"one sample in {every}"
        size = 4.0 if len(x.times) < 100 else 1.8
        axes.plot(
            x.values[::every],
            y.values[::every],
            "o",
            markersize=size + 2.4 * above,
            markeredgewidth=0,
            color=colour(place),
            alpha=FAINT if begun else 1.0,
            label=words if alone else f"{label} ({words})",
        )
        if begun:
            first = begun[names[0]], begun[names[1]]
            span = float(np.ptp(first[0].times))
            words = f"the first {short(span, 3)} s"
            axes.plot(
                first[0].joined()[1],
                first[1].joined()[1],
                color=colour(place),
                linewidth=0.9 + 1.5 * above,
                label=words if alone else f"{label} ({words})",
            )
    start = axes.plot(x.values[:1], y.values[:1], "o", markersize=6, color=INK, fillstyle="none")
    if alone:
        start[0].set_label("first sample")


def _begun(document: Document) -> dict[str, Series]:
    """Return the states of the beginning, where that is known apart and can be joined."""
    return beginnings(document, "states") if document.get("opening") else {}


def _names(documents: Sequence[Document], kind: str) -> list[str]:
    return list(dict.fromkeys(name for document in documents for name in document[kind]))


def _is_velocity(documents: Sequence[Document], name: str) -> bool:
    units: dict[str, str] = {}
    for document in documents:
        units = {**document.get("units", {}), **units}
    return units.get(name, "").endswith("/s") or "_dot" in name


def events(documents: Sequence[Document]) -> Figure:
    """Draw the number of events over time, the times between them, and losses in impacts."""
    statistics = [event_statistics(document) for document in documents]
    if not any(run.named for run in statistics):
        return empty("nothing happened")
    several = len(documents) > 1
    impacts = any(run.impacts.count for run in statistics)
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 2.6))
        count, between, *lost = figure.subplots(1, 2 + impacts)
        shades = 0
        for document, run, label in zip(documents, statistics, labels(documents), strict=True):
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


def _count(axes: Axes, document: Document, entry: NamedEvents, label: str, shade: str) -> None:
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
    axes.set_title("time since the previous event (s)")
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
