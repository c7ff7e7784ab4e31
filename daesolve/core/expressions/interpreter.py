"""Programs of the machine carried out by NumPy: nothing is compiled, and the bits are the same.

An operation takes about a microsecond, whatever the number of states. Functions such as the sine
are taken from `math`, state by state, for they call the library that compiled code calls; NumPy has
functions of its own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from daesolve.core.expressions import operations
from daesolve.core.expressions.operations import OF_CASADI
from daesolve.core.expressions.translation import NUMPY_TABLE, TESTS, Table

Row = np.ndarray
Operation = Callable[[Row, Row, Row], object]
"""Writes into a row what an operation gives for the rows of its operands."""

PER_OPERATION, PER_CALL = 1e-6, 1e-7
"""What an operation takes for a row, and a function for each state, s."""
PER_NUMBER = 1e-9
"""What an operation takes for each state, s."""


def carry_out(runs: np.ndarray, codes: np.ndarray, memory: np.ndarray) -> None:
    """Execute a program with the content of the registers, (registers, states).

    Parameters
    ----------
    runs, codes
        See `machine.carry_out`.
    memory
        Changes.
    """
    if memory.shape[1] == 1:
        _carry_out_once(runs, codes, memory)
        return
    rows = list(memory)
    with np.errstate(all="ignore"):
        for operation, first, last in runs.tolist():
            carry = _OPERATIONS[operation]
            for z, x, y in codes[first:last].tolist():
                carry(rows[x], rows[y], rows[z])


def _carry_out_once(runs: np.ndarray, codes: np.ndarray, memory: np.ndarray) -> None:
    """Execute a program for a single state, whose numbers are faster than arrays of length one."""
    numbers: list[float] = memory[:, 0].tolist()
    operands: list[tuple[int, int, int]] = codes.tolist()
    for operation, first, last in runs.tolist():
        carry = _OF_NUMBERS.get(operation)
        for z, x, y in operands[first:last]:
            if carry is None:
                numbers[z] = _value(operation, numbers[x], numbers[y])
                continue
            try:
                numbers[z] = carry(numbers[x], numbers[y])
            except (ArithmeticError, ValueError):
                numbers[z] = _value(operation, numbers[x], numbers[y])
    memory[:, 0] = numbers


def _value(operation: int, x: float, y: float) -> float:
    found = np.empty(1)
    with np.errstate(all="ignore"):
        _OPERATIONS[operation](np.array([x]), np.array([y]), found)
    return float(found[0])


def seconds(runs: np.ndarray, states: int) -> float:
    """Return how long a program takes for so many states, about, s."""
    lengths = runs[:, 2] - runs[:, 1]
    calls = int(np.sum(lengths[_BY_CALLS[runs[:, 0]]]))
    total = int(np.sum(lengths))
    return total * (PER_OPERATION + PER_NUMBER * states) + calls * PER_CALL * states


def _of_arrays(function: Callable[..., Any]) -> Operation:
    """Return the operation of a function of NumPy, which writes into a row where it can."""
    if getattr(function, "nin", 0) == 1 or type(function) is partial:
        return lambda x, _, found: function(x, found)
    if isinstance(function, np.ufunc):
        return function
    count = len(signature(function).parameters)

    def write(x: Row, y: Row, found: Row) -> None:
        found[:] = function(*(x, y)[:count])

    return write


def _called(function: Callable[[float], float], beyond: Callable[[Row], Row]) -> Operation:
    """Return the operation that calls a function of `math` for each state.

    Parameters
    ----------
    function
        The function, which refuses some arguments.
    beyond
        What is infinite or no number for these.
    """

    def value(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return float(beyond(np.array([x]))[0])

    def write(x: Row, _: Row, found: Row) -> None:
        numbers = x.tolist()
        try:
            found[:] = [*map(function, numbers)]
        except (ValueError, OverflowError):
            found[:] = [*map(value, numbers)]

    return write


def _of_two(
    function: Callable[[float, float], float], beyond: Callable[[Row, Row], Row]
) -> Operation:
    """Return the operation that calls a function of two numbers for each state; see `_called`."""

    def value(x: float, y: float) -> float:
        try:
            return function(x, y)
        except (ValueError, OverflowError):
            return float(beyond(np.array([x]), np.array([y]))[0])

    def write(x: Row, y: Row, found: Row) -> None:
        found[:] = [*map(value, x.tolist(), y.tolist())]

    return write


_FUNCTIONS: dict[int, Operation] = {
    operations.SIN: _called(math.sin, np.sin),
    operations.COS: _called(math.cos, np.cos),
    operations.TAN: _called(math.tan, np.tan),
    operations.EXP: _called(math.exp, np.exp),
    operations.EXPM1: _called(math.expm1, np.expm1),
    operations.LOG: _called(math.log, np.log),
    operations.LOG1P: _called(math.log1p, np.log1p),
    operations.SINH: _called(math.sinh, np.sinh),
    operations.COSH: _called(math.cosh, np.cosh),
    operations.TANH: _called(math.tanh, np.tanh),
    operations.ASIN: _called(math.asin, np.arcsin),
    operations.ACOS: _called(math.acos, np.arccos),
    operations.ATAN: _called(math.atan, np.arctan),
    operations.ASINH: _called(math.asinh, np.arcsinh),
    operations.ACOSH: _called(math.acosh, np.arccosh),
    operations.ATANH: _called(math.atanh, np.arctanh),
    operations.ERF: _called(math.erf, np.sign),
    operations.ATAN2: _of_two(math.atan2, np.arctan2),
    operations.POWER: _of_two(math.pow, np.power),
    operations.CONSTANT_POWER: _of_two(math.pow, np.power),
    operations.HYPOT: np.hypot,
}
_ARRAYS: Table = {**NUMPY_TABLE, **TESTS}
_OPERATIONS: dict[int, Operation] = {
    **{OF_CASADI[code]: _of_arrays(function) for code, function in _ARRAYS.items()},
    **_FUNCTIONS,
    operations.SQ: lambda x, _, found: np.multiply(x, x, found),
    operations.NOTHING: lambda _, __, found: found.fill(0.0),
}
_BY_CALLS = np.isin(np.arange(operations.NOTHING + 1), [*_FUNCTIONS])
_OF_NUMBERS: dict[int, Callable[[float, float], float]] = {
    operations.ADD: operator.add,
    operations.SUB: operator.sub,
    operations.MUL: operator.mul,
    operations.DIV: operator.truediv,
    operations.NEG: lambda x, _: -x,
    operations.SQ: lambda x, _: x * x,
    operations.TWICE: lambda x, _: x + x,
    operations.INV: lambda x, _: 1.0 / x,
    operations.SQRT: lambda x, _: math.sqrt(x),
    operations.ASSIGN: lambda x, _: x,
    operations.SIN: lambda x, _: math.sin(x),
    operations.COS: lambda x, _: math.cos(x),
}
"""Operations on numbers; what they refuse, those on arrays give."""
