import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from daesolve.core.expressions.intervals import ANYTHING, TimeGuards, bounds

TIME, NOTHING = ca.SX.sym("t"), ca.SX(0, 1)
UNARY = {
    "sin": ca.sin, "cos": ca.cos, "tan": ca.tan, "atan": ca.atan, "sinh": ca.sinh,
    "cosh": ca.cosh, "tanh": ca.tanh, "exp": ca.exp, "expm1": ca.expm1, "fabs": ca.fabs,
    "sign": ca.sign, "floor": ca.floor, "ceil": ca.ceil, "cube": lambda a: a**3,
    "inverse square": lambda a: a**-2, "asin": lambda a: ca.asin(a / 20),
    "acos": lambda a: ca.acos(a / 20), "sqrt": lambda a: ca.sqrt(a + 20),
    "log": lambda a: ca.log(a + 21), "log1p": lambda a: ca.log1p(a / 21),
    "acosh": lambda a: ca.acosh(a + 21), "atanh": lambda a: ca.atanh(a / 21),
    "root": lambda a: (a + 20) ** 1.5,
}  # fmt: skip
BINARY = {
    "fmin": ca.fmin, "fmax": ca.fmax, "hypot": ca.hypot, "product": lambda a, b: a * b,
    "difference": lambda a, b: a - b, "quotient": lambda a, b: a / b,
    "less": lambda a, b: a < b, "at most": lambda a, b: a <= b, "equal": lambda a, b: a == b,
    "unequal": lambda a, b: a != b, "and": ca.logic_and, "or": ca.logic_or,
    "if": lambda a, b: ca.if_else(a > 0, b, 0), "fmod": ca.fmod, "atan2": ca.atan2,
}  # fmt: skip

X = ca.SX.sym("x")
PULSE = 8 / (1 + ((X - 0.3) / 0.01) ** 2)
EXPRESSIONS = {
    "pulse": PULSE,
    "bell": ca.exp(-((X / 0.1) ** 2)),
    "waves": ca.sin(7 * X) - ca.cos(3 * X) ** 3,
    "ratio": ca.tanh(X) / (2 + ca.sin(X)),
    "chosen": ca.if_else(X > 0.2, ca.fabs(X), ca.fmax(X, -0.5)),
    "powers": X**2 + X**3 - ca.sqrt(X + 2) + (X + 2) ** 1.5 + (X + 2) ** X,
    "others": ca.atan(X) + ca.sinh(X) * ca.cosh(X) + ca.hypot(X, 0.1) + ca.floor(3 * X),
    "more": ca.log(X + 2) + ca.asinh(X) + ca.erf(X) + ca.log1p(X + 1.5) + ca.expm1(X) + ca.tan(X),
}

numbers = st.floats(-20.0, 20.0) | st.integers(-5, 5).map(float)
intervals = st.tuples(numbers, numbers).map(sorted)
part = st.floats(0.0, 1.0)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("tan")
@pytest.mark.parametrize("name", UNARY)
@settings(derandomize=True, deadline=None)
@given(a=intervals, where=part)
def test_what_a_function_comes_to_lies_within_its_bounds(name, a, where):
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [UNARY[name](x)])
    at = min(max(a[0] + where * (a[1] - a[0]), a[0]), a[1])
    value = float(function(at))
    assume(np.isfinite(value))
    ((low, high),) = bounds(function, [[tuple(a)]])[0]
    assert low <= value <= high


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("or", "product", "difference", "and")
@pytest.mark.parametrize("name", BINARY)
@settings(derandomize=True, deadline=None)
@given(a=intervals, b=intervals, where=part, there=part)
def test_what_an_operation_on_two_comes_to_lies_within_its_bounds(name, a, b, where, there):
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    function = ca.Function("f", [x, y], [ca.densify(BINARY[name](x, y))])
    first = min(max(a[0] + where * (a[1] - a[0]), a[0]), a[1])
    second = min(max(b[0] + there * (b[1] - b[0]), b[0]), b[1])
    value = float(function(first, second))
    assume(np.isfinite(value))
    ((low, high),) = bounds(function, [[tuple(a)], [tuple(b)]])[0]
    assert low <= value <= high


@pytest.mark.default_rows(4)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_all_values_of_an_expression_lie_within_its_bounds(name):
    function = ca.Function("f", [X], [EXPRESSIONS[name]])
    edges = np.random.default_rng(1).uniform(-1.0, 1.0, (60, 2))
    for low, high in np.sort(edges, axis=1).tolist():
        ((least, most),) = bounds(function, [[(low, high)]])[0]
        values = np.array(function(np.linspace(low, high, 301)[None, :])).ravel()
        assert np.isfinite([least, most]).all()
        assert least <= values.min() <= values.max() <= most


def test_bounds_are_narrow_where_the_input_is():
    """A pulse far off is all but constant; one within shows its whole height."""
    function = ca.Function("f", [X], [PULSE])
    ((low, high),) = bounds(function, [[(0.8, 0.9)]])[0]
    assert high - low < 1e-2
    ((low, high),) = bounds(function, [[(0.2, 0.5)]])[0]
    assert high == pytest.approx(8.0)


def test_a_pole_leaves_all_numbers():
    assert bounds(ca.Function("f", [X], [1 / X]), [[(-1.0, 1.0)]]) == [[ANYTHING]]


def first_zero(guard, start, end):
    return TimeGuards(TIME, NOTHING, guard).first_zero(start, end, np.empty(0))


@pytest.mark.parametrize(
    ("guard", "exact"),
    [
        (ca.fmin(ca.fmax(TIME - 2, 0), 1) - 0.5, 2.5),
        (ca.fmax(TIME - 2, 0) - 1, 3.0),
        (TIME**1.5 - 3, 3 ** (2 / 3)),
        (ca.hypot(TIME, 1) - 3, 8**0.5),
        (ca.acos(ca.cos(TIME)) - 3, 3.0),
        (ca.fabs(TIME - 3) - 1e-9, 3 - 1e-9),
        (0.5 - ca.fmax(0, 1 - 1e6 * ca.fabs(TIME - 7)), 7 - 5e-7),
        ((TIME - 4) ** 2 - 1e-12, 4 - 1e-6),
        (ca.if_else(TIME > 5, 1, -1) * ca.exp(TIME), 5.0),
    ],
)
def test_the_first_zero_of_a_guard_of_time_is_found_however_narrow(guard, exact):
    # What the guard is off by rounding, over its slope there: 2e-16 to 2e-6.
    assert first_zero(guard, 0.0, 10.0) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    "guard",
    [
        1 - ca.cos(TIME),
        ca.fmax(TIME - 20, 0),
        ca.fmax(TIME - 3, 0) * (TIME - 3),
        (TIME - 4) ** 2,
        ca.sin(np.pi * ca.fmin(TIME, 0.0)),
        ca.fabs(TIME - 3) + 1e-9,
    ],
)
def test_a_guard_that_touches_zero_or_stays_there_has_not_passed(guard):
    assert first_zero(guard, 0.5, 10.0) == 10.0


def test_zeros_are_found_backwards_as_well():
    assert first_zero(ca.fmax(TIME - 2, 0) - 1, 10.0, 0.0) == pytest.approx(3.0, rel=1e-15)
