"""What an expression takes between bounds of its inputs lies within its enclosure."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions.enclosures import ALL, enclosed

X = ca.SX.sym("x")
EXPRESSIONS = {
    "pulse": 8 / (1 + ((X - 0.3) / 0.01) ** 2),
    "bell": ca.exp(-((X / 0.1) ** 2)),
    "waves": ca.sin(7 * X) - ca.cos(3 * X) ** 3,
    "ratio": ca.tanh(X) / (2 + ca.sin(X)),
    "chosen": ca.if_else(X > 0.2, ca.fabs(X), ca.fmax(X, -0.5)),
    "powers": X**2 + X**3 - ca.sqrt(X + 2) + (X + 2) ** 1.5 + (X + 2) ** X,
    "others": ca.atan(X) + ca.sinh(X) * ca.cosh(X) + ca.hypot(X, 0.1) + ca.floor(3 * X),
    "more": ca.log(X + 2) + ca.asinh(X) + ca.erf(X) + ca.log1p(X + 1.5) + ca.expm1(X) + ca.tan(X),
}


@pytest.mark.default_rows(4)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_all_values_between_two_numbers_lie_within_the_enclosure(name):
    function = ca.Function("f", [X], [EXPRESSIONS[name]])
    edges = np.random.default_rng(1).uniform(-1.0, 1.0, (60, 2))
    for low, high in np.sort(edges, axis=1):
        ((least, most),) = enclosed(function, [np.array([low])], [np.array([high])])
        values = np.array(function(np.linspace(low, high, 301)[None, :])).ravel()
        assert np.isfinite([least, most]).all()
        assert least <= values.min() + 1e-12
        assert most >= values.max() - 1e-12


def test_an_enclosure_is_narrow_where_its_input_is():
    """A pulse far off is all but constant; one within shows its whole height."""
    function = ca.Function("f", [X], [EXPRESSIONS["pulse"]])
    ((low, high),) = enclosed(function, [np.array([0.8])], [np.array([0.9])])
    assert high - low < 1e-2
    ((low, high),) = enclosed(function, [np.array([0.2])], [np.array([0.5])])
    assert high == pytest.approx(8.0)


def test_a_pole_leaves_all_numbers():
    function = ca.Function("f", [X], [1 / X])
    assert enclosed(function, [np.array([-1.0])], [np.array([1.0])]) == [ALL]
