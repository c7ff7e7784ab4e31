"""The largest magnitude of an output over a motion, exactly, however far samples are apart."""

from __future__ import annotations

import numpy as np

import daesolve as ds
from daesolve.typing import BoundCase

NODES = 17
"""Nodes of the interpolation near a peak."""
LOOKS_APART = 2.6
"""Of the mean distance: two looks at a peak are at most so far apart."""
LOOKS_IN_STEP, LOOKS_IN_RUN = 4, 2000
"""A run looks at its peaks at least so often; see `MechanicalSystem`, `peaks`."""


def largest(case: BoundCase, run: ds.Trajectory, name: str) -> tuple[float, float]:
    """Return the largest magnitude of an output, and its time in s.

    The run knows the highest of what it saw at the ends of its accepted steps and within them. From
    one look before it to one look after it the motion is smooth, and the output is interpolated
    there by a polynomial through values of the motion itself.

    Parameters
    ----------
    case, run
        What was run, and its run.
    name
        One of the `peaks` of its system.
    """
    peak, start = run.peaks[name], case.case.start_time
    span = run.end_time - start
    apart = LOOKS_APART * span * min(1.0 / (LOOKS_IN_STEP * run.statistics.steps), 1 / LOOKS_IN_RUN)
    first, last = max(start, peak.time - apart), min(run.end_time, peak.time + apart)
    for event in run.events:
        if first < event.time < last:
            first, last = (event.time, last) if event.time <= peak.time else (first, event.time)
    if not first < last:
        return abs(peak.value), peak.time
    nodes = np.cos(np.pi * np.arange(NODES - 1, -1, -1) / (NODES - 1))
    times = (first + last) / 2.0 + (last - first) / 2.0 * nodes
    times[0], times[-1] = first, last
    # A sample at an event has the values after it: the ends belong to the motion between them.
    inside = case.solve(until=last, at=times[1:-1])
    curve = np.polynomial.Chebyshev.fit(
        times[1:-1], np.abs(inside[name]), NODES - 3, domain=[first, last]
    )
    turns = np.real(curve.deriv().roots())
    places = np.array([peak.time, *np.clip(turns, times[1], times[-2])])
    values = np.array([abs(peak.value), *curve(places[1:])])
    highest = int(np.argmax(values))
    return float(values[highest]), float(places[highest])
