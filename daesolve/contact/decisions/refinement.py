"""Answers made exact: Newton's method on the equations of given states, checked by substitution.

The equations of contacts that slide from rest are not linear, since the direction of a slip follows
from the reactions. Where reactions are not determined, each step is the shortest.
"""

from __future__ import annotations

import numpy as np

from daesolve.contact.decisions.answers import (
    ContactSolution,
    ContactState,
    SolvedReactions,
    States,
    answer_of,
)
from daesolve.contact.decisions.modes import ContactChoice, all_modes, equations
from daesolve.contact.decisions.reaction_families import (
    DEPENDENT,
    family_of,
    idle_rows,
    least_used,
    pressed,
    sprung,
    use,
)
from daesolve.contact.decisions.touching import ScaledProblem
from daesolve.core.expressions.singular_values import singular_directions

ROUNDS = 30
"""The number of Newton steps: it converges in a few, or not at all."""
CONVERGED = 1e-15
"""The step, relative to the largest reaction, at which Newton's method ends."""
ROUNDED = 1e-11
"""A step that may be rounding: it is where it does not become smaller."""
STILL = 1e-9
"""A slip rate, relative to the largest reaction, that counts as zero."""
CREEPS = 1e-4
"""A slip rate from a guess, relative to the largest reaction, that may be zero."""
SAME = 1e-7
"""Rates that differ by less, relative to their terms, are the same motion."""


def certified(problem: ScaledProblem, states: States, guess: np.ndarray) -> ContactSolution | None:
    """Return the answer near reactions (k,) and states; None if they lead to none."""
    if problem.springs:
        states, guess = _on_springs(problem, states, guess)
    exact = refined(problem, states, guess)
    return None if exact is None else _checked(problem, states, exact)


def _on_springs(
    problem: ScaledProblem, states: States, guess: np.ndarray
) -> tuple[States, np.ndarray]:
    """Close contacts that bodies press on, and open those they lift off, one after another.

    Relaxation uses some share of an undetermined load, and may treat a contact as open although its
    gap stays closed together with others.
    """
    count = problem.contacts.count
    for _ in range(2 * count):
        exact = refined(problem, states, guess)
        if exact is None:
            break
        normal, size = exact.reactions[:count], 1.0 + float(np.max(np.abs(exact.reactions)))
        closed = np.array([state is not ContactState.OPEN for state in states])
        forces = np.where(closed, normal, -pressed(problem, closed, normal))
        worst = int(np.argmin(forces))
        if forces[worst] >= -problem.tolerance * size:
            break
        new = ContactState.OPEN
        if not closed[worst]:
            speed = problem.contacts.matrix @ exact.reactions + problem.free
            slips = np.linalg.norm(speed[problem.contacts.tangents(worst)])
            new = (
                ContactState.SLIDES
                if problem.sliding[worst].any() or slips > CREEPS * size
                else ContactState.STICKS
            )
        states = (*states[:worst], new, *states[worst + 1 :])
        guess = np.where(np.isfinite(exact.reactions), exact.reactions, 0.0)
        guess[worst] = max(guess[worst], 0.0)
    return states, guess


def crept_answer(
    problem: ScaledProblem, states: States, guess: np.ndarray
) -> ContactSolution | None:
    """Return the answer with hardly sliding contacts stuck, for states that lead to none.

    If a traction is at its limit although another share of the load would not be, relaxation cannot
    detect this, and the direction of a zero slip turns in every Newton step.
    """
    count = problem.contacts.count
    rates = problem.contacts.matrix @ guess + problem.free
    speeds = np.linalg.norm(rates[count:].reshape(count, -1), axis=1)
    slow = speeds <= CREEPS * (1.0 + float(np.max(np.abs(guess))))
    stuck = tuple(
        ContactState.STICKS
        if state.slides and slow[place] and not problem.sliding[place].any()
        else state
        for place, state in enumerate(states)
    )
    exact = None if stuck == states else refined(problem, stuck, guess)
    return None if exact is None else _checked(problem, states, exact)


def _checked(
    problem: ScaledProblem, states: States, exact: SolvedReactions
) -> ContactSolution | None:
    """Return the answer of reactions; None if they violate the conditions."""
    states, exact = _held(problem, states, exact)
    answer = answer_of(problem, exact, states)
    return answer if answer.residual <= problem.tolerance else None


