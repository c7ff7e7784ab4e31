"""Derivatives that are carried along are those of CasADi, or are none."""

import casadi as ca
import numpy as np
import pytest
import scipy

from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.expressions.sparse_derivatives import SparseDerivatives

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
        "EXPM1",
        "LOG1P",
        "ASINH",
        "ACOSH",
        "ATANH",
        "ERF",
        "HYPOT",
        "FMIN",
        "FMAX",
        "COPYSIGN",
        "FMOD",
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
    "HYPOT",
    "FMIN",
    "FMAX",
    "COPYSIGN",
    "FMOD",
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
        value = ca.SX.unary(operation, A + 1.0 if name == "ACOSH" else A)
    column = ca.vertcat(value * X[3], ca.sin(value) + X[0], P[1], X[1])
    found, exact = derivatives(column, 0.4, np.array([0.7, 0.5, 0.9, 0.8]), np.array([0.3, 2.0]))
    assert found is not None
    np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("value", [ca.sqrt(X[0]), 1.0 / X[0], ca.log(X[0])])
def test_where_a_derivative_is_not_finite_there_is_none(value: ca.SX):
    column = ca.vertcat(value, X[1])
    assert derivatives(column, 0.0, np.array([0.0, 1.0, 1.0, 1.0]), np.ones(2))[0] is None


@pytest.mark.parametrize(
    "value", [ca.fabs(X[0]), ca.fmin(X[0], 0.0), ca.if_else(X[1] < 2.0, X[0], 1.0 / X[0])]
)
def test_kinks_have_the_derivative_of_casadi_and_a_branch_not_taken_has_none(value: ca.SX):
    column = ca.vertcat(value, X[1])
    found, exact = derivatives(column, 0.0, np.array([0.0, 1.0, 1.0, 1.0]), np.ones(2))
    np.testing.assert_array_equal(found, exact)


def test_sparse_derivatives_are_those_of_casadi_also_of_rows_with_many_entries():
    """A chain, whose rows have three entries, and two rows of the square of a sum of all."""
    count = 100
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", count), ca.SX.sym("p")
    whole = ca.sum1(ca.sin(x) * ca.vertcat(x[1:], t)) ** 2
    chain = ca.vertcat(p * x[0], x[1:] * x[:-1] + ca.exp(x[1:]))
    column = ca.vertcat(chain[:30], whole, chain[30:], whole / x[3])
    own = SparseDerivatives(ca.Function("f", [t, x, p], [column]), np.array([0.7]))
    state = np.random.default_rng(3).uniform(0.2, 1.0, count)
    values, entries = own(0.3, state)
    found = scipy.sparse.csc_array((entries, own.rows, own.starts), shape=(count + 2, count))
    exact = ca.Function("g", [t, x, p], [column, ca.jacobian(column, x)])(0.3, state, 0.7)
    np.testing.assert_allclose(values, np.array(exact[0]).ravel(), rtol=1e-14)
    np.testing.assert_allclose(found.toarray(), np.array(ca.DM(exact[1])), rtol=1e-12)
