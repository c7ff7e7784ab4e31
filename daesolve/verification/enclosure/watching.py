"""Whether a guard may fire within a step, from its Taylor coefficients over the set of states."""

from __future__ import annotations

from typing import Any

import numpy as np

from daesolve.core.posing.events import FALLING, RISING, Direction
from daesolve.verification.enclosure import ball_series

_compiled: Any = ball_series
DEEPEST = 14
"""How often an interval of a step is halved to exclude a zero."""


def stays_quiet(
    series: np.ndarray, length: float, direction: Direction, *, began: int, ends: bool
) -> bool:
    """Return whether a guard surely does not fire within a step.

    Parameters
    ----------
    series
        (order + 1, 3) its coefficients, the last over the whole step.
    length
        Of the step, s.
    direction
        The way in which it fires.
    began
        How many of its derivatives, itself included, are zero just before or after the beginning,
        from where on it must not fire: the next one is not zero there, and leads it away.
    ends
        Whether it is to fire at the end, where it may be zero.
    """
    slopes = derivative(series)
    leading = series
    for _ in range(began):
        leading = derivative(leading)
    pieces = [(0.0, length, 0)]
    while pieces:
        low, high, depth = pieces.pop()
        value, rate = _over(series, low, high), _over(slopes, low, high)
        if abs(value[0]) > value[1]:
            continue
        rises, falls = rate[0] > rate[1], -rate[0] > rate[1]
        if (direction is FALLING and rises) or (direction is RISING and falls):
            continue
        if (rises or falls) and ends and high == length:
            continue
        if began and low == 0.0:
            lead = _over(leading, low, high)
            if abs(lead[0]) > lead[1]:
                continue
        if depth == DEEPEST:
            return False
        middle = 0.5 * (low + high)
        pieces += [(low, middle, depth + 1), (middle, high, depth + 1)]
    return True


def derivative(series: np.ndarray) -> np.ndarray:
    """Return the coefficients of the derivative of a series, (order, 3)."""
    orders = np.arange(1, len(series))[:, None]
    slopes = series[1:] * orders
    # The product of a centre in two doubles and a whole number is rounded.
    slopes[:, 2] = slopes[:, 2] * (1.0 + 1e-15) + 2.0**-51 * np.abs(slopes[:, 0])
    return slopes


def _over(series: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """Return the middle and the radius of a series over an interval."""
    half = 0.5 * (high - low)
    argument = np.array([low + half, 0.0, half * (1.0 + 1e-14) + 1e-15 * high])
    found = _compiled.polynomials(_compiled.VERSION, series[None], argument)[0]
    width = (abs(found[1]) + found[2]) * (1.0 + 1e-14) + 1e-15 * abs(found[0])
    return float(found[0]), float(width)
