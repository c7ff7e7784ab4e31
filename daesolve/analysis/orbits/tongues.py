"""Where a map of a circle is locked at a ratio: its fixed points, and from where to where it is.

What F^q - id - p is around the circle has a largest and a least value; the map is locked where zero
lies between. A tongue ends where one of them is zero. Newton's method for F^q = id + p and
(F^q)' = 1 finds any extremum, which may be one of the inner ones: here the whole circle is looked
at first.
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
"""Angles at which a map is looked at, all around."""
BESIDE = 0.0071
"""Of the circle, where the grid begins: motions are often degenerate at right angles."""
PLACE = 3e-8
"""Of the circle, how exactly the place of an extremum is found."""
SOLVED = 1e-14
"""To what part of the circle, or of the range of a value, roots are found."""
MOST = 4
"""Extrema that are looked at closely, of those that may be the largest."""
LOOKED = 9
"""Values in a range at which it is seen whether there is one tongue."""
ASIDE = 1e-6
"""Of a range, over which an extremum is differentiated."""
CORNER = 1e-9
"""Of the circle, by which an extremum differs beside it where it is no smooth one."""
MET = 1e-6
"""Of the circle: a change of sign that misses zero by more is a jump."""

Misses = Callable[[float], float]
"""An angle -> F^q - id - p there."""


@dataclass(frozen=True)
class Tongue:
    """Where a circle map is locked.

    Parameters
    ----------
    ratio
        p and q: p circles in q periods.
    low, high
        The two ends, values of what is varied.
    angle_low, angle_high
        The angles at which the two points meet there that are locked.
    digits
        How many digits of each end are known, by a repetition with a tightened tolerance and by how
        far rounding hides the extremum.
    notes
        Where the map has a corner, so that fewer digits are known.
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
    """The largest or least of what is missed, where it is, and how much it varies right beside."""

    value: float
    angle: float
    beside: float


def around(misses: Misses, modulo: float) -> tuple[np.ndarray, np.ndarray]:
    """Return angles all around, and what is missed there, not a number where no motion gets on.

    Raises
    ------
    NotPeriodicError
        From no angle one does.
    """
    grid = np.linspace(0.0, modulo, GRID + 1) + BESIDE * modulo
    found = [_value(misses, float(angle)) for angle in grid[:-1]]
    if not np.any(np.isfinite(found)):
        raise NotPeriodicError("the motion does not continue for a period from any angle")
    return grid, np.array([*found, found[0]])


def _value(misses: Misses, angle: float) -> float:
    try:
        return misses(angle)
    except DaesolveError:  # where it starts degenerate, or becomes so
        return math.nan


def extremum(misses: Misses, modulo: float, sense: float) -> Extremum:
    """Return the largest (sense +1) or least value around the circle."""
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
    # A maximum between two values of a grid rises above them by less than they fall beside it.
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

    # The value is right to the square of how exactly its place is known.
    found = scipy.optimize.minimize_scalar(
        below, bounds=(-width, width), method="bounded", options={"xatol": PLACE * modulo}
    )
    place = angle + float(found.x)
    return -sense * float(found.fun), place % modulo


def zeros(misses: Misses, modulo: float) -> list[float]:
    """Return the angles at which nothing is missed, in their order."""
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
    found: list[float] = []
    for low, high in itertools.pairwise(nodes):
        one, other = places[low], places[high]
        if one * other <= 0.0 and other != 0.0:
            angle = _root(misses, low, high, modulo)
            # Where it jumps, it passes zero without being zero.
            if angle is not None and abs(_value(misses, angle)) <= MET * modulo:
                found.append(angle % modulo)
    return sorted(found)


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
    """Return from where to where a map is locked.

    Parameters
    ----------
    at, refined
        What is varied -> what the map misses, and the same by a tightened tolerance.
    modulo
        The circle.
    over
        The name of what is varied, and its range.
    ratio
        p and q.

    Raises
    ------
    OutOfRangeError
        The tongue does not lie in the range, or there are several.
    """
    name, low, high = over
    found: list[tuple[float, Extremum, float]] = []
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
        # A value that is exactly an end has neither sign.
        if int(np.sum(np.diff(signs[signs != 0.0]) != 0.0)) > 1:
            raise OutOfRangeError(
                f"between {name} = {low:g} and {high:g} there is more than one tongue "
                f"{ratio[0]}/{ratio[1]}: give a range with the ends of one"
            )
        root = scipy.optimize.brentq(of, low, high, xtol=SOLVED * abs(high - low))
        end = float(root)  # pyright: ignore[reportArgumentType]
        peak = extremum(at(end), modulo, sense)
        doubt = _doubt(at, refined, end, peak, ASIDE * (high - low))
        found.append((end, peak, doubt))
    found.sort(key=lambda one: one[0])
    digits = tuple(-math.log10(doubt) for _, _, doubt in found)
    notes = tuple(
        f"the end at {name} = {end:.10g} is known to {count:.1f} digits: the map has a corner at "
        f"the angle {peak.angle:.6g}, as where a motion passes beside a degenerate point"
        for (end, peak, _), count in zip(found, digits, strict=True)
        if peak.beside > CORNER * modulo
    )
    (start, first, _), (end, last, _) = found
    both = digits[0], digits[1]
    return Tongue(ratio, start, end, first.angle, last.angle, both, notes)


def _doubt(
    at: Callable[[float], Misses],
    refined: Callable[[float], Misses],
    end: float,
    peak: Extremum,
    step: float,
) -> float:
    """Return by what part of itself an end may be wrong."""
    again = _value(refined(end), peak.angle)
    apart = max(peak.beside, abs(again - peak.value))
    slopes = [abs(_value(at(end + s), peak.angle) - peak.value) / step for s in (step, -step)]
    doubt = apart / max(float(np.nanmin(slopes)), np.finfo(float).tiny)
    return max(doubt / max(abs(end), 1.0), float(np.finfo(float).eps))
