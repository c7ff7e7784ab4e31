"""Whether reactions are an answer: they solve the equations of a variant and have its signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daesolve.complementarity.answers import VariantAnswer, answer_at
from daesolve.complementarity.horizontal import SINGULAR, variant_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from daesolve.complementarity.horizontal import HorizontalComplementarity

ROUNDING = 4e-15
"""What rounding changes of a reaction, relative to what the terms of the equations let it."""


def agreeing(
    matrix: NDArray[np.float64], load: NDArray[np.float64], signs: NDArray[np.int_]
) -> tuple[NDArray[np.float64], bool]:
    """Solve the equations of an orthant; return whether they have one solution and it lies in it.

    Reactions within rounding are zero, whatever their signs. It changes them by a part of
    |J^-1| (|J| |N| + |b|), so that no choice of units changes the outcome.

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
        N (m,): of signs s or zero where it lies there, as solved for where it does not.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is singular.
    """
    inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    solved = inverse @ load
    # What rows of very different size cost in accuracy comes back by one refinement.
    solved = solved + inverse @ (load - matrix @ solved)
    sizes = np.abs(matrix)
    terms = sizes @ np.abs(solved) + np.abs(load)
    slack = ROUNDING * (np.abs(inverse) @ terms)
    if np.any(signs * solved < -slack):
        return solved, False
    reactions = np.where(signs * solved > slack, solved, 0.0)
    missed = np.abs(matrix @ reactions - load)
    fits = bool(np.all(missed <= sizes @ slack + ROUNDING * terms))
    return (reactions, True) if fits and _is_regular(matrix, inverse) else (solved, False)


def is_regular(matrix: NDArray[np.float64]) -> bool:
    """Return whether equations determine reactions, by the least condition over all scalings."""
    try:
        return _is_regular(matrix, np.asarray(np.linalg.inv(matrix), dtype=np.float64))
    except np.linalg.LinAlgError:
        return False


def _is_regular(matrix: NDArray[np.float64], inverse: NDArray[np.float64]) -> bool:
    """Compare the spectral radius of |J^-1| |J|, the condition with rows and columns scaled best.

    Bauer, Optimally scaled matrices, Numerische Mathematik 5, 1963.
    """
    condition = np.max(np.abs(np.linalg.eigvals(np.abs(inverse) @ np.abs(matrix))))
    return bool(condition < 1.0 / SINGULAR)


def answer_in(problem: HorizontalComplementarity, signs: NDArray[np.int_]) -> VariantAnswer | None:
    """Return the answer of an orthant, None where it has none or its equations are singular."""
    try:
        reactions, agrees = agreeing(problem.orthant(signs), problem.load, signs)
    except np.linalg.LinAlgError:
        return None
    return answer_of(problem, reactions, signs) if agrees else None


def answer_of(
    problem: HorizontalComplementarity, reactions: NDArray[np.float64], signs: NDArray[np.int_]
) -> VariantAnswer:
    """Return the answer that reactions of an orthant are.

    Where a reaction is zero either support may be called loaded: the variant is one that keeps
    the sign of its friction-free determinant, if the given one does not and one of its neighbours
    does.
    """
    answer = answer_at(problem, reactions, variant_of(signs))
    for pair in np.flatnonzero(reactions == 0.0):
        if answer.physical:
            break
        turned = signs.copy()
        turned[pair] = -signs[pair]
        other = answer_at(problem, reactions, variant_of(turned))
        answer = other if other.physical else answer
    return answer
