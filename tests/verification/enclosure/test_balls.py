"""Arithmetic of balls against numbers of 400 bits."""

import flint
import numpy as np
import pytest

from daesolve.core.expressions.translation import function_of
from daesolve.core.solvers.taylor_kernel.instructions import instructions
from daesolve.verification.enclosure.exact import exact, from_exact, to_exact
from daesolve.verification.enclosure.field import BallField, PoleError
from daesolve.verification.enclosure.steps import apart

LEAST_TOLD = 2.0**-107
"""The largest rounding among many results is at least this part of one: a radius that leaves it out
would be found."""


def field_of(expression, arguments):
    """Return a field whose followed value is an expression of the states, which rest."""
    import casadi as ca

    t, p = ca.SX.sym("t"), ca.SX.sym("p", 0)
    rates = ca.vertcat(ca.SX.zeros(arguments.numel()), expression)
    function = function_of("f", [t, arguments, p], [ca.densify(rates)], (["t", "x", "p"], ["r"]))
    return BallField(instructions(function), [])


def value(field, balls):
    """Return the ball of order zero of the followed value."""
    return field.followed(field.series(np.zeros(3), balls, 0))[0, 0]


def random_balls(generator, count, *, wide):
    """Return balls whose centres use all bits, of sizes from 1e-6 to 1e6."""
    high = generator.uniform(1.0, 2.0, count) * 10.0 ** generator.integers(-6, 7, count)
    high *= generator.choice([-1.0, 1.0], count)
    low = high * generator.uniform(-1.0, 1.0, count) * 2.0**-54
    radius = np.abs(high) * wide * generator.uniform(0.0, 1.0, count)
    return np.column_stack([high, low, radius])


OPERATIONS = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a b": lambda a, b: a * b,
    "a / b": lambda a, b: a / b,
    "a^2": lambda a, b: a * a,
    "root": lambda a, b: (a * a + b * b).sqrt() if hasattr(a, "sqrt") else (a**2 + b**2) ** 0.5,
    "sine": lambda a, b: (a * b).sin() if hasattr(a, "sin") else np.sin(a * b),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_balls_contain_what_400_bits_give_and_are_hardly_larger(name):
    import casadi as ca

    operation = OPERATIONS[name]
    x = ca.SX.sym("x", 2)
    expression = (
        ca.sin(x[0] * x[1])
        if name == "sine"
        else (ca.sqrt(x[0] ** 2 + x[1] ** 2) if name == "root" else operation(x[0], x[1]))
    )
    field, generator = field_of(expression, x), np.random.default_rng(5)
    largest = 0.0
    for _ in range(300):
        balls = random_balls(generator, 2, wide=0.0)
        balls[1] = balls[0] * (1.0 + 1e-9) if generator.uniform() < 0.2 else balls[1]
        found = value(field, balls)
        with flint.ctx.workprec(400):
            exactly = operation(*(to_exact(ball) for ball in balls))
            off = float(abs(exactly - exact(found[0]) - exact(found[1])).abs_upper())
            size = float(abs(exactly).abs_upper())
        assert off <= found[2]
        assert found[2] <= max(2.0**-92 * size, 1e-270) or name == "sine"
        largest = max(largest, off / size)
    # Rounding is there to be bounded: a radius without it would have failed above.
    assert name == "sine" or largest > LEAST_TOLD


@pytest.mark.parametrize("name", ["a b", "a / b", "root"])
def test_wide_balls_contain_the_results_of_their_members(name):
    import casadi as ca

    operation = OPERATIONS[name]
    x = ca.SX.sym("x", 2)
    expression = ca.sqrt(x[0] ** 2 + x[1] ** 2) if name == "root" else operation(x[0], x[1])
    field, generator = field_of(expression, x), np.random.default_rng(6)
    for _ in range(100):
        balls = random_balls(generator, 2, wide=1e-3)
        found = to_exact(value(field, balls))
        for corner in generator.choice([-1.0, 1.0], (4, 2)):
            members = [
                to_exact((b[0], b[1], 0.0)) + exact(c * b[2])
                for b, c in zip(balls, corner, strict=True)
            ]
            assert found.contains(operation(*members))


def test_a_divisor_that_may_be_zero_is_a_pole():
    import casadi as ca

    x = ca.SX.sym("x", 2)
    field = field_of(x[0] / x[1], x)
    with pytest.raises(PoleError):
        value(field, np.array([[1.0, 0.0, 0.0], [1e-9, 0.0, 2e-9]]))


def test_differences_of_times_are_exact():
    generator = np.random.default_rng(8)
    for _ in range(200):
        earlier = generator.uniform(-1.0, 1.0) * 10.0 ** generator.integers(-3, 7)
        later = earlier + generator.uniform(0.0, 1.0) * 10.0 ** generator.integers(-9, 3)
        high, low, radius = apart(later, earlier)
        assert radius == 0.0
        assert exact(high) + exact(low) == exact(later) - exact(earlier)


def test_balls_come_back_from_python_flint_with_all_they_contain():
    third = flint.arb(1) / 3
    ball = from_exact(third)
    assert to_exact(ball).contains(third)
    assert ball[2] < 1e-31
