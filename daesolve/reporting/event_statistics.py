"""What happened in a run, in few numbers: when, after what time, and what impacts took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Row = tuple[int, float, float, float]

MOST = 2000
"""So many events of a name are kept at most, evenly chosen."""


@dataclass
class Occurrences:
    """The events of one name; of those kept, a row each.

    Parameters
    ----------
    count
        How many there were.
    every
        Of so many one is kept.
    rows
        The number of an event (from 1), its time (s), the time since the one before (s), and the
        part of the kinetic energy that an impact took; NaN where there is none.
    """

    count: int = 0
    every: int = 1
    rows: list[tuple[int, float, float, float]] = field(
        default_factory=list[tuple[int, float, float, float]]
    )
    _last: float = np.nan

    def take(self, time: float, lost: float) -> None:
        """Take in the next one."""
        self.count += 1
        if (self.count - 1) % self.every == 0:
            self.rows.append((self.count, time, abs(time - self._last), lost))
        self._last = time
        if len(self.rows) > MOST:
            self.rows, self.every = self.rows[::2], 2 * self.every

    @property
    def table(self) -> np.ndarray:
        """The columns, (4, k)."""
        return np.array(self.rows).T


@dataclass
class Impacts:
    """What all impacts did together.

    Parameters
    ----------
    count
        How many there were.
    taken
        The energy that they took, J.
    carnot
        What was left of Carnot's theorem at worst, over the kinetic energy before.
    losses
        What they had taken at each of the samples, J.
    """

    count: int = 0
    taken: float = 0.0
    carnot: float = 0.0
    losses: list[float] = field(default_factory=list[float])


@dataclass(frozen=True)
class Happened:
    """The events of a run: by name, and what impacts did."""

    named: Mapping[str, Occurrences]
    impacts: Impacts


def happened(document: Mapping[str, Any]) -> Happened:
    """Return what happened in a run."""
    found = document.get("happened")
    return tally(document["events"], document["times"]) if found is None else found


def tally(events: Iterable[Mapping[str, Any]], times: Sequence[float]) -> Happened:
    """Go through events once, however many there are.

    Parameters
    ----------
    events
        As in a document, in the order in which they happened.
    times
        The sample times, in the same order.
    """
    named: dict[str, Occurrences] = {}
    impacts = Impacts()
    for event in events:
        lost, impact = np.nan, event.get("impact")
        if impact is not None:
            # A sample at the time of an impact was taken before it.
            while len(impacts.losses) < len(times) and times[len(impacts.losses)] <= event["time"]:
                impacts.losses.append(impacts.taken)
            before, after = _number(impact["kinetic_before"]), _number(impact["kinetic_after"])
            impacts.count += 1
            impacts.taken += before - after
            impacts.carnot = max(impacts.carnot, _number(impact.get("carnot", 0.0)))
            lost = (before - after) / before if before > 0.0 else np.nan
        named.setdefault(event["name"], Occurrences()).take(event["time"], lost)
    impacts.losses += [impacts.taken] * (len(times) - len(impacts.losses))
    return Happened(named, impacts)


def _number(value: float | None) -> float:
    """Return a number of a document, where none stands for what was not finite."""
    return np.nan if value is None else value
