"""Contacts at rest in space, where the direction of sliding is unknown: Coulomb's cone.

    |T| <= mu N,  and with a slip rate c /= 0:  T = -mu N c / |c|

For a single contact all answers are found: the direction d = (cos b, sin b) of its sliding obeys

    (c x d) = 0,  a trigonometric polynomial of second degree in b.

For several contacts, relaxation finds the states, at once or with growing friction; Newton's method
makes the reactions exact, and the conditions are checked. It is not proved that there is no other
answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from daesolve.contact.decisions.answers import (
    ContactSolution,
    ContactState,
    SolvedReactions,
    States,
    answer_of,
    not_preceded,
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
from daesolve.contact.decisions.relaxation import relaxed, states_of
from daesolve.contact.decisions.touching import ScaledProblem
from daesolve.core.expressions.singular_values import singular_directions

GROWTHS = 50
"""The number of steps in which friction grows, if full friction at once fails."""
ROUNDS = 30
"""The number of Newton steps: it converges in a few, or not at all."""
CONVERGED = 1e-15
"""The step, relative to the largest reaction, at which Newton's method ends."""
ROUNDING = 1e-13
"""Coefficients of a polynomial below this, relative to the largest, count as zero."""
ON_CIRCLE = 1e-6
"""The distance of a root from the unit circle within which it is tried as a direction."""
STILL = 1e-9
"""A slip rate, relative to the largest reaction, that counts as zero."""
CREEPS = 1e-4
"""A slip rate from relaxation, relative to the largest reaction, that may be zero."""
SAME = 1e-7
"""Rates that differ by less, relative to their terms, are the same motion."""


def spatial_answers(problem: ScaledProblem) -> tuple[tuple[ContactSolution, ...], bool]:
    """Return answers that satisfy all conditions, and whether they are proved to be all.

    Parameters
    ----------
    problem
        A problem in its own units.
    """
    alone = problem.contacts.count == 1
    if alone:
        found = [_certified(problem, states, guess) for states, guess in _single(problem)]
    else:
        found = [_relaxed_answer(problem, start) for start in _starts(problem)]
        if not any(found):
            found.append(_grown_answer(problem))
    answers: list[ContactSolution] = []
    for answer in found:
        if answer is not None and not _known(problem, answers, answer):
            answers.append(answer)
    return not_preceded(problem, answers), alone


def _certified(problem: ScaledProblem, states: States, guess: np.ndarray) -> ContactSolution | None:
    """Return the answer near reactions (k,) and states; None if they lead to none."""
    if problem.springs:
        states, guess = _on_springs(problem, states, guess)
    exact = _refined(problem, states, guess)
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
        exact = _refined(problem, states, guess)
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


def _crept(problem: ScaledProblem, states: States, guess: np.ndarray) -> ContactSolution | None:
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
    exact = None if stuck == states else _refined(problem, stuck, guess)
    return None if exact is None else _checked(problem, states, exact)


def _checked(
    problem: ScaledProblem, states: States, exact: SolvedReactions
) -> ContactSolution | None:
    """Return the answer of reactions; None if they violate the conditions."""
    states, exact = _held(problem, states, exact)
    answer = answer_of(problem, exact, states)
    return answer if answer.residual <= problem.tolerance else None


def _starts(problem: ScaledProblem) -> tuple[np.ndarray, ...]:
    """Return initial reactions for a relaxation: none, those of sticking, and pressure alone."""
    size, count = len(problem.free), problem.contacts.count
    held = np.linalg.pinv(problem.contacts.matrix) @ -problem.free
    return np.zeros(size), held, np.where(np.arange(size) < count, 1.0, 0.0)


def _relaxed_answer(problem: ScaledProblem, start: np.ndarray) -> ContactSolution | None:
    """Return the answer that relaxation reaches; None if there is none."""
    for reactions in relaxed(problem, start):
        states = states_of(problem, reactions)
        answer = _certified(problem, states, reactions)
        if answer is None:
            answer = _crept(problem, states, reactions)
        if answer is not None:
            return answer
    return None


def _grown_answer(problem: ScaledProblem) -> ContactSolution | None:
    """Return the answer reached from the frictionless one as friction grows; None if none."""
    contacts, start = problem.contacts, np.zeros(len(problem.free))
    answer = None
    for share in np.arange(1, GROWTHS + 1) / GROWTHS:
        less = replace(
            contacts, friction=contacts.friction * share, static_friction=contacts.static * share
        )
        answer = _relaxed_answer(replace(problem, contacts=less), start)
        if answer is None:
            return None
        start = answer.reactions / problem.reactions
    return answer


