"""Which guard belongs to which event, and how each is watched: fixed before a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.events import Event

Terms = Callable[[float, np.ndarray, np.ndarray], np.ndarray]
Later = Callable[[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
Place = tuple[float, np.ndarray, np.ndarray]
"""Time in s, state, values."""


@dataclass(frozen=True)
class Role:
    """How the guards of an event are watched.

    A *barrier* is a guard that its law answers: the law changes what it depends on, or imposes a
    constraint for the instant (a bouncing ball). It is due whenever it is at zero on its way out. A
    *switch* only changes the mode (a relay): once it has fired it is not due before it was inside.

    Parameters
    ----------
    barrier
        Whether it is a barrier; a switch otherwise.
    moved
        Whether the law changes what the guard depends on.
    returns
        Whether it is due past zero on its way back as well.
    stays
        Whether it is late past zero even where it is not armed.
    bars_start
        Whether no motion may start past it.
    sharp
        Whether rounding of its terms is ignored, since a value hidden by it is not a zero.
    posed
        Whether it is due where it passes, by the motion or by a jump; others are judged by the
        state.
    """

    barrier: bool = False
    moved: bool = False
    returns: bool = False
    stays: bool = False
    bars_start: bool = False
    sharp: bool = False
    posed: bool = False


@dataclass(frozen=True, eq=False)
class GuardTable:
    """Which guard belongs to which event: the guards of all events, one after the other.

    Parameters
    ----------
    events
        In their order.
    """

    events: tuple[Event, ...]

    @cached_property
    def guarded(self) -> tuple[Event, ...]:
        """The event of each guard."""
        return tuple(event for event in self.events for _ in range(event.count))

    @cached_property
    def firsts(self) -> np.ndarray:
        """The first guard of each event."""
        return np.cumsum([0, *(event.count for event in self.events)])[:-1]

    @cached_property
    def owners(self) -> np.ndarray:
        """The index of the event of each guard."""
        return np.repeat(np.arange(len(self.events)), [event.count for event in self.events])

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """For each guard the index of its event, and its place among the guards of that."""
        return [(k, j) for k, event in enumerate(self.events) for j in range(event.count)]

    def guards_of(self, events: Sequence[int]) -> np.ndarray:
        """Return the guards of some events."""
        return np.flatnonzero(np.isin(self.owners, list(events)))

    def each(self, values: Sequence[bool]) -> np.ndarray:
        """Return a flag for each guard from one for each event."""
        return np.array(values, dtype=bool)[self.owners]


@dataclass(frozen=True, eq=False)
class GuardTraits:
    """What is known about guards before a run: one flag for each.

    Parameters
    ----------
    directions
        -1, 0 or 1: falling, either, rising.
    ways
        The same; 0 where the guard does not interrupt the motion, or where it counts either way.
    either, recorded
        Which interrupt in either direction, and which events are only recorded.
    constant
        Which depend on values alone.
    switching, jumping
        Which are those of piecewise expressions, and which contain such expressions themselves.
    whenever
        Which count wherever they are past zero.
    barriers, moved, returns, stays, bars_start, sharp, posed
        As in `Role`.
    """

    directions: np.ndarray
    ways: np.ndarray
    either: np.ndarray
    recorded: np.ndarray
    constant: np.ndarray
    switching: np.ndarray
    jumping: np.ndarray
    whenever: np.ndarray
    barriers: np.ndarray
    moved: np.ndarray
    returns: np.ndarray
    stays: np.ndarray
    bars_start: np.ndarray
    sharp: np.ndarray
    posed: np.ndarray

    @staticmethod
    def of(
        problem: OdeProblem,
        table: GuardTable,
        roles: Sequence[Role],
        own: np.ndarray,
        switches: Collection[str],
    ) -> GuardTraits:
        """Return the traits of a problem's guards.

        Parameters
        ----------
        problem, table
            The problem, and the events of its guards.
        roles
            Of each event.
        own
            Which guards are of the motion; the others are never due.
        switches
            The names of the values of piecewise expressions, and of their events.
        """
        interrupting = np.array([event.then.interrupts for event in table.guarded], dtype=bool)
        directions = np.array([event.direction.value for event in table.guarded])
        t, x, p = (problem.guards.sx_in(k) for k in range(3))
        guards = problem.guards(t, x, p)
        moving = ca.which_depends(guards, ca.vertcat(t, x), 1, True)
        sides = [p[k] for k, name in enumerate(problem.values) if name in switches]
        jumping = ca.which_depends(guards, ca.vertcat(ca.SX(0, 1), *sides), 1, True)
        switching = table.each([event.name in switches for event in table.events])
        posed = table.each([role.posed for role in roles]) & own
        return GuardTraits(
            directions=directions,
            ways=np.where(interrupting & own, directions, 0),
            either=interrupting & own & (directions == 0),
            recorded=own & ~interrupting,
            constant=own & ~np.array(moving, dtype=bool),
            switching=switching,
            jumping=posed & ~switching & np.array(jumping, dtype=bool),
            whenever=table.each([event.then.counts_past for event in table.events]),
            barriers=table.each([role.barrier for role in roles]),
            moved=table.each([role.moved for role in roles]),
            returns=table.each([role.returns for role in roles]),
            stays=table.each([role.stays for role in roles]),
            bars_start=table.each([role.bars_start for role in roles]),
            sharp=table.each([role.sharp for role in roles]),
            posed=posed,
        )


@dataclass(frozen=True, eq=False, slots=True)
class Readings:
    """Guards at a place of the motion.

    Parameters
    ----------
    time, state, p
        Where: s, the bytes of the state, and the values.
    values, rates
        The guards and their rates, a moment later where one at zero or past it has none.
    first
        Their rates there.
    near
        Those that are not well inside, in their order: few, which are looked at one by one.
    """

    time: float
    state: bytes
    p: np.ndarray
    values: np.ndarray
    rates: np.ndarray
    first: np.ndarray
    near: list[int]
