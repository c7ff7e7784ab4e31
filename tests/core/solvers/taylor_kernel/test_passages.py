"""Zeros of polynomials on [0, 1]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from daesolve.core.solvers.taylor_kernel import passages as passing

pytestmark = pytest.mark.slow  # what is tested is compiled anew in each process

compiled: Any = passing
EPS = float(np.finfo(float).eps)
ROOM = np.empty((passing.DEEPEST + 3, 21)), np.empty((passing.DEEPEST + 3, 2))


def looked_for(c: np.ndarray, way: float) -> tuple[int, np.ndarray]:
    padded, found = np.zeros(21), np.empty(21)
    padded[: len(c)] = c
    least = 64.0 * EPS * float(np.sum(np.abs(c)))
    return compiled.passages(padded, way, least, ROOM, found), found


def passages(c: np.ndarray, way: float) -> list[float]:
    count, found = looked_for(c, way)
    assert count >= 0
    return found[:count].tolist()


def polynomial(zeros: list[float]) -> np.ndarray:
    """Return the coefficients, lowest first, of a polynomial that is negative at minus infinity."""
    found = np.array([1.0])
    for zero in zeros:
        found = np.convolve(found, [-zero, 1.0])
    return -found if len(zeros) % 2 == 0 else found


def test_a_polynomial_passes_at_its_zeros_in_its_direction_and_nowhere_else() -> None:
    random = np.random.default_rng(3)
    for count in (1, 2, 3, 4, 5):
        for _ in range(200):
            zeros = np.sort(random.uniform(-0.5, 1.5, count))
            if np.min(np.diff(zeros), initial=1.0) < 0.05:
                continue
            c = polynomial(zeros.tolist())
            inside = (zeros > 0.0) & (zeros <= 1.0)
            for way, own in (
                (0.0, slice(None)),
                (1.0, slice(0, None, 2)),
                (-1.0, slice(1, None, 2)),
            ):
                expected = zeros[own][inside[own]]
                found = passages(c, way)
                assert len(found) == len(expected)
                # A coefficient is off by rounding of sums of products of zeros, all below 2.
                slopes = np.polynomial.polynomial.polyval(
                    expected, np.polynomial.polynomial.polyder(c)
                )
                off = 64.0 * EPS * np.sum(np.abs(c)) / np.abs(slopes)
                assert np.all(np.abs(np.array(found) - expected) <= off)


def test_a_zero_is_found_at_zero_or_past_it() -> None:
    random = np.random.default_rng(4)
    for zero in random.uniform(0.0, 1.0, 500).tolist():
        for c in (np.array([-zero, 1.0]), np.array([zero * 3.0, -3.0])):
            (found,) = passages(c, 0.0)
            assert abs(found - zero) <= 4.0 * EPS
            assert compiled.value(c, found)[0] * c[0] <= 0.0


def test_a_guard_that_is_zero_where_it_starts_is_found_where_it_comes_back() -> None:
    """A ball leaves the floor and comes back to it."""
    assert passages(np.array([0.0, 0.5, -1.0]), -1.0) == [0.5]
    assert passages(np.array([0.0, 0.5, -1.0]), 1.0) == []


@pytest.mark.parametrize("place", [0.5, 0.37, 0.94])
@pytest.mark.parametrize("depth", [0.0, 1e-17, -1e-17, 1e-15, -1e-15])
def test_whether_a_guard_passes_is_left_open_where_rounding_decides(
    place: float, depth: float
) -> None:
    c = np.array([place**2 - depth, -2.0 * place, 1.0])
    assert looked_for(c, 0.0)[0] == passing.UNRESOLVED


@pytest.mark.parametrize("depth", [1e-12, 1e-8, 1e-3])
def test_a_dip_that_is_deeper_than_rounding_is_found(depth: float) -> None:
    found = passages(np.array([0.37**2 - depth, -0.74, 1.0]), 0.0)
    off = 64.0 * EPS / math.sqrt(depth)
    assert found == pytest.approx([0.37 - math.sqrt(depth), 0.37 + math.sqrt(depth)], abs=off)
    assert passages(np.array([0.37**2 + depth, -0.74, 1.0]), 0.0) == []


def test_a_zero_in_the_middle_of_halves_counts_once() -> None:
    zeros = [0.25, 0.5, 0.75]
    assert passages(polynomial(zeros), 0.0) == pytest.approx(zeros, abs=64.0 * EPS)


def test_a_guard_that_is_no_number_is_left_open() -> None:
    assert looked_for(np.full(21, math.nan), 0.0)[0] == passing.UNRESOLVED
