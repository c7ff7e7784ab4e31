"""Impacts one after the other, each of a single contact, until no gap closes any more.

With several touching contacts, the order of the closing ones matters. Without a given order all
orders are tried, and refused if they end differently.

The sequence may be infinite: for three equal balls in a row it is infinite for e < 7 - 4 sqrt(3),
with approach speeds that fall geometrically to zero. It is followed down to rounding.

Routh follows the slip of one contact in the plane as the normal impulse grows. While it slips to
the side s, gap and slip rates change with the normal impulse by A_NN - s mu A_NT and
A_NT - s mu A_TT. When the slip ends, the contact sticks if mu >= |A_NT| / A_TT; otherwise it slips
to the side of A_NT. Compression ends when the gap's speed is zero, and expansion adds e times its
impulse. (Routh, Dynamics of a System of Rigid Bodies, 1860; Keller, Impact with friction, J. Appl.
Mech. 53, 1986.) Several contacts collide one after the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

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


def routh(
    contacts: Contacts,
    velocities: ArrayLike,
    restitution: ArrayLike = 0.0,
    order: Sequence[str] | None = None,
) -> ContactImpact:
    """Return the impact of contacts in the plane by Routh's method with Poisson's restitution.

    Parameters
    ----------
    contacts
        Contacts in the plane. Several collide one after the other.
    velocities
        Rates of gaps and slips before the impact: (2 n,), m/s.
    restitution
        e, between 0 and 1: for all contacts, or (n,).
    order
        For several contacts, as in `sequential`.

    Raises
    ------
    UnsupportedError
        They are in space; or they are many and no order is given.
    OrderDecides, ChatteringError
        For several contacts, as in `sequential`.
    OutOfRangeError, PosingError
        An argument is invalid.
    """
    if contacts.directions > 1:
        raise UnsupportedError(
            "Routh's impact law needs contacts in the plane: use 'newton' or 'poisson'"
        )
    if contacts.count == 1 and order is None:
        return _alone(contacts, velocities, restitution)
    found = sequential(contacts, velocities, restitution, order, single=_alone)
    return replace(found, law="routh")


def _alone(contacts: Contacts, velocities: ArrayLike, restitution: ArrayLike) -> ContactImpact:
    """Return the impact of one contact."""
    before = contacts.vector("the rates before an impact", velocities)
    back = float(coefficients(contacts, "restitution", restitution)[0])
    if before[0] > 0.0:
        return impact_of(contacts, "routh", ((ContactState.OPEN,),), np.zeros(2), before)
    impulses, rates, states = np.zeros(2), before.copy(), list[tuple[ContactState]]()
    wanted: float | None = None
    while True:
        state, traction = _course(contacts, rates[1])
        course = np.array([1.0, traction])
        slopes = contacts.matrix @ course
        slip_ends = np.inf
        if state.slides and rates[1] * slopes[1] < 0.0:
            slip_ends = -rates[1] / slopes[1]
        if wanted is not None:
            phase_ends = wanted - impulses[0]
        else:
            phase_ends = -rates[0] / slopes[0] if slopes[0] > 0.0 else np.inf
        step = min(slip_ends, phase_ends)
        states.append((state,))
        impulses = impulses + step * course
        rates = rates + step * slopes
        if slip_ends < phase_ends:
            rates[1] = 0.0
        elif wanted is None and back > 0.0 and impulses[0] > 0.0:
            wanted, rates[0] = (1.0 + back) * impulses[0], 0.0
        else:
            return impact_of(contacts, "routh", tuple(states), impulses, before)


def _course(contacts: Contacts, slip: float) -> tuple[ContactState, float]:
    """Return the course of a contact at a slip, and its traction per unit of normal impulse."""
    coupling, own = contacts.matrix[1]
    friction = float(contacts.friction[0])
    if slip == 0.0:
        if own * contacts.static[0] >= abs(coupling):
            return ContactState.STICKS, -coupling / own if own > 0.0 else 0.0
        slip = coupling
    return (ContactState.FORWARD, -friction) if slip > 0.0 else (ContactState.BACKWARD, friction)
