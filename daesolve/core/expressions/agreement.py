"""The accepted error of a derivative, for compiled loops over steps."""
# numba's decorators have no types.
# pyright: basic

from __future__ import annotations

import math

from daesolve.core.expressions.compilation import inline_part


@inline_part
def miss(slopes, rates, span, size, relative, absolute, late):
    """Return the error of a derivative over its tolerance; infinite if that is not a number.

    Parameters
    ----------
    slopes, rates
        (n,) the derivative, and its correct value.
    span, size
        The length of a step, and the size of the state at its start.
    relative, absolute
        The tolerance relative to the size of the state, and the absolute one.
    late
        The accepted error of its time, s.
    """
    off, pace = 0.0, 0.0
    for j in range(len(slopes)):
        d = abs(slopes[j] - rates[j])
        if d > off or math.isnan(d):
            off = d
        pace = max(pace, abs(slopes[j]), abs(rates[j]))
    off *= span
    if off == 0.0:
        return 0.0
    most = pace * span
    if not size <= most:
        most = size
    found = off / (relative * most + absolute + late * pace)
    return found if math.isfinite(found) else math.inf
