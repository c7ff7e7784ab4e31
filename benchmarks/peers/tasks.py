"""The mechanisms that every package integrates, and the references for their motions.

All are planar and posed in the coordinates of points (natural coordinates). The mass matrix and the
weight are constant, and each rod is one quadratic constraint

    g_k = q A_k q / 2 + b_k q + c_k = |a - b|^2 - l^2.

A uniform bar of mass m between a and b has T = m (|a'|^2 + a' b' + |b'|^2) / 6. The error is that
of the position and the velocity of the first point. The pendulum's motion is known in elliptic
functions; the linkages were reduced to one angle and integrated by Taylor series in 28 digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

GRAVITY = 9.81
BAUMGARTE_RATE = 10.0


@dataclass(frozen=True)
class Point:
    """A point at `matrix` @ q + `offset`; the shapes are (2, n) and (2,)."""

    matrix: np.ndarray
    offset: np.ndarray


@dataclass(frozen=True, eq=False)
class Mechanism:
    """M q'' = weight + G' u, g(q) = 0, G = A q + b.

    Parameters
    ----------
    names
        (n,) names of the coordinates; the velocities are `x_dot`, ...
    mass, weight
        (n, n) and (n,).
    curvature, slope, constant
        A (m, n, n), b (m, n) and c (m,) in the constraints.
    lengths
        (m,) lengths of the rods, m.
    start, start_rate
        (n,) consistent positions and velocities.
    """

    names: tuple[str, ...]
    mass: np.ndarray
    weight: np.ndarray
    curvature: np.ndarray
    slope: np.ndarray
    constant: np.ndarray
    lengths: np.ndarray
    start: np.ndarray
    start_rate: np.ndarray

    def residuals(self, q: np.ndarray) -> np.ndarray:
        """Return g for one q (n,), or for each row of (k, n)."""
        half = np.einsum("...i,mij,...j->...m", q, self.curvature, q) / 2
        return half + q @ self.slope.T + self.constant

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Return how much too long each rod is, m; (k, m) for (k, n)."""
        return np.sqrt(np.maximum(self.residuals(q) + self.lengths**2, 0.0)) - self.lengths

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Return G, (m, n)."""
        return self.curvature @ q + self.slope

    def energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return T + V, J, for each row of (k, n)."""
        return np.einsum("ki,ij,kj->k", v, self.mass, v) / 2 - q @ self.weight

    def multipliers(self) -> np.ndarray:
        """Return u at the start, (m,)."""
        G = self.jacobian(self.start)
        bend: np.ndarray = np.einsum("i,mij,j->m", self.start_rate, self.curvature, self.start_rate)
        inverse = np.linalg.inv(self.mass)
        # the least-squares solution: constraints may depend on each other at the start
        right = -bend - G @ inverse @ self.weight
        return np.linalg.lstsq(G @ inverse @ G.T, right, rcond=None)[0]


@dataclass(frozen=True, eq=False)
class Task:
    """A mechanism, its horizon and its final state.

    Parameters
    ----------
    name, title
        For the command line, and for the tables.
    kind
        "pendulum", "slider-crank" or "four-bar"; packages with elements build from it.
    mechanism
        In natural coordinates.
    until
        The horizon, s.
    end
        x, y, x', y' of the first point at the end.
    height
        E0 - V_min, J: the scale of the energy error.
    """

    name: str
    title: str
    kind: str
    mechanism: Mechanism = field(repr=False)
    until: float
    end: tuple[float, float, float, float]
    height: float

    def error(self, q: np.ndarray, v: np.ndarray) -> float:
        """Return the largest error of the first point at the end, relative where above 1."""
        found = [*q[:2], *v[:2]]
        errors = [abs(a - b) / max(1.0, abs(b)) for a, b in zip(found, self.end, strict=True)]
        return max(errors) if all(math.isfinite(entry) for entry in errors) else math.inf


