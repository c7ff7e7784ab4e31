"""Loads that rigid bodies leave open, shared as by equal springs under all contacts.

Equal springs produce the forces of a small displacement of the bodies, which contain no combination
of normal reactions without effect on the motion. If the gap of a contact follows from the others,
it is open if the bodies would lift off its spring, and closed if they press on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daesolve.contact.decisions.cones import MOVES, ReactionFamily, known_family
from daesolve.contact.decisions.touching import ScaledProblem


def idle_rows(problem: ScaledProblem, closed: np.ndarray) -> np.ndarray:
    """Return the combinations of normal reactions that springs do not produce: (m, n closed).

    Parameters
    ----------
    problem
        A problem in its own units.
    closed
        The indices of the contacts that share the loads.
    """
    if not closed.size:
        return np.zeros((0, 0))
    values, vectors = np.linalg.eigh(problem.contacts.matrix[np.ix_(closed, closed)])
    idle = vectors[:, values <= MOVES]
    # In true units, the units of a contact enter both the combination and its reaction.
    weights = idle * problem.reactions[closed][:, None] ** 2
    sizes = np.max(np.abs(weights), axis=0, initial=0.0)
    return np.asarray((weights / np.where(sizes > 0.0, sizes, 1.0)).T, dtype=np.float64)


class SpringShares(NamedTuple):
    """Shares y (number,) of a family for springs, and the remaining freedom.

    The columns of `left`, (number, m), do not change the load of any spring.
    """

    shares: np.ndarray
    left: np.ndarray


def spring_shares(
    problem: ScaledProblem, closed: np.ndarray, family: ReactionFamily
) -> SpringShares | None:
    """Return the shares of a family for springs under closed contacts; None if there are none."""
    weights = idle_rows(problem, closed)
    slopes, constant = weights @ family.free[closed], weights @ family.base[closed]
    left, sizes, vectors = np.linalg.svd(slopes)
    rank = int(np.count_nonzero(sizes > MOVES))
    shares = -vectors[:rank].T @ ((left[:, :rank].T @ constant) / sizes[:rank])
    missed = np.abs(slopes @ shares + constant)
    size = 1.0 + float(np.max(np.abs(family.base), initial=0.0))
    if np.any(missed > MOVES * size):
        return None
    return SpringShares(shares, vectors[rank:].T)


def sprung(
    problem: ScaledProblem, closed: np.ndarray, family: ReactionFamily
) -> ReactionFamily | None:
    """Return the reactions of a family for springs under closed contacts; None without any."""
    found = spring_shares(problem, closed, family)
    if found is None:
        return None
    return known_family(problem, family.base + family.free @ found.shares, family.free @ found.left)


def pressed(problem: ScaledProblem, closed: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return the forces of springs under open contacts whose gaps follow from closed ones: (n,).

    Parameters
    ----------
    problem
        A problem in its own units.
    closed
        (n,) which contacts are closed.
    normal
        (n,) their reactions, as shared by springs.
    """
    forces = np.zeros(len(closed))
    within, rest = np.flatnonzero(closed), np.flatnonzero(~closed)
    if not within.size or not rest.size:
        return forces
    count = problem.contacts.count
    matrix = problem.contacts.matrix[:count, :count]
    across = matrix[np.ix_(within, rest)]
    shares = np.linalg.pinv(matrix[np.ix_(within, within)], rcond=MOVES, hermitian=True) @ across
    left = np.diag(matrix)[rest] - np.sum(across * shares, axis=0)
    units = problem.reactions[:count] ** 2
    found = (shares.T @ (units[within] * normal[within])) / units[rest]
    forces[rest] = np.where(left <= MOVES, found, 0.0)
    return forces
