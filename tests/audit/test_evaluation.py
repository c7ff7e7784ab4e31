"""Expressions at many points have the values that CasADi gives them."""

import casadi as ca
import numpy as np

from daesolve.audit.evaluation import AT_ONCE, OPERATIONS, evaluate

X, Y = ca.SX.sym("x"), ca.SX.sym("y")
UNARY = (
    *(ca.exp, ca.log, ca.sqrt, ca.sin, ca.cos, ca.tan, ca.asin, ca.acos, ca.atan, ca.sinh, ca.cosh),
    *(ca.tanh, ca.asinh, ca.acosh, ca.atanh, ca.floor, ca.ceil, ca.fabs, ca.sign, ca.erf),
    *(ca.logic_not, ca.log1p, ca.expm1, lambda x: -x, lambda x: x**2, lambda x: 2 * x),
    *(lambda x: 1 / x, lambda x: x**2.5, lambda x: 0 * x + 3.0),
)
BINARY = (
    *(
        ca.fmod,
        ca.copysign,
        ca.fmin,
        ca.fmax,
        ca.atan2,
        ca.hypot,
        ca.logic_and,
        ca.logic_or,
        ca.power,
    ),
    *(lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y),
    *(lambda x, y: x < y, lambda x, y: x <= y, lambda x, y: x == y, lambda x, y: x != y),
    lambda x, y: ca.if_else(x < y, ca.log(x), y),
    ca.remainder,  # not among the operations: CasADi evaluates it
)


def test_every_operation_has_the_value_that_casadi_gives_it():
    expressions = ca.vertcat(*[f(X) for f in UNARY], *[f(X, Y) for f in BINARY])
    points = np.random.default_rng(7).normal(0.0, 2.0, (2, AT_ONCE + 5))
    points[:, :4] = [[0.0, 1.0, np.inf, np.nan], [0.0, 1.0, -np.inf, 2.0]]
    exact = np.array(ca.Function("all", [ca.vertcat(X, Y)], [ca.densify(expressions)])(points))
    for row, expression in zip(exact, ca.vertsplit(expressions), strict=True):
        with np.errstate(all="ignore"):
            (found,) = evaluate([X, Y], expression, points)
        known = np.isfinite(row)
        assert np.array_equal(np.isfinite(found), known), expression
        off = np.abs(found[known] - row[known])
        assert np.max(off / np.maximum(np.abs(row[known]), 1.0)) < 1e-14, expression


def test_no_operation_is_missing_from_the_comparison():
    column = ca.vertcat(*[f(X) for f in UNARY], *[f(X, Y) for f in BINARY])
    function = ca.Function("all", [X, Y], [column])
    used = {function.instruction_id(k) for k in range(function.n_instructions())}
    assert OPERATIONS.keys() - used <= {ca.OP_ASSIGN, ca.OP_POW}
