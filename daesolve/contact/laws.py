"""An impact by the law that was named, refused where it would give energy to the bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from daesolve.contact.impacts import Impact, newton, poisson
from daesolve.contact.routh import routh
from daesolve.contact.sequential import sequential
from daesolve.contact.touching import Contacts
from daesolve.errors import EnergyGain, UnsupportedError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Law = Literal["newton", "poisson", "routh", "sequential"]
OnGain = Literal["refuse", "report", "poisson"]
OnJam = Literal["end", "impact"]
OnAmbiguous = Literal["refuse", "keep"]
LAWS: tuple[Law, ...] = get_args(Law)
ORDERED: tuple[Law, ...] = ("sequential", "routh")
"""Laws by which contacts are struck one after the other."""
ON_GAIN: tuple[OnGain, ...] = get_args(OnGain)
ON_JAM: tuple[OnJam, ...] = get_args(OnJam)
ON_AMBIGUOUS: tuple[OnAmbiguous, ...] = get_args(OnAmbiguous)


@dataclass(frozen=True)
class ImpactLaw:
    """What impacts of contacts are to obey; see `collide`."""

    law: Law = "newton"
    order: tuple[str, ...] | None = None
    on_gain: OnGain = "refuse"


@dataclass(frozen=True)
class ContactPolicy:
    """What contacts do where rigid bodies with friction leave it open.

    Attributes
    ----------
    impacts
        What impacts obey.
    on_jam
        Where no forces let contacts slide on: "end", or "impact" without a collision.
    on_ambiguous
        Where several motions are possible: "refuse", or "keep" on in the mode so far if it is one.
    springs
        Whether loads and impulses that decide though they are not determined are those of equal
        springs under all contacts.
    """

    impacts: ImpactLaw = ImpactLaw()
    on_jam: OnJam = "end"
    on_ambiguous: OnAmbiguous = "refuse"
    springs: bool = False


def collide(
    contacts: Contacts,
    velocities: ArrayLike,
    law: Law = "newton",
    restitution: ArrayLike = 0.0,
    tangential_restitution: ArrayLike = 0.0,
    *,
    order: Sequence[str] | None = None,
    on_gain: OnGain = "refuse",
    springs: bool = False,
) -> Impact:
    """Return the impact of contacts that touch.

    Parameters
    ----------
    contacts
        All whose gaps are zero, those that rest included.
    velocities
        Rates of gaps and slips before: (k,), m/s.
    law
        "newton", "poisson", "routh" or "sequential".
    restitution, tangential_restitution
        e and e_T between 0 and 1, for all contacts or (n,); the latter by Newton's law alone.
    order
        Names of contacts, by the laws of impacts one after the other: "sequential" and "routh".
    on_gain
        What follows where the law gives energy to the bodies: "refuse"; "report", which leaves it
        to `Impact.gains`; "poisson", by whose law the impact is then.
    springs
        Whether impulses that are not determined are those of equal springs under all contacts, by
        Newton's law and Poisson's.

    Raises
    ------
    EnergyGain
        The law gives energy, and that is refused: `solution` is the impact.
    UnsupportedError
        The law does not know what was given.
    UnknownNameError
        Of a law, or what follows a gain.
    ContactError, PosingError, OutOfRangeError
        As the law does.
    """
    if law not in LAWS:
        raise unknown_name("law of impact", law, LAWS)
    if on_gain not in ON_GAIN:
        raise unknown_name("answer to a gain of energy", on_gain, ON_GAIN)
    if law != "newton" and np.any(np.asarray(tangential_restitution, dtype=float) != 0.0):
        raise UnsupportedError(
            f"only Newton's law has a tangential restitution, not the law {law!r}"
        )
    if law not in ORDERED and order is not None:
        raise UnsupportedError(
            f"only impacts one after the other have an order, {' or '.join(ORDERED)}, not of "
            f"the law {law!r}"
        )
    match law:
        case "newton":
            impact = newton(
                contacts, velocities, restitution, tangential_restitution, springs=springs
            )
        case "poisson":
            impact = poisson(contacts, velocities, restitution, springs=springs)
        case "routh":
            impact = routh(contacts, velocities, restitution, order)
        case _:
            impact = sequential(contacts, velocities, restitution, order)
    if not impact.gains or on_gain == "report":
        return impact
    if on_gain == "poisson" and law != "poisson":
        return collide(contacts, velocities, "poisson", restitution, springs=springs)
    raise EnergyGain(
        f"the impact by the law {law!r} would add energy to the bodies: {impact}; use another "
        'law, or on_gain="report"',
        impact,
    )
