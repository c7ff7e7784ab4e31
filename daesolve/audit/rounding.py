"""Expressions along a run, and how far rounding and the accuracy of the run may put each off."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

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
    values, sizes, rate, *slopes = terms_of(along, key, expression)
    certificate, accuracy = along.certificate, along.certificate.accuracy
    unknown = sum(slope * of for slope, of in zip(slopes, along.largest, strict=True))
    rate = rate + sum(slope * of for slope, of in zip(slopes, along.fastest, strict=True))
    early = TICKS * np.spacing(np.abs(certificate.times))
    early += BESIDE * accuracy * np.abs(certificate.lengths)[:, None]
    return values, sizes, np.nan_to_num(max(ROUNDING, BESIDE * accuracy) * unknown + early * rate)


def terms_of(along: Expressions, key: tuple[str, str], expression: Any) -> np.ndarray:
    """Return the values of an expression, the sizes of its terms and its slopes; see `measured`."""

    def write() -> list[ca.SX]:
        written = along.written(ca.SX(expression))
        slopes = [ca.sum1(ca.fabs(ca.gradient(written, one.vector))) for one in along.moving]
        return [written, size_of(written), ca.fabs(ca.gradient(written, time)), *slopes]

    return along.once(key, write)
