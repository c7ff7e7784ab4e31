"""A CasADi function of (t, x, p) taken apart into rows, each of which has a Taylor series."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daesolve.core.expressions import operations
from daesolve.core.expressions.compilation import for_size
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.operations import codes_of
from daesolve.core.expressions.program import program
from daesolve.core.expressions.series import HIGHEST_PRODUCT
from daesolve.core.expressions.translation import OPERATION_NAMES, constants_function, constants_of
from daesolve.core.solvers.taylor_kernel import kinds, table_rows
from daesolve.errors import UnsupportedError

_compiled: Any = table_rows
NONE = -1
"""No row; no value."""
MOST_ROWS = 64
"""The most rows of an operation that is not a sum, product or the like: a power takes up to 21."""
SIMPLE = [
    operations.ASSIGN, operations.ADD, operations.SUB, operations.MUL, operations.DIV,
    operations.NEG, operations.SQ, operations.TWICE, operations.INV, operations.SQRT,
    operations.NOTHING,
]  # fmt: skip
"""Operations that compiled code expands."""


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
"""Functions that have each other as derivatives, and which of the two is requested."""
BOUNDED = frozenset({ca.OP_EXP, ca.OP_EXPM1, ca.OP_SINH, ca.OP_COSH})


@dataclass(frozen=True, eq=False)
class Numbers:
    """All numbers that operands refer to, from the parameters, which come first.

    Parameters
    ----------
    given
        p -> what depends on parameters alone; None if nothing does.
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
    first
        The index of the first row that is computed, after those of states and time.
    outputs
        The value of each entry of each output.
    """

    def __init__(self, function: ca.Function, bounded: bool = False) -> None:
        self.function, self.bounded = function, bounded
        self.states = function.nnz_in(1)
        self.first = self.states + 1
        self._given = constants_of(function, 2)
        self._own: dict[tuple[float, int | None], int] = {}
        self._first_own = function.nnz_in(2) + len(self._given)
        self._functions: dict[tuple[int, ...], int] = {}
        zero = self.number(0.0)
        values = self._values = self._leaves()
        codes = codes_of(program(function).values.kinds)
        others = np.count_nonzero(~np.isin(codes, SIMPLE))
        # Simple values need up to two rows, others more.
        self._rows = np.zeros((2 * len(codes) + MOST_ROWS * others + 1, 6), dtype=np.int64)
        self._table = np.full(1 << int(2 * len(self._rows)).bit_length(), NONE)
        self._counts = np.zeros(2, dtype=np.int64)
        whole = program(function)
        self._expand_all(codes, [value for pairs in whole.outputs for _, value in pairs])
        self.outputs: list[list[Value]] = []
        for index, pairs in enumerate(whole.outputs):
            column = [zero] * function.nnz_out(index)
            for element, number in pairs:
                row, place = values[number].tolist()
                column[element] = Value(bool(row), place)
            self.outputs.append(column)

    @property
    def rows(self) -> np.ndarray:
        """(k, 6) of each computed row its kind, up to four operands, and its function."""
        return self._rows[: self._counts[1]]

    def numbers(self) -> Numbers:
        """Return what gives all numbers from the parameters."""
        given = constants_function(self.function, 2) if self._given else None
        return Numbers(given, tuple(self._own), self._first_own)

    def number(self, value: float) -> Value:
        """Return a constant of the equations."""
        return self._own_number((value, None))

    def _logarithm(self, base: Value) -> Value:
        """Return the logarithm of a number."""
        return self._own_number((0.0, base.place))

    def _own_number(self, key: tuple[float, int | None]) -> Value:
        return Value(False, self._first_own + self._own.setdefault(key, len(self._own)))

    def _literal(self, value: Value) -> float | None:
        """Return what a number is, where it is a constant of the equations."""
        if value.row or value.place < self._first_own:
            return None
        literal, base = next(islice(self._own, value.place - self._first_own, None))
        return literal if base is None else None

    def _leaves(self) -> np.ndarray:
        """Return whether each value is a row, and its place, where that is known before."""
        known = program(self.function).values
        values = np.full((len(known.kinds), 2), NONE)
        inputs = np.flatnonzero(known.kinds == ca.OP_INPUT)
        source, element = known.operands[inputs].T
        values[inputs, 0] = source != 2
        values[inputs, 1] = np.where(source == 0, self.states, element)
        for n in np.flatnonzero(known.kinds == ca.OP_CONST).tolist():
            values[n] = self.number(float(known.numbers[n]))
        values[list(self._given), 0] = 0
        values[list(self._given), 1] = self.function.nnz_in(2) + np.arange(len(self._given))
        return values

    def _expand_all(self, codes: np.ndarray, wanted: list[int]) -> None:
        """Expand values, and what they need before them."""
        whole = program(self.function).values
        operands = whole.taken
        stack = np.empty(len(wanted) + 2 * len(codes), dtype=np.int64)
        stack[: len(wanted)] = wanted[::-1]
        self._counts[0] = len(wanted)
        numbers = np.array([self.number(1.0).place, self.number(2.0).place])
        expanded = for_size(_compiled.expanded, len(codes))
        while True:
            number = expanded(
                _compiled.VERSION, codes, operands, stack, self._counts, self._values, self._rows,
                self._table, self.first, numbers,
            )  # fmt: skip
            if number == NONE:
                return
            taken = [self._values[n].tolist() for n in operands[number].tolist() if n != NONE]
            values = [Value(bool(row), place) for row, place in taken]
            self._values[number] = self._expand(int(whole.kinds[number]), *values)

    def _emit(self, kind: int, *operands: Value, function: int = operations.NOTHING) -> Value:
        """Return the row of a kind, which is made if there is none."""
        places = [operand.place for operand in operands]
        row = _row(kind, places, function)
        emitted = for_size(_compiled.emitted, len(self._values))
        place = emitted(_compiled.VERSION, self._rows, self._table, self._counts, row)
        return Value(True, self.first + place)

    def _append(self, kind: int, places: Sequence[int], function: int) -> int:
        """Add a row whatever others there are, and return its place."""
        number = int(self._counts[1])
        self._rows[number] = _row(kind, places, function)
        self._counts[1] += 1
        return self.first + number

    def _expand(self, operation: int, a: Value, b: Value | None = None) -> Value:
        """Return the value of an operation, at least one of whose operands is a row."""
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
            self._emit(
                kinds.INTEGRAL,
                self._emit(kinds.DERIVATIVE, moved),
                self._quotient(other, size),
                y,
                x,
                function=function,
            )
            for moved, other, function in ((y, x, operations.ATAN2), (x, y, operations.NOTHING))
        ]
        return self._emit(kinds.SUB, *parts)

    def _pair(self, operation: int, a: Value) -> Value:
        """Return the sine or the cosine, circular or hyperbolic; each needs the other."""
        first, second, which = PAIRS[operation]
        if (first, a.place) not in self._functions:
            derivative = self._emit(kinds.DERIVATIVE, a).place
            sine = self.first + int(self._counts[1])
            cosine = sine + 1
            turned = cosine + 1 if first == operations.SIN else sine
            self._append(kinds.INTEGRAL, (derivative, cosine, a.place, a.place), first)
            self._append(kinds.INTEGRAL, (derivative, turned, a.place, a.place), second)
            if first == operations.SIN:
                self._append(kinds.NEG, (sine,), operations.NOTHING)
            self._functions[first, a.place] = sine
        return Value(True, self._functions[first, a.place] + which)

    def _integral(
        self, function: int, a: Value, factor: Callable[[Value], Value], second: Value | None = None
    ) -> Value:
        """Return a function of a row whose derivative by it is a factor, of itself perhaps."""
        other = a if second is None else second
        key = (function, a.place, other.place)
        if key not in self._functions:
            derivative = self._emit(kinds.DERIVATIVE, a)
            me = Value(True, self._append(kinds.NUMBER, (0,), operations.NOTHING))
            operands = (derivative.place, factor(me).place, a.place, other.place)
            self._rows[me.place - self.first] = _row(kinds.INTEGRAL, operands, function)
            self._functions[key] = me.place
        return Value(True, self._functions[key])

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


def _row(kind: int, places: Sequence[int], function: int) -> tuple[int, ...]:
    return (kind, *places, *(0,) * (4 - len(places)), function)
