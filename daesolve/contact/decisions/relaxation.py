"""Reactions by relaxation: each contact in turn takes what its cone allows, repeatedly.

    N := max(least, N - gap rate / A_NN),   T := disc(mu N) of T - slip rate / |A_TT|

If it converges, it does so slowly, and it proves nothing: it suggests states, which other methods
make exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from daesolve.contact.decisions.answers import ContactState, States, sliding_state
from daesolve.contact.decisions.touching import ScaledProblem

SWEEPS = (4, 8, 16, 32, 64, 128, 256, 512)
"""The numbers of further sweeps after which reactions are yielded."""
SETTLED = 1e-15
"""A change in one sweep, relative to the largest reaction, that counts as none."""
DIVERGED = 1e9
"""The size of scaled reactions beyond which it has failed."""
LOADED = 1e-9
"""Relative to the largest reaction: below this a contact seems open, or its traction at the
limit."""


def relaxed(problem: ScaledProblem, start: np.ndarray) -> Iterator[np.ndarray]:
    """Yield reactions (k,) after increasing numbers of sweeps.

    Parameters
    ----------
    problem
        A problem in its own units.
    start
        Initial reactions: (k,).
    """
    reactions = np.array(start, dtype=float)
    for sweeps in SWEEPS:
        for _ in range(sweeps):
            before = reactions.copy()
            _sweep(problem, reactions)
            change = float(np.max(np.abs(reactions - before)))
            if change <= SETTLED * float(np.max(np.abs(reactions))):
                yield reactions
                return
            if not float(np.max(np.abs(reactions))) < DIVERGED:
                return
        yield reactions


def states_of(problem: ScaledProblem, reactions: np.ndarray) -> States:
    """Return the apparent states of contacts for given reactions (k,)."""
    contacts = problem.contacts
    loaded = LOADED * float(np.max(reactions[: contacts.count], initial=0.0))
    states: list[ContactState] = []
    for contact in range(contacts.count):
        traction = reactions[contacts.tangents(contact)]
        limit = contacts.friction[contact] * reactions[contact]
        if reactions[contact] <= loaded and problem.least[contact] == 0.0:
            states.append(ContactState.OPEN)
        elif problem.sliding[contact].any():
            states.append(sliding_state(problem.sliding[contact]))
        elif np.linalg.norm(traction) >= limit * (1.0 - LOADED):
            states.append(sliding_state(-traction))
        else:
            states.append(ContactState.STICKS)
    return tuple(states)


def _sweep(problem: ScaledProblem, reactions: np.ndarray) -> None:
    """Update the reactions of each contact in turn."""
    contacts = problem.contacts
    for contact in range(contacts.count):
        rows = contacts.tangents(contact)
        gap = contacts.matrix[contact] @ reactions + problem.free[contact]
        normal = max(problem.least[contact], reactions[contact] - gap)
        reactions[contact] = normal
        limit = contacts.friction[contact] * normal
        if problem.sliding[contact].any():
            reactions[rows] = -limit * problem.sliding[contact]
            continue
        block = contacts.matrix[rows, rows]
        stiffness = float(np.trace(block))
        if limit == 0.0 or stiffness == 0.0:
            reactions[rows] = 0.0
            continue
        slip = contacts.matrix[rows] @ reactions + problem.free[rows]
        wanted = reactions[rows] - slip / stiffness
        size = float(np.linalg.norm(wanted))
        holds = size <= contacts.static[contact] * normal
        reactions[rows] = wanted if holds else wanted * (limit / size)
