"""Branch and bound over the loaded supports, with linear programmes that exclude nodes.

A node leaves some pairs open: either of their supports may be loaded, or both. If no reactions t1,
t2 >= 0 of a node balance the load, no variant in it does. Farkas' lemma proves this with
multipliers y such that y b > 0 and y A_j <= 0 for every column of the node; the code verifies them.
If few pairs are open, all variants of the node are solved at once. Without t1_k t2_k = 0 the
programme is equation (3.4) of Nikolskii and Smirnov.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from daesolve.contact.complementarity.answers import VariantAnswer, answer_in, have_same_reactions
from daesolve.contact.complementarity.enumeration import solve_orthants
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.errors import VariantError

FEW = 5
"""With at most this many open pairs, enumerating is cheaper than bounding."""
PROVED = 1e8
"""Shares of the load are proved impossible if their sum stays below this multiple of the load."""
ZERO = 1e-9
"""Reactions below this share of the largest count as zero."""


class Programme(NamedTuple):
    """The best reactions if both supports of a pair may be loaded.

    Attributes
    ----------
    first, second
        Reactions t1 and t2 (m,), N, none negative.
    complementary
        Whether no pair has both supports loaded; the reactions are then an answer.
    """

    first: np.ndarray
    second: np.ndarray
    complementary: bool


class _Relaxed(NamedTuple):
    """The state of a node: proved empty, or shares t1, t2 (m,) that balance the load best."""

    empty: bool
    first: np.ndarray
    second: np.ndarray


class _Leaf(NamedTuple):
    """The answers of a node, and whether they are proved complete."""

    answers: tuple[VariantAnswer, ...]
    complete: bool


def linear_programme(problem: HorizontalComplementarity) -> Programme | None:
    """Return the reactions of least sum if both supports of a pair may be loaded.

    Equation (3.4): minimise the sum of t1 and t2 with A1 t1 + A2 t2 = b, t1 >= 0, t2 >= 0. A pair
    with both supports loaded is clamped, which any clearance excludes. The reactions are then not
    an answer, although one may exist.

    Returns
    -------
    programme
        None if no such reactions balance the load; then no variant does.

    Raises
    ------
    VariantError
        The solver of linear programmes fails.
    """
    scaling = problem.scaling
    factors = np.concatenate([scaling.first, scaling.second])
    size = _size(scaling.problem.load)
    found = scipy.optimize.linprog(
        factors / np.max(factors),
        A_eq=np.hstack([scaling.problem.first, scaling.problem.second]),
        b_eq=scaling.problem.load / size,
        method="highs",
    )
    if found.status == 2:
        return None
    if found.status != 0:
        raise VariantError(f"the linear programme has no result: {found.message}")
    assert found.x is not None
    first, second = np.split(found.x, 2)
    both = np.minimum(first, second) > ZERO * np.max(found.x)
    reactions = np.split(found.x * size * factors, 2)
    return Programme(reactions[0], reactions[1], not np.any(both))


def branch_and_bound(
    problem: HorizontalComplementarity,
    all: bool = False,  # noqa: A002
) -> tuple[tuple[VariantAnswer, ...], bool]:
    """Find one answer or all of them, or prove that there is none.

    Parameters
    ----------
    problem
        The problem of the reactions.
    all
        Whether to continue after the first answer.

    Returns
    -------
    answers, complete
        Distinct answers, and whether they are proved to be all. Completeness stays open if an
        answer ends the search, or if variants with singular equations might balance the load.
    """
    answers: list[VariantAnswer] = []
    complete = True
    nodes = [np.zeros(problem.count, dtype=int)]
    while nodes:
        node = nodes.pop()
        if np.count_nonzero(node == 0) <= FEW:
            leaf = _enumerated(problem, node)
            complete &= leaf.complete
            for answer in leaf.answers:
                _merge(problem, answers, answer)
        else:
            relaxed = _relaxed(problem, node)
            if relaxed.empty:
                continue
            signs = np.where(relaxed.second >= relaxed.first, 1, -1)
            guess = None if all else answer_in(problem, signs)
            answers += [guess] if guess else []
            nodes += _children(node, relaxed)
        if answers and not all:
            return tuple(answers[:1]), complete and not nodes
    return tuple(sorted(answers, key=lambda answer: answer.variant)), complete


def _children(node: np.ndarray, relaxed: _Relaxed) -> list[np.ndarray]:
    """Return the node with its most doubtful pair decided either way, the likelier last."""
    both = np.minimum(relaxed.first, relaxed.second)
    larger = np.maximum(relaxed.first, relaxed.second)
    doubtful = np.where(node == 0, both + ZERO * larger, -1.0)
    pair = int(np.argmax(doubtful))
    likelier = 1 if relaxed.second[pair] >= relaxed.first[pair] else -1
    children = [node.copy(), node.copy()]
    children[0][pair], children[1][pair] = -likelier, likelier
    return children


def _relaxed(problem: HorizontalComplementarity, node: np.ndarray) -> _Relaxed:
    """Balance the load of a node as well as possible.

    The unbalanced load enters as slacks, so the programme always has a solution. Its multipliers
    are Farkas multipliers if the least sum of slacks is not zero.
    """
    scaled = problem.scaling.problem
    count, allowed = problem.count, np.concatenate([node <= 0, node >= 0])
    columns = np.hstack([scaled.first, scaled.second])[:, allowed]
    load = scaled.load / _size(scaled.load)
    found = scipy.optimize.linprog(
        np.concatenate([np.zeros(columns.shape[1]), np.ones(2 * count)]),
        A_eq=np.hstack([columns, np.eye(count), -np.eye(count)]),
        b_eq=load,
        method="highs",
    )
    shares = np.zeros(2 * count)
    if found.status != 0:
        return _Relaxed(False, *np.split(shares, 2))
    assert found.x is not None
    multipliers = found.eqlin.marginals
    gained, slack = multipliers @ load, np.max(multipliers @ columns, initial=0.0)
    empty = gained > ZERO and gained > PROVED * slack
    shares[allowed] = found.x[: columns.shape[1]]
    return _Relaxed(bool(empty), *np.split(shares, 2))


def _enumerated(problem: HorizontalComplementarity, node: np.ndarray) -> _Leaf:
    """Solve every variant of a node."""
    opened = np.flatnonzero(node == 0)
    signs = np.tile(node, (2**opened.size, 1))
    signs[:, opened] = 2 * (np.arange(len(signs))[:, None] >> np.arange(opened.size) & 1) - 1
    batch = solve_orthants(problem, signs)
    fitting = batch.regular & ~batch.wrong().any(axis=1)
    found = [answer_in(problem, signs[index]) for index in np.flatnonzero(fitting)]
    answers = tuple(answer for answer in found if answer is not None)
    proved = all(_relaxed(problem, signs[index]).empty for index in np.flatnonzero(~batch.regular))
    return _Leaf(answers, proved and len(answers) == len(found))


def _merge(
    problem: HorizontalComplementarity, answers: list[VariantAnswer], answer: VariantAnswer
) -> None:
    """Add an answer if it is new; of equal ones keep the one with the friction-free sign."""
    for place, other in enumerate(answers):
        if have_same_reactions(problem, answer, other):
            if answer.physical and not other.physical:
                answers[place] = answer
            return
    answers.append(answer)


def _size(load: np.ndarray) -> float:
    return float(np.max(np.abs(load))) or 1.0
