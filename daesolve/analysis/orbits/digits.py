"""Numbers with exactly the digits that are known."""

from __future__ import annotations

import math

UNVERIFIED = 6.0
"""The digits shown of numbers that no other run has confirmed."""


def known(value: float, uncertainty: float) -> str:
    """Return a number rounded to the power of ten next above its uncertainty.

    If not even its sign is known, the result is zero with as many places.

    >>> known(3.88246375285139, 3e-13), known(-1.9e-30, 1e-14), known(6.02e23, 1e21)
    ('3.882463752851', '0', '6.02e+23')
    """
    if not math.isfinite(value):
        return str(value)
    if not uncertainty > 0.0:
        return f"{value:.15g}"
    places = math.floor(-math.log10(uncertainty) + 1e-9)
    size = math.floor(math.log10(abs(value))) if value else -places - 1
    digits = min(size + 1 + places, 16)
    return f"{value:.{digits}g}" if digits > 0 else "0"


def relative(digits: float) -> float:
    """Return the relative uncertainty of a number of digits; of six if none were confirmed."""
    return 10.0 ** -(UNVERIFIED if math.isnan(digits) else digits)
