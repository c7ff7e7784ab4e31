"""What is to be known about a fit: bounds, misfit, outliers, what was not compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from daesolve.analysis.identification.fitting import Fit, ParameterFitting
from daesolve.analysis.identification.identification import ExperimentFit
from daesolve.analysis.identification.measurements import MEDIAN, Measurements

UNLIKELY = 1e-3
"""The probability of residuals by the given noise below which a note doubts the model."""
MOST_OUTLIERS = 0.1
"""The share of outliers above which it is not single values that are wrong."""
LISTED = 3
"""How many outliers a note lists."""


def notes_of(
    fitting: ParameterFitting,
    fit: Fit,
    names: Sequence[str],
    experiments: Sequence[ExperimentFit],
    freedom: int,
) -> tuple[str, ...]:
    """Return what is to be known about a fit.

    Parameters
    ----------
    fitting, fit
        The search, and the best fit.
    names
        Of the unknowns.
    experiments
        The data beside the fit.
    freedom
        The number of measured values less that of determined unknowns.
    """
    notes: list[str] = []
    for part in fit.residuals.motions:
        notes += [note for note in part.parts[0].notes if note not in notes]
    for name, side, low, high in zip(names, fit.bound, *fitting.bounds, strict=True):
        if side:
            notes.append(
                f"{name} is at its {'lower' if side < 0 else 'upper'} bound, "
                f"{low if side < 0 else high:g}: the intervals hold for this value"
            )
    known = all(model.data.noise for model in fitting.models)
    cost = sum(one.cost for one in experiments)
    if known and freedom > 0 and scipy.stats.chi2.sf(cost, freedom) < UNLIKELY:
        notes.append(
            f"the residuals are {math.sqrt(cost / freedom):.3g} times the given noise: the model "
            "does not describe the data, or the noise is larger"
        )
    for model, one in zip(fitting.models, experiments, strict=True):
        notes += _gaps(model.data, one) + _outliers(one)
    return tuple(notes)


def _gaps(data: Measurements, one: ExperimentFit) -> list[str]:
    """Return which values were not compared, and which angles up to whole turns."""
    notes = [
        f"{_named(one, name)} has values in {count} of {len(data.times)} rows: the others are "
        "skipped"
        for name, count in data.counts.items()
        if count < len(data.times)
    ]
    notes += [
        f"{_named(one, name)} was measured within one turn: whole turns do not count"
        for name in data.turning
    ]
    return notes


def _outliers(one: ExperimentFit) -> list[str]:
    """Return which values are farther from the fit than the scatter of the others explains."""
    notes: list[str] = []
    for name, residuals in one.residuals.items():
        sizes = np.abs(residuals)
        count = int(np.sum(np.isfinite(sizes)))
        # Outliers enlarge the standard deviation, but hardly the median.
        scatter = float(np.nanmedian(sizes)) / MEDIAN
        limit = scatter * scipy.stats.norm.isf(UNLIKELY / (2 * count))
        far = np.flatnonzero(sizes > limit)
        if not scatter or not 0 < len(far) <= MOST_OUTLIERS * count:
            continue
        far = far[np.argsort(-sizes[far])]
        where = ", ".join(f"{one.times[k]:.10g} s" for k in far[:LISTED])
        more = f" and {len(far) - LISTED} more" if len(far) > LISTED else ""
        notes.append(
            f"{_named(one, name)} is up to {sizes[far[0]] / scatter:.3g} times farther from the "
            f"fit than the others scatter, at t = {where}{more}: if these values are faulty, leave "
            "them out, for they shift the fit"
        )
    return notes


def _named(one: ExperimentFit, name: str) -> str:
    return f"{name} of {one.name}" if one.name else name
