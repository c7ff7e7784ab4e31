"""Which constraints of closed contacts hold, where some of them follow from others.

A body that friction holds beside a wall needs only one of both, and how they share its load is not
determined; its motion is. As many constraints hold as are independent, and what follows from them
bears nothing. They are chosen such that no contact pulls, and friction stays within its limit.
Where that takes all of them, as in a groove, friction that follows is a part of its limit. Where a
reaction comes to its limit, others are chosen as long as there are any.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from daesolve.contact.decisions import ContactSolution, ContactState
from daesolve.contact.decisions.answers import States
from daesolve.contact.laws.frictional_instant import TouchingContacts

PARALLEL = 1e-9
"""If this fraction of the square of a row, or less, is independent of others, the row repeats
them."""
SHARE = 1e-7
"""The part of another row in a row counts above this fraction."""
SIGNS = {ContactState.FORWARD: 1.0, ContactState.BACKWARD: -1.0}
DIGITS = 12
"""To how many digits the ratio of two slips is known."""
INSIDE = 1e-9
"""A reaction is at its limit below this fraction of the largest."""
SAME = 1e-8
"""Accelerations below this fraction of their terms are none."""
JAMS = 1e-3
"""What reactions are divided by is at least this part of what it is without friction."""
MOST = 1024
"""Choices that are looked at."""


@dataclass(frozen=True)
class IndependentContacts:
    """Independent constraints of contacts, by the places of these among what touches.

    Parameters
    ----------
    normals, tangents
        The contacts whose gaps hold, and those whose slips do.
    shared, ratios
        Those that stick with another one, whose slip holds for both, and their slips over its.
    idle
        Those whose slips follow from others: they stick, with a part of their friction, from -1 to
        1, that does not depend on what they have to hold.
    """

    normals: tuple[int, ...]
    tangents: tuple[int, ...] = ()
    shared: Mapping[int, int] = field(default_factory=dict[int, int])
    ratios: Mapping[int, float] = field(default_factory=dict[int, float])
    idle: Mapping[int, float] = field(default_factory=dict[int, float])

    def rows(self, count: int) -> list[int]:
        """Return the rows that hold, of so many contacts."""
        return [*self.normals, *(count + k for k in self.tangents)]


@dataclass(frozen=True, eq=False)
class ClosedContacts:
    """The contacts that stay closed, among those that touch.

    Parameters
    ----------
    instant, states
        What touches, and what each of it does.
    rubs
        Which of it rubs.
    resting
        (n,) which of it has no slip.
    ended
        (2 n,) which reactions have just come to their limits, in the order of the rows.
    reactions
        (2 n,) some that agree with this motion, far from their limits; None if there are none.
    """

    instant: TouchingContacts
    states: Sequence[ContactState]
    rubs: Sequence[bool]
    resting: np.ndarray
    ended: np.ndarray
    reactions: np.ndarray | None

    @property
    def normals(self) -> tuple[int, ...]:
        """All that stay closed."""
        return tuple(k for k, state in enumerate(self.states) if state is not ContactState.OPEN)

    @property
    def sticking(self) -> tuple[int, ...]:
        """Those that rub, and stick."""
        stuck = [state is ContactState.STICKS for state in self.states]
        return tuple(k for k in self.normals if stuck[k] and self.rubs[k])

    def kept(self) -> IndependentContacts:
        """Return as many constraints as are independent, gaps first, whatever they bear."""
        count = len(self.states)
        rows = [*self.normals, *(count + k for k in self.sticking)]
        kept = independent(self.instant.contacts.matrix, rows)
        return self._kept(
            tuple(row for row in kept if row < count),
            tuple(row - count for row in kept if row >= count),
        )

    def is_impossible(self, kept: IndependentContacts) -> bool:
        """Return whether a contact would begin to slide whose slip others hold at zero."""
        count = len(self.states)
        begin = [
            k for k in self.normals if self.resting[k] and self.rubs[k] and self.states[k].slides
        ]
        reactions = self._reactions(kept) if begin else None
        if reactions is None:
            return False
        matrix, still = self.instant.contacts.matrix, are_still(self.instant, reactions)
        rows = kept.rows(count)
        return any(
            still[count + k] and shares_of(matrix, rows, count + k) is not None for k in begin
        )

    def follow(self, kept: IndependentContacts) -> bool:
        """Return whether the reactions of some contacts are a matter of choice."""
        return bool(kept.idle) or len(kept.normals) < len(self.normals)

    def borne(self) -> IndependentContacts | None:
        """Return constraints that can bear the load; None if no choice of them can."""
        best, most = None, -INSIDE
        for kept in itertools.islice(self._choices(), MOST):
            margin = self._margin(kept)
            if margin > INSIDE:
                return kept
            if margin >= most:
                best, most = kept, margin
        whole = self._whole()
        return whole if whole is not None and self._margin(whole, new=True) >= most else best

    def _whole(self) -> IndependentContacts | None:
        """Return constraints with which the known reactions agree; None if they are at limits."""
        kept, contacts, count = self.kept(), self.instant.contacts, len(self.states)
        if self.reactions is None or len(kept.normals) < len(self.normals):
            return None
        limits = contacts.friction * self.reactions[:count]
        parts = {
            k: -float(self.reactions[count + k] / limits[k]) if limits[k] > 0.0 else 0.0
            for k in (*kept.idle, *kept.shared)
        }
        kept = replace(kept, shared={}, idle=parts)
        inside = all(abs(part) < 1.0 for part in parts.values())
        rows = kept.rows(count)
        pulled = (contacts.matrix @ pulls_of(self.instant, rows, self.sides(kept)))[rows]
        grips = np.linalg.det(pulled) / np.linalg.det(contacts.matrix[np.ix_(rows, rows)])
        return kept if inside and grips > JAMS else None

    def _choices(self) -> Iterator[IndependentContacts]:
        """Yield the choices of constraints from which all others follow, most gaps first."""
        matrix, count = self.instant.contacts.matrix, len(self.states)
        for size in range(len(self.normals), 0, -1):
            for normals in itertools.combinations(self.normals, size):
                if len(independent(matrix, normals)) < size:
                    continue
                own = [k for k in self.sticking if k in normals]
                first = self._independent(normals, own)
                rows = [*normals, *(count + k for k in first)]
                left = [k for k in self.normals if k not in normals]
                if any(shares_of(matrix, rows, k) is None for k in left):
                    continue
                for tangents in itertools.combinations(own, len(first)):
                    own_rows = IndependentContacts(normals, tangents).rows(count)
                    if len(independent(matrix, own_rows)) == len(rows):
                        yield self._kept(normals, tangents)

    def _independent(self, normals: Collection[int], places: Sequence[int]) -> tuple[int, ...]:
        """Return as many of some slips as are independent of each other and of some gaps."""
        count = len(self.states)
        rows = [*normals, *(count + k for k in places if k in normals)]
        kept = independent(self.instant.contacts.matrix, rows)
        return tuple(row - count for row in kept[len(normals) :])

    def _kept(self, normals: tuple[int, ...], tangents: tuple[int, ...]) -> IndependentContacts:
        """Return a choice of constraints, with what follows from them."""
        matrix, count = self.instant.contacts.matrix, len(self.states)
        rows = IndependentContacts(normals, tangents).rows(count)
        shared, idle, ratios = dict[int, int](), dict[int, float](), dict[int, float]()
        for k in self.sticking:
            if k in tangents or k not in normals:
                continue
            shares = shares_of(matrix, rows, count + k) or ()
            bearing = {row: share for row, share in zip(rows, shares, strict=False) if share}
            if len(bearing) == 1 and (row := next(iter(bearing))) >= count:
                shared[k] = row - count
                ratios[k] = float(f"{abs(bearing[row]):.{DIGITS}g}")
            else:
                idle[k] = 0.0
        return IndependentContacts(normals, tangents, shared, ratios, idle)

    def _agree(self, reactions: np.ndarray) -> bool:
        """Return whether reactions (2 n,) give this motion."""
        held = [*self.normals, *(len(self.states) + k for k in self.sticking)]
        if not np.all(are_still(self.instant, reactions)[held]):
            return False
        contacts, known = self.instant.contacts, self.reactions
        if known is None or np.any(contacts.static > contacts.friction):
            return True
        moved = np.abs(contacts.matrix @ (reactions - known))
        return bool(np.all(moved <= SAME * terms_of(self.instant, known)))

    def sides(self, kept: IndependentContacts) -> np.ndarray:
        """Return the parts of their friction that contacts have whose slips do not hold, (n,)."""
        return np.array(
            [kept.idle.get(k, SIGNS.get(state, 0.0)) for k, state in enumerate(self.states)]
        )

    def _reactions(self, kept: IndependentContacts) -> np.ndarray | None:
        return borne_by(self.instant, kept.rows(len(self.states)), self.sides(kept))

    def _margin(self, kept: IndependentContacts, *, new: bool = False) -> float:
        """Return how far reactions are from their limits, as a fraction of the largest of them.

        It is -inf where these constraints let others go. `new` says that no reaction is what it was
        when it came to its limit.
        """
        count, reactions = len(self.states), self._reactions(kept)
        if reactions is None or not self._agree(reactions):
            return -np.inf
        limits = self.instant.contacts.static * reactions[:count]
        for place, owner in kept.shared.items():
            limits[owner] += kept.ratios[place] * limits[place]
        tangents = list(kept.tangents)
        slacks = np.concatenate(
            [reactions[list(kept.normals)], limits[tangents] - np.abs(reactions[count:])[tangents]]
        )
        if not new:
            slacks = np.where(self.ended[kept.rows(count)], np.minimum(slacks, 0.0), slacks)
        size = float(np.max(np.abs(reactions)))
        return float(np.min(slacks)) / size if size > 0.0 else 0.0


def borne_by(
    instant: TouchingContacts, rows: Sequence[int], sides: np.ndarray
) -> np.ndarray | None:
    """Return all reactions (2 n,) where only some rows hold; None if these have no answer.

    `sides` are the directions in which contacts slide, or parts of their friction: (n,).
    """
    contacts, pulls = instant.contacts, pulls_of(instant, rows, sides)
    try:
        return pulls @ np.linalg.solve((contacts.matrix @ pulls)[rows], -instant.free[rows])
    except np.linalg.LinAlgError:
        return None


def pulls_of(instant: TouchingContacts, rows: Sequence[int], sides: np.ndarray) -> np.ndarray:
    """Return all reactions (2 n, rows) by those of rows that hold, as in `borne_by`."""
    count = len(sides)
    pulls = np.eye(2 * count)[:, rows]
    for column, k in enumerate(rows):
        if k < count:
            pulls[count + k, column] -= instant.contacts.friction[k] * sides[k]
    return pulls


def are_still(instant: TouchingContacts, reactions: np.ndarray) -> np.ndarray:
    """Return which gaps and slips keep their rates under these reactions, (2 n,)."""
    rates = instant.contacts.matrix @ reactions + instant.free
    return np.abs(rates) <= SAME * terms_of(instant, reactions)


def terms_of(instant: TouchingContacts, reactions: np.ndarray) -> np.ndarray:
    """Return the sizes of the terms of the accelerations of gaps and slips, (2 n,)."""
    return np.abs(instant.contacts.matrix) @ np.abs(reactions) + instant.size


def with_implied_contacts(
    instant: TouchingContacts, answer: ContactSolution, states: States, slips: np.ndarray
) -> States:
    """Return the states in which contacts stay closed without a load that others keep closed."""
    count, matrix = len(states), instant.contacts.matrix
    still = are_still(instant, answer.reactions)
    closed = [k for k, state in enumerate(states) if state is not ContactState.OPEN]
    stuck = [k for k in closed if states[k] is ContactState.STICKS]
    held = independent(matrix, [*closed, *(count + k for k in stuck)])
    found = list(states)
    for k, state in enumerate(states):
        if state is ContactState.OPEN and still[k] and shares_of(matrix, held, k) is not None:
            way = float(np.sign(slips[k])) or _way_of(matrix, (*held, count + k), states)
            found[k] = {1.0: ContactState.FORWARD, -1.0: ContactState.BACKWARD}.get(
                way, ContactState.STICKS
            )
    return tuple(found)


def _way_of(matrix: np.ndarray, rows: Sequence[int], states: States) -> float:
    """Return the direction in which the last of some slips begins with those of others, or zero."""
    count, (*held, last) = len(states), rows
    sliding = [count + k for k, state in enumerate(states) if state in SIGNS]
    kept = independent(matrix, [*held, *sliding])
    shares = shares_of(matrix, kept, last) or []
    ways = {
        float(np.sign(share * SIGNS[states[row - count]]))
        for row, share in zip(kept, shares, strict=False)
        if row in sliding and share
    }
    return ways.pop() if len(ways) == 1 else 0.0


def shares_of(matrix: np.ndarray, kept: Sequence[int], row: int) -> list[float] | None:
    """Return how a row is combined of others; None if it is not."""
    if not kept:
        return None
    shares = np.linalg.solve(matrix[np.ix_(kept, kept)], matrix[kept, row])
    left = matrix[row, row] - matrix[row, kept] @ shares
    if left > PARALLEL * matrix[row, row]:
        return None
    return [float(share) if abs(share) > SHARE else 0.0 for share in shares]


def independent(matrix: np.ndarray, rows: Sequence[int]) -> list[int]:
    """Return as many rows as are independent, the first ones first."""
    kept: list[int] = []
    for row in rows:
        if shares_of(matrix, kept, row) is None:
            kept.append(row)
    return kept
