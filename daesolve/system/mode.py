"""The equations of a system in one mode, its numbers put into them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.algebra.reading import decided, with_values
from daesolve.equations.dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class InMode:
    """The equations of a system in one mode, its numbers put into them.

    Parameters
    ----------
    dynamics
        The equations, without goals that are let go of.
    fixed
        The values that were replaced by numbers.
    decided
        The values that stay, but decide conditions.
    numbers
        All of p.
    """

    dynamics: Dynamics
    fixed: Mapping[str, float]
    decided: Mapping[str, float]
    numbers: np.ndarray

    @staticmethod
    def of(dynamics: Dynamics, values: Mapping[str, float]) -> InMode:
        """Find which values decide what is in the equations.

        Parameters
        ----------
        dynamics
            The equations.
        values
            Of parameters and discrete values, by name, where they differ from the defaults.

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
        # A parameter of zero may say that another follows: it is left out of the formulas.
        fixed = {n: value for n, value in deciding.items() if n in changing or not value}
        added = {name: 0.0 for name in named if name not in dynamics.ranges}
        holds = {row.hold.name(): 1.0 for row in own.rows if row.hold is not None}
        rest = {name: value for name, value in deciding.items() if name not in fixed}
        return InMode(own, {**added, **fixed, **holds}, rest, numbers)

    def written(self, expression: ca.SX) -> ca.SX:
        """Put the numbers of the mode into an expression."""
        return with_values(ca.SX(expression), self.fixed, self.decided)

    @property
    def said(self) -> dict[str, float]:
        """What a reader is to know of the mode."""
        named = {n: v for n, v in self.fixed.items() if n in self.dynamics.ranges}
        return {**named, **self.decided}
