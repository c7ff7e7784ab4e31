"""A row of a stability map: the orbits along one parameter, and the borders between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy

from daesolve.analysis.orbits.curve import Curve, CurvePoint
from daesolve.analysis.orbits.monodromy import Verdict
from daesolve.analysis.orbits.shooting import Guess
from daesolve.analysis.orbits.special import (
    ROUNDING,
    Tests,
    crossings,
    pair_on_circle,
    tests_at,
    verdict_of,
)
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
