"""Evolution of a small change: along the smooth motion, at a guard, through a reset.

Let s and pi be the derivatives of the state and of the values at a given time, tau the derivative
of the time of an event, and R the reset:

    s' = f_x s + f_p pi                                        between events
    g_x (s + f tau) + g_p pi + g_t tau = 0                     at the guard g
    s+ + f+ tau = R_x (s + f tau) + R_p pi + R_t tau           through the reset
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.jumps import JumpFunction, without
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.symbols import symbol
from daesolve.errors import DaesolveError, InconsistentStateError

FIRST_STEP = 0.1
"""The range, relative to a number's size, in which the start is examined to differentiate it."""
HALVINGS = 7
"""How often this step is halved to extrapolate to zero."""
SHORTENINGS = 6
"""How often it is quartered if the start cannot follow, or is too curved."""
ENOUGH = 1e-11
"""A change of the slope, relative to its largest entry, after which no smaller step is tried."""


def changing_values(dynamics: Dynamics) -> list[int]:
    """Return the indices of values that may depend on others, which excludes rates and sizes."""
    kinds = ("rate", "floor", "regularisation", "typical")
    fixed = {f"{kind}_{goal}" for kind in kinds for goal in dynamics.goal_names}
    return [index for index, name in enumerate(dynamics.values) if name not in fixed]


@built_once
def variational_problem(problem: OdeProblem, changing: tuple[int, ...]) -> OdeProblem:
    """Return the equations of the motion and of one small change of it, in (x, s).

    Parameters
    ----------
    problem
        A problem in all states, without a chart; its guards are ignored.
    changing
        The indices of values in p that change with p.
    """
    t, x, p = (problem.rhs.sx_in(k) for k in range(3))
    change = symbol("change", x.numel())
    moved = symbol("moved", len(changing))
    along = ca.SX.zeros(p.numel())
    along[list(changing)] = moved
    rate = problem.rhs(t, x, p)
    grown = ca.jtimes(rate, ca.vertcat(x, p), ca.vertcat(change, along))
    arguments = [t, ca.vertcat(x, change), ca.vertcat(p, moved)]
    names = list(problem.values)
    values = {**problem.values, **{f"change_{names[k]}": 0.0 for k in changing}}
    return bare_problem(problem, arguments, ca.vertcat(rate, grown), values)


def bare_problem(
    problem: OdeProblem, arguments: list[ca.SX], rate: ca.SX, values: Mapping[str, float]
) -> OdeProblem:
    """Return equations without events, outputs and residuals.

    Parameters
    ----------
    problem
        Whose motion they follow.
    arguments
        The symbols t, x and p.
    rate
        x'.
    values
        The names of p and their defaults.
    """

    def function(name: str, *outputs: ca.SX) -> ca.Function:
        labels = [f"{name}_{k}" for k in range(len(outputs))]
        return function_of(name, arguments, outputs, (["t", "x", "p"], labels))

    none = ca.SX(0, 1)
    return OdeProblem(
        labels=problem.labels,
        size=arguments[1].numel(),
        values=values,
        rhs=function("rhs", rate),
        recover=function("recover", none, none, none),
        residuals=function("residuals", none, none),
        guards=function("guards", none),
        watched=(),
        pivot_goals=(),
        singular_goals=(),
        events=(),
        plan=problem.plan,
    )


@built_once
def guard_slopes(problem: OdeProblem) -> Evaluator:
    """(t, x, p, dt, dx, dp) -> the guards, their rates along the motion, their changes."""
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    along, seeds = _seeds(t, x, p)
    values = problem.guards(t, x, p)
    motion = ca.vertcat(1, problem.rhs(t, x, p), ca.SX.zeros(p.numel()))
    rates, changes = (ca.jtimes(values, along, seed) for seed in (motion, ca.vertcat(*seeds)))
    return _evaluator("slopes", [t, x, p, *seeds], [values, rates, changes])


def jump_slopes(jump: JumpFunction) -> Callable[..., list[np.ndarray]]:
    """(t, x, p, fired, dt, dx, dp) -> state and values after, and their changes.

    The contacts that a jump opens are open throughout.
    """
    evaluate = _jump_slopes(jump)

    def slopes(
        t: float, x: np.ndarray, p: np.ndarray, fired: np.ndarray, *changes: Any
    ) -> list[np.ndarray]:
        opened = jump.opened(t, x, p, fired)
        after, values, *changed = evaluate(t, x, without(p, opened), fired, *changes)
        values[opened] = p[opened]
        return [after, values, *changed]

    return slopes


