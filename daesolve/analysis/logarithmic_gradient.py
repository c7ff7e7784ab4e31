"""Positive functions that are known by the gradient of their logarithm: densities, multipliers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import scipy

from daesolve.equations.consistency import check_named
from daesolve.errors import UnsupportedError, unknown_name

Rates = Callable[[np.ndarray], np.ndarray]
"""A place -> the derivatives of the logarithm there."""


def place_of(state: Mapping[str, float], names: Sequence[str], what: str) -> np.ndarray:
    """Return the values of names in their order; those that are left out are zero.

    Raises
    ------
    UnknownNameError
        The state has a name that is none of them.
    """
    given = check_named("state", state)
    for name in given:
        if name not in names:
            raise unknown_name(what, name, names)
    return np.array([given.get(name, 0.0) for name in names])


def known_rates(rates: Rates | None, what: str, said: str) -> Rates:
    """Return the rates of a function that there is.

    Raises
    ------
    UnsupportedError
        There is none.
    """
    if rates is None:
        raise UnsupportedError(f"there is no {what} to evaluate: {said}")
    return rates


def ratio_along_line(rates: Rates, end: np.ndarray, begin: np.ndarray) -> float:
    """Return the function at one place over that at another, by the straight line between them."""
    way = end - begin
    total, _ = scipy.integrate.quad(
        lambda s: float(rates(begin + s * way) @ way), 0.0, 1.0, epsabs=1e-13, limit=200
    )
    return float(np.exp(total))
