"""The equations of a certified motion: without feedback, in states and what is carried with them.

On the manifold of the constraints, feedback is zero: without it the motion is the same, and errors
of the arithmetic are not fed back. Carried values are constant between events: uncertain
parameters, and discrete values that depend on the state at the event that set them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.series import missing_in_series
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.value_names import ValueKind

NOTHING = ca.SX(0, 1)
"""An empty column on which others are stacked."""


@dataclass(frozen=True, eq=False)
class CertifiedEquations:
    """Functions of (t, s, p), where s are the states and then the carried values.

    Parameters
    ----------
    problem
        The problem, in a formulation without charts.
    carried
        The places in p of what is carried.
    """

    problem: OdeProblem
    carried: tuple[int, ...]

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.problem.labels.states)

    @property
    def size(self) -> int:
        """The length of s."""
        return self.states + len(self.carried)

    @cached_property
    def symbols(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """The symbols t, s and p."""
        problem = self.problem
        p = ca.SX.sym("p", len(problem.values))  # pyright: ignore
        return ca.SX.sym("t"), ca.SX.sym("s", self.size), p  # pyright: ignore

    @cached_property
    def arguments(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """(t, x, p) of the problem's functions: without feedback, with what is carried."""
        t, s, p = self.symbols
        works = ca.SX(self.problem.size - self.states, 1)
        values = ca.SX(p)
        for place, name in enumerate(self.problem.values):
            if ValueKind.RATE.is_a(name):
                values[place] = 0.0
        for k, place in enumerate(self.carried):
            values[place] = s[self.states + k]
        return t, ca.vertcat(s[: self.states], works), values

    @cached_property
    def rates(self) -> ca.SX:
        """The rates of s."""
        found = self.problem.rhs(*self.arguments)[: self.states]
        return ca.vertcat(ca.densify(found), ca.SX.zeros(len(self.carried)))  # pyright: ignore

    @cached_property
    def guards(self) -> ca.SX:
        """The guards."""
        return ca.densify(self.problem.guards(*self.arguments))

    def function(self, name: str, *columns: ca.SX) -> ca.Function:
        """Return a function of (t, s, p) of columns."""
        names = [f"c{k}" for k in range(len(columns))]
        dense = [ca.densify(column) for column in columns]
        return function_of(name, list(self.symbols), dense, (["t", "s", "p"], names))

    @cached_property
    def all_guards(self) -> ca.Function:
        """A function of the guards."""
        return self.function("guards", self.guards)

    @cached_property
    def moving(self) -> tuple[tuple[int, ...], ca.Function]:
        """The guards that vary along the motion, and a function of them."""
        t, s, _ = self.symbols
        moves = ca.which_depends(ca.vertcat(NOTHING, self.guards), ca.vertcat(t, s), 1, True)
        return self._chosen([k for k, moved in enumerate(moves) if moved])

    @cached_property
    def smooth(self) -> tuple[int, ...]:
        """Those of them that have a Taylor series."""
        return tuple(
            k
            for k in self.moving[0]
            if not missing_in_series(self.function("guard", self.guards[k]))
        )

    @cached_property
    def others(self) -> tuple[tuple[int, ...], ca.Function]:
        """Those that have none, and a function of them."""
        return self._chosen([k for k in self.moving[0] if k not in self.smooth])

    def _chosen(self, places: list[int]) -> tuple[tuple[int, ...], ca.Function]:
        column = ca.vertcat(NOTHING, *[self.guards[k] for k in places])
        return tuple(places), self.function("guards", column)

    @cached_property
    def motion(self) -> ca.Function:
        """The rates, and behind them the guards that have series."""
        guards = [self.guards[k] for k in self.smooth]
        return self.function("motion", ca.vertcat(self.rates, *guards))

    @cached_property
    def slopes(self) -> ca.Function:
        """The rates, and their derivatives by s, column by column."""
        return self.function("slopes", self.rates, _by(self.rates, self.symbols[1]))

    def depends_on_time(self, resets: Sequence[ca.Function]) -> bool:
        """Return whether rates, guards or some resets contain the time."""
        t = self.symbols[0]
        after = [self._after(reset)[0] for reset in resets]
        return bool(ca.depends_on(ca.vertcat(self.rates, self.guards, *after), t))

    def guard(self, index: int) -> ca.Function:
        """Return a guard, its derivatives by s, and its rate along the motion."""
        t, s, _ = self.symbols
        guard = self.guards[index]
        slope = ca.densify(ca.jacobian(guard, s))
        rate = ca.mtimes(slope, self.rates) + ca.jacobian(guard, t)
        return self.function("guard", guard, slope.T, rate)

    def jump(self, reset: ca.Function) -> ca.Function:
        """Return s after a reset, p after it, and derivatives of the former by t and by s."""
        t, s, _ = self.symbols
        new, whole = self._after(reset)
        return self.function("jump", new, whole, ca.jacobian(new, t), _by(new, s))

    def _after(self, reset: ca.Function) -> tuple[ca.SX, ca.SX]:
        """Return s and p after a reset."""
        _, x, p = self.arguments
        own = reset.nnz_in(2)
        after, values = reset(self.symbols[0], x[: reset.nnz_in(1)], p[:own])
        new = ca.vertcat(after[: self.states], *[values[place] for place in self.carried])
        return new, ca.vertcat(values, p[own:])

    def continues(self, index: int, reset: ca.Function) -> bool:
        """Return whether nothing on which a guard depends is changed by a reset."""
        _, s, p = self.symbols
        old, new = ca.vertcat(s, p), ca.vertcat(*self._after(reset))
        read = ca.which_depends(self.guards[index], old, 1, False)
        pairs = zip(read, ca.vertsplit(old), ca.vertsplit(new), strict=True)
        return all(not used or ca.is_equal(before, after) for used, before, after in pairs)


def _by(column: ca.SX, s: ca.SX) -> ca.SX:
    """Return the derivatives of a column, column by column."""
    return ca.vec(ca.densify(ca.jacobian(column, s)))


def depending(equations: CertifiedEquations, resets: Sequence[ca.Function]) -> set[int]:
    """Return the places in p that some resets set to what varies with the state or with time.

    What only jumps with them, such as a count or a choice, does not.
    """
    t, s, p = equations.symbols
    found: set[int] = set()
    for reset in resets:
        values = equations.jump(reset)(t, s, p)[1]
        slopes = ca.sparsify(ca.jacobian(values, ca.vertcat(t, s)))
        found |= set(slopes.sparsity().row())
    return found


def needed(equations: CertifiedEquations, columns: Sequence[ca.SX]) -> set[int]:
    """Return the places in p of which some columns, in the symbols of the equations, depend."""
    p = equations.symbols[2]
    pattern = ca.jacobian_sparsity(ca.vertcat(NOTHING, *columns), p)
    return set(pattern.get_col())


def as_exact(values: np.ndarray) -> list[Any]:
    """Return doubles as balls without radius."""
    from daesolve.verification.enclosure.exact import exact

    return [exact(value) for value in values.tolist()]
