"""Figures of a fit to measurements: data with residuals, and profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from daesolve.reporting.figures.style import PANEL_WIDTH, QUIET, colour, strip, style

if TYPE_CHECKING:
    from daesolve.analysis.identification import ExperimentFit, Identification

HEIGHT = 2.9
MOST_POINTS = 500
"""Of a column, so that a page stays small; every so many rows are drawn."""
ACROSS = 3
"""Profiles side by side."""


def residuals(found: ExperimentFit) -> Figure:
    """Draw each measured column with the fit, and its residuals in units of the noise below."""
    columns = list(found.measured)
    every = slice(None, None, -(-len(found.times) // MOST_POINTS))
    with style():
        figure = Figure((PANEL_WIDTH, HEIGHT * len(columns)), layout="constrained")
        axes: Any = figure.subplots(
            2 * len(columns), 1, sharex=True, squeeze=False, height_ratios=[2, 1] * len(columns)
        )
        for k, name in enumerate(columns):
            above, below = axes[2 * k, 0], axes[2 * k + 1, 0]
            unit = found.run.units.get(name, "")
            times = found.times[every]
            above.plot(times, found.measured[name][every], ".", color=QUIET, ms=3, label="data")
            above.plot(times, found.outputs[name][every], color=colour(0), label="fit")
            above.set_ylabel(f"{name} ({unit})" if unit else name)
            above.legend()
            scaled = found.residuals[name][every] / found.noise[name]
            below.plot(times, scaled, ".", color=colour(1), ms=3)
            below.axhline(0.0, color=QUIET, lw=0.8)
            below.set_ylabel("residual / noise")
            strip(above)
            strip(below)
        axes[-1, 0].set_xlabel("t (s)")
    return figure


def profiles(found: Identification) -> Figure | None:
    """Draw how much the misfit grows as one value moves, beside the parabola of its interval."""
    known = [
        name
        for name, deviation in zip(found.names, found.deviations, strict=True)
        if 0.0 < deviation < np.inf
    ]
    if not known:
        return None
    rows = -(-len(known) // ACROSS)
    with style():
        figure = Figure((PANEL_WIDTH, HEIGHT * rows), layout="constrained")
        axes: Any = figure.subplots(rows, min(ACROSS, len(known)), squeeze=False)
        for place, name in zip(axes.flat, known, strict=False):
            profile, unit = found.profile(name), found.units[name]
            deviation = found.deviations[found.names.index(name)]
            across = np.linspace(-3.2, 3.2, 101)
            place.plot(across, across**2, color=QUIET, lw=0.8, label="linear")
            moved = (profile.values - found[name]) / deviation
            place.plot(moved, profile.rises, "o", color=colour(0), ms=4, label="profile")
            value = f"{found[name]:.6g} {unit}".strip()
            place.set_xlabel(f"({name} − {value}) / deviation")
            strip(place)
        axes[0, 0].set_ylabel("rise of the misfit")
        axes[0, 0].legend()
        for spare in list(axes.flat)[len(known) :]:
            spare.set_axis_off()
    return figure
