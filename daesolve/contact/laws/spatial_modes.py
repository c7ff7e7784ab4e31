"""Contacts in space at an instant: what each of them may do next, and the values of such a mode."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.contact.decisions import ContactSolution, ContactState
from daesolve.contact.laws.frictional_instant import ContactNumbers, TouchingContacts
from daesolve.contact.laws.redundant_contacts import PARALLEL
from daesolve.contact.laws.shared_friction import Shares, are_split, independent, remaining, share
from daesolve.contact.posing.contact_rows import SpatialContactFriction
from daesolve.errors import UndeterminedContact

SPRINGS = "equal springs"
"""How undetermined loads are shared, if requested."""
NEAR = 1e-8
"""A contact is on the border of its state within this fraction of the terms that enter it."""
IDLE = 1e-6
"""A contact bears nothing below this fraction of the largest reaction, if others hold its gap."""
MOST = 64
"""Modes that are looked at where several contacts are at borders."""
LONGEST, SHORTEST = 1e-3, 1e-6
"""s, steps in which a slip that begins gets its own direction."""
STOPPED = 2e-14
"""s, the time in which friction would take the slip that counts as none."""
ROUNDING = 64.0 * float(np.finfo(float).eps)
"""The least slip that counts, as a fraction of its terms."""


@dataclass(frozen=True, eq=False)
class ContactTransition:
    """What a contact does next.

    Parameters
    ----------
    state
        In a word.
    heading
        (2,) the direction in which it begins to slide; None if it does not begin.
    """

    state: ContactState
    heading: np.ndarray | None = None


ContactTransitions = Mapping[int, ContactTransition]
"""What contacts that touch do, by their place among these."""


def candidates(
    instant: TouchingContacts, answer: ContactSolution, slips: np.ndarray
) -> list[ContactTransitions]:
    """Return the modes that agree with an answer to within rounding, its own first.

    A contact that is at the limit of its friction may stick on or begin to slide, against its
    friction; one that is hardly loaded may open.

    Parameters
    ----------
    instant, answer
        What touches, and what was decided.
    slips
        (n, 2) zero for contacts at rest.
    """
    contacts = instant.contacts
    size = 1.0 + float(np.max(np.abs(answer.normal)))
    terms = np.abs(contacts.matrix) @ np.abs(answer.reactions) + instant.size
    options: list[list[ContactTransition]] = []
    for k, state in enumerate(answer.states):
        resting = not slips[k].any()
        normal, traction = float(answer.normal[k]), answer.tangential[k]
        rubs, limit = float(np.linalg.norm(traction)), contacts.static[k] * normal
        rate = answer.slip_rates[k]
        # Without friction nothing holds a slip, even where it is zero.
        smooth = contacts.static[k] == 0.0
        begins = _direction(-traction) if rubs > 0.0 and not smooth else _direction(rate)
        sliding = ContactTransition(ContactState.SLIDES, begins if resting else None)
        slides = state.slides or not resting or smooth
        closed = sliding if slides else ContactTransition(ContactState.STICKS)
        chosen = [ContactTransition(ContactState.OPEN) if state is ContactState.OPEN else closed]
        tangents = contacts.tangents(k)
        creeps = float(np.linalg.norm(rate)) <= NEAR * float(np.max(terms[tangents]))
        if resting and state is ContactState.STICKS and rubs >= (1.0 - NEAR) * limit > 0.0:
            chosen.append(sliding)
        elif resting and state.slides and creeps and contacts.static[k] > 0.0:
            chosen.append(ContactTransition(ContactState.STICKS))
        if state is ContactState.OPEN and answer.gap_rates[k] <= NEAR * terms[k]:
            chosen.append(closed)
        elif state is not ContactState.OPEN and normal <= NEAR * size:
            chosen.append(ContactTransition(ContactState.OPEN))
        options.append(chosen)
    modes = list(itertools.islice(itertools.product(*options), MOST))
    # What shares a load comes to the limit together.
    together = tuple(chosen[-1] for chosen in options)
    modes = [modes[0], together, *[mode for mode in modes[1:] if mode != together]]
    return [dict(enumerate(courses)) for courses in modes[: max(1, math.prod(map(len, options)))]]


def _direction(vector: np.ndarray) -> np.ndarray:
    """Return a unit vector; an arbitrary one if there is no direction."""
    size = float(np.linalg.norm(vector))
    return vector / size if size > 0.0 else np.array([1.0, 0.0])


def values_for_transitions(
    numbers: ContactNumbers,
    instant: TouchingContacts,
    p: np.ndarray,
    courses: ContactTransitions,
    answer: ContactSolution,
    slips: np.ndarray,
    terms: np.ndarray,
    *,
    springs: bool = False,
) -> np.ndarray:
    """Return p with contacts that do what is said, and all others open.

    Parameters
    ----------
    numbers, instant, p
        The contacts, what touches, and the values before.
    courses
        What these do.
    answer
        With what reactions: they give sizes, and shares in friction that is not determined.
    slips, terms
        (n, 2) and (n,) the slips of those that touch, and the sizes of their terms, m/s.
    springs
        Whether loads that are not determined are shared as equal springs would.

    Raises
    ------
    UndeterminedContact
        Loads are not determined.
    """
    before, p = p, numbers.mode(p, np.zeros(len(numbers.names), dtype=bool))
    contacts = instant.contacts
    pulls = np.abs(contacts.matrix) @ np.abs(answer.reactions) + instant.size
    for k, course in courses.items():
        contact = int(instant.which[k])
        p[numbers.holds[contact]] = float(course.state is not ContactState.OPEN)
        rubbing = numbers.rubbing[contact]
        if not isinstance(rubbing, SpatialContactFriction):
            continue
        slides = course.state.slides
        begins = slides and (before[rubbing.slides] == 0.0 or course.heading is not None)
        p[rubbing.slides] = float(slides)
        if begins or p[rubbing.heads] == 0.0 or not slides:
            p[[rubbing.heads, *rubbing.heading, *rubbing.turning, rubbing.begun]] = 0.0
            p[[*rubbing.heading]] = _direction(slips[k]) if slides else 0.0
        if slides and course.heading is not None:
            p[rubbing.heads], p[rubbing.begun] = 1.0, instant.time
            p[[*rubbing.heading]] = course.heading
        if begins:
            pull = float(np.max(pulls[contacts.tangents(k)]))
            p[rubbing.still] = max(STOPPED * pull, ROUNDING * float(terms[k])) or STOPPED
        limit = float(contacts.static[k] * answer.normal[k])
        p[rubbing.bears] = limit if limit > 0.0 else 1.0
    return _held(numbers, instant, p, courses, answer, slips, springs=springs)


def _held(
    numbers: ContactNumbers,
    instant: TouchingContacts,
    p: np.ndarray,
    courses: ContactTransitions,
    answer: ContactSolution,
    slips: np.ndarray,
    *,
    springs: bool,
) -> np.ndarray:
    """Hold as many slips of what sticks as are independent, and split friction that is not."""
    contacts = instant.contacts
    closed = [k for k, course in courses.items() if course.state is not ContactState.OPEN]
    kept: list[int] = []
    for k in closed:
        if remaining(contacts.matrix, kept, [k])[0, 0] <= PARALLEL * contacts.matrix[k, k]:
            if springs:
                continue
            raise _undetermined_error(instant, numbers.names[int(instant.which[k])], answer)
        kept.append(k)
    stuck = [k for k in closed if courses[k].state is ContactState.STICKS]
    stuck = [k for k in stuck if numbers.rubbing[int(instant.which[k])] is not None]
    rows = [row for k in stuck for row in range(len(contacts.matrix))[contacts.tangents(k)]]
    chosen = independent(contacts.matrix, kept, rows)
    for k in _idle(instant, courses, slips, (kept, chosen), rows):
        closed.remove(k)
        kept.remove(k)
        contact = int(instant.which[k])
        p[numbers.holds[contact]], p[numbers.follows[contact]] = 0.0, 1.0
        chosen = independent(contacts.matrix, kept, rows)
    for row in chosen:
        k, direction = divmod(row - contacts.count, 2)
        rubbing = numbers.rubbing[int(instant.which[k])]
        assert rubbing is not None
        p[rubbing.holds[direction]] = 1.0
    if len(chosen) < len(rows) and are_split(numbers):
        share(numbers, instant, p, Shares.of(instant, closed, stuck, chosen), answer)
    return p


def _idle(
    instant: TouchingContacts,
    courses: ContactTransitions,
    slips: np.ndarray,
    held: tuple[Sequence[int], Sequence[int]],
    rows: Sequence[int],
) -> list[int]:
    """Return the contacts that bear nothing, because friction elsewhere holds their gaps as well.

    Parameters
    ----------
    instant, courses, slips
        What touches, and what it does.
    held, rows
        The gaps and the slips that hold, and the slips of all that sticks.
    """
    contacts, (gaps, chosen) = instant.contacts, held
    if len(chosen) == len(rows):
        return []
    pulls = np.eye(len(contacts.matrix))[:, [*gaps, *chosen]]
    for column, k in enumerate(gaps):
        course = courses[k]
        if course.state.slides:
            way = _direction(slips[k]) if course.heading is None else course.heading
            pulls[contacts.tangents(k), column] = -contacts.friction[k] * way
    matrix, own = contacts.matrix, [*gaps, *chosen]
    bear = np.linalg.lstsq((matrix @ pulls)[own], -instant.free[own])[0]
    least = IDLE * float(np.max(np.abs(bear)))
    left, idle = list(gaps), list[int]()
    for k, push in zip(gaps, bear.tolist(), strict=False):
        others = [other for other in left if other != k]
        slips_held = independent(matrix, others, rows)
        depends = remaining(matrix, [*others, *slips_held], [k])[0, 0] <= PARALLEL * matrix[k, k]
        if push <= least and depends:
            left, idle = others, [*idle, k]
    return idle


def _undetermined_error(
    instant: TouchingContacts, name: str, answer: ContactSolution
) -> UndeterminedContact:
    return UndeterminedContact(
        f"at t = {instant.time:.10g} s the load of the contact {name!r} is not determined: its "
        "gap follows from the gaps of other closed contacts "
        f"({', '.join(instant.contacts.names)}), as with a fourth foot of one body; pose fewer "
        "contacts, or set redundant = 'minimum-norm', which uses the loads that equal springs "
        "under all of them would have",
        answer,
    )


def step_until(share: Callable[[float], float]) -> float | None:
    """Return a step after which a slip is as large as it has to be, to half an order or so.

    None if that is so at once: the slip began with an acceleration, and has no time to turn.
    """
    step = LONGEST
    while step > SHORTEST:
        if share(step) <= 1.0:
            return step
        step *= 0.5
    return None
