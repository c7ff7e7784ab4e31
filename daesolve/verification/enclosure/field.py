"""A function of (t, x, p) whose Taylor coefficients are enclosed along its own motion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions import operations
from daesolve.core.expressions.translation import function_of
from daesolve.core.solvers.taylor_kernel.instructions import Instructions
from daesolve.verification.enclosure import ball_series
from daesolve.verification.enclosure.ball_series import COMPLETE, POLE
from daesolve.verification.enclosure.exact import (
    evaluate,
    from_exact,
    function_value,
    to_exact,
)

_compiled: Any = ball_series


class PoleError(ArithmeticError):
    """A box contains a place at which the equations have no series."""


class BallField:
    """The rates of a motion, and values that follow it.

    Parameters
    ----------
    table
        The instructions of (t, x, p) -> one column: the rates of x, then further values.
    p
        The values, each a ball of python-flint.
    """

    def __init__(self, table: Instructions, p: Sequence[Any]) -> None:
        self.table, self.p = table, list(p)
        self.states = table.states

    def followed(self, rows: np.ndarray) -> np.ndarray:
        """Return the coefficients of the further values, (values, orders, 3), from all rows."""
        further = self.table.outputs[self.states :]
        found = np.zeros((len(further), *rows.shape[1:]))
        for k, (is_row, place) in enumerate(further.tolist()):
            if is_row:
                found[k] = rows[place]
            else:
                found[k, 0] = self._numbers[place]
        return found

    @cached_property
    def _known(self) -> list[Any]:
        """The numbers of the instructions."""
        numbers = self.table.numbers
        known = list(self.p)
        if numbers.given is not None:
            known += evaluate(numbers.given, self.p)[0]
        for value, base in numbers.own:
            known.append(to_exact((value, 0.0, 0.0)) if base is None else known[base].log())
        return known

    @cached_property
    def _numbers(self) -> np.ndarray:
        """(n, 3) the same as compiled code takes them."""
        return np.array([from_exact(value) for value in self._known]).reshape(-1, 3)

    def series(self, time: np.ndarray, x: np.ndarray, order: int) -> np.ndarray:
        """Return the coefficients of all rows over a box.

        Parameters
        ----------
        time, x
            (3,) and (states, 3) balls.
        order
            The highest coefficient of the states.

        Returns
        -------
        numpy.ndarray
            (rows, order + 1, 3); the states first.

        Raises
        ------
        PoleError
            The box contains a place without a series.
        """
        table = self.table
        rows = np.zeros((table.rows, order + 1, 3))
        rows[: self.states, 0] = x
        rows[self.states, 0] = time
        if order:
            rows[self.states, 1, 0] = 1.0
        first = 0
        while True:
            first = _compiled.fill(
                _compiled.VERSION, rows, self._numbers, table.codes, table.ends, table.terms,
                table.outputs, self.states, first, order,
            )  # fmt: skip
            if first == COMPLETE:
                return rows
            if first == POLE:
                raise PoleError
            _, _, _, x, y, code = table.codes[first].tolist()
            second = self._known[y] if code == operations.POWER else to_exact(rows[y, 0])
            value = from_exact(function_value(code, to_exact(rows[x, 0]), second))
            if not np.isfinite(value[2]):
                raise PoleError
            rows[self.states + 1 + first, 0] = value
            first += 1


def with_variations(function: ca.Function, columns: Sequence[int]) -> ca.Function:
    """Return the rates together with those of their derivatives by the start, column by column.

    Parameters
    ----------
    function
        (t, x, p) -> rates
    columns
        The states by whose start they are differentiated.
    """
    t, x, p = (function.sx_in(k) for k in range(3))
    variations = ca.SX.sym("v", x.numel(), len(columns))  # pyright: ignore
    rates = ca.densify(function(t, x, p))
    slopes = ca.jtimes(rates, x, variations) if columns else variations
    state = ca.vertcat(x, ca.vec(variations))
    return function_of(
        "variations",
        [t, state, p],
        [ca.vertcat(rates, ca.densify(ca.vec(slopes)))],
        (["t", "x", "p"], ["rate"]),
    )
