"""Expressions as plain data, which nothing executes: operations by name, in order.

    {"names": ["x"], "steps": [["input", 0], ["const", 2.0], ["mul", 0, 1]], "results": [2]}

CasADi's own text may name libraries, which would be loaded on reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from daesolve.core.expressions.program import program
from daesolve.core.expressions.translation import OPERATION_NAMES, function_of_symbols
from daesolve.errors import NotResumableError, is_number

NUMBERS = {name: operation for operation, name in OPERATION_NAMES.items()}
LEAVES = frozenset({"input", "const", "output", "parameter", "call"})
"""The operations that do not act on scalars."""


def described(parts: Sequence[ca.SX]) -> dict[str, Any]:
    """Return scalar expressions as data."""
    column = ca.densify(ca.vertcat(*parts))
    function, symbols = function_of_symbols(column)
    whole = program(function)
    steps = [
        [OPERATION_NAMES[operation], *(operands[1:] if operation == ca.OP_INPUT else operands)]
        for operation, operands in whole.steps
    ]
    results = dict(whole.outputs[0])
    return {
        "names": [entry.name() for entry in symbols],
        "steps": steps,
        "results": [results[k] for k in range(column.numel())],
    }


def expressions(saved: Mapping[str, Any], symbols: Sequence[ca.SX]) -> list[ca.SX]:
    """Return the expressions described by data, in symbols in the order of their names.

    Raises
    ------
    NotResumableError
        The data describe no expressions.
    """
    found: list[ca.SX] = []
    try:
        for name, *arguments in saved["steps"]:
            found.append(_value(str(name), arguments, found, symbols))
        return [found[_place(k, found)] for k in saved["results"]]
    except (KeyError, TypeError, ValueError, IndexError, NotImplementedError, RuntimeError):
        raise NotResumableError(
            "the stored description of an input contains no expression"
        ) from None


def _value(name: str, of: Sequence[Any], found: Sequence[ca.SX], symbols: Sequence[ca.SX]) -> ca.SX:
    if name == "const":
        (number,) = of
        if not is_number(number):
            raise ValueError
        return ca.SX(float(number))
    if name == "input":
        (k,) = of
        return symbols[_place(k, symbols)]
    if name in LEAVES:
        raise ValueError
    operands = [found[_place(k, found)] for k in of]
    make = ca.SX.unary if len(operands) == 1 else ca.SX.binary
    return make(NUMBERS[name], *operands)


def _place(k: Any, among: Sequence[Any]) -> int:
    if not isinstance(k, int) or isinstance(k, bool) or not 0 <= k < len(among):
        raise IndexError
    return k
