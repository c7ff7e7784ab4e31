"""The order of a quantity in a small parameter, from its values at some of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daesolve.core.expressions.singular_values import singular_directions

ROUNDING = 1e-11
"""Values up to this share of their size count as rounding, and no slope is fitted to them."""


def fitted_order(sizes: Sequence[float], values: Sequence[float], size: float = 1.0) -> float:
    """Return the least-squares slope of log(values) over log(sizes).

    Parameters
    ----------
    sizes
        The values of the small parameter, positive.
    values
        Nonnegative values. Those that are zero to rounding are left out.
    size
        The reference for small and large values, in their unit.

    Returns
    -------
    float
        Infinite if fewer than three values remain: the quantity vanishes to rounding.
    """
    pairs = [(a, b) for a, b in zip(sizes, values, strict=True) if b > ROUNDING * size]
    if len(pairs) < 3:
        return float("inf")
    x = np.log([size for size, _ in pairs])
    y = np.log([value for _, value in pairs])
    return float(np.polyfit(x, y, 1)[0])


def stationary_shares(
    parts: np.ndarray, wholes: np.ndarray, negligible: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return combinations w of rows that make |w.parts| / |w.wholes| stationary.

    Parameters
    ----------
    parts, wholes
        (m, s) and (m, n), no row of wholes zero.
    negligible
        Combinations whose wholes are below this share of the largest, with rows of unit length, are
        ignored.

    Returns
    -------
    shares, weights
        (k,) falling, and (m, k), for the k <= m combinations that are independent.
    """
    lengths = np.linalg.norm(wholes, axis=1)[:, None]
    whole = singular_directions(wholes / lengths, whole=False)
    kept = whole.values > negligible * whole.values[0]
    scale = whole.left[:, kept] / whole.values[kept]
    part = singular_directions(scale.T @ (parts / lengths))
    shares = np.zeros(scale.shape[1])
    shares[: len(part.values)] = part.values
    return shares, (scale @ part.left) / lengths
