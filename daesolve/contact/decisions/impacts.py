"""Impacts of all touching contacts together: Newton's law and Poisson's, with friction.

With gamma the rates of gaps and slips before (-) and after (+), and impulses L,

    gamma+ = gamma- + A L.

Newton (Moreau, Glocker): xi = gamma+ + e gamma-, for gaps with e and for slips with e_T,

    0 <= L_N  _|_  xi_N >= 0,     -L_T in mu L_N Sgn(xi_T).

Poisson (Glocker): a compression, which is Newton's law with e = 0, and an expansion

    0 <= L_N - e L_N(compression)  _|_  gap rate+ >= 0,     -L_T in mu L_N Sgn(slip+).

The kinetic energy changes by L (gamma+ + gamma-) / 2, in the frame in which floors are at rest.

In Painleve's paradox sliding contacts have no forces that let them continue. Impulses may be
consistent there: an impact without collision, which ends the slip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.decisions.answers import ContactSolution, Decision, States
from daesolve.contact.decisions.decisions import decided
from daesolve.contact.decisions.touching import TOLERANCE, Contacts, scaled_problem
from daesolve.errors import (
    AmbiguousMotion,
    NoMotion,
    OutOfRangeError,
    PosingError,
    UndeterminedContact,
)

IDLE = 1e-9
"""Smaller impulses, relative to the largest, do not make an impact without collision."""
GAIN = 1e-12
"""A gain of energy, relative to the sum of |L| |gamma|, that counts as rounding."""


@dataclass(frozen=True, eq=False)
class ContactImpact:
    """The impact of contacts at an instant, by a law.

    Attributes
    ----------
    law
        The name of the law.
    phases
        The states of the contacts in each phase of the law: one phase for Newton, compression and
        expansion for Poisson, from slip to slip for Routh, from impact to impact for sequential
        laws. An open contact has no impulse in an impact.
    normal, tangential
        Impulses L_N (n,) and L_T (n, directions), N s.
    before, after
        Rates of gaps and slips: (k,), m/s.
    energy
        The change of kinetic energy, J, with floors at rest. If floors move, add their work:
        impulses times the speeds of the floors along the rows.
    determined
        Whether no other impulses give the same rates afterwards.
    residual
        The largest violation of a condition, relative to its terms.
    names
        The names of the contacts.
    alone
        Whether the law is proved to have no other outcome.
    """

    law: str
    phases: tuple[States, ...]
    normal: np.ndarray
    tangential: np.ndarray
    before: np.ndarray
    after: np.ndarray
    energy: float
    determined: bool
    residual: float
    names: tuple[str, ...]
    alone: bool = True

    @property
    def impulses(self) -> np.ndarray:
        """All impulses, in the order of the rows: (k,)."""
        return np.concatenate([self.normal, self.tangential.ravel()])

    @property
    def gains(self) -> bool:
        """Whether it adds energy to the bodies, beyond rounding."""
        terms = np.abs(self.impulses) @ (np.abs(self.before) + np.abs(self.after))
        return bool(self.energy > GAIN * terms)

    def __str__(self) -> str:
        parts = (
            f"{name} {impulse:.6g} N s"
            for name, impulse in zip(self.names, self.normal, strict=True)
        )
        return f"{self.law}: {', '.join(parts)}; energy {self.energy:+.6g} J"


def impact_of(
    contacts: Contacts,
    law: str,
    phases: tuple[States, ...],
    impulses: np.ndarray,
    before: np.ndarray,
    after: np.ndarray | None = None,
    *,
    determined: bool = True,
    residual: float = 0.0,
    alone: bool = True,
) -> ContactImpact:
    """Return the impact of impulses (k,); give `after` if it is known more accurately."""
    count = contacts.count
    after = before + contacts.matrix @ impulses if after is None else after
    return ContactImpact(
        law=law,
        phases=phases,
        normal=impulses[:count],
        tangential=impulses[count:].reshape(count, contacts.directions),
        before=before,
        after=after,
        energy=float(impulses @ (before + after)) / 2.0,
        determined=determined,
        residual=residual,
        names=contacts.names,
        alone=alone,
    )


def newton(
    contacts: Contacts,
    velocities: ArrayLike,
    restitution: ArrayLike = 0.0,
    tangential_restitution: ArrayLike = 0.0,
    *,
    springs: bool = False,
    tolerance: float = TOLERANCE,
) -> ContactImpact:
    """Return the impact by Newton's law of restitution.

    Parameters
    ----------
    contacts
        All contacts with a zero gap, including resting ones.
    velocities
        Rates of gaps and slips before the impact: (k,), m/s.
    restitution, tangential_restitution
        e and e_T between 0 and 1: for all contacts, or (n,).
    springs
        Whether undetermined impulses are those of equal springs under all contacts.
    tolerance
        As in `decide`.

    Raises
    ------
    ContactError
        The law gives no outcome or several; `solution` is the decision.
    OutOfRangeError, PosingError
        An argument is invalid.
    """
    before = contacts.vector("the rates before an impact", velocities)
    back = coefficients(contacts, "restitution", restitution)
    sideways = coefficients(contacts, "tangential restitution", tangential_restitution)
    factors = np.concatenate([1.0 + back, np.repeat(1.0 + sideways, contacts.directions)])
    decision = _decided(contacts, factors * before, np.zeros(contacts.count), springs, tolerance)
    answer = decision.only()
    return impact_of(
        contacts,
        "newton",
        (answer.states,),
        answer.reactions,
        before,
        determined=answer.reactions_determined,
        residual=answer.residual,
        alone=decision.complete,
    )


def poisson(
    contacts: Contacts,
    velocities: ArrayLike,
    restitution: ArrayLike = 0.0,
    *,
    springs: bool = False,
    tolerance: float = TOLERANCE,
) -> ContactImpact:
    """Return the impact by Poisson's law: a compression, and an expansion by a fraction of it.

    Parameters
    ----------
    contacts, velocities, restitution, springs, tolerance
        As in `newton`.

    Raises
    ------
    ContactError
        A phase has no outcome or several; `solution` is the decision. Or the expansion depends on
        undetermined impulses of compression.
    OutOfRangeError, PosingError
        An argument is invalid.
    """
    before = contacts.vector("the rates before an impact", velocities)
    back = coefficients(contacts, "restitution", restitution)
    compression = _decided(contacts, before, np.zeros(contacts.count), springs, tolerance)
    pressed, alone = compression.only(), compression.complete
    least = back * pressed.normal
    if not np.any(least > 0.0):
        return _of_phases(contacts, [pressed], before, alone=alone)
    if not pressed.normal_determined:
        raise UndeterminedContact(
            "the expansion of Poisson's impact depends on undetermined impulses of "
            f"compression, for example {pressed}: use Newton's law",
            pressed,
        )
    expansion = _decided(contacts, pressed.rates, least, springs, tolerance)
    alone = alone and expansion.complete
    return _of_phases(contacts, [pressed, expansion.only()], before, alone=alone)


def _of_phases(
    contacts: Contacts, phases: Sequence[ContactSolution], before: np.ndarray, *, alone: bool
) -> ContactImpact:
    return impact_of(
        contacts,
        "poisson",
        tuple(phase.states for phase in phases),
        np.sum([phase.reactions for phase in phases], axis=0),
        before,
        determined=all(phase.reactions_determined for phase in phases),
        residual=max(phase.residual for phase in phases),
        alone=alone,
    )


def _decided(
    contacts: Contacts, free: np.ndarray, least: np.ndarray, springs: bool, tolerance: float
) -> Decision:
    """Decide impulses: in an impact every slip may turn, so no direction is known."""
    return decided(scaled_problem(contacts, free, least, springs=springs, tolerance=tolerance))


def coefficients(contacts: Contacts, what: str, given: ArrayLike) -> np.ndarray:
    """Return a coefficient for each contact (n,), after checking that it lies between 0 and 1."""
    values = np.broadcast_to(np.asarray(given, dtype=float), (contacts.count,))
    if not np.all((values >= 0.0) & (values <= 1.0)):
        raise OutOfRangeError(f"the {what} must lie between 0 and 1, not {given}")
    return values


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
    found = decided(problem)
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
