"""Expressions as text, as on the command line: arithmetic and functions, nothing else."""

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
    """Return the expression that a text describes: "2 * sin(3 * t) - gain * x".

    Parameters
    ----------
    owner
        The owner of the expression, for messages.
    text
        Numbers, names, + - * / **, comparisons, brackets and `FUNCTIONS`; nothing is executed.
    symbols
        The symbols by name.

    Raises
    ------
    PosingError, UnknownNameError
        It is not such an expression, or contains an unknown name.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _Reader(owner, text, symbols).value(tree.body)
    except (SyntaxError, ValueError, RecursionError, TypeError, NotImplementedError) as error:
        if isinstance(error, PosingError):
            raise
        raise PosingError(f"{owner} is {text!r}, which is not an expression") from None


class _Reader:
    """Builds an expression from a syntax tree."""

    def __init__(self, owner: str, text: str, symbols: Mapping[str, ca.SX]) -> None:
        self.owner, self.text, self.symbols = owner, text, symbols

    def value(self, node: ast.AST) -> ca.SX:
        """Return the value of a node."""
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return ca.SX(float(number))
            case ast.Name(id=name):
                return self._named(name)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                if name not in FUNCTIONS:
                    raise unknown_name(f"function in {self.owner}", name, FUNCTIONS)
                return FUNCTIONS[name](*[self.value(arg) for arg in args])
            case _:
                operation, operands = self._operation(node)
                return operation(*[self.value(operand) for operand in operands])

    def _named(self, name: str) -> ca.SX:
        if name in self.symbols:
            return self.symbols[name]
        if name in CONSTANTS:
            return ca.SX(CONSTANTS[name])
        raise unknown_name(f"name in {self.owner}", name, [*self.symbols, *CONSTANTS])

    def _operation(self, node: ast.AST) -> tuple[Callable[..., ca.SX], list[ast.expr]]:
        match node:
            case ast.UnaryOp(op=op, operand=operand):
                operands = [operand]
            case ast.BinOp(left=left, op=op, right=right):
                operands = [left, right]
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                operands = [left, right]
            case _:
                op, operands = None, []
        if op is None or type(op) not in OPERATIONS:
            raise PosingError(
                f"{self.owner} is {self.text!r}, but may contain only numbers, names, + - * / "
                f"**, comparisons and {', '.join(FUNCTIONS)}"
                + ("; write a power as x**2" if isinstance(op, ast.BitXor) else "")
            )
        return OPERATIONS[type(op)], operands
