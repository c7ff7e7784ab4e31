"""The kernel's series, held against those of mpmath with 50 digits."""

import casadi as ca
import mpmath
import numpy as np
import pytest

from daesolve.core.expressions.program import program
from daesolve.core.expressions.series import EXPANDABLE, missing_in_series
from daesolve.core.expressions.translation import OPERATION_NAMES
from daesolve.core.solvers.taylor_kernel.instructions import instructions
from daesolve.core.solvers.taylor_kernel.lane_stepping import LaneStepper
from daesolve.errors import UnsupportedError

EPS = float(np.finfo(float).eps)
START, PARAMETER = 0.3, 1.7


def argument(t):
    """Between 0.2 and 0.8 around the start, with a series that does not end soon."""
    return 0.5 + 0.4 * t - 0.9 * t * t + 0.1 * t * t * t


def hypot(x, y):
    return mpmath.sqrt(x * x + y * y)


# The function, its value by mpmath, and the operation of CasADi that it is there for.
FUNCTIONS = {
    "add": (lambda u, t, p: u + t, lambda u, t, p: u + t),
    "sub": (lambda u, t, p: u - t * u, lambda u, t, p: u - t * u),
    "neg": (lambda u, t, p: ca.exp(-u), lambda u, t, p: mpmath.exp(-u)),
    "mul": (lambda u, t, p: u * t, lambda u, t, p: u * t),
    "sq": (lambda u, t, p: u**2, lambda u, t, p: u * u),
    "twice": (lambda u, t, p: ca.sin(u + u), lambda u, t, p: mpmath.sin(2 * u)),
    "div": (lambda u, t, p: t / u, lambda u, t, p: t / u),
    "inv": (lambda u, t, p: 1 / u, lambda u, t, p: 1 / u),
    "sqrt": (lambda u, t, p: ca.sqrt(u), lambda u, t, p: mpmath.sqrt(u)),
    "exp": (lambda u, t, p: ca.exp(u), lambda u, t, p: mpmath.exp(u)),
    "expm1": (lambda u, t, p: ca.expm1(u), lambda u, t, p: mpmath.expm1(u)),
    "log": (lambda u, t, p: ca.log(u), lambda u, t, p: mpmath.log(u)),
    "log1p": (lambda u, t, p: ca.log1p(u), lambda u, t, p: mpmath.log1p(u)),
    "sin": (lambda u, t, p: ca.sin(u), lambda u, t, p: mpmath.sin(u)),
    "cos": (lambda u, t, p: ca.cos(u), lambda u, t, p: mpmath.cos(u)),
    "tan": (lambda u, t, p: ca.tan(u), lambda u, t, p: mpmath.tan(u)),
    "asin": (lambda u, t, p: ca.asin(u), lambda u, t, p: mpmath.asin(u)),
    "acos": (lambda u, t, p: ca.acos(u), lambda u, t, p: mpmath.acos(u)),
    "atan": (lambda u, t, p: ca.atan(u), lambda u, t, p: mpmath.atan(u)),
    "sinh": (lambda u, t, p: ca.sinh(u), lambda u, t, p: mpmath.sinh(u)),
    "cosh": (lambda u, t, p: ca.cosh(u), lambda u, t, p: mpmath.cosh(u)),
    "tanh": (lambda u, t, p: ca.tanh(u), lambda u, t, p: mpmath.tanh(u)),
    "asinh": (lambda u, t, p: ca.asinh(u), lambda u, t, p: mpmath.asinh(u)),
    "acosh": (lambda u, t, p: ca.acosh(1 + u), lambda u, t, p: mpmath.acosh(1 + u)),
    "atanh": (lambda u, t, p: ca.atanh(u), lambda u, t, p: mpmath.atanh(u)),
    "erf": (lambda u, t, p: ca.erf(u), lambda u, t, p: mpmath.erf(u)),
    "atan2": (lambda u, t, p: ca.atan2(u, t - 1), lambda u, t, p: mpmath.atan2(u, t - 1)),
    "hypot": (lambda u, t, p: ca.hypot(u, t), lambda u, t, p: hypot(u, t)),
    "pow": (lambda u, t, p: u**t, lambda u, t, p: u**t),
    "constpow": (lambda u, t, p: u**2.3, lambda u, t, p: u ** mpmath.mpf(2.3)),
    "if_else_zero": (
        lambda u, t, p: ca.if_else(p > 1, ca.sin(u), ca.cos(u)),
        lambda u, t, p: mpmath.sin(u),
    ),
    "number minus": (lambda u, t, p: p - ca.sin(u), lambda u, t, p: p - mpmath.sin(u)),
    "minus number": (lambda u, t, p: ca.sin(u) - p, lambda u, t, p: mpmath.sin(u) - p),
    "number over": (lambda u, t, p: p / u, lambda u, t, p: p / u),
    "over number": (lambda u, t, p: ca.sin(u) / p, lambda u, t, p: mpmath.sin(u) / p),
    "power of a parameter": (lambda u, t, p: u**p, lambda u, t, p: u**p),
    "parameter to a power": (lambda u, t, p: p**u, lambda u, t, p: p**u),
    "number to a power": (lambda u, t, p: 2.5**u, lambda u, t, p: mpmath.mpf(2.5) ** u),
    "angle to a number": (lambda u, t, p: ca.atan2(u, p), lambda u, t, p: mpmath.atan2(u, p)),
    "angle of a number": (lambda u, t, p: ca.atan2(p, u), lambda u, t, p: mpmath.atan2(p, u)),
    "hypot of a number": (lambda u, t, p: ca.hypot(p, u), lambda u, t, p: hypot(p, u)),
    "whole power": (lambda u, t, p: u**7, lambda u, t, p: u**7),
    "negative power": (lambda u, t, p: u**-3, lambda u, t, p: u**-3),
    "sum of products": (
        lambda u, t, p: u * t - ca.sin(u) * ca.cos(t) + p * u - 3 * t + u - ca.exp(t),
        lambda u, t, p: u * t - mpmath.sin(u) * mpmath.cos(t) + p * u - 3 * t + u - mpmath.exp(t),
    ),
    "of itself": (
        lambda u, t, p: ca.sin(ca.exp(ca.sin(u)) / (1 + u * u)),
        lambda u, t, p: mpmath.sin(mpmath.exp(mpmath.sin(u)) / (1 + u * u)),
    ),
    "of numbers alone": (lambda u, t, p: ca.sin(p) + 2, lambda u, t, p: mpmath.sin(p) + 2),
}


