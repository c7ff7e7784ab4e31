"""Figures of an optimal motion: its controls, and its states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from daesolve.reporting.figures.style import PANEL_WIDTH, QUIET, colour, strip, style

if TYPE_CHECKING:
    from daesolve.analysis.optimal_control import Optimum

HEIGHT = 1.9
MOST_PANELS = 12


def controls(found: Optimum) -> Figure:
    """Draw each control over time; marks below are the nodes of the mesh."""
    nodes = found.run.times[0] + found.duration * np.array(found.mesh.nodes)
    return _panels(found, list(found.controls), nodes)


def states(found: Optimum) -> Figure:
    """Draw each state over time."""
    return _panels(found, list(found.run.states)[:MOST_PANELS], np.zeros(0))


def _panels(found: Optimum, names: Sequence[str], nodes: np.ndarray) -> Figure:
    with style():
        figure = Figure((PANEL_WIDTH, HEIGHT * len(names)), layout="constrained")
        axes: Any = figure.subplots(len(names), 1, sharex=True, squeeze=False)
        for k, name in enumerate(names):
            place, unit = axes[k, 0], found.run.units.get(name, "")
            place.plot(found.run.times, found[name], color=colour(0))
            if len(nodes):
                low = np.full(len(nodes), np.min(found[name]))
                place.plot(nodes, low, "|", color=QUIET, ms=5)
            place.set_ylabel(f"{name} ({unit})" if unit else name)
            strip(place)
        axes[-1, 0].set_xlabel("t (s)")
    return figure
