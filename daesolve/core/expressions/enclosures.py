"""Enclosures: bounds of an expression for inputs between given bounds.

Interval arithmetic, operation by operation (Moore, Interval Analysis, 1966), cannot miss a peak
between two evaluations. Bounds are rounded to nearest, not outwards, because they serve to find
large values, not to prove the last digit. They may be wide if inputs occur several times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

from daesolve.core.expressions.program import program

Interval = tuple[float, float]
ALL: Interval = -math.inf, math.inf


def enclosed(
    function: ca.Function, low: Sequence[np.ndarray], high: Sequence[np.ndarray]
) -> list[Interval]:
    """Return bounds for the elements of a function's first output.

    Parameters
    ----------
    function
        An SX function.
    low, high
        The bounds of its inputs.

    Returns
    -------
    list
        One interval for each structural element; all numbers if nothing is known.
    """
    read = program(function)
    found: list[Interval] = []
    for operation, taken in read.steps:
        if operation == ca.OP_INPUT:
            place, element = int(taken[0]), int(taken[1])
            found.append((float(low[place].item(element)), float(high[place].item(element))))
        elif operation == ca.OP_CONST:
            found.append((float(taken[0]), float(taken[0])))
        else:
            found.append(_step(operation, [found[int(value)] for value in taken]))
    return [found[value] for _, value in read.outputs[0]]


def _step(operation: int, taken: Sequence[Interval]) -> Interval:
    try:
        if operation in _ONE:
            low, high = _ONE[operation](taken[0])
        elif operation in _TWO:
            low, high = _TWO[operation](taken[0], taken[1])
        else:
            return ALL
    except (ValueError, OverflowError, ZeroDivisionError):
        return ALL
    return ALL if math.isnan(low) or math.isnan(high) else (low, high)


def _rising(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    return lambda a: (function(a[0]), function(a[1]))


def _product(a: Interval, b: Interval) -> Interval:
    corners = [0.0 if 0.0 in (p, q) else p * q for p in a for q in b]
    return min(corners), max(corners)


def _quotient(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0.0 <= b[1]:
        return ALL
    return _product(a, (1.0 / b[1], 1.0 / b[0]))


def _size(a: Interval) -> Interval:
    least = 0.0 if a[0] <= 0.0 <= a[1] else min(abs(a[0]), abs(a[1]))
    return least, max(abs(a[0]), abs(a[1]))


def _square(a: Interval) -> Interval:
    low, high = _size(a)
    return low * low, high * high


def _exponential(value: float) -> float:
    return math.inf if value > 709.0 else math.exp(value)


def _power(a: Interval, b: Interval) -> Interval:
    if b[0] != b[1]:
        return _product_exponential(a, b)
    exponent = b[0]
    if exponent == int(exponent):
        if exponent < 0:
            return _quotient((1.0, 1.0), _power(a, (-exponent, -exponent)))
        base = _size(a) if int(exponent) % 2 == 0 else a
        return base[0] ** exponent, base[1] ** exponent
    if a[0] < 0.0 or (a[0] == 0.0 and exponent < 0.0):
        return ALL
    ends = a[0] ** exponent, a[1] ** exponent
    return min(ends), max(ends)


def _product_exponential(a: Interval, b: Interval) -> Interval:
    if a[0] <= 0.0:
        return ALL
    low, high = _product(b, (math.log(a[0]), math.log(a[1])))
    return _exponential(low), _exponential(high)


def _sine(a: Interval) -> Interval:
    low, high = a
    if not high - low < 2.0 * math.pi:
        return -1.0, 1.0
    ends = math.sin(low), math.sin(high)

    def within(place: float) -> bool:
        turns = math.ceil((low - place) / (2.0 * math.pi))
        return place + turns * 2.0 * math.pi <= high

    top = 1.0 if within(0.5 * math.pi) else max(ends)
    return -1.0 if within(-0.5 * math.pi) else min(ends), top


def _tangent(a: Interval) -> Interval:
    if math.floor(a[0] / math.pi + 0.5) != math.floor(a[1] / math.pi + 0.5):
        return ALL
    return math.tan(a[0]), math.tan(a[1])


def _truth(certain: bool, excluded: bool) -> Interval:
    return (1.0, 1.0) if certain else (0.0, 0.0) if excluded else (0.0, 1.0)


def _zero_or(chosen: Interval, value: Interval) -> Interval:
    if chosen == (0.0, 0.0):
        return 0.0, 0.0
    sure = chosen[0] > 0.0 or chosen[1] < 0.0
    return value if sure else (min(0.0, value[0]), max(0.0, value[1]))


def _hyperbolic(a: Interval) -> Interval:
    low, high = _size(a)
    return math.cosh(low), math.cosh(high)


def _length(a: Interval, b: Interval) -> Interval:
    (low, high), (least, most) = _size(a), _size(b)
    return math.hypot(low, least), math.hypot(high, most)


def _sign(value: float) -> float:
    return float(np.sign(value))


_ONE: dict[int, Callable[[Interval], Interval]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_INV: lambda a: _quotient((1.0, 1.0), a),
    ca.OP_NEG: lambda a: (-a[1], -a[0]),
    ca.OP_TWICE: lambda a: (2.0 * a[0], 2.0 * a[1]),
    ca.OP_SQ: _square,
    ca.OP_FABS: _size,
    ca.OP_SQRT: lambda a: (math.sqrt(max(a[0], 0.0)), math.sqrt(a[1])),
    ca.OP_EXP: _rising(_exponential),
    ca.OP_LOG: _rising(math.log),
    ca.OP_LOG1P: _rising(math.log1p),
    ca.OP_EXPM1: _rising(lambda value: _exponential(value) - 1.0),
    ca.OP_SIN: _sine,
    ca.OP_COS: lambda a: _sine((a[0] + 0.5 * math.pi, a[1] + 0.5 * math.pi)),
    ca.OP_TAN: _tangent,
    ca.OP_ASIN: _rising(math.asin),
    ca.OP_ACOS: lambda a: (math.acos(a[1]), math.acos(a[0])),
    ca.OP_ATAN: _rising(math.atan),
    ca.OP_SINH: _rising(math.sinh),
    ca.OP_COSH: _hyperbolic,
    ca.OP_TANH: _rising(math.tanh),
    ca.OP_ASINH: _rising(math.asinh),
    ca.OP_ACOSH: _rising(math.acosh),
    ca.OP_ATANH: _rising(math.atanh),
    ca.OP_ERF: _rising(math.erf),
    ca.OP_SIGN: _rising(_sign),
    ca.OP_FLOOR: _rising(math.floor),
    ca.OP_CEIL: _rising(math.ceil),
    ca.OP_NOT: lambda a: _truth(a == (0.0, 0.0), a[0] > 0.0 or a[1] < 0.0),
}
_TWO: dict[int, Callable[[Interval, Interval], Interval]] = {
    ca.OP_ADD: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    ca.OP_SUB: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    ca.OP_MUL: _product,
    ca.OP_DIV: _quotient,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_HYPOT: _length,
    ca.OP_FMIN: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    ca.OP_FMAX: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    ca.OP_LT: lambda a, b: _truth(a[1] < b[0], a[0] >= b[1]),
    ca.OP_LE: lambda a, b: _truth(a[1] <= b[0], a[0] > b[1]),
    ca.OP_AND: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    ca.OP_OR: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    ca.OP_IF_ELSE_ZERO: _zero_or,
}
