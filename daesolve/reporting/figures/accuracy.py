"""Figures of accuracy: residuals, the power balance, work over precision, measures of a sweep."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from daesolve.core.results.trajectory.curves import Series
from daesolve.reporting.facts import GOOD, ROUNDING, family, labels
from daesolve.reporting.figures.panels import PlottedSeries, band, mark
from daesolve.reporting.figures.style import (
    LEGEND_LETTER,
    MOST_DOTS,
    MOST_PANELS,
    PANEL_WIDTH,
    QUIET,
    SERIES,
    colour,
    common_legend,
    empty,
    narrow,
    panel_width,
    settle,
    strip,
    style,
    tick,
    ticks,
)
from daesolve.reporting.sampling import Document, event_statistics, resolved, series

if TYPE_CHECKING:
    from daesolve.ensembles.sweep_results import ConvergenceOrders, MeasuredDependence

LAWS = ((0.5, "√t"), (1.0, "t"))
"""How errors grow without correction: by random rounding (Brouwer), and by a bias."""
MOST_GOALS = 6
EDGES = 1.2
"""What the labels beside a panel take, inches."""
LINE = 0.07
"""The height of a word over that of a panel."""
SPANS = 250
LEAST_SHOWN = 1e-20
"""Smaller residuals lie below the axes, which else would show nothing of the others."""
MOST_NAMED = 4
FEWER_PANELS = 6
"""The most panels of a narrow figure of residuals."""
ENERGIES = ("energy", "work")
IMPACTS = "lost in impacts"
SMALLEST_ERROR = 2.0**-53
"""Smaller errors are rounding; they are drawn at this size."""
MARKERS = "osD^v<>Ph*"
"""A shape for each solver, so that pairs differ in print and to any eye."""
MOST_COLUMNS = 3
PANEL = 3.3
"""The width and height of a panel, inches."""


def drift(documents: Sequence[Document]) -> Figure:
    """Draw the root mean square of the residuals per bin of time, over their scales."""
    names = list(dict.fromkeys(name for d in documents for name in d.get("drift_history", {})))
    if not names:
        return empty("nothing was monitored")
    several = len(documents) > 1
    exact = [] if several else [name for name in names if _always_zero(documents[0], name)]
    seen = [name for name in names if name not in exact] or names[:1]
    all_groups = [[name] for name in names] if several else _alike(seen)
    groups = all_groups[: FEWER_PANELS if narrow() else MOST_PANELS]
    columns = 1 if len(groups) == 1 or narrow() else 2
    rows = -(-len(groups) // columns)
    with style():
        height = 0.6 + (3.2 if rows == columns == 1 else 2.5) * rows
        figure = Figure(figsize=(panel_width(), height))
        for slot, group in enumerate(groups):
            axes = figure.add_subplot(rows, columns, slot + 1)
            _histories(axes, documents, group, panel_width() / columns - EDGES)
            if slot + columns >= len(groups):
                axes.set_xlabel("time since the start (s)")
            if slot % columns == 0:
                axes.set_ylabel("residual / scale (rms)")
        letters = int(panel_width() / LEGEND_LETTER)
        remarks = textwrap.wrap(f"always 0: {_some(exact)}", letters) if exact else []
        if len(all_groups) > len(groups):
            remarks.append(f"and {len(all_groups) - len(groups)} more panels, not drawn")
        if remarks:
            figure.supxlabel("\n".join(remarks), fontsize=9, color=QUIET)
        if several:
            common_legend(figure)
    return figure


def _alike(names: Sequence[str]) -> list[list[str]]:
    """Group goals that one panel can show; many, by their names without numbers."""
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
            _history(axes, documents[0], name, place, _label(documents[0], name))
        strip(axes, 3, room)
    _settle_drift(axes)
    _guides(axes, documents[0])
    _few_numbers(axes)


def _label(document: Document, name: str) -> str:
    return name if document["drift"][name]["driven"] else f"{name}, measured"


def _always_zero(document: Document, name: str) -> bool:
    """Return whether a residual was exactly zero at every step, which no logarithm shows."""
    sizes = document.get("drift_history", {}).get(name, {}).get("rms", ())
    return len(sizes) > 0 and all(size == 0.0 for size in sizes)


def _some(names: Sequence[str]) -> str:
    """Return names for reading, a few of many."""
    few = ", ".join(names[:MOST_NAMED])
    return few if len(names) <= MOST_NAMED else f"{few} and {len(names) - MOST_NAMED} more"


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
    axes.yaxis.set_major_formatter(FuncFormatter(tick))
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    sizes = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    finite = np.concatenate([s[np.isfinite(s)] for s in sizes] or [np.empty(0)])
    low = max(min(1e-17, finite.min() / 3.0), LEAST_SHOWN) if finite.size else 1e-17
    high = max(1e-14, finite.max() * 30.0) if finite.size else 1e-14
    axes.set_ylim(low, high)


def _few_numbers(axes: Axes) -> None:
    """Write at most a few numbers below a logarithmic axis of time, also where it is short."""
    low, high = axes.get_xlim()
    if high < 10.0 * low:
        axes.xaxis.set_major_locator(MaxNLocator(4))
    elif high < 100.0 * low:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=6))
    else:
        axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_major_formatter(FuncFormatter(tick))
    axes.xaxis.set_minor_formatter(NullFormatter())


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
    free = ROUNDING
    for power, name in LAWS:
        sizes: np.ndarray = ROUNDING * (times * steps / span) ** power
        axes.plot(times, sizes, color=QUIET, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1.5)
        if sizes[-1] < high / 2.0:
            if math.log(sizes[-1] / free) > LINE * math.log(high / low):
                _at_the_edge(axes, name, sizes[-1])
                free = float(sizes[-1])
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


def energy(documents: Sequence[Document]) -> Figure:
    """Draw the energy and its changes against time, and below them the unexplained rest.

    Work is the metered work of forces and reactions; the loss in an impact is the difference of the
    kinetic energies before and after.
    """
    found = [terms(document) for document in documents]
    if not any(found):
        return empty("there is no energy")
    several = len(documents) > 1
    shown = labels(documents)
    unit = next(d.get("units", {}).get("energy") or "J" for d in documents)
    worked = any(len(entry) > 1 for entry in found)
    with style():
        figure = Figure(figsize=(panel_width(), 4.2))
        heights = (2, 3) if worked else (1, 2)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=heights)
        levels: list[np.ndarray] = []
        for place, (document, entry) in enumerate(zip(documents, found, strict=True)):
            if not entry:
                continue
            for shift, (name, term) in enumerate(entry.items()):
                if several and shift:
                    break
                shade = colour(place + shift)
                change = Series(term.times, term.values - term.values[0]) if worked else term
                words = shown[place] if several else name
                above = int(worked and not several and name == ENERGIES[0])
                curve = PlottedSeries(words, change, shade, resolved(document), above)
                mark(upper, curve, crowded=curve.crowded)
                levels.append(change.values)
            left = unaccounted(entry)
            if several:
                left = Series(left.times, np.where(left.values == 0.0, np.nan, np.abs(left.values)))
            _deviation(lower, left, colour(place))
        settle(upper, levels, 0.0 if worked else 0.2 * _energy_scale(documents))
        upper.set_ylabel(f"change since\nthe start ({unit})" if worked else f"energy ({unit})")
        lower.set_ylabel(
            f"|{_balance_label(found)}| ({unit})"
            if several
            else f"{_balance_label(found)} ({unit})"
        )
        lower.set_xlabel("time (s)")
        lower.margins(x=0.01)
        if several:
            lower.set_yscale("log")
            lower.yaxis.set_major_formatter(FuncFormatter(tick))
            common_legend(figure)
        else:
            lower.axhline(0.0, color=QUIET, linewidth=0.8)
            ticks(lower)
            if worked:
                strip(upper)
    return figure


def terms(document: Document) -> dict[str, Series]:
    """Return the energy, its work, and what impacts took, by name; nothing without an energy."""
    outputs = series(document, "outputs")
    found = {name: outputs[name] for name in ENERGIES if name in outputs}
    if "energy" not in found or not found["energy"].times.size:
        return {}
    impacts = event_statistics(document).impacts
    if impacts.count:
        found[IMPACTS] = Series(found["energy"].times, -np.array(impacts.losses))
    return found


def unaccounted(found: Mapping[str, Series]) -> Series:
    """Return the change of the energy without that of the other terms."""
    total = found["energy"].values.copy()
    for name, term in found.items():
        if name != "energy":
            total -= term.values
    return Series(found["energy"].times, total - total[0])


def largest_unaccounted(document: Document) -> float | None:
    """Return the largest change of the energy at a sample that no term explains, J."""
    found = terms(document)
    if not found:
        return None
    left = unaccounted(found).values
    return float(np.max(np.abs(left))) if np.isfinite(left).all() else None


def _balance_label(found: Sequence[Mapping[str, Series]]) -> str:
    names = {name for entry in found for name in entry}
    work = " − work" if "work" in names else ""
    lost = "\n+ lost in impacts" if IMPACTS in names else ""
    return f"E − E₀{work}{lost}"


def _energy_scale(documents: Sequence[Document]) -> float:
    scales = [d["drift"]["energy"]["scale"] for d in documents if "energy" in d["drift"]]
    return max((scale for scale in scales if scale is not None), default=0.0)


def _deviation(axes: Axes, entry: Series, shade: str) -> None:
    if len(entry.times) > MOST_DOTS:
        band(axes, entry, SPANS, shade)
        return
    size = 4.0 if len(entry.times) < 100 else 2.0
    axes.plot(entry.times, entry.values, "o", markersize=size, markeredgewidth=0, color=shade)


def work_precision(document: Document) -> Figure:
    """Draw the errors of a comparison: for each pair, a line through its tolerances.

    Parameters
    ----------
    document
        What `comparison_document` returned. Runs that failed and errors that are not finite are
        left out.
    """
    lines = _lines(document)
    if not lines:
        return empty("there are no errors to show: no run finished, or there is no reference")
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 4.2))
        by_work, by_tolerance = figure.subplots(1, 2, sharey=True)
        solvers = list(dict.fromkeys(runs[0]["solver"] for runs in lines.values()))
        formulations = list(dict.fromkeys(runs[0]["formulation"] for runs in lines.values()))
        for pair, runs in lines.items():
            # With a single formulation, colours distinguish the solvers, else the formulations.
            solver, formulation = (
                solvers.index(runs[0]["solver"]),
                formulations.index(runs[0]["formulation"]),
            )
            looks = {
                "color": colour(formulation if len(formulations) > 1 else solver),
                "marker": MARKERS[solver % len(MARKERS)],
                "linestyle": "-" if formulation < len(SERIES) else "--",
                "markersize": 4.5,
                "label": pair,
            }
            errors = np.maximum([run["error"] for run in runs], SMALLEST_ERROR)
            by_work.plot([run["wall_seconds"] for run in runs], errors, **looks)
            by_tolerance.plot(*_with_tolerance(runs, errors), **looks)
        _logarithmic(by_work, "wall time of the integration (s)")
        by_work.set_ylabel("error / size of the states")
        _logarithmic(by_tolerance, "tolerance")
        _diagonal(by_tolerance)
        common_legend(figure)
    return figure


def _lines(document: Document) -> dict[str, list[Document]]:
    """Return the runs of each pair that have an error, the loosest first."""
    found: dict[str, list[Document]] = {}
    for run in document["runs"]:
        if run["error"] is not None and run["outcome"] in GOOD:
            found.setdefault(f"{run['formulation']} + {run['solver']}", []).append(run)
    return {
        pair: sorted(runs, key=lambda run: -(run["tolerance"] or 0.0))
        for pair, runs in found.items()
    }


def _with_tolerance(runs: list[Document], errors: np.ndarray) -> tuple[list[float], list[float]]:
    pairs = [
        (run["tolerance"], float(error))
        for run, error in zip(runs, errors, strict=True)
        if run["tolerance"] is not None
    ]
    return [tolerance for tolerance, _ in pairs], [error for _, error in pairs]


def _logarithmic(axes: Axes, label: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(label)


def _diagonal(axes: Axes) -> None:
    """Draw where the error would be the tolerance; tolerances tighten to the right."""
    low, high = axes.get_xlim()
    axes.plot([low, high], [low, high], ":", color=QUIET, linewidth=0.9, scalex=False, scaley=False)
    axes.set_xlim(high, low)


def measures(found: MeasuredDependence) -> Figure:
    """Draw each measure over the varied number, log-log."""
    shown = [measured for measured in found.measures if np.any(np.array(measured.values) > 0.0)]
    columns = min(len(shown), MOST_COLUMNS)
    rows = -(-len(shown) // columns) if columns else 1
    figure = Figure(figsize=(PANEL * max(columns, 1), PANEL * rows), layout="constrained")
    for place, measured in enumerate(shown):
        axes = figure.add_subplot(rows, columns, place + 1)
        _measure(axes, found, measured, colour(place))
    return figure


def _measure(
    axes: Axes, found: MeasuredDependence, measured: ConvergenceOrders, shade: str
) -> None:
    axes.set(xscale="log", yscale="log", title=measured.name.replace("_", " "))
    axes.plot(found.values, measured.values, "o-", color=shade, markersize=4)
    for number, order in enumerate(measured.orders):
        if order is not None:
            x, y = (np.sqrt(n[number] * n[number + 1]) for n in (found.values, measured.values))
            axes.annotate(
                f"{order:.3f}", (x, y), xytext=(4, -9), textcoords="offset points", fontsize=7
            )
    axes.set_xlabel(f"{found.over} ({found.unit})" if found.unit else found.over)
    axes.set_ylabel(measured.unit)
    _few_numbers(axes)
