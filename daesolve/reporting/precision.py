"""The work-precision figure: error against wall time, and against the tolerance asked for."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daesolve.reporting.curves import common_legend, empty
from daesolve.reporting.document import Document
from daesolve.reporting.facts import GOOD
from daesolve.reporting.style import PANEL_WIDTH, QUIET, SERIES, colour, style

SMALLEST_ERROR = 2.0**-53
"""What is smaller is rounding and stands here."""
MARKERS = "osD^v<>Ph*"
"""A shape for each solver, so that pairs differ in print and to any eye."""


def work_precision(document: Document) -> Figure:
    """Draw the errors of a comparison, a line for each pair through its tolerances.

    Parameters
    ----------
    document
        What `comparison_document` returned. Runs that failed and errors that are not finite are
        left out.
    """
    lines = _lines(document)
    if not lines:
        return empty("there are no errors to show: no completed run, or no reference")
    with style():
        figure = Figure(figsize=(PANEL_WIDTH, 4.2))
        by_work, by_tolerance = figure.subplots(1, 2, sharey=True)
        solvers = list(dict.fromkeys(runs[0]["solver"] for runs in lines.values()))
        formulations = list(dict.fromkeys(runs[0]["formulation"] for runs in lines.values()))
        for pair, runs in lines.items():
            # With one formulation alone the colours tell the solvers, else the formulations.
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
        _settle(by_work, "wall time of the integration (s)")
        by_work.set_ylabel("error / size of the states")
        _settle(by_tolerance, "tolerance")
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


def _settle(axes: Axes, label: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(label)


def _diagonal(axes: Axes) -> None:
    """Draw where the error would be the tolerance; tolerances tighten to the right."""
    low, high = axes.get_xlim()
    axes.plot([low, high], [low, high], ":", color=QUIET, linewidth=0.9, scalex=False, scaley=False)
    axes.set_xlim(high, low)
