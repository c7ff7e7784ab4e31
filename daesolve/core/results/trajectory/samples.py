"""The series of a run, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from daesolve.core.results.storage import Stored
from daesolve.core.results.trajectory.results import EventRecord, Impact
from daesolve.errors import suggest_names, unknown_name


class Recorded(Protocol):
    """The series of a run, in memory or on disk; see `Samples`."""

    @property
    def times(self) -> np.ndarray: ...  # noqa: D102
    @property
    def states(self) -> Mapping[str, np.ndarray]: ...  # noqa: D102
    @property
    def reactions(self) -> Mapping[str, np.ndarray]: ...  # noqa: D102
    @property
    def outputs(self) -> Mapping[str, np.ndarray]: ...  # noqa: D102
    @property
    def events(self) -> Sequence[EventRecord]: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Samples:
    """The series of a run in memory.

    Parameters
    ----------
    times
        (k,) s
    states, reactions, outputs
        Name -> (k,).
    events
        The events.
    """

    times: np.ndarray
    states: Mapping[str, np.ndarray]
    reactions: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    events: Sequence[EventRecord] = ()

    def __post_init__(self) -> None:
        suggest_names(self, states="state", reactions="reaction", outputs="output")


class _Columns(Mapping[str, np.ndarray]):
    """Series on disk, each read when it is requested."""

    def __init__(
        self, read: Callable[[str], np.ndarray], columns: Mapping[str, str], kind: str
    ) -> None:
        self._read, self._columns, self._kind = read, columns, kind

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._columns:
            raise unknown_name(self._kind, name, self._columns)
        return self._read(self._columns[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class StoredSamples:
    """The series of a run on disk, read on demand and not kept."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        columns = stored.manifest["columns"]
        self.states = _Columns(self._read, columns["states"], "state")
        self.reactions = _Columns(self._read, columns["reactions"], "reaction")
        self.outputs = _Columns(self._read, columns["outputs"], "output")

    def __repr__(self) -> str:
        return f"StoredSamples({str(self.stored.directory)!r}, {self.stored.rows} rows)"

    @property
    def times(self) -> np.ndarray:
        """(k,) s, in the direction of the run, or in the order of the list of times."""
        return self._read("t")

    def _read(self, column: str) -> np.ndarray:
        values = self.stored.column(column)
        sampling = self.stored.manifest["sampling"]
        if sampling["kind"] != "times":
            return values
        request = self.stored.manifest["request"]
        sign = 1.0 if request["until"] >= request["start_time"] else -1.0
        times = values if column == "t" else self.stored.column("t")
        return values[places_as_listed(times, np.array(sampling["times"]), sign)]

    @property
    def events(self) -> tuple[EventRecord, ...]:
        """The events."""
        return self.first_events(None)

    def first_events(self, count: int | None) -> tuple[EventRecord, ...]:
        """Return the first events, or all of them."""
        columns = self.stored.manifest["event_columns"]
        return tuple(event_of_row(row, columns) for row in self.stored.events(count))

    def thinned(self, stride: int) -> Samples:
        """Return every n-th sample, and no events."""
        if self.stored.manifest["sampling"]["kind"] == "times":  # they are in an order of their own
            return every_of(self, slice(None, None, stride))
        kinds = self.stored.manifest["columns"]
        columns = [kinds[kind] for kind in ("states", "reactions", "outputs")]
        wanted = ["t", *(column for named in columns for column in named.values())]
        table = self.stored.columns(wanted, every=stride)
        states, reactions, outputs = (
            {name: table[column] for name, column in named.items()} for named in columns
        )
        return Samples(table["t"], states, reactions, outputs)


def places_as_listed(times: np.ndarray, listed: np.ndarray, sign: float) -> np.ndarray:
    """Return where the samples are, in the order in which their times were listed.

    Behind them come the samples of times that were not listed: the end of a run that did not reach
    them all, and of each stage by which it was extended.

    Parameters
    ----------
    times
        (k,) of the samples, in the direction of the run.
    listed
        (n,) those requested.
    sign
        +1 forwards in time, -1 backwards.
    """
    order = np.argsort(sign * listed, kind="stable")
    count = min(len(times), len(order))
    other = np.flatnonzero(times[:count] != listed[order[:count]])
    reached = int(other[0]) if other.size else count
    return np.append(np.argsort(order[:reached], kind="stable"), np.arange(reached, len(times)))


def column_names(
    states: Iterable[str],
    outputs: Iterable[str],
    reactions: Iterable[str],
    residuals: Iterable[str] = (),
) -> dict[str, dict[str, str]]:
    """Return the column of each series in tables by its name, by kind; no two are alike."""
    taken = {"t"}

    def own(kind: str, names: Iterable[str], *, plain: bool) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in names:
            column = name if plain or name.startswith(f"{kind}_") else f"{kind}_{name}"
            while column in taken:
                column = f"{kind}_{column}"
            taken.add(column)
            found[name] = column
        return found

    return {
        "states": own("state", states, plain=True),
        "outputs": own("output", outputs, plain=True),
        "reactions": own("reaction", reactions, plain=False),
        "residuals": own("residual", residuals, plain=False),
    }


def row_of_event(event: EventRecord) -> dict[str, Any]:
    """Return an event as a row of a table: see `event_of_row`."""
    row: dict[str, Any] = {"t": event.time, "event": event.name, "fired": list(event.fired)}
    row |= {f"before_{name}": value for name, value in event.detail.items()}
    row |= {f"after_{name}": value for name, value in (event.after or {}).items()}
    if event.impact is not None:
        row |= {f"impulse_{name}": value for name, value in event.impact.impulses.items()}
        row["kinetic_before"] = event.impact.kinetic_before
        row["kinetic_after"] = event.impact.kinetic_after
        row["carnot"] = event.impact.carnot
    return row


def event_of_row(row: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> EventRecord:
    """Return the event of a row.

    Parameters
    ----------
    row
        Column -> value, None if the event has none.
    columns
        The names under "detail", "after" and "impulses" of an event.
    """

    def named(kind: str, prefix: str) -> dict[str, float] | None:
        values = {name: row.get(f"{prefix}_{name}") for name in columns[kind]}
        found = {name: value for name, value in values.items() if value is not None}
        return found or None

    impact = None
    if row.get("kinetic_before") is not None:
        impulses = named("impulses", "impulse") or {}
        impact = Impact(impulses, row["kinetic_before"], row["kinetic_after"], row["carnot"])
    fired = tuple(int(guard) for guard in row["fired"])
    detail = named("detail", "before") or {}
    return EventRecord(row["t"], row["event"], detail, named("after", "after"), fired, impact)


# -- fewer of them --------------------------------------------------------------------------------


def stride_of(count: int, rows: int) -> int:
    """Return the step through so many samples that leaves room for the last one."""
    return max(-(-count // (rows - 1)) if count > rows else 1, 1)


def every_of(samples: Recorded, part: slice) -> Samples:
    """Return some of the samples, and no events."""
    return Samples(
        samples.times[part],
        {name: values[part] for name, values in samples.states.items()},
        {name: values[part] for name, values in samples.reactions.items()},
        {name: values[part] for name, values in samples.outputs.items()},
    )


def joined(first: Samples, second: Samples) -> Samples:
    """Return samples one after the other."""

    def both(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        return {name: np.append(values, b[name]) for name, values in a.items()}

    return Samples(
        np.append(first.times, second.times),
        both(first.states, second.states),
        both(first.reactions, second.reactions),
        both(first.outputs, second.outputs),
    )
