"""Routh's impact of one contact in the plane: the slip is followed as the normal impulse grows.

While it slips to the side s, gap and slip rates change with the normal impulse by A_NN - s mu A_NT
and A_NT - s mu A_TT. When the slip ends, the contact sticks if mu >= |A_NT| / A_TT; otherwise it
slips to the side of A_NT. Compression ends when the gap's speed is zero, and expansion adds e times
its impulse. (Routh, Dynamics of a System of Rigid Bodies, 1860; Keller, Impact with friction, J.
Appl. Mech. 53, 1986.)

Several touching contacts in the plane collide one after the other, until none closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.decisions.answers import ContactState
from daesolve.contact.decisions.impacts import ContactImpact, coefficients, impact_of
from daesolve.contact.decisions.sequential import sequential
from daesolve.contact.decisions.touching import Contacts
from daesolve.errors import UnsupportedError


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
    coupling, own = contacts.matrix[0, 1], contacts.matrix[1, 1]
    friction = float(contacts.friction[0])
    if slip == 0.0:
        if own * contacts.static[0] >= abs(coupling):
            return ContactState.STICKS, -coupling / own if own > 0.0 else 0.0
        slip = coupling
    return (ContactState.FORWARD, -friction) if slip > 0.0 else (ContactState.BACKWARD, friction)
