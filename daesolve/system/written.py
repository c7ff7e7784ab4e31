"""Expressions in words, as a command line gives them: arithmetic and functions, nothing else."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca

from daesolve.errors import PosingError, unknown_name

CONSTANTS = {"pi": math.pi, "e": math.e}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": ca.sin, "cos": ca.cos, "tan": ca.tan, "asin": ca.asin, "acos": ca.acos,
    "atan": ca.atan, "atan2": ca.atan2, "sinh": ca.sinh, "cosh": ca.cosh, "tanh": ca.tanh,
    "exp": ca.exp, "log": ca.log, "sqrt": ca.sqrt, "abs": ca.fabs, "sign": ca.sign,
    "min": ca.fmin, "max": ca.fmax, "floor": ca.floor, "where": ca.if_else,
}  # fmt: skip
OPERATIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow, ast.USub: operator.neg,
    ast.UAdd: operator.pos, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


def expression_in(owner: str, text: str, symbols: Mapping[str, ca.SX]) -> ca.SX:
    """Return the expression that a text writes: "2 * sin(3 * t) - gain * x".

    Parameters
    ----------
    owner
        Whose it is, for messages.
    text
        Numbers, names, + - * / **, comparisons, brackets and `FUNCTIONS`; nothing is executed.
    symbols
        The names.

    Raises
    ------
    PosingError, UnknownNameError
        It is no such expression, or has a name that nothing carries.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return ca.SX(_value(owner, text, tree.body, symbols))
    except (SyntaxError, ValueError, RecursionError, TypeError, NotImplementedError) as error:
        if isinstance(error, PosingError):
            raise
        raise PosingError(f"{owner} is {text!r}, which is no expression") from None


def _value(owner: str, text: str, node: ast.AST, symbols: Mapping[str, ca.SX]) -> Any:
    def of(part: ast.AST) -> Any:
        return _value(owner, text, part, symbols)

    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            if name in symbols:
                return symbols[name]
            if name in CONSTANTS:
                return CONSTANTS[name]
            raise unknown_name(f"name in {owner}", name, [*symbols, *CONSTANTS])
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATIONS:
            return OPERATIONS[type(op)](of(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
            return OPERATIONS[type(op)](ca.SX(of(left)), ca.SX(of(right)))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATIONS:
            return OPERATIONS[type(op)](ca.SX(of(left)), ca.SX(of(right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            if name not in FUNCTIONS:
                raise unknown_name(f"function in {owner}", name, FUNCTIONS)
            return FUNCTIONS[name](*[ca.SX(of(arg)) for arg in args])
        case _:
            pass
    raise PosingError(
        f"{owner} is {text!r}, but takes numbers, names, + - * / **, comparisons and "
        f"{', '.join(FUNCTIONS)}"
    )
