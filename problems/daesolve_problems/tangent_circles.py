"""Circles that are tangent to a curve and pass through another point of it.

The circle that is tangent to the curve in P, on the wheel's side, and passes through another point
Q of the curve has the curvature

    g(P, Q) = 2 n . (P - Q) / |P - Q|^2,    g(P, P) = kappa(P)

with n the normal in P; g is continuous. So the largest disc that is tangent in P and has no point
of the curve inside has the radius 1 / K(P), K(P) = max over Q of g(P, Q).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import scipy
from numpy.typing import NDArray

from daesolve.errors import OutOfRangeError
from daesolve_problems.curves import Array
from daesolve_problems.tracks import Contacts, Stretch, Track, trace

NEAR: Final = 1e-3
"""Points nearer than this, in least radii of curvature, are taken as one: g(P, P)."""

RAYS: Final = 1000
"""About how many samples look for other pieces of the curve."""

RAY_SAMPLES: Final = 33
"""Points in which f is looked at between the curve and the centre of the largest disc."""

BLOCK: Final = 50_000
"""Pairs of points that are compared at once: they stay in the cache."""


def _once(track: Track) -> Contacts:
    """Return the samples of a track, those of a closed one once round."""
    if track.perimeter is None:
        return track
    return track.part((track.s >= 0.0) & (track.s < track.perimeter))


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The pieces of a curve about a wheel.

    Parameters
    ----------
    pieces
        The one that the wheel rolls on comes first.
    near
        Points nearer to each other than this, in m, are taken as one.
    known
        K at the samples of the track, in 1/m, NaN where not yet computed; None if pieces
        count that do not belong to the track alone.
    """

    pieces: tuple[Track, ...]
    near: float
    known: Array | None = None

    @classmethod
    def around(cls, track: Track, stretch: Stretch, sight: float) -> Surroundings:
        """Find the pieces that a wheel may touch on a stretch of a traced curve.

        Parameters
        ----------
        track, stretch
            The curve, and the arc lengths that the wheel rolls over, in m.
        sight
            How far along the curve beyond the stretch it is looked for, in m.
        """
        sharpest = max(float(np.abs(track.curvature).max()), 1.0 / float(np.ptp(track.s)))
        seen = cls((track, *_continuations(track, stretch, sight)), NEAR / sharpest)
        alone = len(seen.pieces) == 1
        known = _required.setdefault(track, np.full(track.s.size, math.nan)) if alone else None
        return cls((*seen.pieces, *_others_of(seen)), seen.near, known)

    @property
    def track(self) -> Track:
        """The piece that the wheel rolls on."""
        return self.pieces[0]

    def circles(self, at: Contacts, through: Contacts) -> Array:
        """Return g(P, Q) in 1/m for every P of the first and Q of the second, shape (n, m)."""
        d_x = at.points[:, :1] - through.points[:, 0]
        d_z = at.points[:, 1:] - through.points[:, 1]
        squared = d_x * d_x + d_z * d_z
        same = squared < self.near * self.near
        squared[same] = 1.0
        g = 2.0 * (at.normals[:, :1] * d_x + at.normals[:, 1:] * d_z) / squared
        return np.where(same, at.curvature[:, None], g)

    def required(self, at: Contacts) -> Array:
        """Return K(P) = max over Q of g(P, Q), in 1/m, with Q among the samples."""
        if self.known is None:
            return self._required(at)
        place = np.minimum(np.searchsorted(self.track.s, at.s), self.known.size - 1)
        own = self.track.s[place] == at.s
        required = np.where(own, self.known[place], math.nan)
        new = np.isnan(required)
        required[new] = self._required(at.part(new))
        self.known[place[own]] = required[own]
        return required

    def _required(self, at: Contacts) -> Array:
        required = np.full(at.s.size, -math.inf)
        for places in map(_once, self.pieces):
            rows = max(1, BLOCK // places.s.size)
            for k in range(0, at.s.size, rows):
                block = slice(k, k + rows)
                g = self.circles(at.part(block), places)
                required[block] = np.maximum(required[block], g.max(axis=1))
        return required

    def opposite(self, at: Contacts) -> list[tuple[Track, Contacts, Array]]:
        """Return every piece with its samples and their g(P, Q) for a single P."""
        sampled = [(piece, _once(piece)) for piece in self.pieces]
        return [(piece, places, self.circles(at, places)[0]) for piece, places in sampled]


def _continuations(track: Track, stretch: Stretch, sight: float) -> list[Track]:
    """Trace on from the ends of an open track that are in sight of a stretch."""
    if track.perimeter is not None:
        return []
    sides = zip(track.ends, stretch, track.stops, strict=True)
    return [
        trace(track.curve, track.values, track.at(end).points[0], sight)
        for end, limit, stops in sides
        if abs(end - limit) < sight and not stops
    ]


_required: WeakKeyDictionary[Track, Array] = WeakKeyDictionary()
_others: WeakKeyDictionary[Track, list[Track]] = WeakKeyDictionary()


def _others_of(known: Surroundings) -> list[Track]:
    """Return the other pieces; those about a track alone are looked for once."""
    if len(known.pieces) > 1:
        return _other_pieces(known)
    if known.track not in _others:
        _others[known.track] = _other_pieces(known)
    return _others[known.track]


def _other_pieces(known: Surroundings) -> list[Track]:
    """Trace the pieces that lie between the curve and the centres of its largest discs.

    A point of such a piece in one of these discs is seen from the point of the track nearest to
    it, along the normal there and no deeper than the centre of the largest disc there.
    """
    track = known.track
    places, size = _once(track), float(np.ptp(track.s))
    places = places.part(slice(None, None, 1 + places.s.size // RAYS))
    depths = 1.0 / np.maximum(known.required(places), 1.0 / size)

    def inside(points: Array) -> NDArray[np.bool_]:
        return track.curve.evaluate(track.values, points)[0] < 0.0

    def seen(fraction: Array) -> Array:
        return places.points - (fraction * depths)[:, None] * places.normals

    fractions = np.linspace(0.0, 1.0, RAY_SAMPLES) ** 2
    blocked = np.array([~inside(seen(np.full(depths.size, part))) for part in fractions[1:]])
    hit = blocked.any(axis=0)
    if not hit.any():
        return []
    first = np.argmax(blocked, axis=0)
    low, high = fractions[first], fractions[first + 1]
    for _ in range(40):
        middle = (low + high) / 2.0
        clear = inside(seen(middle))
        low, high = np.where(clear, middle, low), np.where(clear, high, middle)
    seeds = seen(high)[hit]
    f, f_x, f_z, *_ = track.curve.evaluate(track.values, seeds)
    # where f jumps or has a pole there is no curve
    seeds = seeds[np.abs(f) < 1e-6 * size * np.hypot(f_x, f_z)]
    others: list[Track] = []
    while seeds.size:
        try:
            piece = trace(track.curve, track.values, seeds[0], size / 2.0)
        except OutOfRangeError:  # a point alone
            seeds = seeds[1:]
            continue
        others.append(piece)
        distance, _ = scipy.spatial.KDTree(piece.points).query(seeds)
        seeds = seeds[distance > np.diff(piece.s).max()]
    return others
