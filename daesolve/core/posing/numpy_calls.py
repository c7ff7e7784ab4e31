"""NumPy's functions on symbols: they work without CasADi's notice, or an error says what does.

CasADi announces with every first call that the results may change in later versions; what it
returns for symbols now, a CasADi expression, is what this library needs. Its errors, and the ones
of NumPy's arrays of symbols, do not say what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import casadi as ca
import numpy as np

from daesolve.errors import SymbolError

TRUTH = (
    "a symbolic expression is neither true nor false before the motion is known: write "
    "ca.if_else(condition, this, that) for `if`, ca.fmin and ca.fmax for min and max, ca.logic_and "
    "and ca.logic_or for `and` and `or`; and for NumPy arrays of symbols, whose functions compare, "
    "columns such as ca.vertcat(q.x, q.y)"
)


def explain_calls() -> None:
    """Let symbols answer calls of NumPy without a notice, or with a sentence."""
    modes: Any = ca.GlobalOptions
    # A mode that a program has chosen, and CasADi before 3.8, which has none, stay as they are.
    if hasattr(modes, "setNumpyMode") and modes.getNumpyMode() == 0:
        modes.setNumpyMode(-1)
    symbols: Any = ca.SX
    symbols.__bool__ = _explained(symbols.__bool__, RuntimeError, lambda _: TRUTH)
    symbols.__array_ufunc__ = _explained(symbols.__array_ufunc__, TypeError, _unknown)
    symbols.__array_function__ = _explained(symbols.__array_function__, TypeError, _unknown)
    symbols.arctan2 = ca.atan2  # NumPy calls it for arrays of symbols, like `sin` and `hypot`.


def _explained(
    method: Callable[..., Any],
    failure: type[Exception],
    sentence: Callable[[tuple[Any, ...]], str],
) -> Callable[..., Any]:
    """Return a method whose failures, of one kind, become a sentence about its arguments."""

    @wraps(method)
    def explained(self: ca.SX, *arguments: Any, **options: Any) -> Any:
        try:
            answer = method(self, *arguments, **options)
        except failure:
            raise SymbolError(sentence(arguments)) from None
        if answer is NotImplemented and not any(map(_answers_itself, arguments)):
            raise SymbolError(sentence(arguments))
        return answer

    return explained


def _answers_itself(argument: Any) -> bool:
    """Return whether NumPy may ask an argument of another package after CasADi."""
    known = (ca.SX, ca.DM, ca.MX, np.ndarray, np.generic)
    return hasattr(argument, "__array_ufunc__") and not isinstance(argument, (*known, np.ufunc))


def _unknown(arguments: tuple[Any, ...]) -> str:
    called = arguments[0].__name__
    return (
        f"np.{called} does not work on symbols: write it with CasADi's functions, such as "
        "ca.if_else, ca.fmin, ca.fmax, ca.atan2 and ca.floor, or after the run with its numbers"
    )
