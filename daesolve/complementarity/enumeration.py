"""All answers of a few pairs: every variant is solved, in batches of LAPACK."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

from daesolve.complementarity.answers import Answer, answer_at
from daesolve.complementarity.horizontal import (
    SINGULAR,
    HorizontalComplementarity,
    Variant,
    variant_of,
)
from daesolve.errors import UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_PAIRS = 16
"""The largest number of pairs whose variants are all looked at."""

TOLERANCE = 1e-12
"""Relative size of a reaction, by its share of the load, that is taken for zero."""

_NUMBERS_IN_A_BATCH = 2**21
_IN_RANGE = 1e-9


@dataclass(frozen=True, eq=False)
class SolvedOrthants:
    """A batch of orthants, each with the reactions its own equations give.

    Attributes
    ----------
    signs
        +1 or -1 for each pair: (n, m).
    regular
        Whether the equations of an orthant determine its reactions: (n,).
    reactions
        Signed reactions of the scaled problem: (n, m); zero where not regular.
    reciprocal
        Reciprocal condition numbers of the scaled equations, in the 1-norm: (n,).
    """

    signs: NDArray[np.int_]
    regular: NDArray[np.bool_]
    reactions: NDArray[np.float64]
    reciprocal: NDArray[np.float64]

    def slack(self, tolerance: float) -> NDArray[np.float64]:
        """Return below what a scaled reaction of an orthant is zero: (n,).

        That is its tolerance relative to the largest, or what the condition of the equations lets
        be known.
        """
        known = np.finfo(float).eps / np.maximum(self.reciprocal, SINGULAR)
        return np.maximum(tolerance, known) * np.abs(self.reactions).max(axis=1)

    def wrong(self, tolerance: float) -> NDArray[np.bool_]:
        """Tell which reactions have the wrong sign and are not zero: (n, m)."""
        return self.signs * self.reactions < -self.slack(tolerance)[:, None]

    def settled(self, tolerance: float) -> NDArray[np.float64]:
        """Return the reactions with exact zeros for those that are zero: (n, m)."""
        zero = np.abs(self.reactions) <= self.slack(tolerance)[:, None]
        return np.where(zero, 0, self.reactions)


def all_signs(count: int) -> NDArray[np.int_]:
    """Return the signs of all variants in their lexicographic order: (2^m, m).

    Raises
    ------
    UnsupportedError
        If there are more than `MOST_PAIRS` pairs.
    """
    if count > MOST_PAIRS:
        raise UnsupportedError(
            f"{count} pairs of supports have 2^{count} variants: all of them are looked at up to"
            f' {MOST_PAIRS} pairs, method="branch-and-bound" finds all answers of more'
        )
    shifts = np.arange(count - 1, -1, -1)
    return 2 * ((np.arange(2**count)[:, None] >> shifts) & 1) - 1


def solved_orthants(problem: HorizontalComplementarity) -> Iterator[SolvedOrthants]:
    """Solve the equations of every orthant, scaled, in batches of bounded memory."""
    signs = all_signs(problem.count)
    size = max(1, _NUMBERS_IN_A_BATCH // problem.count**2)
    for start in range(0, len(signs), size):
        yield solve_orthants(problem, signs[start : start + size])


def solve_orthants(problem: HorizontalComplementarity, signs: NDArray[np.int_]) -> SolvedOrthants:
    """Solve the equations of given orthants (n, m) in one batch."""
    scaled = problem.scaling.problem
    matrices = scaled.orthant(signs)
    norms = np.abs(matrices).sum(axis=-2).max(axis=-1)
    # One exactly singular matrix would make LAPACK refuse the whole batch.
    regular = np.linalg.slogdet(matrices)[0] != 0
    matrices[~regular] = np.eye(scaled.count)
    sides = np.column_stack([scaled.load, np.eye(scaled.count)])
    solved = np.linalg.solve(matrices, np.broadcast_to(sides, (len(signs), *sides.shape)))
    inverse_norms = np.abs(solved[..., 1:]).sum(axis=-2).max(axis=-1)
    reciprocal = np.where(regular, 1 / np.maximum(norms * inverse_norms, 1), 0)
    regular &= reciprocal >= SINGULAR
    reactions = np.where(regular[:, None], solved[..., 0], 0)
    return SolvedOrthants(signs, regular, reactions, reciprocal)


def enumerate_variants(
    problem: HorizontalComplementarity, *, tolerance: float = TOLERANCE
) -> tuple[Answer, ...]:
    """Return all answers in the order of their variants.

    A reaction is zero where its share of the load is within the tolerance, relative to the largest
    share, and within what the condition of the equations lets be known. Variants that differ in
    such pairs alone have the same reactions and are one answer: the variant is then one that keeps
    the sign of its friction-free determinant, if any does.

    Singular variants give no answer; see `undetermined_variants`.

    Parameters
    ----------
    problem
        Up to `MOST_PAIRS` pairs.
    tolerance
        Relative size of a reaction that is taken for zero.

    Raises
    ------
    UnsupportedError
        If there are more than `MOST_PAIRS` pairs.
    """
    kept: list[tuple[NDArray[np.float64], Answer]] = []
    for batch in solved_orthants(problem):
        agreeing = batch.regular & ~batch.wrong(tolerance).any(axis=1)
        slack, shares = batch.slack(tolerance), batch.settled(tolerance)
        for index in np.flatnonzero(agreeing):
            _merge(kept, shares[index], slack[index], problem, batch.signs[index])
    return tuple(sorted((answer for _, answer in kept), key=lambda answer: answer.variant))


def _merge(
    kept: list[tuple[NDArray[np.float64], Answer]],
    shares: NDArray[np.float64],
    slack: float,
    problem: HorizontalComplementarity,
    signs: NDArray[np.int_],
) -> None:
    same = [place for place, (others, _) in enumerate(kept) if _alike(others, shares, slack)]
    if any(kept[place][1].physical for place in same):
        return
    answer = answer_at(problem, shares * problem.scaling.factors(signs), variant_of(signs))
    if not same:
        kept.append((shares, answer))
    elif answer.physical:
        kept[same[0]] = (shares, answer)


def _alike(first: NDArray[np.float64], second: NDArray[np.float64], slack: float) -> bool:
    return bool(np.abs(first - second).max() <= 2 * slack)


def every_variant(problem: HorizontalComplementarity) -> tuple[Answer, ...]:
    """Return each variant with the reactions its equations give, of whatever signs.

    Singular variants are left out.

    Raises
    ------
    UnsupportedError
        If there are more than `MOST_PAIRS` pairs.
    """
    return tuple(
        answer_at(problem, reactions * problem.scaling.factors(signs), variant_of(signs))
        for batch in solved_orthants(problem)
        for signs, reactions, regular in zip(
            batch.signs, batch.reactions, batch.regular, strict=True
        )
        if regular
    )


def undetermined_variants(problem: HorizontalComplementarity) -> tuple[Variant, ...]:
    """Return the variants that balance the load by many reactions, of the right signs.

    Their equations are singular, and the load is one of those they can balance.

    Raises
    ------
    UnsupportedError
        If there are more than `MOST_PAIRS` pairs.
    """
    scaled = problem.scaling.problem
    load = scaled.load
    return tuple(
        variant_of(signs)
        for batch in solved_orthants(problem)
        for signs in batch.signs[~batch.regular]
        if load.any()
        and nnls(scaled.orthant(signs) * signs, load)[1] <= _IN_RANGE * np.linalg.norm(load)
    )