@built_once
def _jump_slopes(jump: JumpFunction) -> Evaluator:
    t, x, p, fired = (jump.function.sx_in(k) for k in range(4))
    along, seeds = _seeds(t, x, p)
    after = jump.function(t, x, p, fired)[:2]
    changes = [ca.jtimes(result, along, ca.vertcat(*seeds)) for result in after]
    return _evaluator("jump_slopes", [t, x, p, fired, *seeds], [*after, *changes])


def _seeds(t: ca.SX, x: ca.SX, p: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    sizes = (1, x.numel(), p.numel())
    return ca.vertcat(t, x, p), [symbol(f"d{k}", n) for k, n in enumerate(sizes)]


def _evaluator(name: str, inputs: Sequence[ca.SX], outputs: Sequence[ca.SX]) -> Evaluator:
    labels = [f"in_{k}" for k in range(len(inputs))], [f"out_{k}" for k in range(len(outputs))]
    return Evaluator(function_of(name, inputs, outputs, labels))


# -- the start -----------------------------------------------------------------------------------


def start_slope(
    name: str, start: Callable[[float], np.ndarray], value: float
) -> tuple[np.ndarray, float]:
    """Differentiate the start of a run by a number, by extrapolated central differences.

    Start rules may be any Python code, and the nearest consistent state is found by iteration.

    Parameters
    ----------
    name
        The name of the number, for messages.
    start
        Value of the number -> start of the run, (n,).
    value
        The value at which to differentiate.

    Returns
    -------
    slope, error
        (n,), and its last change, relative to the largest entry.

    Raises
    ------
    InconsistentStateError
        The start does not exist near this value.
    """
    try:
        return differentiated(start, value, FIRST_STEP * (abs(value) or 1.0))
    except DaesolveError as refusal:
        raise cannot_follow(name, refusal) from refusal


def cannot_follow(name: str, refusal: DaesolveError) -> InconsistentStateError:
    """Return the error for a number that the start cannot follow."""
    return InconsistentStateError(
        f"the start cannot be adjusted to a change of {name!r}: {refusal}"
    )


def differentiated(
    function: Callable[[float], np.ndarray], value: float, step: float, enough: float = ENOUGH
) -> tuple[np.ndarray, float]:
    """Differentiate by a number, by extrapolated central differences.

    Parameters
    ----------
    function
        The number -> (n,).
    value
        The value at which to differentiate.
    step
        The first step; it is quartered if the function refuses or is too curved.
    enough
        A change of the slope, relative to its largest entry, after which no smaller step is tried.

    Returns
    -------
    slope, error
        (n,), and its last change, relative to the largest entry.

    Raises
    ------
    DaesolveError
        The last refusal of the function, if it refuses at all steps.

    Notes
    -----
    C. J. F. Ridders, Adv. Eng. Software 4 (1982) 75.
    """
    refusal: DaesolveError | None = None
    estimates: list[tuple[np.ndarray, float]] = []
    for _ in range(SHORTENINGS):
        try:
            estimates.append(_extrapolated(function, value, step))
        except DaesolveError as error:
            refusal = error
        if estimates and estimates[-1][1] <= enough:
            break
        step /= 4
    if not estimates and refusal is not None:
        raise refusal
    return min(estimates, key=lambda pair: pair[1])


def _extrapolated(
    function: Callable[[float], np.ndarray], value: float, step: float
) -> tuple[np.ndarray, float]:
    """Extrapolate central differences to zero; for each entry, keep what changed least."""
    best = np.zeros(0)
    errors = np.zeros(0)
    previous: list[np.ndarray] = []
    for halving in range(HALVINGS + 1):
        ahead, behind = value + step / 2**halving, value - step / 2**halving
        row = [(function(ahead) - function(behind)) / (ahead - behind)]
        for order, coarser in enumerate(previous, start=1):
            row.append(row[-1] + (row[-1] - coarser) / (4**order - 1))
            change = np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - coarser))
            if not best.size:
                best, errors = row[-1], change
            best, errors = np.where(change < errors, row[-1], best), np.minimum(change, errors)
        previous = row
    size = float(np.max(np.abs(best), initial=0.0))
    return best, float(np.max(errors, initial=0.0)) / (size or 1.0)
