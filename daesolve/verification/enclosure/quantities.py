"""What else a certificate encloses: reactions, outputs and invariants, functions of the states.

Their boxes are made from the set of states and not from its box, so an invariant of a wide set
stays as narrow as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.series import missing_in_series
from daesolve.core.expressions.translation import function_of
from daesolve.core.solvers.taylor_kernel.instructions import Instructions, instructions
from daesolve.verification.enclosure.equations import CertifiedEquations
from daesolve.verification.enclosure.field import BallField, PoleError
from daesolve.verification.enclosure.interval_matrices import UP, IntervalMatrix
from daesolve.verification.enclosure.state_sets import StateSet


class EnclosedQuantities:
    """Functions of (t, s, p) whose values are enclosed at samples.

    Quantities with an operation that has no derivatives, such as a sign, and integrals along the
    motion are left out.
    """

    def __init__(self, equations: CertifiedEquations, dynamics: Dynamics) -> None:
        self.equations = equations
        known = _followed(equations) | _conserved(equations, dynamics)
        self._known = {
            name: value
            for name, value in known.items()
            if not missing_in_series(equations.function("quantity", value))
        }
        self.names = tuple(self._known)

    @cached_property
    def _table(self) -> Instructions:
        t, s, p = self.equations.symbols
        column = ca.vertcat(ca.SX(0, 1), *self._known.values())
        slopes = ca.vec(ca.densify(ca.jacobian(column, s)))
        whole = ca.vertcat(ca.SX.zeros(self.equations.size), ca.densify(column), slopes)  # pyright: ignore
        return instructions(function_of("quantities", [t, s, p], [whole], (["t", "s", "p"], ["q"])))

    def at(
        self, time: float, start: StateSet, where: tuple[np.ndarray, IntervalMatrix], p: list[Any]
    ) -> np.ndarray:
        """Return balls, (quantities, 3), that contain the values over the image of a set.

        Parameters
        ----------
        time
            s
        start
            The set.
        where
            The image of its centre, in balls, and the slopes of the map there.
        p
            The values.
        """
        count, (image, slopes) = len(self.names), where
        if not count:
            return np.empty((0, 3))
        box = image.copy()
        box[:, 2] = (box[:, 2] + start.errors(slopes)) * UP
        moment, field = np.array([time, 0.0, 0.0]), BallField(self._table, p)
        try:
            found = field.followed(field.series(moment, image, 0))[:count, 0]
            over = field.followed(field.series(moment, box, 0))[count:, 0]
        except PoleError:
            return np.column_stack([np.full((count, 2), np.nan), np.full(count, np.inf)])
        table = over.reshape(self.equations.size, count, 3).transpose(1, 0, 2)
        spread = start.errors(IntervalMatrix.of_balls(table) @ slopes)
        return np.column_stack([found[:, :2], (found[:, 2] + spread) * UP])


def _followed(equations: CertifiedEquations) -> dict[str, ca.SX]:
    """Return reactions and outputs by name, without those that contain integrals."""
    problem = equations.problem
    t, x, p = equations.arguments
    works = ca.SX.sym("works", problem.size - equations.states)  # pyright: ignore
    state = ca.vertcat(x[: equations.states], works)
    found = problem.recover(t, state, p)
    names = (*problem.labels.reactions, *problem.labels.outputs)
    column = ca.vertcat(ca.SX(0, 1), found[1], found[2])
    return {
        name: ca.densify(column[k])
        for k, name in enumerate(names)
        if not ca.depends_on(column[k], works)
    }


def _conserved(equations: CertifiedEquations, dynamics: Dynamics) -> dict[str, ca.SX]:
    """Return the invariants by name."""
    rows: Sequence[Any] = dynamics.invariants
    t, x, p = equations.arguments
    given = [t, x[: equations.states], p[: dynamics.p.numel()]]
    symbols = [dynamics.t, dynamics.x, dynamics.p]
    return {
        row.name: function_of("invariant", symbols, [row.value], (["t", "x", "p"], ["value"]))(
            *given
        )
        for row in rows
    }
