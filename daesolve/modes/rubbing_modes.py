"""The values of the mode in which contacts open, stick and slide as was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from daesolve.contact import Answer, ContactPolicy, Decision, State
from daesolve.errors import ContactError, ResetError
from daesolve.modes.rubbing_instant import ContactNumbers, Instant

PARALLEL = 1e-9
"""If this fraction of the square of a row, or less, is independent of others, the row repeats
them."""
SHARE = 1e-7
"""The part of another row in a row counts above this fraction."""
SIGNS = {State.FORWARD: 1.0, State.BACKWARD: -1.0}

States = tuple[State, ...]


def of_all(instant: Instant, states: States) -> Mapping[int, State]:
    """Return the states of the contacts that touch, by their index."""
    return dict(zip(instant.which.tolist(), states, strict=True))


def states_of(
    numbers: ContactNumbers, p: np.ndarray, which: np.ndarray
) -> tuple[State | None, ...]:
    """Return the states of some contacts in a mode; None for those that are open in it."""
    stuck, closed = numbers.stuck(p), numbers.closed(p)

    def state(contact: int) -> State | None:
        rubbing = numbers.rubbing[contact]
        if not closed[contact]:
            return None
        if rubbing is None or stuck[contact]:
            return State.STICKS
        return State.FORWARD if p[rubbing.slides] > 0.0 else State.BACKWARD

    return tuple(map(state, which.tolist()))


def answer_of(
    found: Decision,
    so_far: Sequence[State | None],
    lost: np.ndarray,
    policy: ContactPolicy,
    time: float | None = None,
) -> Answer:
    """Return the one motion that is possible, or that which a policy takes of several.

    Parameters
    ----------
    found
        All that are possible.
    so_far
        What each contact did; None if it was open.
    lost
        (n,) which contacts have just ceased to push where a jam is near: their reaction is zero to
        a rounding with which they might as well push on.
    policy
        What is done where several are possible.
    time
        When, as an error reports it, s.

    Raises
    ------
    ContactError
        None is possible, or several.
    """
    onward = ""
    if lost.any():
        opens = [
            replace(answer, states=states, also=())
            for answer in found.answers
            for states in answer.candidates
            if all(states[k] is State.OPEN for k in np.flatnonzero(lost).tolist())
        ]
        if len(opens) == 1:
            return opens[0]
    if len(found.answers) > 1:
        kept = [
            answer
            for answer in found.answers
            if any(_goes_on(states, so_far) for states in answer.candidates)
        ]
        if policy.on_ambiguous == "keep" and len(kept) == 1:
            return kept[0]
        onward = '; on_ambiguous = "keep" continues in the current mode' if len(kept) == 1 else ""
    try:
        return found.only()
    except ContactError as error:
        when = "" if time is None else f"at t = {time:.10g} s "
        raise type(error)(f"{when}{error}{onward}", error.solution) from error


def _goes_on(states: Sequence[State], so_far: Sequence[State | None]) -> bool:
    return all(old in (None, new) for new, old in zip(states, so_far, strict=True))


def in_states(
    numbers: ContactNumbers,
    instant: Instant,
    p: np.ndarray,
    states: Mapping[int, State],
    *,
    rest: bool = False,
) -> np.ndarray:
    """Return p with contacts in these states; of those that stick, as many as are independent.

    Where all that moves rests, reactions need not be determined: some constraints hold it.

    Raises
    ------
    ResetError
        Reactions are not determined.
    """
    p = p.copy()
    p[numbers.holds], p[numbers.slides], p[numbers.sticks] = 0.0, 0.0, 0.0
    p[numbers.rests] = 0.0
    p[list(numbers.shares.values())] = 0.0
    stuck: list[int] = []
    for contact, state in states.items():
        p[numbers.holds[contact]] = float(state is not State.OPEN)
        rubbing = numbers.rubbing[contact]
        if rubbing is not None:
            p[rubbing.slides] = SIGNS.get(state, 0.0)
            stuck += [contact] if state is State.STICKS else []
    fault = _held(numbers, instant, p, states, stuck)
    if fault and rest:
        return _resting(numbers, instant, p, states)
    if fault:
        raise _undetermined(instant, *fault)
    return p


def _held(
    numbers: ContactNumbers,
    instant: Instant,
    p: np.ndarray,
    states: Mapping[int, State],
    stuck: Sequence[int],
) -> tuple[str, str] | None:
    """Let p hold slips that are zero; return what is not determined, and of which contact."""
    count, places = len(instant.which), {k: n for n, k in enumerate(instant.which.tolist())}
    matrix, kept, owners = instant.contacts.matrix, list[int](), dict[int, int]()
    for contact, state in states.items():
        if state is not State.OPEN:
            if _shares(matrix, kept, places[contact]) is not None:
                return "reaction", numbers.names[contact]
            kept.append(places[contact])
    for contact in stuck:
        row = count + places[contact]
        shares = _shares(matrix, kept, row)
        if shares is None:
            owners[row] = contact
            kept.append(row)
            rubbing = numbers.rubbing[contact]
            assert rubbing is not None
            p[rubbing.sticks] = 1.0
            continue
        bearing = [owners.get(k, -1) for k, share in zip(kept, shares, strict=True) if share]
        if len(bearing) != 1 or bearing[0] < 0:
            return "friction", numbers.names[contact]
        p[numbers.shares[bearing[0], contact]] = 1.0
    return None


def _resting(
    numbers: ContactNumbers, instant: Instant, p: np.ndarray, states: Mapping[int, State]
) -> np.ndarray:
    """Return p with contacts that rest, held by as many constraints as are independent."""
    p = p.copy()
    p[numbers.holds], p[numbers.sticks] = 0.0, 0.0
    p[list(numbers.shares.values())] = 0.0
    count, matrix, kept = len(instant.which), instant.contacts.matrix, list[int]()
    for row in range(2 * count):
        contact = int(instant.which[row % count])
        rubbing = numbers.rubbing[contact]
        if states[contact] is State.OPEN or (row >= count and rubbing is None):
            continue
        if rubbing is not None:
            p[rubbing.rests] = 1.0
        if _shares(matrix, kept, row) is not None:
            if rubbing is None:
                raise _undetermined(instant, "reaction", numbers.names[contact])
        else:
            kept.append(row)
            held = numbers.holds[contact] if row < count or rubbing is None else rubbing.sticks
            p[held] = 1.0
    return p


def _shares(matrix: np.ndarray, kept: list[int], row: int) -> list[float] | None:
    """Return how a row is combined of others; None if it is not."""
    if not kept:
        return None
    shares = np.linalg.solve(matrix[np.ix_(kept, kept)], matrix[kept, row])
    left = matrix[row, row] - matrix[row, kept] @ shares
    if left > PARALLEL * matrix[row, row]:
        return None
    return [float(share) if abs(share) > SHARE else 0.0 for share in shares]


def _undetermined(instant: Instant, what: str, name: str) -> ResetError:
    return ResetError(
        f"at t = {instant.time:.10g} s the {what} of the contact {name!r} is not determined: it "
        "depends on the reactions of other contacts that are closed"
    )
