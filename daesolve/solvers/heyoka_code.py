"""CasADi functions in heyoka's expressions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.solvers.base import Evaluator
from daesolve.translation import (
    Table,
    constants_function,
    constants_of,
    integer_power,
    missing_operations,
    program,
    translate,
)

try:
    import heyoka
except ImportError:  # no wheel for this machine
    heyoka = None

hy: Any = heyoka
if hy is not None:
    # Where it does not isolate a zero of a guard it says so; the state is tested besides.
    hy.set_logger_level_error()

SUCCESS, LIMIT, NOT_FINITE = (
    int(getattr(hy.taylor_outcome, name)) if hy is not None else code
    for code, name in enumerate(("success", "time_limit", "err_nf_state"))
)
"""How a step ends; any other end is that of an event, -1 - its index."""

ENTIRE = frozenset(
    {ca.OP_ASSIGN, ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE,
     ca.OP_SIN, ca.OP_COS, ca.OP_EXP, ca.OP_SINH, ca.OP_COSH}
)  # fmt: skip
"""Operations whose results have a series that converges wherever that of the states does."""


def missing_in_series(function: ca.Function) -> tuple[str, ...]:
    """Name the operations of (t, x, p) that have no series; those on p alone need none."""
    return missing_operations(function, heyoka_table(), constants_of(function, 2))


def is_entire(function: ca.Function) -> bool:
    """Tell whether a function of (t, x, p) has a series wherever the states have one.

    Others, such as 1/x, may have a pole within a step that the states do not know of.
    """
    known: list[bool] = []
    for operation, operands in program(function).steps:
        if operation in (ca.OP_CONST, ca.OP_INPUT):
            known.append(operation == ca.OP_CONST or operands[0] == 2)
            continue
        known.append(all(known[index] for index in operands))
        over_a_number = operation == ca.OP_DIV and known[operands[1]]
        if not (known[-1] or operation in ENTIRE or over_a_number):
            return False
    return True


def heyoka_table() -> Table:
    """Every operation that has a Taylor series, in heyoka's expressions."""
    return {
        ca.OP_ASSIGN: lambda a: a,
        ca.OP_ADD: lambda a, b: a + b,
        ca.OP_SUB: lambda a, b: a - b,
        ca.OP_MUL: lambda a, b: a * b,
        ca.OP_DIV: lambda a, b: a / b,
        ca.OP_NEG: lambda a: -a,
        ca.OP_INV: lambda a: 1.0 / a,
        ca.OP_SQ: lambda a: a * a,
        ca.OP_TWICE: lambda a: 2.0 * a,
        ca.OP_SQRT: lambda a: hy.sqrt(a),
        ca.OP_EXP: lambda a: hy.exp(a),
        ca.OP_LOG: lambda a: hy.log(a),
        ca.OP_POW: _power,
        ca.OP_CONSTPOW: _power,
        ca.OP_SIN: lambda a: hy.sin(a),
        ca.OP_COS: lambda a: hy.cos(a),
        ca.OP_TAN: lambda a: hy.tan(a),
        ca.OP_ASIN: lambda a: hy.asin(a),
        ca.OP_ACOS: lambda a: hy.acos(a),
        ca.OP_ATAN: lambda a: hy.atan(a),
        ca.OP_ATAN2: lambda a, b: hy.atan2(a, b),
        ca.OP_SINH: lambda a: hy.sinh(a),
        ca.OP_COSH: lambda a: hy.cosh(a),
        ca.OP_TANH: lambda a: hy.tanh(a),
        ca.OP_ASINH: lambda a: hy.asinh(a),
        ca.OP_ACOSH: lambda a: hy.acosh(a),
        ca.OP_ATANH: lambda a: hy.atanh(a),
        ca.OP_ERF: lambda a: hy.erf(a),
        ca.OP_LOG1P: lambda a: hy.log(1.0 + a),
        ca.OP_EXPM1: lambda a: hy.exp(a) - 1.0,
        ca.OP_HYPOT: lambda a, b: hy.sqrt(a * a + b * b),
    }


def _power(base: Any, exponent: Any) -> Any:
    """Raise to a power; whole ones by products, since heyoka's pow(x, 3) is NaN at x = 0."""
    if isinstance(exponent, float) and exponent.is_integer() and abs(exponent) <= 64:
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


def translated(function: ca.Function, offset: int = 0) -> Translated:
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
        function, [[hy.time], variables, parameters], heyoka_table(), engine="taylor", given=given
    )
    expressions = [
        entry if isinstance(entry, hy.expression) else hy.expression(float(entry))
        for entry in outputs[0]
    ]
    return Translated(function, variables, expressions, hoisted)
