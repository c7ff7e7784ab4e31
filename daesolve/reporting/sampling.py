"""Judges whether samples resolve the motion, and how to draw them if they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daesolve.core.results.trajectory.curves import (
    FEWEST,
    Series,
    at_rest,
    joinable,
    ordered,
    turning_points,
)
from daesolve.errors import PosingError
from daesolve.multibody.drawing import Column

Document = Mapping[str, Any]
"""A run as `document` returns it."""

MOST_TURNS = 200
"""Turning points that a wide panel can show as a line."""
SEEN = 1e-3
"""A point moves visibly if it moves more than this fraction of its whole path."""
MOST_EVENTS = 2000
"""The most events of a name that are kept, evenly chosen."""


def series(document: Document, kind: str) -> dict[str, Series]:
    """Return the series of a kind: "states", "reactions" or "outputs"."""
    return in_order(document, document, kind)


def in_order(document: Document, part: Document, kind: str) -> dict[str, Series]:
    """Return the series of a part of a run, in the order of the integration."""
    until, start = document.get("until") or 0.0, document.get("start_time", 0.0)
    return ordered(part["times"], part[kind], backwards=until < start)


def visible_turns(values: np.ndarray) -> int:
    """Count the samples at which a series turns back as far as can be seen; none at rest."""
    return 0 if at_rest(values) else turning_points(values, SEEN)


def columns(document: Document, own: Mapping[str, Column] | None = None) -> dict[str, Series]:
    """Return every series of a run by name, and the time as "t".

    Parameters
    ----------
    document
        Of a run.
    own
        Further series, one value for each of the run's times.

    Raises
    ------
    PosingError
        A further series is shorter or longer.
    """
    for name, column in (own or {}).items():
        if len(column) != len(document["times"]):
            raise PosingError(
                f"the drawing's own series {name!r} has {len(column)} values for "
                f"{len(document['times'])} times"
            )
    kinds = ("reactions", "outputs", "states")
    every = {name: column for kind in kinds for name, column in document[kind].items()}
    return series({**document, "every": {"t": document["times"], **every, **(own or {})}}, "every")


def resolved(document: Document) -> bool:
    """Return whether the samples are dense enough to be joined by a line."""
    states = series(document, "states").values()
    return len(document["times"]) >= FEWEST and joinable(list(states))


def beginnings(document: Document, kind: str) -> dict[str, Series]:
    """Return the first stretch of series, where it has samples that can be joined by lines.

    It is the `opening` of a run of which the document has not every sample, else the run itself.
    """
    part = document.get("opening") or document
    states = list(in_order(document, part, "states").values())
    if len(part["times"]) < FEWEST or not joinable(states):
        return {}
    return in_order(document, part, kind)


def envelope(entry: Series, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return edges (k + 1,) of equal spans of time and the least and largest sample in each (k,).

    Parameters
    ----------
    entry
        The samples.
    bins
        How many spans; those without a sample have NaN.
    """
    low, high = float(entry.times.min()), float(entry.times.max())
    edges = np.linspace(low, high, bins + 1)
    place = np.clip(np.searchsorted(edges, entry.times, side="right") - 1, 0, bins - 1)
    least, largest = np.full(bins, np.inf), np.full(bins, -np.inf)
    finite = np.isfinite(entry.values)
    np.minimum.at(least, place[finite], entry.values[finite])
    np.maximum.at(largest, place[finite], entry.values[finite])
    empty = least > largest
    least[empty] = largest[empty] = np.nan
    return edges, least, largest


@dataclass
class NamedEvents:
    """The events of one name; of those kept, a row each.

    Parameters
    ----------
    count
        How many there were.
    every
        Of so many one is kept.
    rows
        The number of an event (from 1), its time (s), the time since the one before (s), and the
        part of the kinetic energy that an impact took; NaN if there is none.
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
        if len(self.rows) > MOST_EVENTS:
            self.rows, self.every = self.rows[::2], 2 * self.every

    @property
    def table(self) -> np.ndarray:
        """The columns, (4, k)."""
        return np.array(self.rows).T


@dataclass
class ImpactTotals:
    """The sums over all impacts.

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
class EventStatistics:
    """The events of a run: by name, and what impacts did."""

    named: Mapping[str, NamedEvents]
    impacts: ImpactTotals


def event_statistics(document: Mapping[str, Any]) -> EventStatistics:
    """Return the events of a run."""
    found = document.get("event_statistics")
    return tally(document["events"], document["times"]) if found is None else found


def tally(events: Iterable[Mapping[str, Any]], times: Sequence[float]) -> EventStatistics:
    """Go through events once, however many there are.

    Parameters
    ----------
    events
        As in a document, in the order in which they happened.
    times
        The sample times, in the same order.
    """
    named: dict[str, NamedEvents] = {}
    impacts = ImpactTotals()
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
        named.setdefault(event["name"], NamedEvents()).take(event["time"], lost)
    impacts.losses += [impacts.taken] * (len(times) - len(impacts.losses))
    return EventStatistics(named, impacts)


def _number(value: float | None) -> float:
    """Return a number of a document, in which None means not finite."""
    return np.nan if value is None else value
