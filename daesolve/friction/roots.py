"""Where a function passes zero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq


def root(
    function: Callable[[float], float], left: float, right: float, error: float = 0.0
) -> float:
    """Return where a function passes zero between two places, by Brent's method.

    Parameters
    ----------
    function
        Of different signs at the two.
    left, right
        The places.
    error
        Absolute, beside rounding.
    """
    epsilon = np.finfo(float).eps
    least = float(epsilon * max(abs(left), abs(right)))
    return brentq(function, left, right, xtol=max(error, least), rtol=4 * epsilon)
