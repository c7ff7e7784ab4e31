"""The friction of contacts in space that stick together, of which only sums are determined.

As many slips are held as are independent. Which friction the contacts have is not known; that
they can hold is: as long as some share of it lies in all cones. The guards watch one share, that
lies best inside them, and follows the loads as they change. Where it comes to a limit though
another does not, that one is taken; where none is left, sticking ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.contact.decisions import ContactSolution
from daesolve.contact.decisions.sharing import BestShare, best_share
from daesolve.contact.laws.frictional_instant import ContactNumbers, TouchingContacts
from daesolve.contact.laws.redundant_contacts import PARALLEL
from daesolve.contact.posing.contact_rows import SpatialContactFriction
from daesolve.errors import UndeterminedContact

LOADS = 1e-6
"""What a share of 1 N adds to the reactions of joints, from which on it loads them, N or N m."""
LATER = 1e-5
"""s, a time after which loads have changed by more than rounding."""


def remaining(matrix: np.ndarray, kept: Sequence[int], rows: Sequence[int]) -> np.ndarray:
    """Return how rows answer to their own reactions while others are kept: (rows, rows)."""
    own = matrix[np.ix_(rows, rows)]
    if not kept:
        return own
    across = matrix[np.ix_(kept, rows)]
    return own - across.T @ np.linalg.solve(matrix[np.ix_(kept, kept)], across)


def independent(matrix: np.ndarray, kept: Sequence[int], rows: Sequence[int]) -> list[int]:
    """Return as many rows as are independent of each other and of those kept, the best first."""
    chosen: list[int] = []
    if not rows:
        return chosen
    sizes = np.array([matrix[row, row] for row in rows])
    while True:
        left = np.diag(remaining(matrix, [*kept, *chosen], rows)) / np.where(
            sizes > 0.0, sizes, 1.0
        )
        best = int(np.argmax(left))
        if left[best] <= PARALLEL:
            return sorted(chosen)
        chosen.append(rows[best])


@dataclass(frozen=True, eq=False)
class Shares:
    """How contacts that stick could share friction that is not determined.

    Parameters
    ----------
    stuck
        Their places among those that touch.
    kept
        (2 n,) which of their slips are held, contact by contact.
    free
        (2 n, m) tractions that move nothing.
    loads_joints
        Whether they load other constraints, as joints between bodies whose feet stick.
    """

    stuck: tuple[int, ...]
    kept: np.ndarray
    free: np.ndarray
    loads_joints: bool

    @staticmethod
    def of(
        instant: TouchingContacts,
        closed: Sequence[int],
        stuck: Sequence[int],
        chosen: Sequence[int],
    ) -> Shares:
        """Return those of contacts that stick, with the rows that are held of their slips."""
        contacts = instant.contacts
        rows = [row for k in stuck for row in range(len(contacts.matrix))[contacts.tangents(k)]]
        gaps = independent(contacts.matrix, [], closed)
        left = remaining(contacts.matrix, gaps, rows)
        values, vectors = np.linalg.eigh(left)
        free = vectors[:, values <= PARALLEL * np.max(np.diag(contacts.matrix)[rows])]
        pushes = -np.linalg.solve(
            contacts.matrix[np.ix_(gaps, gaps)], contacts.matrix[np.ix_(gaps, rows)] @ free
        )
        borne = instant.kept[:, gaps] @ pushes + instant.kept[:, rows] @ free
        loads_joints = bool(np.max(np.abs(borne), initial=0.0) > LOADS)
        return Shares(tuple(stuck), np.isin(rows, chosen), free, loads_joints)

    def held(self, tractions: np.ndarray) -> np.ndarray:
        """Return the tractions (2 n,) of the same motion that act on held slips alone."""
        others = self.free[~self.kept]
        return tractions - self.free @ np.linalg.lstsq(others, tractions[~self.kept])[0]

    def best(self, tractions: np.ndarray, limits: np.ndarray) -> BestShare:
        """Return the tractions of the same motion that use least of their limits, (n,)."""
        free = self.free.reshape(len(limits), 2, -1)
        if not np.all(limits > 0.0):
            return BestShare(tractions.reshape(-1, 2), 0.0)
        return best_share(limits, tractions.reshape(-1, 2), free)


def are_split(numbers: ContactNumbers) -> bool:
    """Return whether there are several contacts among which friction may be split."""
    return any(isinstance(own, SpatialContactFriction) and own.split for own in numbers.rubbing)


def share(
    numbers: ContactNumbers,
    instant: TouchingContacts,
    p: np.ndarray,
    shares: Shares,
    answer: ContactSolution,
) -> None:
    """Put into p a share of friction that is not determined."""
    stuck = list(shares.stuck)
    limits = instant.contacts.static[stuck] * answer.normal[stuck]
    tractions = shares.best(answer.tangential[stuck].ravel(), limits).tractions.ravel()
    split = (tractions - shares.held(tractions)).reshape(-1, 2)
    for place, k in enumerate(stuck):
        rubbing = numbers.rubbing[int(instant.which[k])]
        assert isinstance(rubbing, SpatialContactFriction)
        p[[*rubbing.split]] = split[place]


@dataclass(frozen=True, eq=False)
class Sharing:
    """Contacts that share friction in a mode, and the loads from an instant on.

    Parameters
    ----------
    numbers, instant, p
        The contacts, what touches, and the values of the mode.
    stuck
        Which of these stick, by their place among what touches.
    shares
        How they could share.
    reactions
        Time from now on, s -> all reactions.
    """

    numbers: ContactNumbers
    instant: TouchingContacts
    p: np.ndarray
    stuck: tuple[int, ...]
    shares: Shares
    reactions: Callable[[float], np.ndarray]

    @staticmethod
    def of(
        numbers: ContactNumbers,
        instant: TouchingContacts,
        p: np.ndarray,
        reactions: Callable[[float], np.ndarray],
    ) -> Sharing | None:
        """Return what is shared in the mode of p; None if all friction is determined."""
        contacts, which = instant.contacts, [int(contact) for contact in instant.which]
        closed = [k for k, contact in enumerate(which) if p[numbers.holds[contact]] == 1.0]
        stuck: list[int] = []
        rows: list[int] = []
        kept: list[int] = []
        for k in closed:
            rubbing = numbers.rubbing[which[k]]
            if rubbing is not None and p[rubbing.slides] == 0.0:
                stuck.append(k)
                own = range(len(contacts.matrix))[contacts.tangents(k)]
                held = p[[*rubbing.holds]] == 1.0
                rows += own
                kept += [row for row, holds in zip(own, held.tolist(), strict=True) if holds]
        if len(kept) == len(rows) or not are_split(numbers):
            return None
        shares = Shares.of(instant, closed, stuck, kept)
        return Sharing(numbers, instant, p, tuple(stuck), shares, reactions)

    @property
    def rubbing(self) -> list[SpatialContactFriction]:
        """The friction of those that stick."""
        found = [self.numbers.rubbing[int(self.instant.which[k])] for k in self.stuck]
        return [rubbing for rubbing in found if isinstance(rubbing, SpatialContactFriction)]

    def loads(self, later: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return tractions (2 n,) on held slips, and limits (n,), at a time from now on, s."""
        return self._loads_of(self.reactions(later))

    def _loads_of(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pairs = [self.numbers.reactions[int(self.instant.which[k])] for k in self.stuck]
        tangents = np.array([found[tangent] for _, both in pairs for tangent in both])
        normals = np.array([found[normal] for normal, _ in pairs])
        return tangents, self.instant.contacts.static[[*self.stuck]] * normals

    def spare(self, reactions: np.ndarray) -> float:
        """Return the remainder of all cones under some reactions: the least 1 - |T| / (mu N)."""
        tractions, limits = self._loads_of(reactions)
        if not np.all(limits > 0.0):
            return -np.inf
        return 1.0 - float(np.max(np.linalg.norm(tractions.reshape(-1, 2), axis=1) / limits))

    def resolved(self, zeros: np.ndarray) -> float:
        """Return the least remainder that guards tell from zero, which count as zero below `zeros`.

        They are (limit^2 - T^2) / bears^2.
        """
        bears = np.array([self.p[rubbing.bears] for rubbing in self.rubbing])
        return float(np.max(zeros * (bears / self.loads()[1]) ** 2))

    def check_joints(self, *, springs: bool) -> None:
        """Refuse shares that load joints, where those of equal springs come to a limit.

        Raises
        ------
        UndeterminedContact
            The reactions of joints are not those of springs any more.
        """
        if springs and self.shares.loads_joints:
            names = ", ".join(repr(self.instant.contacts.names[k]) for k in self.stuck)
            raise UndeterminedContact(
                f"at t = {self.instant.time:.10g} s the friction of the contacts {names}, shared "
                "as by equal springs, comes to its limit at one of them, and any other share of it "
                "changes the reactions of the joints between them, which are not determined then: "
                "pose fewer contacts, or more friction"
            )

    def holding_all(self) -> np.ndarray:
        """Return p with all slips held, so that the elimination shares all loads as springs do."""
        p = self.p.copy()
        for rubbing in self.rubbing:
            p[[*rubbing.holds]] = 1.0
            p[[*rubbing.split, *rubbing.shift, *rubbing.along]] = 0.0
        return p

    def best(self) -> BestShare:
        """Return the best share now."""
        return self.shares.best(*self.loads())

    def values(self) -> np.ndarray:
        """Return p with the best share now, that changes as it does while loads change."""
        (here, limits), (later, limits_later) = self.loads(), self.loads(LATER)
        best = self.shares.best(here, limits).tractions.ravel()
        best_later = self.shares.best(later, limits_later).tractions.ravel()
        change = later - here
        squared = float(change @ change)
        shift = np.zeros_like(change)
        if squared > 0.0:
            shift = (best_later - best - change) / squared
        split = best - here - shift * float(change @ here)
        p = self.p.copy()
        for place, rubbing in enumerate(self.rubbing):
            both = slice(2 * place, 2 * place + 2)
            p[[*rubbing.split]], p[[*rubbing.shift]] = split[both], shift[both]
            p[[*rubbing.along]] = change[both]
        return p
