"""Places of a motion, and its pieces between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.core.interruptions import interruption_left
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.record import Happening, RunRecord
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.integration.simulation import simulate


@dataclass(frozen=True, eq=False)
class Node:
    """A place of a motion: time in s, state (n,) with whole turns, values (np,) in force."""

    time: float
    x: np.ndarray
    p: np.ndarray


@dataclass(frozen=True, eq=False)
class Passage:
    """The end of a motion at an event: its name, and the number of the passage."""

    event: str
    count: int = 1


@dataclass(frozen=True, eq=False)
class Flight:
    """A piece of a motion.

    Parameters
    ----------
    prepared, record, run
        The prepared run, its record, and the run.
    start, end
        The first and the last place.
    stop
        The event at which it ends; None if it ends at a time.
    closing
        The last event that belongs to it, if its record goes on beyond.
    bends
        The events at which only the expression of the rates changes, not their values.
    """

    prepared: Prepared
    record: RunRecord
    run: Trajectory
    start: Node
    end: Node
    stop: Happening | None = None
    closing: Happening | None = None
    bends: tuple[Happening, ...] = ()

    @property
    def happened(self) -> list[Happening]:
        """The events on the way, including those at its end."""
        if self.closing is None:
            return list(self.record.events)
        last = next(k for k, event in enumerate(self.record.events) if event is self.closing)
        return self.record.events[: last + 1]

    @property
    def changing(self) -> list[Happening]:
        """The events that change something, in order."""
        return [e for e in self.happened if e.after is not None and e not in self.bends]

    def values_at(self, time: float) -> np.ndarray:
        """Return the values in force at a time."""
        places = [place for place in self.record.boundaries if place.time <= time]
        return self.record.modes[places[-1].mode]

    @property
    def sequence(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The events that change something, in order: name and guards."""
        return tuple((e.name, e.fired) for e in self.changing)


def flown(prepared: Prepared, at: At = None) -> Trajectory:
    """Run a prepared request.

    Raises
    ------
    KeyboardInterrupt
        The run was interrupted: a part of it is not an answer.
    """
    run = simulate(prepared, at)
    check_not_interrupted(run)
    return run


def check_not_interrupted(run: Trajectory) -> None:
    """Raise KeyboardInterrupt if a run was interrupted, even if it finished nevertheless."""
    if interruption_left() or run.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt


def last_within(record: RunRecord, time: float, least: float) -> Happening | None:
    """Return the last event that changes something within a tiny time; None if there is none."""
    events = [e for e in record.events if e.after is not None and abs(e.time - time) <= least]
    return events[-1] if events else None