def _held(
    problem: ScaledProblem, states: States, exact: SolvedReactions
) -> tuple[States, SolvedReactions]:
    """Make contacts without slip stick, if other reactions of the same motion are in their cones.

    Undetermined tractions may lie at a limit without need.
    """
    contacts, count = problem.contacts, problem.contacts.count
    rates = contacts.matrix @ exact.reactions + problem.free
    speeds = np.linalg.norm(rates[count:].reshape(count, -1), axis=1)
    still = speeds <= STILL * (1.0 + float(np.max(np.abs(exact.reactions))))
    closed = exact.reactions[:count] > 0.0
    wanted = tuple(
        ContactState.STICKS
        if state.slides and still[place] and closed[place] and not problem.sliding[place].any()
        else state
        for place, state in enumerate(states)
    )
    if any(state.slides and not problem.sliding[place].any() for place, state in enumerate(wanted)):
        return states, exact
    choices = tuple(
        (
            ContactChoice(
                state,
                state is not ContactState.OPEN,
                state is ContactState.STICKS,
                tuple(map(float, along)),
            ),
        )
        for state, along in zip(wanted, problem.sliding, strict=True)
    )
    mode = all_modes(choices)
    if wanted == states and use(problem, mode, exact.reactions) <= 1.0:
        return states, exact
    matrices, right = equations(problem, mode)
    family = family_of(problem, matrices[0], right[0])
    if family is not None and problem.springs:
        family = sprung(problem, np.flatnonzero(mode.closed[0]), family)
    if family is None or not family.free.size:
        return states, exact
    shares = least_used(problem, mode, family, family.free.T @ (exact.reactions - family.base))
    reactions = family.base + family.free @ shares
    if use(problem, mode, reactions) > 1.0:
        return states, exact
    return wanted, SolvedReactions(reactions, False, not family.presses, not family.moves)


def refined(problem: ScaledProblem, states: States, guess: np.ndarray) -> SolvedReactions | None:
    """Make reactions exact by Newton's method; return None if it does not converge."""
    reactions, count = np.array(guess), problem.contacts.count
    free = np.eye(len(reactions))
    rates = problem.contacts.matrix @ reactions + problem.free
    released = rates[:count] > reactions[:count] - problem.least
    # A contact that opens with its least reaction keeps that reaction.
    open_ = np.array([state is ContactState.OPEN for state in states])
    closed = np.flatnonzero(~open_ & ~((problem.least > 0.0) & released))
    idle = np.zeros((0, len(reactions)))
    if problem.springs:
        rows = idle_rows(problem, closed)
        idle = np.zeros((len(rows), len(reactions)))
        idle[:, closed] = rows
    moved_by = np.inf
    for _ in range(ROUNDS):
        missed, slopes = _equations(problem, states, reactions)
        missed, slopes = np.append(missed, idle @ reactions), np.vstack([slopes, idle])
        # Slow slips turn quickly, so they are not a measure for the other equations.
        each = np.max(np.abs(slopes), axis=1)
        each = np.where(each > 0.0, each, 1.0)
        missed, slopes = missed / each, slopes / each[:, None]
        found = singular_directions(slopes)
        rank = found.rank(DEPENDENT * found.values[0])
        step, free = found.solution(missed, rank), found.right[rank:].T
        reactions = reactions - step
        largest = float(np.max(np.abs(reactions)))
        if not largest < 1.0 / DEPENDENT:
            return None
        last, moved_by = moved_by, float(np.max(np.abs(step))) / (1.0 + largest)
        if moved_by <= CONVERGED or (moved_by <= ROUNDED and moved_by >= 0.5 * last):
            break
    pressing, moved = free[:count], problem.contacts.matrix @ free
    return SolvedReactions(
        reactions,
        not free.size,
        float(np.max(np.abs(pressing), initial=0.0)) <= SAME,
        float(np.max(np.abs(moved), initial=0.0)) <= SAME,
    )


def _equations(
    problem: ScaledProblem, states: States, reactions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the residual of the equations of states for given reactions, and its slopes."""
    contacts, count, size = problem.contacts, problem.contacts.count, len(reactions)
    width = contacts.directions
    rates, one = contacts.matrix @ reactions + problem.free, np.eye(size)
    opened = np.array([state is ContactState.OPEN for state in states])
    sticks = np.array([state is ContactState.STICKS for state in states])
    released = (problem.least > 0.0) & (rates[:count] > reactions[:count] - problem.least)
    closed, slides = ~opened & ~released, ~opened & ~sticks
    held = np.concatenate([closed, np.repeat(sticks, width)])
    missed = np.where(held, rates, reactions)
    missed[:count] -= np.where(closed, 0.0, problem.least)
    slopes = np.where(held[:, None], contacts.matrix, one)
    slips = rates[count:].reshape(count, width)
    speeds = np.linalg.norm(slips, axis=1)
    speeds = np.where(speeds > 0.0, speeds, 1.0)
    known = problem.known
    ways = np.where(known[:, None], problem.sliding, slips / speeds[:, None])
    limits = contacts.friction * reactions[:count]
    along = slopes[count:].reshape(count, width, size)
    turns = np.flatnonzero(slides & ~known)
    if width > 1 and turns.size:
        across = np.eye(width) - ways[turns][:, :, None] * ways[turns][:, None, :]
        across *= (limits / speeds)[turns][:, None, None]
        along[turns] += across @ contacts.matrix[count:].reshape(count, width, size)[turns]
    each = np.flatnonzero(slides)
    along[each, :, each] += (contacts.friction[:, None] * ways)[each]
    missed[count:].reshape(count, width)[each] += (limits[:, None] * ways)[each]
    return missed, slopes
