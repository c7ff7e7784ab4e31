"""Matrices of a system at a generic state."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics

TRIES = 10


def value_at_generic_state(
    dynamics: Dynamics, matrix: ca.SX, p: np.ndarray | None = None
) -> np.ndarray:
    """Evaluate a matrix at a random state where it is finite.

    Parameters
    ----------
    dynamics
        The equations whose symbols the matrix contains.
    matrix
        An expression of t, x and p.
    p
        The values; None for the defaults.
    """
    function = dynamics.function("matrix", matrix)
    values = dynamics.value_vector({}) if p is None else p
    generator = np.random.default_rng(24)
    found = np.zeros(matrix.shape)
    for _ in range(TRIES):
        state = generator.uniform(0.5, 1.5, size=dynamics.x.numel())
        found = np.asarray(function(0.3, state, values)).reshape(matrix.shape)
        if np.all(np.isfinite(found)):
            break
    return np.nan_to_num(found)
