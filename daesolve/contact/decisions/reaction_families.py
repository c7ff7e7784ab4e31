"""Modes that do not determine their reactions: which of a family are possible, and which are used.

Reactions that satisfy the equations of a mode are base + free y. For two feet that stick on one
plane, or four that stand on it, only sums of reactions are determined. A mode is possible if some
reactions satisfy its equations and inequalities, which a linear programme decides. Reactions with
A z = 0 cause no motion, because z A z is the energy of their effect. If a free combination z of
reactions does cause motion, such as the normal reactions of four feet when a sliding body also
spins, the motion is not determined.

Sticking contacts hold as long as some y has every traction in its cone. No particular y shows this,
but the least use

    u = min over y of the largest |T| / (mu N)

does: it reaches 1 where sticking ends, for all contacts that share a load at once. Dinkelbach's
iteration finds it by linear programmes; in space these use tangents of the cones at successive
tractions.

Equal springs under all contacts produce the forces of a small displacement of the bodies, which
contain no combination of normal reactions without effect on the motion. If the gap of a contact
follows from the others, it is open if the bodies would lift off its spring, and closed if they
press on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy

from daesolve.contact.decisions.answers import SolvedReactions
from daesolve.contact.decisions.largest_slack import deepest_point
from daesolve.contact.decisions.modes import Modes, equations, slacks
from daesolve.contact.decisions.touching import ScaledProblem
from daesolve.core.expressions.singular_values import singular_directions

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
ENDLESS = 1e3
"""The multiple of the largest slack from which a combination of reactions has no end."""
_ROUNDS = 100
_TANGENTS = 8
_MOST_USED = 1e3
INFEASIBLE = 2
"""The status that HiGHS returns for an infeasible programme."""


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
    found = singular_directions(matrix)
    rank = found.rank(DEPENDENT * found.values[0])
    base = found.solution(right, rank)
    terms = np.abs(matrix) @ np.abs(base) + np.abs(right)
    if np.any(np.abs(matrix @ base - right) > MOVES * (1.0 + terms)):
        return None
    return known_family(problem, base, found.right[rank:].T)


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
    count = contacts.count
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
        found = deepest_point(
            np.vstack([-rows, family.free[loaded]]),
            np.concatenate([bound, (family.base[:count] - problem.least)[loaded]]),
            farthest,
            counts=np.arange(len(rows) + len(loaded)) < len(rows),
        )
        if found is None or found.slack < enough:
            return best
        shares = found.place
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


# -- equal springs -----------------------------------------------------------------------------


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
    found = singular_directions(slopes)
    rank = found.rank(MOVES)
    shares = -found.solution(constant, rank)
    missed = np.abs(slopes @ shares + constant)
    size = 1.0 + float(np.max(np.abs(family.base), initial=0.0))
    if np.any(missed > MOVES * size):
        return None
    return SpringShares(shares, found.right[rank:].T)


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


def lift_off(problem: ScaledProblem, closed: np.ndarray, reactions: np.ndarray) -> bool:
    """Return whether bodies lift off the springs under all open contacts.

    Where the rates of their gaps are zero, that must be so after one small displacement. It is in
    the range of A, and what closed contacts bear are its parts there.
    """
    count, tolerance = problem.contacts.count, problem.tolerance
    normal, least = reactions[:count], tolerance * (1.0 + np.max(np.abs(reactions)))
    if np.any(pressed(problem, closed, normal) > least):
        return False
    rates = (problem.contacts.matrix @ reactions + problem.free)[:count]
    still, within = np.flatnonzero(~closed & (rates <= least)), np.flatnonzero(closed)
    if not still.size or not within.size:
        return True
    units, matrix = problem.reactions[:count] ** 2, problem.contacts.matrix[:count, :count]
    units = units / np.max(units)
    held = np.linalg.pinv(matrix[np.ix_(within, within)], rcond=MOVES, hermitian=True)
    shares = held @ matrix[np.ix_(within, still)]
    begun = shares.T @ (units[within] * normal[within])
    left = matrix[np.ix_(still, still)] - matrix[np.ix_(still, within)] @ shares
    return not impossible(left, least * units[still] - begun, np.empty((0, still.size)), begun[:0])


# -- what is possible --------------------------------------------------------------------------


def possible(problem: ScaledProblem, mode: Modes, family: ReactionFamily) -> SolvedReactions | None:
    """Return reactions of a family that satisfy the inequalities of its mode; None if none do.

    Where contacts stick, they lie as deep inside as any.
    """

    def slack(shares: np.ndarray) -> np.ndarray:
        reactions = family.base + family.free @ shares
        return slacks(problem, mode, reactions[None])[0]

    count, size = len(family.free.T), 1.0 + float(np.max(np.abs(family.base)))
    constant = slack(np.zeros(count))
    if not count:
        possible = float(np.min(constant)) >= -problem.tolerance * size
        return SolvedReactions(family.base, springs=problem.springs) if possible else None
    slopes = np.column_stack([slack(unit) - constant for unit in _axes(count)])
    deepest = deepest_point(slopes, constant, FARTHEST * size, least=-problem.tolerance * size)
    if deepest is None:
        return None
    inside = deepest.place
    shares = _equal_springs(problem, mode, family)
    springs = shares is not None and bool(np.min(slack(shares)) >= -problem.tolerance * size)
    if shares is None or not springs:
        shares = inside
    determined, ends, spare = True, tuple[np.ndarray, ...](), deepest.slack
    if family.moves:
        spare = -np.inf
        ends = _ends(slopes, constant, family)
        spreads = [np.max(np.abs(problem.contacts.matrix @ (a - b))) for a in ends for b in ends]
        determined = float(max(spreads, default=np.inf)) <= MOVES * size
    elif np.any(mode.sticks):
        shares, springs = inside, False
    reactions = family.base + family.free @ shares
    return SolvedReactions(reactions, False, not family.presses, determined, springs, ends, spare)


def with_least_use(problem: ScaledProblem, mode: Modes, solved: SolvedReactions) -> SolvedReactions:
    """Return those reactions of the same motion that use the cones of sticking contacts least."""
    family = family_of(problem, *(part[0] for part in equations(problem, mode)))
    if family is not None and problem.springs:
        family = sprung(problem, np.flatnonzero(mode.closed[0]), family)
    if family is None or family.moves or not family.free.size or not np.any(mode.sticks):
        return solved
    inside = family.free.T @ (solved.reactions - family.base)
    shares = least_used(problem, mode, family, inside)
    return replace(solved, reactions=family.base + family.free @ shares)


def _axes(count: int) -> list[np.ndarray]:
    """Return the unit vectors (count,)."""
    return list(np.eye(count))


def _ends(
    slopes: np.ndarray, constant: np.ndarray, family: ReactionFamily
) -> tuple[np.ndarray, ...]:
    """Return reactions at both ends of each free combination; none if it has no end."""
    axes, farthest = _axes(family.free.shape[1]), ENDLESS * (1.0 + float(np.max(np.abs(constant))))
    bounds = np.append(0.0, constant)
    ends: list[np.ndarray] = []
    for way in (*axes, *(-axis for axis in axes)):
        first = np.arange(len(bounds)) == 0
        end = deepest_point(np.vstack([way, slopes]), bounds, farthest, counts=first)
        if end is None or np.max(np.abs(end.place)) >= 0.5 * farthest:
            return ()
        ends.append(family.base + family.free @ end.place)
    return tuple(ends)


def _equal_springs(
    problem: ScaledProblem, mode: Modes, family: ReactionFamily
) -> np.ndarray | None:
    """Return the share of each free combination for equal springs under all contacts.

    None if springs do not determine them.
    """
    found = spring_shares(problem, np.flatnonzero(mode.closed[0]), family)
    return None if found is None or found.left.size else found.shares


def impossible(rows: np.ndarray, bound: np.ndarray, equal: np.ndarray, right: np.ndarray) -> bool:
    """Return whether no x has rows x <= bound and equal x = right."""
    found = scipy.optimize.linprog(
        [0.0] * rows.shape[1],
        A_ub=rows,
        b_ub=bound,
        A_eq=equal if len(equal) else None,
        b_eq=right if len(equal) else None,
        bounds=(None, None),
        method="highs",
    )
    return found.status == INFEASIBLE
