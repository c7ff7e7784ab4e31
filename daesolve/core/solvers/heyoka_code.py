"""CasADi functions in heyoka's expressions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.series import EXPONENTIAL, HIGHEST_PRODUCT
from daesolve.core.expressions.translation import (
    Table,
    constants_function,
    constants_of,
    integer_power,
    translate,
)

try:
    import heyoka
except ImportError:  # no wheel for this machine
    heyoka = None

hy: Any = heyoka
if hy is not None:
    # If it does not isolate a zero of a guard it says so; the state is tested as well.
    hy.set_logger_level_error()


UNARY: dict[int, Callable[[Any], Any]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_NEG: operator.neg,
    ca.OP_INV: lambda a: 1.0 / a,
    ca.OP_SQ: lambda a: a * a,
    ca.OP_TWICE: lambda a: 2.0 * a,
}
ARITHMETIC: dict[int, Callable[..., Any]] = {
    **UNARY,
    ca.OP_ADD: operator.add,
    ca.OP_SUB: operator.sub,
    ca.OP_MUL: operator.mul,
    ca.OP_DIV: operator.truediv,
}
"""What any numbers can do that have Python's operators."""


FARTHEST = 100.0
"""Where bounded exponentials end: their squares, and those of their series, are finite."""


def _bounded(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Hold what grows like an exponential at the value that it has where its argument is large."""

    def held(a: Any) -> Any:
        a = hy.expression(a)
        most, least = hy.expression(FARTHEST), hy.expression(-FARTHEST)
        return function(hy.select(hy.gt(a, most), most, hy.select(hy.lt(a, least), least, a)))

    return held


def bounded_table() -> Table:
    """`heyoka_table` with exponentials that do not overflow, and are wrong where they are large.

    1/(1 + exp(u)) and 1/cosh(u)^2 are right to rounding with them. Where something is not, it
    differs from the equations, against which each step is held.
    """
    table = dict(heyoka_table())
    for operation in EXPONENTIAL:
        table[operation] = _bounded(table[operation])
    return table


NAMES = (
    "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "erf",
)  # fmt: skip
"""Functions that heyoka has under CasADi's names."""


def heyoka_table() -> Table:
    """Every operation that has a Taylor series, in heyoka's expressions."""
    unary: dict[int, Callable[[Any], Any]] = {
        ca.OP_LOG1P: lambda a: hy.log(1.0 + a),
        ca.OP_EXPM1: lambda a: hy.exp(a) - 1.0,
    }
    binary: dict[int, Callable[[Any, Any], Any]] = {
        ca.OP_POW: _power,
        ca.OP_CONSTPOW: _power,
        ca.OP_HYPOT: lambda a, b: hy.sqrt(a * a + b * b),
        # If a branch is not taken, its series need not be finite.
        ca.OP_IF_ELSE_ZERO: lambda c, branch: hy.select(c, branch, hy.expression(0.0)),
    }
    named = {int(getattr(ca, f"OP_{name.upper()}")): getattr(hy, name) for name in NAMES}
    return {**ARITHMETIC, **named, **unary, **binary}


def _power(base: Any, exponent: Any) -> Any:
    """Raise to a power; whole ones by products, since heyoka's pow(x, 3) is NaN at x = 0."""
    if isinstance(exponent, float) and exponent.is_integer() and abs(exponent) <= HIGHEST_PRODUCT:
        return integer_power(base, int(exponent))
    return hy.expression(base) ** exponent


@dataclass(frozen=True)
class Translated:
    """A function in heyoka's expressions; `hoisted` are values that become parameters."""

    function: ca.Function
    variables: list[Any]
    expressions: list[Any]
    hoisted: tuple[int, ...]

    def parameters(self, p: np.ndarray) -> np.ndarray:
        """Evaluate the hoisted values."""
        return self._constants(p)[0] if self.hoisted else np.empty(0)

    @cached_property
    def _constants(self) -> Evaluator:
        return Evaluator(constants_function(self.function, 2))


def translated(
    function: ca.Function, offset: int = 0, table: Callable[[], Table] = heyoka_table
) -> Translated:
    """Translate (t, x, p); what depends on p alone becomes a further parameter.

    heyoka would carry it along as a series of order 20, and multiply by all of it. The offset is
    the number of further parameters that other functions have taken.
    """
    names = [f"x{index}" for index in range(function.nnz_in(1))]
    first = function.nnz_in(2) + offset
    variables = hy.make_vars(*names) if len(names) > 1 else [hy.make_vars(*names)]
    parameters = [hy.par[index] for index in range(function.nnz_in(2))]
    hoisted = constants_of(function, 2)
    given = {number: hy.par[first + place] for place, number in enumerate(hoisted)}
    outputs = translate(
        function, [[hy.time], variables, parameters], table(), engine="taylor", given=given
    )
    expressions = [
        entry if isinstance(entry, hy.expression) else hy.expression(float(entry))
        for entry in outputs[0]
    ]
    return Translated(function, variables, expressions, hoisted)
