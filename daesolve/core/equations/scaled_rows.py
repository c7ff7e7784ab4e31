"""The rows of constraints, scaled to reveal their rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.singular_values import (
    equilibrated,
    rank,
    singular_values,
    unit_length,
)

RANK_TOLERANCE = 1e-9
"""Singular values of the scaled constraint matrix below this count as zero."""
UNCERTAIN = 1e-7
"""The possible relative distance of a state from the manifold where constraints are dependent."""


def without_rounding(jacobian: np.ndarray) -> np.ndarray:
    """Return rows, (m, n), without entries that are rounding relative to the largest of each.

    If a motion stays in a plane, the entries for some velocities may be pure rounding, which must
    not be scaled up to the size of the other entries.
    """
    largest = np.max(np.abs(jacobian), axis=1, initial=0.0, keepdims=True)
    return np.where(np.abs(jacobian) > RANK_TOLERANCE * largest, jacobian, 0.0)


def scaled_constraints(
    dynamics: Dynamics,
    t: float,
    x: np.ndarray,
    values: np.ndarray,
    chosen: Sequence[int] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return J M^-1/2 with rows of unit length, and the factors of the rows of J.

    The mass of a light body makes all rows that involve it nearly parallel. If they then appear
    dependent, J with equilibrated entries is used instead, provided it separates them by more than
    J changes with a small error of the state.

    Parameters
    ----------
    dynamics, t, x, values
        The equations, the time in s, a state and p.
    chosen
        The rows; None for all.
    """
    parts = dynamics.matrices(t, x, values)
    own = list(range(len(dynamics.rows))) if chosen is None else list(chosen)
    jacobian = parts["jacobian"][own]
    rows = np.linalg.solve(np.linalg.cholesky(parts["mass"]), jacobian.T).T
    by_mass = unit_length(rows, 1)
    if by_mass.size and singular_values(by_mass, len(by_mass))[-1] <= RANK_TOLERANCE:
        by_size, factors, columns = equilibrated(without_rounding(jacobian))
        beside = dynamics.matrices(t, x + UNCERTAIN * np.maximum(np.abs(x), 1.0), values)
        change = factors[:, None] * (beside["jacobian"][own] - jacobian) * columns
        known = max(RANK_TOLERANCE, float(np.linalg.norm(change)))
        if rank(by_size, known) > rank(by_mass, RANK_TOLERANCE):
            return by_size, factors
    lengths = np.linalg.norm(rows, axis=1)
    return by_mass, 1.0 / np.where(lengths > 0.0, lengths, 1.0)


def are_independent(dynamics: Dynamics, t: float, x: np.ndarray, values: np.ndarray) -> bool:
    """Return whether all constraints are independent of each other at a state.

    They count as independent if masses are not positive or something is not a number; `check_mass`
    and others refuse such cases with specific messages.
    """
    try:
        matrix = scaled_constraints(dynamics, t, x, values)[0]
        found = singular_values(matrix, len(matrix))
    except np.linalg.LinAlgError:
        return True
    return bool(np.min(found, initial=np.inf) > RANK_TOLERANCE)
