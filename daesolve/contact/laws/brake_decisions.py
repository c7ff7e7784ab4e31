"""What contacts and brakes do next, with brakes under the loads that come with it.

Brakes on one slip are decided as one, under the sum of their limits: their shares tell nothing of
the motion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from daesolve.contact.decisions import ContactSolution, ContactState, Decision, decide
from daesolve.contact.decisions.answers import States
from daesolve.contact.laws.frictional_instant import (
    ContactNumbers,
    DecisionState,
    TouchingContacts,
)
from daesolve.contact.laws.redundant_contacts import PARALLEL
from daesolve.errors import ResetError

MOST_ROUNDS = 64
"""Rounds in which loads of brakes are made to agree with the friction that they cause."""
SETTLED = 1e-14
"""A load agrees within this fraction of its size."""
ALIKE = 1e-12
"""Slips that are multiples have rates that are within this fraction of their terms."""
REVERSED = {
    ContactState.FORWARD: ContactState.BACKWARD,
    ContactState.BACKWARD: ContactState.FORWARD,
}


@dataclass(frozen=True, eq=False)
class _Group:
    """Brakes on one slip: their places among what touches, and their slips over that of the first.

    `sticks` and `slides` are the largest friction of each, N, at rest and in motion.
    """

    places: np.ndarray
    ratios: np.ndarray
    sticks: np.ndarray
    slides: np.ndarray

    @property
    def limits(self) -> tuple[float, float]:
        """Those of all together, along the slip of the first."""
        sizes = np.abs(self.ratios)
        return float(sizes @ self.sticks), float(sizes @ self.slides)

    def parts(self, state: ContactState) -> np.ndarray:
        """Return the friction of each for one newton in all, in a state of the first."""
        own = self.sticks if state is ContactState.STICKS else self.slides
        total = float(np.abs(self.ratios) @ own)
        return np.sign(self.ratios) * (own / total if total > 0.0 else np.zeros_like(own))


def decide_with_brakes(
    numbers: ContactNumbers, place: DecisionState, instant: TouchingContacts, slips: np.ndarray
) -> tuple[TouchingContacts, Decision]:
    """Return what contacts may do next, with brakes under the loads that agree with it.

    Raises
    ------
    ResetError
        No loads agree.
    """
    brakes = np.flatnonzero(instant.which >= numbers.count)
    if not brakes.size:
        return instant, decide(instant.contacts, instant.free, slips)
    for _ in range(MOST_ROUNDS):
        found = _decided(instant, brakes, slips)
        if not found.answers:
            return instant, found
        loads = numbers.pressed(place, instant, found.answers[0].reactions)
        settled = np.abs(loads.free - instant.free) <= SETTLED * instant.size
        instant = loads
        if np.all(settled):
            return instant, found
    own: list[int] = instant.which[brakes].tolist()
    names = ", ".join(repr(numbers.names[k]) for k in own)
    raise ResetError(
        f"at t = {place.time:.10g} s no normal reactions of {names} agree with the friction that "
        "they cause: it changes them by more than their own size"
    )


def _decided(instant: TouchingContacts, brakes: np.ndarray, slips: np.ndarray) -> Decision:
    """Return what contacts may do under given loads of brakes."""
    contacts, count = instant.contacts, instant.contacts.count
    groups = list(_groups(instant, brakes, slips))
    gone = np.concatenate([group.places[1:] for group in groups])
    left = np.setdiff1d(np.arange(count), gone)
    friction, static = contacts.friction.copy(), contacts.static.copy()
    free = instant.free.copy()
    for group in groups:
        first, (sticks, slides) = int(group.places[0]), group.limits
        friction[first], static[first] = (slides / sticks if sticks > 0.0 else 1.0), 1.0
        free[first] = -contacts.matrix[first, first] * sticks
    own = replace(contacts, friction=friction, static_friction=static).some(left)
    found = decide(own, free[contacts.rows(left)], slips[left])
    answers = tuple(_whole(answer, instant, groups, left) for answer in found.answers)
    return replace(found, answers=answers)


def _groups(instant: TouchingContacts, brakes: np.ndarray, slips: np.ndarray) -> Iterator[_Group]:
    """Yield the brakes on one slip, which also change it alike."""
    contacts, count = instant.contacts, instant.contacts.count
    matrix, free, size = (
        part[count:] for part in (contacts.matrix[:, count:], instant.free, instant.size)
    )
    loads = -instant.free[:count] / np.diag(contacts.matrix)[:count]
    left = brakes.tolist()
    while left:
        first, others = left[0], left[1:]
        alike, ratios = [first], [1.0]
        for k in others:
            own = float(matrix[first, first])
            ratio = float(matrix[first, k]) / own if own > 0.0 else 0.0
            apart = matrix[k, k] - ratio * matrix[first, k]
            terms = size[k] + abs(ratio) * size[first]
            if (
                apart <= PARALLEL * matrix[k, k]
                and abs(free[k] - ratio * free[first]) <= ALIKE * terms
                and np.sign(slips[k]) == np.sign(ratio * slips[first])
            ):
                alike.append(k)
                ratios.append(ratio)
        places = np.array(alike)
        limits = [mu[places] * loads[places] for mu in (contacts.static, contacts.friction)]
        yield _Group(places, np.array(ratios), *limits)
        left = [k for k in others if k not in alike]


def _whole(
    answer: ContactSolution, instant: TouchingContacts, groups: Sequence[_Group], left: np.ndarray
) -> ContactSolution:
    """Return an answer with each brake of each group.

    States in which brakes open are left out: without a load they slide or stick.
    """
    contacts, count = instant.contacts, instant.contacts.count
    firsts = [int(group.places[0]) for group in groups]

    def expanded(states: States) -> States:
        found = dict(zip(left.tolist(), states, strict=True))
        for group, first in zip(groups, firsts, strict=True):
            for k, ratio in zip(group.places.tolist(), group.ratios.tolist(), strict=True):
                state = found[first]
                found[k] = REVERSED.get(state, state) if ratio < 0.0 else state
        return tuple(found[k] for k in range(count))

    candidates = [expanded(states) for states in answer.candidates]
    states = [s for s in candidates if all(s[k] is not ContactState.OPEN for k in firsts)]
    normal, tangential = np.zeros(count), np.zeros((count, 1))
    normal[left], tangential[left] = answer.normal, answer.tangential
    for group, first in zip(groups, firsts, strict=True):
        tangential[group.places, 0] = group.parts(states[0][first]) * tangential[first, 0]
        normal[group.places] = -instant.free[group.places] / np.diag(contacts.matrix)[group.places]
    reactions = np.concatenate([normal, tangential.ravel()])
    rates = contacts.matrix @ reactions + instant.free
    shared = any(len(group.places) > 1 for group in groups)
    return replace(
        answer,
        states=states[0],
        also=tuple(states[1:]),
        normal=normal,
        tangential=tangential,
        gap_rates=rates[:count],
        slip_rates=rates[count:, None],
        reactions_determined=answer.reactions_determined and not shared,
        family=(),
        names=contacts.names,
    )
