"""The nodes of a table along one argument, and the polynomials between them."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

LATE, NARROWEST = 1e-12, 1e-8
"""How far past a node a piece without a jump holds on, as a fraction of the table's width; and at
most, as a fraction of its narrowest piece, which the motion might else jump over."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The nodes of one argument, and the pieces between them.

    Parameters
    ----------
    nodes
        (n,) rising.
    degree
        The degree of the polynomials.
    periodic
        Whether the first piece follows the last.
    holds
        Whether the end values continue beyond the ends.
    """

    nodes: np.ndarray
    degree: int
    periodic: bool = False
    holds: bool = True

    @property
    def borders(self) -> np.ndarray:
        """The borders between the pieces, (pieces - 1,)."""
        ends = self.holds and self.degree > 0
        inner = self.nodes if ends else self.nodes[1 : None if self.holds else -1]
        return self.nodes[1:-1] if self.periodic else inner

    @property
    def bases(self) -> np.ndarray:
        """The point from which each piece is measured, (pieces,)."""
        if self.periodic or not self.holds:
            return self.nodes[:-1]
        return self.nodes if self.degree == 0 else np.append(self.nodes[0], self.nodes)

    @property
    def count(self) -> int:
        """The number of pieces."""
        return len(self.bases)

    @property
    def width(self) -> float:
        """The distance from the first node to the last."""
        return float(self.nodes[-1] - self.nodes[0])

    @property
    def late(self) -> float:
        """How far past a node a piece without a jump holds on.

        A motion that stays on a node, such as a tyre that runs straight, is there only to rounding,
        and would go back and forth between its pieces for ever. Both continue each other, so what
        the late change of a motion that passes does is of second order, and below rounding.
        """
        late = max(LATE * self.width, 4.0 * self.rounding)
        return min(late, NARROWEST * float(np.min(np.diff(self.nodes))))

    @property
    def period(self) -> float:
        """The width of a periodic table."""
        return self.width

    @property
    def rounding(self) -> float:
        """The largest distance at which an argument still counts as lying on a node."""
        return 4.0 * float(np.finfo(float).eps * np.max(np.abs(self.nodes)))

    def pieces(self, values: np.ndarray) -> np.ndarray:
        """Return coefficients, (pieces, degree + 1, ...), lowest first, from values, (n, ...)."""
        if self.degree == 0:
            return values[: self.count, None]
        if self.degree == 1:
            width = np.diff(self.nodes).reshape(-1, *[1] * (values.ndim - 1))
            inner = np.stack([values[:-1], np.diff(values, axis=0) / width], axis=1)
        else:
            from scipy.interpolate import CubicSpline  # which takes long to import

            ends = "periodic" if self.periodic else "not-a-knot"
            inner = np.moveaxis(CubicSpline(self.nodes, values, bc_type=ends).c[::-1], 0, 1)
        if self.periodic or not self.holds:
            return inner
        flat = np.zeros((2, *inner.shape[1:]))
        flat[:, 0] = values[[0, -1]]
        return np.concatenate([flat[:1], inner, flat[1:]])

    def found(self, argument: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the piece that contains an argument, and the number of whole turns before it."""
        turns = ca.SX(0)
        if self.periodic:
            turns = ca.floor((argument - float(self.nodes[0])) / self.period)
            argument = argument - turns * self.period
        return ca.sum1(ca.DM(self.borders) <= argument), turns
