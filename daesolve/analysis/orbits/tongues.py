"""Locking of a circle map at a ratio: its fixed points, and the range of locking.

F^q - id - p has a largest and a least value on the circle. The map is locked if zero lies between
them, and a tongue ends where one of them is zero. Newton's method for F^q = id + p and (F^q)' = 1
may find an inner extremum, so the whole circle is examined first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from daesolve.errors import DaesolveError, NotPeriodicError, OutOfRangeError

GRID = 48
"""The number of angles around the circle at which a map is examined."""
BESIDE = 0.0071
"""The start of the grid, as a fraction of the circle: motions are often degenerate at right
angles."""
PLACE = 3e-8
"""The accuracy of the place of an extremum, as a fraction of the circle."""
SOLVED = 1e-14
"""The accuracy of roots, as a fraction of the circle or of the range of a value."""
MOST = 4
"""The number of candidates for the largest extremum that are examined closely."""
LOOKED = 9
"""The number of values in a range used to see whether there is only one tongue."""
ASIDE = 1e-6
"""The difference, as a fraction of a range, for differentiating an extremum."""
CORNER = 1e-9
"""The change next to an extremum, as a fraction of the circle, that shows a corner."""
MET = 1e-6
"""A change of sign that misses zero by more, as a fraction of the circle, is a jump."""

Misses = Callable[[float], float]
"""An angle -> F^q - id - p there."""


@dataclass(frozen=True)
class Tongue:
    """The range in which a circle map is locked.

    Parameters
    ----------
    ratio
        p and q, for p circles in q periods.
    low, high
        The two ends, as values of the varied quantity.
    angle_low, angle_high
        The angles at the ends, where the two locked points merge.
    digits
        The number of known digits of each end, from a repetition with a tightened tolerance and
        from how far rounding hides the extremum.
    notes
        Remarks on corners of the map, where fewer digits are known.
    """

    ratio: tuple[int, int]
    low: float
    high: float
    angle_low: float
    angle_high: float
    digits: tuple[float, float]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Extremum:
    """The largest or least residual, its place, and its variation nearby."""

    value: float
    angle: float
    beside: float


def around(misses: Misses, modulo: float) -> tuple[np.ndarray, np.ndarray]:
    """Return angles around the circle, and the residual there, NaN if the motion ends.

    Raises
    ------
    NotPeriodicError
        The motion does not continue from any angle.
    """
    grid = np.linspace(0.0, modulo, GRID + 1) + BESIDE * modulo
    values = [_value(misses, float(angle)) for angle in grid[:-1]]
    if not np.any(np.isfinite(values)):
        raise NotPeriodicError("the motion does not continue for a period from any angle")
    return grid, np.array([*values, values[0]])


def _value(misses: Misses, angle: float) -> float:
    try:
        return misses(angle)
    except DaesolveError:  # It starts in a degenerate state, or reaches one.
        return math.nan


def extremum(misses: Misses, modulo: float, sense: float) -> Extremum:
    """Return the largest (sense +1) or least value on the circle."""
    grid, values = around(misses, modulo)
    tried = [
        _refined(misses, modulo, sense, float(grid[k])) for k in _candidates(sense * values[:-1])
    ]
    best = max(tried, key=lambda one: sense * one[0])
    value, angle = best
    delta = PLACE * modulo
    aside = [_value(misses, angle + side) - value for side in (delta, -delta)]
    return Extremum(value, angle, max(map(abs, aside)))


def _candidates(values: np.ndarray) -> list[int]:
    """Return the maxima of a grid near which the largest value may lie."""
    kept = np.where(np.isfinite(values), values, -np.inf)
    before, after = np.roll(kept, 1), np.roll(kept, -1)
    peaks = np.flatnonzero((kept >= before) & (kept >= after) & np.isfinite(kept))
    # A maximum between two values of a grid exceeds them by less than they exceed their neighbours.
    falls = kept - np.minimum(before, after)
    best = float(np.max(kept))
    near = [int(k) for k in peaks if kept[k] + falls[k] >= best]
    return sorted(near, key=lambda k: -kept[k])[:MOST]


def _refined(misses: Misses, modulo: float, sense: float, angle: float) -> tuple[float, float]:
    """Return the extremum within a step of the grid: its value and angle."""
    width = modulo / GRID

    def below(aside: float) -> float:
        value = _value(misses, angle + aside)
        return math.inf if math.isnan(value) else -sense * value

    # The error of the value is the square of the error of its place.
    minimum = scipy.optimize.minimize_scalar(
        below, bounds=(-width, width), method="bounded", options={"xatol": PLACE * modulo}
    )
    place = angle + float(minimum.x)
    return -sense * float(minimum.fun), place % modulo


def zeros(misses: Misses, modulo: float) -> list[float]:
    """Return the angles with a zero residual, in order."""
    grid, values = around(misses, modulo)
    places = dict(zip(grid.tolist(), values.tolist(), strict=True))
    for k in range(GRID):
        # Two zeros may lie between neighbours of a grid, beside an extremum.
        value, neighbours = values[k], (values[k - 1 if k else GRID - 1], values[k + 1])
        sense = -math.copysign(1.0, value)
        peak = sense * value >= max(sense * other for other in neighbours)
        if peak and abs(value) <= max(abs(other - value) for other in neighbours):
            top, place = _refined(misses, modulo, sense, float(grid[k]))
            if sense * top > 0.0:
                turns = math.floor((float(grid[k]) - place) / modulo + 0.5)
                places[place + turns * modulo] = top
    nodes = sorted(places)
    angles: list[float] = []
    for low, high in itertools.pairwise(nodes):
        one, other = places[low], places[high]
        if one * other <= 0.0 and other != 0.0:
            angle = _root(misses, low, high, modulo)
            # At a jump the residual changes sign without being zero.
            if angle is not None and abs(_value(misses, angle)) <= MET * modulo:
                angles.append(angle % modulo)
    return sorted(angles)


def _root(misses: Misses, low: float, high: float, modulo: float) -> float | None:
    try:
        root = scipy.optimize.brentq(misses, low, high, xtol=SOLVED * modulo)
    except (DaesolveError, ValueError):
        return None
    return float(root)  # pyright: ignore[reportArgumentType]


def tongue(
    at: Callable[[float], Misses],
    refined: Callable[[float], Misses],
    modulo: float,
    over: tuple[str, float, float],
    ratio: tuple[int, int],
) -> Tongue:
    """Return the range in which a map is locked.

    Parameters
    ----------
    at, refined
        Value of the varied quantity -> residual of the map, and the same with a tightened
        tolerance.
    modulo
        The circumference of the circle.
    over
        The name of the varied quantity, and its range.
    ratio
        p and q.

    Raises
    ------
    OutOfRangeError
        The tongue does not lie in the range, or there are several.
    """
    name, low, high = over
    ends: list[tuple[float, Extremum, float]] = []
    for sense in (1.0, -1.0):

        def of(value: float, sense: float = sense) -> float:
            return extremum(at(value), modulo, sense).value

        looked = [of(float(value)) for value in np.linspace(low, high, LOOKED)]
        if looked[0] * looked[-1] > 0.0:
            raise OutOfRangeError(
                f"the tongue {ratio[0]}/{ratio[1]} does not lie between {name} = {low:g} and "
                f"{high:g}, or extends beyond: give a range that contains both its ends"
            )
        signs = np.sign(looked)
        # A value exactly at an end has neither sign.
        if int(np.sum(np.diff(signs[signs != 0.0]) != 0.0)) > 1:
            raise OutOfRangeError(
                f"between {name} = {low:g} and {high:g} there is more than one tongue "
                f"{ratio[0]}/{ratio[1]}: give a range that contains only one"
            )
        root = scipy.optimize.brentq(of, low, high, xtol=SOLVED * abs(high - low))
        end = float(root)  # pyright: ignore[reportArgumentType]
        peak = extremum(at(end), modulo, sense)
        doubt = _doubt(at, refined, end, peak, ASIDE * (high - low))
        ends.append((end, peak, doubt))
    ends.sort(key=lambda one: one[0])
    digits = tuple(-math.log10(doubt) for _, _, doubt in ends)
    notes = tuple(
        f"the end at {name} = {end:.10g} is known to {count:.1f} digits: the map has a corner at "
        f"the angle {peak.angle:.6g}, for example because a motion passes near a degenerate point"
        for (end, peak, _), count in zip(ends, digits, strict=True)
        if peak.beside > CORNER * modulo
    )
    (start, first, _), (end, last, _) = ends
    both = digits[0], digits[1]
    return Tongue(ratio, start, end, first.angle, last.angle, both, notes)


def _doubt(
    at: Callable[[float], Misses],
    refined: Callable[[float], Misses],
    end: float,
    peak: Extremum,
    step: float,
) -> float:
    """Return the relative error of an end."""
    again = _value(refined(end), peak.angle)
    apart = max(peak.beside, abs(again - peak.value))
    slopes = [abs(_value(at(end + s), peak.angle) - peak.value) / step for s in (step, -step)]
    doubt = apart / max(float(np.nanmin(slopes)), np.finfo(float).tiny)
    return max(doubt / max(abs(end), 1.0), float(np.finfo(float).eps))
