"""Values of expressions at many points: one operation after another, each over all points.

The table of operations is the auditor's own: it shares no evaluator with what it audits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import casadi as ca
import numpy as np

AT_ONCE = 2048
"""Points that are evaluated together, so that what an operation works on stays near."""
Operation = Callable[..., Any]


def _truth(of: Operation) -> Operation:
    def told(*values: np.ndarray) -> np.ndarray:
        return of(*values).astype(float)

    return told


def _doubled(values: np.ndarray) -> np.ndarray:
    return 2.0 * values


def _where_held(held: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values where a condition holds: elsewhere they do not count, be they infinite."""
    return np.where(held != 0.0, values, 0.0)


def _error_function(values: np.ndarray) -> np.ndarray:
    from scipy import special  # takes long to import, and is rarely used

    return special.erf(values)


OPERATIONS: dict[int, Operation] = {
    ca.OP_ASSIGN: np.positive,
    ca.OP_ADD: np.add,
    ca.OP_SUB: np.subtract,
    ca.OP_MUL: np.multiply,
    ca.OP_DIV: np.divide,
    ca.OP_NEG: np.negative,
    ca.OP_EXP: np.exp,
    ca.OP_LOG: np.log,
    ca.OP_POW: np.power,
    ca.OP_CONSTPOW: np.power,
    ca.OP_SQRT: np.sqrt,
    ca.OP_SQ: np.square,
    ca.OP_TWICE: _doubled,
    ca.OP_SIN: np.sin,
    ca.OP_COS: np.cos,
    ca.OP_TAN: np.tan,
    ca.OP_ASIN: np.arcsin,
    ca.OP_ACOS: np.arccos,
    ca.OP_ATAN: np.arctan,
    ca.OP_ATAN2: np.arctan2,
    ca.OP_SINH: np.sinh,
    ca.OP_COSH: np.cosh,
    ca.OP_TANH: np.tanh,
    ca.OP_ASINH: np.arcsinh,
    ca.OP_ACOSH: np.arccosh,
    ca.OP_ATANH: np.arctanh,
    ca.OP_LT: _truth(np.less),
    ca.OP_LE: _truth(np.less_equal),
    ca.OP_EQ: _truth(np.equal),
    ca.OP_NE: _truth(np.not_equal),
    ca.OP_NOT: _truth(np.logical_not),
    ca.OP_AND: _truth(np.logical_and),
    ca.OP_OR: _truth(np.logical_or),
    ca.OP_FLOOR: np.floor,
    ca.OP_CEIL: np.ceil,
    ca.OP_FMOD: np.fmod,
    ca.OP_FABS: np.abs,
    ca.OP_SIGN: np.sign,
    ca.OP_COPYSIGN: np.copysign,
    ca.OP_ERF: _error_function,
    ca.OP_FMIN: np.fmin,
    ca.OP_FMAX: np.fmax,
    ca.OP_INV: np.reciprocal,
    ca.OP_LOG1P: np.log1p,
    ca.OP_EXPM1: np.expm1,
    ca.OP_HYPOT: np.hypot,
    ca.OP_IF_ELSE_ZERO: _where_held,
}


class Program:
    """A column of k expressions as a list of operations.

    Parameters
    ----------
    expressions
        The column.
    """

    def __init__(self, expressions: ca.SX) -> None:
        self.symbols: list[ca.SX] = ca.symvar(expressions)
        self.count = expressions.numel()
        column = ca.vertcat(ca.SX(0, 1), *self.symbols)
        self.function = ca.Function("posed", [column], [ca.densify(expressions)])
        function = self.function
        steps = [
            (
                function.instruction_id(k),
                function.instruction_input(k),
                function.instruction_output(k),
            )
            for k in range(function.n_instructions())
        ]
        self.known = all(op in OPERATIONS or op in _MOVED for op, _, _ in steps)
        self.constants = {
            k: function.instruction_constant(k)
            for k, (op, _, _) in enumerate(steps)
            if op == ca.OP_CONST
        }
        self.steps = [
            (op, OPERATIONS.get(op), tuple(read), tuple(written)) for op, read, written in steps
        ]

    def __call__(self, given: Sequence[np.ndarray], count: int) -> np.ndarray:
        """Return the values of all expressions at n points, (k, n).

        Parameters
        ----------
        given
            The values of each of `symbols`: (n,).
        count
            n.
        """
        if not self.known:
            points = np.array(given).reshape(len(given), count)
            return np.array(self.function(points), dtype=float)
        found = np.empty((self.count, count))
        for first in range(0, count, AT_ONCE):
            points = slice(first, first + AT_ONCE)
            self._fill(found[:, points], [row[points] for row in given])
        return found

    def _fill(self, out: np.ndarray, given: Sequence[np.ndarray]) -> None:
        """Carry out all operations at some points."""
        held: list[Any] = [0.0] * self.function.sz_w()
        for k, (op, operation, read, written) in enumerate(self.steps):
            if operation is not None:
                held[written[0]] = operation(*[held[place] for place in read])
            elif op == ca.OP_INPUT:
                held[written[0]] = given[read[1]]
            elif op == ca.OP_OUTPUT:
                out[written[1]] = held[read[0]]
            else:
                held[written[0]] = self.constants[k]

    def is_continuous(self, constants: Collection[int]) -> bool:
        """Tell whether the expressions are continuous by structure, wherever they have a value.

        Quotients by what may vary have poles, and other operations jump.

        Parameters
        ----------
        constants
            The hashes of the symbols that do not vary.
        """
        fixed, numbers = set[int](), dict[int, float]()
        for k, (op, _, read, written) in enumerate(self.steps):
            if op == ca.OP_INPUT:
                still = self.symbols[read[1]].element_hash() in constants
            elif op == ca.OP_OUTPUT:
                continue
            else:
                still = k in self.constants or fixed.issuperset(read)
            by_fixed = op == ca.OP_DIV and read[1] in fixed
            power = op in (ca.OP_POW, ca.OP_CONSTPOW) and numbers.get(read[1], 0.0) > 0.0
            if not (still or op in CONTINUOUS or by_fixed or power):
                return False
            # A register that is written again is another one.
            numbers.pop(written[0], None)
            if k in self.constants:
                numbers[written[0]] = self.constants[k]
            fixed = (fixed | {written[0]}) if still else (fixed - {written[0]})
        return True


_MOVED = {ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT}


CONTINUOUS = {
    *(ca.OP_ASSIGN, ca.OP_INPUT, ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE),
    *(ca.OP_SIN, ca.OP_COS, ca.OP_SINH, ca.OP_COSH, ca.OP_TANH, ca.OP_ATAN, ca.OP_ASINH, ca.OP_ERF),
    *(ca.OP_EXP, ca.OP_EXPM1, ca.OP_SQRT, ca.OP_ASIN, ca.OP_ACOS, ca.OP_HYPOT),
    *(ca.OP_FABS, ca.OP_FMIN, ca.OP_FMAX),
}
"""Operations that are continuous wherever they have a value."""


def evaluate(
    symbols: Sequence[ca.SX], expressions: ca.SX, given: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the values of k expressions at n points, (k, n).

    Parameters
    ----------
    symbols, given
        All symbols, and the values of each: (n,).
    expressions
        A column.
    """
    rows = {s.element_hash(): row for s, row in zip(symbols, given, strict=True)}
    program = Program(expressions)
    return program([rows[s.element_hash()] for s in program.symbols], len(given[0]))
