"""Reactions by relaxation: each contact in turn takes what its own cone allows, again and again.

    N := max(least, N - gap rate / A_NN),   T := disc(mu N) of T - slip rate / |A_TT|

It converges slowly where it does, and proves nothing: it finds states, which others make exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from daesolve.contact.answers import State, States, sliding_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from daesolve.contact.touching import ScaledProblem

SWEEPS = (4, 8, 16, 32, 64, 128, 256, 512)
"""After how many more sweeps reactions are shown."""
SETTLED = 1e-15
"""Of the largest reaction, a change in one sweep after which nothing changes any more."""
DIVERGED = 1e9
"""Scaled reactions beyond which it leads nowhere."""
LOADED = 1e-9
"""Of the largest, a reaction below which a contact seems open, or its traction at the limit."""


def relaxed(
    problem: ScaledProblem, sliding: NDArray[np.float64], start: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    """Yield reactions (k,) after more and more sweeps.

    Parameters
    ----------
    problem
        In units of its own.
    sliding
        Unit vectors in which contacts slide, zero where they are at rest: (n, directions).
    start
        Reactions to begin with: (k,).
    """
    reactions = np.array(start, dtype=float)
    for sweeps in SWEEPS:
        for _ in range(sweeps):
            before = reactions.copy()
            _sweep(problem, sliding, reactions)
            change = float(np.max(np.abs(reactions - before)))
            if change <= SETTLED * float(np.max(np.abs(reactions))):
                yield reactions
                return
            if not float(np.max(np.abs(reactions))) < DIVERGED:
                return
        yield reactions


def states_of(
    problem: ScaledProblem, sliding: NDArray[np.float64], reactions: NDArray[np.float64]
) -> States:
    """Return what contacts seem to do with given reactions (k,)."""
    contacts = problem.contacts
    loaded = LOADED * float(np.max(reactions[: contacts.count], initial=0.0))
    states: list[State] = []
    for contact in range(contacts.count):
        traction = reactions[contacts.tangents(contact)]
        limit = contacts.friction[contact] * reactions[contact]
        if reactions[contact] <= loaded and problem.least[contact] == 0.0:
            states.append(State.OPEN)
        elif sliding[contact].any():
            states.append(sliding_state(sliding[contact]))
        elif np.linalg.norm(traction) >= limit * (1.0 - LOADED):
            states.append(sliding_state(-traction))
        else:
            states.append(State.STICKS)
    return tuple(states)


def _sweep(
    problem: ScaledProblem, sliding: NDArray[np.float64], reactions: NDArray[np.float64]
) -> None:
    """Change the reactions of each contact in turn."""
    contacts = problem.contacts
    for contact in range(contacts.count):
        rows = contacts.tangents(contact)
        gap = contacts.matrix[contact] @ reactions + problem.free[contact]
        normal = max(problem.least[contact], reactions[contact] - gap)
        reactions[contact] = normal
        limit = contacts.friction[contact] * normal
        if sliding[contact].any():
            reactions[rows] = -limit * sliding[contact]
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
