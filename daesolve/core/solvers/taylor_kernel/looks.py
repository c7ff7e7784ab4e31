"""Compiled looks into the steps of several motions at once."""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import sys

import numpy as np

from daesolve.core.expressions import compiling
from daesolve.core.expressions.compiling import kept, version_of

VERSION = version_of(compiling, sys.modules[__name__])


@kept
def looks(version, series, spans, parts, inner, slopes):
    """Evaluate series at three parts of each step, and their derivatives at its end.

    Parameters
    ----------
    series
        (lanes, k or more, states, order + 1) coefficients.
    spans
        (lanes, k) the lengths of the steps.
    parts
        (3,)
    inner, slopes
        (3, lanes, k, states) and (lanes, k, states) receive what is found.
    """
    states, last = series.shape[2], series.shape[3] - 1
    for lane in range(spans.shape[0]):
        for i in range(spans.shape[1]):
            h = spans[lane, i]
            a, b, c = parts[0] * h, parts[1] * h, parts[2] * h
            # Two states in turn, so that one does not wait for its own last product.
            for s in range(0, states, 2):
                t = min(s + 1, states - 1)
                one, two = series[lane, i, s], series[lane, i, t]
                u = v = w = one[last]
                x = y = z = two[last]
                d, e = last * one[last], last * two[last]
                for k in range(last - 1, 0, -1):
                    f, g = one[k], two[k]
                    u, x = f + a * u, g + a * x
                    v, y = f + b * v, g + b * y
                    w, z = f + c * w, g + c * z
                    d, e = k * f + h * d, k * g + h * e
                slopes[lane, i, s], slopes[lane, i, t] = d, e
                for part, length, found, other in ((0, a, u, x), (1, b, v, y), (2, c, w, z)):
                    inner[part, lane, i, s] = one[0] + length * found
                    inner[part, lane, i, t] = two[0] + length * other


def looked(
    series: np.ndarray, spans: np.ndarray, parts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return states within steps, (3, lanes, k, states), and slopes at their ends; see `looks`."""
    lanes, count, states = *spans.shape, series.shape[2]
    inner, slopes = np.empty((3, lanes, count, states)), np.empty((lanes, count, states))
    looks(VERSION, series, spans, parts, inner, slopes)
    return inner, slopes
