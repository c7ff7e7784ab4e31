"""The distance of contacts from leaving their states: guards of a smooth motion between events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.decisions.answers import ContactState
from daesolve.contact.decisions.decisions import directions_of
from daesolve.contact.decisions.modes import ContactChoice, all_modes, equations
from daesolve.contact.decisions.reaction_families import family_of, least_used, use
from daesolve.contact.decisions.touching import Contacts, scaled_problem
from daesolve.errors import NoMotion, PosingError


@dataclass(frozen=True, eq=False)
class Margins:
    """Reactions in given states, and the distance of the states from their borders.

    Attributes
    ----------
    reactions
        (k,), N; if they are not determined, those for which sticking contacts use their cones
        least.
    rates
        Accelerations of gaps and slips with them: (k,).
    stick
        1 - |T| / (mu_s N) of the sticking contact nearest to its limit; 1 if none sticks. Below 0
        no reactions hold all of them.
    reactions_determined
        Whether no other reactions give the same motion.
    """

    reactions: np.ndarray
    rates: np.ndarray
    stick: float
    reactions_determined: bool


def margins(
    contacts: Contacts,
    free: ArrayLike,
    states: Sequence[ContactState],
    slip: ArrayLike | None = None,
) -> Margins:
    """Return reactions and margins of contacts in given states.

    Parameters
    ----------
    contacts, free
        As in `decide`.
    states
        The state of each contact.
    slip
        Slip velocities as in `decide`, for contacts that slide in space, and are not at rest.

    Raises
    ------
    PosingError
        Shapes disagree, or a contact that slides in space has no slip.
    NoMotion
        No reactions keep the states.
    """
    if len(states) != contacts.count:
        raise PosingError(f"{contacts.count} contacts need as many states, not {len(states)}")
    problem = scaled_problem(contacts, contacts.vector("the rates without reactions", free))
    directions = directions_of(contacts, slip)
    mode = all_modes(
        tuple(
            (_choice(contacts, place, state, directions[place]),)
            for place, state in enumerate(states)
        )
    )
    matrices, right = equations(problem, mode)
    family = family_of(problem, matrices[0], right[0])
    if family is None:
        raise NoMotion(f"no reactions keep the contacts as they are: {states}")
    reactions, number = family.base, family.free.shape[1]
    if number and np.any(mode.sticks):
        reactions = reactions + family.free @ least_used(problem, mode, family, [0.0] * number)
    return Margins(
        reactions=reactions * problem.reactions,
        rates=(problem.contacts.matrix @ reactions + problem.free) * problem.rates,
        stick=1.0 - use(problem, mode, reactions),
        reactions_determined=number == 0,
    )


def _choice(
    contacts: Contacts, contact: int, state: ContactState, direction: np.ndarray
) -> ContactChoice:
    """Return the choice of a contact in a state."""
    if state is ContactState.FORWARD or state is ContactState.BACKWARD:
        direction = np.array([1.0 if state is ContactState.FORWARD else -1.0])
    elif not state.slides:
        direction = np.zeros(contacts.directions)
    if len(direction) != contacts.directions:
        raise PosingError(
            f"the contact {contacts.names[contact]!r} in space slides, but has no direction"
        )
    if state.slides and contacts.friction[contact] > 0.0 and not direction.any():
        raise PosingError(f"the contact {contacts.names[contact]!r} slides, but has no slip")
    known = tuple(float(part) for part in direction)
    return ContactChoice(state, state is not ContactState.OPEN, state is ContactState.STICKS, known)
