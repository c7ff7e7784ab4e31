"""Balls of any precision from python-flint: what the compiled arithmetic cannot do itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions import operations
from daesolve.core.expressions.translation import Table, integer_power, translate
from daesolve.core.solvers.heyoka_code import ARITHMETIC
from daesolve.errors import MissingBackendError

PRECISION = 160
"""Bits: balls that come back from here lose nothing of their 106."""
UP = 1.0 + 2.0**-45


@cache
def flint() -> Any:
    """Return python-flint.

    Raises
    ------
    MissingBackendError
        It is not installed.
    """
    try:
        import flint as module
    except ImportError:
        raise MissingBackendError(
            "certified runs need python-flint: pip install 'daesolve[certify]'"
        ) from None
    module.ctx.prec = PRECISION
    return module


def exact(value: float) -> Any:
    """Return a double as a ball without radius."""
    return flint().arb(float(value))


def to_exact(ball: Sequence[float] | np.ndarray) -> Any:
    """Return a ball (h, l, r) as one of python-flint."""
    high, low, radius = (float(part) for part in ball)
    return exact(high) + exact(low) + flint().arb(0, radius)


def span_between(low: float, high: float) -> Any:
    """Return a ball that contains an interval."""
    return exact(low).union(exact(high))


def from_exact(value: Any) -> tuple[float, float, float]:
    """Return a ball (h, l, r) that contains one of python-flint."""
    if not value.is_finite():
        return math.nan, math.nan, math.inf
    high = float(value.mid())
    rest = value - exact(high)
    low = float(rest.mid())
    return high, low, float((rest - exact(low)).abs_upper()) * UP


def weighted(matrix: np.ndarray, values: Sequence[Any]) -> list[Any]:
    """Return the product of a matrix of doubles and balls."""
    return [
        sum((exact(a) * v for a, v in zip(row, values, strict=True)), exact(0.0))
        for row in matrix.tolist()
    ]


def evaluate(function: ca.Function, *arguments: Sequence[Any]) -> list[list[Any]]:
    """Evaluate a function of dense columns in balls; return a list for each output.

    Raises
    ------
    UnsupportedError
        The function has an operation without a rule; the message names it.
    """
    return translate(function, arguments, table(), exact, "a certified run")


def function_value(code: int, x: Any, y: Any) -> Any:
    """Return an elementary function, one of `operations`, of balls."""
    if code == operations.NOTHING:
        return exact(0.0)
    rule = {operations.OF_CASADI[kind]: rule for kind, rule in table().items()}[code]
    return rule(x, y) if code in TWO else rule(x)


TWO = {operations.ATAN2, operations.POWER}
"""The functions of two arguments."""


def _power(a: Any, b: Any) -> Any:
    if b.is_integer() and abs(float(b)) <= 64:
        return integer_power(a, int(float(b)))
    return a**b


def _decided(*, holds: bool, fails: bool) -> Any:
    """Return whether something holds, which balls may leave open."""
    return exact(float(holds)) if holds or fails else flint().arb("nan")


def _if_else_zero(a: Any, b: Any) -> Any:
    if a == 0:
        return exact(0.0)
    return b if a != 0 else flint().arb("nan")


def _copysign(a: Any, b: Any) -> Any:
    return abs(a) if b >= 0 else -abs(a) if b < 0 else flint().arb("nan")


def _angle(y: Any, x: Any) -> Any:
    """Return atan2, which has no series where it jumps."""
    if y.contains(0) and not x > 0:
        return flint().arb("nan")
    return flint().arb.atan2(y, x)


def _whole(a: Any) -> Any:
    """Return a whole number; none where it is not decided."""
    return a if a.is_exact() else flint().arb("nan")


def _sign(a: Any) -> Any:
    if a > 0 or a < 0 or a == 0:
        return exact(1.0 if a > 0 else -1.0 if a < 0 else 0.0)
    return flint().arb("nan")


def _fmod(a: Any, b: Any) -> Any:
    quotient = a / b
    return a - b * _whole(quotient.floor() if quotient >= 0 else quotient.ceil())


def _less(a: Any, b: Any) -> Any:
    return _decided(holds=a < b, fails=a >= b)


def _at_most(a: Any, b: Any) -> Any:
    return _decided(holds=a <= b, fails=a > b)


def _equal(a: Any, b: Any) -> Any:
    return _decided(holds=a == b, fails=a != b)


def _unequal(a: Any, b: Any) -> Any:
    return _decided(holds=a != b, fails=a == b)


def _not(a: Any) -> Any:
    return _decided(holds=a == 0, fails=a != 0)


def _and(a: Any, b: Any) -> Any:
    return _decided(holds=a != 0 and b != 0, fails=a == 0 or b == 0)


def _or(a: Any, b: Any) -> Any:
    return _decided(holds=a != 0 or b != 0, fails=a == 0 and b == 0)


def _square(a: Any) -> Any:
    return a * a


def _hypot(a: Any, b: Any) -> Any:
    return (a * a + b * b).sqrt()


def _floor(a: Any) -> Any:
    return _whole(a.floor())


def _ceiling(a: Any) -> Any:
    return _whole(a.ceil())


OWN = (
    "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin",
    "acos", "atan", "asinh", "acosh", "atanh", "erf",
)  # fmt: skip
"""The functions that python-flint calls as CasADi does."""


@cache
def table() -> Table:
    """Return the rule of each operation."""
    arb = flint().arb
    own = {getattr(ca, f"OP_{name.upper()}"): getattr(arb, name) for name in OWN}
    return (
        ARITHMETIC
        | own
        | {
            ca.OP_SQ: _square,
            ca.OP_ATAN2: _angle,
            ca.OP_POW: _power,
            ca.OP_CONSTPOW: _power,
            ca.OP_HYPOT: _hypot,
            ca.OP_LT: _less,
            ca.OP_LE: _at_most,
            ca.OP_EQ: _equal,
            ca.OP_NE: _unequal,
            ca.OP_NOT: _not,
            ca.OP_AND: _and,
            ca.OP_OR: _or,
            ca.OP_IF_ELSE_ZERO: _if_else_zero,
            ca.OP_FABS: abs,
            ca.OP_COPYSIGN: _copysign,
            ca.OP_FMIN: arb.min,
            ca.OP_FMAX: arb.max,
            ca.OP_FLOOR: _floor,
            ca.OP_CEIL: _ceiling,
            ca.OP_FMOD: _fmod,
            ca.OP_SIGN: _sign,
        }
    )