def _single(problem: ScaledProblem) -> Iterator[tuple[States, np.ndarray]]:
    """Yield all possible states of one contact at rest."""
    matrix, free, least = problem.contacts.matrix, problem.free, float(problem.least[0])
    if least == 0.0:
        yield (ContactState.OPEN,), np.zeros(3)
    for normal in (None, least) if least > 0.0 else (None,):
        yield (ContactState.STICKS,), _stuck(matrix, free, normal)
        for direction in _directions(problem, normal):
            friction = problem.contacts.friction[0]
            pressed = matrix[0, 0] - friction * (matrix[0, 1:] @ direction)
            size = normal if normal is not None else -free[0] / (pressed or 1.0)
            yield (ContactState.SLIDES,), np.concatenate([[size], -friction * size * direction])


def _stuck(matrix: np.ndarray, free: np.ndarray, normal: float | None) -> np.ndarray:
    """Return the reactions of one sticking contact, which is closed unless N is given."""
    if normal is None:
        return np.linalg.pinv(matrix) @ -free
    load = free[1:] + matrix[1:, 0] * normal
    return np.concatenate([[normal], np.linalg.pinv(matrix[1:, 1:]) @ -load])


def _directions(problem: ScaledProblem, normal: float | None) -> list[np.ndarray]:
    """Return the directions d in which one contact could slide: c x d = 0.

    If the gap stays constant, with N = -free_N / p and p = A_NN - mu A_NT d, c p is also a
    polynomial of second degree in d.
    """
    matrix, free, friction = problem.contacts.matrix, problem.free, problem.contacts.friction[0]
    angles = 2.0 * np.pi * np.arange(5) / 5.0
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if normal is None:
        pressed = matrix[0, 0] - friction * directions @ matrix[0, 1:]
        load = np.full(5, -free[0])
    else:
        pressed, load = np.ones(5), np.full(5, normal)
    slip = pressed[:, None] * free[1:] + load[:, None] * (
        matrix[1:, 0] - friction * directions @ matrix[1:, 1:]
    )
    across = slip[:, 0] * directions[:, 1] - slip[:, 1] * directions[:, 0]
    # Five values determine the coefficients of exp(-2 i b), ..., exp(2 i b).
    coefficients = np.fft.fft(across)[[2, 1, 0, 4, 3]]
    # If A is the same in all directions, the second degree vanishes.
    if abs(coefficients[0]) <= ROUNDING * np.max(np.abs(coefficients)):
        coefficients = coefficients[1:4]
    roots = np.roots(coefficients)
    near = roots[np.abs(np.abs(roots) - 1.0) < ON_CIRCLE]
    return [np.array([np.cos(angle), np.sin(angle)]) for angle in np.angle(near)]


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


def _refined(problem: ScaledProblem, states: States, guess: np.ndarray) -> SolvedReactions | None:
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
        if float(np.max(np.abs(step))) <= CONVERGED * (1.0 + largest):
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
    contacts = problem.contacts
    rates = contacts.matrix @ reactions + problem.free
    missed, slopes = np.array(reactions), np.eye(len(reactions))
    missed[: contacts.count] -= problem.least
    for contact, state in enumerate(states):
        rows = contacts.tangents(contact)
        released = (
            problem.least[contact] > 0.0
            and rates[contact] > reactions[contact] - (problem.least[contact])
        )
        if state is not ContactState.OPEN and not released:
            missed[contact], slopes[contact] = rates[contact], contacts.matrix[contact]
        if state is ContactState.STICKS:
            missed[rows], slopes[rows] = rates[rows], contacts.matrix[rows]
        elif state.slides:
            limit = contacts.friction[contact] * reactions[contact]
            direction, turning = problem.sliding[contact], 0.0
            if not direction.any():
                slip = rates[rows]
                speed = float(np.linalg.norm(slip)) or 1.0
                direction = slip / speed
                across = (np.eye(len(slip)) - np.outer(direction, direction)) / speed
                turning = limit * across @ contacts.matrix[rows]
            missed[rows] = reactions[rows] + limit * direction
            slopes[rows] += turning
            slopes[rows, contact] += contacts.friction[contact] * direction
    return missed, slopes


def _known(problem: ScaledProblem, answers: list[ContactSolution], answer: ContactSolution) -> bool:
    """Return whether a motion is among the answers."""
    rates = answer.rates / problem.rates
    return any(
        np.max(np.abs(rates - other.rates / problem.rates)) <= SAME * (1.0 + np.max(np.abs(rates)))
        for other in answers
    )
