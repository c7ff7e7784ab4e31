"""How far a derivative may be from what it should be, for compiled loops over steps."""
# numba's decorators have no types.
# pyright: basic

from __future__ import annotations

import math

from numba import njit

from daesolve.algebra.compiling import OPTIONS


@njit(**OPTIONS)
def miss(slopes, rates, span, size, relative, absolute, late):
    """Return what a derivative is off over what it may be off; infinite where that is not a number.

    Parameters
    ----------
    slopes, rates
        (n,) the derivative, and what it should be.
    span, size
        The length of a step, and how large the state is at its start.
    relative, absolute
        What it may be off, by the size of the state, and at all.
    late
        By how much, s, it may be that of another time.
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
