"""The rows of constraints, scaled so that their rank shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daesolve.algebra.singular_values import equilibrated, rank, singular_values, unit_length
from daesolve.equations.dynamics import Dynamics

RANK_TOLERANCE = 1e-9
"""A singular value of the scaled constraint matrix below this counts as zero."""
UNCERTAIN = 1e-7
"""What a state may be off the manifold by where constraints depend on each other, relative."""


def without_rounding(jacobian: np.ndarray) -> np.ndarray:
    """Return rows, (m, n), without what is rounding beside the largest entry of each.

    Where a motion stays in a plane, all that rows have of some velocities may be rounding, which
    must not be brought to the size of the other entries.
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
    """Return J M^-1/2 with rows of unit length, and by what each row of J was multiplied.

    A light body's mass makes all rows that touch it nearly parallel. Where they seem to depend on
    each other, J counts with its entries brought to one size, if that shows more of them apart
    than what J changes by where the state is a little off.

    Parameters
    ----------
    dynamics, t, x, values
        The equations, and where: time in s, a state and p.
    chosen
        The rows; all of them where it is None.
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

    They count as that where masses are not positive or something is not a number: `check_mass` and
    others refuse it by name.
    """
    try:
        matrix = scaled_constraints(dynamics, t, x, values)[0]
        found = singular_values(matrix, len(matrix))
    except np.linalg.LinAlgError:
        return True
    return bool(np.min(found, initial=np.inf) > RANK_TOLERANCE)
