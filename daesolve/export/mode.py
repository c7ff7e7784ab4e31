"""The equations of a system in one mode, with its numbers substituted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.export.readable_expressions import decided, with_values


@dataclass(frozen=True, eq=False)
class InMode:
    """The equations of a system in one mode, with its numbers substituted.

    Parameters
    ----------
    dynamics
        The equations without released goals.
    fixed
        The values that numbers have replaced.
    decided
        The values that stay symbols but decide conditions.
    numbers
        All of p.
    """

    dynamics: Dynamics
    fixed: Mapping[str, float]
    decided: Mapping[str, float]
    numbers: np.ndarray

    @staticmethod
    def of(dynamics: Dynamics, values: Mapping[str, float]) -> InMode:
        """Find the values that decide which terms the equations have.

        Parameters
        ----------
        dynamics
            The equations.
        values
            Parameters and discrete values by name that differ from their defaults.

        Raises
        ------
        UnknownNameError
            There is no such value.
        """
        numbers = dynamics.value_vector(values)
        named = dict(zip(dynamics.values, numbers.tolist(), strict=True))
        own = dynamics.in_mode(numbers)
        expressions = ca.veccat(
            own.mass, own.force, own.influence, own.position_rates, *own.independent.values(),
            *(row.chain[-1] for row in own.rows), *(row.bias for row in own.rows),
        )  # fmt: skip
        posed = {name: named[name] for name in dynamics.ranges}
        deciding = decided(ca.SX(expressions), posed)
        changing = {*dynamics.discrete, *dynamics.switches}
        # A parameter of zero may make another one irrelevant, which is then left out of the
        # formulas.
        fixed = {n: value for n, value in deciding.items() if n in changing or not value}
        added = {name: 0.0 for name in named if name not in dynamics.ranges}
        holds = {row.hold.name(): 1.0 for row in own.rows if row.hold is not None}
        rest = {name: value for name, value in deciding.items() if name not in fixed}
        return InMode(own, {**added, **fixed, **holds}, rest, numbers)

    def written(self, expression: ca.SX) -> ca.SX:
        """Substitute the numbers of the mode in an expression."""
        return with_values(ca.SX(expression), self.fixed, self.decided)

    @property
    def said(self) -> dict[str, float]:
        """Describe the mode for the reader."""
        named = {n: v for n, v in self.fixed.items() if n in self.dynamics.ranges}
        return {**named, **self.decided}
