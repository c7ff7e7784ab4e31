"""Whether all bodies have come to rest on their contacts, and stay there."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daesolve.contact.decisions import ContactSolution, ContactState
from daesolve.contact.laws.rubbing_instant import TouchingContacts
from daesolve.contact.posing.contact_rows import SpatialRubbing, contacts_in
from daesolve.core.equations.dynamics import Dynamics

SHARED = (
    "the bodies rest from the start on, and how the contacts share the load is not determined: "
    "the reactions shown belong to just enough constraints to hold them"
)
STILL = 1e-10
"""A speed or an acceleration below this fraction of its terms counts as zero."""


def at_rest(
    instant: TouchingContacts, answer: ContactSolution, velocities: np.ndarray, length: float
) -> bool:
    """Return whether nothing moves or begins to move.

    Parameters
    ----------
    instant, answer
        What touches, and what it does next.
    velocities
        (nv,)
    length
        The size of the motion, m: a fall through it has the speeds with which others compare.
    """
    if not all(
        state is ContactState.STICKS for state in answer.states if state is not ContactState.OPEN
    ):
        return False
    left = instant.accelerations + instant.thrown @ answer.reactions
    return are_still(instant, velocities, left, length)


def are_still(
    instant: TouchingContacts, velocities: np.ndarray, left: np.ndarray, length: float
) -> bool:
    """Return whether velocities and the accelerations that are left, (nv,) each, are none."""
    pull = max(float(np.max(instant.size)), float(np.max(np.abs(instant.accelerations))))
    slow = STILL * np.sqrt(length * pull)
    return bool(np.all(np.abs(velocities) <= slow) and np.all(np.abs(left) <= STILL * pull))


def is_timed(dynamics: Dynamics) -> bool:
    """Return whether the loads on bodies depend on time."""
    rows = [part for row in dynamics.rows for part in (row.bias, row.jacobian)]
    acting = ca.veccat(dynamics.mass, dynamics.force, dynamics.influence, *rows)
    rubbing = [row.rubbing for row in contacts_in(dynamics)]
    turning = [place for r in rubbing if isinstance(r, SpatialRubbing) for place in r.turning]
    if turning:
        # The direction of a slip that begins turns with the time; what rests has none.
        acting = ca.substitute(acting, dynamics.p[turning], ca.SX.zeros(len(turning)))
    return bool(ca.depends_on(acting, dynamics.t))
