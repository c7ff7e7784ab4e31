"""Numbers with expressions: they stay plain numbers, and their expressions give the same ones."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from daesolve.multibody.drawing import Circle, Linear, axes_by_quaternions, axes_by_turns, ring
from daesolve.multibody.drawing.traced import Traced, applied, column, expression_of, numbers

VALUES = np.array([0.3, -1.2, 2.5])
X = ca.SX.sym("x")
R = ca.SX.sym("r")


def again(entries: np.ndarray, **known: float) -> np.ndarray:
    """Return the values of expressions for other numbers of x and r."""
    found = [ca.Function("own", [X, R], [expression_of(entry)]) for entry in np.ravel(entries)]
    return np.array([float(one(known["x"], known["r"])) for one in found]).reshape(entries.shape)


@pytest.mark.parametrize(
    "rule",
    [
        lambda x, r: r * np.cos(x) - x / 3.0 + 2.0,
        lambda x, r: np.hypot(x, r) ** 2 + np.arctan2(r, x),
        lambda x, r: np.sqrt(np.abs(x)) * np.tan(r) - (-x),
        lambda x, r: np.exp(x) / np.float64(2.0) + 1 - r,
        lambda x, r: np.column_stack([x, r * x, np.ones(3)]) @ np.diag([1.0, -1.0, 2.0]),
        lambda x, r: axes_by_turns([(2, x), (0, np.sin(x)), (1, -x)]),
        lambda x, r: axes_by_quaternions(np.column_stack([x, np.cos(x), np.sin(x), x * x])),
        lambda x, r: ring(r, 1, (r, 0.0, 0.0), 5),
    ],
)
def test_a_rule_gives_its_numbers_and_expressions_give_those_of_other_states(rule):
    plain = rule(VALUES, 0.7)
    traced = rule(column(VALUES, X), Traced(0.7, R))
    np.testing.assert_allclose(np.array(traced, dtype=float), plain, rtol=1e-14, atol=1e-15)
    others = rule(np.array([0.8, 0.8, 0.8]), 1.9)
    np.testing.assert_allclose(again(traced, x=0.8, r=1.9), others, rtol=1e-13, atol=1e-14)


def test_a_function_of_the_equations_keeps_expressions():
    function = ca.Function("seen", [ca.SX.sym("q", 2), R], [])
    q = ca.SX.sym("q", 2)
    function = ca.Function("seen", [q, R], [ca.horzcat(R * ca.cos(q[0]), q[1] ** 2)])
    rows = numbers([column(VALUES, X), 2.0 * column(VALUES, X)])
    found = applied(function, rows.T[1], [Traced(0.5, R)])
    np.testing.assert_allclose(np.array(found, dtype=float), [[0.5 * np.cos(-1.2), 2.4**2]])
    np.testing.assert_allclose(again(found, x=0.1, r=2.0), [[2.0 * np.cos(0.1), 0.04]])
    assert applied(function, [0.1, 0.2], [0.5]).dtype == float


def test_shapes_keep_expressions_and_convert_the_numbers_of_numpy():
    circle = Circle((Linear({"x": Traced(2.0, R)}), np.float64(1.0)), Traced(0.5, R))
    assert isinstance(circle.radius, Traced)
    first, second = circle.centre
    assert isinstance(first.terms["x"], Traced)
    assert type(second) is float


def test_what_is_converted_to_plain_numbers_has_no_expression():
    assert numbers([1.0, 2.0]).dtype == float
    assert np.array(column(VALUES, X), dtype=float).tolist() == VALUES.tolist()