def function_of_time(make):
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x"), ca.SX.sym("p")
    return ca.Function("f", [t, x, p], [ca.densify(ca.SX(make(argument(t), t, p)))])


def coefficients(function, lanes):
    stepper = LaneStepper(instructions(function), EPS, lanes)
    for lane in range(lanes):
        stepper.begin(lane, np.zeros(1), np.array([PARAMETER]), START)
    stepper.end[:] = START + 1e-3
    stretch = stepper.steps(1)
    return [stretch.coefficients[lane, 0, 0] for lane in range(lanes)]


@pytest.mark.long_rows("add-4")
@pytest.mark.default_rows(7)
@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_coefficients_are_those_of_the_function(name, lanes):
    make, by_hand = FUNCTIONS[name]
    with mpmath.workdps(50):
        p, start = mpmath.mpf(PARAMETER), mpmath.mpf(START)
        tenth = [mpmath.mpf(c) for c in (0.5, 0.4, -0.9, 0.1)]

        def rate(t):
            return by_hand(tenth[0] + t * (tenth[1] + t * (tenth[2] + t * tenth[3])), t, p)

        expected = [float(c) / (k + 1) for k, c in enumerate(mpmath.taylor(rate, start, 19))]
    for found in coefficients(function_of_time(make), lanes):
        # Errors of a coefficient come from those before, over a radius of convergence: the
        # largest coefficient at that radius is the measure.
        radii = [(1.0 / abs(c)) ** (1.0 / k) for k, c in enumerate(expected[1:], 2) if c]
        radius = min(radii, default=1.0)
        scale = radius ** np.arange(1.0, 21.0)
        errors = np.abs(found[1:] - expected) * scale
        assert np.max(errors) <= 200 * EPS * max(1.0, np.max(np.abs(expected) * scale))


def test_every_operation_that_has_a_series_is_among_them():
    found = {
        operation
        for make, _ in FUNCTIONS.values()
        for operation in program(function_of_time(make)).operations
    }
    # Assignments are gone when a program has been read.
    missing = {OPERATION_NAMES[operation] for operation in EXPANDABLE - found} - {"assign"}
    assert missing <= {"constpow", "pow", "twice"}


def test_what_has_no_series_is_refused_by_name():
    function = function_of_time(lambda u, t, p: ca.fabs(u))
    assert missing_in_series(function) == ("fabs",)
    with pytest.raises(UnsupportedError, match="fabs"):
        instructions(function)


def test_a_branch_that_the_motion_decides_is_refused():
    function = function_of_time(lambda u, t, p: ca.if_else(u > 1, u, 2 * u))
    assert "if_else_zero" in missing_in_series(function)
    with pytest.raises(UnsupportedError):
        instructions(function)
