"""Special points of a branch: folds, doublings, tori, and similar points to be distinguished.

Each kind has a test, a smooth function along the branch that passes through zero there. Where the
test changes sign over a step, Newton's method starts on the equations of the special point.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from daesolve.analysis.orbits.bordered import (
    Condition,
    Crossing,
    CurveEvaluation,
    Folding,
    Having,
    Inverse,
    OnCircle,
    Solution,
    nearest_inverse,
    solve_special,
)
from daesolve.analysis.orbits.curve import BranchPoint, Curve, CurvePoint
from daesolve.analysis.orbits.grazing import touching
from daesolve.analysis.orbits.monodromy import Multipliers, Verdict, multipliers
from daesolve.errors import DaesolveError, NotPeriodicError

Kind: TypeAlias = Literal[
    "fold",
    "branch point",
    "period doubling",
    "symmetry breaking",
    "Neimark-Sacker",
    "Hopf",
    "neutral saddle",
    "grazing",
    "degenerate passage",
    "several at once",
]
WEIGHTS: dict[Kind, int] = {
    "fold": 1,
    "branch point": 1,
    "period doubling": 1,
    "symmetry breaking": 1,
    "Neimark-Sacker": 2,
    "Hopf": 2,
}
"""The number of multipliers that pass through the unit circle at each kind of point."""
PARTED = 12
"""How often a step is halved to separate nearby special points."""
PASSING = 1e-4
"""The distance from the unit circle of multipliers that are passing through it."""
SPLITS = (0.5, 0.41, 0.59, 0.32)
"""Where a step may be divided, so that no multiplier is on the circle and they can be counted."""
PLACED = 40
"""How often it is halved to see where several multipliers pass at once."""
ON_CIRCLE = 1e-6
"""The distance of a pair from the unit circle at a Neimark-Sacker point."""
TestName: TypeAlias = Literal["fold", "unit", "doubling", "torus"]
ROUNDING = 1e-9
"""A test of products of multipliers that counts as zero; if volumes are preserved, each pair has
it."""
RESONANT = 1e-3
"""The distance of a pair's angle from p/q of a turn that counts as resonant."""
FAR = 1.0
"""Products of two multipliers farther from one than this are ignored."""
HALVINGS = 6
"""How often a step is divided until Newton's method reaches a special point."""
BESIDE = 0.05
"""How far beside a step a special point may lie, relative to it, because steps end inexactly."""
UNFOLDED = 1e-8
"""The largest distance, in sizes, by which an orbit misses itself if two branches really cross."""
RATIOS = ((1, 1), (1, 2), (1, 3), (1, 4))
LEAST_APART = 4.0
"""The common error of both solutions, relative to the spacing of numbers."""


@dataclass(frozen=True, eq=False)
class Tests:
    """The test functions at a point."""

    fold: float
    unit: float
    doubling: float
    torus: float
    spectrum: Multipliers


def tests_at(curve: Curve, point: CurvePoint) -> Tests:
    """Evaluate the test functions."""
    spectrum = multipliers(curve.task, point.shot, point.slopes)
    matrix = spectrum.reduced
    values = np.linalg.eigvals(matrix) if len(matrix) else np.zeros(0)
    torus = 1.0 + 0.0j
    for first, second in combinations(values, 2):
        torus *= first * second - 1.0
    one = np.eye(len(matrix))
    return Tests(
        fold=point.forward,
        unit=float(np.linalg.det(matrix - one)),
        doubling=float(np.linalg.det(matrix + one)),
        torus=float(np.real(torus)),
        spectrum=spectrum,
    )


