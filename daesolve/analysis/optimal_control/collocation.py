"""Meshes of collocation, motions on them, and the arcs on which bounds act."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
from numpy.polynomial import legendre

from daesolve.analysis.optimal_control.task import TaskLimits

LOW, HIGH = 1, 2


@dataclass(frozen=True)
class Mesh:
    """Intervals, and the polynomials on each.

    Parameters
    ----------
    nodes
        (n + 1,) from 0 to 1, as fractions of the duration.
    moving
        The inner nodes that move; those between them are spaced evenly, as they were.
    stages
        The points of collocation on an interval; the order is twice as high.
    degree
        The degree of the controls on an interval.
    """

    nodes: tuple[float, ...]
    moving: tuple[int, ...]
    stages: int
    degree: int

    @property
    def intervals(self) -> int:
        """Their number."""
        return len(self.nodes) - 1

    @property
    def points(self) -> np.ndarray:
        """Where on an interval the controls are sampled, the ends among them."""
        if self.degree == 0:
            return np.array([0.5])
        return (1.0 - np.cos(np.pi * np.arange(self.degree + 1) / self.degree)) / 2.0

    def controls_at(self, places: np.ndarray) -> np.ndarray:
        """Return Bernstein's polynomials at places in [0, 1], (k, degree + 1).

        A control with coefficients within bounds is within them all along the interval.
        """
        powers = np.arange(self.degree + 1)
        counts = np.array([comb(self.degree, k) for k in powers])
        rest = 1.0 - places[:, None]
        return counts * places[:, None] ** powers * rest ** (self.degree - powers)

    def coefficients(self, samples: np.ndarray) -> np.ndarray:
        """Return the coefficients of controls sampled at the points, (m, degree + 1, n)."""
        return np.linalg.solve(self.controls_at(self.points), samples)


def lagrange(points: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the polynomials that are 1 at one point and 0 at the others, at places: (k, n)."""
    found = np.ones((len(places), len(points)))
    for k, point in enumerate(points):
        for other in np.delete(points, k):
            found[:, k] *= (places - other) / (point - other)
    return found


@dataclass(frozen=True, eq=False)
class Arcs:
    """Which bounds act on which intervals: 0 none, `LOW` or `HIGH`.

    Parameters
    ----------
    controls, path
        (m, n) for the controls and for the path.
    touches
        (m, n + 1) for the path at nodes: for an instant, or where an arc begins.
    entries
        (m, n + 1) those of the touches where an arc begins.
    """

    controls: np.ndarray
    path: np.ndarray
    touches: np.ndarray
    entries: np.ndarray

    @property
    def switches(self) -> tuple[int, ...]:
        """The inner nodes at which a bound begins or ends to act, or is touched."""
        both = np.vstack([self.controls, self.path])
        found = np.any(np.diff(both, axis=1) != 0, axis=0)
        return tuple((np.flatnonzero(found | self.touches[:, 1:-1].any(axis=0)) + 1).tolist())


def on_arcs(limits: TaskLimits, arcs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits on arcs, (m, n) each: a single number where a bound acts."""
    low, high = limits.low[:, None], limits.high[:, None]
    return np.where(arcs == HIGH, high, low), np.where(arcs == LOW, low, high)


@cache
def gauss(stages: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return c, A and b of the Gauss method."""
    roots, weights = legendre.leggauss(stages)
    c = (roots + 1.0) / 2.0
    # The integral of a polynomial of degree s - 1 from 0 to c_j is exact with s points on it.
    a = np.array([own * weights / 2.0 @ lagrange(c, own * c) for own in c])
    return c, a, weights / 2.0


@dataclass(frozen=True, eq=False)
class CollocatedMotion:
    """Numbers of a motion on a mesh.

    Parameters
    ----------
    duration
        s
    nodes
        (n + 1,) fractions of the duration.
    states
        (nx, n + 1) at the nodes.
    stages
        (nx, s, n) at the points of collocation.
    controls
        (nu, degree + 1, n) coefficients of Bernstein's polynomials.
    unknowns
        The parameters that are found.
    cost
        The objective; NaN where it is unknown.
    """

    duration: float
    nodes: np.ndarray
    states: np.ndarray
    stages: np.ndarray
    controls: np.ndarray
    unknowns: np.ndarray
    cost: float = math.nan
