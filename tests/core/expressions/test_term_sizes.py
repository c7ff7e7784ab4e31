"""Rounding of a value that cancels is a few units of the size that is found for its terms."""

from __future__ import annotations

from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions.term_sizes import ROUNDING, term_sizes

X = ca.SX.sym("x")


def size(expression, value):
    return float(term_sizes(ca.Function("f", [X], [expression]), value)[0][0])


@pytest.mark.parametrize("seed", range(20))
def test_what_a_polynomial_is_rounded_by_is_within_the_size_of_its_terms(seed):
    value = float(np.random.default_rng(seed).normal() * 10.0 ** (seed - 10))
    expression = (X + 1) ** 2 - 2 * X - 1 - X * X
    exact = (Fraction(value) + 1) ** 2 - 2 * Fraction(value) - 1 - Fraction(value) ** 2
    found = float(ca.Function("f", [X], [expression])(value))
    assert abs(found - float(exact)) <= ROUNDING * size(expression, value)
    assert size(expression, value) <= 5 * (1 + abs(value)) ** 2


def test_one_less_a_cosine_has_the_size_of_one():
    assert size(1 - ca.cos(X), 1e-9) == pytest.approx(2.0)


def test_the_rounding_of_a_large_angle_is_in_its_sine():
    assert size(ca.sin(X), 1e6) == pytest.approx(1e6 * abs(np.cos(1e6)), rel=1e-3)


def test_a_square_beyond_every_double_is_infinite():
    assert size(X**2 - 1, 1e300) == float("inf")


def test_a_root_passes_on_the_rounding_of_what_cancels_under_it():
    # d sqrt(u) = du / (2 sqrt(u)): under the root, 1 and cos(x) cancel; cos(x) is rounded with x.
    under, terms = 1.0 - np.cos(0.01), 1.0 + np.cos(0.01) + 0.01 * np.sin(0.01)
    expected = 0.5 * (np.sqrt(under) + terms / np.sqrt(under))
    assert size(ca.sqrt(1 - ca.cos(X)), 0.01) == pytest.approx(expected, rel=1e-9)
