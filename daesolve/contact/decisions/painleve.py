"""Painleve's paradox: sliding contacts that can continue in no way, or in more than one.

While contacts slide, gaps respond to normal reactions by S = A_NN - A_NT mu d, with the directions
d. Without friction all principal minors of S are positive. Friction may reverse the sign of one:
for a single contact, p = A_NN - mu A_NT d < 0. Then no reaction can keep a gap that would close
without reactions (inconsistent), and a gap that would open may also stay closed (indeterminate). If
no forces are consistent, impulses may be: an impact without collision, which ends the slip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.decisions.answers import Decision
from daesolve.contact.decisions.decisions import decide, decided, directions_of
from daesolve.contact.decisions.enumeration import TOLERANCE
from daesolve.contact.decisions.impacts import ContactImpact, impact_of
from daesolve.contact.decisions.touching import Contacts, scaled_problem
from daesolve.errors import AmbiguousMotion, NoMotion, PosingError

IDLE = 1e-9
"""Smaller impulses, relative to the largest, do not make an impact without collision."""
REAL = 1e-9
"""The imaginary part, relative to its size, up to which an eigenvalue counts as real."""


@dataclass(frozen=True)
class Paradox:
    """Whether sliding contacts have exactly one motion.

    Attributes
    ----------
    kind
        "regular" if one motion is possible; "inconsistent" if none is; "indeterminate" if several
        are.
    pushed
        Names of the sliding contacts whose own reaction would press their gap together.
    determinant
        The determinant of S, relative to that without friction, in units in which the latter has a
        unit diagonal.
    margin
        The factor by which friction may grow before S is singular; infinite if it never is, and
        below 1 beyond that.
    decision
        The possible states of the contacts.
    """

    kind: str
    pushed: tuple[str, ...]
    determinant: float
    margin: float
    decision: Decision

    def __str__(self) -> str:
        pushed = f"; friction presses together {', '.join(self.pushed)}" if self.pushed else ""
        return f"{self.kind}: {len(self.decision.answers)} motions{pushed}"


def sliding_matrix(contacts: Contacts, slip: ArrayLike) -> np.ndarray:
    """Return S = A_NN - A_NT mu d, (n, n), 1/kg; contacts without a slip have no friction.

    Parameters
    ----------
    contacts, slip
        As in `decide`.
    """
    directions = directions_of(contacts, slip)
    pull = np.zeros((len(contacts.matrix), contacts.count))
    for contact in range(contacts.count):
        rows = contacts.tangents(contact)
        pull[rows, contact] = contacts.friction[contact] * directions[contact]
    return contacts.matrix[: contacts.count, : contacts.count] - (
        contacts.matrix[: contacts.count] @ pull
    )


def jam_guard(contacts: Contacts, slip: ArrayLike) -> float:
    """Return det S over det A_NN: one without friction, and zero where sliding jams.

    Parameters
    ----------
    contacts
        Contacts that are closed and slide.
    slip
        Nonzero slip velocities, as in `decide`.

    Raises
    ------
    PosingError
        Normal reactions are not determined even without friction.
    """
    normal = contacts.matrix[: contacts.count, : contacts.count]
    lengths = np.sqrt(np.diag(normal))
    scale = np.outer(lengths, lengths)
    size = float(np.linalg.det(normal / scale))
    if size <= TOLERANCE:
        raise PosingError(
            "a jam cannot be detected where normal reactions are not determined even without "
            "friction: leave out contacts that depend on others"
        )
    return float(np.linalg.det(sliding_matrix(contacts, slip) / scale)) / size


def friction_margin(contacts: Contacts, slip: ArrayLike) -> float:
    """Return the factor by which friction may grow before S is singular; infinite if it never is.

    Parameters
    ----------
    contacts, slip
        As in `jam_guard`.
    """
    normal = contacts.matrix[: contacts.count, : contacts.count]
    friction = normal - sliding_matrix(contacts, slip)
    values = np.linalg.eigvals(np.linalg.solve(normal, friction))
    real = values.real[np.abs(values.imag) <= REAL * np.abs(values)]
    largest = float(np.max(real, initial=0.0))
    return 1.0 / largest if largest > 0.0 else np.inf


def paradox(contacts: Contacts, free: ArrayLike, slip: ArrayLike) -> Paradox:
    """Decide whether sliding contacts have exactly one motion.

    Parameters
    ----------
    contacts
        Contacts that are closed and slide.
    free
        Accelerations of gaps and slips without reactions: (k,).
    slip
        Nonzero slip velocities, as in `decide`.

    Raises
    ------
    PosingError
        As in `jam_guard` and `decide`.
    """
    decision = decide(contacts, free, slip)
    kinds = {0: "inconsistent", 1: "regular"}
    own = np.diag(sliding_matrix(contacts, slip))
    return Paradox(
        kind=kinds.get(len(decision.answers), "indeterminate"),
        pushed=tuple(name for name, part in zip(contacts.names, own, strict=True) if part < 0.0),
        determinant=jam_guard(contacts, slip),
        margin=friction_margin(contacts, slip),
        decision=decision,
    )


def impact_without_collision(contacts: Contacts, velocities: ArrayLike) -> ContactImpact:
    """Return the impact of sliding contacts, with gaps at rest, that no forces let continue.

    It is a compression by Newton's law with e = 0, other than the one without impulses. For one
    contact L = -A^-1 gamma-, after which it is at rest.

    Parameters
    ----------
    contacts
        All contacts with a zero gap.
    velocities
        Rates of gaps and slips before: (k,), m/s; the gap rates are zero.

    Raises
    ------
    PosingError
        A gap has a speed.
    NoMotion
        No impulses are consistent: friction is too small to end the slip in this way.
    AmbiguousMotion
        Several impulses are consistent.
    """
    before = contacts.vector("the rates before an impact", velocities)
    size = float(np.max(np.abs(before)))
    if np.any(np.abs(before[: contacts.count]) > TOLERANCE * size):
        raise PosingError("an impact without collision must begin with gaps that do not change")
    problem = scaled_problem(contacts, before)
    found = decided(problem, np.zeros((contacts.count, contacts.directions)))
    acting = [
        answer
        for answer in found.answers
        if np.max(np.abs(answer.reactions / problem.reactions)) > IDLE
    ]
    if not acting:
        raise NoMotion("no impulses agree with an impact without collision of the contacts", found)
    if len(acting) > 1:
        raise AmbiguousMotion(
            f"{len(acting)} impacts without collision are possible, and the equations do "
            "not determine which",
            found,
        )
    return impact_of(
        contacts,
        "without collision",
        (acting[0].states,),
        acting[0].reactions,
        before,
        determined=acting[0].reactions_determined,
        residual=acting[0].residual,
    )
