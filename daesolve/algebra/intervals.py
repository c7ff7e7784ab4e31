"""Bounds of a CasADi function over intervals, and its first zero in one: none is passed over.

Each operation takes intervals (low, high) to one that holds all its values, rounded outwards. An
operation without a rule may take any value; so may what is not defined everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from scipy.optimize import brentq

from daesolve.algebra.translation import OPERATION_NAMES, function_of, translate

Interval = tuple[float, float]
ANYTHING: Interval = (-math.inf, math.inf)
TURN = 2.0 * math.pi


def _outwards(low: float, high: float) -> Interval:
    if math.isnan(low) or math.isnan(high):
        return ANYTHING
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _add(a: Interval, b: Interval) -> Interval:
    return _outwards(a[0] + b[0], a[1] + b[1])


def _negative(a: Interval) -> Interval:
    return -a[1], -a[0]


def _subtract(a: Interval, b: Interval) -> Interval:
    return _outwards(a[0] - b[1], a[1] - b[0])


def _multiply(a: Interval, b: Interval) -> Interval:
    # Infinity times zero is the end of a bound, which is zero.
    products = [x * y if x and y else 0.0 for x in a for y in b]
    return _outwards(min(products), max(products))


def _inverse(a: Interval) -> Interval:
    if a[0] <= 0.0 <= a[1]:
        return ANYTHING
    return _outwards(1.0 / a[1], 1.0 / a[0])


def _divide(a: Interval, b: Interval) -> Interval:
    return _multiply(a, _inverse(b))


def _square(a: Interval) -> Interval:
    low, high = sorted((abs(a[0]), abs(a[1])))
    return _outwards(0.0 if a[0] <= 0.0 <= a[1] else low * low, high * high)


def _cosine(a: Interval) -> Interval:
    low, high = a
    if not high - low < TURN:
        return -1.0, 1.0
    values = math.cos(low), math.cos(high)
    # Extrema lie at whole multiples of pi; beside one, rounding may say on which side of it.
    first, last = math.floor(low / math.pi - 1e-9), math.floor(high / math.pi + 1e-9)
    turned = {k % 2 for k in range(first + 1, last + 1)}
    smallest = -1.0 if 1 in turned else min(values) - 1e-15
    largest = 1.0 if 0 in turned else max(values) + 1e-15
    return smallest, largest


def _sine(a: Interval) -> Interval:
    return _cosine(_subtract(a, (0.5 * math.pi, 0.5 * math.pi)))


def _rising(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    """Return the rule of a function that rises wherever it is defined."""

    def bounds(a: Interval) -> Interval:
        try:
            low, high = function(a[0]), function(a[1])
        except (ValueError, OverflowError):
            return ANYTHING
        width = 4e-16 * max(abs(low), abs(high), 1.0)
        return _outwards(low - width, high + width)

    return bounds


def _power(a: Interval, b: Interval) -> Interval:
    if b[0] != b[1] or not b[0].is_integer() or not 0.0 <= b[0] <= 64.0:
        return ANYTHING
    result: Interval = (1.0, 1.0)
    for _ in range(int(b[0]) // 2):
        result = _multiply(result, _square(a))
    return _multiply(result, a) if int(b[0]) % 2 else result


def _same(a: Interval) -> Interval:
    return a


def _twice(a: Interval) -> Interval:
    return 2.0 * a[0], 2.0 * a[1]


def _anything(*operands: Interval) -> Interval:
    return ANYTHING


RULES: dict[int, Callable[..., Interval]] = {
    ca.OP_ASSIGN: _same,
    ca.OP_ADD: _add,
    ca.OP_SUB: _subtract,
    ca.OP_MUL: _multiply,
    ca.OP_DIV: _divide,
    ca.OP_NEG: _negative,
    ca.OP_INV: _inverse,
    ca.OP_SQ: _square,
    ca.OP_TWICE: _twice,
    ca.OP_SIN: _sine,
    ca.OP_COS: _cosine,
    ca.OP_EXP: _rising(math.exp),
    ca.OP_LOG: _rising(math.log),
    ca.OP_SQRT: _rising(math.sqrt),
    ca.OP_TANH: _rising(math.tanh),
    ca.OP_ATAN: _rising(math.atan),
    ca.OP_SINH: _rising(math.sinh),
    ca.OP_ASINH: _rising(math.asinh),
    ca.OP_ERF: _rising(math.erf),
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
}
"""What is known of the bounds of operations."""
TABLE = {operation: RULES.get(operation, _anything) for operation in OPERATION_NAMES}


def bounds(function: ca.Function, inputs: Sequence[Sequence[Interval]]) -> list[list[Interval]]:
    """Return an interval for each non-zero of each output of a function.

    Parameters
    ----------
    function
        Of SX expressions.
    inputs
        For each input, an interval for each of its non-zeros.
    """
    return translate(function, inputs, TABLE, lambda value: (float(value), float(value)))


class TimeGuards:
    """Expressions of time and parameters alone, whose zeros are found before they are met.

    Parameters
    ----------
    time, parameters
        Their symbols.
    guards
        (k,) the expressions.
    """

    def __init__(self, time: ca.SX, parameters: ca.SX, guards: ca.SX) -> None:
        rates = ca.jacobian(guards, time)
        self.count = guards.numel()
        self.function = function_of(
            "time_guards", [time, parameters], [guards, rates], (["t", "p"], ["guards", "rates"])
        )

    def first_zero(self, start: float, end: float, p: np.ndarray) -> float:
        """Return the first time after a start at which a guard has passed zero; the end if none.

        Parameters
        ----------
        start, end
            s; the end may lie before the start.
        p
            (np,) the parameters.
        """
        numbers = [(value, value) for value in p.tolist()]
        found = end
        for guard in range(self.count):
            found = self._first_zero(guard, start, found, p, numbers)
        return found

    def _first_zero(
        self, guard: int, start: float, end: float, p: np.ndarray, numbers: Sequence[Interval]
    ) -> float:
        def value(time: float) -> float:
            return float(np.asarray(self.function(time, p)[0]).ravel()[guard])

        pending = [(start, end)]
        while pending:
            first, last = pending.pop()
            ordered = (min(first, last), max(first, last))
            guards, rates = bounds(self.function, [[ordered], numbers])
            if not guards[guard][0] <= 0.0 <= guards[guard][1]:
                continue
            steady = not rates[guard][0] <= 0.0 <= rates[guard][1]
            middle = 0.5 * (first + last)
            if steady or middle in (first, last):
                before, after = value(first), value(last)
                if before * after < 0.0 or (after == 0.0 != before and last != end):
                    return _past_zero(value, first, last)
                continue
            pending += [(middle, last), (first, middle)]
        return end


def _past_zero(value: Callable[[float], float], first: float, last: float) -> float:
    """Return a time next to the one zero in an interval, at which it has been passed."""
    side = value(last)
    if side == 0.0:
        return last
    found = float(brentq(value, first, last, xtol=4e-16 * max(abs(first), abs(last), 1e-300)))
    while value(found) * side < 0.0 and found != last:
        found = math.nextafter(found, last)
    return found
