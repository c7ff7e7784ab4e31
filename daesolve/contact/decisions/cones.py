"""How much of their cones sticking contacts need to use, if reactions are not determined.

Reactions that satisfy the equations of a mode are base + free y. Sticking contacts hold as long as
some y has every traction in its cone. No particular y shows this, but the least use

    u = min over y of the largest |T| / (mu N)

does: it reaches 1 where sticking ends, for all contacts that share a load at once. Dinkelbach's
iteration finds it by linear programmes; in space these use tangents of the cones at successive
tractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from daesolve.contact.decisions.modes import Modes
from daesolve.contact.decisions.programmes import minimised
from daesolve.contact.decisions.touching import ScaledProblem

DEPENDENT = 1e-11
"""Equations with a smaller singular value, relative to the largest, depend on each other."""
MOVES = 1e-9
"""Rates, relative to its reactions, above which a combination of reactions causes motion."""
ROUNDING = 1e-13
"""An excess over a cone, relative to the largest reaction, that counts as zero."""
FINE = 1e-10
"""The same in space, where linear programmes do not end at exact vertices."""
FARTHEST = 10.0
"""The largest multiple, relative to the largest reaction, of a combination that causes no
motion."""
_ROUNDS = 100
_TANGENTS = 8
_MOST_USED = 1e3


@dataclass(frozen=True, eq=False)
class ReactionFamily:
    """Reactions that satisfy the equations of a mode: base + free y for all y.

    Attributes
    ----------
    base
        The reactions of least norm: (k,).
    free
        The possible additions, orthonormal columns: (k, number).
    moves
        Whether an addition causes motion.
    presses
        Whether an addition involves normal reactions.
    """

    base: np.ndarray
    free: np.ndarray
    moves: bool
    presses: bool


def family_of(
    problem: ScaledProblem, matrix: np.ndarray, right: np.ndarray
) -> ReactionFamily | None:
    """Return the reactions that satisfy the equations of a mode; None if there are none."""
    left, sizes, vectors = np.linalg.svd(matrix)
    rank = int(np.count_nonzero(sizes > DEPENDENT * sizes[0]))
    base = vectors[:rank].T @ ((left[:, :rank].T @ right) / sizes[:rank])
    terms = np.abs(matrix) @ np.abs(base) + np.abs(right)
    if np.any(np.abs(matrix @ base - right) > MOVES * (1.0 + terms)):
        return None
    return known_family(problem, base, vectors[rank:].T)


def known_family(problem: ScaledProblem, base: np.ndarray, free: np.ndarray) -> ReactionFamily:
    """Return the family of reactions base + free y."""
    moved = np.abs(problem.contacts.matrix @ free)
    pressing = np.abs(free[: problem.contacts.count])
    return ReactionFamily(
        base,
        free,
        bool(np.max(moved, initial=0.0) > MOVES),
        bool(np.max(pressing, initial=0.0) > MOVES),
    )


def least_used(
    problem: ScaledProblem, mode: Modes, family: ReactionFamily, start: np.ndarray
) -> np.ndarray:
    """Return the shares y with which sticking contacts use their cones as little as possible.

    Parameters
    ----------
    problem
        A problem in its own units.
    mode
        One mode.
    family
        Reactions that satisfy its equations.
    start
        Initial shares: (number,).
    """
    contacts = problem.contacts
    count, number = contacts.count, len(start)
    loaded = np.flatnonzero(mode.closed[0])
    angles = 2.0 * np.pi * np.arange(_TANGENTS) / _TANGENTS
    around = [[np.cos(angle), np.sin(angle)] for angle in angles]
    tangents = [
        (int(contact), np.array(direction))
        for contact in np.flatnonzero(mode.sticks[0])
        for direction in ([[1.0], [-1.0]] if contacts.directions == 1 else around)
    ]
    # Contacts may press against each other without limit: bound this.
    size = 1.0 + float(np.max(np.abs(family.base)))
    farthest, enough = FARTHEST * size, (ROUNDING if contacts.directions == 1 else FINE) * size
    shares, best, least = start, start, np.inf
    for _ in range(_ROUNDS):
        reactions = family.base + family.free @ shares
        used = use(problem, mode, reactions)
        if used <= least:
            best, least = shares, used
        if contacts.directions > 1:
            tangents += _tractions(problem, mode, reactions)
        rows, bound = _tangent_rows(problem, family, tangents, min(least, _MOST_USED))
        found = minimised(
            np.append(np.zeros(number), 1.0),
            np.block(
                [
                    [rows, -np.ones((len(rows), 1))],
                    [-family.free[loaded], np.zeros((len(loaded), 1))],
                ]
            ),
            np.concatenate([bound, (family.base[:count] - problem.least)[loaded]]),
            [*[(-farthest, farthest)] * number, (-farthest, None)],
        )
        if found is None or found[-1] > -enough:
            return best
        shares = np.asarray(found[:-1], dtype=np.float64)
    return best


def use(problem: ScaledProblem, mode: Modes, reactions: np.ndarray) -> float:
    """Return the largest |T| / (mu N) of sticking contacts in a mode; inf without a reaction."""
    static = problem.contacts.static
    return max(
        (
            float(np.linalg.norm(traction) / limit)
            if (limit := static[contact] * normal) > 0.0
            else np.inf
            for contact, normal, traction in _rubbing(problem, mode, reactions)
        ),
        default=0.0,
    )


def _tractions(
    problem: ScaledProblem, mode: Modes, reactions: np.ndarray
) -> list[tuple[int, np.ndarray]]:
    """Return the directions of the tractions of sticking contacts, by contact."""
    return [
        (contact, traction / np.linalg.norm(traction))
        for contact, _, traction in _rubbing(problem, mode, reactions)
    ]


def _rubbing(
    problem: ScaledProblem, mode: Modes, reactions: np.ndarray
) -> Iterator[tuple[int, float, np.ndarray]]:
    """Yield sticking contacts whose traction exceeds rounding: contact, N and T."""
    rounding = ROUNDING * float(np.max(np.abs(reactions), initial=0.0))
    for contact in np.flatnonzero(mode.sticks[0]):
        traction = reactions[problem.contacts.tangents(int(contact))]
        if np.linalg.norm(traction) > rounding:
            yield int(contact), float(reactions[contact]), traction


def _tangent_rows(
    problem: ScaledProblem,
    family: ReactionFamily,
    tangents: list[tuple[int, np.ndarray]],
    used: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and bounds: components of T in directions are at most used mu N + w."""
    contacts = problem.contacts
    rows: list[np.ndarray] = []
    for contact, direction in tangents:
        row = np.zeros(len(problem.free))
        row[contacts.tangents(contact)] = direction
        row[contact] = -used * contacts.static[contact]
        rows.append(row)
    stacked = np.array(rows)
    return stacked @ family.free, -stacked @ family.base
