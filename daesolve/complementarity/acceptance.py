"""Whether reactions are an answer: they solve the equations of a variant and have its signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daesolve.complementarity.answers import Answer, answer_at
from daesolve.complementarity.horizontal import variant_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from daesolve.complementarity.horizontal import HorizontalComplementarity

AGREEMENT = 1e-11
"""What an answer may miss of a row of F(N) = b, relative to the sum of the row's terms."""


def agreeing(
    matrix: NDArray[np.float64], load: NDArray[np.float64], signs: NDArray[np.int_]
) -> tuple[NDArray[np.float64], bool]:
    """Solve the equations of an orthant and tell whether the solution lies in it.

    Reactions of the wrong sign count as zero where that changes no row of J_s N = b by more than
    `AGREEMENT` of the sum of its terms: a test that no choice of units changes.

    Parameters
    ----------
    matrix
        J_s, (m, m).
    load
        b, (m,).
    signs
        s, (m,).

    Returns
    -------
    reactions, whether
        N (m,): with the signs s where it is an answer, as solved for where it is not.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is singular.
    """
    solved = np.asarray(np.linalg.solve(matrix, load), dtype=np.float64)
    clipped = signs * np.maximum(signs * solved, 0.0)
    if _agrees(matrix, load, clipped):
        return clipped, True
    # What rows of very different size cost in accuracy comes back by one refinement.
    solved = solved + np.linalg.solve(matrix, load - matrix @ solved)
    clipped = signs * np.maximum(signs * solved, 0.0)
    return (clipped, True) if _agrees(matrix, load, clipped) else (solved, False)


def _agrees(
    matrix: NDArray[np.float64], load: NDArray[np.float64], reactions: NDArray[np.float64]
) -> bool:
    missed = np.abs(matrix @ reactions - load)
    return bool(np.all(missed <= AGREEMENT * (np.abs(matrix) @ np.abs(reactions) + np.abs(load))))


def answer_in(problem: HorizontalComplementarity, signs: NDArray[np.int_]) -> Answer | None:
    """Return the answer of an orthant, None where it has none or its equations are singular."""
    try:
        reactions, agrees = agreeing(problem.orthant(signs), problem.load, signs)
    except np.linalg.LinAlgError:
        return None
    return answer_at(problem, reactions, variant_of(signs)) if agrees else None
