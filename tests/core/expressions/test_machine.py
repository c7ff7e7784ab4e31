"""Derivatives that are carried along are those of CasADi, or are none."""

import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions.blocks import StateFunction

T, X, P = ca.SX.sym("t"), ca.SX.sym("x", 4), ca.SX.sym("p", 2)
A, B = 0.3 * X[0] + 0.1 * T * X[1], X[2] * X[3] - 0.2 * P[0]
SMOOTH = {
    name: getattr(ca, f"OP_{name}")
    for name in [
        "NEG",
        "SQ",
        "TWICE",
        "INV",
        "SQRT",
        "EXP",
        "LOG",
        "SIN",
        "COS",
        "TAN",
        "SINH",
        "COSH",
        "TANH",
        "ASIN",
        "ACOS",
        "ATAN",
        "FABS",
        "ADD",
        "SUB",
        "MUL",
        "DIV",
        "POW",
        "CONSTPOW",
        "ATAN2",
        "LT",
        "LE",
        "NE",
        "AND",
        "OR",
        "NOT",
        "SIGN",
        "FLOOR",
        "CEIL",
        "IF_ELSE_ZERO",
    ]
}
TWO = [
    "ADD",
    "SUB",
    "MUL",
    "DIV",
    "POW",
    "CONSTPOW",
    "ATAN2",
    "LT",
    "LE",
    "NE",
    "AND",
    "OR",
    "IF_ELSE_ZERO",
]


def derivatives(column: ca.SX, t: float, x: np.ndarray, p: np.ndarray):
    """Return those that are carried along, and CasADi's."""
    function = ca.Function("f", [T, X, P], [column])
    exact = ca.Function("g", [T, X, P], [ca.jacobian(column, X)])
    return StateFunction(function, p).jacobian(t, x), np.array(ca.DM(exact(t, x, p)))


@pytest.mark.slow_rows("NEG")
@pytest.mark.parametrize("name", SMOOTH)
def test_each_operation_has_the_derivatives_of_casadi(name: str):
    operation = SMOOTH[name]
    if name in TWO:
        other = ca.SX(2.3) if name == "CONSTPOW" else B
        value = ca.SX.binary(operation, A, other)
    else:
        value = ca.SX.unary(operation, A)
    column = ca.vertcat(value * X[3], ca.sin(value) + X[0], P[1], X[1])
    found, exact = derivatives(column, 0.4, np.array([0.7, 0.5, 0.9, 0.8]), np.array([0.3, 2.0]))
    assert found is not None
    np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("value", [ca.sqrt(X[0]), 1.0 / X[0], ca.fabs(X[0]), ca.log(X[0])])
def test_where_a_derivative_is_not_finite_or_not_one_there_is_none(value: ca.SX):
    column = ca.vertcat(value, X[1])
    assert derivatives(column, 0.0, np.array([0.0, 1.0, 1.0, 1.0]), np.ones(2))[0] is None


@pytest.mark.parametrize("value", [ca.fmin(A, B), ca.fmod(A, B), ca.erf(A)])
def test_operations_without_rules_have_none(value: ca.SX):
    assert derivatives(ca.vertcat(value), 0.0, np.full(4, 0.7), np.ones(2))[0] is None
