"""The figure of the power balance: where energy went, and what is left unaccounted for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from daesolve.reporting.curves import Curve, band, common_legend, empty, mark, settle, strip
from daesolve.reporting.document import Document
from daesolve.reporting.event_statistics import happened
from daesolve.reporting.facts import labels
from daesolve.reporting.sampling import Series, resolved, series
from daesolve.reporting.style import MOST_DOTS, PANEL_WIDTH, QUIET, colour, style, tick, ticks

SPANS = 250
ENERGIES = ("energy", "work")
IMPACTS = "taken by impacts"


def energy(documents: Sequence[Document]) -> Figure:
    """Draw what changed the energy against time, and below what is left when all is accounted for.

    Work is that of forces and reactions as it was metered; impacts are told by their kinetic
    energies before and after.
    """
    found = [terms(document) for document in documents]
    if not any(found):
        return empty("there is no energy")
    several = len(documents) > 1
    shown = labels(documents)
    unit = next(d.get("units", {}).get("energy") or "J" for d in documents)
    worked = any(len(entry) > 1 for entry in found)
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 4.2))
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
                curve = Curve(words, change, shade, resolved(document), above)
                mark(upper, curve, crowded=curve.crowded)
                levels.append(change.values)
            left = unaccounted(entry)
            if several:
                left = Series(left.times, np.where(left.values == 0.0, np.nan, np.abs(left.values)))
            _deviation(lower, left, colour(place))
        settle(upper, levels, 0.0 if worked else 0.2 * _energy_scale(documents))
        upper.set_ylabel(f"change since the start ({unit})" if worked else f"energy ({unit})")
        lower.set_ylabel(f"|{_told(found)}| ({unit})" if several else f"{_told(found)} ({unit})")
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
    impacts = happened(document).impacts
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
    """Return the largest change of the energy at a sample that no term accounts for, J."""
    found = terms(document)
    if not found:
        return None
    left = unaccounted(found).values
    return float(np.max(np.abs(left))) if np.isfinite(left).all() else None


def _told(found: Sequence[Mapping[str, Series]]) -> str:
    names = {name for entry in found for name in entry}
    work = " − work" if "work" in names else ""
    return f"E − E₀{work}{' + lost in impacts' if IMPACTS in names else ''}"


def _energy_scale(documents: Sequence[Document]) -> float:
    scales = [d["drift"]["energy"]["scale"] for d in documents if "energy" in d["drift"]]
    return max((scale for scale in scales if scale is not None), default=0.0)


def _deviation(axes: Axes, entry: Series, shade: str) -> None:
    if len(entry.times) > MOST_DOTS:
        band(axes, entry, SPANS, shade)
        return
    size = 4.0 if len(entry.times) < 100 else 2.0
    axes.plot(entry.times, entry.values, "o", markersize=size, markeredgewidth=0, color=shade)
