"""Contacts at rest in space, where the direction of sliding is unknown: Coulomb's cone.

    |T| <= mu N,  and with a slip rate c /= 0:  T = -mu N c / |c|

For a single contact all answers are found: the direction d = (cos b, sin b) of its sliding obeys

    (c x d) = 0,  a trigonometric polynomial of second degree in b.

For several contacts, relaxation finds the states, at once or with growing friction; Newton's method
makes the reactions exact, and the conditions are checked. It is not proved that there is no other
answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from daesolve.contact.decisions.answers import (
    ContactSolution,
    ContactState,
    States,
    not_preceded,
    residual_of,
)
from daesolve.contact.decisions.many_contacts import newton_answer
from daesolve.contact.decisions.refinement import SAME, certified, crept_answer
from daesolve.contact.decisions.relaxation import relaxed, states_of
from daesolve.contact.decisions.touching import ScaledProblem
from daesolve.contact.decisions.uniqueness import is_only_motion

GROWTHS = 50
"""The number of steps in which friction grows, if full friction at once fails."""
ROUNDING = 1e-13
"""Coefficients of a polynomial below this, relative to the largest, count as zero."""
ON_CIRCLE = 1e-6
"""The distance of a root from the unit circle within which it is tried as a direction."""
FAR = 1e-2
"""A state of a single contact is not looked at closely if it violates a condition by more."""
MOST_SEARCHED = 5
"""The number of contacts up to which answers are sought from several starts."""


def spatial_answers(problem: ScaledProblem) -> tuple[tuple[ContactSolution, ...], bool]:
    """Return answers that satisfy all conditions, and whether they are proved to be all.

    Parameters
    ----------
    problem
        A problem in its own units.
    """
    if problem.contacts.count == 1:
        # They are exact but for the rounding of roots: what is far off is no answer.
        near = [
            (states, guess)
            for states, guess in _single(problem)
            if residual_of(problem, guess, states) <= FAR
        ]
        found = [certified(problem, states, guess) for states, guess in near]
        return not_preceded(problem, _different(problem, found)), True
    unique = is_only_motion(problem)
    if problem.contacts.count > MOST_SEARCHED:
        answer = newton_answer(problem)
        if answer is not None:
            return (answer,), unique
    found: list[ContactSolution | None] = []
    for start in _starts(problem):
        found.append(_relaxed_answer(problem, start))
        if unique and found[-1] is not None:
            break
    if not any(found):
        found.append(_grown_answer(problem))
    return not_preceded(problem, _different(problem, found)), unique


def _starts(problem: ScaledProblem) -> tuple[np.ndarray, ...]:
    """Return initial reactions for a relaxation: none, those of sticking, and pressure alone."""
    size, count = len(problem.free), problem.contacts.count
    held = np.linalg.pinv(problem.contacts.matrix) @ -problem.free
    return np.zeros(size), held, np.where(np.arange(size) < count, 1.0, 0.0)


def _relaxed_answer(problem: ScaledProblem, start: np.ndarray) -> ContactSolution | None:
    """Return the answer that relaxation reaches; None if there is none."""
    for reactions in relaxed(problem, start):
        states = states_of(problem, reactions)
        answer = certified(problem, states, reactions)
        if answer is None:
            answer = crept_answer(problem, states, reactions)
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


def _different(
    problem: ScaledProblem, found: Iterable[ContactSolution | None]
) -> list[ContactSolution]:
    """Return the answers among what was found, each motion once."""
    answers: list[ContactSolution] = []
    for answer in found:
        if answer is not None and not _known(problem, answers, answer):
            answers.append(answer)
    return answers


def _known(problem: ScaledProblem, answers: list[ContactSolution], answer: ContactSolution) -> bool:
    """Return whether a motion is among the answers."""
    rates = answer.rates / problem.rates
    return any(
        np.max(np.abs(rates - other.rates / problem.rates)) <= SAME * (1.0 + np.max(np.abs(rates)))
        for other in answers
    )
