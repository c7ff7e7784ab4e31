"""Matrices with bounds of their errors: a centre and a radius for each entry, in doubles.

What rounding takes from a product is bounded after Rump (1999, doi 10.1023/A:1022374804152), so no
rounding mode is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

UNIT = 2.0**-53
UP = 1.0 + 2.0**-40
"""By this a radius is multiplied, which covers the rounding of sums of up to 4000 terms."""
LEAST = 1e-290
"""A bound of what underflow takes."""


@dataclass(frozen=True, eq=False)
class IntervalMatrix:
    """All matrices within `radius` of `centre`, entry by entry."""

    centre: np.ndarray
    radius: np.ndarray

    @staticmethod
    def of_balls(balls: np.ndarray) -> IntervalMatrix:
        """Return one that contains (..., 3) balls."""
        return IntervalMatrix(balls[..., 0], (np.abs(balls[..., 1]) + balls[..., 2]) * UP)

    @staticmethod
    def exact(centre: np.ndarray) -> IntervalMatrix:
        """Return one matrix."""
        return IntervalMatrix(centre, np.zeros_like(centre))

    def __matmul__(self, other: IntervalMatrix) -> IntervalMatrix:
        """Return one that contains all products."""
        a, b = np.abs(self.centre), np.abs(other.centre)
        rounding = 2.0 * (a.shape[-1] + 2) * UNIT * (a @ b)
        spread = a @ other.radius + self.radius @ (b + other.radius)
        return IntervalMatrix(self.centre @ other.centre, (rounding + spread + LEAST) * UP)

    def __add__(self, other: IntervalMatrix) -> IntervalMatrix:
        """Return one that contains all sums."""
        centre = self.centre + other.centre
        rounding = 2.0 * UNIT * np.abs(centre)
        return IntervalMatrix(centre, (self.radius + other.radius + rounding + LEAST) * UP)

    def __neg__(self) -> IntervalMatrix:
        """Return the negatives."""
        return IntervalMatrix(-self.centre, self.radius)

    @property
    def size(self) -> np.ndarray:
        """Bounds of the absolute values of its entries."""
        return (np.abs(self.centre) + self.radius) * UP


def spread(matrix: IntervalMatrix, radius: np.ndarray) -> np.ndarray:
    """Return bounds of |matrix v| for all |v| <= radius."""
    return (matrix.size @ radius + LEAST) * UP


def inverse_spread(frame: np.ndarray, vectors: IntervalMatrix) -> np.ndarray:
    """Return bounds of frame^-1 times each column, for a frame that is orthogonal but for rounding.

    With E = I - frame' frame: frame^-1 = (I - E)^-1 frame', and |(I - E)^-1 y| <= |y| +
    |E|/(1 - |E|) max |y| in the maximum norm.
    """
    turned = IntervalMatrix.exact(frame.T)
    rest = (turned @ IntervalMatrix.exact(frame)) + IntervalMatrix.exact(-np.eye(len(frame)))
    norm = float(np.max(np.sum(rest.size, axis=1))) * UP
    sizes = (turned @ vectors).size
    return (sizes + norm / (1.0 - norm) * np.max(sizes, axis=0, keepdims=True)) * UP
