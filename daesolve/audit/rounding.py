"""Expressions along a run, and how far rounding and the accuracy of the run may put each off."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daesolve.audit.certificate import PLACES
from daesolve.audit.expressions import Expressions, size_of
from daesolve.posing.symbols import time

ROUNDING = 1e-15
"""The part of the largest position or velocity, whichever it is, that counts as rounding."""
BESIDE = 100.0
"""How many times the accuracy of a step a residual may be off beside the largest of the positions
or velocities: the terms of a residual may all pass through zero where the states do not."""
TICKS = 4.0
"""How many roundings of time a state may be early or late: that of an event, and of the steps."""


def measured(
    along: Expressions, key: tuple[str, str], expression: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return an expression's values, the sizes of its terms, and what it may be off beside these.

    It may be off by its change where all positions, or all velocities, are off by rounding, or by
    the accuracy of steps, of the largest of them: where nothing moves, its terms are rounding
    themselves. And by its change during the rounding of time, which is much at a late one, and
    during what the solver misplaces an event in a step.

    Parameters
    ----------
    along
        The run.
    key
        What the expression is, and of what.
    expression
        As posed.
    """
    values, sizes, rate, *slopes = _known(along, key, expression)
    certificate = along.certificate
    unknown, rate = np.zeros(values.shape), rate.copy()
    for slope, largest, fastest in zip(slopes, along.largest, _fastest(along), strict=True):
        unknown += slope * largest
        rate += slope * fastest
    beside = max(ROUNDING, BESIDE * certificate.accuracy) * unknown
    early = TICKS * np.spacing(np.abs(certificate.times))
    early += BESIDE * certificate.accuracy * np.abs(certificate.lengths)[:, None]
    beside += early * rate
    return values, sizes, np.nan_to_num(beside)


def values_of(along: Expressions, key: tuple[str, str], expression: Any) -> np.ndarray:
    """Return the values of an expression alone; see `measured`."""
    return _known(along, key, expression)[0]


def _known(along: Expressions, key: tuple[str, str], expression: Any) -> np.ndarray:
    def write() -> list[ca.SX]:
        written = along.written(ca.SX(expression))
        slopes = [ca.sum1(ca.fabs(ca.gradient(written, one.vector))) for one in along.moving]
        return [written, size_of(written), ca.fabs(ca.gradient(written, time)), *slopes]

    return along.once(key, write)


def _fastest(along: Expressions) -> list[float]:
    """Return how fast the fastest entry of each of what moves changes between the nodes, 1/s."""
    certificate = along.certificate
    if "fastest" not in along.kept:
        along.kept["fastest"] = [
            max(_rate(certificate.columns[name], certificate) for name in vector.names)
            for vector in along.moving
        ]
    return along.kept["fastest"]


def _rate(column: np.ndarray, certificate: Any) -> float:
    if column.shape[1] > 1:
        apart = np.abs(certificate.lengths[:, None]) * np.diff(PLACES)
        steps = np.abs(np.diff(column, axis=1))
    else:
        apart, steps = np.abs(np.diff(certificate.starts)), np.abs(np.diff(column[:, 0]))
    known = (apart > 0.0) & np.isfinite(steps)
    return float(np.max(steps[known] / apart[known], initial=0.0))
