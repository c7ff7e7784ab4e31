"""Newton's method on the piecewise linear equation F(N) = b, with detection of cycles.

In an orthant F is linear: the next reactions solve its equations exactly, and their signs give the
next orthant. The iteration ends after a few solutions, or returns to an orthant. In that case it
changes one pair at a time, the last of the wrong sign (Murty's rule), which finds the answer if
every load has exactly one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.complementarity.answers import VariantAnswer, agreeing, answer_of
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.errors import FrictionlessIllPosed, PosingError

MAX_ITERATIONS = 100


def newton(
    problem: HorizontalComplementarity,
    start: ArrayLike | None = None,
    max_iterations: int = MAX_ITERATIONS,
) -> VariantAnswer | None:
    """Find an answer near a start.

    Parameters
    ----------
    problem
        The problem of the reactions.
    start
        Signed reactions (m,) whose signs give the first orthant; None means the friction-free ones.
    max_iterations
        The largest number of orthants to try.

    Returns
    -------
    answer
        None if orthants repeat, one is singular, or there are too many; this proves nothing.

    Raises
    ------
    FrictionlessIllPosed
        No start is given and there is no friction-free one.
    PosingError
        The start does not have one reaction per pair.
    """
    guess = reactions_to_start(problem, start)
    found = _iterated(problem.first, problem.second, problem.load, guess, max_iterations)
    return None if found is None else answer_of(problem, found[1], found[0])


def reactions_to_start(problem: HorizontalComplementarity, start: ArrayLike | None) -> np.ndarray:
    """Return a start: the given one, or the reactions without friction: (m,).

    Raises
    ------
    FrictionlessIllPosed
        No start is given and there are no reactions without friction.
    PosingError
        The start does not have one reaction per pair.
    """
    if start is None:
        return frictionless_reactions(problem)
    reactions = np.asarray(start, dtype=float)
    if reactions.shape != (problem.count,):
        raise PosingError(
            f"the start has shape {reactions.shape}: {problem.count} pairs need one reaction each"
        )
    return reactions


def frictionless_reactions(problem: HorizontalComplementarity) -> np.ndarray:
    """Return the signed reactions without friction: (m,).

    Raises
    ------
    FrictionlessIllPosed
        The supports do not hold the body.
    """
    first, second = problem.first_normal, problem.second_normal
    assert first is not None
    assert second is not None
    start = np.ones(problem.count)
    found = _iterated(first, second, problem.load, start, MAX_ITERATIONS + 10 * problem.count)
    if found is None:
        raise FrictionlessIllPosed(
            "without friction no reactions of the supports balance the load: place the "
            "supports so that they hold the body without friction"
        )
    return found[1]


def _iterated(
    first: np.ndarray, second: np.ndarray, load: np.ndarray, start: np.ndarray, limit: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return signs and reactions of the answer."""
    signs = np.where(start < 0.0, -1, 1)
    seen: set[bytes] = set()
    one_by_one = False
    for _ in range(limit):
        if signs.tobytes() in seen:
            if one_by_one:
                return None
            one_by_one = True
            seen.clear()
        seen.add(signs.tobytes())
        try:
            reactions, agrees = agreeing(np.where(signs > 0, second, -first), load, signs)
        except np.linalg.LinAlgError:
            return None
        if agrees:
            return signs, reactions
        wrong = np.flatnonzero(signs * reactions < 0.0)
        signs = signs.copy()
        changed = wrong[-1:] if one_by_one else wrong
        signs[changed] = -signs[changed]
    return None
