"""What bodies must not pass: pairs of geoms that touch, and limits of joints and tendons.

MuJoCo measures both programs: how far two geoms are within each other is what its own collision
finds at a state, how far a joint is beyond a limit what its coordinate says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, pi
from typing import Any

import numpy as np

from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.multibody.model_files import FileMechanism
from daesolve.multibody.model_files.contacts import GeomPair
from daesolve.multibody.model_files.freedoms import Freedom

TOUCHING = 1e-9
"""m, rad; what is nearer than that touches."""


@dataclass(frozen=True)
class Barrier:
    """A pair of geoms, or one limit.

    Parameters
    ----------
    name
        What it is called.
    unit
        "m" or "rad".
    contacts
        The names of daesolve's contacts there.
    """

    name: str
    unit: str
    contacts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Touches:
    """What a motion did at each of the barriers.

    Parameters
    ----------
    depths
        (n,) how far it was beyond each at most, m or rad; negative where it stayed before it, and
        -inf where it never came near.
    first
        (n,) when it first touched, s; nan where it never did.
    """

    depths: np.ndarray
    first: np.ndarray

    @property
    def any(self) -> bool:
        """Whether anything touched."""
        return bool(np.isfinite(self.first).any())


class TouchLog:
    """Keeps, while a motion goes on, how far it was beyond each barrier, and since when.

    Parameters
    ----------
    count
        How many barriers there are.
    """

    def __init__(self, count: int) -> None:
        self._depths, self._first = np.full(count, -inf), np.full(count, np.nan)

    def add(self, time: float, depths: np.ndarray) -> None:
        """Take a state into account."""
        self._depths = np.maximum(self._depths, depths)
        touching = np.isnan(self._first) & (depths >= -TOUCHING)
        self._first[touching] = time

    @property
    def touches(self) -> Touches:
        """All of it."""
        return Touches(self._depths, self._first)


@dataclass(frozen=True, eq=False)
class Barriers:
    """The barriers of a mechanism from a file.

    Parameters
    ----------
    pairs
        The geoms that may touch.
    limited
        The joints that have limits.
    tendons
        The tendons that have limits, by number.
    """

    pairs: Sequence[GeomPair]
    limited: Sequence[Freedom]
    tendons: Sequence[tuple[int, Freedom]]

    @classmethod
    def of(cls, mechanism: FileMechanism) -> Barriers:
        """Return those of a mechanism."""
        assembly = mechanism.assembly
        return cls(
            mechanism.touching.pairs,
            [freedom for freedom in assembly.freedoms.values() if _is_limited(freedom)],
            [(n, one) for n, one in assembly.tendons.items() if one.joint.limited],
        )

    @cached_property
    def listed(self) -> tuple[Barrier, ...]:
        """All of them: pairs, then limits of joints, then those of tendons."""
        pairs = [Barrier(pair.title, "m", pair.contacts) for pair in self.pairs]
        limits = [
            Barrier(name, freedom.units[0], (name,))
            for freedom in (*self.limited, *(one for _, one in self.tendons))
            for name in _ends(freedom)
        ]
        return (*pairs, *limits)

    @cached_property
    def _places(self) -> dict[frozenset[int], int]:
        return {frozenset(pair.geoms): place for place, pair in enumerate(self.pairs)}

    def depths(self, data: Any) -> np.ndarray:
        """Return how far a state is beyond each barrier.

        Parameters
        ----------
        data
            MuJoCo's, evaluated at the state.
        """
        found = np.full(len(self.pairs), -inf)
        contacts = data.contact
        for geoms, depth in zip(
            contacts.geom.tolist(), (contacts.includemargin - contacts.dist).tolist(), strict=True
        ):
            place = self._places[frozenset(geoms)]
            found[place] = max(found[place], depth)
        return np.array([*found, *self._beyond(data)])

    def _beyond(self, data: Any) -> Iterator[float]:
        for freedom in self.limited:
            joint, qpos = freedom.joint, data.qpos
            if joint.kind == "ball":
                w, *axis = qpos[joint.place : joint.place + 4].tolist()
                turn = 2.0 * float(np.arctan2(np.linalg.norm(axis), abs(w)))
                yield turn - float(joint.range[1])
            else:
                yield from _both(float(qpos[joint.place]), freedom)
        for number, freedom in self.tendons:
            yield from _both(float(data.ten_length[number]), freedom)

    def first_events(self, run: Trajectory) -> np.ndarray:
        """Return when daesolve's contacts first closed, s; nan where they never did."""
        places = {name: k for k, one in enumerate(self.listed) for name in one.contacts}
        first = np.full(len(self.listed), np.nan)
        for event in run.events:
            after = event.after or {}
            for name in _named(places, event.name, after):
                if np.isnan(first[places[name]]):
                    first[places[name]] = event.time
        return first


NO_BARRIERS = Barriers((), (), ())


def _named(names: Iterable[str], event: str, after: Any) -> Iterator[str]:
    """Yield which contacts are closed after an event, or close by it where they are compliant."""
    for name in names:
        if after.get(f"contact_{name}") == 1.0 or event == f"{name}_closed":
            yield name


def _is_limited(freedom: Freedom) -> bool:
    ball = freedom.joint.kind == "ball"
    return freedom.joint.limited and not (ball and float(freedom.joint.range[1]) >= pi)


def _ends(freedom: Freedom) -> list[str]:
    ends = ("upper",) if freedom.joint.kind == "ball" else ("lower", "upper")
    return [f"{freedom.name}_{end}" for end in ends]


def _both(place: float, freedom: Freedom) -> tuple[float, float]:
    low, high = freedom.joint.range.tolist()
    return low - place, place - high
