"""The point of a polyhedron that lies deepest inside: small linear programmes without overhead.

The largest t with slopes y + constant >= t is the least of constant l over l >= 0 with

    slopes^T l = 0,    sum of l = 1,

of which |y| <= farthest gives a first solution. Its simplex method has as many equations as y has
entries, and one more. Rows that must only be nonnegative take no part in the sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ROUNDING, PIVOT = 1e-14, 1e-10
"""The parts of their terms, or of the largest ones, below which a reduced cost and an entry to
pivot on are zero."""
GREEDY, MOST = 40, 400
"""Pivots after which the first column enters that may, which ends cycles, and pivots in all."""


class DeepestPoint(NamedTuple):
    """y (d,) and t."""

    place: np.ndarray
    slack: float


def deepest_point(
    slopes: np.ndarray,
    constant: np.ndarray,
    farthest: float,
    *,
    counts: np.ndarray | None = None,
    least: float = -np.inf,
) -> DeepestPoint | None:
    """Return y with the largest t that slopes y + constant >= t allows.

    Parameters
    ----------
    slopes, constant
        (m, d) and (m,).
    farthest
        The largest entry that y may have.
    counts
        (m,) which rows bound t, one at least; all others need to be nonnegative. None: all.
    least
        The least t that is wanted.

    Returns
    -------
    DeepestPoint or None
        None if the largest t is smaller, or other rows cannot all be nonnegative.
    """
    count, size = slopes.shape
    among = np.ones(count, dtype=bool) if counts is None else counts
    box = np.vstack([np.eye(size), -np.eye(size)])
    columns = np.vstack(
        [np.concatenate([slopes, box]).T, np.concatenate([among, np.zeros(2 * size)])]
    )
    costs = np.concatenate([constant, np.full(2 * size, farthest)])
    right = np.append(np.zeros(size), 1.0)
    first = int(np.flatnonzero(among)[np.argmin(constant[among])])
    # Of both sides of the box, the one that balances the first row.
    basis = np.array([first, *(count + np.arange(size) + size * (slopes[first] > 0.0))])
    for pivot in range(MOST):
        inverse = np.linalg.inv(columns[:, basis])
        prices, weights = costs[basis] @ inverse, inverse @ right
        if prices[-1] < least:
            return None
        reduced = costs - prices @ columns
        terms = np.abs(costs) + np.abs(prices) @ np.abs(columns)
        reduced[basis] = 0.0
        entering = np.flatnonzero(reduced < -ROUNDING * terms)
        if not entering.size:
            return DeepestPoint(-prices[:-1], float(prices[-1]))
        column = entering[0] if pivot >= GREEDY else entering[np.argmin(reduced[entering])]
        way = inverse @ columns[:, column]
        falls = np.flatnonzero(way > PIVOT * np.max(np.abs(inverse) @ np.abs(columns[:, column])))
        if not falls.size:
            return None
        steps = np.maximum(weights[falls], 0.0) / way[falls]
        tied = falls[steps <= np.min(steps) * (1.0 + 1e-12)]
        leaving = tied[np.argmin(basis[tied])] if pivot >= GREEDY else tied[np.argmax(way[tied])]
        basis[leaving] = column
    return None  # No cycle lasts as long: only rounding does, where no point lies inside.
