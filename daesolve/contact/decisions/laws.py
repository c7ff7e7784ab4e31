"""An impact by a named law, refused if it would add energy to the bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.decisions.impacts import ContactImpact, newton, poisson
from daesolve.contact.decisions.sequential import routh, sequential
from daesolve.contact.decisions.touching import Contacts
from daesolve.core.events.choices import LAWS, ON_GAIN, ORDERED, Law, OnGain
from daesolve.errors import EnergyGain, UnsupportedError, unknown_name


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
) -> ContactImpact:
    """Return the impact of touching contacts.

    Parameters
    ----------
    contacts
        All contacts with a zero gap, including resting ones.
    velocities
        Rates of gaps and slips before the impact: (k,), m/s.
    law
        "newton", "poisson", "routh" or "sequential".
    restitution, tangential_restitution
        e and e_T between 0 and 1, for all contacts or (n,); e_T only with Newton's law.
    order
        Names of contacts, for the laws of impacts one after the other: "sequential" and "routh".
    on_gain
        If the law adds energy to the bodies: "refuse"; "report", which leaves it to
        `ContactImpact.gains`; or "poisson", which uses Poisson's law instead.
    springs
        Whether undetermined impulses are those of equal springs under all contacts, with Newton's
        and Poisson's laws.

    Raises
    ------
    EnergyGain
        The law adds energy, and that is refused; `solution` is the impact.
    UnsupportedError
        The law does not support an argument.
    UnknownNameError
        The law, or the reaction to a gain, is unknown.
    ContactError, PosingError, OutOfRangeError
        As for the law.
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
            f"only the laws of sequential impacts ({', '.join(ORDERED)}) accept an order, not the "
            f"law {law!r}"
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
