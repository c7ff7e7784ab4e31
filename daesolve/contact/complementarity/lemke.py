"""Lemke's method: complementary pivots from a base variant, with lexicographic ratios.

About a base variant the reactions w of its supports and z of the opposite ones satisfy

    w = M z + q,    w >= 0,  z >= 0,  w_k z_k = 0.

An artificial reaction z_0 of all pairs provides a start, and pivots drive it out. The lexicographic
ratio test leaves no ties, so loads under which several reactions vanish cannot cause cycles.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from daesolve.contact.complementarity.answers import VariantAnswer, answer_in
from daesolve.contact.complementarity.horizontal import (
    HorizontalComplementarity,
    Variant,
    signs_of,
    variant_of,
)

TIE = 1e-11
"""Ratios that differ by less, relative to the largest number present, are equal."""
ALL_BASES = 2
"""The number of pairs up to which every variant is tried as the base."""


def lemke(
    problem: HorizontalComplementarity, base: Sequence[int] | None = None
) -> VariantAnswer | None:
    """Find an answer by complementary pivots.

    Parameters
    ----------
    problem
        The problem of the reactions.
    base
        The variant to start from; None means the second supports of all pairs. While pivots end in
        a ray, other bases follow: all first supports, alternating ones, those with one pair
        changed. For one or two pairs these are all variants.

    Returns
    -------
    answer
        None if the pivots end in a ray from every base. This proves nothing, unless every load has
        a unique answer, in which case it does not happen.

    Raises
    ------
    PosingError
        The base is not a variant of the pairs.
    """
    first = np.ones(problem.count, dtype=int) if base is None else signs_of(base, problem.count)
    for variant in dict.fromkeys((variant_of(first), *_bases(problem.count))):
        signs = _pivoted(problem, signs_of(variant, problem.count))
        answer = None if signs is None else answer_in(problem, signs)
        if answer is not None:
            return answer
    return None


def _bases(count: int) -> list[Variant]:
    """Return variants to start from."""
    if count <= ALL_BASES:
        return list(itertools.product((2, 1), repeat=count))
    one_changed = 1 - 2 * np.eye(count, dtype=int)
    alternating = np.where(np.arange(count) % 2, 1, -1)
    same = np.ones(count, dtype=int)
    starts = (same, -same, alternating, -alternating, *one_changed, *-one_changed)
    return [variant_of(signs) for signs in starts]


def _pivoted(problem: HorizontalComplementarity, base: np.ndarray) -> np.ndarray | None:
    """Return the signs for which the artificial reaction is driven out; None in a ray."""
    tableau = _tableau(problem, base)
    if tableau is None:
        return None
    count = problem.count
    artificial, last = 2 * count, 2 * count + 1
    basic = np.arange(count)
    if np.all(tableau[:, last] >= 0.0):
        return base
    # For equal loads take the last: the rows of the others stay lexicographically positive.
    row = int(np.flatnonzero(tableau[:, last] <= np.min(tableau[:, last]) + TIE)[-1])
    entering = artificial
    for _ in range(100 + 20 * count):
        left = int(basic[row])
        _pivot(tableau, row, entering)
        basic[row] = entering
        if left == artificial:
            other = np.isin(np.arange(count, 2 * count), basic)
            return np.where(other, -base, base)
        entering = (left + count) % (2 * count)
        leaving = _leaving(tableau, entering, basic == artificial)
        if leaving is None:
            return None
        row = leaving
    return None


def _tableau(problem: HorizontalComplementarity, base: np.ndarray) -> np.ndarray | None:
    """Return [I, -M, -1, q] in units of each reaction; None if the base is singular.

    The unit of w_k is (|A_s^-1| |b|)_k, the most that the load could cause. So the path does not
    depend on the units of the problem.
    """
    loaded = np.where(base > 0, problem.second, problem.first)
    opposite = np.where(base > 0, problem.first, problem.second)
    try:
        inverse = np.linalg.inv(loaded)
    except np.linalg.LinAlgError:
        return None
    units = np.abs(inverse) @ np.abs(problem.load)
    if not np.all(units > 0.0):
        units[units == 0.0] = np.max(units) or 1.0
    minus = (inverse @ opposite) / units[:, None]
    largest = np.max(np.abs(minus), axis=0)
    minus /= np.where(largest > 0.0, largest, 1.0)
    load = (inverse @ problem.load) / units
    # Rounding of zeros must not look like a load.
    load[np.abs(load) <= TIE] = 0.0
    count = problem.count
    return np.column_stack([np.eye(count), minus, -np.ones(count), load])


def _pivot(tableau: np.ndarray, row: int, column: int) -> None:
    """Make a column a unit vector."""
    tableau[row] /= tableau[row, column]
    factors = tableau[:, column].copy()
    factors[row] = 0.0
    tableau -= factors[:, None] * tableau[row]


def _leaving(tableau: np.ndarray, entering: int, artificial: np.ndarray) -> int | None:
    """Return the row with the lexicographically least ratio; None if nothing bounds it."""
    column = tableau[:, entering]
    rows = np.flatnonzero(column > TIE * max(1.0, float(np.max(np.abs(column)))))
    if not rows.size:
        return None
    count = tableau.shape[0]
    for place in (2 * count + 1, *range(count)):
        ratios = tableau[rows, place] / column[rows]
        least = np.min(ratios)
        rows = rows[ratios <= least + TIE * max(1.0, float(np.max(np.abs(ratios))))]
        # Among equal ratios of the load, take the artificial reaction's, so that it leaves.
        if np.any(artificial[rows]):
            return int(rows[np.argmax(artificial[rows])])
        if rows.size == 1:
            return int(rows[0])
    return int(rows[0])
