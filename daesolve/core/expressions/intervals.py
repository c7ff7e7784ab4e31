"""Bounds of a CasADi function over intervals, and its first zero in one; none is missed.

Each operation maps intervals (low, high) to one that contains all its values, rounded outwards. An
operation without a rule, or not defined everywhere, may have any value. Exact zeros stay exact, so
constants over an interval are recognised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
import scipy

from daesolve.core.expressions.translation import OPERATION_NAMES, Table, function_of, translate

Interval = tuple[float, float]
ANYTHING: Interval = (-math.inf, math.inf)
ZERO: Interval = (0.0, 0.0)
ONE: Interval = (1.0, 1.0)
EITHER: Interval = (0.0, 1.0)
TURN = 2.0 * math.pi
RIGHT: Interval = (0.5 * math.pi, 0.5 * math.pi)
"""The right angle."""
BESIDE = 2.0**20
"""The distance, in multiples of the rounding of a time, at which a pole is distinguished from a
zero."""
MOST = 20_000
"""The number of intervals examined for one zero."""


def _outwards(low: float, high: float) -> Interval:
    if math.isnan(low) or math.isnan(high):
        return ANYTHING
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _add(a: Interval, b: Interval) -> Interval:
    if ZERO in (a, b):
        return b if a == ZERO else a
    return _outwards(a[0] + b[0], a[1] + b[1])


def _negative(a: Interval) -> Interval:
    return -a[1], -a[0]


def _subtract(a: Interval, b: Interval) -> Interval:
    return _add(a, _negative(b))


def _multiply(a: Interval, b: Interval) -> Interval:
    if ZERO in (a, b):
        return ZERO
    # Infinity times zero is the end of a bound, which is zero.
    products = [x * y if x and y else 0.0 for x in a for y in b]
    return _outwards(min(products), max(products))


def _inverse(a: Interval) -> Interval:
    if a[0] <= 0.0 <= a[1]:
        return ANYTHING
    return _outwards(1.0 / a[1], 1.0 / a[0])


def _square(a: Interval) -> Interval:
    if a == ZERO:
        return ZERO
    low, high = sorted((abs(a[0]), abs(a[1])))
    return _outwards(0.0 if a[0] <= 0.0 <= a[1] else low * low, high * high)


def _cosine(a: Interval) -> Interval:
    low, high = a
    if not high - low < TURN:
        return -1.0, 1.0
    values = math.cos(low), math.cos(high)
    # Extrema lie at whole multiples of pi; near one, rounding may decide the side.
    first, last = math.floor(low / math.pi - 1e-9), math.floor(high / math.pi + 1e-9)
    turned = {k % 2 for k in range(first + 1, last + 1)}
    smallest = -1.0 if 1 in turned else min(values) - 1e-15
    largest = 1.0 if 0 in turned else max(values) + 1e-15
    return smallest, largest


def _rising(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    """Return the rule of a function that increases wherever it is defined."""

    def bounds(a: Interval) -> Interval:
        try:
            low, high = function(a[0]), function(a[1])
        except (ValueError, OverflowError):
            return ANYTHING
        width = 4e-16 * max(abs(low), abs(high), 1.0)
        return _outwards(low - width, high + width)

    return bounds


_exponential = _rising(math.exp)


def _power(a: Interval, b: Interval) -> Interval:
    exponent = b[0]
    if exponent != b[1]:
        return ANYTHING if a[0] <= 0.0 else _exponential(_multiply(b, _rising(math.log)(a)))
    if exponent < 0.0:
        return _inverse(_power(a, (-exponent, -exponent)))
    if not (exponent.is_integer() and exponent <= 64.0):
        return ANYTHING if a[0] < 0.0 else _rising(lambda value: value**exponent)(a)
    result: Interval = (1.0, 1.0)
    for _ in range(int(b[0]) // 2):
        result = _multiply(result, _square(a))
    return _multiply(result, a) if int(b[0]) % 2 else result


def _tangent(a: Interval) -> Interval:
    if math.floor(a[0] / math.pi + 0.5 - 1e-9) != math.floor(a[1] / math.pi + 0.5 + 1e-9):
        return ANYTHING
    return _rising(math.tan)(a)


def _arcsine(a: Interval) -> Interval:
    """Bound the arcsine where it is defined."""
    return _rising(math.asin)((max(a[0], -1.0), min(a[1], 1.0)))


def _root(a: Interval) -> Interval:
    """Bound the root where it is defined."""
    return ANYTHING if a[1] < 0.0 else _rising(math.sqrt)((max(a[0], 0.0), a[1]))


def _hyperbolic_cosine(a: Interval) -> Interval:
    least, most = sorted((abs(a[0]), abs(a[1])))
    return _rising(math.cosh)((0.0 if a[0] <= 0.0 <= a[1] else least, most))


def _least(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), min(a[1], b[1])


def _most(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), max(a[1], b[1])


def _absolute(a: Interval) -> Interval:
    return _most(a, _negative(a)) if not a[0] < 0.0 < a[1] else (0.0, max(-a[0], a[1]))


def _stepped(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    """Return the rule of a function that increases in steps, exactly."""

    def bounds(a: Interval) -> Interval:
        low, high = (value if math.isinf(value) else float(function(value)) for value in a)
        return low, high

    return bounds


def _less(a: Interval, b: Interval) -> Interval:
    if a[1] < b[0]:
        return ONE
    return ZERO if a[0] >= b[1] else EITHER


def _not(a: Interval) -> Interval:
    if a == ZERO:
        return ONE
    return EITHER if a[0] <= 0.0 <= a[1] else ZERO


def _equal(a: Interval, b: Interval) -> Interval:
    return _not(_subtract(a, b))


def _if_else_zero(condition: Interval, value: Interval) -> Interval:
    if _not(condition) != EITHER:
        return ZERO if condition == ZERO else value
    return _least(ZERO, value)[0], _most(ZERO, value)[1]


_OF_ONE: dict[int, Callable[[Interval], Interval]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_NEG: _negative,
    ca.OP_INV: _inverse,
    ca.OP_SQ: _square,
    ca.OP_TWICE: lambda a: (2.0 * a[0], 2.0 * a[1]),
    ca.OP_SIN: lambda a: _cosine(_subtract(a, RIGHT)),
    ca.OP_COS: _cosine,
    ca.OP_EXP: _exponential,
    ca.OP_LOG: _rising(math.log),
    ca.OP_SQRT: _root,
    ca.OP_EXPM1: _rising(math.expm1),
    ca.OP_LOG1P: _rising(math.log1p),
    ca.OP_TANH: _rising(math.tanh),
    ca.OP_ATAN: _rising(math.atan),
    ca.OP_SINH: _rising(math.sinh),
    ca.OP_ASINH: _rising(math.asinh),
    ca.OP_ATANH: _rising(math.atanh),
    ca.OP_ACOSH: _rising(math.acosh),
    ca.OP_ERF: _rising(math.erf),
    ca.OP_COSH: _hyperbolic_cosine,
    ca.OP_TAN: _tangent,
    ca.OP_ASIN: _arcsine,
    ca.OP_ACOS: lambda a: _subtract(RIGHT, _arcsine(a)),
    ca.OP_FABS: _absolute,
    ca.OP_SIGN: _stepped(lambda value: (value > 0.0) - (value < 0.0)),
    ca.OP_FLOOR: _stepped(math.floor),
    ca.OP_CEIL: _stepped(math.ceil),
    ca.OP_NOT: _not,
}
_OF_TWO: dict[int, Callable[[Interval, Interval], Interval]] = {
    ca.OP_ADD: _add,
    ca.OP_SUB: _subtract,
    ca.OP_MUL: _multiply,
    ca.OP_DIV: lambda a, b: _multiply(a, _inverse(b)),
    ca.OP_HYPOT: lambda a, b: _root(_add(_square(a), _square(b))),
    ca.OP_FMIN: _least,
    ca.OP_FMAX: _most,
    ca.OP_LT: _less,
    ca.OP_LE: lambda a, b: _not(_less(b, a)),
    ca.OP_EQ: _equal,
    ca.OP_NE: lambda a, b: _not(_equal(a, b)),
    ca.OP_AND: lambda a, b: _least(_not(_not(a)), _not(_not(b))),
    ca.OP_OR: lambda a, b: _most(_not(_not(a)), _not(_not(b))),
    ca.OP_IF_ELSE_ZERO: _if_else_zero,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
}
TABLE: Table = {
    **dict.fromkeys(OPERATION_NAMES, lambda *_: ANYTHING),
    **_OF_ONE,
    **_OF_TWO,
}
"""The rules for the bounds of operations; one without a rule may have any value."""


def bounds(function: ca.Function, inputs: Sequence[Sequence[Interval]]) -> list[list[Interval]]:
    """Return an interval for each non-zero of each output of a function.

    Parameters
    ----------
    function
        A function of SX expressions.
    inputs
        For each input, an interval for each of its non-zeros.
    """
    return translate(function, inputs, TABLE, lambda value: (float(value), float(value)))


class TimeGuards:
    """Expressions of time and parameters only, whose zeros are found in advance.

    Parameters
    ----------
    time, parameters
        Their symbols.
    guards
        (k,) the expressions.
    """

    def __init__(self, time: ca.SX, parameters: ca.SX, guards: ca.SX) -> None:
        self.functions = [_with_rates(time, parameters, guard) for guard in ca.vertsplit(guards)]

    def first_zero(self, start: float, end: float, p: np.ndarray) -> float:
        """Return the first time after a start at which a guard has passed zero; the end if none.

        A zero that is touched but not passed does not count, nor do zeros of a guard too intricate
        to enclose: those are found during the run, like zeros of guards of states.

        Parameters
        ----------
        start, end
            s; the end may lie before the start.
        p
            (np,) the parameters.
        """
        numbers = [(value, value) for value in p.tolist()]
        found = end
        for function in self.functions:
            found = _first_zero(function, start, found, p, numbers)
        return found


def _with_rates(time: ca.SX, parameters: ca.SX, guard: ca.SX) -> ca.Function:
    """Return a guard with its first two derivatives as a function of (t, p)."""
    rate = ca.jacobian(guard, time)
    outputs = [ca.densify(entry) for entry in (guard, rate, ca.jacobian(rate, time))]
    names = ["t", "p"], ["guard", "rate", "bend"]
    return function_of("time_guard", [time, parameters], outputs, names)


def _first_zero(
    function: ca.Function, start: float, end: float, p: np.ndarray, numbers: Sequence[Interval]
) -> float:
    def value(time: float) -> float:
        return float(function(time, p)[0])

    def rate(time: float) -> float:
        return float(function(time, p)[1])

    pending = [(start, end)]
    for _ in range(MOST):
        if not pending:
            return end
        first, last = pending.pop()
        ordered = (min(first, last), max(first, last))
        (guard,), (slope,), (bend,) = bounds(function, [[ordered], numbers])
        if not guard[0] <= 0.0 <= guard[1] or slope == ZERO:
            continue
        middle = 0.5 * (first + last)
        steady, apart = not slope[0] <= 0.0 <= slope[1], middle not in (first, last)
        pieces = [(first, last)]
        if not steady and apart:
            if bend[0] <= 0.0 <= bend[1]:
                pending += [(middle, last), (first, middle)]
                continue
            pieces = _halves(function, rate, first, last, numbers)
        for before, after in pieces:
            passed = value(before) * value(after)
            crossed = passed < 0.0 or (value(after) == 0.0 != value(before) and after != end)
            if crossed and (steady or apart or not _is_pole(value, first, last)):
                return _past_zero(value, before, after)
    return end


def _halves(
    function: ca.Function,
    rate: Callable[[float], float],
    first: float,
    last: float,
    numbers: Sequence[Interval],
) -> list[tuple[float, float]]:
    """Return the parts of an interval in which a guard with curvature of one sign is monotonic.

    There are none if it touches zero, because its extremum cannot be distinguished from zero.
    """
    if rate(first) * rate(last) >= 0.0:
        return [(first, last)]
    top = _zero(rate, first, last)
    (there,), _, _ = bounds(function, [[(top, top)], numbers])
    return [] if there[0] <= 0.0 <= there[1] else [(first, top), (top, last)]


def _is_pole(value: Callable[[float], float], first: float, last: float) -> bool:
    """Return whether a change of sign between neighbouring times is a pole and not a zero.

    Near a pole, values grow in inverse proportion to the distance.
    """
    if not (math.isfinite(value(first)) and math.isfinite(value(last))):
        return True
    away = value(first - BESIDE * (last - first))
    return abs(value(first)) > math.sqrt(BESIDE) * abs(away)


def _past_zero(value: Callable[[float], float], first: float, last: float) -> float:
    """Return a time just after the only zero in an interval."""
    side = value(last)
    if side == 0.0:
        return last
    found, sign = _zero(value, first, last), math.copysign(1.0, last - first)
    move = math.ulp(found)
    while value(found) * side < 0.0 and found != last:
        # Near the time zero, roundings of time are far smaller than those of the guard.
        found = sign * min(sign * found + move, sign * last)
        move *= 2.0
    return found


def _zero(function: Callable[[float], float], first: float, last: float) -> float:
    # If a zero has no slope, Brent's method needs more than its usual hundred iterations.
    least = 4e-16 * max(abs(first), abs(last), 1e-300)
    return float(scipy.optimize.brentq(function, first, last, xtol=least, maxiter=MOST))
