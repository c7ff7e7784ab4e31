"""Guards that are at zero and stay there, as the gap between balls that roll side by side.

To rounding they have no sign. What their values seem to pass is not a zero.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.guard_derivatives import are_large, derivatives_along, moves_of

AT_ZERO = 1e-12
"""A guard below this fraction of its terms is zero to rounding."""
AT_REST = 1e-9
"""A guard whose rate is below this fraction of its terms does not move."""
TRIALS = 3
"""How often the terms of a guard are reweighted to find their size."""


def still_steps(
    problem: OdeProblem, p: np.ndarray, times: np.ndarray, states: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """Return in which steps which guards stay at zero, (k, guards).

    Parameters
    ----------
    problem, p
        The guards, and the values.
    times, states, table
        (2 k + 1, ...) when, where, and what the guards are, at the ends of k steps and between.
    """
    count, guards = len(table) // 2, table.shape[1]
    still = np.zeros((count, guards), dtype=bool)
    if not count or not guards:
        return still
    ends = [0, -1]
    terms = sized_guards(problem, times[ends], states[ends], p)[1]
    small = np.abs(table) <= AT_ZERO * np.max(terms, axis=0)
    possible = small[:-2:2] & small[1::2] & small[2::2]
    steps = np.flatnonzero(possible.any(axis=1))
    if not steps.size:
        return still
    rows = np.unique(np.concatenate([2 * steps, 2 * steps + 1, 2 * steps + 2]))
    resting = np.zeros(table.shape, dtype=bool)
    values, terms = sized_guards(problem, times[rows], states[rows], p)
    resting[rows] = np.abs(values) <= AT_ZERO * terms
    resting[rows] &= _unmoved(problem, times[rows], states[rows], p)
    still[steps] = (resting[:-2:2] & resting[1::2] & resting[2::2])[steps]
    return still


def sized_guards(
    problem: OdeProblem, times: np.ndarray, states: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return guards at some times, (k, guards), and how large the terms are whose sums they are."""
    problem = problem.in_mode(p)
    if are_large(problem):
        whole = np.column_stack([times, states])
        weighted = whole[:, None, :] * _weights(whole.shape[1])
        values, along = derivatives_along(problem, times, states, p, weighted)
        return values, _largest(values, np.abs(along).max(axis=2))
    return _with_sizes(_sized(problem), times, states, p)


