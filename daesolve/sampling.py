"""At which times a run is sampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.errors import OutOfRangeError, is_number

DEFAULT_SAMPLES = 1001
MOST_SAMPLES = 1e8
"""More would not fit into memory."""


@dataclass(frozen=True)
class Every:
    """Samples at a constant interval, the start and the end included."""

    interval: float


def every(interval: float) -> Every:
    """Ask for samples every `interval` s."""
    if not (is_number(interval) and interval > 0):
        raise OutOfRangeError(f"the sample interval is {interval!r}, but must be > 0")
    return Every(interval)


At = Every | Sequence[float] | np.ndarray | None


def sample_times(at: At, start: float, until: float) -> np.ndarray:
    """Return the sample times: those asked for, or 1001 even ones.

    Raises
    ------
    OutOfRangeError
        A time is not finite or lies outside the run.
    """
    if at is None:
        return np.linspace(start, until, DEFAULT_SAMPLES)
    if isinstance(at, Every):
        sign = 1.0 if until >= start else -1.0
        if abs(until - start) / at.interval > MOST_SAMPLES:
            raise OutOfRangeError(
                f"the sample interval {at.interval:g} s asks for more than {MOST_SAMPLES:g} samples"
            )
        # until - start is rounded as start and until are.
        rounding = 4.0 * np.finfo(float).eps * max(abs(start), abs(until))
        span = abs(until - start) * (1 - 1e-12) - rounding
        count = max(math.ceil(span / at.interval), 1)
        inner = start + sign * at.interval * np.arange(count)
        return np.append(inner, until)
    try:
        times = np.asarray(None if isinstance(at, str) else at, dtype=float).ravel()
    except (TypeError, ValueError):
        times = np.array([np.nan])
    if isinstance(at, str) or np.any(np.isnan(times)):
        raise OutOfRangeError(f"the sample times must be numbers or every(...), not {at!r}")
    low, high = min(start, until), max(start, until)
    outside = ~np.isfinite(times) | (times < low) | (times > high)
    if np.any(outside):
        raise OutOfRangeError(
            f"the sample time {times[outside][0]:g} lies outside of the run, {low:g} to {high:g} s"
        )
    return times
