"""A CasADi function of (t, x, p) taken apart into rows, each of which has a Taylor series."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import casadi as ca
import numpy as np

from daesolve.algebra import operations
from daesolve.algebra.evaluation import Evaluator
from daesolve.algebra.program import program
from daesolve.algebra.series import HIGHEST_PRODUCT
from daesolve.algebra.translation import OPERATION_NAMES, constants_function, constants_of
from daesolve.errors import UnsupportedError
from daesolve.taylor_kernel import kinds


class Value(NamedTuple):
    """A row, or a number that is known before the motion, by its place.

    Parameters
    ----------
    row
        Whether it is a row.
    place
        Among the rows: states, time, then those that are computed; among the numbers: parameters,
        what depends on them alone, then constants of the equations.
    """

    row: bool
    place: int


Terms = tuple[tuple[tuple[int, int], ...], ...]
"""For each of `kinds.GROUPS`, pairs of rows or of a row and a number."""
Term = tuple[int, tuple[int, int]]
"""The group of a term of a sum, and its operands."""


class Row(NamedTuple):
    """How a row is computed.

    Parameters
    ----------
    kind
        One of `kinds`.
    operands
        Rows or a number; for an integral the derivative, the factor, and what its start is
        computed from.
    function
        What an integral starts from.
    terms
        Those of a sum.
    """

    kind: int
    operands: tuple[int, ...] = ()
    function: int = operations.NOTHING
    terms: Terms = ()

    def now(self) -> Sequence[int]:
        """Return the rows whose coefficient of the same order must be there before."""
        if self.kind in ROWS_ALONE:
            return self.operands
        if self.kind == kinds.SUM:
            products, others = self.terms[: kinds.PLUS_ROW], self.terms[kinds.PLUS_ROW :]
            both = [row for group in products for pair in group for row in pair]
            return both + [row for group in others for row, _ in group]
        if self.kind == kinds.INTEGRAL:
            derivative, _, first, second = self.operands
            return [derivative, first, *([] if self.function == operations.POWER else [second])]
        number = kinds.NUMBER_OPERAND[self.kind]
        return self.operands[:number] + self.operands[number + 1 :]

    def ever(self) -> Sequence[int]:
        """Return all rows that it is computed from; of a factor, lower orders are enough."""
        if self.kind == kinds.INTEGRAL:
            return [*self.now(), self.operands[1]]
        return self.now()


ROWS_ALONE = frozenset(range(kinds.KINDS)) - {kinds.SUM, kinds.INTEGRAL, *kinds.NUMBER_OPERAND}
"""The kinds whose operands all are rows."""
ARITHMETIC = frozenset(
    {ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_NEG, ca.OP_INV, ca.OP_SQ, ca.OP_TWICE,
     ca.OP_SQRT}
)  # fmt: skip
SINGLE = {ca.OP_NEG: kinds.NEG, ca.OP_SQ: kinds.SQUARE, ca.OP_SQRT: kinds.ROOT}
FUNCTIONS = {
    operation: operations.OF_CASADI[operation]
    for operation in (
        ca.OP_EXP, ca.OP_EXPM1, ca.OP_LOG, ca.OP_LOG1P, ca.OP_TAN, ca.OP_TANH, ca.OP_ASIN,
        ca.OP_ACOS, ca.OP_ATAN, ca.OP_ASINH, ca.OP_ACOSH, ca.OP_ATANH, ca.OP_ERF,
    )
}  # fmt: skip
PAIRS = {
    ca.OP_SIN: (operations.SIN, operations.COS, 0),
    ca.OP_COS: (operations.SIN, operations.COS, 1),
    ca.OP_SINH: (operations.SINH, operations.COSH, 0),
    ca.OP_COSH: (operations.SINH, operations.COSH, 1),
}
"""Functions that have each other as derivatives, and which of the two is asked for."""
BOUNDED = frozenset({ca.OP_EXP, ca.OP_EXPM1, ca.OP_SINH, ca.OP_COSH})


@dataclass(frozen=True, eq=False)
class Numbers:
    """All numbers that operands refer to, from the parameters, which come first.

    Parameters
    ----------
    given
        p -> what depends on parameters alone; None where nothing does.
    own
        Those after it: a number, or the place of the one whose logarithm it is.
    first
        The place of the first of these.
    """

    given: ca.Function | None
    own: tuple[tuple[float, int | None], ...]
    first: int

    @cached_property
    def _given(self) -> Evaluator | None:
        return None if self.given is None else Evaluator(self.given)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        """Return the numbers."""
        known = np.empty(self.first + len(self.own))
        known[: len(p)] = p
        if self._given is not None:
            known[len(p) : self.first] = self._given(p)[0]
        with np.errstate(all="ignore"):
            for place, (value, base) in enumerate(self.own, self.first):
                known[place] = value if base is None else np.log(known[base])
        return known


@dataclass
class Expansion:
    """The rows and numbers of a function, each value once.

    Parameters
    ----------
    function
        (t, x, p) -> columns.
    bounded
        Whether exponentials are held at the value that they have where they are large: right where
        they come to nothing (1/(1 + exp(u)), 1/cosh(u)^2), and else wrong, which shows in the rate.

    Attributes
    ----------
    rows
        Those behind the states and time.
    outputs
        The value of each entry of each output.
    """

    function: ca.Function
    bounded: bool = False
    rows: list[Row] = field(default_factory=list[Row], init=False)
    outputs: list[list[Value]] = field(default_factory=list[list[Value]], init=False)

    def __post_init__(self) -> None:
        function = self.function
        self.states = function.nnz_in(1)
        self._known: dict[Row | tuple[int, ...], int] = {}
        self._given = constants_of(function, 2)
        self._own: dict[tuple[float, int | None], int] = {}
        self._first = function.nnz_in(2) + len(self._given)
        self._values: dict[int, Value] = {
            number: Value(False, function.nnz_in(2) + place)
            for place, number in enumerate(self._given)
        }
        for index, pairs in enumerate(program(function).outputs):
            column = [self.number(0.0)] * function.nnz_out(index)
            for element, number in pairs:
                column[element] = self._value(number)
            self.outputs.append(column)

    @property
    def first(self) -> int:
        """The place of the first row that is computed."""
        return self.states + 1

    def row(self, place: int) -> Row | None:
        """Return how a row is computed; None for a state and time."""
        return self.rows[place - self.first] if place >= self.first else None

    def numbers(self) -> Numbers:
        """Return what gives all numbers from the parameters."""
        given = constants_function(self.function, 2) if self._given else None
        return Numbers(given, tuple(self._own), self._first)

    def number(self, value: float) -> Value:
        """Return a constant of the equations."""
        return self._own_number((value, None))

    def _logarithm(self, base: Value) -> Value:
        """Return the logarithm of a number."""
        return self._own_number((0.0, base.place))

    def _own_number(self, key: tuple[float, int | None]) -> Value:
        return Value(False, self._first + self._own.setdefault(key, len(self._own)))

    def _literal(self, value: Value) -> float | None:
        """Return what a number is, where it is a constant of the equations."""
        if value.row or value.place < self._first:
            return None
        literal, base = next(islice(self._own, value.place - self._first, None))
        return literal if base is None else None

    def _value(self, root: int) -> Value:
        """Return a value of the program, and expand what it needs before it."""
        steps, stack = program(self.function).steps, [root]
        while stack:
            number = stack[-1]
            if number in self._values:
                stack.pop()
                continue
            operation, operands = steps[number]
            if operation == ca.OP_CONST:
                self._values[number] = self.number(float(operands[0]))
            elif operation == ca.OP_INPUT:
                source, element = operands
                self._values[number] = (
                    Value(True, self.states), Value(True, element), Value(False, element)
                )[source]  # fmt: skip
            elif missing := [operand for operand in operands if operand not in self._values]:
                stack.extend(missing)
            else:
                values = [self._values[operand] for operand in operands]
                self._values[number] = self._expand(operation, *values)
        return self._values[root]

    def _emit(self, kind: int, *operands: Value, function: int = operations.NOTHING) -> Value:
        """Return the row of a kind, which is made where there is none."""
        row = Row(kind, tuple(operand.place for operand in operands), function)
        if row not in self._known:
            self.rows.append(row)
            self._known[row] = self.states + len(self.rows)
        return Value(True, self._known[row])

    def _expand(self, operation: int, a: Value, b: Value | None = None) -> Value:
        """Return the value of an operation, at least one of whose operands is a row."""
        if operation == ca.OP_ASSIGN:
            return a
        if operation in ARITHMETIC:
            return self._arithmetic(operation, a, b)
        if operation in (ca.OP_POW, ca.OP_CONSTPOW):
            assert b is not None
            return self._power(a, b)
        if operation == ca.OP_IF_ELSE_ZERO:
            assert b is not None
            return self._chosen(a, b)
        if operation == ca.OP_HYPOT:
            squares = [self.square(value) for value in (a, b) if value is not None]
            return self._emit(kinds.ROOT, self._sum(*squares))
        if operation == ca.OP_ATAN2:
            assert b is not None
            return self._angle(self._lifted(a), self._lifted(b))
        if self.bounded and operation in BOUNDED:
            a = self._emit(kinds.HELD, a)
        if operation in PAIRS:
            return self._pair(operation, a)
        if operation in FUNCTIONS:
            return self._function(FUNCTIONS[operation], a)
        raise UnsupportedError(
            f"taylor has no operation {OPERATION_NAMES[operation]}, which "
            f"{self.function.name()!r} needs"
        )

    def _arithmetic(self, operation: int, a: Value, b: Value | None) -> Value:
        if operation in SINGLE:
            return self._emit(SINGLE[operation], a)
        if operation == ca.OP_TWICE:
            return self._emit(kinds.TIMES_NUMBER, a, self.number(2.0))
        if operation == ca.OP_INV:
            return self._emit(kinds.NUMBER_OVER, self.number(1.0), a)
        assert b is not None
        if operation == ca.OP_ADD:
            return self._sum(a, b)
        if operation == ca.OP_MUL:
            return self._product(a, b)
        if operation == ca.OP_DIV:
            return self._quotient(a, b)
        return self._difference(a, b)

    def _difference(self, a: Value, b: Value) -> Value:
        if a.row and b.row:
            return self._emit(kinds.SUB, a, b)
        if b.row:
            return self._emit(kinds.NUMBER_SUB, a, b)
        return self._emit(kinds.NEG, self._emit(kinds.NUMBER_SUB, b, a))

    def _sum(self, a: Value, b: Value) -> Value:
        if a.row and b.row:
            return self._emit(kinds.ADD, *sorted((a, b), key=lambda value: value.place))
        return self._emit(kinds.ADD_NUMBER, *sorted((a, b), key=lambda value: not value.row))

    def _product(self, a: Value, b: Value) -> Value:
        if a.row and b.row:
            if a == b:
                return self._emit(kinds.SQUARE, a)
            return self._emit(kinds.PRODUCT, *sorted((a, b), key=lambda value: value.place))
        return self._emit(kinds.TIMES_NUMBER, *sorted((a, b), key=lambda value: not value.row))

    def _quotient(self, a: Value, b: Value) -> Value:
        if a.row and b.row:
            return self._emit(kinds.QUOTIENT, a, b)
        return self._emit(kinds.OVER_NUMBER if a.row else kinds.NUMBER_OVER, a, b)

    def square(self, a: Value) -> Value:
        """Return the square of a row or a number."""
        return self._emit(kinds.SQUARE, self._lifted(a))

    def _lifted(self, a: Value) -> Value:
        """Return a number as a row."""
        return a if a.row else self._emit(kinds.NUMBER, a)

    def _chosen(self, condition: Value, a: Value) -> Value:
        """Return a value where a condition holds that the parameters decide, else zero."""
        if condition.row:
            raise UnsupportedError(
                f"taylor has no operation if_else_zero, which {self.function.name()!r} needs"
            )
        return self._emit(kinds.CHOSEN, self._lifted(a), condition)

    def _power(self, base: Value, exponent: Value) -> Value:
        if exponent.row:
            log = self._function(operations.LOG, base) if base.row else self._logarithm(base)
            product = self._product(exponent, log)
            return self._expand(ca.OP_EXP, product)
        known = self._literal(exponent)
        if known is not None and known.is_integer() and abs(known) <= HIGHEST_PRODUCT:
            return self._whole_power(base, int(known))
        if known == 0.5:
            return self._emit(kinds.ROOT, base)
        return self._integral(
            operations.POWER,
            base,
            lambda me: self._quotient(self._product(me, exponent), base),
            second=exponent,
        )

    def _whole_power(self, base: Value, exponent: int) -> Value:
        """Raise to a power by products, which are right where the base is zero, too."""
        power, square, left = None, base, abs(exponent)
        while left:
            if left & 1:
                power = square if power is None else self._product(power, square)
            left >>= 1
            if left:
                square = self._product(square, square)
        if power is None:
            return self._emit(kinds.NUMBER, self.number(1.0))
        return power if exponent > 0 else self._quotient(self.number(1.0), power)

    def _angle(self, y: Value, x: Value) -> Value:
        """Return atan2(y, x), whose derivative is (y' x - x' y)/(x² + y²)."""
        size = self._sum(self.square(x), self.square(y))
        parts = [
            Row(
                kinds.INTEGRAL,
                (
                    self._emit(kinds.DERIVATIVE, moved).place,
                    self._quotient(other, size).place,
                    y.place,
                    x.place,
                ),
                function,
            )
            for moved, other, function in ((y, x, operations.ATAN2), (x, y, operations.NOTHING))
        ]
        return self._emit(kinds.SUB, *(self._whole(part) for part in parts))

    def _whole(self, row: Row) -> Value:
        operands = [Value(True, place) for place in row.operands]
        return self._emit(row.kind, *operands, function=row.function)

    def _pair(self, operation: int, a: Value) -> Value:
        """Return the sine or the cosine, circular or hyperbolic; each needs the other."""
        first, second, which = PAIRS[operation]
        if (first, a.place) not in self._known:
            derivative = self._emit(kinds.DERIVATIVE, a).place
            sine = self.states + len(self.rows) + 1
            cosine = sine + 1
            turned = cosine + 1 if first == operations.SIN else sine
            ends = (a.place, a.place)
            self.rows.append(Row(kinds.INTEGRAL, (derivative, cosine, *ends), first))
            self.rows.append(Row(kinds.INTEGRAL, (derivative, turned, *ends), second))
            if first == operations.SIN:
                self.rows.append(Row(kinds.NEG, (sine,)))
            self._known[first, a.place] = sine
        return Value(True, self._known[first, a.place] + which)

    def _integral(
        self, function: int, a: Value, factor: Callable[[Value], Value], second: Value | None = None
    ) -> Value:
        """Return a function of a row whose derivative by it is a factor, of itself perhaps."""
        other = a if second is None else second
        key = (function, a.place, other.place)
        if key not in self._known:
            derivative = self._emit(kinds.DERIVATIVE, a)
            place = len(self.rows)
            me = Value(True, self.first + place)
            self.rows.append(Row(kinds.NUMBER, (0,)))
            factor_place = factor(me).place
            operands = (derivative.place, factor_place, a.place, other.place)
            self.rows[place] = Row(kinds.INTEGRAL, operands, function)
            self._known[key] = me.place
        return Value(True, self._known[key])

    def _function(self, function: int, a: Value) -> Value:
        """Return an elementary function, by its derivative."""
        return self._integral(function, a, lambda me: self._derivative(function, a, me))

    def _derivative(self, function: int, a: Value, me: Value) -> Value:
        one = self.number(1.0)
        if function == operations.EXP:
            return me
        if function == operations.EXPM1:
            return self._sum(me, one)
        if function == operations.LOG:
            return self._quotient(one, a)
        if function == operations.LOG1P:
            return self._quotient(one, self._sum(a, one))
        if function == operations.TAN:
            return self._sum(self._product(me, me), one)
        if function == operations.TANH:
            return self._difference(one, self._product(me, me))
        if function == operations.ERF:
            bell = self._function(operations.EXP, self._emit(kinds.NEG, self._product(a, a)))
            return self._product(bell, self.number(2.0 / math.sqrt(math.pi)))
        return self._algebraic(function, self._product(a, a))

    def _algebraic(self, function: int, square: Value) -> Value:
        """Return the derivative of an inverse function, by the square of its argument."""
        one = self.number(1.0)
        if function == operations.ATAN:
            return self._quotient(one, self._sum(square, one))
        if function == operations.ATANH:
            return self._quotient(one, self._difference(one, square))
        if function in (operations.ASIN, operations.ACOS):
            inside = self._difference(one, square)
        else:
            inside = self._sum(square, one if function == operations.ASINH else self.number(-1.0))
        sign = self.number(-1.0) if function == operations.ACOS else one
        return self._quotient(sign, self._emit(kinds.ROOT, inside))


def needed(expansion: Expansion, roots: Iterable[int]) -> set[int]:
    """Return the computed rows that some rows need, with themselves."""
    found: set[int] = set()
    first, rows = expansion.first, expansion.rows
    stack = [place for place in roots if place >= first]
    while stack:
        place = stack.pop()
        if place not in found:
            found.add(place)
            stack.extend(other for other in rows[place - first].ever() if other >= first)
    return found
