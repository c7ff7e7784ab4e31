"""Where orbits change along a branch: folds, doublings, tori, and what they are told apart from.

Each kind has a test, a smooth function along the branch that passes through zero there. The zero is
bracketed on the branch itself: its points solve the equations of an orbit across the tangent, which
stay regular at folds, doublings and tori, so that the bracket closes to the accuracy of these
equations, as that of bordered systems would. Where two branches cross they are singular. There the
branch is interpolated from points at both sides, in two rounds, of which the second is narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
import scipy

from daesolve.analysis.orbits.curve import Curve, Point
from daesolve.analysis.orbits.monodromy import Multipliers, multipliers
from daesolve.errors import NotPeriodicError

Kind: TypeAlias = Literal[
    "fold",
    "branch point",
    "period doubling",
    "symmetry breaking",
    "Neimark-Sacker",
    "Hopf",
    "neutral saddle",
    "grazing",
]
SOLVED = 1e-14
"""Of a step, to which a special point is found."""
ON_CIRCLE = 1e-6
"""How near to the unit circle a pair is at a Neimark-Sacker point."""
ROUNDING = 1e-9
"""A test of products of multipliers that is zero: where volumes are kept, each pair has it."""
RESONANT = 1e-3
"""How near to p/q, of a turn, the angle of a pair is that is called resonant."""
NODES = 10
"""Points through which a branch is interpolated."""
NARROW = 0.15
"""Of a step, on both sides of where branches cross, what is interpolated in the end."""
RATIOS = ((1, 1), (1, 2), (1, 3), (1, 4))


@dataclass(frozen=True, eq=False)
class Tests:
    """The test functions at a point."""

    fold: float
    unit: float
    doubling: float
    torus: float
    spectrum: Multipliers


def tests_at(curve: Curve, point: Point) -> Tests:
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
    curve: Curve, before: tuple[Point, Tests], after: tuple[Point, Tests], step: float
) -> list[tuple[Kind, Point]]:
    """Find the special points of a step.

    A fold changes the direction of the branch, a branch point does not, though at both a multiplier
    passes through one. A pair of multipliers whose product passes through one lies on the unit
    circle at a Neimark-Sacker point; at a neutral saddle it is real, and nothing branches off.

    Parameters
    ----------
    curve, before, after, step
        The branch, two neighbours with their tests, and the step from one to the other.
    """
    found: list[tuple[Kind, Point]] = []
    start, (first, second) = before[0], (before[1], after[1])
    if first.fold * second.fold < 0.0:
        place = _solved(curve, start, step, lambda one: one.forward)
        if place is not None:
            found.append(("fold", place))
    elif first.unit * second.unit < 0.0:
        place = _crossed(curve, start, step)
        if place is not None and _has(curve, place, 1.0):
            found.append(("branch point", place))
    if first.doubling * second.doubling < 0.0:
        place = _solved(curve, start, step, lambda one: tests_at(curve, one).doubling)
        if place is not None and _has(curve, place, -1.0):
            breaks = curve.task.group.reflects
            found.append(("symmetry breaking" if breaks else "period doubling", place))
    if first.torus * second.torus < 0.0 and min(abs(first.torus), abs(second.torus)) > ROUNDING:
        place = _solved(curve, start, step, lambda one: tests_at(curve, one).torus)
        found += _pairs(curve, place)
    return found


def _pairs(curve: Curve, place: Point | None) -> list[tuple[Kind, Point]]:
    """Return of what kind a point is where the product of a pair of multipliers is one."""
    if place is None:
        return []
    spectrum = tests_at(curve, place).spectrum
    if pair_on_circle(spectrum) is not None:
        return [("Hopf" if curve.task.steady else "Neimark-Sacker", place)]
    return [("neutral saddle", place)] if _neutral(spectrum) else []


def _crossed(curve: Curve, start: Point, step: float) -> Point | None:
    """Return where a multiplier passes through one within a step; None where it does not.

    Near to it, the equations of the branch are all but singular, and steps along them noise.
    """
    low, high = 0.0, 1.0
    of = _interpolated(curve, start, step, low, high)
    root = None if of is None else _root(of, low, high)
    if root is None:
        return None
    low, high = root - NARROW, root + NARROW
    of = _interpolated(curve, start, step, low, high)
    root = None if of is None else _root(of, low, high)
    if of is None or root is None:
        return None
    return curve.unsolved(start, of(root)[1:] - curve.vector(start.guess, start.value))


def _interpolated(
    curve: Curve, start: Point, step: float, low: float, high: float
) -> Callable[[float], np.ndarray] | None:
    """Return the test for one and the scaled unknowns over parts of a step, as polynomials."""
    angles = math.pi * (np.arange(NODES) + 0.5) / NODES
    parts: list[float] = []
    rows: list[np.ndarray] = []
    for part in (low + high) / 2.0 - (high - low) / 2.0 * np.cos(angles):
        with suppress(NotPeriodicError):
            point = curve.onward(start, float(part) * step, exact=True)
            vector = curve.vector(point.guess, point.value)
            rows.append(np.append(tests_at(curve, point).unit, vector))
            parts.append(float(part))
    if len(parts) < NODES // 2:
        return None
    # Lagrange's polynomial by its barycentric form, which does not mind a missing point.
    return scipy.interpolate.BarycentricInterpolator(parts, np.array(rows))


def _root(of: Callable[[float], np.ndarray], low: float, high: float) -> float | None:
    """Return where the first of some polynomials is zero; None where it is not."""

    def test(part: float) -> float:
        return float(of(part)[0])

    try:
        return float(scipy.optimize.brentq(test, low, high, xtol=SOLVED))  # pyright: ignore[reportArgumentType]
    except ValueError:
        return None


def _neutral(spectrum: Multipliers) -> bool:
    """Return whether the product of two real multipliers is one."""
    real = [value.real for value in spectrum.values if value.imag == 0.0]
    return any(abs(one * other - 1.0) < ON_CIRCLE for one, other in combinations(real, 2))


def _solved(
    curve: Curve, start: Point, step: float, test: Callable[[Point], float]
) -> Point | None:
    """Return where a test passes through zero within a step; None where it does not."""
    known: dict[float, Point] = {}

    def at(part: float) -> float:
        known[part] = start if part == 0.0 else curve.onward(start, part * step, exact=True)
        return test(known[part])

    try:
        root = scipy.optimize.brentq(at, 0.0, 1.0, xtol=SOLVED, rtol=4.0 * np.finfo(float).eps)
    except (NotPeriodicError, ValueError):
        return None
    part = float(root)  # pyright: ignore[reportArgumentType]
    return known.get(part) or curve.onward(start, part * step, exact=True)


def _has(curve: Curve, point: Point, value: float) -> bool:
    """Return whether a multiplier has a value, and a test did not pass through zero by rounding."""
    found = tests_at(curve, point).spectrum.values
    return bool(np.any(np.abs(found - value) < ON_CIRCLE))


def pair_on_circle(spectrum: Multipliers) -> complex | None:
    """Return the multiplier of a pair on the unit circle, of positive angle; None without one."""
    for value in spectrum.values:
        if value.imag > 0.0 and abs(abs(value) - 1.0) < ON_CIRCLE:
            return complex(value)
    return None


def resonance(value: complex) -> str:
    """Name a strong resonance, "1:3"; nothing where there is none."""
    turn = math.atan2(value.imag, value.real) / (2.0 * math.pi)
    for p, q in RATIOS:
        if abs(turn - p / q) < RESONANT or (p == q and abs(turn) < RESONANT):
            return f"{p}:{q}"
    return ""
