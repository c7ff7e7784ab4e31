"""The figures of every report: motion, path, drift, energy, reactions.

Each takes one run's document or several and returns a figure; several runs share axes, with a
legend of what distinguishes them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from daesolve.reporting.document import Document
from daesolve.reporting.facts import labels
from daesolve.reporting.panels import arrange, common_legend, draw, empty, settle, strip
from daesolve.reporting.sampling import MOST_SAMPLES, Series, envelope, resolved, series
from daesolve.reporting.style import INK, PANEL_WIDTH, QUIET, colour, number, style, ticks

ROUNDING = 2.2e-16
MOST_DOTS = 1200
ENERGIES = ("energy", "work")
MOST_GOALS = 6


def positions(documents: Sequence[Document]) -> Figure:
    """Draw the coordinates against time."""
    names = [name for name in _names(documents, "states") if not _is_velocity(documents, name)]
    return draw(
        arrange(documents, "states", names),
        "no coordinates were sampled",
        several=len(documents) > 1,
    )


def velocities(documents: Sequence[Document]) -> Figure:
    """Draw the velocities against time."""
    names = [name for name in _names(documents, "states") if _is_velocity(documents, name)]
    return draw(
        arrange(documents, "states", names),
        "no velocities were sampled",
        several=len(documents) > 1,
    )


def reactions(documents: Sequence[Document]) -> Figure:
    """Draw the reactions against time."""
    names = _names(documents, "reactions")
    return draw(
        arrange(documents, "reactions", names), "there are no reactions", several=len(documents) > 1
    )


def outputs(documents: Sequence[Document]) -> Figure:
    """Draw the outputs against time, energy and work apart."""
    names = [name for name in _names(documents, "outputs") if name not in ENERGIES]
    return draw(
        arrange(documents, "outputs", names), "there are no outputs", several=len(documents) > 1
    )


def plane(documents: Sequence[Document]) -> tuple[str, str] | None:
    """Return the two coordinates that span the plane of motion, if there are such."""
    names = _names(documents, "states")
    units = documents[0].get("units", {})
    for pair in (("x", "y"), ("x", "z")):
        if all(name in names for name in pair) and units.get(pair[0]) == units.get(pair[1]):
            return pair
    return None


def path(documents: Sequence[Document]) -> Figure:
    """Draw the path in the plane of x and y, or of x and z."""
    pair = plane(documents)
    if pair is None:
        return empty("there is no plane of motion")
    unit = documents[0].get("units", {}).get(pair[0], "")
    with style():
        figure = Figure(figsize=(0.6 * PANEL_WIDTH, 0.6 * PANEL_WIDTH))
        axes = figure.add_subplot()
        for number, (document, label) in enumerate(zip(documents, labels(documents), strict=True)):
            found = series(document, "states")
            if all(name in found and found[name].times.size for name in pair):
                _trace(axes, document, (found[pair[0]], found[pair[1]]), number, label)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel(f"{pair[0]} ({unit})" if unit else pair[0])
        axes.set_ylabel(f"{pair[1]} ({unit})" if unit else pair[1])
        strip(axes, 2 if len(documents) == 1 else 1)
    return figure


def _trace(
    axes: Axes, document: Document, pair: tuple[Series, Series], number: int, label: str
) -> None:
    x, y = pair
    alone = number == 0 and label == labels([document])[0]
    if resolved(document) and len(x.times) <= MOST_SAMPLES:
        shown = "path" if alone else label
        axes.plot(x.joined()[1], y.joined()[1], color=colour(number), linewidth=1.0, label=shown)
    else:
        every = -(-len(x.times) // MOST_DOTS)
        words = "samples" if every == 1 else f"every {every}th sample"
        shown = words if alone else f"{label} ({words})"
        axes.plot(
            x.values[::every],
            y.values[::every],
            "o",
            markersize=1.8,
            markeredgewidth=0,
            color=colour(number),
            label=shown,
        )
    axes.plot(x.values[:1], y.values[:1], "o", markersize=6, color=INK, fillstyle="none")
    if alone:
        axes.lines[-1].set_label("start")


def drift(documents: Sequence[Document]) -> Figure:
    """Draw the root mean square of the residuals per bin of time, over their scales."""
    names = list(dict.fromkeys(name for d in documents for name in d.get("drift_history", {})))
    if not names:
        return empty("nothing was watched")
    several = len(documents) > 1
    groups = (
        [[name] for name in names[:12]]
        if several
        else [names[i : i + MOST_GOALS] for i in range(0, len(names), MOST_GOALS)]
    )
    columns = 1 if len(groups) == 1 else 2
    rows = -(-len(groups) // columns)
    shown = labels(documents)
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 0.6 + (3.2 if columns == 1 else 2.5) * rows))
        for place, group in enumerate(groups):
            axes = figure.add_subplot(rows, columns, place + 1)
            for run, document in enumerate(documents):
                for number, name in enumerate(group):
                    _history(
                        axes, document, name, *((run, shown[run]) if several else (number, name))
                    )
            _settle_drift(axes)
            if several:
                axes.set_title(group[0])
            if not several:
                strip(axes, 5 if columns == 1 else 2)
            if place // columns == rows - 1 or place + columns >= len(groups):
                axes.set_xlabel("time since the start (s)")
            if place % columns == 0:
                axes.set_ylabel("residual / scale (rms)")
        if several:
            common_legend(figure)
    return figure


def _history(axes: Axes, document: Document, name: str, number: int, label: str) -> None:
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
        color=colour(number),
        label=f"{label}, {'driven' if driven else 'measured'}",
    )


def _settle_drift(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(number))
    axes.yaxis.set_major_formatter(FuncFormatter(number))
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    sizes = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    finite = np.concatenate([s[np.isfinite(s)] for s in sizes] or [np.empty(0)])
    low = min(1e-17, finite.min() / 3.0) if finite.size else 1e-17
    high = max(1e-14, finite.max() * 30.0) if finite.size else 1e-14
    axes.axhline(ROUNDING, color=QUIET, linewidth=0.8, linestyle=":")
    axes.annotate(
        "rounding",
        (1.0, ROUNDING),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        color=QUIET,
        fontsize=8,
    )
    axes.set_ylim(low, high)


def energy(documents: Sequence[Document]) -> Figure:
    """Draw energy and work against time, and below how far the energy is from its first value.

    Where work is metered, it is taken off.
    """
    having = [d for d in documents if "energy" in d["outputs"] and d["times"]]
    if not having:
        return empty("there is no energy")
    several = len(documents) > 1
    shown = dict(zip(map(id, documents), labels(documents), strict=True))
    unit = having[0].get("units", {}).get("energy", "") or "J"
    metered = any("work" in d["outputs"] for d in having)
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 4.0))
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2))
        levels: list[np.ndarray] = []
        for number, document in enumerate(having):
            found = series(document, "outputs")
            for place, name in enumerate(n for n in ENERGIES if n in found):
                label = f"{shown[id(document)]}: {name}" if several else name
                _level(upper, found[name], colour(number + place), label)
                levels.append(found[name].values)
            _deviation(lower, _balance(found), colour(number))
        settle(upper, levels, _energy_scale(having))
        upper.set_ylabel(unit)
        lower.axhline(0.0, color=QUIET, linewidth=0.8)
        lower.set_ylabel(f"E − E₀{' − work' if metered else ''} ({unit})")
        lower.set_xlabel("time (s)")
        lower.margins(x=0.01)
        ticks(lower)
        if several:
            common_legend(figure)
        else:
            strip(upper)
    return figure


def _energy_scale(documents: Sequence[Document]) -> float:
    scales = [d["drift"]["energy"]["scale"] for d in documents if "energy" in d["drift"]]
    return max((scale for scale in scales if scale is not None), default=0.0)


def _level(axes: Axes, entry: Series, shade: str, label: str) -> None:
    if len(entry.times) > MOST_SAMPLES:
        edges, low, high = envelope(entry, 250)
        axes.stairs(high, edges, baseline=low, fill=True, color=shade, label=label)
    else:
        axes.plot(entry.times, entry.values, color=shade, label=label)


def _balance(found: dict[str, Series]) -> Series:
    total = found["energy"].values
    if "work" in found:
        total = total - found["work"].values
    return Series(found["energy"].times, total - total[0])


def _deviation(axes: Axes, entry: Series, shade: str) -> None:
    if len(entry.times) > MOST_DOTS:
        edges, low, high = envelope(entry, 250)
        axes.stairs(high, edges, baseline=low, fill=True, color=shade, alpha=0.6)
        return
    axes.plot(entry.times, entry.values, "o", markersize=2.0, markeredgewidth=0, color=shade)


def _names(documents: Sequence[Document], kind: str) -> list[str]:
    return list(dict.fromkeys(name for document in documents for name in document[kind]))


def _is_velocity(documents: Sequence[Document], name: str) -> bool:
    units = {}
    for document in documents:
        units = {**document.get("units", {}), **units}
    return units.get(name, "").endswith("/s") or "_dot" in name
