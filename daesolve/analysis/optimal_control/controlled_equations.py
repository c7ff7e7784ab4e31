"""The equations of a system with controls, as functions of (t, x, p) without reactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.impacts import changed_by, settle_function
from daesolve.core.expressions.translation import function_of
from daesolve.core.posing.symbols import symbol
from daesolve.core.system.system import System, unswitched
from daesolve.core.system.written import expression_in
from daesolve.errors import OutOfRangeError, UnsupportedError, unknown_name
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
        for row in self.dynamics.invariants:
            if row.on == "positions" and row.fixed is not None:
                found.append(self._in_own(self._equations.given(row.value - row.fixed)))
        return function_of("constraints", [t, x, p], [ca.vertcat(*found)], (TXP, ["F"]))

    def landing(self, event: str) -> ca.Function:
        """Return (t, x, p) -> (its guard, the states after its reset), by the law of the library.

        Raises
        ------
        UnknownNameError, UnsupportedError
            There is no such event, it has several guards, or nothing is reset.
        """
        dynamics = self.dynamics
        names = [one.name for one in dynamics.events]
        if event not in names:
            raise unknown_name("event", event, names)
        index = names.index(event)
        guards, reset = dynamics.events[index].guards, dynamics.resets.get(index)
        if reset is None or guards.numel() != 1:
            raise UnsupportedError(
                f"a motion cannot end with the event {event!r}: it needs one guard and a reset, "
                "and cannot be that of a contact"
            )
        after, values, restitution = changed_by(dynamics, reset, dynamics.x, dynamics.p)
        if reset.imposed:
            rows = [*dynamics.rows, *reset.momentary]
            thrown = [restitution if row.name in reset.imposed else ca.SX(0) for row in rows]
            settle = settle_function(dynamics, self._equations.plan, reset.momentary)
            after = settle(dynamics.t, after, values, ca.vertcat(*thrown))[0]
        found = ca.substitute(ca.vertcat(guards, after), reset.fired, ca.SX(1))
        t, x, p = self._symbols
        found = self._in_own(ca.SX(self._equations.given(found)))
        return function_of("landing", [t, x, p], [found], (TXP, ["guard_and_state"]))

    def _in_own(self, expression: ca.SX) -> ca.SX:
        """Write an expression of the symbols of the equations in those of the functions."""
        t, x, p = self._symbols
        dynamics, own = self.dynamics, {name: p[k] for k, name in enumerate(self.values)}
        names = [name for name in dynamics.ranges if name in own]
        places = [list(dynamics.ranges).index(name) for name in names]
        theirs = ca.vertcat(dynamics.t, dynamics.x, dynamics.p[places])
        return ca.substitute(expression, theirs, ca.vertcat(t, x, *[own[name] for name in names]))

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
