"""Possible next states of contacts, and how far each violates the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from daesolve.contact.decisions.touching import ScaledProblem
from daesolve.errors import AmbiguousMotion, NoMotion, UncertifiedContact, UndeterminedContact

_SHOWN = 4


class ContactState(Enum):
    """The state of a contact."""

    OPEN = "open"
    STICKS = "sticks"
    FORWARD = "slides +"
    """In the plane, along the tangent."""
    BACKWARD = "slides -"
    """In the plane, against the tangent."""
    SLIDES = "slides"
    """In space, in its own direction."""

    @property
    def slides(self) -> bool:
        """Whether it slides."""
        return self not in (ContactState.OPEN, ContactState.STICKS)


States = tuple[ContactState, ...]


def sliding_state(direction: np.ndarray) -> ContactState:
    """Return the state of a contact that slides in a direction, (1,) in the plane."""
    if direction.size > 1:
        return ContactState.SLIDES
    return ContactState.FORWARD if direction[0] > 0.0 else ContactState.BACKWARD


@dataclass(frozen=True, eq=False)
class ContactSolution:
    """Reactions consistent with the states of all contacts.

    Attributes
    ----------
    states
        The state of each contact.
    normal, tangential
        Reactions N (n,), and T (n, 1) in the plane or (n, 2) in space: N, or N s at an impact.
    gap_rates, slip_rates
        Rates with these reactions: (n,) and (n, directions). For a contact that slides in the
        smooth motion, the slip rate is that of its speed.
    residual
        The largest violation of a condition, relative to its terms.
    also
        Other possible states if the instant lies, within the tolerance, on a border between modes;
        the continuation decides. They have the same motion, except where static friction larger
        than sliding friction is at its limit.
    reactions_determined, normal_determined
        Whether no other reactions, or no other normal reactions, give the same motion in these
        states.
    motion_determined
        Whether no other motion is possible in these states.
    springs
        Whether undetermined reactions are those of equal springs.
    family
        If the motion is not determined: reactions (k,) at the ends of the possible range, two for
        each free reaction.
    names
        The names of the contacts.
    """

    states: States
    normal: np.ndarray
    tangential: np.ndarray
    gap_rates: np.ndarray
    slip_rates: np.ndarray
    residual: float
    also: tuple[States, ...] = ()
    reactions_determined: bool = True
    normal_determined: bool = True
    motion_determined: bool = True
    springs: bool = False
    family: tuple[np.ndarray, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def reactions(self) -> np.ndarray:
        """All reactions, in the order of the rows: (k,)."""
        return np.concatenate([self.normal, self.tangential.ravel()])

    @property
    def rates(self) -> np.ndarray:
        """All rates, in the order of the rows: (k,)."""
        return np.concatenate([self.gap_rates, self.slip_rates.ravel()])

    @property
    def candidates(self) -> tuple[States, ...]:
        """All states that are possible with this answer, its own first."""
        return (self.states, *self.also)

    def __str__(self) -> str:
        parts = (
            f"{name} {state.value} (N = {normal:.6g}, T = {', '.join(f'{t:.6g}' for t in tangent)})"
            for name, state, normal, tangent in zip(
                self.names, self.states, self.normal, self.tangential, strict=True
            )
        )
        return ", ".join(parts)


@dataclass(frozen=True)
class Decision:
    """The possible next states of contacts.

    Attributes
    ----------
    answers
        The answers found, one for each motion.
    complete
        Whether these are all answers.
    method
        The method that found them.
    notes
        Sentences on anything unusual.
    """

    answers: tuple[ContactSolution, ...]
    complete: bool
    method: str
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """One of "one", "none", "several", "undetermined" and "unknown".

        "undetermined": several motions are possible in the states of an answer. "unknown": nothing
        was found, but this proves nothing.
        """
        if not self.answers:
            return "none" if self.complete else "unknown"
        if not all(answer.motion_determined for answer in self.answers):
            return "undetermined"
        return "one" if len(self.answers) == 1 else "several"

    def only(self) -> ContactSolution:
        """Return the only answer.

        Raises
        ------
        NoMotion
            There is none.
        AmbiguousMotion
            There are several.
        UndeterminedContact
            Several motions are possible in the same states.
        UncertifiedContact
            None was found, but it is not proved that there is none.
        """
        said = "".join(f"; {note}" for note in self.notes)
        match self.verdict:
            case "one":
                (answer,) = self.answers
                return answer
            case "none":
                raise NoMotion(
                    f"no reactions agree with any state of the contacts{said}: rigid bodies "
                    "with this friction have no motion from here",
                    self,
                )
            case "several":
                raise AmbiguousMotion(
                    f"the contacts can continue in {len(self.answers)} ways, and the equations "
                    f"do not determine which{said}: {listed(self.answers)}",
                    self,
                )
            case "undetermined":
                raise UndeterminedContact(
                    "undetermined reactions decide how the bodies slide on: "
                    f"{listed(self.answers[:1])} is one of a family{self._ends()}{said}",
                    self,
                )
            case _:
                raise UncertifiedContact(
                    f"{self.method} found no answer that fulfils the conditions of all "
                    f"contacts, and cannot prove that there is none{said}",
                    self,
                )

    def _ends(self) -> str:
        """Return the loads at the ends of the possible range, in words."""
        ends = [end for answer in self.answers[:1] for end in answer.family]
        count = len(self.answers[0].normal)
        loads = [", ".join(f"{load:.6g}" for load in end[:count]) for end in ends[:_SHOWN]]
        return f", at whose ends N = {' and '.join(f'({one})' for one in loads)}" if loads else ""

    def __str__(self) -> str:
        known = "all of them" if self.complete else "there may be more"
        count = len(self.answers)
        lines = [f"{count} {'answer' if count == 1 else 'answers'} by {self.method} ({known})"]
        return "\n".join([*lines, *map(str, self.answers), *self.notes])


def listed(answers: Sequence[ContactSolution]) -> str:
    """Return the first answers in words."""
    more = f"; and {len(answers) - _SHOWN} more" if len(answers) > _SHOWN else ""
    return "; ".join(str(answer) for answer in answers[:_SHOWN]) + more


def residual_of(problem: ScaledProblem, reactions: np.ndarray, states: States) -> float:
    """Return the largest violation of a condition, relative to the terms of the condition.

    Parameters
    ----------
    problem
        A problem in its own units.
    reactions
        Scaled: (k,).
    states
        The assumed state of each contact.
    """
    contacts, count = problem.contacts, problem.contacts.count
    shape = (count, contacts.directions)
    rates = contacts.matrix @ reactions + problem.free
    rate_size = 1.0 + np.abs(contacts.matrix) @ np.abs(reactions) + np.abs(problem.free)
    size = 1.0 + float(np.max(np.abs(reactions)))
    # Of two nonnegative numbers whose product is zero, the smaller is zero.
    normal = (reactions[:count] - problem.least) / size
    worst = float(np.max(np.abs(np.minimum(normal, rates[:count] / rate_size[:count]))))
    friction, slip = reactions[count:].reshape(shape), rates[count:].reshape(shape)
    slip_size = np.max(rate_size[count:].reshape(shape), axis=1)
    rubs, limit = np.linalg.norm(friction, axis=1), contacts.friction * reactions[:count]
    along_known = np.linalg.norm(friction + limit[:, None] * problem.sliding, axis=1) / size
    over = np.maximum(0.0, rubs - contacts.static * reactions[:count]) / size
    held = np.maximum(over, np.linalg.norm(slip, axis=1) / slip_size)
    # It slides against the traction, which is then at its limit; if no traction is possible, any
    # direction will do.
    against = -friction / np.where(rubs > 0.0, rubs, 1.0)[:, None]
    along = np.maximum(0.0, np.sum(slip * against, axis=1))
    aside = np.linalg.norm(slip - along[:, None] * against, axis=1) / slip_size
    slides = np.array([state.slides for state in states]) & (limit > 0.0)
    # If the traction is nearly zero, its direction means nothing.
    turned = np.where(slides, np.minimum(aside, limit / size), 0.0)
    at_limit = np.maximum(np.abs(rubs - limit) / size, turned)
    sticks = np.array([state is ContactState.STICKS for state in states])
    known = problem.known
    each = np.where(known, along_known, np.where(sticks, held, at_limit))
    return max(worst, float(np.max(each)))


@dataclass(frozen=True, eq=False)
class SolvedReactions:
    """Scaled reactions (k,) that satisfy the equations of states, and what these determine.

    The latter as in `ContactSolution`; the ends of a family are scaled, too. `inside` is how far
    others of the same motion are from all borders of the states, at least.
    """

    reactions: np.ndarray
    reactions_determined: bool = True
    normal_determined: bool = True
    motion_determined: bool = True
    springs: bool = False
    family: tuple[np.ndarray, ...] = ()
    inside: float = -np.inf


def answer_of(problem: ScaledProblem, solved: SolvedReactions, states: States) -> ContactSolution:
    """Return the answer of scaled reactions in true units; see `residual_of`."""
    contacts = problem.contacts
    count, shape = contacts.count, (contacts.count, contacts.directions)
    # Open contacts have no reaction: rounding must not look like a load.
    opened = [place for place, state in enumerate(states) if state is ContactState.OPEN]
    reactions = solved.reactions.copy()
    reactions[contacts.rows(opened)] = 0.0
    rates = contacts.matrix @ reactions + problem.free
    true_reactions, true_rates = reactions * problem.reactions, rates * problem.rates
    return ContactSolution(
        states=states,
        normal=true_reactions[:count],
        tangential=true_reactions[count:].reshape(shape),
        gap_rates=true_rates[:count],
        slip_rates=true_rates[count:].reshape(shape),
        residual=residual_of(problem, reactions, states),
        reactions_determined=solved.reactions_determined,
        normal_determined=solved.normal_determined,
        motion_determined=solved.motion_determined,
        springs=solved.springs,
        family=tuple(one * problem.reactions for one in solved.family),
        names=contacts.names,
    )


def not_preceded(
    problem: ScaledProblem, answers: Sequence[ContactSolution]
) -> tuple[ContactSolution, ...]:
    """Remove answers that begin to slide although larger static friction still holds them.

    Between mu N and mu_s N a contact at rest could stick or slide: it sticks. So an answer is
    replaced by one in which contacts do the same, or stick instead of sliding from rest. If one of
    these is at its limit, the other is listed as possible too.

    Parameters
    ----------
    problem
        A problem in its own units.
    answers
        Answers in true units.
    """
    contacts = problem.contacts
    greater = (contacts.static > contacts.friction) & ~problem.known

    def held(one: ContactSolution, other: ContactSolution) -> list[int]:
        """Return contacts that stick in one answer and slide in the other; none if more differs."""
        pairs = enumerate(zip(one.states, other.states, strict=True))
        differing = [place for place, (state, rival) in pairs if state is not rival]
        holds = all(
            greater[place]
            and one.states[place] is ContactState.STICKS
            and other.states[place].slides
            for place in differing
        )
        return differing if holds else []

    def at_limit(one: ContactSolution, contact: int) -> bool:
        limit = contacts.static[contact] * one.normal[contact]
        return bool(np.linalg.norm(one.tangential[contact]) >= (1.0 - problem.tolerance) * limit)

    kept = [one for one in answers if not any(held(rival, one) for rival in answers)]
    return tuple(
        replace(
            one,
            also=(
                *one.also,
                *(
                    other.states
                    for other in answers
                    if any(at_limit(one, contact) for contact in held(one, other))
                ),
            ),
        )
        for one in kept
    )
