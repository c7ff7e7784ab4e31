"""A motion and its derivative in one direction, as one motion with events of its own.

Let s and pi be the derivatives of the state and of the values in this direction at a given time, j
that of an integral of L, tau that of the time of the last event, g its guard and R its reset:

    x' = f,    s' = f_x s + f_p pi,    j' = L_x s + L_p pi                  between events
    tau = -(g_x s + g_p pi) / g',    s + f tau -> s,    j + L tau -> j     where an event begins
    R(x) -> x,    R_x s + R_p pi + R_t tau -> s                            through each reset
    s - f tau -> s,    j - L tau -> j                                      where it ends

The derivative of an objective in the direction is a term of the end of this motion. The gradient of
that, carried back as any other, is the Hessian of the objective times the direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daesolve.analysis.gradients.adjoint_equations import Change, change_of
from daesolve.analysis.gradients.objective import Expression, expression_in
from daesolve.core.events.jumps import JumpFunction
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.symbols import symbol


@dataclass(frozen=True)
class _Symbols:
    """The symbols of a motion and of its derivative.

    Parameters
    ----------
    t, x, p
        Those of the motion.
    s, j, moved, late
        Those of the derivative; `moved` has the values in p at the places `active`.
    """

    t: ca.SX
    x: ca.SX
    p: ca.SX
    s: ca.SX
    j: ca.SX
    moved: ca.SX
    late: ca.SX
    active: tuple[int, ...]

    @classmethod
    def of(cls, t: ca.SX, x: ca.SX, p: ca.SX, active: tuple[int, ...]) -> _Symbols:
        s, j = symbol("tangent", x.numel()), symbol("integral", 1)
        return cls(t, x, p, s, j, symbol("moved", len(active)), symbol("late", 1), active)

    @property
    def arguments(self) -> list[ca.SX]:
        """Time, state and values."""
        return [self.t, *self.joined(self.x, self.p, self.s, self.j, self.moved, self.late)]

    def joined(self, x: ca.SX, p: ca.SX, *more: ca.SX) -> list[ca.SX]:
        """Return state and values, with s, j, moved and late."""
        s, j, moved, late = more
        return [ca.vertcat(x, s, j), ca.vertcat(p, moved, late)]

    def along(self, found: ca.SX, s: ca.SX | None = None, late: ca.SX | float = 0.0) -> ca.SX:
        """Return the derivative of an expression, perhaps with another s, at a time that varies."""
        moved = ca.SX.zeros(self.p.numel())
        moved[list(self.active)] = self.moved
        change = ca.vertcat(late, self.s if s is None else s, moved)
        return ca.jtimes(found, ca.vertcat(self.t, self.x, self.p), change)

    def density(self, problem: OdeProblem, running: Expression | None) -> ca.SX:
        """Return what is integrated."""
        if running is None:
            return ca.SX(0)
        return expression_in(problem, running, self.t, self.x, self.p)

    def time_of(self, problem: OdeProblem, guard: int | None) -> ca.SX:
        """Return the derivative of the time at which a guard passes; without one, the last."""
        if guard is None:
            return self.late
        passing = problem.guards(self.t, self.x, self.p)[guard]
        motion = problem.rhs(self.t, self.x, self.p)
        rate = ca.jtimes(passing, ca.vertcat(self.t, self.x), ca.vertcat(1, motion))
        return -self.along(passing) / rate


def _symbols(problem: OdeProblem, active: tuple[int, ...]) -> _Symbols:
    t, x, p = (problem.rhs.sx_in(k) for k in range(3))
    return _Symbols.of(t, x, p, active)


@built_once
def tangent_problem(
    problem: OdeProblem, active: tuple[int, ...], running: Expression | None
) -> OdeProblem:
    """Return a motion and its derivative as one problem.

    Parameters
    ----------
    problem
        The motion in all states, without a chart.
    active
        The indices of values in p that change.
    running
        What is integrated, if anything.
    """
    own = _symbols(problem, active)
    rate = problem.rhs(own.t, own.x, own.p)
    integrated = own.along(own.density(problem, running))
    names = list(problem.values)
    values = {**problem.values, **{f"tangent_{names[k]}": 0.0 for k in active}, "tangent_t": 0.0}

    def function(name: str, found: ca.SX) -> ca.Function:
        return function_of(name, own.arguments, [found], (["t", "x", "p"], [name]))

    return replace(
        problem,
        size=2 * problem.size + 1,
        values=values,
        rhs=function("rhs", ca.vertcat(rate, own.along(rate), integrated)),
        guards=function("guards", problem.guards(own.t, own.x, own.p)),
        project=None,
        chart=None,
        equations=None,
    )


@built_once
def moved_to_event(
    problem: OdeProblem,
    active: tuple[int, ...],
    running: Expression | None,
    guard: int | None,
    sign: int,
) -> Change:
    """Return how derivatives at a given time become those at an event, whose time varies, or back.

    Parameters
    ----------
    problem, active, running
        As in `tangent_problem`.
    guard
        The guard that determines the time; None if the event before it does.
    sign
        1 to the event, -1 from it.
    """
    own = _symbols(problem, active)
    late = own.time_of(problem, guard)
    s = own.s + sign * late * problem.rhs(own.t, own.x, own.p)
    j = own.j + sign * late * own.density(problem, running)
    after = own.joined(own.x, own.p, s, j, own.moved, late)
    return change_of(ca.Function("moved", [*own.arguments, ca.SX.sym("fired", 0)], after))


@built_once
def tangent_jump(jump: JumpFunction, active: tuple[int, ...]) -> Change:
    """Return what a jump changes, at an event whose time varies."""
    t, x, p, fired = (jump.function.sx_in(k) for k in range(4))
    own = _Symbols.of(t, x, p, active)
    state, values = jump.function(t, x, p, fired)[:2]
    s, moved = (own.along(after, late=own.late) for after in (state, values))
    after = own.joined(state, values, s, own.j, moved[list(active)], own.late)
    return change_of(ca.Function("jump", [*own.arguments, fired], after))


@built_once
def tangent_slopes(
    problem: OdeProblem, active: tuple[int, ...], expression: Expression | None
) -> Evaluator:
    """Return the derivative of a term at a given time, and the slopes of that by t, x and p."""
    own = _symbols(problem, active)
    return _slopes(own, own.along(own.density(problem, expression)))


@built_once
def tangent_slopes_of_end(
    problem: OdeProblem,
    active: tuple[int, ...],
    terms: tuple[Expression | None, Expression | None],
    ended: tuple[bool, int | None],
) -> Evaluator:
    """Return the same for the terms of the end and of what is integrated.

    Parameters
    ----------
    problem, active
        As in `tangent_problem`.
    terms
        The term of the end, and what is integrated.
    ended
        Whether the end varies, and the guard that determines it, as in `moved_to_event`.
    """
    own = _symbols(problem, active)
    varies, guard = ended
    late = own.time_of(problem, guard) if varies else ca.SX(0)
    end, density = (own.density(problem, term) for term in terms)
    there = own.s + late * problem.rhs(own.t, own.x, own.p)
    return _slopes(own, own.along(end, there, late) + own.j + late * density)


def _slopes(own: _Symbols, found: ca.SX) -> Evaluator:
    slopes = [ca.gradient(found, by) for by in own.arguments]
    names = (["t", "x", "p"], ["value", "by_t", "by_x", "by_p"])
    return Evaluator(function_of("tangent_slopes", own.arguments, [found, *slopes], names))


def place_of(
    x: np.ndarray, p: np.ndarray, s: np.ndarray, moved: np.ndarray, late: float
) -> Sequence[np.ndarray]:
    """Return state and values in the order of these equations; the integral does not matter."""
    return np.concatenate([x, s, [0.0]]), np.concatenate([p, moved, [late]])
