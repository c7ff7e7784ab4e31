"""Derivatives of guards as numbers: for large guards no further functions are built."""

from __future__ import annotations

import numpy as np

from daesolve.core.expressions.blocks import StateFunction, evaluate_block
from daesolve.core.expressions.translation import MANY
from daesolve.core.formulations import OdeProblem


def are_large(problem: OdeProblem) -> bool:
    """Return whether functions of the derivatives of guards take longer to build than they save."""
    return problem.guards.n_instructions() >= MANY


def derivatives_along(
    problem: OdeProblem,
    times: np.ndarray,
    states: np.ndarray,
    p: np.ndarray,
    directions: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return guards, (k, guards), and their derivatives along directions, (k, guards, d).

    Parameters
    ----------
    problem, p
        The guards, and the values.
    times, states
        (k,) and (k, size)
    directions
        (k, d, 1 + size) of time and state, at each place.
    """
    function, along = StateFunction(problem.guards, p), np.moveaxis(directions, 1, 2)
    places = zip(times.tolist(), states, along, strict=True)
    both = [function.derivatives(time, x, moves[1:], moves[0]) for time, x, moves in places]
    return np.array([values for values, _ in both]), np.array([slopes for _, slopes in both])


def moves_of(
    problem: OdeProblem, times: np.ndarray, states: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """Return how time and state move, (k, 1 + size)."""
    rates = evaluate_block(problem.rhs, times, states, p)[0]
    return np.column_stack([np.ones(len(times)), rates])
