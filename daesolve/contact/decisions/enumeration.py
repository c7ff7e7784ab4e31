"""All answers if directions of sliding are known: every mode is solved, in LAPACK batches."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from daesolve.contact.decisions.answers import (
    ContactSolution,
    ContactState,
    SolvedReactions,
    answer_of,
    not_preceded,
)
from daesolve.contact.decisions.modes import Modes, all_modes, choices_of, equations, slacks
from daesolve.contact.decisions.reaction_families import (
    DEPENDENT,
    family_of,
    lift_off,
    possible,
    sprung,
    with_least_use,
)
from daesolve.contact.decisions.touching import ScaledProblem
from daesolve.core.expressions.singular_values import singular_values

MOST_MODES = 8192
"""The number of modes up to which all are solved: six contacts at rest."""
SAME = 1e-8
"""Rates that differ by less, relative to their terms, are the same motion."""

_NEAR = 1e-4
_WELL_POSED = 1e-8
_NUMBERS_IN_A_BATCH = 2**21


class ModeReactions(NamedTuple):
    """Reactions of one mode, in units of its problem.

    Attributes
    ----------
    mode
        A table with the mode as its only row.
    solved
        The reactions, and what they determine.
    rates
        (k,)
    inside
        The least slack: positive if nothing lies on a border, with some reactions of this motion.
    """

    mode: Modes
    solved: SolvedReactions
    rates: np.ndarray
    inside: float

    @property
    def reactions(self) -> np.ndarray:
        """The reactions, (k,)."""
        return self.solved.reactions


def all_answers(problem: ScaledProblem) -> tuple[ContactSolution, ...]:
    """Return every motion consistent with some mode, each once.

    Parameters
    ----------
    problem
        A problem in its own units.
    """
    found = found_in(problem, all_modes(choices_of(problem)))
    return answers_of(problem, found)


def found_in(problem: ScaledProblem, modes: Modes) -> list[ModeReactions]:
    """Return the reactions of those modes that are possible."""
    size = max(1, _NUMBERS_IN_A_BATCH // len(problem.free) ** 2)
    found: list[ModeReactions] = []
    for start in range(0, len(modes), size):
        batch = modes.some(np.arange(start, min(start + size, len(modes))))
        found += _solved(problem, batch)
    return found


def answers_of(problem: ScaledProblem, found: list[ModeReactions]) -> tuple[ContactSolution, ...]:
    """Return the results of modes as answers, each motion once."""
    groups: list[list[ModeReactions]] = []
    for one in found:
        for group in groups:
            if _same_motion(problem, one, group[0]):
                group.append(one)
                break
        else:
            groups.append([one])
    answers = [_answer(problem, group) for group in _without_members(problem, groups)]
    return not_preceded(problem, answers)


def _solved(problem: ScaledProblem, modes: Modes) -> list[ModeReactions]:
    """Return the possible results in a batch of modes."""
    matrices, right = equations(problem, modes)
    _, logarithms = np.linalg.slogdet(matrices)
    lengths = np.linalg.norm(matrices, axis=2)
    bound = np.log(np.where(lengths > 0.0, lengths, 1.0)).sum(axis=1)
    # Relative to Hadamard's bound; far below it, singular values decide.
    regular = logarithms - bound > np.log(_WELL_POSED)
    doubtful = np.flatnonzero(~regular)
    if doubtful.size:
        sizes = singular_values(matrices[doubtful])
        regular[doubtful] = sizes[:, -1] > DEPENDENT * sizes[:, 0]
    found = _solved_regular(problem, modes.some(regular), matrices[regular], right[regular])
    # Of modes with the same motion, the one with most sticking is likeliest inside its borders.
    held = np.sum(modes.sticks, axis=1) + np.sum(modes.closed, axis=1)
    for place in sorted(np.flatnonzero(~regular), key=lambda place: -held[place]):
        one = _solved_singular(
            problem, modes.some(np.array([place])), (matrices[place], right[place]), found
        )
        found += [one] if one else []
    return found


def _solved_regular(
    problem: ScaledProblem, modes: Modes, matrices: np.ndarray, right: np.ndarray
) -> list[ModeReactions]:
    if not len(modes):
        return []
    reactions = np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0], dtype=np.float64)
    size = 1.0 + np.max(np.abs(reactions), axis=1)
    least = np.min(slacks(problem, modes, reactions), axis=1)
    near = least >= -(problem.tolerance + _NEAR) * size
    modes, reactions, size = modes.some(near), reactions[near], size[near]
    # One refinement recovers the accuracy lost by nearly singular modes.
    missed = right[near] - (matrices[near] @ reactions[..., None])[..., 0]
    reactions = reactions + np.linalg.solve(matrices[near], missed[..., None])[..., 0]
    least = np.min(slacks(problem, modes, reactions), axis=1)
    return [
        ModeReactions(
            modes.some(np.array([place])),
            SolvedReactions(reactions[place]),
            problem.contacts.matrix @ reactions[place] + problem.free,
            float(least[place] / size[place]),
        )
        for place in np.flatnonzero(least >= -problem.tolerance * size)
        if not problem.springs or lift_off(problem, modes.closed[place], reactions[place])
    ]


def _solved_singular(
    problem: ScaledProblem,
    mode: Modes,
    posed: tuple[np.ndarray, np.ndarray],
    found: list[ModeReactions],
) -> ModeReactions | None:
    """Return the result in a mode with singular equations; None if there is none."""
    family = family_of(problem, *posed)
    if family is not None and problem.springs:
        family = sprung(problem, np.flatnonzero(mode.closed[0]), family)
    if family is None:
        return None
    rates = problem.contacts.matrix @ family.base + problem.free
    if not family.moves:
        count = problem.contacts.count
        slack = slacks(problem, mode, family.base[None])[0]
        of_rates = np.concatenate([slack[count : 2 * count], slack[4 * count :]])
        size = 1.0 + float(np.max(np.abs(family.base)))
        if np.min(of_rates) < -problem.tolerance * size:
            return None
        like = ModeReactions(mode, SolvedReactions(family.base), rates, 0.0)
        if any(
            one.inside > problem.tolerance and _same_motion(problem, like, one) for one in found
        ):
            return None
    known = possible(problem, mode, family)
    if known is None:
        return None
    if problem.springs and not lift_off(problem, mode.closed[0], known.reactions):
        return None
    if family.moves:
        rates = problem.contacts.matrix @ known.reactions + problem.free
    least = max(known.inside, float(np.min(slacks(problem, mode, known.reactions[None]))))
    return ModeReactions(mode, known, rates, least / (1.0 + float(np.max(np.abs(known.reactions)))))


def _same_motion(problem: ScaledProblem, one: ModeReactions, other: ModeReactions) -> bool:
    terms = np.abs(problem.contacts.matrix) @ np.maximum(
        np.abs(one.reactions), np.abs(other.reactions)
    ) + np.abs(problem.free)
    return bool(np.all(np.abs(one.rates - other.rates) <= SAME * (1.0 + np.max(terms))))


def _without_members(
    problem: ScaledProblem, groups: list[list[ModeReactions]]
) -> list[list[ModeReactions]]:
    """Remove motions that belong to a family of another mode, as its ends do."""

    def belongs(one: ModeReactions, family: ModeReactions) -> bool:
        matrices, right = equations(problem, family.mode)
        size = 1.0 + float(np.max(np.abs(one.reactions)))
        missed = np.abs(matrices[0] @ one.reactions - right[0])
        least = np.min(slacks(problem, family.mode, one.reactions[None]))
        return bool(np.max(missed) <= SAME * size and least >= -SAME * size)

    families = [group[0] for group in groups if not group[0].solved.motion_determined]
    return [
        group
        for group in groups
        if not any(group[0] is not one and belongs(group[0], one) for one in families)
    ]


def _answer(problem: ScaledProblem, group: list[ModeReactions]) -> ContactSolution:
    """Return a motion, in the mode farthest from its borders."""
    best = max(group, key=lambda one: (one.inside > problem.tolerance, *_rank(one), one.inside))
    solved = best.solved
    if not solved.reactions_determined:
        solved = with_least_use(problem, best.mode, solved)
    answer = answer_of(problem, solved, best.mode.states_of(0))
    # A contact inside its state keeps it: its other states in modes of this motion are other splits
    # of undetermined reactions.
    size = 1.0 + float(np.max(np.abs(best.reactions)))
    slack = slacks(problem, best.mode, best.reactions[None]).reshape(-1, problem.contacts.count)
    kept = np.min(slack, axis=0) > problem.tolerance * size
    others = dict.fromkeys(
        one.mode.states_of(0)
        for one in group
        if np.array_equal(one.mode.states[0, kept], best.mode.states[0, kept])
        or (one.solved.reactions_determined and one.inside > problem.tolerance)
    )
    others.pop(answer.states, None)
    return replace(answer, also=tuple(others))


def _rank(one: ModeReactions) -> tuple[int, int]:
    """Order modes on a border: sticking ones first, then closed ones."""
    states = one.mode.states_of(0)
    return (
        sum(state is ContactState.STICKS for state in states),
        sum(state is not ContactState.OPEN for state in states),
    )
