"""Positive functions given by the gradient of their logarithm: densities, multipliers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import scipy

from daesolve.core.equations.consistency import check_named
from daesolve.errors import UnsupportedError, unknown_name

Rates = Callable[[np.ndarray], np.ndarray]
"""A place -> the derivatives of the logarithm there."""


def place_of(state: Mapping[str, float], names: Sequence[str], what: str) -> np.ndarray:
    """Return the values of names in order; missing ones are zero.

    Raises
    ------
    UnknownNameError
        The state contains an unknown name.
    """
    given = check_named("state", state)
    for name in given:
        if name not in names:
            raise unknown_name(what, name, names)
    return np.array([given.get(name, 0.0) for name in names])


def known_rates(rates: Rates | None, what: str, said: str) -> Rates:
    """Return the rates of the function, if it exists.

    Raises
    ------
    UnsupportedError
        It does not exist.
    """
    if rates is None:
        raise UnsupportedError(f"there is no {what} to evaluate: {said}")
    return rates


def ratio_along_line(rates: Rates, end: np.ndarray, begin: np.ndarray) -> float:
    """Return the ratio of the function at two places, integrated along a straight line."""
    way = end - begin
    total, _ = scipy.integrate.quad(
        lambda s: float(rates(begin + s * way) @ way), 0.0, 1.0, epsabs=1e-13, limit=200
    )
    return float(np.exp(total))