def crossings(
    curve: Curve,
    before: tuple[CurvePoint, Tests],
    after: tuple[CurvePoint, Tests],
    step: float,
    parted: int = 0,
) -> list[tuple[Kind, Solution]]:
    """Find the special points within a step.

    A fold changes the direction of the branch, a branch point does not, though at both a multiplier
    passes through one. A pair of multipliers whose product passes through one lies on the unit
    circle at a Neimark-Sacker point; at a neutral saddle it is real, and nothing branches off.

    Two zeros of a test in one step do not change its sign, for example if two equal oscillators
    double their periods at once. Multipliers outside the unit circle are therefore counted: if
    their number changes by more than the points found explain, the step is halved until the points
    are separated, or shown to coincide.

    Parameters
    ----------
    curve, before, after, step
        The branch, two neighbours with their tests, and the step from one to the other.
    parted
        How often the step has already been halved.
    """
    solutions = _of_tests(curve, before, after, step)
    if not _unaccounted(before, after, solutions):
        return solutions
    if parted >= PARTED:
        several = _place_of_several(curve, before, after, step)
        return solutions if several is None else [("several at once", several)]
    try:
        part, middle = _between(curve, before[0], step)
    except DaesolveError:
        return solutions
    first = crossings(curve, before, middle, part * step, parted + 1)
    return first + crossings(curve, middle, after, (1.0 - part) * step, parted + 1)


def _between(
    curve: Curve, start: CurvePoint, step: float
) -> tuple[float, tuple[CurvePoint, Tests]]:
    """Return a fraction of a step, and the point there, with few multipliers on the unit circle."""
    points: list[tuple[int, float, tuple[CurvePoint, Tests]]] = []
    for part in SPLITS:
        point = curve.onward(start, part * step)
        tests = tests_at(curve, point)
        on_circle = outside(tests, -ON_CIRCLE) - outside(tests, ON_CIRCLE)
        points.append((on_circle, part, (point, tests)))
        if not on_circle:
            break
    return min(points, key=lambda one: one[0])[1:]


def verdict_of(curve: Curve, point: CurvePoint, tests: Tests) -> Verdict:
    """Return the stability of the orbit at a point."""
    if point.slopes.notes:
        return "one-sided"
    verdict = tests.spectrum.verdict(10.0 * point.accuracy)
    # Neighbouring orbits, with other values of the integrals, separate from it with time.
    return "neutral" if verdict == "stable" and curve.task.conserves else verdict


def outside(tests: Tests, aside: float = 0.0) -> int:
    """Return the number of multipliers larger than 1 + aside."""
    return int(np.sum(np.abs(tests.spectrum.values) > 1.0 + aside))


def _pairs_pass(first: Tests, second: Tests) -> bool:
    """Return whether the number of pairs outside the unit circle changes, with none on it."""
    pairs: list[int] = []
    for tests in (first, second):
        values = tests.spectrum.values
        sizes = np.abs(values[np.imag(values) > 0.0])
        if np.any(np.abs(sizes - 1.0) <= ON_CIRCLE):
            return False
        pairs.append(int(np.sum(sizes > 1.0)))
    return pairs[0] != pairs[1]


def _unaccounted(
    before: tuple[CurvePoint, Tests],
    after: tuple[CurvePoint, Tests],
    solutions: list[tuple[Kind, Solution]],
) -> bool:
    """Return whether more multipliers passed through the unit circle than the points explain."""
    if before[0].slopes.notes or after[0].slopes.notes:
        return False  # Multipliers jump where guards pass in another order.
    ends = before[1], after[1]
    least, most = ([outside(one, side) for one in ends] for side in (ON_CIRCLE, -ON_CIRCLE))
    passed = max(least[1] - most[0], least[0] - most[1])
    return passed > sum(WEIGHTS.get(kind, 0) for kind, _ in solutions)


def _place_of_several(
    curve: Curve, before: tuple[CurvePoint, Tests], after: tuple[CurvePoint, Tests], step: float
) -> Solution | None:
    """Return where, in a short step, several multipliers pass through the unit circle.

    None if they jump across it, for example by rounding near a homoclinic orbit.
    """
    counts = outside(before[1]), outside(after[1])
    low, high, place = 0.0, 1.0, after[0]
    for _ in range(PLACED):
        middle = (low + high) / 2.0
        try:
            point = curve.onward(before[0], middle * step, exact=True)
        except DaesolveError:
            break
        place = point
        if outside(tests_at(curve, point)) == counts[0]:
            low = middle
        else:
            high = middle
    sizes = np.abs(tests_at(curve, place).spectrum.values)
    passing = int(np.sum(np.abs(sizes - 1.0) <= PASSING))
    if passing < abs(counts[1] - counts[0]):
        return None
    return Solution(place, (), np.array(counts, dtype=float))


