"""Tables of a pad's friction: Chebyshev series that become SX expressions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from daesolve.friction.pressures import scaled_friction

_NODES = 96
"""Enough for every exponent to leave a tail of small coefficients."""

_TAIL = 2e-14
"""Coefficients below this part of the largest are left out."""


@dataclass(frozen=True, eq=False)
class FrictionTable:
    """Chebyshev series of f'/min(x, 1) and f'' max(x, 1) on each side of x = 1.

    Both are functions of 1 - k², k the smaller of x and 1/x. At k = 1 they have a power or a
    logarithm, which the root takes in: the variable is z = 2 (1 - k²)^(1/root) - 1.

    Parameters
    ----------
    root
        2 or 4; see `friction_table`.
    coefficients
        (4, k): f' for x < 1 and for x > 1, f'' for x < 1 and for x > 1.
    """

    root: int
    coefficients: np.ndarray

    def series(self, complement: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Return the four sums, given 1 - k²."""
        place = ca.sqrt(complement)
        if self.root == 4:
            place = ca.sqrt(place)
        twice = 4.0 * place - 2.0
        before, polynomial = ca.SX(1.0), twice / 2.0
        slow_slide, fast_slide, slow_turn, fast_turn = map(ca.SX, self.coefficients[:, 0])
        for column in self.coefficients[:, 1:].T:
            slow_slide += column[0] * polynomial
            fast_slide += column[1] * polynomial
            slow_turn += column[2] * polynomial
            fast_turn += column[3] * polynomial
            before, polynomial = polynomial, twice * polynomial - before
        return slow_slide, fast_slide, slow_turn, fast_turn


@lru_cache(maxsize=64)
def friction_table(exponent: float) -> FrictionTable:
    """Build the table of a pressure, once for each exponent.

    At the edge the pressure is as the distance to the power n, and friction has the power n + 2,
    which the square root makes whole where n is half an odd number, and high where n is large.
    """
    root = 2 if exponent >= 1.0 or (2.0 * exponent) % 2.0 == 1.0 else 4
    return FrictionTable(root, _chebyshev_coefficients(exponent, root))


def _chebyshev_coefficients(exponent: float, root: int) -> np.ndarray:
    """Return (4, k) coefficients of the polynomials through Chebyshev's nodes, without the tail."""
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    place = (1.0 + np.cos(angles)) / 2.0
    modulus = np.sqrt(1.0 - place**root)
    slow_slide, slow_turn = scaled_friction(modulus, exponent)
    fast_slide, fast_turn = scaled_friction(1.0 / modulus, exponent)
    values = np.stack([slow_slide, fast_slide, slow_turn, fast_turn])
    coefficients = 2.0 / _NODES * values @ np.cos(np.outer(angles, np.arange(_NODES)))
    coefficients[:, 0] /= 2.0
    sizes = np.abs(coefficients).max(axis=0)
    return coefficients[:, : np.flatnonzero(sizes > _TAIL * sizes.max())[-1] + 1]
