"""All answers for a few pairs: every variant is solved, in LAPACK batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from daesolve.contact.complementarity.answers import VariantAnswer, answer_at
from daesolve.contact.complementarity.horizontal import (
    SINGULAR,
    HorizontalComplementarity,
    Variant,
    variant_of,
)
from daesolve.errors import UnsupportedError

MOST_PAIRS = 16
"""The largest number of pairs for which all variants are solved."""

TOLERANCE = 1e-12
"""Reactions below this share of the terms of a row count as zero."""

_NUMBERS_IN_A_BATCH = 2**21
_IN_RANGE = 1e-9
_NEAR = 0.1
_FEW = 64
_ROUNDINGS = 4
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class SolvedOrthants:
    """A batch of orthants, with the reactions from the equations of each.

    Attributes
    ----------
    signs
        +1 or -1 for each pair: (n, m).
    regular
        Whether the equations of an orthant determine its reactions: (n,).
    reactions
        Signed reactions of the scaled problem: (n, m); zero where not regular.
    noise
        The possible rounding error of each reaction: (n, m).
    felt
        The size of a reaction that would equal all terms of a row that it enters: (n, m).
    """

    signs: np.ndarray
    regular: np.ndarray
    reactions: np.ndarray
    noise: np.ndarray
    felt: np.ndarray

    def slack(self) -> np.ndarray:
        """Return the bound below which a reaction counts as zero: (n, m).

        Below it, the reaction's share of every row is within the tolerance of the sum of the row's
        terms, or the reaction is within its rounding error. Neither depends on the choice of units.
        """
        return np.maximum(TOLERANCE * self.felt, self.noise)

    def wrong(self) -> np.ndarray:
        """Return which reactions have the wrong sign and are nonzero: (n, m)."""
        return self.signs * self.reactions < -self.slack()

    def settled(self) -> np.ndarray:
        """Return the reactions with exact zeros for those that count as zero: (n, m)."""
        return np.where(np.abs(self.reactions) <= self.slack(), 0, self.reactions)


def all_signs(count: int) -> np.ndarray:
    """Return the signs of all variants in their lexicographic order: (2^m, m).

    Raises
    ------
    UnsupportedError
        If there are more than `MOST_PAIRS` pairs.
    """
    if count > MOST_PAIRS:
        raise UnsupportedError(
            f"{count} pairs of supports have 2^{count} variants, but only those of up to "
            f'{MOST_PAIRS} pairs are all solved: use method="branch-and-bound"'
        )
    shifts = np.arange(count - 1, -1, -1)
    return 2 * ((np.arange(1 << count)[:, None] >> shifts) & 1) - 1


def promising_orthants(problem: HorizontalComplementarity) -> Iterator[SolvedOrthants]:
    """Solve the equations of all orthants that may have an answer, in batches of limited memory."""
    for signs in _batches(problem.count):
        yield solve_orthants(problem, _promising(problem, signs))


def _promising(problem: HorizontalComplementarity, signs: np.ndarray) -> np.ndarray:
    """Return the orthants worth a closer look, where the signs are nearly right."""
    if len(signs) <= _FEW:
        return signs
    scaled = problem.scaling.problem
    try:
        solved = np.linalg.solve(scaled.orthant(signs), scaled.load[:, None])[..., 0]
    except np.linalg.LinAlgError:
        return signs
    largest = np.abs(solved).max(axis=1)
    return signs[(signs * solved >= -_NEAR * largest[:, None]).all(axis=1)]


def _batches(count: int) -> Iterator[np.ndarray]:
    signs = all_signs(count)
    size = max(1, _NUMBERS_IN_A_BATCH // count**2)
    for start in range(0, len(signs), size):
        yield signs[start : start + size]


def solve_orthants(problem: HorizontalComplementarity, signs: np.ndarray) -> SolvedOrthants:
    """Solve the equations of given orthants (n, m) in one batch."""
    count, scaled = problem.count, problem.scaling.problem
    matrices = scaled.orthant(signs)
    norms = np.abs(matrices).sum(axis=-2).max(axis=-1)
    # An exactly singular matrix would make LAPACK refuse the whole batch.
    regular = np.linalg.slogdet(matrices)[0] != 0
    matrices[~regular] = np.eye(count)
    inverses = np.linalg.inv(matrices)
    conditions = norms * np.abs(inverses).sum(axis=-2).max(axis=-1)
    regular &= conditions <= 1 / SINGULAR
    load = scaled.load[:, None]
    solved = inverses @ load
    # Elimination alone leaves zeros in a row with rounding as large as elsewhere.
    solved = np.where(regular[:, None, None], solved + inverses @ (load - matrices @ solved), 0)
    terms = np.abs(matrices) @ np.abs(solved) + np.abs(load)
    sizes = np.abs(matrices) / np.maximum(terms, _TINY)
    rounded = _ROUNDINGS * np.finfo(float).eps
    twice = (count * rounded * np.minimum(conditions, 1 / SINGULAR)) ** 2
    noise = rounded * np.abs(inverses) @ terms + twice[:, None, None] * np.abs(solved).max(
        axis=-2, keepdims=True
    )
    return SolvedOrthants(
        signs,
        regular,
        reactions=solved[..., 0],
        noise=noise[..., 0],
        felt=1 / np.maximum(sizes.max(axis=-2), _TINY),
    )


def singular_orthants(problem: HorizontalComplementarity) -> np.ndarray:
    """Return the signs of the orthants whose equations are singular to working precision: (n, m).

    Raises
    ------
    UnsupportedError
        If there are more than `MOST_PAIRS` pairs.
    """
    count, scaled = problem.count, problem.scaling.problem
    found = [np.empty((0, count), dtype=int)]
    for signs in _batches(count):
        matrices = scaled.orthant(signs)
        sizes = np.maximum(np.linalg.norm(matrices, axis=(-2, -1)), _TINY)
        # The mean of the squares of the other singular values bounds their product.
        means = sizes / np.sqrt(max(count - 1, 1))
        bounds = np.log(count * SINGULAR * sizes) + (count - 1) * np.log(means)
        suspects = signs[np.linalg.slogdet(matrices)[1] <= bounds]
        if len(suspects):
            found.append(suspects[~solve_orthants(problem, suspects).regular])
    return np.concatenate(found)


def enumerate_variants(problem: HorizontalComplementarity) -> tuple[VariantAnswer, ...]:
    """Return all answers in the order of their variants.

    A reaction that cannot be distinguished from zero counts as zero; see `SolvedOrthants.slack`.
    Variants that differ only in such pairs have the same reactions and count as one answer. Its
    variant is one that keeps the sign of its friction-free determinant, if there is one.

    Singular variants are not included; see `undetermined_variants`.

    Parameters
    ----------
    problem
        Up to `MOST_PAIRS` pairs.

    Raises
    ------
    UnsupportedError
        If there are more than `MOST_PAIRS` pairs.
    """
    kept: list[tuple[np.ndarray, VariantAnswer]] = []
    for batch in promising_orthants(problem):
        agreeing = batch.regular & ~batch.wrong().any(axis=1)
        slack, shares = batch.slack(), batch.settled()
        for index in np.flatnonzero(agreeing):
            _merge(kept, shares[index], slack[index], problem, batch.signs[index])
    return tuple(sorted((answer for _, answer in kept), key=lambda answer: answer.variant))


def _merge(
    kept: list[tuple[np.ndarray, VariantAnswer]],
    shares: np.ndarray,
    slack: np.ndarray,
    problem: HorizontalComplementarity,
    signs: np.ndarray,
) -> None:
    same = [place for place, (others, _) in enumerate(kept) if _alike(others, shares, slack)]
    if any(kept[place][1].physical for place in same):
        return
    answer = answer_at(problem, shares * problem.scaling.factors(signs), variant_of(signs))
    if not same:
        kept.append((shares, answer))
    elif answer.physical:
        kept[same[0]] = (shares, answer)


def _alike(first: np.ndarray, second: np.ndarray, slack: np.ndarray) -> bool:
    return bool((np.abs(first - second) <= 2 * slack).all())


def every_variant(problem: HorizontalComplementarity) -> tuple[VariantAnswer, ...]:
    """Return each variant with the reactions from its equations, of any sign.

    Singular variants are left out.

    Raises
    ------
    UnsupportedError
        If there are more than `MOST_PAIRS` pairs.
    """
    return tuple(
        answer_at(problem, reactions * problem.scaling.factors(signs), variant_of(signs))
        for batch in (solve_orthants(problem, signs) for signs in _batches(problem.count))
        for signs, reactions, regular in zip(
            batch.signs, batch.reactions, batch.regular, strict=True
        )
        if regular
    )


def undetermined_variants(problem: HorizontalComplementarity) -> tuple[Variant, ...]:
    """Return the variants whose equations are singular and still balance the load.

    The reactions have the right signs but are not determined. A zero load is balanced if reactions
    balance each other.

    Raises
    ------
    UnsupportedError
        If there are more than `MOST_PAIRS` pairs.
    """
    scaled = problem.scaling.problem
    return tuple(
        variant_of(signs) for signs in singular_orthants(problem) if _balances(scaled, signs)
    )


def _balances(scaled: HorizontalComplementarity, signs: np.ndarray) -> bool:
    columns, load = scaled.orthant(signs) * signs, scaled.load
    if not load.any():
        # Among reactions that balance each other, only nonzero ones count.
        columns, load = np.vstack([columns, np.ones(scaled.count)]), np.append(load, 1.0)
    return bool(scipy.optimize.nnls(columns, load)[1] <= _IN_RANGE * np.linalg.norm(load))
