"""Rows of a stability map, and the borders between their cells.

A row has the orbits along one parameter. A border is a curve of orbits on which a test function is
zero: the direction of the branch at a fold, det(M - 1), det(M + 1), or the product over pairs of
multipliers of mu_i mu_j - 1. It is followed in the plane of both parameters. The secant predicts
the next point. There, the parameter that varies more along the border is held, and the zero is
found along the branch over the other parameter, by arc length, which is regular at folds too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy

from daesolve.analysis.orbits.curve import STEEP, Curve, CurvePoint, LinearEquations
from daesolve.analysis.orbits.monodromy import Verdict
from daesolve.analysis.orbits.shooting import Guess
from daesolve.analysis.orbits.special_points import (
    ROUNDING,
    Tests,
    crossings,
    pair_on_circle,
    tests_at,
    verdict_of,
)
from daesolve.core.expressions.singular_values import weakest_direction
from daesolve.errors import DaesolveError

SOLVED = 1e-14
"""The accuracy of a border, as a fraction of the range."""
HALVINGS = 3
"""How often the interval between two cells is halved before concluding that there is no orbit."""
ON_BORDER = 1e-5
"""The distance of a multiplier from its value on a border; at the corner of a tongue, its square
root."""

Cell = Verdict | Literal["none"]
BorderKind = Literal["fold", "multiplier 1", "multiplier -1", "pair on the circle"]
MOST_STEPS = 24
"""The number of steps along the branch to a fold between two cells."""
SMALLEST = 1 / 64
"""The least of these steps, as a fraction of a cell."""
MOST = 400
"""The largest number of points of a border in one direction."""
SHORTEST = 1 / 32
"""The fraction of the step below which a border has ended."""
WIDENINGS = 6
"""How often the interval of the search for a zero is doubled."""
SOLVED_ARC = 1e-14
"""The accuracy of the zero, in scaled unknowns."""
NEAR = 0.2
"""The distance, as a fraction of a step, within which a point lies on a border."""
CLOSED = "it is closed"


@dataclass(frozen=True)
class BorderPoint:
    """A point of a border: its kind, and the two parameters."""

    kind: BorderKind
    x: float
    y: float


@dataclass(frozen=True)
class MapRow:
    """The cells of a row with the sizes of their largest multipliers, and borders between them."""

    cells: tuple[tuple[Cell, float] | None, ...]
    borders: tuple[BorderPoint, ...]


def row_of(curve: Curve, guess: Guess, y: float, x: np.ndarray) -> MapRow:
    """Return a row, computed from the orbit's own value to both sides.

    Parameters
    ----------
    curve
        The curve over the first parameter.
    guess
        An orbit in this row.
    y, x
        The second parameter here, and the values of the first in the row.
    """
    line = RowContinuation(curve, guess, y, x)
    return MapRow(tuple(line.cells), tuple(point for point, _ in line.borders))


def orbit_at(
    curve: Curve,
    here: CurvePoint | Guess,
    value: float,
    *,
    exact: bool = False,
    halvings: int = HALVINGS,
) -> CurvePoint | None:
    """Return the orbit at a value, along the curve from another, in halves if it is far.

    Return None if there is none.
    """
    guess = here.guess if isinstance(here, CurvePoint) else here
    before = here.tangent if isinstance(here, CurvePoint) else curve.upward(guess)
    try:
        return curve.at_value(guess, value, before, exact=exact)
    except DaesolveError:
        if not halvings:
            return None
    middle = (curve.value_of(guess) + value) / 2.0
    halfway = orbit_at(curve, here, middle, halvings=halvings - 1)
    if halfway is None:
        return None
    return orbit_at(curve, halfway, value, exact=exact, halvings=halvings - 1)


class RowContinuation:
    """A row of cells, from the orbit's own value to both sides, and the orbits on its borders."""

    def __init__(self, curve: Curve, guess: Guess, y: float, x: np.ndarray) -> None:
        self.curve, self.y, self.x = curve, y, x
        self.cells: list[tuple[Cell, float] | None] = [None] * len(x)
        self.borders: list[tuple[BorderPoint, CurvePoint]] = []
        middle = int(np.argmin(np.abs(x - curve.value_of(guess))))
        # A parameter moves the section too: the tangent shows where the orbit then starts.
        base = orbit_at(curve, guess, curve.value_of(guess)) or guess
        first = self._cell(base, middle)
        for columns in (range(middle + 1, len(x)), range(middle - 1, -1, -1)):
            before, here = first, base if first is None else first[0]
            for column in columns:
                after = self._cell(here, column)
                if after is not None:
                    here = after[0]
                if before is not None and after is not None:
                    self._cross(before, after)
                elif before is not None:
                    self._fold(before, float(x[column]))
                before = after

    def _cell(self, here: CurvePoint | Guess, column: int) -> tuple[CurvePoint, Tests] | None:
        point = orbit_at(self.curve, here, float(self.x[column]))
        if point is None:
            return None
        tests = tests_at(self.curve, point)
        values = tests.spectrum.values
        verdict = verdict_of(self.curve, point, tests)
        self.cells[column] = verdict, float(np.max(np.abs(values), initial=0.0))
        return point, tests

    def _cross(self, before: tuple[CurvePoint, Tests], after: tuple[CurvePoint, Tests]) -> None:
        """Find the borders between two cells."""
        (start, first), (end, second) = before, after
        for kind in TESTS:
            one, other = value_of_test(kind, first), value_of_test(kind, second)
            products = kind == "pair on the circle" and min(abs(one), abs(other)) <= ROUNDING
            if not one * other < 0.0 or products:
                continue

            def of(x: float, kind: BorderKind = kind) -> float:
                point = orbit_at(self.curve, start, x, exact=True)
                if point is None:
                    raise ValueError("no orbit")
                return value_of_test(kind, tests_at(self.curve, point))

            try:
                root = scipy.optimize.brentq(
                    of, start.value, end.value, xtol=SOLVED * self.curve.axis.scale
                )
            except ValueError:
                continue
            x = float(root)  # pyright: ignore[reportArgumentType]
            point = orbit_at(self.curve, start, x, exact=True)
            if point is None:
                continue
            if lies_on_border(kind, tests_at(self.curve, point)):
                self.borders.append((BorderPoint(kind, x, self.y), point))

    def _fold(self, before: tuple[CurvePoint, Tests], x: float) -> None:
        """Look for the fold beyond which there is no orbit, on the way to a cell without one."""
        here, tests = before
        sense = np.sign(x - here.value)
        if here.forward * sense < 0.0:
            here = replace(here, tangent=-here.tangent)
            tests = replace(tests, fold=here.forward)
        whole = abs(x - here.value) / self.curve.axis.scale
        step = whole
        for _ in range(MOST_STEPS):
            try:
                after = self.curve.onward(here, step)
            except DaesolveError:
                step /= 2.0
                if step < SMALLEST * whole:
                    return
                continue
            if (after.value - x) * sense > 0.0:
                return
            looked = tests_at(self.curve, after)
            for kind, found in crossings(self.curve, (here, tests), (after, looked), step):
                if kind == "fold":
                    place = found.point
                    self.borders.append((BorderPoint("fold", place.value, self.y), place))
                    return
            here, tests = after, looked


