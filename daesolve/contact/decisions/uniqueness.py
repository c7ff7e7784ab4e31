"""Sufficient conditions, cheap to check, for the motion of touching contacts to be the only one.

Of two answers, with D for their differences, the conditions of all contacts give

    DN . D(gap rate) <= 0,    DT . D(slip rate) <= |mu DN| . |D(slip rate)|,

the sum of whose left sides is Dr A Dr.

- Without friction A D = 0: the motion is the only one.
- If all contacts at rest have friction, A is definite, and S is its Schur complement for N,
  |mu DN|^2 <= (Dr A Dr) max mu^2 / min S, and |D(slip rate)|^2 <= (Dr A Dr) max A_TT (largest
  eigenvalues): both differences vanish if mu^2 max A_TT < min S. Contacts are weighted by the
  scaling of the problem.
- If all slide, T = -mu N d, and M = A_NN - A_NT mu d responds to N: one answer if all principal
  minors of M are positive, as for a definite M + M^T (R. Cottle, J.-S. Pang, R. Stone, The Linear
  Complementarity Problem, 1992, theorem 3.3.7).

Sliding contacts beside others at rest take part with M, as in the first two.
"""

from __future__ import annotations

import itertools

import numpy as np

from daesolve.contact.decisions.touching import ScaledProblem

CLEAR = 1e-9
"""An eigenvalue or minor, for a diagonal of ones, that is surely positive."""
MOST_MINORS = 8
"""The number of sliding contacts up to which all principal minors are computed."""


def is_only_motion(problem: ScaledProblem) -> bool:
    """Return whether no second motion is possible, for any load; False if that is not proved.

    Parameters
    ----------
    problem
        A problem in its own units.
    """
    contacts, count = problem.contacts, problem.contacts.count
    matrix = contacts.matrix
    if np.any(contacts.static > contacts.friction):
        return False
    if not contacts.friction.any() and np.array_equal(matrix, matrix.T):
        return True
    slides = problem.known
    pulls = -contacts.friction[:, None] * problem.sliding
    acting = np.zeros((len(matrix), count))
    acting[np.arange(count), np.arange(count)] = 1.0
    acting[count:][np.arange(pulls.size), np.repeat(np.arange(count), pulls.shape[1])] = (
        pulls.ravel()
    )
    if np.all(slides | (contacts.friction == 0.0)):
        return _has_positive_minors(matrix[:count] @ acting)
    rubs = ~slides & (contacts.friction > 0.0)
    tangents = np.concatenate([np.zeros(count, dtype=bool), np.repeat(rubs, pulls.shape[1])])
    # Reactions N and, of contacts at rest, T; gaps, and the slips of those contacts.
    acting = np.column_stack([acting, np.eye(len(matrix))[:, tangents]])
    rows = np.concatenate([np.arange(count), np.flatnonzero(tangents)])
    response = matrix[rows] @ acting
    definite = (response + response.T) / 2.0
    # Of the rates, only those of A count: of slips by sliding friction, too.
    tangential = definite[count:, count:]
    values = np.linalg.eigvalsh(tangential)
    if values[0] <= CLEAR * values[-1]:
        return False
    across = definite[:count, count:]
    schur = definite[:count, :count] - across @ np.linalg.solve(tangential, across.T)
    least = float(np.linalg.eigvalsh(schur)[0])
    return least > CLEAR and _largest_slip(response, definite, count) * float(
        np.max(contacts.friction[rubs]) ** 2
    ) < least * (1.0 - CLEAR)


def _largest_slip(response: np.ndarray, definite: np.ndarray, count: int) -> float:
    """Return the largest |slip rates|^2 for reactions with r definite r = 1."""
    slips = response[count:]
    return float(np.linalg.eigvalsh(slips @ np.linalg.solve(definite, slips.T))[-1])


def _has_positive_minors(matrix: np.ndarray) -> bool:
    """Return whether all principal minors are positive, as a definite symmetric part proves."""
    if float(np.linalg.eigvalsh(matrix + matrix.T)[0]) > CLEAR:
        return True
    count = len(matrix)
    if count > MOST_MINORS:
        return False
    chosen = np.array(list(itertools.product((False, True), repeat=count))[1:])
    both = chosen[:, :, None] & chosen[:, None, :]
    minors = np.linalg.det(np.where(both, matrix, np.eye(count)))
    return bool(np.all(minors > CLEAR))
