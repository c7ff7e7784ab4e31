"""Where a disc of radius r can roll on a traced curve, and where it touches the curve twice.

A disc fits in P where r K(P) < 1, K(P) being the greatest curvature of a circle that is tangent to
the curve in P and passes through another point of it (`daesolve_problems.tangent_circles`). That is
the local condition r kappa < 1 and the global one, that the curve of centres does not meet itself,
in one; and where r K = 1 first, the rolling disc touches the curve a second time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from daesolve.errors import OutOfRangeError
from daesolve_problems.curves import Array
from daesolve_problems.tangent_circles import Surroundings
from daesolve_problems.tracks import Contacts, Stretch, Track

Point: TypeAlias = tuple[float, float]

CANDIDATES: Final = 8
"""The number of highest peaks of sampled values that are refined."""

ROUNDING: Final = 1e-8
"""The relative error of g(P, Q) where Q is near P, and of the curvature of straight lines."""

SIGHT: Final = 8.0
"""How far along the curve beyond a stretch second contacts are sought, in radii."""

ZOOMS: Final = 12
"""How often a bracket about a second contact is narrowed, eightfold, or its window is moved."""


@dataclass(frozen=True)
class SecondContact:
    """Where a rolling disc first touches the curve in a second point.

    Parameters
    ----------
    s
        The arc length of the rolling contact from the start, in m; negative backwards.
    contact
        The rolling contact (x, z), in m.
    other
        The other touching point (x, z), in m.
    """

    s: float
    contact: Point
    other: Point


@dataclass(frozen=True)
class Admissibility:
    """Whether a disc can roll along a stretch of a curve.

    Parameters
    ----------
    radius
        Of the disc, in m.
    stretch
        The requested arc lengths, in m.
    admissible
        Whether the disc touches the curve only at the rolling contact, all along the stretch.
    fits_at_start
        Whether it does so at the start.
    largest_local_radius
        1 / max kappa over the stretch, in m; inf where the curve never bends towards the wheel.
    largest_radius
        Of a disc that can roll all along the stretch, in m: the least upper bound.
    tightest
        The rolling contact (x, z), in m, in which a disc of the largest radius is stopped; None if
        every disc fits.
    second_contacts
        The first ones backwards and forwards from the start, None if there is none on the
        stretch; both at the start itself where the disc does not fit there.
    """

    radius: float
    stretch: Stretch
    admissible: bool
    fits_at_start: bool
    largest_local_radius: float
    largest_radius: float
    tightest: Point | None
    second_contacts: tuple[SecondContact | None, SecondContact | None]

    @property
    def free_stretch(self) -> Stretch:
        """The arc lengths, in m, between the second contacts or the ends of the stretch."""
        backward, forward = self.second_contacts
        return (
            self.stretch[0] if backward is None else backward.s,
            self.stretch[1] if forward is None else forward.s,
        )


def admissibility(track: Track, radius: float, stretch: Stretch | None = None) -> Admissibility:
    """Find out whether a disc can roll along a stretch, and where it is stopped if not.

    Second contacts are looked for on the whole track and at least `SIGHT` radii beyond the stretch,
    and on other pieces of the curve in the wheel's way: a ceiling, an island.

    Parameters
    ----------
    track
        The curve, from the start contact.
    radius
        Of the disc, in m.
    stretch
        Arc lengths (low <= 0 <= high), in m, such as `reach` returns; None: the whole track.

    Raises
    ------
    OutOfRangeError
        The radius is not positive, the stretch is not part of the track, or the disc can roll to
        where the curve ends, jumps or has a kink.
    """
    if not (math.isfinite(radius) and radius > 0.0):
        raise OutOfRangeError(f"the radius of a disc is {radius!r}, but must be positive")
    rolled = track.at(track.places(stretch))
    ends = float(rolled.s[0]), float(rolled.s[-1])
    room = Surroundings.around(track, ends, SIGHT * radius)
    required = room.required(rolled)
    bends = _bends(track, rolled)
    # the highest, and the highest that would still let the disc pass
    peaks = {*_peaks(required), *_peaks(np.where(radius * required < 1.0, required, -math.inf))}
    passages = [_passage(room, rolled, k) for k in sorted(peaks)]
    value, place = _tightest(bends, passages)
    s, needed = _with_peaks(rolled.s, required, bends + passages)
    start = int(np.searchsorted(s, 0.0))
    admissible = radius * value < 1.0
    sides = ((s[start::-1], needed[start::-1]), (s[start:], needed[start:]))
    backward, forward = (
        None if admissible else _first_second_contact(room, radius, *side) for side in sides
    )
    largest = _radius(track, value)
    found = Admissibility(
        radius=radius,
        stretch=ends,
        admissible=admissible,
        fits_at_start=admissible or radius * float(needed[start]) < 1.0,
        largest_local_radius=_radius(track, max(bends)[0]),
        largest_radius=largest,
        tightest=_point(track, place) if math.isfinite(largest) else None,
        second_contacts=(backward, forward),
    )
    _check_ends(track, found)
    return found


@dataclass(frozen=True)
class Barrier:
    """A circle that the rolling contact enters exactly where the disc is stopped.

    Parameters
    ----------
    x, z
        The centre, in m: on the curve, a little beyond the second contact.
    radius
        In m; 0, and the centre far off the curve, where nothing stops the disc.
    """

    x: float
    z: float
    radius: float


def barriers(track: Track, found: Admissibility) -> tuple[Barrier, Barrier]:
    """Mark the second contacts by circles, for events: |contact - centre|^2 > radius^2.

    The radius is a tenth of the disc's, or less where the circle would reach to the other touching
    point or to a part of the curve that the disc can roll on.

    Parameters
    ----------
    track
        The curve, from the start contact.
    found
        What `admissibility` found on this track.

    Returns
    -------
    tuple of Barrier
        Backwards and forwards from the start.

    Raises
    ------
    OutOfRangeError
        The disc does not fit at the start.
    """
    if not found.fits_at_start:
        raise OutOfRangeError(
            f"a wheel of radius {found.radius:g} m does not fit on the curve "
            f"{track.curve.label!r} at its start"
        )
    x, z = _point(track, 0.0)
    nowhere = Barrier(x, z - 10.0 * float(np.ptp(track.s)), 0.0)
    low, high = found.free_stretch
    free = track.part((track.s >= low) & (track.s <= high)).points
    backward, forward = (
        nowhere if stop is None else _barrier(track, free, stop, 0.1 * found.radius)
        for stop in found.second_contacts
    )
    return backward, forward


def _barrier(track: Track, free: Array, stop: SecondContact, radius: float) -> Barrier:
    """Draw a circle about a point beyond a second contact that keeps off the free points."""
    chord = min(radius, math.dist(stop.contact, stop.other) / 4.0)
    steps = stop.s + math.copysign(chord, stop.s) * np.linspace(-4.0, 2.0, 97)
    points = track.at(np.clip(steps, *_limits(track))).points
    before, beyond = points[:64], points[65:]
    distances = np.linalg.norm(beyond - stop.contact, axis=1)
    centre = beyond[np.argmin(np.abs(distances - chord))]
    reached = float(np.linalg.norm(centre - stop.contact))
    nearest = np.linalg.norm(np.concatenate((free, before)) - centre, axis=1).min()
    if nearest < reached * (1.0 - ROUNDING) and chord > ROUNDING * float(np.ptp(track.s)):
        return _barrier(track, free, stop, chord / 2.0)
    return Barrier(float(centre[0]), float(centre[1]), reached)


def _radius(track: Track, curvature: float) -> float:
    bent = curvature * float(np.ptp(track.s)) > ROUNDING
    return 1.0 / curvature if bent else math.inf


def _point(track: Track, s: float) -> Point:
    x, z = track.at(s).points[0]
    return float(x), float(z)


def _is_peak(values: Array) -> NDArray[np.bool_]:
    padded = np.concatenate(([-math.inf], values, [-math.inf]))
    return (values >= padded[:-2]) & (values >= padded[2:])


def _peaks(values: Array) -> list[int]:
    """Return the indices of the highest local maxima of samples."""
    best = float(values.max())
    if best == -math.inf:
        return []
    at = np.flatnonzero(_is_peak(values) & (values >= best - 0.05 * abs(best)))
    return at[np.argsort(-values[at], kind="stable")][:CANDIDATES].tolist()


def _between(s: Array, k: int) -> tuple[float, float]:
    """Return the arc lengths of the samples before and after a sample."""
    return float(s[max(k - 1, 0)]), float(s[min(k + 1, s.size - 1)])


def _check_ends(track: Track, found: Admissibility) -> None:
    sides = zip(track.stops, found.second_contacts, found.stretch, track.ends, strict=True)
    for stops, second, end, limit in sides:
        if stops and second is None and end == limit:
            x, z = _point(track, end)
            raise OutOfRangeError(
                f"the wheel can roll to ({x:.4g}, {z:.4g}), where the curve {track.curve.label!r} "
                "ends, jumps or has a kink"
            )


def _tightest(
    bends: list[tuple[float, float]], passages: list[tuple[float, float]]
) -> tuple[float, float]:
    """Return the greatest (K, s); where Q comes to P, g is kappa up to rounding: no passage."""
    bend, passage = max(bends), max(passages)
    return passage if passage[0] > bend[0] + ROUNDING * abs(bend[0]) else bend


def _with_peaks(s: Array, required: Array, peaks: list[tuple[float, float]]) -> tuple[Array, Array]:
    """Count peaks between samples as samples, so that the disc is not let through."""
    extra = np.array(peaks)
    places, index = np.unique(np.concatenate((s, extra[:, 1])), return_inverse=True)
    needed = np.full(places.size, -math.inf)
    np.maximum.at(needed, index, np.concatenate((required, extra[:, 0])))
    return places, needed


def _bends(track: Track, rolled: Contacts) -> list[tuple[float, float]]:
    """Return (kappa, s) in the sharpest bends towards the wheel, ends of the stretch included."""
    bends: list[tuple[float, float]] = []
    for k in _peaks(rolled.curvature):
        bends.append((float(rolled.curvature[k]), float(rolled.s[k])))
        bounds = _between(rolled.s, k)
        if bounds[0] < bounds[1]:
            bends.append(_bend(track, bounds))
    return bends


@lru_cache(maxsize=32)
def _bend(track: Track, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return (kappa, s) where kappa is greatest between samples, which wheels of any radius share.

    Samples about the greatest one bound it, so that it does not depend on the stretch.
    """
    found: Any = scipy.optimize.minimize_scalar(
        lambda s: -float(track.at(s).curvature[0]),
        bounds=bounds,
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -float(found.fun), float(found.x)


def _passage(room: Surroundings, rolled: Contacts, k: int) -> tuple[float, float]:
    """Return (g, s) where g(P, Q) is greatest near a sample P and its greatest Q."""
    piece, places, row = max(room.opposite(rolled.part([k])), key=lambda entry: entry[2].max())
    j = int(np.argmax(row))
    ends = np.array([_between(rolled.s, k), _between(places.s, j)])
    begin = np.array([rolled.s[k], places.s[j]])
    widths = np.maximum(np.ptp(ends, axis=1), 1e-12)

    def lower(u: Array) -> tuple[float, Array]:
        """Return -g and its gradient, by dg = (2 dN - g dD) / D, as multiples of those found."""
        s = np.clip(begin + widths * u, ends[:, 0], ends[:, 1])
        at, through = room.track.at(s[0]), piece.at(s[1])
        g = float(room.circles(at, through)[0, 0])
        gap = at.points[0] - through.points[0]
        squared = max(float(gap @ gap), room.near**2)
        along, across = at.tangents[0], through.tangents[0]
        slope = 2.0 * np.array(
            (
                (along @ gap) * (float(at.curvature[0]) - g),
                g * (across @ gap) - at.normals[0] @ across,
            )
        )
        return -g / unit, -slope / squared * widths / unit

    unit = max(abs(float(row[j])), 1e-12)
    found: Any = scipy.optimize.minimize(
        lower,
        np.zeros(2),
        jac=True,
        method="L-BFGS-B",
        bounds=(ends - begin[:, None]) / widths[:, None],
        options={"ftol": 0.0, "gtol": 1e-10},
    )
    return -float(found.fun) * unit, float(begin[0] + widths[0] * found.x[0])


def _first_second_contact(
    room: Surroundings, radius: float, s: Array, needed: Array
) -> SecondContact | None:
    """Find where r K first reaches 1 along samples that lead away from the start."""
    over = np.flatnonzero(radius * needed >= 1.0)
    if not over.size:
        return None
    k = int(over[0])
    opposite = room.opposite(room.track.at(s[k]))
    highest = max(float(row.max()) for _, _, row in opposite)
    touched = [
        (float(row[j]), piece, places.s, int(j))
        for piece, places, row in opposite
        for j in np.flatnonzero(_is_peak(row) & (row >= min(1.0 / radius, highest)))
    ]
    if k == 0:
        _, piece, samples, j = max(touched, key=lambda entry: entry[0])
        here, there = float(s[0]), float(samples[j])
    else:
        here, there, piece = min(
            (
                (*_touch(room, piece, radius, (s[k - 1], s[k]), _between(samples, j)), piece)
                for _, piece, samples, j in touched
            ),
            key=lambda entry: abs(entry[0]),
        )
    return SecondContact(here, _point(room.track, here), _point(piece, there))


def _touch(
    room: Surroundings, piece: Track, radius: float, bracket: Stretch, window: Stretch
) -> tuple[float, float]:
    """Find the arc lengths of P and Q at the second contact.

    Parameters
    ----------
    room, piece, radius
        Of the disc; the piece is that of Q.
    bracket
        Arc lengths of P before and after the contact, in the order in which the disc comes.
    window
        Arc lengths around Q.
    """
    before, after = bracket
    there, width = (window[0] + window[1]) / 2.0, (window[1] - window[0]) / 2.0
    for _ in range(ZOOMS):
        here = np.linspace(before, after, 17)
        around = np.clip(there + width * np.linspace(-1.0, 1.0, 33), *_limits(piece))
        g = radius * room.circles(room.track.at(here), piece.at(around))
        over = np.flatnonzero(g.max(axis=1) >= 1.0)
        k = max(int(over[0]), 1) if over.size else 16
        opposite = around[np.argmax(g[k - 1 : k + 1], axis=1)]
        moved = np.abs(opposite - there).max()
        there = opposite[1]
        if moved < 0.99 * width:  # else the greatest g may lie outside of the window
            # one step more, because the maximum between samples is a little higher
            before, after = here[max(k - 2, 0)], here[k]
            width = abs(opposite[1] - opposite[0]) + width / 8.0
    tolerance = 1e-3 * abs(bracket[1] - bracket[0])
    return _polished(room.track, piece, radius, (float(after), float(there)), tolerance)


def _limits(track: Track) -> tuple[float, float]:
    return track.ends if track.perimeter is None else (-math.inf, math.inf)


def _polished(
    track: Track, piece: Track, radius: float, found: tuple[float, float], tolerance: float
) -> tuple[float, float]:
    """Improve a second contact by Newton's method on C(s_1) = C(s_2), where that is regular."""
    pair: Array = np.array(found)
    low, high = zip(_limits(track), _limits(piece), strict=True)
    for _ in range(3):
        pair = np.clip(pair + _newton_step(track, piece, radius, pair), low, high)
    near = np.abs(pair - found).max() <= tolerance
    return (float(pair[0]), float(pair[1])) if near else found


def _newton_step(track: Track, piece: Track, radius: float, pair: Array) -> np.ndarray:
    at, through = track.at(pair[0]), piece.at(pair[1])
    gap: Array = (at.centres(radius) - through.centres(radius))[0]
    along: Array = at.tangents[0] * (1.0 - radius * at.curvature)
    across: Array = through.tangents[0] * (1.0 - radius * through.curvature)
    return np.linalg.lstsq(np.column_stack((along, -across)), -gap, rcond=None)[0]