TESTS: Mapping[BorderKind, str] = {
    "multiplier 1": "unit",
    "multiplier -1": "doubling",
    "pair on the circle": "torus",
}


def value_of_test(kind: BorderKind, tests: Tests) -> float:
    """Return the test function that is zero on a border."""
    return tests.fold if kind == "fold" else float(getattr(tests, TESTS[kind]))


def lies_on_border(kind: BorderKind, tests: Tests) -> bool:
    """Return whether a multiplier has the value of a border, where the border's test is zero."""
    values = tests.spectrum.values
    if kind == "pair on the circle":
        return pair_on_circle(tests.spectrum) is not None
    return bool(np.any(np.abs(values - (-1.0 if kind == "multiplier -1" else 1.0)) < ON_BORDER))


Limits = tuple[tuple[float, float], tuple[float, float]]
"""The ranges of the two parameters."""


@dataclass(frozen=True, eq=False)
class Border:
    """A curve on which the stability changes.

    Parameters
    ----------
    kind
        The kind of bifurcation on the border.
    x, y
        (k,) the two parameters.
    ends
        The reasons why it ends, for both ends.
    """

    kind: BorderKind
    x: np.ndarray
    y: np.ndarray
    ends: tuple[str, str]

    def passes(self, point: BorderPoint, limits: Limits, step: float) -> bool:
        """Return whether a point lies on the border, judging by the border's points."""
        if point.kind != self.kind:
            return False
        places = _scaled(self.x, self.y, limits)
        one = _scaled(np.array([point.x]), np.array([point.y]), limits)[0]
        starts, ways = places[:-1], np.diff(places, axis=0)
        lengths = np.maximum(np.sum(ways**2, axis=1), 1e-300)
        parts = np.clip(np.sum((one - starts) * ways, axis=1) / lengths, 0.0, 1.0)
        apart = np.linalg.norm(starts + parts[:, None] * ways - one, axis=1)
        return bool(np.min(apart, initial=np.inf) <= NEAR * step)


