"""Symmetries up to which a motion repeats itself: shifts, turns, relabelling, reflections.

An element of such a group maps (x, p), the state and the current values, to

    g (x, p) = A (x, p) + b,

a linear map with a shift. A permutes, reflects and turns. The distances by which coordinates are
shifted, and the angle by which the motion turns, are found together with the motion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from daesolve.analysis.orbits.flow import Flow
from daesolve.analysis.orbits.nodes import Node
from daesolve.core.posing.symbols import velocity_name
from daesolve.errors import NotPeriodicError, OutOfRangeError, PosingError, check_names, is_number

ASIDE = (0.7, -1.9)
"""The change of a free amount that shows whether it changes the motion."""
ALIKE = 1e-9
"""The difference of rates, relative to the largest, that counts as none."""


class Shift:
    """Coordinates that need not return; their advance in a period is found.

    Parameters
    ----------
    *free
        Coordinates that may end anywhere. If one of them is the heading of a plane motion, which
        turns the direction of others, these are turned.
    **by
        Coordinates that advance by a given amount, such as theta=2*pi.

    Examples
    --------
    >>> import daesolve as ds
    >>> ds.analysis.Shift("x", "y")
    Shift('x', 'y')
    """

    def __init__(self, *free: str, **by: float) -> None:
        for name in free:
            if not isinstance(name, str):
                raise PosingError(f"a shift needs names of coordinates, not {name!r}")
        for name, amount in by.items():
            if not is_number(amount):
                raise OutOfRangeError(f"the shift of {name!r} is {amount!r}, but must be a number")
        self.free, self.by = free, by

    def __repr__(self) -> str:
        parts = [repr(name) for name in self.free]
        return f"Shift({', '.join([*parts, *(f'{n}={v:.12g}' for n, v in self.by.items())])})"


class Relabel:
    """States and discrete values that exchange places.

    Parameters
    ----------
    mapping
        The name of a state or value, mapped to the name of the one whose value it has a period
        later, or to a pair of that name and a number to add.

    Examples
    --------
    Two legs exchange roles, and a counter decreases by one:

    >>> import daesolve as ds
    >>> legs = ds.analysis.Relabel({"left": "right", "right": "left", "count": ("count", -1.0)})
    """

    def __init__(self, mapping: Mapping[str, str | tuple[str, float]]) -> None:
        if not isinstance(mapping, Mapping) or not mapping:
            raise PosingError(f"a relabelling must map names to names, not {mapping!r}")
        self.mapping: dict[str, tuple[str, float]] = {
            name: (source, 0.0) if isinstance(source, str) else (source[0], float(source[1]))
            for name, source in mapping.items()
        }

    def __repr__(self) -> str:
        return f"Relabel({self.mapping!r})"


class Reflect:
    """Coordinates that are mirrored, with their rates: they end at the negative of their start.

    Together with half a period of the drive this is the symmetry of a driven pendulum.

    Parameters
    ----------
    *names
        Coordinates, velocities or states.
    """

    def __init__(self, *names: str) -> None:
        if not names or not all(isinstance(name, str) for name in names):
            raise PosingError("a reflection needs at least one name of a coordinate")
        self.names = names

    def __repr__(self) -> str:
        return f"Reflect({', '.join(map(repr, self.names))})"


Symmetry = Shift | Relabel | Reflect
UpTo = Symmetry | Sequence[Symmetry] | None


@dataclass(frozen=True)
class Turn:
    """A turn of the plane: an angle, and pairs of states that turn with it, by their indices."""

    angle: int
    pairs: tuple[tuple[int, int], ...]
    sense: float


@dataclass(frozen=True, eq=False)
class Group:
    """The symmetries up to which a motion repeats.

    Parameters
    ----------
    size
        The number of states and values.
    fixed, offset
        A and b of the given part.
    names
        The m free coordinates.
    shifts
        The index of each of them.
    turns
        The turns by index in `names`, for those that turn others.
    words
        The request in words.
    """

    size: int
    fixed: np.ndarray
    offset: np.ndarray
    names: tuple[str, ...] = ()
    shifts: tuple[int, ...] = ()
    turns: Mapping[int, Turn] = field(default_factory=dict[int, Turn])
    words: str = ""

    @property
    def trivial(self) -> bool:
        """Whether the motion must return exactly."""
        return not self.words

    def squared(self) -> Group:
        """Return the group of the symmetry applied twice."""
        fixed = self.fixed @ self.fixed
        offset = self.fixed @ self.offset + self.offset
        plain = np.array_equal(fixed, np.eye(self.size)) and not np.any(offset)
        words = "" if plain and not self.names else f"twice {self.words}"
        return Group(self.size, fixed, offset, self.names, self.shifts, self.turns, words)

    @property
    def reflects(self) -> bool:
        """Whether the given part is an involution, the identity when done twice."""
        plain = np.array_equal(self.fixed, np.eye(self.size))
        return not plain and np.array_equal(self.fixed @ self.fixed, np.eye(self.size))

    def matrix(self, amounts: np.ndarray) -> np.ndarray:
        """Return A, (size, size), of an element."""
        matrix = self.fixed
        for place, turn in self.turns.items():
            matrix = _turned(self.size, turn, amounts[place]) @ matrix
        return matrix

    def shift(self, amounts: np.ndarray) -> np.ndarray:
        """Return b, (size,), of an element."""
        offset = self.offset
        for place, turn in self.turns.items():
            offset = _turned(self.size, turn, amounts[place]) @ offset
        offset = offset.copy()
        offset[list(self.shifts)] += amounts
        return offset

    def act(self, amounts: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return g y."""
        return self.matrix(amounts) @ y + self.shift(amounts)

    def undo(self, amounts: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the place that g maps to y."""
        return np.linalg.solve(self.matrix(amounts), y - self.shift(amounts))

    def generators(self, y: np.ndarray) -> np.ndarray:
        """Return the motions of y with the free amounts, (size, m)."""
        columns = np.zeros((self.size, len(self.shifts)))
        for place, index in enumerate(self.shifts):
            columns[index, place] = 1.0
            turn = self.turns.get(place)
            for first, second in turn.pairs if turn is not None else ():
                assert turn is not None
                columns[first, place] = -turn.sense * y[second]
                columns[second, place] = turn.sense * y[first]
        return columns

    def nearest(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the advance of the free coordinates of a motion."""
        amounts = np.zeros(len(self.shifts))
        order = [*self.turns, *(k for k in range(len(self.shifts)) if k not in self.turns)]
        for place in order:
            index = self.shifts[place]
            amounts[place] += (end - self.act(amounts, start))[index]
        return amounts

    def eigenvalues(self, amounts: np.ndarray) -> list[complex]:
        """Return the eigenvalues of the group: one, and those of a turn for what it turns."""
        values: list[complex] = [1.0] * len(self.shifts)
        for place, turn in self.turns.items():
            turned = [
                self.shifts.index(index)
                for pair in turn.pairs
                for index in pair
                if index in self.shifts
            ]
            for k, shifted in enumerate(sorted(turned)):
                values[shifted] = np.exp((-1j if k % 2 else 1j) * amounts[place])
        return values


def _turned(size: int, turn: Turn, angle: float) -> np.ndarray:
    matrix = np.eye(size)
    cosine, sine = np.cos(turn.sense * angle), np.sin(turn.sense * angle)
    for first, second in turn.pairs:
        matrix[first, first] = matrix[second, second] = cosine
        matrix[first, second], matrix[second, first] = -sine, sine
    return matrix


def group_of(flow: Flow, up_to: UpTo, nodes: Sequence[Node], lag: float = 0.0) -> Group:
    """Return the requested symmetries after checking that the equations have them.

    Parameters
    ----------
    flow
        The motions.
    up_to
        The request.
    nodes
        Places at which the equations are compared.
    lag
        The time after which the equations must be the same, s: the period if they contain time.

    Raises
    ------
    UnknownNameError
        There is no state or value of this name.
    NotPeriodicError
        It is not a symmetry of the equations.
    """
    asked = _asked(up_to)
    names = (*flow.names, *flow.value_names)
    size = len(names)
    fixed, offset, free = np.eye(size), np.zeros(size), list[str]()
    for symmetry in asked:
        matrix, moved = _fixed(symmetry, names)
        fixed, offset = matrix @ fixed, matrix @ offset + moved
        free += [*symmetry.free] if isinstance(symmetry, Shift) else []
    coordinates = flow.names[: flow.dynamics.position_count] or flow.names
    check_names("coordinate to shift", free, coordinates)
    words = ", ".join(map(repr, asked))
    group = Group(size, fixed, offset, words=words)
    if not group.trivial or lag:
        check_symmetry(flow, group, np.zeros(0), nodes, words or f"going on by {lag:.10g} s", lag)
    # States integrated along the motion return only if they are part of it.
    asked_for = [*free]
    for name in flow.quadratures:
        with suppress(NotPeriodicError):
            if name not in free:
                _turn(flow, flow.names.index(name), (), nodes)
                free.append(name)
    shifts = tuple(flow.names.index(name) for name in free)
    turns: dict[int, Turn] = {}
    for place, index in enumerate(shifts[: len(asked_for)]):
        turn = _turn(flow, index, shifts, nodes)
        if turn is not None:
            turns[place] = turn
    return Group(size, fixed, offset, tuple(free), shifts, turns, words)


def _asked(up_to: UpTo) -> list[Symmetry]:
    """Return the requested symmetries as a list."""
    if up_to is None:
        return []
    if isinstance(up_to, Shift | Relabel | Reflect):
        return [up_to]
    if isinstance(up_to, Sequence) and all(isinstance(s, Shift | Relabel | Reflect) for s in up_to):
        return list(up_to)
    raise PosingError(f"up_to is {up_to!r}, but must be Shift, Relabel, Reflect, or several")


def _fixed(symmetry: Symmetry, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return A and b of the given part of a symmetry."""
    matrix, offset = np.eye(len(names)), np.zeros(len(names))

    def place(name: str) -> int:
        check_names("state or value", [name], names)
        return names.index(name)

    if isinstance(symmetry, Shift):
        for name, amount in symmetry.by.items():
            offset[place(name)] = amount
    elif isinstance(symmetry, Relabel):
        for name, (source, added) in symmetry.mapping.items():
            matrix[place(name)] = 0.0
            matrix[place(name), place(source)] = 1.0
            offset[place(name)] = added
        if np.linalg.matrix_rank(matrix) < len(names):
            raise PosingError(f"{symmetry!r} uses a name twice: map every name to a different one")
    else:
        for name in symmetry.names:
            matrix[place(name), place(name)] = -1.0
            if velocity_name(name) in names:
                matrix[place(velocity_name(name))] *= -1.0
    return matrix, offset


# -- whether it is one -----------------------------------------------------------------------------


def _turn(flow: Flow, index: int, shifts: Sequence[int], nodes: Sequence[Node]) -> Turn | None:
    """Return the states that turn with a coordinate; None if it may be shifted alone.

    Raises
    ------
    NotPeriodicError
        It is neither.
    """
    size = len(flow.names) + len(flow.value_names)
    name = flow.names[index]

    def group(turn: Turn | None) -> Group:
        turns = {} if turn is None else {0: turn}
        return Group(size, np.eye(size), np.zeros(size), (name,), (index,), turns, "shift")

    try:
        for aside in ASIDE:
            check_symmetry(
                flow, group(None), np.array([aside]), nodes, f"{name!r} -> {name!r} + {aside:g}"
            )
    except NotPeriodicError as refusal:
        found = _turning(flow, index, shifts, nodes, group)
        if found is None:
            raise refusal
        return found
    return None


def _turning(
    flow: Flow,
    index: int,
    shifts: Sequence[int],
    nodes: Sequence[Node],
    group: Callable[[Turn], Group],
) -> Turn | None:
    """Search for two shifted coordinates that turn with an angle."""
    others = [other for other in shifts if other != index]
    for first in others:
        for second in (other for other in others if other > first):
            pairs = [(first, second)]
            rates = [velocity_name(flow.names[k]) for k in (first, second)]
            if all(rate in flow.names for rate in rates):
                pairs.append((flow.names.index(rates[0]), flow.names.index(rates[1])))
            for sense in (1.0, -1.0):
                turn = Turn(index, tuple(pairs), sense)
                try:
                    for aside in ASIDE:
                        check_symmetry(flow, group(turn), np.array([aside]), nodes, "")
                except NotPeriodicError:
                    continue
                return turn
    return None


def check_symmetry(
    flow: Flow,
    group: Group,
    amounts: np.ndarray,
    nodes: Sequence[Node],
    words: str,
    lag: float = 0.0,
) -> None:
    """Refuse a map that changes the equations: f(g x) must be Dg f(x)."""
    states, matrix = len(flow.names), group.matrix(amounts)
    places = [flow.with_references(flow.in_pieces(node)) for node in nodes]
    # A place where nothing moves has only rounding: use the rates of all places as the measure.
    size = max(1e-30, *(float(np.max(np.abs(flow.rate(node)), initial=0.0)) for node in places))
    for node in places:
        moved = group.act(amounts, np.concatenate([node.x, node.p]))
        image = flow.in_pieces(Node(node.time + lag, moved[:states], moved[states:]))
        image = flow.with_references(image)
        expected = matrix[:states, :states] @ flow.rate(node)
        rate = flow.rate(image)
        apart = np.abs(rate - expected)
        worst = int(np.argmax(np.where(np.isfinite(apart), apart, np.inf)))
        if not apart[worst] <= ALIKE * size:
            raise NotPeriodicError(
                f"the system does not have this symmetry: {words} changes the rate of "
                f"{flow.names[worst]!r} by {apart[worst]:.2g}"
            )
