"""Compiled looks into the steps of several motions at once."""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import sys

import numpy as np

from daesolve.algebra import compiling
from daesolve.algebra.compiling import kept, version_of

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
    last = series.shape[3] - 1
    for lane in range(spans.shape[0]):
        for i in range(spans.shape[1]):
            h = spans[lane, i]
            a, b, c = parts[0] * h, parts[1] * h, parts[2] * h
            for s in range(series.shape[2]):
                own = series[lane, i, s]
                u = v = w = own[last]
                d = last * own[last]
                for k in range(last - 1, 0, -1):
                    x = own[k]
                    u = x + a * u
                    v = x + b * v
                    w = x + c * w
                    d = k * x + h * d
                inner[0, lane, i, s] = own[0] + a * u
                inner[1, lane, i, s] = own[0] + b * v
                inner[2, lane, i, s] = own[0] + c * w
                slopes[lane, i, s] = d


def looked(
    series: np.ndarray, spans: np.ndarray, parts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return states within steps, (3, lanes, k, states), and slopes at their ends; see `looks`."""
    lanes, count, states = *spans.shape, series.shape[2]
    inner, slopes = np.empty((3, lanes, count, states)), np.empty((lanes, count, states))
    looks(VERSION, series, spans, parts, inner, slopes)
    return inner, slopes
