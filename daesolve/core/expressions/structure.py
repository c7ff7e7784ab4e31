"""Proofs from the structure of functions: what is linear, and what a turn of an angle leaves.

Nothing is sampled, and no derivative is trusted: comparisons, `sign` and `floor` have zero
derivatives. One walk over the instructions of a function determines the degree of each value in
some symbols; another one how each value changes when an input grows by 2 pi: it grows by a known
amount, it changes its sign, or nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import casadi as ca
import numpy as np

from daesolve.core.expressions.translation import (
    NUMPY_TABLE,
    OPERATION_NAMES,
    function_of_symbols,
    translate,
)

ROUNDED = 1e-14
"""The rounding of a number of turns by the arithmetic of ratios, within which it counts as
whole."""
_SUMS = frozenset({ca.OP_ASSIGN, ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE})
_NOT_LINEAR = 2
_ODD = frozenset(
    {ca.OP_SIN, ca.OP_TAN, ca.OP_ASIN, ca.OP_ATAN, ca.OP_SINH, ca.OP_TANH, ca.OP_ASINH,
     ca.OP_ATANH, ca.OP_ERF, ca.OP_SIGN, ca.OP_INV}
)  # fmt: skip
_EVEN = frozenset({ca.OP_COS, ca.OP_COSH, ca.OP_FABS, ca.OP_SQ, ca.OP_HYPOT})
_TESTS = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE})


def is_linear(column: ca.SX, symbols: ca.SX) -> bool:
    """Return whether each term of a column contains at most one of the symbols, linearly.

    The symbols may occur in sums, in products with or quotients by expressions without them, and in
    branches chosen by such expressions.
    """
    own = {entry.element_hash() for entry in ca.symvar(symbols)}
    function, inputs = function_of_symbols(column)
    degrees = [int(entry.element_hash() in own) for entry in inputs]
    table = {operation: partial(_degree, operation) for operation in OPERATION_NAMES}
    (found,) = translate(function, [degrees], table, lambda _: 0)
    return max(found, default=0) < _NOT_LINEAR


def _degree(operation: int, *operands: int) -> int:
    """Return the degree in the symbols of an operation, from those of its operands."""
    first, last = operands[0], operands[-1]
    if operation in _SUMS or not any(operands):
        return max(operands)
    if operation == ca.OP_MUL:
        return min(first + last, _NOT_LINEAR)
    if operation == ca.OP_DIV and not last:
        return first
    if operation == ca.OP_IF_ELSE_ZERO and not first:
        return last
    return _NOT_LINEAR


# -- turns ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Turned:
    """The change of a value y when each of some angles grows by 2 pi: y -> sign y + 2 pi turns.

    Parameters
    ----------
    sign
        (n,) 1.0 or -1.0, for each angle.
    turns
        (n,) NaN if nothing is known.
    number
        The value itself if it is a known constant.
    """

    sign: np.ndarray
    turns: np.ndarray
    number: float | None = None

    @property
    def fixed(self) -> np.ndarray:
        """(n,) Whether it is constant except for its sign."""
        return self.turns == 0.0

    @property
    def same(self) -> np.ndarray:
        """(n,) Whether it stays the same."""
        return self.fixed & (self.sign > 0.0)


def after_a_turn(
    function: ca.Function, angles: Sequence[int], numbers: np.ndarray | None = None
) -> list[list[Turned]]:
    """Return the changes of a function's outputs by whole turns of angles.

    Parameters
    ----------
    function
        A function of (t, x, ..., p), in SX.
    angles
        The indices in x that grow by 2 pi, one after another.
    numbers
        (np,) constant entries of p, NaN for others; None if no entry is known.

    Returns
    -------
    list of list of Turned
        The non-zeros of each output.
    """
    unmoved = Turned(np.ones(len(angles)), np.zeros(len(angles)))
    inputs = [[unmoved] * function.nnz_in(k) for k in range(function.n_in())]
    if numbers is not None:
        inputs[-1] = [
            unmoved if math.isnan(number) else replace(unmoved, number=number)
            for number in numbers[: len(inputs[-1])].tolist()
        ]
    for place, angle in enumerate(angles):
        if angle < len(inputs[1]):
            inputs[1][angle] = Turned(unmoved.sign, np.eye(len(angles))[place])
    table = {operation: partial(_turned, unmoved, operation) for operation in OPERATION_NAMES}
    return translate(function, inputs, table, lambda number: replace(unmoved, number=float(number)))


def _turned(unmoved: Turned, operation: int, *values: Turned) -> Turned:
    """Return the change of the result of an operation."""
    known = [np.float64(value.number) for value in values if value.number is not None]
    if len(known) == len(values) and operation in NUMPY_TABLE:
        with np.errstate(all="ignore"):
            return replace(unmoved, number=float(NUMPY_TABLE[operation](*known)))
    if all(value.turns is unmoved.turns for value in values):
        return unmoved
    rule = _RULES.get(operation)
    moved = _of_any(operation, *values) if rule is None else rule(*values)
    return unmoved if bool(np.all(moved.same)) else moved


def _where(known: np.ndarray, sign: np.ndarray | float, turns: np.ndarray | float = 0.0) -> Turned:
    """Return a value for which something is known for some angles."""
    return Turned(np.where(known, sign, 1.0), np.where(known, turns, np.nan))


def _of_any(operation: int, *values: Turned) -> Turned:
    """Return the result of a function of values: odd ones keep a sign, even ones do not."""
    fixed = np.logical_and.reduce([value.fixed for value in values])
    if operation not in _ODD | _EVEN:
        fixed = fixed & np.logical_and.reduce([value.sign > 0.0 for value in values])
    return _where(fixed, values[0].sign if operation in _ODD else 1.0)


def _sum(sign: float) -> Callable[[Turned, Turned], Turned]:
    return lambda one, other: _where(
        one.sign == other.sign, one.sign, one.turns + sign * other.turns
    )


def _multiple(factor: float, value: Turned) -> Turned:
    return Turned(value.sign, factor * value.turns)


def _product(one: Turned, other: Turned) -> Turned:
    for factor, value in ((one.number, other), (other.number, one)):
        if factor is not None:
            # Also of what is not known, nothing remains.
            return _multiple(factor, value) if factor else _where(np.isfinite(value.sign), 1.0)
    return _where(one.fixed & other.fixed, one.sign * other.sign)


def _chosen(condition: Turned, value: Turned) -> Turned:
    if condition.number is not None:
        return value if condition.number else _where(np.isfinite(value.sign), 1.0)
    return _where(condition.same & value.fixed, value.sign)


def _quotient(one: Turned, other: Turned) -> Turned:
    divisor = other.number
    if divisor is None:
        return _where(one.fixed & other.fixed, one.sign * other.sign)
    return _multiple(1.0 / divisor if divisor else math.nan, one)


def _whole(turns: np.ndarray) -> np.ndarray:
    """Return which numbers of turns are whole, except for the rounding of ratios."""
    with np.errstate(invalid="ignore"):
        return np.abs(turns - np.rint(turns)) <= ROUNDED * np.maximum(np.abs(turns), 1.0)


def _circular(value: Turned, *, odd: bool) -> Turned:
    # Half a turn changes the signs of sine and cosine; a change of sign changes only the sine.
    half = np.where(_whole(value.turns), 1.0, -1.0)
    return _where(_whole(2.0 * value.turns), half * (value.sign if odd else 1.0))


def _tangent(value: Turned) -> Turned:
    return _where(_whole(2.0 * value.turns), value.sign)


def _power(base: Turned, exponent: Turned) -> Turned:
    if exponent.number is None or exponent.number != round(exponent.number):
        return _of_any(ca.OP_POW, base, exponent)
    return _where(base.fixed, base.sign if exponent.number % 2 else 1.0)


def _rounding(value: Turned) -> Turned:
    """Pass a whole number through floor and ceil."""
    return _where((value.sign > 0.0) & _whole(2.0 * math.pi * value.turns), value.sign, value.turns)


def _remainder(value: Turned, divisor: Turned) -> Turned:
    """Remove whole multiples of the divisor."""
    if not divisor.number:
        return _of_any(ca.OP_REMAINDER, value, divisor)
    whole = _whole(2.0 * math.pi * value.turns / divisor.number)
    return _where((value.sign > 0.0) & whole, value.sign)


def _test(one: Turned, other: Turned) -> Turned:
    """Compare values that grow equally."""
    return _where((one.sign > 0.0) & (other.sign > 0.0) & (one.turns == other.turns), 1.0)


_RULES: dict[int, Callable[..., Turned]] = {
    ca.OP_ASSIGN: partial(_multiple, 1.0),
    ca.OP_ADD: _sum(1.0),
    ca.OP_SUB: _sum(-1.0),
    ca.OP_NEG: partial(_multiple, -1.0),
    ca.OP_TWICE: partial(_multiple, 2.0),
    ca.OP_MUL: _product,
    ca.OP_IF_ELSE_ZERO: _chosen,
    ca.OP_DIV: _quotient,
    ca.OP_SIN: partial(_circular, odd=True),
    ca.OP_COS: partial(_circular, odd=False),
    ca.OP_TAN: _tangent,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_FLOOR: _rounding,
    ca.OP_CEIL: _rounding,
    ca.OP_REMAINDER: _remainder,
    **dict.fromkeys(_TESTS, _test),
}
