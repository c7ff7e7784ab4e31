"""An answer for many contacts: states by Newton's method, corrected, made exact and checked."""

from __future__ import annotations

import numpy as np

from daesolve.contact.decisions.answers import (
    ContactSolution,
    ContactState,
    States,
    answer_of,
    sliding_state,
)
from daesolve.contact.decisions.refinement import certified, refined
from daesolve.contact.decisions.smoothing import STILL, suggested_states
from daesolve.contact.decisions.touching import ScaledProblem

CORRECTIONS = 8
"""How many states that Newton's method suggests may be wrong."""
USED = 1.0 - 1e-6
"""The part of its friction from which a contact is at its limit."""


def newton_answer(problem: ScaledProblem) -> ContactSolution | None:
    """Return an answer in the states that Newton's method suggests; None if none is found.

    Where static friction is larger than sliding friction, contacts stick that it can hold.

    Parameters
    ----------
    problem
        A problem in its own units.
    """
    suggested, answer = None, None
    for suggested in suggested_states(problem):
        answer = _settled(problem, *suggested) or answer
        if answer is not None and not _may_share_better(problem, answer):
            break
    if answer is None and suggested is not None:
        answer = certified(problem, *suggested)
    return None if answer is None else _held_longer(problem, answer)


def _may_share_better(problem: ScaledProblem, answer: ContactSolution) -> bool:
    """Return whether a contact at rest is at a border, which another share of loads may leave."""
    reactions, rates = answer.reactions / problem.reactions, answer.rates / problem.rates
    count, size = problem.contacts.count, 1.0 + float(np.max(np.abs(reactions)))
    normal = reactions[:count]
    rubs, speeds = (
        np.linalg.norm(part[count:].reshape(count, -1), axis=1) for part in (reactions, rates)
    )
    still = (np.abs(rates[:count]) <= STILL * size) & ~problem.known
    held = still & (speeds <= STILL * size) & (problem.contacts.friction > 0.0)
    used = rubs >= USED * problem.contacts.static * normal
    return bool(np.any((still & (normal <= STILL * size)) | (held & used)))


def _settled(problem: ScaledProblem, states: States, guess: np.ndarray) -> ContactSolution | None:
    """Return the answer near reactions (k,), with wrong states corrected one after another."""
    for _ in range(CORRECTIONS):
        exact = refined(problem, states, guess)
        if exact is None:
            return None
        corrected = _corrected(problem, states, exact.reactions)
        if corrected is states and problem.springs:
            return certified(problem, states, exact.reactions)
        if corrected is states:
            answer = answer_of(problem, exact, states)
            return answer if answer.residual <= problem.tolerance else None
        states, guess = corrected, exact.reactions
    return None


def _corrected(problem: ScaledProblem, states: States, reactions: np.ndarray) -> States:
    """Return states of which the one that exact reactions (k,) violate most is another.

    They are the same if nothing is violated.
    """
    contacts, count = problem.contacts, problem.contacts.count
    size = 1.0 + float(np.max(np.abs(reactions)))
    rates = contacts.matrix @ reactions + problem.free
    normal, friction = reactions[:count], reactions[count:].reshape(count, -1)
    slips, known = rates[count:].reshape(count, -1), problem.known
    rubs = np.linalg.norm(friction, axis=1)
    along = -np.sum(slips * friction, axis=1) / np.where(rubs > 0.0, rubs, 1.0)
    opened = np.array([state is ContactState.OPEN for state in states])
    sticks = np.array([state is ContactState.STICKS for state in states])
    slides = ~(opened | sticks | known)
    pulls = np.where(opened, np.inf, normal - problem.least)
    slack = np.stack(
        [
            pulls,
            np.where(opened, rates[:count], np.inf),
            np.where(sticks, contacts.static * normal - rubs, np.inf),
            np.where(slides & (rubs > 0.0), along, np.inf),
        ]
    )
    kind, worst = map(int, np.unravel_index(int(np.argmin(slack)), slack.shape))
    if slack[kind, worst] >= -problem.tolerance * size:
        return states
    if kind == 0:
        new = ContactState.OPEN
    elif kind == 1:
        new = sliding_state(problem.sliding[worst]) if known[worst] else ContactState.STICKS
    elif kind == 2:
        new = sliding_state(-friction[worst])
    else:
        new = ContactState.STICKS
    return (*states[:worst], new, *states[worst + 1 :])


def _held_longer(problem: ScaledProblem, answer: ContactSolution) -> ContactSolution:
    """Return the answer in which larger static friction holds what it can, instead of sliding."""
    contacts = problem.contacts
    longer = (contacts.static > contacts.friction) & ~problem.known
    begins = [k for k, state in enumerate(answer.states) if state.slides and longer[k]]
    for chosen in ([begins] if begins else []) + [[k] for k in begins]:
        states = tuple(
            ContactState.STICKS if k in chosen else state for k, state in enumerate(answer.states)
        )
        held = _settled(problem, states, answer.reactions / problem.reactions)
        if held is not None and all(held.states[k] is ContactState.STICKS for k in chosen):
            return _held_longer(problem, held)
    return answer
