"""Tables and sampled laws in the short run, which shows sizes and steps before a run."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from daesolve.core.equations.drives import CalledLaw
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem

MOST = 64
"""Nodes that a step passes at most before it is left as it is."""


class Drives:
    """Keeps tables and sampled laws up to date along a short run.

    Parameters
    ----------
    problem, dynamics
        What is integrated, without a chart, and its equations.

    Attributes
    ----------
    own
        Which guards of the problem are theirs.
    """

    def __init__(self, problem: OdeProblem, dynamics: Dynamics) -> None:
        events = {name for row in dynamics.drives for name in row.events}
        self.own = np.array([event.name in events for event in problem.guarded], dtype=bool)
        self._names = list(problem.values)
        self._resetting = [
            index for index, event in enumerate(problem.events)
            if event.name in events and index in dynamics.resets
        ]  # fmt: skip
        self._places = {
            index: np.array([e is problem.events[index] for e in problem.guarded], dtype=bool)
            for index in self._resetting
        }
        t, x, p = (problem.guards.sx_in(k) for k in range(3))
        guards = problem.guards(t, x, p)
        alone = [
            not ca.depends_on(guard, x) and bool(mine)
            for guard, mine in zip(ca.vertsplit(guards), self.own, strict=True)
        ]
        self._timed = np.array(alone, dtype=bool)
        both = ca.densify(ca.horzcat(guards, ca.jacobian(guards, t)))
        self._guards = function_of("due", [t, x, p], [both], (["t", "x", "p"], ["guards"]))
        self._changes = {index: self._function(dynamics, index) for index in self._resetting}
        self._called = {
            dynamics.events.index(event): CalledLaw(dynamics, row.law)
            for row in dynamics.drives
            if row.law is not None
            for event in dynamics.events
            if event.name == row.law.event
        }
        self._written = {index: tuple(dynamics.resets[index].values) for index in self._resetting}
        self._count = (dynamics.x.numel(), dynamics.p.numel())

    @staticmethod
    def _function(dynamics: Dynamics, index: int) -> ca.Function:
        reset = dynamics.resets[index]
        column = ca.densify(ca.vertcat(*reset.values.values()))
        arguments = [dynamics.t, dynamics.x, dynamics.p, reset.fired]
        names = ["t", "x", "p", "fired"], ["values"]
        return function_of("changes", arguments, [column], names)

    def due(self, time: float, x: np.ndarray, p: np.ndarray, until: float) -> float:
        """Return when the next node or sample comes, s, at most a time."""
        found = np.asarray(self._guards(time, x, p))
        rising = self._timed & (found[:, 1] > 0.0) & (found[:, 0] < 0.0)
        moments = time - found[rising, 0] / found[rising, 1]
        due = float(np.min(moments, initial=math.inf))
        # Backwards in time nothing is reset.
        return min(due, until) if until > time else until

    def after(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the values after the changes due at a state; the same array if there are none."""
        values = p
        states, own = x[: self._count[0]], self._count[1]
        for _ in range(MOST):
            past = np.asarray(self._guards(time, x, values))[:, 0] >= -1e-12 * max(abs(time), 1e-9)
            fired = [index for index, rows in self._places.items() if np.any(past[rows])]
            if not fired:
                break
            before = values
            values = values.copy()
            for index in fired:
                seen = before.copy()
                if index in self._called:
                    for name, value in self._called[index](time, states, before[:own]).items():
                        seen[self._names.index(name)] = value
                passed = past[self._places[index]].astype(float)
                changed = np.asarray(self._changes[index](time, states, seen[:own], passed))
                for name, value in zip(self._written[index], changed.ravel(), strict=True):
                    values[self._names.index(name)] = value
        return values
