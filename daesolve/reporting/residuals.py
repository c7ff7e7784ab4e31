"""The figures of what is watched: residuals, and energy against work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from daesolve.reporting.curves import Curve, band, common_legend, empty, mark, settle, strip
from daesolve.reporting.document import Document
from daesolve.reporting.facts import family, labels
from daesolve.reporting.sampling import Series, resolved, series
from daesolve.reporting.style import PANEL_WIDTH, QUIET, colour, style, tick, ticks

ROUNDING = 2.2e-16
MOST_DOTS = 1200
ENERGIES = ("energy", "work")
MOST_GOALS = 6
EDGES = 1.2
"""What the labels beside a panel take, inches."""
MOST_PANELS = 12
SPANS = 250


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
    shown = labels(documents)
    unit = having[0].get("units", {}).get("energy", "") or "J"
    metered = any("work" in d["outputs"] for d in having)
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 4.0))
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2))
        levels: list[np.ndarray] = []
        for place, document in enumerate(documents):
            found = series(document, "outputs")
            if "energy" not in found or not found["energy"].times.size:
                continue
            names = ENERGIES[:1] if several else [name for name in ENERGIES if name in found]
            for shift, name in enumerate(names):
                label = shown[place] if several else name
                shade = colour(place + shift)
                curve = Curve(label, found[name], shade, resolved(document))
                mark(upper, curve, crowded=curve.crowded)
                levels.append(found[name].values)
            _deviation(lower, _balance(found), colour(place))
        settle(upper, levels, 0.2 * _energy_scale(having))
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


def _balance(found: dict[str, Series]) -> Series:
    total = found["energy"].values
    if "work" in found:
        total = total - found["work"].values
    return Series(found["energy"].times, total - total[0])


def _deviation(axes: Axes, entry: Series, shade: str) -> None:
    if len(entry.times) > MOST_DOTS:
        band(axes, entry, SPANS, shade)
        return
    size = 4.0 if len(entry.times) < 100 else 2.0
    axes.plot(entry.times, entry.values, "o", markersize=size, markeredgewidth=0, color=shade)
