"""Whether an expression is zero everywhere: an identity test in which nothing can hide.

An expression evaluated at a few states may be zero there but not elsewhere: exp(x - 60) is
negligible until x approaches 60. Therefore each function that saturates, is steep or has branches
becomes a random value, the same for equal operands. Sums, products, quotients, roots, sines and
cosines remain, and are evaluated at random numbers of many sizes. If such an expression is not zero
everywhere, it is zero at almost no point (Schwartz 1980, Zippel 1979), so the test detects it. An
expression found to be zero is zero for *any* values of these functions, and so for the true ones.
The converse is false: identities between the functions, such as exp(a + b) = exp(a) exp(b), are not
detected.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import casadi as ca
import numpy as np

from daesolve.core.expressions.singular_values import shortest_solution
from daesolve.core.expressions.translation import OPERATION_NAMES, translate

MODERATE = 8
"""The number of points with numbers of order one."""
MODERATE_DECADES = 0.5
"""The number of decades that numbers of order one span above and below one."""
WIDE = np.repeat([6.0, 18.0], [16, 32])
"""For each of the other points, the number of decades above and below one that the sizes of
numbers span.

Terms hidden behind others in one set of units may dominate in another: an orbit in metres and
seconds has numbers of 1e-10 and 1e20.
"""
FEWEST = 4
"""The number of points at which an expression must have a value to count as zero."""
ROUNDINGS = 100.0
"""The remainder of a zero expression, relative to its accumulated rounding errors."""
HIGHEST = 4
"""Higher powers hide: x**20 is negligible for x = 1/3."""
NEWTON, NUDGE, MET = 40, 1e-7, 1e-12
"""Steps of Newton's method, the difference for its slopes, and the accepted remainder."""
_CONDITIONS = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR})
UNIT = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class _Value:
    """Numbers at the points, with their rounding errors and their origin.

    Parameters
    ----------
    number, error
        (k,) the numbers, and their errors in units of the last place.
    place
        Its index among the values of a function.
    operation, operands
        What made it.
    power
        The base and the exponent of a whole power.
    """

    number: np.ndarray
    error: np.ndarray
    place: int = -1
    operation: int = ca.OP_INPUT
    operands: tuple[_Value, ...] = ()
    power: tuple[_Value, int] | None = None


def vanishing(expression: ca.SX, known: Mapping[int, float] | None = None) -> np.ndarray:
    """Return which entries of an expression are proved to be zero everywhere.

    Parameters
    ----------
    expression
        An expression of any free symbols.
    known
        The values of some symbols, by their hashes; the others are free.

    Returns
    -------
    numpy.ndarray
        Of the expression's shape, of bool. A structural zero counts as zero; an entry with hardly
        any finite value does not.
    """
    symbols = ca.symvar(expression)
    function = ca.Function("identity", symbols, [ca.densify(expression)], {"cse": True})
    given = [None if known is None else known.get(symbol.__hash__()) for symbol in symbols]
    points = _Points(given)
    with np.errstate(all="ignore"):
        values = points.of(function)
        zero = [_is_zero(value) for value in values]
    return np.array(zero, dtype=bool).reshape(expression.shape, order="F")


def vanishes(expression: ca.SX, known: Mapping[int, float] | None = None) -> bool:
    """Return whether an expression is proved to be zero everywhere; see `vanishing`."""
    return bool(np.all(vanishing(expression, known)))


def is_combination(target: ca.SX, others: Sequence[ca.SX]) -> bool:
    """Return whether a scalar is proved to be a combination of others with constant factors.

    Parameters
    ----------
    target, others
        Scalars of any free symbols.
    """
    column = ca.vertcat(target, *others)
    symbols = ca.symvar(column)
    function = ca.Function("combination", symbols, [ca.densify(column)], {"cse": True})
    points = _Points([None] * len(symbols), wide=np.full(len(others), MODERATE_DECADES))
    with np.errstate(all="ignore"):
        table = np.array([value.number + 0.0 for value in points.of(function)])
    table = table[:, np.all(np.isfinite(table), axis=0)].T
    rows = np.vstack([table.real, table.imag])  # A square root may be imaginary.
    factors = shortest_solution(rows[:, 1:], rows[:, 0])
    return vanishes(target - ca.dot(ca.DM(factors), ca.vertcat(ca.SX(0, 1), *others)))


