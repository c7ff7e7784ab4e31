"""Compiled loops over many steps, for the conditions of `waking` and `step_checks`."""
# numba's decorators have no types.
# pyright: basic

from __future__ import annotations

import math
import sys

import numpy as np

from daesolve.algebra import agreement, compiling
from daesolve.algebra.agreement import miss
from daesolve.algebra.compiling import kept, version_of

VERSION = version_of(compiling, agreement, sys.modules[__name__])


@kept
def restless(version, looks, lowest, highest, width, largest, found):
    """Tell which arguments move so much, and come so near, that terms may hide.

    Parameters
    ----------
    looks
        (looks, k, m) arguments, of which none counts for more than `largest`.
    lowest, highest, width
        (m,) of the places at which terms hide, and how far an argument moves at least.
    found
        (k, m) receives the answer.
    """
    for i in range(looks.shape[1]):
        for j in range(looks.shape[2]):
            low, high, beyond, before = math.inf, -math.inf, 0.0, 0.0
            for look in range(looks.shape[0]):
                x = looks[look, i, j]
                if math.isnan(x):
                    x = largest
                elif math.isinf(x):
                    x = math.copysign(largest, x)
                if look > 0:
                    beyond = max(beyond, abs(x - before))
                low, high, before = min(low, x), max(high, x), x
            near = low - beyond <= highest[j] and high + beyond >= lowest[j]
            found[i, j] = near and high - low > width[j]


@kept
def misses(version, slopes, rates, spans, sizes, relative, absolute, late, found):
    """Write for each step, (k,), what its derivative, (k, n), is off; see `agreement.miss`."""
    for i in range(len(slopes)):
        found[i] = miss(slopes[i], rates[i], spans[i], sizes[i], relative, absolute, late[i])


@kept
def at_parts(version, coefficients, steps, elapsed, derived, found):
    """Write what series, (k, size, order + 1), are at times in some steps, (j,), or their slopes.

    Parameters
    ----------
    steps, elapsed
        (j,) which steps, and how far in each.
    derived
        Whether slopes are asked for.
    found
        (j, size) receives the values.
    """
    size, order = coefficients.shape[1], coefficients.shape[2] - 1
    for j in range(len(steps)):
        h = elapsed[j]
        for s in range(size):
            v = 0.0
            if derived:
                for k in range(order, 0, -1):
                    v = k * coefficients[steps[j], s, k] + h * v
            else:
                for k in range(order, -1, -1):
                    v = coefficients[steps[j], s, k] + h * v
            found[j, s] = v


def series_at(
    coefficients: np.ndarray, steps: np.ndarray, elapsed: np.ndarray, *, derived: bool = False
) -> np.ndarray:
    """Return what series are at times in some steps, (j, size), or their slopes: `at_parts`."""
    found = np.empty((len(steps), coefficients.shape[1]))
    at_parts(VERSION, np.ascontiguousarray(coefficients), steps, elapsed, derived, found)
    return found


def are_restless(
    looks: np.ndarray, low: np.ndarray, high: np.ndarray, width: np.ndarray, largest: float
) -> np.ndarray:
    """Return which arguments may hide something, (k, m); see `restless`."""
    found = np.empty(looks.shape[1:], dtype=bool)
    restless(VERSION, np.ascontiguousarray(looks), low, high, width, largest, found)
    return found


def missed(
    slopes: np.ndarray,
    rates: np.ndarray,
    steps: tuple[np.ndarray, np.ndarray, np.ndarray],
    relative: float,
    absolute: float,
) -> np.ndarray:
    """Return what derivatives, (..., n), are off over what they may be off, (...).

    See `agreement.miss`; the steps are their lengths, how large states are, and how late.
    """
    found = np.empty(slopes.shape[:-1])
    size = slopes.shape[-1]
    one, other = (np.ascontiguousarray(table).reshape(-1, size) for table in (slopes, rates))
    spans, sizes, late = (np.ascontiguousarray(part).reshape(-1) for part in steps)
    flat = found.reshape(-1)
    misses(VERSION, one, other, spans, sizes, relative, absolute, late, flat)
    return found