def _speeds(
    problem: OdeProblem, times: np.ndarray, states: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of guards, (k, guards), and how large the terms of these are."""
    problem = problem.in_mode(p)
    if are_large(problem):
        moves = moves_of(problem, times, states, p)[:, None, :]
        weighted = moves * _weights(moves.shape[2])
        directions = np.concatenate([moves, weighted], axis=1)
        along = derivatives_along(problem, times, states, p, directions)[1]
        return along[..., 0], _largest(along[..., 0], np.abs(along[..., 1:]).max(axis=2))
    return _with_sizes(_moved(problem), times, states, p)


def slopes_of_guards(
    problem: OdeProblem, time: float, x: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of guards by the state, (guards, states), and by time, (guards,)."""
    problem, seeds = problem.in_mode(p), np.eye(1 + len(x))
    if are_large(problem):
        places = np.array([time]), x[None, :]
        along = derivatives_along(problem, *places, p, seeds[None])[1][0]
        return along[:, 1:], along[:, 0]
    states = np.column_stack([np.tile(x, (len(seeds), 1)), seeds])
    moments = np.full(len(seeds), time)
    slopes = evaluate_block(_slopes(problem), moments, states, p)[0]
    return slopes[1:].T, slopes[0]


def sizes_of_terms(problem: OdeProblem, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return how large the terms are whose sum each guard is."""
    return sized_guards(problem, np.array([time]), x[None, :], p)[1][0]


def rests(problem: OdeProblem, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return which guards are at zero and do not move, to rounding."""
    times, states = np.array([time]), x[None, :]
    values, terms = sized_guards(problem, times, states, p)
    return (np.abs(values) <= AT_ZERO * terms)[0] & _unmoved(problem, times, states, p)[0]


def goes_back(
    problem: OdeProblem,
    p: np.ndarray,
    place: tuple[float, np.ndarray],
    sense: float,
    guard: int,
    size: float,
) -> bool:
    """Return whether a zero of a guard in its direction is rounding: its rate has the other sign.

    Parameters
    ----------
    problem, p
        The guards, and the values.
    place
        Where the zero seems to be: time (s) and state.
    sense
        1.0 where times grow along the integration, -1.0 where they fall.
    guard, size
        Which of them, and how large it is around there.
    """
    way = problem.guarded[guard].direction.value
    times, states = np.array([place[0]]), place[1][None, :]
    if way == 0 or size > AT_ZERO * sized_guards(problem, times, states, p)[1][0, guard]:
        return False
    rates, speeds = _speeds(problem, times, states, p)
    return bool(sense * way * rates[0, guard] < -AT_REST * speeds[0, guard])


def _unmoved(
    problem: OdeProblem, times: np.ndarray, states: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """Return which guards have no rate, to rounding."""
    rates, speeds = _speeds(problem, times, states, p)
    return np.abs(rates) <= AT_REST * speeds


def _with_sizes(
    function: ca.Function, times: np.ndarray, states: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return values, and the largest values with weighted terms."""
    tables = [
        evaluate_block(function, times, states, np.concatenate([p, weights]))
        for weights in _weights(states.shape[1] + 1)
    ]
    values = tables[0][0]
    return values, _largest(values, np.max([np.abs(table[1]) for table in tables], axis=0))


def _largest(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return sizes of terms.

    Where one is no number, as with 1 / cosh(1e3), whose slope is infinite over infinite, it is the
    size of the value itself.
    """
    return np.where(np.isfinite(sizes), sizes, np.abs(values))


@cache
def _weights(count: int) -> np.ndarray:
    """Return weights for so many terms, (trials, count)."""
    drawn = np.random.default_rng(0).uniform(-2.0, 2.0, (TRIALS, count))
    return drawn + np.sign(drawn)


@built_once
def _sized(problem: OdeProblem) -> ca.Function:
    """Return (t, x, [p, weights]) -> the guards, and these weighted.

    With weights the terms of a sum do not cancel. They multiply times and states, (1 + states,).
    """
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    weights, values = _symbols(x), problem.guards(t, x, p)
    parts = [values, _along(values, t, x, weights[0] * t, weights[1:] * x)]
    return _weighted("sized", (t, x, p, weights), parts, ["guards", "terms"])


@built_once
def _slopes(problem: OdeProblem) -> ca.Function:
    """Return (t, [x, direction], p) -> the derivatives of the guards along one of (t, x).

    All derivatives as expressions would be far longer where guards depend on reactions.
    """
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    seeds = _symbols(x)
    along = _along(problem.guards(t, x, p), t, x, seeds[0], seeds[1:])
    inside = [t, ca.vertcat(x, seeds), p]
    return function_of("slopes", inside, [along], (["t", "x", "p"], ["slopes"]), share=False)


@built_once
def _moved(problem: OdeProblem) -> ca.Function:
    """Return (t, x, [p, weights]) -> the rates of the guards, and these weighted."""
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    weights, values, moves = _symbols(x), problem.guards(t, x, p), problem.rhs(t, x, p)
    parts = [
        _along(values, t, x, ca.SX(1), moves),
        _along(values, t, x, weights[0], weights[1:] * moves),
    ]
    return _weighted("moved", (t, x, p, weights), parts, ["rates", "speeds"])


def _symbols(x: ca.SX) -> ca.SX:
    return ca.SX.sym("weights", 1 + x.numel())  # pyright: ignore[reportUnknownMemberType]


def _along(values: ca.SX, t: ca.SX, x: ca.SX, time: ca.SX, state: ca.SX) -> ca.SX:
    return ca.jtimes(values, x, state) + ca.jtimes(values, t, time)


def _weighted(
    name: str, inputs: tuple[ca.SX, ca.SX, ca.SX, ca.SX], parts: list[ca.SX], names: list[str]
) -> ca.Function:
    t, x, p, weights = inputs
    # Whoever evaluates blocks shares what is repeated.
    inside = [t, x, ca.vertcat(p, weights)]
    return function_of(name, inside, parts, (["t", "x", "p"], names), share=False)