def at_random_points(
    expressions: Sequence[ca.SX], known: Mapping[int, float], met: ca.SX, unknowns: ca.SX
) -> list[np.ndarray]:
    """Return expressions at points of order one, with hiding functions random, (k, rows, columns).

    Parameters
    ----------
    expressions
        Matrices of any free symbols.
    known
        The values of some symbols, by their hashes.
    met, unknowns
        Equations that the points must fulfil, and as many symbols to solve for; NaN if no solution
        is found.
    """
    whole = ca.veccat(*expressions, met)
    symbols = ca.symvar(whole)
    hashes = [symbol.__hash__() for symbol in symbols]
    function = ca.Function("points", symbols, [ca.densify(whole)], {"cse": True})
    points = _Points([known.get(number) for number in hashes], wide=np.empty(0))
    solved = [hashes.index(s.__hash__()) for s in ca.vertsplit(unknowns) if s.__hash__() in hashes]
    with np.errstate(all="ignore"):
        table = points.meeting(function, solved)
    table = table[:, : table.shape[1] - met.numel()]
    ends = np.cumsum([expression.numel() for expression in expressions])[:-1]
    return [
        part.reshape(MODERATE, *reversed(expression.shape)).transpose(0, 2, 1)
        for part, expression in zip(np.split(table, ends, axis=1), expressions, strict=True)
    ]


def _is_zero(value: _Value) -> bool:
    usable = np.isfinite(value.number) & np.isfinite(value.error)
    left = np.abs(value.number[usable])
    return len(left) >= FEWEST and bool(np.all(left <= ROUNDINGS * UNIT * value.error[usable]))


