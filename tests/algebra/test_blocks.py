import casadi as ca
import numpy as np
import pytest

from daesolve.algebra.blocks import evaluate_block
from daesolve.algebra.translation import function_of

from ..systems import EPSILON

UNARY = [
    ca.exp, ca.sqrt, ca.sin, ca.cos, ca.tan, ca.asin, ca.acos, ca.atan, ca.sinh, ca.cosh, ca.tanh,
    ca.asinh, ca.atanh, ca.log, ca.log1p, ca.expm1, ca.erf, ca.floor, ca.ceil, ca.fabs, ca.sign,
    lambda a: ca.acosh(1 + a * a), lambda a: -a, lambda a: a * a, lambda a: 2 * a, lambda a: 1 / a,
    lambda a: a**3, lambda a: a**-2, lambda a: a**0.5, lambda a: a**2.5, ca.logic_not,
]  # fmt: skip
BINARY = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b,
    lambda a, b: a**b, ca.atan2, ca.fmin, ca.fmax, ca.fmod, ca.copysign, ca.hypot, ca.remainder,
    lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a == b, lambda a, b: a != b,
    ca.logic_and, ca.logic_or, lambda a, b: ca.if_else(a < b, a, b * a),
]  # fmt: skip


def block_function(expression, t, x, p):
    return function_of("f", [t, x, p], [expression], (["t", "x", "p"], ["f"]))


@pytest.mark.parametrize("operation", UNARY + BINARY)
def test_every_operation_of_casadi_means_the_same_in_a_block(operation):
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p")
    binary = operation in BINARY
    function = block_function(operation(x[0], x[1]) if binary else operation(x[0]), t, x, p)
    states = np.random.default_rng(1).uniform(0.1, 0.9, (20, 2))
    states[0] = states[0, 0]
    found = evaluate_block(function, np.zeros(20), states, np.zeros(1))[0][:, 0]
    exact = np.array([float(function(0, s, 0)) for s in states])
    assert np.max(np.abs(found - exact) / np.maximum(np.abs(exact), 1.0)) <= 8 * EPSILON


def test_a_block_gives_what_the_function_gives_state_by_state():
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("p", 2)
    expressions = [ca.vertcat(ca.sin(x[0] * t), x[1] / (1 + p[0] ** 2), 7.0), ca.SX(0, 1), p[1]]
    function = function_of("f", [t, x, p], expressions, (["t", "x", "p"], ["a", "b", "c"]))
    generator = np.random.default_rng(2)
    times, states, values = generator.random(5), generator.random((5, 3)), generator.random(2)
    first, second, third = evaluate_block(function, times, states, values)
    assert (first.shape, second.shape, third.shape) == ((5, 3), (5, 0), (5, 1))
    for k in range(5):
        a, _, c = function(times[k], states[k], values)
        assert np.asarray(a).ravel() == pytest.approx(first[k], rel=4 * EPSILON)
        assert float(c) == third[k, 0]
