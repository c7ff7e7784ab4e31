import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions.blocks import StateFunction, evaluate_block, evaluate_lanes
from daesolve.core.expressions.translation import function_of
from tests.systems import EPSILON

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


@pytest.mark.default_rows(23)
@pytest.mark.slow_rows("exp")
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


@pytest.mark.slow_rows("1", "50")
@pytest.mark.parametrize("count", [1, 50, 150])
def test_motions_with_values_of_their_own_are_evaluated_as_each_alone(count):
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p", 2)
    function = block_function(ca.vertcat(p[0] * x[0], x[1] / ca.sin(p[1]) + t), t, x, p)
    rng = np.random.default_rng(0)
    times, states = rng.uniform(1, 2, (3, count)), rng.uniform(1, 2, (3, count, 3))
    values = rng.uniform(1, 2, (3, 4))
    found = evaluate_lanes(function, times, states, values)
    for lane in range(3):
        [own] = evaluate_block(function, times[lane], states[lane], values[lane])
        np.testing.assert_array_equal(found[lane], own)


def test_of_longer_rows_a_function_takes_the_first_columns():
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p", 2)
    function = block_function(ca.vertcat(p[0] * x[0] + t, x[1] / p[1]), t, x, p)
    rng = np.random.default_rng(1)
    times, states, values = rng.uniform(1, 2, 9), rng.uniform(1, 2, (9, 3)), rng.uniform(1, 2, 4)
    for given in (values, np.tile(values, (9, 1))):
        [found] = evaluate_block(function, times, states, given)
        [short] = evaluate_block(function, times, states[:, :2], given[..., :2])
        np.testing.assert_array_equal(found, short)


def test_shorter_rows_than_a_function_takes_are_refused():
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p", 2)
    function = block_function(p[0] * x[0] + p[1] * x[1] + t, t, x, p)
    for states, values in ((1, 2), (2, 1), (2, 0)):
        with pytest.raises(ValueError, match="takes 2 numbers"):
            evaluate_block(function, np.zeros(3), np.zeros((3, states)), np.zeros(values))
    with pytest.raises(ValueError, match="takes 2 numbers"):
        StateFunction(function, np.zeros(1))


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


def long_function(rounds):
    """Of operations alone whose result IEEE 754 prescribes to the last bit."""
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("p", 2)
    parts = [x[0], x[1] + t, x[2] * p[0], ca.sqrt(p[1]) * x[0], p[0] + p[1]]
    drawn = np.random.default_rng(3)
    for _ in range(rounds):
        a, b = (parts[k] for k in drawn.integers(max(0, len(parts) - 40), len(parts), 2))
        make = (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: p[0] * a / (1 + b * b))
        parts.append(make[drawn.integers(3)](a, b))
    outputs = [ca.vertcat(*parts[-20:]), ca.vertcat(p[0] ** 2, 3.0, 0.0)]
    return function_of("f", [t, x, p], outputs, (["t", "x", "p"], ["a", "b"]))


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("own", [False, True])
def test_registers_that_are_used_again_change_no_value(count, own):
    function = long_function(400)
    drawn = np.random.default_rng(count)
    times, states = drawn.uniform(-1, 1, count), drawn.uniform(-1, 1, (count, 3))
    values = drawn.uniform(0.1, 1.0, (count, 2) if own else 2)
    first, second = evaluate_block(function, times, states, values)
    for k in range(count):
        mine = values[k] if own else values
        exact, fixed = function(times[k], states[k], mine)
        assert np.array_equal(first[k], np.asarray(exact).ravel())
        assert np.array_equal(second[k], np.asarray(fixed).ravel())


def test_a_state_gives_the_same_bits_whatever_states_are_beside_it():
    function = long_function(300)
    drawn = np.random.default_rng(5)
    times, states = drawn.uniform(-1, 1, 150), drawn.uniform(-1, 1, (150, 3))
    values = np.array([0.3, 0.7])
    whole = evaluate_block(function, times, states, values)[0]
    for part in (slice(0, 1), slice(7, 90), slice(149, 150)):
        assert np.array_equal(
            evaluate_block(function, times[part], states[part], values)[0], whole[part]
        )


def one_column(rounds):
    whole = long_function(rounds)
    t, x, p = (whole.sx_in(k) for k in range(3))
    return function_of("g", [t, x, p], [ca.vertcat(*whole(t, x, p))], (["t", "x", "p"], ["g"]))


@pytest.mark.slow_rows("3")
@pytest.mark.parametrize("count", [1, 3, 8, 11])
def test_a_function_called_again_and_again_forgets_what_it_was_called_with(count):
    function, p = one_column(200), np.array([0.3, 0.7])
    again = StateFunction(function, p, count)
    drawn = np.random.default_rng(count)
    for _ in range(3):
        times, states = drawn.uniform(-1, 1, count), drawn.uniform(-1, 1, (count, 3))
        found = again(times[0], states[0])[None] if count == 1 else again(times, states)
        for k in range(count):
            assert np.array_equal(found[k], np.asarray(function(times[k], states[k], p)).ravel())
    assert again.calls == 3 * count