def _of_tests(
    curve: Curve, before: tuple[CurvePoint, Tests], after: tuple[CurvePoint, Tests], step: float
) -> list[tuple[Kind, Solution]]:
    """Return the special points where a test changes its sign."""
    solutions: list[tuple[Kind, Solution]] = []
    bracket = _Bracket(curve, before, after, step)
    first, second = before[1], after[1]
    if first.fold * second.fold < 0.0:
        solutions += bracket.solved("fold", "fold")
    elif first.unit * second.unit < 0.0:
        solutions += bracket.solved("branch point", "unit")
    if first.doubling * second.doubling < 0.0:
        breaks = curve.task.group.reflects
        solutions += bracket.solved(
            "symmetry breaking" if breaks else "period doubling", "doubling"
        )
    # Beside another, nearly equal pair the test is small without being rounding.
    clear = min(abs(first.torus), abs(second.torus)) > ROUNDING or _pairs_pass(first, second)
    if first.torus * second.torus < 0.0 and clear:
        solutions += bracket.solved("Hopf" if curve.task.steady else "Neimark-Sacker", "torus")
    return sorted(solutions, key=lambda one: bracket.part(one[1].point))


class _Bracket:
    """A step of a branch on which a test passes through zero."""

    def __init__(
        self,
        curve: Curve,
        before: tuple[CurvePoint, Tests],
        after: tuple[CurvePoint, Tests],
        step: float,
    ) -> None:
        self.curve, self.start, self.step = curve, before[0], step
        self.ends = before[1], after[1]

    def solved(self, kind: Kind, test: TestName) -> list[tuple[Kind, Solution]]:
        """Return the special point, of this kind or of a similar one; empty if there is none.

        Newton's method starts at the zero of the linearly interpolated test and, if it does not
        reach a point of this step, at places nearer to the point.
        """
        low, high = 0.0, 1.0
        values = [float(getattr(tests, test)) for tests in self.ends]
        for count in range(HALVINGS):
            whole = values[0] - values[1]
            part = low + (high - low) * (values[0] / whole if count % 2 == 0 else 0.5)
            part = min(max(part, low + 0.01 * (high - low)), high - 0.01 * (high - low))
            try:
                point = self.curve.onward(self.start, part * self.step)
            except DaesolveError:
                point = None
            if point is None:
                continue
            for own, condition in conditions_near(self.curve, kind, point):
                with suppress(NotPeriodicError):
                    solution = solve_special(self.curve, point, condition)
                    if self._within(solution.point) and self._is(own, solution):
                        return [(own, solution)]
            here = float(getattr(tests_at(self.curve, point), test))
            if here * values[0] > 0.0:
                low, values[0] = part, here
            else:
                high, values[1] = part, here
        return []

    def _within(self, point: CurvePoint) -> bool:
        """Return whether a point lies on the step, or just beside it."""
        return -BESIDE <= self.part(point) <= 1.0 + BESIDE

    def part(self, point: CurvePoint) -> float:
        """Return how far along the step a point lies, as a fraction."""
        start, curve = self.start, self.curve
        moved = curve.vector(point.guess, point.value) - curve.vector(start.guess, start.value)
        return float(start.tangent @ moved) / self.step

    def _is(self, kind: Kind, solution: Solution) -> bool:
        """Return whether a solution is of the expected kind, and not a zero of rounding."""
        spectrum = tests_at(self.curve, solution.point).spectrum
        if kind == "branch point":
            return solution.point.shot.residual < UNFOLDED and _has(spectrum, 1.0)
        if kind in ("period doubling", "symmetry breaking"):
            return _has(spectrum, -1.0)
        if kind in ("Neimark-Sacker", "Hopf"):
            return pair_on_circle(spectrum) is not None
        return kind == "fold" or _neutral(spectrum)


