"""The sizes of a value's terms, a part of which remains as rounding even if they cancel.

    |a + b| -> |a| + |b|,    |a b| -> |a| |b|,    |f(a)| -> |f(a)| + |f'(a)| |a|

A value smaller than a few units of rounding of this size may be zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.translation import NUMPY_TABLE, Table, translate

ROUNDING = 8.0 * float(np.finfo(float).eps)
"""The rounding of a value relative to the size of its terms: several operations of half a unit
each."""


@dataclass(frozen=True)
class _Sized:
    """A value and the size of its terms."""

    value: float
    size: float


def _number(value: float) -> _Sized:
    return _Sized(float(value), abs(float(value)))


def _sum(sign: float) -> Callable[[_Sized, _Sized], _Sized]:
    return lambda a, b: _Sized(a.value + sign * b.value, a.size + b.size)


def _function(operation: int) -> Callable[..., _Sized]:
    """Return an operation whose result contains only its own rounding."""
    evaluate = NUMPY_TABLE[operation]
    return lambda *operands: _number(float(evaluate(*[np.float64(a.value) for a in operands])))


def _sloped(operation: int, slope: Callable[[float], float]) -> Callable[[_Sized], _Sized]:
    """Return an operation that passes on the rounding of its operand."""
    evaluate = NUMPY_TABLE[operation]

    def sized(a: _Sized) -> _Sized:
        value = float(evaluate(np.float64(a.value)))
        return _Sized(value, abs(value) + abs(slope(a.value)) * a.size)

    return sized


def _quotient(a: _Sized, b: _Sized) -> _Sized:
    value = np.float64(a.value) / np.float64(b.value)
    grown = np.float64(b.size) / np.float64(abs(b.value))
    return _Sized(float(value), float(np.float64(a.size) / abs(b.value) * grown))


def _root(a: _Sized) -> _Sized:
    value = float(np.sqrt(a.value))
    return _Sized(value, value if value == 0.0 else 0.5 * (value + a.size / value))


_OF_ONE: dict[int, Callable[[_Sized], _Sized]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_NEG: lambda a: _Sized(-a.value, a.size),
    ca.OP_TWICE: lambda a: _Sized(2.0 * a.value, 2.0 * a.size),
    # A product of floats beyond every double is infinite; their power raises an error.
    ca.OP_SQ: lambda a: _Sized(a.value * a.value, a.size * a.size),
    ca.OP_INV: lambda a: _quotient(_number(1.0), a),
    ca.OP_SQRT: _root,
    ca.OP_SIN: _sloped(ca.OP_SIN, np.cos),
    ca.OP_COS: _sloped(ca.OP_COS, np.sin),
    ca.OP_EXP: _sloped(ca.OP_EXP, np.exp),
}
_OF_TWO: dict[int, Callable[[_Sized, _Sized], _Sized]] = {
    ca.OP_ADD: _sum(1.0),
    ca.OP_SUB: _sum(-1.0),
    ca.OP_MUL: lambda a, b: _Sized(a.value * b.value, a.size * b.size),
    ca.OP_DIV: _quotient,
}
_TABLE: Table = {
    **{operation: _function(operation) for operation in NUMPY_TABLE},
    **_OF_ONE,
    **_OF_TWO,
}


def _small_square(a: _Sized) -> _Sized:
    return _Sized(a.value * a.value, 2.0 * abs(a.value) * a.size)


def _small_product(a: _Sized, b: _Sized) -> _Sized:
    return _Sized(a.value * b.value, abs(a.value) * b.size + abs(b.value) * a.size)


_OF_SMALL: Table = {**_TABLE, ca.OP_SQ: _small_square, ca.OP_MUL: _small_product}
"""The same where a factor may be far smaller than its terms: the square of a small difference is
known better than these are large."""


def term_sizes(
    function: ca.Function, *arguments: Any, small_factors: bool = False
) -> list[np.ndarray]:
    """Return the sizes of the terms of each output's non-zeros.

    Parameters
    ----------
    function
        A function of SX expressions.
    arguments
        Numbers, one column for each input.
    small_factors
        Whether a product counts the terms of a factor by the value of the other, not by its terms.
    """
    inputs = [[_number(value) for value in np.ravel(argument)] for argument in arguments]
    with np.errstate(all="ignore"):
        table = _OF_SMALL if small_factors else _TABLE
        found = translate(function, inputs, table, _number, "the size of terms")
    return [np.array([value.size for value in column]) for column in found]
