"""Curves traced by arc length from a start contact, and how far a wheel gets on them.

n = grad f / |grad f| points from the centre of the wheel to the contact P, t = (-n_z, n_x) is the
direction of growing arc length s. With the curvature kappa = div n, positive where the curve bends
towards the wheel,

    dP/ds = t,    dn/ds = kappa t,    dC/ds = (1 - r kappa) t,    C = P - r n the centre.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike

from daesolve.errors import OutOfRangeError
from daesolve_problems.curves import Array, Curve

Stretch: TypeAlias = tuple[float, float]

STEPS: Final = 100
"""The least number of integration steps in a traced length."""

SAMPLES: Final = 8
"""Samples per step; a step turns by at most about half a radian."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Points of a curve in which a wheel may touch it.

    Parameters
    ----------
    s
        Arc lengths from the start contact, in m, shape (n,).
    points
        (x, z), in m, shape (n, 2).
    normals
        Unit vectors from the wheel's centre to the contact, shape (n, 2).
    curvature
        In 1/m, positive where the curve bends towards the wheel, shape (n,).
    """

    s: Array
    points: Array
    normals: Array
    curvature: Array

    @property
    def tangents(self) -> Array:
        """Unit vectors in the direction of growing arc length, shape (n, 2)."""
        return np.column_stack((-self.normals[:, 1], self.normals[:, 0]))

    def part(self, which: Any) -> Contacts:
        """Return some of them, by an index array, a mask or a slice."""
        return Contacts(
            self.s[which], self.points[which], self.normals[which], self.curvature[which]
        )

    def centres(self, radius: float) -> Array:
        """Return the centre of a wheel of this radius (m), shape (n, 2)."""
        return self.points - radius * self.normals


def contacts(curve: Curve, values: Mapping[str, float], s: Array, near: ArrayLike) -> Contacts:
    """Move points that are near the curve onto it, and return its normals and curvature there.

    Parameters
    ----------
    curve, values
        The curve, and its parameters by name.
    s
        The arc lengths of the points, in m, shape (n,).
    near
        Points so near that one Newton step takes them to rounding, shape (n, 2).
    """
    points = np.asarray(near, dtype=float)
    f, f_x, f_z, *_ = curve.evaluate(values, points)
    points = points - (f / (f_x**2 + f_z**2) * np.stack((f_x, f_z))).T
    _, f_x, f_z, f_xx, f_xz, f_zz = curve.evaluate(values, points)
    size = np.hypot(f_x, f_z)
    n_x, n_z = f_x / size, f_z / size
    # div n = t . H t / |grad f| with t = (-n_z, n_x)
    curvature = (f_xx * n_z**2 - 2 * f_xz * n_x * n_z + f_zz * n_x**2) / size
    return Contacts(s, points, np.column_stack((n_x, n_z)), curvature)


@dataclass(frozen=True, eq=False)
class Track(Contacts):
    """A curve traced by arc length from a start contact, at s = 0, in both directions.

    A closed curve is sampled twice round, from -L to L; an open one to the requested length, or to
    where it ends.

    Parameters
    ----------
    s, points, normals, curvature
        As in `Contacts`; s ascends.
    curve, values
        The curve, and its parameters by name.
    perimeter
        The arc length L after which the curve closes, in m; None if it is open.
    stops
        Whether tracing stopped short backwards and forwards: there the curve ends, jumps or has a
        kink.
    """

    curve: Curve
    values: Mapping[str, float]
    perimeter: float | None
    stops: tuple[bool, bool]
    _path: Callable[[Array], Array] = field(repr=False)

    @property
    def ends(self) -> tuple[float, float]:
        """The arc lengths of the first and the last sample, in m."""
        return float(self.s[0]), float(self.s[-1])

    def places(self, stretch: Stretch | None = None) -> Array:
        """Return the arc lengths of the samples of a stretch, of its ends and of the start.

        Raises
        ------
        OutOfRangeError
            The stretch does not contain the start, or is not part of the track.
        """
        low, high = self.ends
        if stretch is None:
            return self.s
        if not low <= stretch[0] <= 0.0 <= stretch[1] <= high:
            raise OutOfRangeError(
                f"the stretch ({stretch[0]:g}, {stretch[1]:g}) must contain the start, 0, and "
                f"lie between the ends of the track, {low:g} m and {high:g} m"
            )
        inside = self.s[(self.s > stretch[0]) & (self.s < stretch[1])]
        return np.union1d(inside, np.array((*stretch, 0.0)))

    def at(self, s: ArrayLike) -> Contacts:
        """Return the contacts at any arc lengths, on the curve to rounding.

        Raises
        ------
        OutOfRangeError
            The track is open and does not go that far.
        """
        asked = np.atleast_1d(np.asarray(s, dtype=float))
        low, high = self.ends
        if self.perimeter is None and not np.all((asked >= low) & (asked <= high)):
            raise OutOfRangeError(
                f"the track on the curve {self.curve.label!r} goes from {low:g} m to {high:g} m"
            )
        sample = np.minimum(np.searchsorted(self.s, asked), self.s.size - 1)
        other = self.s[sample] != asked
        if other.all():
            return contacts(self.curve, self.values, asked, self._path(asked))
        found = self.part(sample)
        if other.any():
            new = self.at(asked[other])
            found.s[other], found.points[other] = new.s, new.points
            found.normals[other], found.curvature[other] = new.normals, new.curvature
        return found


def trace(curve: Curve, values: Mapping[str, float], start: ArrayLike, length: float) -> Track:
    """Trace a curve from a contact in both directions by arc length.

    Features much narrower than a thousandth of the length may be missed where the curve is
    straight before them.

    Parameters
    ----------
    curve, values
        The curve, and its parameters by name.
    start
        The contact (x, z), in m, that is s = 0.
    length
        How far to trace in either direction, in m. A curve that closes within twice this length
        is found to be closed.

    Raises
    ------
    OutOfRangeError
        The length is not positive, or the curve has no tangent at the start.
    """
    if not (math.isfinite(length) and length > 0.0):
        raise OutOfRangeError(f"the length to trace is {length!r}, but must be positive")
    begin = np.asarray(start, dtype=float)
    slope = _UnitTangent(curve, values)
    if not np.isfinite(slope(0.0, begin)).all():
        raise OutOfRangeError(
            f"the curve {curve.label!r} has no tangent at ({begin[0]:g}, {begin[1]:g})"
        )
    forward, forth, met = _integrate(slope, begin, length, begin)
    parts, low, stops = [(forward, forth)], 0.0, (False, False)
    if not met:
        whole = forth[-1] == length
        backward, back, met = _integrate(
            slope, begin, -length, forward(float(forth[-1])) if whole else begin
        )
        parts, low = [(backward, back), (forward, forth)], back[-1]
        stops = (not met and low > -length, not whole)
    perimeter = forth[-1] - low if met else None

    def path(s: Array) -> Array:
        traced = s if perimeter is None else low + np.mod(s - low, perimeter)
        near = np.empty((s.size, 2))
        for solution, ends in parts:
            mine = traced < 0.0 if ends[-1] < 0.0 else traced >= 0.0
            if mine.any():
                near[mine] = solution(traced[mine]).T
        return near

    knots = np.unique(np.concatenate([ends for _, ends in parts]))
    between: list[float] = knots.tolist()
    s = np.concatenate(
        [np.linspace(a, b, SAMPLES, endpoint=False) for a, b in pairwise(between)]
        + [knots[-1:] if perimeter is None else knots[:0]]
    )
    if perimeter is not None:
        s = np.concatenate((s - perimeter, s, s + perimeter))
        s = s[np.abs(s) <= perimeter]
    found = contacts(curve, values, s, path(s))
    found = found.part(np.isfinite(found.curvature))
    at = (found.s, found.points, found.normals, found.curvature)
    return Track(*at, curve, values, perimeter, stops, path)


class _UnitTangent:
    """t as a function of (s, P), nan where grad f is zero; nothing is converted on a call."""

    def __init__(self, curve: Curve, values: Mapping[str, float]) -> None:
        # the buffer reads and writes these arrays in place, and must live as long as they do
        self._point, self._own, self._rows = np.zeros(2), curve.own_values(values), np.zeros(6)
        self._buffer, self._evaluate = curve.geometry.buffer()
        buffer: Any = self._buffer  # its stub asks for sizes that a call does not take
        buffer.set_arg(0, self._point.data)
        buffer.set_arg(1, self._own.data)
        buffer.set_res(0, self._rows.data)

    def __call__(self, _: float, point: Array) -> Array:
        self._point[:] = point
        self._evaluate()
        f_x, f_z = self._rows[1:3].tolist()
        size = math.hypot(f_x, f_z)
        return np.array((-f_z / size, f_x / size) if size > 0.0 else (math.nan, math.nan))

    def misses(self, point: Array, by: float) -> bool:
        """Return whether a point is farther than that from the curve, or f has no value there."""
        self(0.0, point)
        f, f_x, f_z = self._rows[:3].tolist()
        return not abs(f) <= by * math.hypot(f_x, f_z)


def _integrate(
    slope: _UnitTangent, begin: Array, length: float, target: Array
) -> tuple[scipy.integrate.OdeSolution[Any], Array, bool]:
    """Integrate P' = t up to a signed length, a point on the curve or the end of its smooth piece.

    Returns the path, the arc lengths between steps, and whether the point was met.
    """
    size = abs(length)
    tangent = slope(0.0, target)
    solver = scipy.integrate.DOP853(
        slope, 0.0, begin, length, max_step=size / STEPS, rtol=1e-13, atol=1e-15 * size
    )

    def offset(position: Array) -> float:
        return float(solver.direction * (position - target) @ tangent)

    # seen a little before it is met: a length that ends on it may miss it by rounding
    early = 1e-9 * size

    def passed(s: float, path: Callable[[float], Array]) -> float:
        return offset(path(s)) + early

    knots, going, met = [0.0], True, False
    parts: list[Any] = []
    while going and not met:
        before = offset(solver.y)
        solver.step()
        going = solver.status == "running"
        stalls = going and abs(solver.t - knots[-1]) < 1e-8 * size
        if solver.status == "failed" or stalls or slope.misses(solver.y, 1e-8 * size):
            break
        piece = solver.dense_output()
        end = solver.t
        if before < -early <= offset(solver.y):
            sight: Any = scipy.optimize.brentq(passed, solver.t_old, solver.t, args=(piece,))
            met = float(np.linalg.norm(piece(sight) - target)) < 2.0 * early
            end = sight + solver.direction * early if met else end
        parts.append(piece)
        knots.append(float(end))
    if not parts:
        raise OutOfRangeError(
            f"the curve is not smooth about its start ({begin[0]:g}, {begin[1]:g})"
        )
    return scipy.integrate.OdeSolution(knots, parts), np.array(knots), met


def reach(track: Track, radius: float, height: float = math.inf) -> Stretch:
    """Return how far a wheel gets if its centre may not rise above a height.

    Parameters
    ----------
    track
        The curve, from the start contact.
    radius
        Of the wheel, in m.
    height
        The highest z of the centre, in m, that its energy allows.

    Returns
    -------
    Stretch
        The arc lengths (low <= 0 <= high), in m, of the farthest contacts on either side: ends of
        the track where nothing stops the wheel before.
    """
    s, z = _heights(track, radius, track.places())
    start = int(np.searchsorted(s, 0.0))

    def farthest(s: Array, z: Array) -> float:
        above = np.flatnonzero(z[1:] > height)
        if not above.size:
            return float(s[-1])
        last = int(above[0])
        if z[last] >= height:
            return float(s[last])
        found: Any = scipy.optimize.brentq(
            lambda at: track.at(at).centres(radius)[0, 1] - height, s[last], s[last + 1]
        )
        return float(found)

    return farthest(s[start::-1], z[start::-1]), farthest(s[start:], z[start:])


def lowest_centre(track: Track, radius: float, stretch: Stretch | None = None) -> float:
    """Return the least z (m) of the centre on a stretch of arc lengths, or on the whole track.

    Raises
    ------
    OutOfRangeError
        The stretch is not part of the track.
    """
    return float(_heights(track, radius, track.places(stretch))[1].min())


def _heights(track: Track, radius: float, s: Array) -> tuple[Array, Array]:
    """Return the height of the centre at arc lengths, with those where it is level among them."""
    level = _level(track, radius)
    s = np.union1d(s, level[(level >= s[0]) & (level <= s[-1])])
    return s, track.at(s).centres(radius)[:, 1]


def _level(track: Track, radius: float) -> Array:
    """Return the arc lengths at which the centre is level, between the samples of a track.

    There dz/ds = t_z (1 - r kappa) is zero: where the curve is level, and where it bends as sharply
    as the wheel.
    """
    turned = _between_samples(track, lambda at: 1.0 - radius * at.curvature)
    return np.concatenate((_level_points(track), turned))


@lru_cache(maxsize=8)
def _level_points(track: Track) -> Array:
    """Return the arc lengths at which a curve is level, which wheels of any radius share."""
    return _between_samples(track, lambda at: at.tangents[:, 1])


def _between_samples(track: Track, value: Callable[[Contacts], Array]) -> Array:
    """Return the arc lengths at which a value passes through zero between the samples."""
    samples = value(track)
    found: list[Any] = [
        scipy.optimize.brentq(
            lambda at: value(track.at(at))[0], track.s[k], track.s[k + 1], xtol=1e-14
        )
        for k in np.flatnonzero(samples[:-1] * samples[1:] < 0.0)
    ]
    return np.array(found, dtype=float)