def conditions_near(curve: Curve, kind: Kind, point: CurvePoint) -> list[tuple[Kind, Condition]]:
    """Return the conditions that may hold near a point of a branch, for a kind of point."""
    place = CurveEvaluation(curve, curve.linear(point.guess, point.value), point.value)
    if kind == "fold":
        return [(kind, Folding(point.tangent))]
    if kind == "branch point":
        return [(kind, Crossing(place))]
    if kind in ("period doubling", "symmetry breaking"):
        return [(kind, Having(place, -1.0))]
    spectrum = place.spectrum
    pairs = sorted(
        (complex(value) for value in spectrum.values if value.imag > 0.0),
        key=lambda value: abs(abs(value) - 1.0),
    )
    conditions: list[tuple[float, Kind, Condition]] = []
    if kind != "neutral saddle":
        conditions.extend(
            (abs(abs(value) ** 2 - 1.0), kind, OnCircle(place, value / abs(value)))
            for value in pairs[:1]
        )
    inverse = nearest_inverse(spectrum)
    if math.isfinite(inverse):
        conditions.append((abs(inverse), "neutral saddle", Inverse()))
    # Try the condition that is nearer to being fulfilled first; do not try distant ones.
    conditions.sort(key=lambda one: one[0])
    return [(own, condition) for far, own, condition in conditions if far <= FAR]


def _neutral(spectrum: Multipliers) -> bool:
    """Return whether the product of two real multipliers is one, and they are not on the circle."""
    real = [value.real for value in spectrum.values if value.imag == 0.0]
    return any(
        abs(one * other - 1.0) < ON_CIRCLE and abs(abs(one) - 1.0) > ON_CIRCLE
        for one, other in combinations(real, 2)
    )


def _has(spectrum: Multipliers, value: float) -> bool:
    """Return whether a multiplier has a value, and the test's zero is not due to rounding."""
    return bool(np.any(np.abs(spectrum.values - value) < ON_CIRCLE))


def pair_on_circle(spectrum: Multipliers) -> complex | None:
    """Return the multiplier of a pair on the unit circle, with positive angle; None without one."""
    for value in spectrum.values:
        if value.imag > 0.0 and abs(abs(value) - 1.0) < ON_CIRCLE:
            return complex(value)
    return None


def resonance(value: complex) -> str:
    """Name a strong resonance, such as "1:3"; empty if there is none."""
    turn = math.atan2(value.imag, value.real) / (2.0 * math.pi)
    for p, q in RATIOS:
        if abs(turn - p / q) < RESONANT or (p == q and abs(turn) < RESONANT):
            return f"{p}:{q}"
    return ""


def confirmed_value(curve: Curve, kind: Kind, entry: BranchPoint, detail: str) -> float:
    """Return the number of digits of a special point's value that other steps confirm.

    NaN if they do not reach it, or if it is not solved for.
    """
    if kind in ("degenerate passage", "several at once"):
        return math.nan
    refined = curve.task.flow.prepared.solver.refined()
    try:
        task = replace(curve.task, flow=curve.task.flow.solved_by(refined))
        other = Curve(task, curve.axis, entry.guess)
        linear = other.linear(entry.guess, other.value_of(entry.guess))
        point = CurvePoint(
            other.value_of(entry.guess), linear.shot, linear.slopes, entry.tangent, 0, 0.0
        )
        if kind == "grazing":
            again = touching(other, point, detail)[0]
        else:
            again = solve_special(other, point, dict(conditions_near(other, kind, point))[kind])
    except (DaesolveError, KeyError, np.linalg.LinAlgError):
        return math.nan
    apart = abs(again.point.value - entry.value) / (abs(entry.value) or curve.axis.scale)
    return -math.log10(max(apart, LEAST_APART * float(np.finfo(float).eps)))