class _Points:
    """Random points, and the values of functions there."""

    def __init__(self, given: Sequence[float | None], wide: np.ndarray = WIDE) -> None:
        self.generator = np.random.default_rng(11)
        self.wide = wide
        self.inputs = [
            self.any_number() if number is None else np.full(self.count, number) for number in given
        ]
        self.drawn: dict[tuple[str | int, ...], np.ndarray] = {}
        self.places = itertools.count()

    @property
    def count(self) -> int:
        """How many points there are."""
        return MODERATE + len(self.wide)

    def any_number(self) -> np.ndarray:
        """Return numbers of either sign: of order one, then of any size."""
        sizes = np.append(
            self.generator.uniform(0.3, 3.0, MODERATE),
            10.0 ** self.generator.uniform(-self.wide, self.wide),
        )
        return sizes * self.generator.choice([-1.0, 1.0], self.count)

    def meeting(self, function: ca.Function, solved: Sequence[int]) -> np.ndarray:
        """Return a function where its last entries are zero, (k, n), by Newton's method.

        Random values stay fixed: the points fulfil the equations for any of these values.
        """

        def look() -> np.ndarray:
            return np.array([value.number + 0.0 for value in self.of(function)]).T

        count, table = len(solved), look()
        for _ in range(NEWTON if count else 0):
            slopes = np.empty((self.count, count, count), dtype=table.dtype)
            here = [self.inputs[place] for place in solved]
            for column, place in enumerate(solved):
                self.inputs[place] = here[column] + NUDGE
                slopes[:, :, column] = (look()[:, -count:] - table[:, -count:]) / NUDGE
                self.inputs[place] = here[column]
            usable = np.abs(np.linalg.det(slopes)) > 0.0
            slopes[~usable] = np.nan
            moved = np.full((self.count, count), np.nan, dtype=table.dtype)
            moved[usable] = np.linalg.solve(slopes[usable], table[usable, -count:, None])[..., 0]
            for column, place in enumerate(solved):
                self.inputs[place] = here[column] - moved[:, column]
            table = look()
        if count:
            table[np.max(np.abs(table[:, -count:]), axis=1) > MET] = np.nan
        return table

    def of(self, function: ca.Function) -> list[_Value]:
        """Return the entries of a function's only output."""
        self.places = itertools.count()
        none = np.zeros(self.count)
        inputs = [[_Value(number, none, next(self.places))] for number in self.inputs]
        table = {operation: partial(self.result, operation) for operation in OPERATION_NAMES}
        (column,) = translate(function, inputs, table, self.constant)
        return column

    def constant(self, number: float) -> _Value:
        """Return one number at all points."""
        numbers = np.full(self.count, float(number))
        return _Value(numbers, np.abs(numbers), next(self.places), ca.OP_CONST)

    def result(self, operation: int, *operands: _Value) -> _Value:
        """Return the result of an operation on values."""
        power = _power(operation, operands)
        if power is not None and abs(power[1]) > HIGHEST:
            value = self.high_power(*power)
        elif operation in _RULES:
            value = _RULES[operation](*operands)
        elif operation in _OWN:
            value = _OWN[operation](self, *operands)
        else:
            value = self.random(operation, *operands)
        return replace(
            value, place=next(self.places), operation=operation, operands=operands, power=power
        )

    def high_power(self, base: _Value, exponent: int) -> _Value:
        """Return a power with fourth powers replaced by a random value."""
        fourths, rest = divmod(abs(exponent), HIGHEST)
        number: np.ndarray = self.random("fourth", base).number ** fourths * base.number**rest
        if exponent < 0:
            number = 1.0 / number
        relative = rest * base.error / np.abs(base.number) if rest else 0.0
        return _Value(number, (abs(exponent) + relative) * np.abs(number))

    def random(self, name: str | int, *operands: _Value) -> _Value:
        """Return a random value, the same for the same operands."""
        key = (name, *[operand.place for operand in operands])
        if key not in self.drawn:
            self.drawn[key] = self.any_number()
        return _Value(self.drawn[key], np.zeros(self.count))

    def exponential(self, operand: _Value) -> _Value:
        """Return exp of a value as a random one, and exp of its negative as the inverse."""
        if operand.operation == ca.OP_NEG:
            return _inverse(self.random("exp", *operand.operands))
        return self.random("exp", operand)

    def truth(self, operand: _Value) -> _Value:
        """Return a random value for a condition, which enters linearly."""
        return operand if operand.operation in _CONDITIONS else self.random("truth", operand)

    def negation(self, operand: _Value) -> _Value:
        """Return 1.0 if a condition does not hold."""
        return _difference(_ONE, self.truth(operand))

    def branch(self, condition: _Value, value: _Value) -> _Value:
        """Return a value if a condition holds, otherwise zero."""
        return _product(self.truth(condition), value)

    def size(self, operand: _Value) -> _Value:
        """Return the value with the sign of its own."""
        return _product(self.sign(operand), operand)

    def sign(self, operand: _Value) -> _Value:
        """Return 1.0 or -1.0: an identity that holds for both signs holds for the right one."""
        key = ("sign", operand.place)
        if key not in self.drawn:
            self.drawn[key] = self.generator.choice([-1.0, 1.0], self.count)
        return _Value(self.drawn[key], np.zeros(self.count))

    def root(self, operand: _Value) -> _Value:
        """Return either of the roots: sqrt(x**2) is not identical with x, but with |x|."""
        inside = operand.number
        number = np.sqrt(inside.astype(complex) if np.any(inside < 0.0) else inside)
        error = np.where(operand.error == 0.0, 0.0, operand.error / (2.0 * np.abs(number)))
        return _Value(self.sign(operand).number * number, error + np.abs(number))


