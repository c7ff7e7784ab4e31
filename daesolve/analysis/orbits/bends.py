"""Bends: places of a motion at which only the expression of its rates changes, not their values.

A stop that begins to push, a rope that becomes taut, a node of a table: an orbit that touches such
a place, where it does not change, has the derivatives of its neighbours, and its branch goes on.
M. di Bernardo et al., Piecewise-smooth Dynamical Systems (Springer, 2008), section 7.2: the map
near the touch differs from a smooth one by terms of order 3/2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Protocol

import casadi as ca
import numpy as np

from daesolve.analysis.manifold import sizes_of
from daesolve.core.equations.fitting import fitting_values
from daesolve.core.events.guard_table import GuardTable
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.formulations import OdeProblem
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.run.integration.record import Boundary, Happening
from daesolve.core.solvers.resting import sizes_of_terms

CONTINUOUS = 1e-7
"""A change of a rate or a guard below this part of its largest value is none.

At a node of a table it is the slope times the distance at which the node counts as passed.
"""


class MotionPoint(Protocol):
    """A place of a motion: time in s, state (n,) and values (np,)."""

    @property
    def time(self) -> float: ...  # noqa: D102
    @property
    def x(self) -> np.ndarray: ...  # noqa: D102
    @property
    def p(self) -> np.ndarray: ...  # noqa: D102


PlaceOf = Callable[[Boundary, float], MotionPoint]


class Bends:
    """Finds the bends of motions.

    Parameters
    ----------
    prepared, whole
        The prepared request, and what is integrated, without charts.
    """

    def __init__(self, prepared: Prepared, whole: OdeProblem) -> None:
        self.dynamics, self.whole = prepared.dynamics, whole
        nodes = [row.name for row in self.dynamics.drives if row.lookup is not None]
        events = whole.events
        self.names = {*self.dynamics.switches, *(f"{name}_node" for name in nodes)}
        self.names &= {event.name for event in events}
        table = GuardTable(events)
        own = table.each([event.name in self.names for event in events])
        whenever = table.each([event.then.counts_past for event in events])
        ways = np.array([event.direction.value for event in events], dtype=float)[table.owners]
        self._ways = np.where(own & whenever, ways, 0.0)
        self._others = np.flatnonzero(~own)
        t, x, p = (whole.rhs.sx_in(k) for k in range(3))
        guards = whole.guards(t, x, p)
        # Not indexed by a list: an empty one makes a row of a single guard.
        seen = ca.vertcat(whole.rhs(t, x, p), *(guards[k] for k in self._others.tolist()))
        self._sizes = sizes_of(prepared)
        self._seen = Evaluator(ca.Function("seen", [t, x, p], [ca.densify(seen)]))
        self._guards = Evaluator(ca.Function("guards", [t, x, p], [ca.densify(guards)]))

    def of(
        self, events: Iterable[Happening], ends: tuple[MotionPoint, MotionPoint], place_of: PlaceOf
    ) -> list[Happening]:
        """Return which events between two places are bends.

        Parameters
        ----------
        events, ends
            What happened, and the first and the last place.
        place_of
            The place of a boundary at a time, s.
        """
        events = [e for e in events if e.name in self.names and e.after is not None]
        if not events:
            return []
        seen = [self._at(place) for place in ends]
        bends: list[tuple[Happening, np.ndarray]] = []
        for event in events:
            before = place_of(event.at, event.time)
            after = place_of(event.after or event.at, event.time)
            seen += [self._at(before), self._at(after)]
            if np.array_equal(before.x, after.x):
                bends.append((event, seen[-1] - seen[-2]))
        largest = np.fmax(np.max(np.abs(np.array(seen)), axis=0), self._least(*ends))
        return [event for event, jump in bends if np.all(np.abs(jump) <= CONTINUOUS * largest)]

    def _least(self, first: MotionPoint, last: MotionPoint) -> np.ndarray:
        """Return rates and guards that are large even if they are never but rounding."""
        x = np.concatenate([first.x, np.zeros(self.whole.size - len(first.x))])
        terms = sizes_of_terms(self.whole, first.time, x, first.p[: len(self.whole.values)])
        rates = np.zeros(self.whole.size)
        rates[: len(self._sizes)] = self._sizes / (abs(last.time - first.time) or 1.0)
        return np.concatenate([rates, terms[self._others]])

    def fitting(self, node: MotionPoint) -> np.ndarray:
        """Return the values of a place with the pieces and branches that its state is in."""
        p, own = node.p, len(self.dynamics.values)
        if not self.names or not np.any(self._ways * self._value(self._guards, node) > 0.0):
            return p
        values = dict(zip(self.dynamics.values, p[:own].tolist(), strict=True))
        values_there = fitting_values(self.dynamics, values, node.x, node.time)
        return np.concatenate([self.dynamics.value_vector(values_there), p[own:]])

    def pieces(self, node: MotionPoint) -> np.ndarray:
        """Return the values of a place with the pieces of tables that its arguments are in."""
        p, own, names = node.p.copy(), len(self.dynamics.values), list(self.dynamics.values)
        for row in self.dynamics.drives:  # Tables in the arguments of others come first.
            if row.lookup is not None:
                places = [names.index(name) for name in row.begin]
                found = self._begun[row.name](node.time, node.x, p[:own])
                p[places] = np.asarray(found).ravel()
        return p

    @cached_property
    def _begun(self) -> dict[str, ca.Function]:
        """(t, x, p) -> the values of each table, by name."""
        dynamics = self.dynamics
        places = [dynamics.t, dynamics.x, dynamics.p]
        return {
            row.name: ca.Function("begun", places, [ca.densify(ca.vertcat(*row.begin.values()))])
            for row in dynamics.drives
            if row.lookup is not None
        }

    def _at(self, node: MotionPoint) -> np.ndarray:
        return self._value(self._seen, node)

    def _value(self, function: Evaluator, node: MotionPoint) -> np.ndarray:
        x = np.concatenate([node.x, np.zeros(self.whole.size - len(node.x))])
        return function(node.time, x, node.p[: len(self.whole.values)])[0]
