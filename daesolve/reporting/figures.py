"""The figures of every report: motion, path, drift, energy, reactions.

Each takes one run's document or several and returns a figure; several runs share axes, with a
legend of what distinguishes them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daesolve.reporting.balance import ENERGIES, energy
from daesolve.reporting.curves import LEGEND_LINE, empty, strip
from daesolve.reporting.document import Document
from daesolve.reporting.event_figures import events
from daesolve.reporting.facts import labels
from daesolve.reporting.panels import NOTHING, arrange, draw
from daesolve.reporting.residuals import drift
from daesolve.reporting.sampling import SEEN, Series, joinable, series
from daesolve.reporting.style import INK, MOST_DOTS, PANEL_WIDTH, colour, style

__all__ = [
    "drift",
    "energy",
    "events",
    "output_names",
    "outputs",
    "path",
    "plane",
    "position_names",
    "positions",
    "reaction_names",
    "reactions",
    "velocities",
    "velocity_names",
]

MOST_JOINED = 5000


def positions(documents: Sequence[Document]) -> list[Figure]:
    """Draw the coordinates against time."""
    return _against_time(documents, "states", position_names(documents))


def velocities(documents: Sequence[Document]) -> list[Figure]:
    """Draw the velocities against time."""
    return _against_time(documents, "states", velocity_names(documents))


def reactions(documents: Sequence[Document]) -> list[Figure]:
    """Draw the reactions against time."""
    return _against_time(documents, "reactions", reaction_names(documents))


def outputs(documents: Sequence[Document]) -> list[Figure]:
    """Draw the outputs against time, without energy and work."""
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
    """Return the outputs other than energy and work."""
    return [name for name in _names(documents, "outputs") if name not in ENERGIES]


def _against_time(documents: Sequence[Document], kind: str, names: Sequence[str]) -> list[Figure]:
    panels = arrange(documents, kind, names)
    return draw(panels, "there are no samples to show", several=len(documents) > 1)


def plane(documents: Sequence[Document]) -> tuple[str, str] | None:
    """Return the two coordinates that span the plane of motion, if there are such and they move."""
    names = _names(documents, "states")
    units = documents[0].get("units", {})
    for pair in (("x", "y"), ("x", "z")):
        known = all(name in names for name in pair) and units.get(pair[0]) == units.get(pair[1])
        if known and max(_spans(documents, pair)) > NOTHING:
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
                curve = (found[pair[0]], found[pair[1]])
                _trace(axes, curve, place, documents)
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


def _trace(
    axes: Axes, pair: tuple[Series, Series], place: int, documents: Sequence[Document]
) -> None:
    x, y = pair
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
            label=words if alone else f"{label} ({words})",
        )
    start = axes.plot(x.values[:1], y.values[:1], "o", markersize=6, color=INK, fillstyle="none")
    if alone:
        start[0].set_label("first sample")


def _names(documents: Sequence[Document], kind: str) -> list[str]:
    return list(dict.fromkeys(name for document in documents for name in document[kind]))


def _is_velocity(documents: Sequence[Document], name: str) -> bool:
    units: dict[str, str] = {}
    for document in documents:
        units = {**document.get("units", {}), **units}
    return units.get(name, "").endswith("/s") or "_dot" in name
