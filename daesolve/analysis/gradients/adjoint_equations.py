"""How the derivatives of an objective by state and values go back: along the motion, at events.

Let l and m be the derivatives of the objective by the state and by the values at a time, L what is
integrated, n its derivative by the time of an event, g the guard and R the reset:

    l' = -f_x^T l - L_x,    m' = -f_p^T l - L_p                            between events
    (nt, lr, mr) = R'^T (l+, m+),    n- = n - f+ . l+ + nt + f . lr        through the reset
    l = lr - g_x n- / g',    m = mr - g_p n- / g'                          at the guard

These are the transposes of the equations in `daesolve.analysis.variational`.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from daesolve.analysis.gradients.objective import Expression, expression_in
from daesolve.analysis.variational import bare_problem
from daesolve.core.events.jumps import JumpFunction
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.symbols import symbol

WEIGHT = "weight_of_running"
"""The value that multiplies what is integrated."""


@built_once
def adjoint_problem(
    problem: OdeProblem,
    active: tuple[int, ...],
    rates: tuple[int, ...],
    running: Expression | None,
) -> OdeProblem:
    """Return the equations of a motion and of the derivatives that go back along it.

    Parameters
    ----------
    problem
        The motion in all states, without a chart.
    active
        The indices of values in p by which derivatives are wanted.
    rates
        The indices of rates in p. Feedback is left out of the motion, since it would drive it away
        backwards; in the derivatives it damps what is normal to the constraints.
    running
        What is integrated, if anything.

    Returns
    -------
    OdeProblem
        In (x, l, m, integral of L), with the weight of L behind p.
    """
    t, x, p = (problem.rhs.sx_in(k) for k in range(3))
    state, values = symbol("by_state", x.numel()), symbol("by_values", len(active))
    integral, weight = symbol("integral", 1), symbol("weight", 1)
    free = ca.SX(p)
    free[list(rates)] = 0.0
    density = ca.SX(0) if running is None else weight * expression_in(problem, running, t, x, p)
    hamiltonian = ca.dot(state, problem.rhs(t, x, p)) + density
    slopes = ca.gradient(hamiltonian, ca.vertcat(x, p))
    by_values = slopes[x.numel() :][list(active)] if active else ca.SX(0, 1)
    rate = ca.vertcat(problem.rhs(t, x, free), -slopes[: x.numel()], -by_values, density)
    arguments = [t, ca.vertcat(x, state, values, integral), ca.vertcat(p, weight)]
    return bare_problem(problem, arguments, rate, {**problem.values, WEIGHT: 1.0})


@built_once
def motion_alone(problem: OdeProblem) -> OdeProblem:
    """Return the equations of a motion without events and outputs."""
    arguments = [problem.rhs.sx_in(k) for k in range(3)]
    return bare_problem(problem, arguments, problem.rhs(*arguments), problem.values)


@built_once
def guard_gradients(problem: OdeProblem) -> Evaluator:
    """(t, x, p, w) -> w . rates of the guards along the motion, and the derivatives of w . g."""
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    guards = problem.guards(t, x, p)
    w = symbol("weights", guards.numel())
    slopes = [ca.gradient(ca.dot(w, guards), by) for by in (t, x, p)]
    rate = slopes[0] + ca.dot(slopes[1], problem.rhs(t, x, p))
    names = (["t", "x", "p", "w"], ["rate", "by_t", "by_x", "by_p"])
    return Evaluator(function_of("guard_gradients", [t, x, p, w], [rate, *slopes], names))


class Change(NamedTuple):
    """A change at an instant, (t, x, p, fired) -> (x, p), and the derivatives that go back."""

    values: Evaluator
    cotangents: Evaluator


@built_once
def jump_change(jump: JumpFunction) -> Change:
    """Return what a jump changes."""
    return change_of(jump.function)


def change_of(function: ca.Function) -> Change:
    """Return the change that a function of (t, x, p, fired) gives by its first two results."""
    t, x, p, fired = (function.sx_in(k) for k in range(4))
    state, values = symbol("by_state", x.numel()), symbol("by_values", p.numel())
    after = function(t, x, p, fired)[:2]
    along = ca.dot(after[0], state) + ca.dot(after[1], values)
    slopes = [ca.gradient(along, by) for by in (t, x, p)]
    names = (["t", "x", "p", "fired", "l", "m"], ["by_t", "by_x", "by_p"])
    arguments = [t, x, p, fired, state, values]
    return Change(Evaluator(function), Evaluator(function_of("back", arguments, slopes, names)))
