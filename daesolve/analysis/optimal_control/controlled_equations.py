"""The equations of a system with controls, as functions of (t, x, p) without reactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.translation import function_of
from daesolve.core.posing.symbols import symbol
from daesolve.core.system.system import System, unswitched
from daesolve.core.system.written import expression_in
from daesolve.errors import OutOfRangeError, unknown_name
from daesolve.export.named import NamedFunction
from daesolve.export.quantities import Equations

TXP = ["t", "x", "p"]
Expression = str | Callable[[Mapping[str, ca.SX]], "ca.SX | float"]
"""Quantities by name -> one number; or the same as text, such as "force**2"."""


def as_function(name: str, expression: Expression) -> Callable[[Mapping[str, ca.SX]], Any]:
    """Return an expression as a function of the quantities; `name` names it in messages."""
    if isinstance(expression, str):
        return lambda now: expression_in(name, expression, now)
    return expression


class TaskQuantities(dict[str, ca.SX]):
    """Quantities by name; an unknown one is refused with the nearest name."""

    def __missing__(self, name: str) -> ca.SX:
        raise unknown_name("quantity of the task", name, list(self))


@dataclass(frozen=True, eq=False)
class ControlledEquations:
    """x' = f(t, x, p), the constraints F(t, x, p) = 0 that states fulfil, and named quantities.

    Parameters
    ----------
    system
        The system, with all inputs that are no controls.
    around
        A consistent state by name, near which the reactions are eliminated.
    numbers
        Parameters by name that differ from their defaults.
    """

    system: System
    around: Mapping[str, float]
    numbers: Mapping[str, float]

    @cached_property
    def _equations(self) -> Equations:
        system = unswitched(self.system)
        return Equations(system.dynamics, {}, self.around, 0.0, dict(self.numbers))

    @property
    def dynamics(self) -> Dynamics:
        """The equations as posed."""
        return self._equations.dynamics

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the states."""
        return self.dynamics.labels.states

    @cached_property
    def rates(self) -> NamedFunction:
        """(t, x, p) -> x'."""
        return self._equations.function("rhs")

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The names of p."""
        return self.rates.inputs["p"].names

    @cached_property
    def defaults(self) -> np.ndarray:
        """The numbers p; zero where a value has none."""
        rows = self.rates.inputs["p"].rows
        return np.array([0.0 if e.default is None else e.default for e in rows])

    @cached_property
    def constraints(self) -> ca.Function:
        """(t, x, p) -> F: constraints, hidden ones, implicit equations, and fixed invariants."""
        t, x, p = self._symbols
        found = [self._equations.function("residuals")(t, x, p)]
        dynamics = self.dynamics
        own = {name: p[k] for k, name in enumerate(self.values)}
        for row in dynamics.invariants:
            if row.on == "positions" and row.fixed is not None:
                value = self._equations.given(row.value - row.fixed)
                names = [name for name in dynamics.ranges if name in own]
                places = [list(dynamics.ranges).index(name) for name in names]
                theirs = ca.vertcat(dynamics.t, dynamics.x, dynamics.p[places])
                mine = ca.vertcat(t, x, *[own[name] for name in names])
                found.append(ca.substitute(value, theirs, mine))
        return function_of("constraints", [t, x, p], [ca.vertcat(*found)], (TXP, ["F"]))

    @cached_property
    def grips(self) -> ca.Function:
        """(t, x, p) -> the derivative of F by x."""
        t, x, p = self._symbols
        slopes = ca.jacobian(self.constraints(t, x, p), x)
        return function_of("grips", [t, x, p], [ca.densify(slopes)], (TXP, ["F_x"]))

    @cached_property
    def quantities(self) -> TaskQuantities:
        """States, values, outputs, reactions and the time `t` as expressions of (t, x, p)."""
        t, x, p = self._symbols
        found = TaskQuantities(t=t)
        for name in ("reactions", "outputs"):
            function = self._equations.function(name)
            column = function(t, x, p)
            for k, label in enumerate(function.outputs[name].names):
                found[label] = column[k]
        found |= {name: p[k] for k, name in enumerate(self.values)}
        found |= {name: x[k] for k, name in enumerate(self.states)}
        return found

    def of(self, name: str, expressions: Sequence[Expression]) -> ca.Function:
        """Return expressions of quantities as a function of (t, x, p).

        Raises
        ------
        UnknownNameError, PosingError, OutOfRangeError
            One uses a quantity that is none, or is not one number of quantities.
        """
        t, x, p = self._symbols
        known = {one.element_hash() for one in ca.symvar(ca.vertcat(t, x, p))}
        found: list[ca.SX] = []
        for expression in expressions:
            value = ca.SX(as_function(name, expression)(TaskQuantities(self.quantities)))
            foreign = [one for one in ca.symvar(value) if one.element_hash() not in known]
            if value.numel() != 1 or foreign:
                raise OutOfRangeError(
                    f"{name} must be one number computed from quantities that are taken by their "
                    "names from the argument of the function, as in lambda now: now['x'] ** 2"
                )
            found.append(value)
        return function_of("terms", [t, x, p], [ca.vertcat(ca.SX(0, 1), *found)], (TXP, ["value"]))

    @cached_property
    def _symbols(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        return symbol("t"), symbol("x", len(self.states)), symbol("p", len(self.values))
