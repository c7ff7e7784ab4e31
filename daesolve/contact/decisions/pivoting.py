"""Many contacts in the plane: one answer by Lemke's pivots, or all of them by branching.

For a contact at rest, the slip rate is written as a difference c+ - c- of nonnegative numbers, and
the traction as T = -mu N + R. With L = 2 mu N - R, this is a linear complementarity problem:

    gap rate = (A_NN - A_NT mu) N + A_NT R + free      0 <= gap rate  _|_  N  >= 0
    c+       = (A_TN - A_TT mu) N + A_TT R + c- + free 0 <= c+        _|_  R  >= 0
    L        = 2 mu N - R                              0 <= L         _|_  c- >= 0

A sliding contact has only the first row, with T = -mu N s. (Glocker, Set-Valued Force Laws, 2001.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from daesolve.contact.complementarity.answers import VariantAnswer
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.lemke import lemke
from daesolve.contact.decisions.answers import ContactSolution, ContactState, States, sliding_state
from daesolve.contact.decisions.enumeration import ModeReactions, answers_of, found_in
from daesolve.contact.decisions.many_contacts import newton_answer
from daesolve.contact.decisions.modes import (
    Choices,
    all_modes,
    choices_of,
    count_of,
    equations,
    slacks,
)
from daesolve.contact.decisions.reaction_families import impossible
from daesolve.contact.decisions.relaxation import relaxed, states_of
from daesolve.contact.decisions.touching import ScaledProblem

LEAF_MODES = 256
"""The number of modes up to which all are solved at once instead of bounded."""


def one_answer(problem: ScaledProblem) -> ContactSolution | None:
    """Return an answer for contacts with known directions; None if none was found.

    Newton's method determines the states; if it fails, pivots do, in the plane.

    Parameters
    ----------
    problem
        As in `enumeration.all_answers`.
    """
    answer = newton_answer(problem)
    if answer is not None and not answer.motion_determined:
        # The inequalities may leave only one motion of a family.
        answer = _answer_in(problem, answer.states) or answer
    if answer is not None:
        return replace(answer, also=_other_states(problem, choices_of(problem), answer))
    return pivoted_answer(problem) if supports_pivots(problem) else None


def supports_pivots(problem: ScaledProblem) -> bool:
    """Return whether contacts lie in the plane, without larger static friction."""
    contacts = problem.contacts
    return contacts.directions == 1 and bool(np.all(contacts.static <= contacts.friction))


def pivoted_answer(problem: ScaledProblem) -> ContactSolution | None:
    """Return an answer for contacts in the plane; None if none was found.

    Pivots determine the states; if they end in a ray, or reactions are not determined, relaxation
    does. The equations of the mode then give the reactions, and its inequalities decide.

    Parameters
    ----------
    problem
        As in `enumeration.all_answers`.
    """
    for states in _named(problem):
        answer = _answer_in(problem, states)
        if answer is not None:
            return answer
    return None


def _answer_in(problem: ScaledProblem, states: States) -> ContactSolution | None:
    """Return the answer in given states, by all equations and inequalities; None if none is."""
    named = tuple(
        tuple(one for one in options if one.state is state) or options
        for options, state in zip(choices_of(problem), states, strict=True)
    )
    found = found_in(problem, all_modes(named))
    return answers_of(problem, found)[0] if found else None


def _other_states(
    problem: ScaledProblem, choices: Choices, answer: ContactSolution
) -> tuple[States, ...]:
    """Return the other states, of contacts on a border, with which the reactions agree.

    For given reactions the conditions of a contact depend on its own state only.
    """
    reactions = answer.reactions / problem.reactions
    size = problem.tolerance * (1.0 + float(np.max(np.abs(reactions))))
    options: list[list[ContactState]] = [[state] for state in answer.states]
    for place in range(max(map(len, choices))):
        mode = all_modes(tuple((own[place % len(own)],) for own in choices))
        matrices, right = equations(problem, mode)
        missed = np.abs(matrices[0] @ reactions - right[0])
        spare = slacks(problem, mode, reactions[None]).reshape(-1, len(choices))
        for contact, state in enumerate(mode.states_of(0)):
            own = np.append(missed[problem.contacts.tangents(contact)], missed[contact])
            if np.max(own) <= size and np.min(spare[:, contact]) >= -size:
                options[contact].append(state)
    each = [list(dict.fromkeys(states)) for states in options]
    together = itertools.islice(itertools.product(*each), 1, LEAF_MODES)
    return tuple(together)


def branched_answers(problem: ScaledProblem) -> tuple[ContactSolution, ...]:
    """Return all answers, by the choices of one contact after another.

    Choices that a linear programme without complementarity proves impossible are left out.

    Parameters
    ----------
    problem
        As in `enumeration.all_answers`.
    """
    found: list[ModeReactions] = []
    nodes = [choices_of(problem)]
    while nodes:
        choices = nodes.pop()
        if count_of(choices) <= LEAF_MODES:
            found += found_in(problem, all_modes(choices))
            continue
        if _impossible(problem, choices):
            continue
        contact = next(place for place, options in enumerate(choices) if len(options) > 1)
        nodes += [(*choices[:contact], (one,), *choices[contact + 1 :]) for one in choices[contact]]
    return answers_of(problem, found)


def _named(problem: ScaledProblem) -> Iterator[States]:
    """Yield the states of an answer as suggested by pivots and relaxation."""
    linear = _linear(problem)
    pivoted = lemke(linear)
    if pivoted is not None:
        yield _pivoted_states(problem, pivoted)
    for reactions in relaxed(problem, np.zeros(len(problem.free))):
        yield states_of(problem, reactions)


def _impossible(problem: ScaledProblem, choices: Choices) -> bool:
    """Return whether no reactions satisfy the conditions of given choices, and all cones."""
    contacts = problem.contacts
    count, size = contacts.count, len(problem.free)
    decided = np.array([len(options) == 1 for options in choices])
    mode = all_modes(tuple(options[:1] for options in choices))
    matrices, right = equations(problem, mode)
    kept = np.concatenate([decided, np.repeat(decided, contacts.directions)])
    rows = [-np.eye(size)[:count], -contacts.matrix[:count]]
    bounds = [-problem.least, problem.free[:count]]
    if contacts.directions == 1:
        cone, one, tried = np.diag(contacts.static), np.eye(count), decided & mode.tried[0]
        along = mode.directions[0][tried]
        rows += [np.hstack([-cone, one]), np.hstack([-cone, -one])]
        rows += [-along * contacts.matrix[count:][tried]]
        bounds += [np.zeros(2 * count), along[:, 0] * problem.free[count:][tried]]
    return impossible(np.vstack(rows), np.concatenate(bounds), matrices[0][kept], right[0][kept])


def _linear(problem: ScaledProblem) -> HorizontalComplementarity:
    """Pose w = M z + q as w - M z = q, with w on the second supports and z on the first ones."""
    contacts = problem.contacts
    count, signs = contacts.count, problem.sliding[:, 0]
    resting = np.flatnonzero(signs == 0.0)
    friction = np.diag(contacts.friction)
    direction = np.diag(np.where(signs == 0.0, 1.0, signs))
    normal, tangent = np.split(contacts.matrix, 2, axis=1)
    pressed = normal - tangent @ direction @ friction
    at_rest = count + resting
    one = np.eye(len(resting))
    matrix = np.block(
        [
            [pressed[:count], tangent[:count, resting], np.zeros((count, len(resting)))],
            [pressed[at_rest], tangent[np.ix_(at_rest, resting)], one],
            [2.0 * friction[resting], -one, np.zeros_like(one)],
        ]
    )
    # Normal reactions are measured from the least ones.
    least = np.concatenate([problem.least, np.zeros(2 * len(resting))])
    load = np.concatenate([problem.free[:count], problem.free[at_rest], np.zeros(len(resting))])
    return HorizontalComplementarity(-matrix, np.eye(len(load)), load + matrix @ least)


def _pivoted_states(problem: ScaledProblem, answer: VariantAnswer) -> States:
    """Return the states that correspond to w and z of an answer."""
    count = problem.contacts.count
    resting = [contact for contact in range(count) if problem.sliding[contact, 0] == 0.0]
    pushing, limits = answer.first[count:], answer.second[count + len(resting) :]
    states: list[ContactState] = []
    for contact in range(count):
        if answer.first[contact] == 0.0 and problem.least[contact] == 0.0:
            states.append(ContactState.OPEN)
        elif contact not in resting:
            states.append(sliding_state(problem.sliding[contact]))
        else:
            place = resting.index(contact)
            inside = pushing[place] > 0.0 and limits[place] > 0.0
            moved = ContactState.FORWARD if pushing[place] == 0.0 else ContactState.BACKWARD
            states.append(ContactState.STICKS if inside else moved)
    return tuple(states)
