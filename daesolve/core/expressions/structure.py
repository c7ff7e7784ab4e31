"""Which values a whole turn of an angle leaves unchanged, proved from the structure of a function.

Nothing is sampled. One walk over the instructions of a function determines how each value changes
when an input grows by 2 pi: it grows by a known amount, it changes its sign, or nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.expressions.program import program
from daesolve.core.expressions.translation import NUMPY_TABLE

ROUNDED = 1e-14
"""The rounding of a number of turns by the arithmetic of ratios, within which it counts as
whole."""
_ODD = frozenset(
    {ca.OP_SIN, ca.OP_TAN, ca.OP_ASIN, ca.OP_ATAN, ca.OP_SINH, ca.OP_TANH, ca.OP_ASINH,
     ca.OP_ATANH, ca.OP_ERF, ca.OP_SIGN, ca.OP_INV}
)  # fmt: skip
_EVEN = frozenset({ca.OP_COS, ca.OP_COSH, ca.OP_FABS, ca.OP_SQ, ca.OP_HYPOT})
_TESTS = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE})


@dataclass(frozen=True, eq=False)
class Turned:
    """The change of a value y when each of some angles grows by 2 pi: y -> sign y + 2 pi turns.

    Parameters
    ----------
    sign
        (n,) 1.0 or -1.0, for each angle.
    turns
        (n,) NaN if nothing is known.
    """

    sign: np.ndarray
    turns: np.ndarray

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
    walk = _Walk(len(angles), {angle: place for place, angle in enumerate(angles)})
    last = function.n_in() - 1
    for operation, operands in program(function).steps:
        if operation == ca.OP_INPUT:
            known = numbers if operands[0] == last else None
            walk.take_input(*operands, number=None if known is None else float(known[operands[1]]))
        elif operation == ca.OP_CONST:
            walk.put(walk.unmoved, float(operands[0]))
        else:
            walk.take(operation, operands)
    tables = program(function).outputs
    found = [[walk.unmoved] * function.nnz_out(place) for place in range(len(tables))]
    for place, pairs in enumerate(tables):
        for element, value in pairs:
            found[place][element] = walk.values[value]
    return found


class _Walk:
    """Values of a program, each with its change under turns and, if constant, its number."""

    def __init__(self, count: int, places: dict[int, int]) -> None:
        self.places = places
        self.unmoved = Turned(np.ones(count), np.zeros(count))
        self.unknown = Turned(np.ones(count), np.full(count, np.nan))
        self.values: list[Turned] = []
        self.numbers: list[float | None] = []

    def put(self, value: Turned, number: float | None = None) -> None:
        """Add a value."""
        self.values.append(value)
        self.numbers.append(number)

    def take_input(self, source: int, element: int, *, number: float | None) -> None:
        """Add an input: a turn changes an angle in the state, and nothing else."""
        if source == 1 and element in self.places:
            turns = np.zeros(len(self.unmoved.turns))
            turns[self.places[element]] = 1.0
            self.put(Turned(self.unmoved.sign, turns))
        else:
            self.put(self.unmoved, None if number is None or math.isnan(number) else number)

    def take(self, operation: int, operands: Sequence[int]) -> None:
        """Add the result of an operation on values."""
        known = [number for k in operands if (number := self.numbers[k]) is not None]
        if len(known) == len(operands) and operation in NUMPY_TABLE:
            with np.errstate(all="ignore"):
                number = float(NUMPY_TABLE[operation](*[np.float64(number) for number in known]))
            self.put(self.unmoved, number)
            return
        values = [self.values[k] for k in operands]
        if all(value is self.unmoved for value in values):
            self.put(self.unmoved)
            return
        rule = _RULES.get(operation)
        if rule is not None:
            moved = rule(self, values, [self.numbers[k] for k in operands])
        else:
            moved = self.of_any(operation, values)
        self.put(self.unmoved if bool(np.all(moved.same)) else moved)

    def where(self, known: np.ndarray, sign: np.ndarray, turns: np.ndarray) -> Turned:
        """Return a value for which something is known for some angles."""
        return Turned(np.where(known, sign, 1.0), np.where(known, turns, np.nan))

    def of_any(self, operation: int, values: Sequence[Turned]) -> Turned:
        """Return the result of a function of values: odd ones keep a sign, even ones do not."""
        fixed = np.logical_and.reduce([value.fixed for value in values])
        signs = values[0].sign
        if operation not in _ODD | _EVEN:
            fixed = fixed & np.logical_and.reduce([value.sign > 0.0 for value in values])
        sign = signs if operation in _ODD else self.unmoved.sign
        return self.where(fixed, sign, self.unmoved.turns)


Numbers = Sequence[float | None]


def _sum(sign: float) -> Callable[[_Walk, Sequence[Turned], Numbers], Turned]:
    def rule(walk: _Walk, values: Sequence[Turned], numbers: Numbers) -> Turned:
        one, other = values
        return walk.where(one.sign == other.sign, one.sign, one.turns + sign * other.turns)

    return rule


def _multiple(value: Turned, factor: float) -> Turned:
    return Turned(value.sign, factor * value.turns)


def _product(walk: _Walk, values: Sequence[Turned], numbers: Numbers) -> Turned:
    (one, other), (first, second) = values, numbers
    if first == 0.0 or second == 0.0:
        return walk.unmoved
    if first is not None:
        return _multiple(other, first)
    if second is not None:
        return _multiple(one, second)
    return walk.where(one.fixed & other.fixed, one.sign * other.sign, walk.unmoved.turns)


def _chosen(walk: _Walk, values: Sequence[Turned], numbers: Numbers) -> Turned:
    condition, value = values
    if numbers[0] is not None:
        return value if numbers[0] != 0.0 else walk.unmoved
    return walk.where(condition.same & value.fixed, value.sign, walk.unmoved.turns)


def _quotient(walk: _Walk, values: Sequence[Turned], numbers: Numbers) -> Turned:
    (one, other), divisor = values, numbers[1]
    if divisor is not None:
        return _multiple(one, 1.0 / divisor) if divisor != 0.0 else walk.unknown
    return walk.where(one.fixed & other.fixed, one.sign * other.sign, walk.unmoved.turns)


def _whole(turns: np.ndarray) -> np.ndarray:
    """Return which numbers of turns are whole, except for the rounding of ratios."""
    with np.errstate(invalid="ignore"):
        return np.abs(turns - np.rint(turns)) <= ROUNDED * np.maximum(np.abs(turns), 1.0)


def _circular(*, odd: bool) -> Callable[[_Walk, Sequence[Turned], Numbers], Turned]:
    def rule(walk: _Walk, values: Sequence[Turned], numbers: Numbers) -> Turned:
        (value,) = values
        # Half a turn changes the signs of sine and cosine; a change of sign changes only the sine.
        half = np.where(_whole(value.turns), 1.0, -1.0)
        return walk.where(
            _whole(2.0 * value.turns), half * (value.sign if odd else 1.0), walk.unmoved.turns
        )

    return rule


def _tangent(walk: _Walk, values: Sequence[Turned], numbers: Numbers) -> Turned:
    (value,) = values
    return walk.where(_whole(2.0 * value.turns), value.sign, walk.unmoved.turns)


def _power(walk: _Walk, values: Sequence[Turned], numbers: Numbers) -> Turned:
    base, exponent = values[0], numbers[1]
    if exponent is None or exponent != round(exponent):
        return walk.of_any(ca.OP_POW, values)
    sign = base.sign if exponent % 2 else walk.unmoved.sign
    return walk.where(base.fixed, sign, walk.unmoved.turns)


def _rounding(walk: _Walk, values: Sequence[Turned], numbers: Numbers) -> Turned:
    """Pass a whole number through floor and ceil."""
    (value,) = values
    return walk.where(
        (value.sign > 0.0) & _whole(2.0 * math.pi * value.turns), value.sign, value.turns
    )


def _remainder(walk: _Walk, values: Sequence[Turned], numbers: Numbers) -> Turned:
    """Remove whole multiples of the divisor."""
    value, divisor = values[0], numbers[1]
    if divisor is None or divisor == 0.0:
        return walk.of_any(ca.OP_REMAINDER, values)
    whole = _whole(2.0 * math.pi * value.turns / divisor)
    return walk.where((value.sign > 0.0) & whole, value.sign, walk.unmoved.turns)


def _test(walk: _Walk, values: Sequence[Turned], numbers: Numbers) -> Turned:
    """Compare values that grow equally."""
    one, other = values
    alike = (one.sign > 0.0) & (other.sign > 0.0) & (one.turns == other.turns)
    return walk.where(alike, walk.unmoved.sign, walk.unmoved.turns)


_RULES: dict[int, Callable[[_Walk, Sequence[Turned], Numbers], Turned]] = {
    ca.OP_ASSIGN: lambda walk, values, numbers: values[0],
    ca.OP_ADD: _sum(1.0),
    ca.OP_SUB: _sum(-1.0),
    ca.OP_NEG: lambda walk, values, numbers: _multiple(values[0], -1.0),
    ca.OP_TWICE: lambda walk, values, numbers: _multiple(values[0], 2.0),
    ca.OP_MUL: _product,
    ca.OP_IF_ELSE_ZERO: _chosen,
    ca.OP_DIV: _quotient,
    ca.OP_SIN: _circular(odd=True),
    ca.OP_COS: _circular(odd=False),
    ca.OP_TAN: _tangent,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_FLOOR: _rounding,
    ca.OP_CEIL: _rounding,
    ca.OP_REMAINDER: _remainder,
    **dict.fromkeys(_TESTS, _test),
}
