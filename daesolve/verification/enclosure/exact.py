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


def _decided(a: Any, b: Any, holds: bool, fails: bool) -> Any:
    if not (holds or fails):
        return flint().arb("nan")
    return exact(1.0 if holds else 0.0)


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


@cache
def table() -> Table:
    """Return the rule of each operation."""
    arb = flint().arb
    return {
        ca.OP_ASSIGN: lambda a: a,
        ca.OP_ADD: lambda a, b: a + b,
        ca.OP_SUB: lambda a, b: a - b,
        ca.OP_MUL: lambda a, b: a * b,
        ca.OP_DIV: lambda a, b: a / b,
        ca.OP_NEG: lambda a: -a,
        ca.OP_SQ: lambda a: a * a,
        ca.OP_TWICE: lambda a: a + a,
        ca.OP_INV: lambda a: 1 / a,
        ca.OP_SQRT: arb.sqrt,
        ca.OP_EXP: arb.exp,
        ca.OP_EXPM1: arb.expm1,
        ca.OP_LOG: arb.log,
        ca.OP_LOG1P: arb.log1p,
        ca.OP_SIN: arb.sin,
        ca.OP_COS: arb.cos,
        ca.OP_TAN: arb.tan,
        ca.OP_SINH: arb.sinh,
        ca.OP_COSH: arb.cosh,
        ca.OP_TANH: arb.tanh,
        ca.OP_ASIN: arb.asin,
        ca.OP_ACOS: arb.acos,
        ca.OP_ATAN: arb.atan,
        ca.OP_ASINH: arb.asinh,
        ca.OP_ACOSH: arb.acosh,
        ca.OP_ATANH: arb.atanh,
        ca.OP_ERF: arb.erf,
        ca.OP_ATAN2: _angle,
        ca.OP_POW: _power,
        ca.OP_CONSTPOW: _power,
        ca.OP_HYPOT: lambda a, b: (a * a + b * b).sqrt(),
        ca.OP_LT: lambda a, b: _decided(a, b, a < b, a >= b),
        ca.OP_LE: lambda a, b: _decided(a, b, a <= b, a > b),
        ca.OP_EQ: lambda a, b: _decided(a, b, a == b, a != b),
        ca.OP_NE: lambda a, b: _decided(a, b, a != b, a == b),
        ca.OP_NOT: lambda a: _decided(a, a, a == 0, a != 0),
        ca.OP_AND: lambda a, b: _decided(a, b, a != 0 and b != 0, a == 0 or b == 0),
        ca.OP_OR: lambda a, b: _decided(a, b, a != 0 or b != 0, a == 0 and b == 0),
        ca.OP_IF_ELSE_ZERO: _if_else_zero,
        ca.OP_FABS: abs,
        ca.OP_COPYSIGN: _copysign,
        ca.OP_FMIN: lambda a, b: a.min(b),
        ca.OP_FMAX: lambda a, b: a.max(b),
        ca.OP_FLOOR: lambda a: _whole(a.floor()),
        ca.OP_CEIL: lambda a: _whole(a.ceil()),
        ca.OP_FMOD: _fmod,
        ca.OP_SIGN: _sign,
    }  # fmt: skip
