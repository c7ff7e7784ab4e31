"""Some hundred steps of a motion to which nothing happens, up to where it has no scale."""

from __future__ import annotations

import numpy as np

from daesolve.algebra.blocks import Bound

LONG = 0.9
"""A quantile of the steps that a few close to a singular position do not move."""
ENDLESS = 20.0
"""A step this many times the long ones shows a motion without a scale, a free flight."""


def uninterrupted(
    rate: Bound,
    start: tuple[float, np.ndarray],
    until: float,
    most: int,
    tolerances: tuple[float, float | np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Return when steps end, (k,) s, and where, (k, size); see `dormand_prince.steps_of`."""
    from daesolve.preparation.dormand_prince import steps_of  # numba takes long

    times, states = steps_of(rate, start, until, most, tolerances)
    spans = np.abs(np.diff(times))
    shortest = np.minimum.accumulate(spans)
    for count in (np.flatnonzero(spans > ENDLESS * shortest) + 1).tolist():
        if is_endless(spans[:count]):
            return times[: count + 1], states[: count + 1]
    return times, states


def is_endless(spans: np.ndarray) -> bool:
    """Tell whether the last step shows a motion without a scale."""
    return len(spans) >= 10 and bool(spans[-1] > ENDLESS * np.quantile(spans, LONG))
