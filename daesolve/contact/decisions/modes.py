"""All modes of contacts with known directions of sliding, and their conditions.

In the plane a contact at rest may open, stick or slide to either side, and a sliding one may
continue or open: 4 and 2 modes. In space a sliding contact has its direction, and `spatial` handles
contacts at rest. In a mode, reactions satisfy linear equations and a list of inequalities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from daesolve.contact.decisions.answers import ContactState, States, sliding_state
from daesolve.contact.decisions.touching import ScaledProblem

_STATES = tuple(ContactState)


@dataclass(frozen=True)
class ContactChoice:
    """A possible choice of one contact.

    Attributes
    ----------
    state
        In a word.
    closed
        Whether its gap stays constant; otherwise its normal reaction is the least possible.
    sticks
        Whether its slip stays constant; otherwise the traction is mu N against `direction`.
    direction
        The direction of sliding, a unit vector; zeros if no traction acts.
    tried
        Whether the slip must turn out to have this direction.
    """

    state: ContactState
    closed: bool
    sticks: bool
    direction: tuple[float, ...]
    tried: bool = False

    @property
    def number(self) -> int:
        """The index of the state in `list(ContactState)`."""
        return _STATES.index(self.state)


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes of all contacts, one a row.

    Attributes
    ----------
    states
        The states of the contacts, by their index in `list(ContactState)`: (modes, n).
    closed, sticks, tried
        As in `ContactChoice`: (modes, n).
    directions
        The directions of sliding: (modes, n, directions).
    """

    states: np.ndarray
    closed: np.ndarray
    sticks: np.ndarray
    tried: np.ndarray
    directions: np.ndarray

    def __len__(self) -> int:
        return len(self.states)

    def some(self, which: np.ndarray | np.ndarray) -> Modes:
        """Return only some modes."""
        return Modes(*(getattr(self, column.name)[which] for column in fields(self)))

    def states_of(self, mode: int) -> States:
        """Return the states of the contacts in a mode."""
        return tuple(_STATES[int(place)] for place in np.ravel(self.states[mode]))


Choices = tuple[tuple[ContactChoice, ...], ...]
"""The possible choices of each contact."""


def choices_of(problem: ScaledProblem) -> Choices:
    """Return the possible choices of each contact.

    Parameters
    ----------
    problem
        A problem in its own units.
    """
    return tuple(_choices(problem, contact) for contact in range(problem.contacts.count))


def _choices(problem: ScaledProblem, contact: int) -> tuple[ContactChoice, ...]:
    contacts, sliding = problem.contacts, problem.sliding[contact]
    none = (0.0,) * contacts.directions
    opened = ContactChoice(ContactState.OPEN, False, False, none)
    if sliding.any():
        known = tuple(float(part) for part in sliding)
        return (opened, ContactChoice(sliding_state(sliding), True, False, known))
    pressed = problem.least[contact] > 0.0
    if contacts.static[contact] == 0.0 and contacts.directions > 1:
        released = ContactChoice(ContactState.SLIDES, False, False, none) if pressed else opened
        return (released, ContactChoice(ContactState.SLIDES, True, False, none))
    if contacts.static[contact] == 0.0 and not contacts.matrix[contacts.tangents(contact)].any():
        # It is smooth: it has no slip that it could hold.
        released = ContactChoice(ContactState.STICKS, False, False, none) if pressed else opened
        return (released, ContactChoice(ContactState.STICKS, True, False, none))
    at_rest = [
        (ContactState.STICKS, True, none),
        (ContactState.FORWARD, False, (1.0,)),
        (ContactState.BACKWARD, False, (-1.0,)),
    ]
    # A contact with a least reaction has friction whether or not its gap grows.
    kinds = (False, True) if pressed else (True,)
    chosen = tuple(
        ContactChoice(state, closed, sticks, direction, tried=not sticks)
        for closed in kinds
        for state, sticks, direction in at_rest
    )
    return chosen if pressed else (opened, *chosen)


def count_of(choices: Choices) -> int:
    """Return how many modes there are."""
    return math.prod(len(options) for options in choices)


@lru_cache(maxsize=32)
def all_modes(choices: Choices) -> Modes:
    """Return every combination of choices."""
    sizes = [len(options) for options in choices]
    strides = np.cumprod([1, *sizes[:0:-1]])[::-1]
    places = np.arange(math.prod(sizes)) // strides[:, None] % np.array(sizes)[:, None]
    columns = list(zip(choices, places, strict=True))

    def table(name: str) -> np.ndarray:
        return np.stack(
            [np.array([getattr(one, name) for one in options])[at] for options, at in columns], 1
        )

    return Modes(*map(table, ("number", "closed", "sticks", "tried", "direction")))


def equations(problem: ScaledProblem, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear equations of modes, matrix reactions = right side.

    Returns
    -------
    matrices, right
        (modes, k, k) and (modes, k).
    """
    contacts, size = problem.contacts, len(problem.free)
    count, width = contacts.count, contacts.directions
    held = np.concatenate([modes.closed, np.repeat(modes.sticks, width, axis=1)], axis=1)
    matrices = np.where(held[:, :, None], contacts.matrix, np.eye(size))
    load = np.concatenate([problem.least, np.zeros(count * width)])
    right = np.where(held, -problem.free, load)
    rubbing = contacts.friction[:, None] * modes.directions
    for contact in range(count):
        rows = contacts.tangents(contact)
        # Sticking contacts hold their rows; their direction is zero.
        matrices[:, rows, contact] += rubbing[:, contact, :]
    return matrices, right


def slacks(problem: ScaledProblem, modes: Modes, reactions: np.ndarray) -> np.ndarray:
    """Return expressions that must be nonnegative in modes, affine in the reactions; 1 if none.

    Parameters
    ----------
    problem, modes
        The problem, and its modes.
    reactions
        (modes, k).

    Returns
    -------
    slacks
        Slacks of normal reactions, gaps, both sides of the cones of sticking contacts, and tried
        slips: (modes, 5 n).
    """
    contacts = problem.contacts
    count, width = contacts.count, contacts.directions
    rates = reactions @ contacts.matrix.T + problem.free
    normal = reactions[:, :count]
    shape = (len(modes), count, width)
    traction = reactions[:, count:].reshape(shape)[:, :, 0]
    along = np.sum(rates[:, count:].reshape(shape) * modes.directions, axis=2)
    limit = contacts.static * normal
    return np.concatenate(
        [
            np.where(modes.closed, normal - problem.least, 1.0),
            np.where(modes.closed, 1.0, rates[:, :count]),
            np.where(modes.sticks, limit - traction, 1.0),
            np.where(modes.sticks, limit + traction, 1.0),
            np.where(modes.tried, along, 1.0),
        ],
        axis=1,
    )
