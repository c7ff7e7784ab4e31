"""Accepted steps, prepared for the search for events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

INNER = 0.381966
"""The fraction of a step at which guards are judged besides its ends: no ratio of small whole
numbers, so that no oscillation falls in step with both."""


@dataclass(frozen=True, eq=False)
class AcceptedSteps:
    """Accepted steps, and the states between their ends.

    Parameters
    ----------
    times
        (k + 1,) from the start of the first step.
    states
        (k + 1, size)
    inner
        (k, size) at the part `INNER` of each step, as near as is needed to judge guards by.
    dense
        times (j,) -> states (j, size) between the first and the last, by the method's own
        interpolant.
    advance
        (number of a step, time in it) -> state of the method's own accuracy.
    noise
        By which part of their size states within a step may be off each by itself, so that they
        follow no smooth function.
    """

    times: np.ndarray
    states: np.ndarray
    inner: np.ndarray
    dense: Callable[[np.ndarray], np.ndarray]
    advance: Callable[[int, float], np.ndarray]
    noise: float = 0.0

    @property
    def inner_times(self) -> np.ndarray:
        """The times of `inner`, (k,)."""
        return inner_times(self.times)


def inner_times(times: np.ndarray) -> np.ndarray:
    """Return the time within each step at which guards are judged besides its ends."""
    return times[:-1] + INNER * np.diff(times)


def inner_states(times: np.ndarray, states: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the states at the part `INNER` of each step, by cubics through both its ends."""
    part, rest = INNER, 1.0 - INNER
    spans = np.diff(times)[:, None]
    return (
        rest**2 * (1.0 + 2.0 * part) * states[:-1]
        + part**2 * (1.0 + 2.0 * rest) * states[1:]
        + part * rest * spans * (rest * rates[:-1] - part * rates[1:])
    )
