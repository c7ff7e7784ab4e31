"""Modes that do not determine the reactions: whether any are possible, and what they decide.

For two feet that stick on one plane, or four that stand on it, only sums of reactions are
determined. A mode is possible if some reactions satisfy its equations and inequalities, which a
linear programme decides. Reactions with A z = 0 cause no motion, because z A z is the energy of
their effect. If a free combination z of reactions does cause motion, such as the normal reactions
of four feet when a sliding body also spins, the motion is not determined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.contact.decisions.cones import FARTHEST, MOVES, ReactionFamily, least_used
from daesolve.contact.decisions.modes import Modes, slacks
from daesolve.contact.decisions.programmes import minimised
from daesolve.contact.decisions.springs import spring_shares
from daesolve.contact.decisions.touching import ScaledProblem


@dataclass(frozen=True, eq=False)
class Possible:
    """Reactions of a family that also satisfy the inequalities of the mode.

    Attributes
    ----------
    reactions
        One of them: (k,).
    determined
        Whether they are the only ones.
    motion_determined
        Whether all of them give the same motion.
    springs
        Whether these are the reactions of equal springs under all contacts.
    ends
        If the motion differs: reactions at the ends, two for each free combination.
    """

    reactions: np.ndarray
    determined: bool
    motion_determined: bool
    springs: bool
    ends: tuple[np.ndarray, ...] = ()


def possible(
    problem: ScaledProblem, mode: Modes, family: ReactionFamily, tolerance: float
) -> Possible | None:
    """Return reactions of a family that satisfy the inequalities of its mode; None if none do."""
    if not family.free.size:
        least = float(np.min(slacks(problem, mode, family.base[None])))
        size = 1.0 + float(np.max(np.abs(family.base)))
        known = Possible(family.base, True, True, problem.springs)
        return known if least >= -tolerance * size else None

    def slack(shares: np.ndarray) -> np.ndarray:
        reactions = family.base + family.free @ shares
        return slacks(problem, mode, reactions[None])[0]

    count = len(family.free.T)
    constant = slack(np.zeros(count))
    slopes = np.column_stack([slack(unit) - constant for unit in _units(count)])
    size = 1.0 + float(np.max(np.abs(family.base)))
    best = minimised(
        np.append(np.zeros(count), -1.0),
        np.column_stack([-slopes, np.ones(len(constant))]),
        constant,
        [*[(-FARTHEST * size, FARTHEST * size)] * count, (None, size)],
    )
    if best is None or best[-1] < -tolerance * size:
        return None
    inside = np.asarray(best[:-1], dtype=np.float64)
    shares = _equal_springs(problem, mode, family)
    springs = shares is not None and bool(np.min(slack(shares)) >= -tolerance * size)
    if shares is None or not springs:
        shares = inside
    if family.moves:
        ends = _ends(slopes, constant, family)
        spread = max(
            (
                float(np.max(np.abs(problem.contacts.matrix @ (one - other))))
                for one in ends
                for other in ends
            ),
            default=np.inf,
        )
        known = spread <= MOVES * size
        return Possible(family.base + family.free @ shares, False, known, springs, tuple(ends))
    if np.any(mode.sticks):
        shares, springs = least_used(problem, mode, family, inside), False
    return Possible(family.base + family.free @ shares, False, True, springs)


def _units(count: int) -> list[np.ndarray]:
    """Return the unit vectors (count,)."""
    return list(np.eye(count))


def _ends(slopes: np.ndarray, constant: np.ndarray, family: ReactionFamily) -> list[np.ndarray]:
    """Return reactions at both ends of each free combination; none if it has no end."""
    count = family.free.shape[1]
    found: list[np.ndarray] = []
    for unit in (*_units(count), *(-one for one in _units(count))):
        end = minimised(unit, -slopes, constant, [(None, None)] * count)
        if end is None:
            return []
        found.append(family.base + family.free @ end)
    return found


def _equal_springs(
    problem: ScaledProblem, mode: Modes, family: ReactionFamily
) -> np.ndarray | None:
    """Return the share of each free combination for equal springs under all contacts.

    None if springs do not determine them.
    """
    found = spring_shares(problem, np.flatnonzero(mode.closed[0]), family)
    return None if found is None or found.left.size else found.shares