def _power(operation: int, operands: Sequence[_Value]) -> tuple[_Value, int] | None:
    """Return the base and the exponent of a whole power; None if it is not one."""
    base, exponent = operands[0].power or (operands[0], 1)
    if operation == ca.OP_SQ:
        return base, 2 * exponent
    if operation == ca.OP_INV:
        return base, -exponent
    if operation in (ca.OP_MUL, ca.OP_DIV):
        other, further = operands[1].power or (operands[1], 1)
        sign = 1 if operation == ca.OP_MUL else -1
        return (base, exponent + sign * further) if other is base else None
    if operation in (ca.OP_POW, ca.OP_CONSTPOW) and operands[1].operation == ca.OP_CONST:
        times = float(operands[1].number[0])
        if abs(times) < 1e6 and times == round(times):
            return base, exponent * int(times)
    return None


def _rounded(number: np.ndarray, error: np.ndarray) -> _Value:
    return _Value(number, error + np.abs(number))


def _sum(one: _Value, other: _Value) -> _Value:
    return _rounded(one.number + other.number, one.error + other.error)


def _difference(one: _Value, other: _Value) -> _Value:
    return _rounded(one.number - other.number, one.error + other.error)


def _product(one: _Value, other: _Value) -> _Value:
    error = np.abs(one.number) * other.error + np.abs(other.number) * one.error
    return _rounded(one.number * other.number, error)


def _inverse(value: _Value) -> _Value:
    number = 1.0 / value.number
    return _rounded(number, np.abs(number) ** 2 * value.error)


def _sine(value: _Value) -> _Value:
    return _rounded(np.sin(value.number), np.abs(np.cos(value.number)) * value.error)


def _cosine(value: _Value) -> _Value:
    return _rounded(np.cos(value.number), np.abs(np.sin(value.number)) * value.error)


_ONE = _Value(np.array(1.0), np.array(0.0))

_OF_ONE: dict[int, Callable[[_Value], _Value]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_NEG: lambda a: _Value(-a.number, a.error),
    ca.OP_TWICE: lambda a: _Value(2.0 * a.number, 2.0 * a.error),
    ca.OP_SQ: lambda a: _product(a, a),
    ca.OP_INV: _inverse,
    ca.OP_SIN: _sine,
    ca.OP_COS: _cosine,
    ca.OP_TAN: lambda a: _product(_sine(a), _inverse(_cosine(a))),
}
_OF_TWO: dict[int, Callable[[_Value, _Value], _Value]] = {
    ca.OP_ADD: _sum,
    ca.OP_SUB: _difference,
    ca.OP_MUL: _product,
    ca.OP_DIV: lambda a, b: _product(a, _inverse(b)),
}
_RULES: dict[int, Callable[..., _Value]] = {**_OF_ONE, **_OF_TWO}
"""Operations that are evaluated directly."""


def _of_exponential(function: Callable[[_Value, _Value], _Value]) -> Callable[..., _Value]:
    """Return a function of exp(a) and exp(-a)."""

    def own(points: _Points, operand: _Value) -> _Value:
        up = points.exponential(operand)
        return function(up, _inverse(up))

    return own


def _hyperbolic_tangent(up: _Value, down: _Value) -> _Value:
    return _product(_difference(up, down), _inverse(_sum(up, down)))


_HALF = _Value(np.array(0.5), np.array(0.0))
_OWN: dict[int, Callable[..., _Value]] = {
    ca.OP_EXP: _Points.exponential,
    ca.OP_EXPM1: _of_exponential(lambda up, down: _difference(up, _ONE)),
    ca.OP_SINH: _of_exponential(lambda up, down: _product(_HALF, _difference(up, down))),
    ca.OP_COSH: _of_exponential(lambda up, down: _product(_HALF, _sum(up, down))),
    ca.OP_TANH: _of_exponential(_hyperbolic_tangent),
    ca.OP_SIGN: _Points.sign,
    ca.OP_NOT: _Points.negation,
    ca.OP_FABS: _Points.size,
    ca.OP_SQRT: _Points.root,
    ca.OP_IF_ELSE_ZERO: _Points.branch,
}
"""Operations that are random, but related to others of the same operand."""