def _mechanism(
    start: dict[str, tuple[float, float]],
    bars: Sequence[tuple[Point, Point, float]],
    rods: Sequence[tuple[Point, Point, float]],
    loads: Sequence[tuple[Point, float]],
) -> Mechanism:
    """Assemble uniform bars (with mass, last), rods (with length, last) and point masses."""
    size = len(start)
    mass, weight = np.zeros((size, size)), np.zeros(size)
    for a, b, kilograms in bars:
        both = a.matrix.T @ b.matrix
        mass += kilograms / 6 * (2 * a.matrix.T @ a.matrix + 2 * b.matrix.T @ b.matrix)
        mass += kilograms / 6 * (both + both.T)
        weight -= kilograms * GRAVITY / 2 * (a.matrix[1] + b.matrix[1])
    for point, kilograms in loads:
        mass += kilograms * point.matrix.T @ point.matrix
        weight -= kilograms * GRAVITY * point.matrix[1]
    apart = [(a.matrix - b.matrix, a.offset - b.offset) for a, b, _ in rods]
    lengths = np.array([length for _, _, length in rods])
    return Mechanism(
        names=tuple(start),
        mass=mass,
        weight=weight,
        curvature=np.array([2 * matrix.T @ matrix for matrix, _ in apart]),
        slope=np.array([2 * offset @ matrix for matrix, offset in apart]),
        constant=np.array([offset @ offset for _, offset in apart]) - lengths**2,
        lengths=lengths,
        start=np.array([position for position, _ in start.values()]),
        start_rate=np.array([rate for _, rate in start.values()]),
    )


def _free(size: int, x: int, y: int | None = None) -> Point:
    """Return the point with coordinates number x and y; without y it lies on the x-axis."""
    matrix = np.zeros((2, size))
    matrix[0, x] = 1.0
    if y is not None:
        matrix[1, y] = 1.0
    return Point(matrix, np.zeros(2))


def _ground(size: int, x: float) -> Point:
    return Point(np.zeros((2, size)), np.array([x, 0.0]))


def _pendulum() -> Mechanism:
    bob = _free(2, 0, 1)
    start = {"x": (-1.0, 0.0), "y": (0.0, 0.0)}
    return _mechanism(start, [], [(bob, _ground(2, 0.0), 1.0)], [(bob, 1.0)])


def _slider_crank() -> Mechanism:
    """Crank 0.5 m, rod 1 m, each a thin bar of 1 kg, slider 1 kg; crank at 12 rad/s, stretched."""
    pin, slider, ground = _free(3, 0, 1), _free(3, 2), _ground(3, 0.0)
    start = {"pin_x": (0.5, 0.0), "pin_y": (0.0, 6.0), "slider": (1.5, 0.0)}
    bars = [(ground, pin, 1.0), (pin, slider, 1.0)]
    rods = [(pin, ground, 0.5), (pin, slider, 1.0)]
    return _mechanism(start, bars, rods, [(slider, 1.0)])


def _four_bar(windows: int) -> Mechanism:
    """N windows of upright unit bars of 1 kg, with the couplers at 1 m/s."""
    size = 2 * (windows + 1)
    start: dict[str, tuple[float, float]] = {}
    for k in range(windows + 1):
        start |= {f"x_{k}": (float(k), 1.0), f"y_{k}": (1.0, 0.0)}
    points = [_free(size, 2 * k, 2 * k + 1) for k in range(windows + 1)]
    pairs = [(point, _ground(size, float(k)), 1.0) for k, point in enumerate(points)]
    pairs += [(left, right, 1.0) for left, right in pairwise(points)]
    return _mechanism(start, pairs, pairs, [])


def _pin(angle: float, rate: float, radius: float) -> tuple[float, float, float, float]:
    x, y = radius * math.cos(angle), radius * math.sin(angle)
    return x, y, -y * rate, x * rate


TASKS = {
    task.name: task
    for task in (
        Task(
            "pendulum-10",
            "pendulum (IFToMM A01), 10 s",
            "pendulum",
            _pendulum(),
            10.0,
            (-0.27508746257611686, -0.96141920509912506, 4.1755981009517288, -1.1947490545604753),
            GRAVITY,
        ),
        Task(
            "pendulum-1000",
            "pendulum (IFToMM A01), 1000 s",
            "pendulum",
            _pendulum(),
            1000.0,
            (0.68323018855231486, -0.73020306042276233, 2.7638532170523792, 2.5860586691109332),
            GRAVITY,
        ),
        Task(
            "slider-crank",
            "rigid slider-crank, 10 s",
            "slider-crank",
            _slider_crank(),
            10.0,
            _pin(77.339199320637006, 6.0366325991815198, 0.5),
            12.0 + 0.5 * GRAVITY,
        ),
        Task(
            "four-bar",
            "four-bar linkage of 2 windows (IFToMM A02), 10 s",
            "four-bar",
            _four_bar(2),
            10.0,
            (0.32845811154081538, 0.94451853817860096, 1.4230514702069441, -0.49486884548704296),
            1.5 + 7.0 * GRAVITY,
        ),
    )
}
