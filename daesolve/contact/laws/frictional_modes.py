"""The values of the mode in which contacts open, stick and slide as was decided."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from daesolve.contact.decisions import ContactSolution, ContactState, Decision
from daesolve.contact.decisions.answers import States, sliding_state
from daesolve.contact.laws.frictional_impacts import at
from daesolve.contact.laws.frictional_instant import (
    ContactNumbers,
    DecisionState,
    Rates,
    TouchingContacts,
)
from daesolve.contact.laws.redundant_contacts import (
    ClosedContacts,
    IndependentContacts,
    are_still,
    borne_by,
    shares_of,
    with_implied_contacts,
)
from daesolve.core.events.choices import Choices
from daesolve.errors import ContactError, ResetError


def states_by_contact(instant: TouchingContacts, states: States) -> Mapping[int, ContactState]:
    """Return the states of the contacts that touch, by their index."""
    return dict(zip(instant.which.tolist(), states, strict=True))


def states_by_slips(slips: np.ndarray) -> States:
    """Return the states of contacts that touch, by their slips alone: none opens.

    These are (n,) in the plane, and (n, 2) in space.
    """
    return tuple(
        sliding_state(slip) if slip.any() else ContactState.STICKS
        for slip in slips.reshape(len(slips), -1)
    )


def states_of(
    numbers: ContactNumbers, p: np.ndarray, which: np.ndarray
) -> tuple[ContactState | None, ...]:
    """Return the states of some contacts in a mode; None for those that are open in it."""
    stuck, closed = numbers.stuck(p), numbers.closed(p)

    def state(contact: int) -> ContactState | None:
        rubbing = numbers.rubbing[contact]
        if not closed[contact]:
            return None
        if rubbing is None or stuck[contact]:
            return ContactState.STICKS
        # In space the direction of a slip is no matter of the mode.
        return sliding_state(p[rubbing.slides].repeat(numbers.directions))

    return tuple(map(state, which.tolist()))


def answer_of(
    found: Decision,
    so_far: Sequence[ContactState | None],
    choices: Choices,
    time: float,
    lost: np.ndarray | None = None,
) -> ContactSolution:
    """Return the one motion that is possible, or that which the choices take of several.

    Parameters
    ----------
    found
        All that are possible.
    so_far
        What each contact did; None if it was open.
    choices
        What is done where several are possible.
    time
        When, as an error reports it, s.
    lost
        (n,) which contacts have just ceased to push where a jam is near: their reaction is zero to
        a rounding with which they might as well push on.

    Raises
    ------
    ContactError
        None is possible, or several; where undetermined loads decide, with what to ask for.
    """
    onward = ""
    if lost is not None and lost.any():
        opens = [
            replace(answer, states=states, also=())
            for answer in found.answers
            for states in answer.candidates
            if all(states[k] is ContactState.OPEN for k in np.flatnonzero(lost).tolist())
        ]
        if len(opens) == 1:
            return opens[0]
    if len(found.answers) > 1:
        kept = [
            answer
            for answer in found.answers
            if any(_goes_on(states, so_far) for states in answer.candidates)
        ]
        if choices.on_ambiguous == "keep" and len(kept) == 1:
            return kept[0]
        onward = '; on_ambiguous = "keep" continues in the current mode' if len(kept) == 1 else ""
    try:
        return found.only()
    except ContactError as error:
        directions = found.answers[0].tangential.shape[1] if found.answers else 1
        raise at(time, error, directions, onward) from error


def _goes_on(states: Sequence[ContactState], so_far: Sequence[ContactState | None]) -> bool:
    return all(old in (None, new) for new, old in zip(states, so_far, strict=True))


def values_in_states(
    numbers: ContactNumbers,
    instant: TouchingContacts,
    p: np.ndarray,
    states: Mapping[int, ContactState],
    slips: np.ndarray,
    reactions: np.ndarray | None,
    *,
    ended: np.ndarray | None = None,
    rest: bool = False,
    may_creep: bool = True,
) -> np.ndarray:
    """Return p with contacts in these states, held by as many constraints as are independent.

    Where all that moves rests, no reaction comes to its limit any more.

    Parameters
    ----------
    numbers, instant, p
        The contacts, what touches, and the values before.
    states
        Of the contacts that touch, by their index.
    slips
        (n,) of what touches, m/s; exactly zero at rest.
    reactions
        (2 n,) with which these states are possible; None if there are none.
    ended
        (2 n,) which reactions of what touches have just come to their limits; None if none have.
    rest
        Whether all rests.
    may_creep
        Whether slips may begin that others hold at zero, but for rounding or a hardly tilted body.

    Raises
    ------
    ResetError
        No choice of constraints bears the load.
    """
    places: list[int] = instant.which.tolist()
    contacts = ClosedContacts(
        instant,
        [states[k] for k in places],
        [numbers.rubbing[k] is not None for k in places],
        slips == 0.0,
        np.zeros(2 * len(places), dtype=bool) if ended is None else ended,
        reactions,
    )
    p, kept = numbers.mode(p, np.zeros(len(numbers.names), dtype=bool)), contacts.kept()
    chosen = contacts.follow(kept)
    rests = chosen and rest
    if chosen:
        # Where all rests it is wedged in, if nothing else holds it.
        borne = contacts.borne() or (kept if rest else None)
        if borne is None:
            raise _undetermined_error(numbers, instant, contacts, kept)
        kept = borne
    if not may_creep and contacts.is_impossible(kept):
        raise ResetError(f"at t = {instant.time:.10g} s contacts begin to slide that others hold")
    for contact, side in zip(places, contacts.sides(kept).tolist(), strict=True):
        rubbing = numbers.rubbing[contact]
        if rubbing is not None:
            p[rubbing.slides] = side
            if rests and rubbing.rests is not None and states[contact] is not ContactState.OPEN:
                p[rubbing.rests] = 1.0
    gaps = np.array([places[k] for k in kept.normals], dtype=int)
    p[numbers.holds[gaps[gaps < numbers.count]]] = 1.0
    for k in kept.tangents:
        rubbing = numbers.rubbing[places[k]]
        assert rubbing is not None
        p[rubbing.sticks] = 1.0
    for k, owner in kept.shared.items():
        p[numbers.shares[places[owner], places[k]]] = kept.ratios[k]
    return p


def bearing_modes(
    numbers: ContactNumbers,
    touching: tuple[TouchingContacts, np.ndarray, np.ndarray],
    p: np.ndarray,
    answer: ContactSolution,
    *,
    rest: bool = False,
) -> list[np.ndarray]:
    """Return the modes in which contacts do what an answer says, or may also do.

    As for `values_in_states`.

    Parameters
    ----------
    numbers, touching
        The contacts; what touches, its slips, and which of its reactions have come to their limits.
    p, answer
        The values before, and what was decided.
    rest
        Whether all rests, and no load will change that.

    Raises
    ------
    ResetError
        No mode bears the load.
    """
    instant, slips, ended = touching
    modes, failed = list[np.ndarray](), list[ResetError]()
    # What rests under loads that change with time may be about to slide.
    candidates = (answer.states,) if rest else answer.candidates
    for may_creep, states in itertools.product((False, True), candidates):
        if modes and may_creep:
            break
        own = states_by_contact(instant, with_implied_contacts(instant, answer, states, slips))
        also = partial(values_in_states, ended=ended, rest=rest, may_creep=may_creep)
        try:
            mode = also(numbers, instant, p, own, slips, answer.reactions)
        except ResetError as error:
            failed.append(error)
            continue
        if not any(numbers.are_alike(mode, known) for known in modes):
            modes.append(mode)
    if not modes:
        raise failed[0]
    return modes


def rows_held(numbers: ContactNumbers, instant: TouchingContacts, p: np.ndarray) -> list[int]:
    """Return the rows of what touches that hold in the mode of p."""
    places: list[int] = instant.which.tolist()
    rows: list[int] = np.flatnonzero(numbers.held(p)[instant.which]).tolist()
    for k, contact in enumerate(places):
        rubbing = numbers.rubbing[contact]
        if rubbing is not None and p[rubbing.sticks] == 1.0:
            rows.append(len(places) + k)
    return rows


def without_left_slips(
    numbers: ContactNumbers, place: DecisionState, rates: Rates, p: np.ndarray
) -> DecisionState:
    """Return the place without what is left of slips that hold in p, and followed before it.

    What held them has errors of its own: a gap that is zero as far as it counts, and is fed back.
    """
    held = (p[numbers.sticks] == 1.0) & (place.p[numbers.sticks] != 1.0)
    new = numbers.stuck(place.p) & (rates.slips == 0.0)
    new[numbers.rubs] &= held[:, 0]
    if not new.any():
        return place
    instant = numbers.instant(place, numbers.closed(p), rates)
    rows, count = rows_held(numbers, instant, p), len(instant.which)
    left = np.where(new, numbers.rates(place).slips, 0.0)[instant.which]
    wanted = -np.concatenate([np.zeros(count), left])[rows]
    answer = instant.contacts.matrix[np.ix_(rows, rows)]
    return place.pushed(instant.thrown[:, rows], np.linalg.solve(answer, wanted))


def closed_contacts(
    numbers: ContactNumbers, instant: TouchingContacts, p: np.ndarray
) -> np.ndarray:
    """Return which contacts are closed in the mode of p, with those that others keep closed."""
    closed, count = numbers.closed(p), len(instant.which)
    places: list[int] = instant.which.tolist()
    rows, sides = rows_held(numbers, instant, p), np.zeros(count)
    for k, contact in enumerate(places):
        rubbing = numbers.rubbing[contact]
        if rubbing is not None:
            sides[k] = p[rubbing.slides]
    reactions = borne_by(instant, rows, sides)
    if reactions is None:
        return closed
    still = are_still(instant, reactions)
    for k, contact in enumerate(places):
        if not closed[contact] and still[k]:
            closed[contact] = shares_of(instant.contacts.matrix, rows, k) is not None
    return closed


def are_chosen(numbers: ContactNumbers, p: np.ndarray, closed: np.ndarray) -> bool:
    """Return whether a mode with these contacts closed bears its load in one of several ways."""
    idle = numbers.stuck(p)
    idle[numbers.rubs] &= ~(p[numbers.sticks] == 1.0).all(axis=1)
    for (_, other), place in numbers.shares.items():
        idle[other] &= p[place] == 0.0
    return bool(np.any(idle) or np.any(closed & ~numbers.closed(p)))


def chosen_among(numbers: ContactNumbers, closed: np.ndarray) -> str:
    """Say that closed contacts share a load as was chosen."""
    names = ", ".join(repr(numbers.names[k]) for k in np.flatnonzero(closed))
    return (
        f"how the contacts {names} share their load is not determined: just enough of them bear "
        "it, and what follows from these shows no force"
    )


def _undetermined_error(
    numbers: ContactNumbers,
    instant: TouchingContacts,
    contacts: ClosedContacts,
    kept: IndependentContacts,
) -> ResetError:
    left = [k for k in contacts.normals if k not in kept.normals]
    what, place = ("reaction", left[0]) if left else ("friction", next(iter(kept.idle)))
    return ResetError(
        f"at t = {instant.time:.10g} s the {what} of the contact "
        f"{numbers.names[int(instant.which[place])]!r} is not determined: it "
        "depends on the reactions of other contacts that are closed"
    )