def _scaled(x: np.ndarray, y: np.ndarray, limits: Limits) -> np.ndarray:
    return np.column_stack(
        [(v - low) / (high - low) for v, (low, high) in zip((x, y), limits, strict=True)]
    )


def follow_border(
    curves: tuple[Curve, Curve], start: BorderPoint, orbit: CurvePoint, limits: Limits, step: float
) -> Border:
    """Follow a border from a point in both directions.

    Parameters
    ----------
    curves
        The orbits over the first parameter, and over the second.
    start, orbit
        A point of the border, and the orbit there on the first curve.
    limits, step
        The ranges of the parameters, and the step as a fraction of these.
    """
    sides: list[tuple[list[np.ndarray], str]] = []
    for sense in (-1.0, 1.0):
        side = _BorderSide(curves, start, orbit, limits, step)
        sides.append(side.follow(sense))
        if sides[-1][1] == CLOSED:
            break
    (first, one), (second, other) = sides[0], sides[-1] if len(sides) > 1 else ([], CLOSED)
    places = np.array([*first[::-1], np.array([start.x, start.y]), *second])
    return Border(start.kind, places[:, 0], places[:, 1], (one, other))


class _BorderSide:
    """A border in one direction."""

    def __init__(
        self,
        curves: tuple[Curve, Curve],
        start: BorderPoint,
        orbit: CurvePoint,
        limits: Limits,
        step: float,
    ) -> None:
        self.curves, self.limits, self.step = curves, limits, step
        self.kind: BorderKind = start.kind
        self.scales = np.array([high - low for low, high in limits])
        self.place = self.start = np.array([start.x, start.y])
        self.orbit, self.along = orbit, 0
        self.direction = np.zeros(2)
        self.found: list[np.ndarray] = []
        self.farthest = 0.0

    def follow(self, sense: float) -> tuple[list[np.ndarray], str]:
        """Return the points, and the reason for the end."""
        self.direction = np.array([0.0, sense])
        low, high = self.limits[1]
        if self.place[1] == (high if sense > 0.0 else low):
            return [], f"reached {self.curves[1].axis.name} = {self.place[1]:.10g}"
        length = self.step
        while len(self.found) < MOST:
            end = self._on(length)
            if end is None:
                length /= 2.0
                if length < SHORTEST * self.step:
                    return self.found, "no further orbit on the border was found"
                continue
            if end:
                return self.found, end
            length = min(2.0 * length, self.step)
        return self.found, f"stopped after {MOST} points"

    def _on(self, length: float) -> str | None:
        """Take a step; return why the border ends, "" if it goes on, None if it was lost."""
        # The border crosses the direction of the less varying parameter almost at a right angle.
        order = (0, 1) if abs(self.direction[1]) >= abs(self.direction[0]) else (1, 0)
        for along in order:
            held = 1 - along
            target = self.place + length * self.direction * self.scales
            low, high = self.limits[held]
            value = float(np.clip(target[held], low, high))
            if value == self.place[held]:
                continue
            point = self._solved(along, value, float(target[along]))
            if point is None:
                continue
            place = np.zeros(2)
            place[along], place[held] = point.value, value
            way = (place - self.place) / self.scales
            size = float(np.linalg.norm(way))
            if size > 3.0 * length or way @ self.direction <= 0.0:
                continue
            return self._after_step(along, point, place, way / size, (low, high))
        return None

    def _after_step(
        self,
        along: int,
        point: CurvePoint,
        place: np.ndarray,
        direction: np.ndarray,
        held_range: tuple[float, float],
    ) -> str:
        """Keep a point; return the reason if the border ends there, "" otherwise."""
        names = [curve.axis.name for curve in self.curves]
        low, high = self.limits[along]
        if not low <= place[along] <= high:
            bound = float(np.clip(place[along], low, high))
            last = self._solved(1 - along, bound, float(place[1 - along]))
            if last is not None:
                there = np.zeros(2)
                there[along], there[1 - along] = bound, last.value
                self.found.append(there)
            return f"reached {names[along]} = {bound:.10g}"
        self.place, self.direction = place, direction
        self.orbit, self.along = point, along
        self.found.append(place)
        held = float(place[1 - along])
        if held in held_range:
            return f"reached {names[1 - along]} = {held:.10g}"
        home = float(np.linalg.norm((place - self.start) / self.scales))
        self.farthest = max(self.farthest, home)
        away = self.farthest > 2.0 * self.step
        return CLOSED if away and home < self.step / 2.0 else ""

    def _solved(self, along: int, value: float, foreseen: float) -> CurvePoint | None:
        """Return the orbit on the border with one parameter held, along the other."""
        curve, other = self.curves[along], self.curves[1 - along]
        try:
            guess = other.moved(self.orbit.guess, value, np.zeros(len(self.orbit.tangent)))[0]
            point = self._beside(curve, guess, along, foreseen)
            return self._zero(curve, point)
        except (DaesolveError, ValueError):
            return None

    def _beside(self, curve: Curve, guess: Guess, along: int, foreseen: float) -> CurvePoint:
        """Return an orbit near the border, predicted by its tangent."""
        own = curve.value_of(guess)
        tangent = self.orbit.tangent
        if self.along != along:
            # Over the other parameter, the branch has another direction, which its equations give.
            here = self.orbit.guess
            linear = curve.linear(here, curve.value_of(here))
            null = linear.embedding @ weakest_direction(linear.matrix)
            tangent = null / float(np.linalg.norm(null))
        change = np.zeros(len(tangent))
        ahead = (foreseen - own) / curve.axis.scale
        if abs(tangent[-1]) > STEEP:
            change = tangent * (ahead / tangent[-1])
        else:  # At a fold the parameter keeps moving, and the orbit hardly moves with it.
            change[-1] = ahead
        start, at = curve.moved(guess, own, change)
        predicted = curve.vector(start, at)

        def across(linear: LinearEquations, vector: np.ndarray) -> tuple[np.ndarray, float]:
            return tangent @ linear.embedding, -float(tangent @ (vector - predicted))

        return curve.corrected(start, at, across, tangent)

    def _zero(self, curve: Curve, point: CurvePoint) -> CurvePoint | None:
        """Return the zero of the test on the branch through an orbit."""
        known: dict[float, CurvePoint] = {}

        def of(arc: float) -> float:
            known[arc] = point if arc == 0.0 else curve.onward(point, arc, exact=True)
            tests = tests_at(curve, known[arc])
            return value_of_test(self.kind, replace(tests, fold=known[arc].forward))

        first, width = of(0.0), self.step / 64.0
        for _ in range(WIDENINGS):
            for arc in (width, -width):
                if of(arc) * first <= 0.0:
                    root = scipy.optimize.brentq(of, 0.0, arc, xtol=SOLVED_ARC)
                    arc = float(root)  # pyright: ignore[reportArgumentType]
                    of(arc)
                    place = known[arc]
                    return place if lies_on_border(self.kind, tests_at(curve, place)) else None
            width *= 2.0
        return None
