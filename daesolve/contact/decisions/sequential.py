"""Impacts one after the other, each of a single contact, until no gap closes any more.

With several touching contacts, the order of the closing ones matters. Without a given order all
orders are tried, and refused if they end differently.

The sequence may be infinite: for three equal balls in a row it is infinite for e < 7 - 4 sqrt(3),
with approach speeds that fall geometrically to zero. It is followed down to rounding.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.decisions.answers import ContactState, States
from daesolve.contact.decisions.impacts import ContactImpact, coefficients, impact_of, newton
from daesolve.contact.decisions.touching import Contacts
from daesolve.errors import ChatteringError, OrderDecides, PosingError, UnsupportedError

Single = Callable[[Contacts, np.ndarray, float], ContactImpact]
"""The law of a single impact: (contact, rates before, e) -> impact."""

MOST_IMPACTS = 5000
MOST_ORDERED = 4
"""The number of contacts up to which all orders are tried."""
ENDED = 1e-15
"""An approach speed, relative to the largest rate before, that counts as zero."""
SAME = 1e-9
"""Rates afterwards that differ by less, relative to the largest rate before, agree."""


def sequential(
    contacts: Contacts,
    velocities: ArrayLike,
    restitution: ArrayLike = 0.0,
    order: Sequence[str] | None = None,
    *,
    single: Single = newton,
    ended: float = ENDED,
) -> ContactImpact:
    """Return an impact as a sequence of single ones.

    Parameters
    ----------
    contacts
        All contacts with a zero gap.
    velocities
        Rates of gaps and slips before the impact: (k,), m/s.
    restitution
        e between 0 and 1: for all contacts, or (n,).
    order
        Names of all contacts: the first closing one in this order is next. None: any order, if all
        end alike.
    single
        The law of a single impact.
    ended
        An approach speed, relative to the largest rate before, that counts as zero.

    Raises
    ------
    OrderDecides
        No order was given, and orders end differently; `solution` has one impact per outcome.
    UnsupportedError
        No order was given for more than `MOST_ORDERED` contacts.
    ChatteringError
        The approach speeds do not fall to zero within `MOST_IMPACTS` impacts.
    PosingError, OutOfRangeError, ContactError
        An argument is invalid, or a single impact fails.
    """
    before = contacts.vector("the rates before an impact", velocities)
    back = coefficients(contacts, "restitution", restitution)

    def followed(places: Sequence[int]) -> ContactImpact:
        return _followed(contacts, before, back, places, single, ended)

    if order is not None:
        if sorted(order) != sorted(contacts.names):
            raise PosingError(
                f"an order of impacts must name each of the contacts {contacts.names} "
                f"once, not {order}"
            )
        return followed([contacts.names.index(name) for name in order])
    if contacts.count > MOST_ORDERED:
        raise UnsupportedError(
            f"{contacts.count} touching contacts are too many to try every order: give an "
            "order of impacts"
        )
    outcomes = [followed(places) for places in itertools.permutations(range(contacts.count))]
    different = _different(outcomes, SAME * float(np.max(np.abs(before))))
    if len(different) > 1:
        raise OrderDecides(
            f"impacts one after the other end in {len(different)} ways, depending on the "
            f"order: {'; '.join(map(str, different))}; give an order",
            different,
        )
    return outcomes[0]


def _followed(
    contacts: Contacts,
    before: np.ndarray,
    back: np.ndarray,
    places: Sequence[int],
    single: Single,
    ended: float,
) -> ContactImpact:
    """Follow the single impacts of one order."""
    alone = [contacts.some([contact]) for contact in range(contacts.count)]
    impulses, rates, phases = np.zeros(len(before)), before, list[States]()
    rounding = ended * float(np.max(np.abs(before)))
    while True:
        contact = next((place for place in places if rates[place] < -rounding), None)
        if contact is None:
            return impact_of(contacts, "sequential", tuple(phases), impulses, before, rates)
        if len(phases) == MOST_IMPACTS:
            raise ChatteringError(
                f"after {MOST_IMPACTS} impacts one after the other some gaps still close, the "
                f"contact {contacts.names[contact]!r} with {-rates[contact]:.3g} m/s"
            )
        rows = contacts.rows([contact])
        impact = single(alone[contact], rates[rows], float(back[contact]))
        impulses[rows] += impact.impulses
        rates = rates + contacts.matrix[:, rows] @ impact.impulses
        states = [ContactState.OPEN] * contacts.count
        states[contact] = impact.phases[-1][0]
        phases.append(tuple(states))


def _different(outcomes: Sequence[ContactImpact], size: float) -> tuple[ContactImpact, ...]:
    """Return one impact for each outcome."""
    found: list[ContactImpact] = []
    for one in outcomes:
        if not any(np.all(np.abs(one.after - other.after) <= size) for other in found):
            found.append(one)
    return tuple(found)
