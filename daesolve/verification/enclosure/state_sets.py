"""Sets of states that follow a motion without growing by their own wrapping (Lohner 1992).

A set is {c + C r0 + B r: |r0| <= start, |r| <= rest}: C carries what was uncertain at the start,
and the frame B, orthogonal but for rounding, what steps have added. The centre c is exact, in two
doubles for each state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.verification.enclosure.interval_matrices import (
    UP,
    IntervalMatrix,
    inverse_spread,
    spread,
)


@dataclass(frozen=True, eq=False)
class StateSet:
    """A set of states.

    Parameters
    ----------
    centre
        (n, 2) its centre, in two doubles.
    carried, start
        (n, m) C and (m,) the bounds of r0.
    frame, rest
        (n, n) B and (n,) the bounds of r.
    by_start
        The derivatives of its states by those from which the set began.
    """

    centre: np.ndarray
    carried: np.ndarray
    start: np.ndarray
    frame: np.ndarray
    rest: np.ndarray
    by_start: IntervalMatrix

    @staticmethod
    def around(centre: np.ndarray, radii: np.ndarray) -> StateSet:
        """Return a box, whose radii are carried along as long as they matter."""
        wide, unit = np.flatnonzero(radii > 0.0), np.eye(len(radii))
        none, itself = np.zeros(len(radii)), IntervalMatrix.exact(unit)
        return StateSet(centre, unit[:, wide], radii[wide], unit, none, itself)

    @property
    def radii(self) -> np.ndarray:
        """(n,) the half-widths of the box around it."""
        wide = spread(IntervalMatrix.exact(self.carried), self.start)
        return (wide + spread(IntervalMatrix.exact(self.frame), self.rest)) * UP

    @property
    def point(self) -> np.ndarray:
        """(n, 3) the centre as balls."""
        return np.column_stack([self.centre, np.zeros(len(self.centre))])

    @property
    def box(self) -> np.ndarray:
        """(n, 3) the box around it as balls."""
        return np.column_stack([self.centre, self.radii])

    def errors(self, slopes: IntervalMatrix) -> np.ndarray:
        """Return bounds of slopes times (x - c) over the set."""
        carried = slopes @ IntervalMatrix.exact(self.carried)
        framed = slopes @ IntervalMatrix.exact(self.frame)
        return (spread(carried, self.start) + spread(framed, self.rest)) * UP

    def mapped(self, image: np.ndarray, slopes: IntervalMatrix) -> StateSet:
        """Return a set that contains the image of this one.

        Parameters
        ----------
        image
            (k, 3) balls that contain the image of the centre.
        slopes
            (k, n) derivatives of the map on the box around the set.
        """
        carried = slopes @ IntervalMatrix.exact(self.carried)
        added = (image[:, 2] + spread(_radius(carried), self.start)) * UP
        framed = slopes @ IntervalMatrix.exact(self.frame)
        # The longest edges first: the frame then fits the set where it is longest.
        edges = framed.centre * self.rest
        order = np.argsort(-np.linalg.norm(edges, axis=0), kind="stable")
        scale = float(np.max(np.abs(edges), initial=0.0))
        frame = np.eye(len(image))
        if scale > 0.0 and np.all(np.isfinite(edges)):
            square = np.zeros((len(image), max(edges.shape[1], len(image))))
            square[:, : edges.shape[1]] = edges[:, order] / scale
            frame = np.linalg.qr(square, mode="complete")[0]
        new = IntervalMatrix.exact(np.diag(added))
        rest = spread_of(inverse_spread(frame, framed), self.rest)
        rest += spread_of(inverse_spread(frame, new), np.ones(len(image)))
        by_start = slopes @ self.by_start
        centre = image[:, :2].copy()
        return StateSet(centre, carried.centre, self.start, frame, rest * UP, by_start)


def _radius(matrix: IntervalMatrix) -> IntervalMatrix:
    return IntervalMatrix(np.zeros_like(matrix.centre), matrix.radius)


def spread_of(sizes: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return bounds of |m v| for all |m| <= sizes and |v| <= radius."""
    return (sizes @ radius) * UP
