"""What a run gives back: samples, reactions, outputs, drift, events, and how it ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from daesolve.archive import NotARunError, Stored
from daesolve.errors import MissingPackageError, OutOfRangeError, unknown_name

if TYPE_CHECKING:
    import pandas
    import xarray


class Outcome(Enum):
    """How a run ended; the value is its name in JSON."""

    COMPLETED = "completed"
    STOPPED_BY_EVENT = "stopped_by_event"
    INTERRUPTED = "interrupted"
    DEGENERATE = "degenerate"
    FAILED = "failed"

    @property
    def good(self) -> bool:
        """Whether the run ended where it was meant to."""
        return self in (Outcome.COMPLETED, Outcome.STOPPED_BY_EVENT)


@dataclass(frozen=True)
class StepBlock:
    """Accepted steps in the order of integration: the time and state at the end of each.

    Parameters
    ----------
    times
        (k,)
    states
        (k, size)
    """

    times: np.ndarray
    states: np.ndarray


@dataclass(frozen=True)
class Drift:
    """How far a residual was from zero, over every accepted step of the integration.

    Parameters
    ----------
    driven
        Whether errors were fed back; then a small residual proves nothing about the rest.
    max_abs, max_relative, final_relative
        The largest and the last |residual|, as it is and over the scale.
    scale
        What counts as one.
    correction
        The integral of |rate * residual| over time, over the scale: how much feedback it took.
    growth_exponent
        The slope, in log-log, of the root mean square per bin over the last two decades of time;
        None where the residual is at rounding level or the run too short.
    note
        What a reader should know.
    history
        Pairs (elapsed time in s, root mean square over the scale), ten bins a decade of time.
    """

    driven: bool
    max_abs: float
    max_relative: float
    final_relative: float
    scale: float
    correction: float
    growth_exponent: float | None
    note: str = ""
    history: tuple[tuple[float, float], ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Impact:
    """Constraints that were imposed at once.

    Parameters
    ----------
    impulses
        Of every reaction, by name; N s or N m s.
    kinetic_before, kinetic_after
        J
    carnot
        What is left of Carnot's theorem, relative to the kinetic energy before: the energy lost is
        that of the lost velocities, less the work of constraints that move or throw back.
    """

    impulses: Mapping[str, float]
    kinetic_before: float
    kinetic_after: float
    carnot: float


@dataclass(frozen=True)
class EventRecord:
    """An event that happened.

    Parameters
    ----------
    time, name
        When (s), and which.
    detail
        The state there, by name; before what the event resets.
    after
        The state and the discrete values after a reset; None where there was none.
    fired
        Which of the event's guards passed, from 0.
    impact
        What was imposed, if anything was.
    """

    time: float
    name: str
    detail: Mapping[str, float]
    after: Mapping[str, float] | None = None
    fired: tuple[int, ...] = (0,)
    impact: Impact | None = None


@dataclass(frozen=True)
class Verification:
    """A run repeated in another way.

    Parameters
    ----------
    against
        What was changed.
    difference
        The largest difference of each state over the samples.
    lyapunov_time
        The time in which small errors grow e-fold, s; None where the motion is regular, not a
        number where it ended, or touched a guard, before that could be told.
    """

    against: str
    difference: Mapping[str, float]
    lyapunov_time: float | None

    @property
    def growth(self) -> str:
        """How small errors grow: "exponential", "regular" or "unknown"."""
        if self.lyapunov_time is None:
            return "regular"
        return "unknown" if math.isnan(self.lyapunov_time) else "exponential"


@dataclass(frozen=True)
class Statistics:
    """What a run cost; `wall_seconds` is the integration without building and compiling."""

    steps: int
    rhs_evaluations: int
    compile_seconds: float
    compile_cached: bool
    wall_seconds: float
    instructions: int


@dataclass(frozen=True)
class Point:
    """The state, reactions and outputs at one time, by name."""

    time: float
    values: Mapping[str, float]

    def __getitem__(self, name: str) -> float:
        if name not in self.values:
            raise unknown_name("state, reaction or output", name, self.values)
        return self.values[name]


class Recorded(Protocol):
    """The series of a run, wherever they are: see `Samples`."""

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
        What happened.
    """

    times: np.ndarray
    states: Mapping[str, np.ndarray]
    reactions: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    events: Sequence[EventRecord] = ()


class _Columns(Mapping[str, np.ndarray]):
    """Series on disk, each read when it is asked for."""

    def __init__(self, read: Callable[[str], np.ndarray], columns: Mapping[str, str]) -> None:
        self._read, self._columns = read, columns

    def __getitem__(self, name: str) -> np.ndarray:
        return self._read(self._columns[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class StoredSamples:
    """The series of a run on disk: read when they are asked for, and not kept."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        columns = stored.manifest["columns"]
        self.states = _Columns(self._read, columns["states"])
        self.reactions = _Columns(self._read, columns["reactions"])
        self.outputs = _Columns(self._read, columns["outputs"])

    @property
    def times(self) -> np.ndarray:
        """(k,) s, in the direction of the run, or in the order in which they were listed."""
        return self._read("t")

    def _read(self, column: str) -> np.ndarray:
        values = self.stored.column(column)
        sampling = self.stored.manifest["sampling"]
        if sampling["kind"] != "times":
            return values
        times, request = np.array(sampling["times"]), self.stored.manifest["request"]
        sign = 1.0 if request["until"] >= request["start_time"] else -1.0
        order = np.argsort(sign * times, kind="stable")[: len(values)]
        # Beyond those that were listed there is the end of each stage that followed.
        return np.append(values[np.argsort(order, kind="stable")], values[len(order) :])

    @property
    def events(self) -> tuple[EventRecord, ...]:
        """What happened."""
        return self.first_events(None)

    def first_events(self, count: int | None) -> tuple[EventRecord, ...]:
        """Return the first events, or all of them."""
        columns = self.stored.manifest["event_columns"]
        return tuple(event_of_row(row, columns) for row in self.stored.events(count))

    def thinned(self, stride: int) -> Samples:
        """Return every so-many-th sample, and no events."""
        kinds = self.stored.manifest["columns"]
        columns = [kinds[kind] for kind in ("states", "reactions", "outputs")]
        wanted = ["t", *(column for named in columns for column in named.values())]
        table = self.stored.columns(wanted, every=stride)
        states, reactions, outputs = (
            {name: table[column] for name, column in named.items()} for named in columns
        )
        return Samples(table["t"], states, reactions, outputs)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A run's result.

    Parameters
    ----------
    samples
        The series, in memory or on disk: `times`, `states`, `reactions`, `outputs` and `events`
        are those of it.
    drift
        By the name of the goal (and of its hidden constraint, `contact_dot`).
    event_count
        How many events there were.
    outcome, message, end_time
        How and when it ended.
    start
        What was changed to make the start consistent: name -> (given, value).
    end_state
        The state at `end_time`, by name: the start of another run.
    units
        The unit of each state, reaction and output.
    description
        What was run: formulation, solver, rates, tolerances, parameters and notes.
    statistics, verification
        Cost, and the repeated run if there was one.
    conditioning
        By goal, the smallest grip of its reaction over every accepted step: its pivot in the
        elimination, relative to its typical size. Zero is a loss of rank.

    Examples
    --------
    `run["x"]`, `run.reactions["rod"]`, `run.drift["energy"].max_relative`, `run.at(12.5)["y_dot"]`
    """

    samples: Recorded
    drift: Mapping[str, Drift]
    event_count: int
    outcome: Outcome
    message: str
    end_time: float
    start: Mapping[str, tuple[float, float]]
    end_state: Mapping[str, float]
    units: Mapping[str, str]
    description: Mapping[str, Any]
    statistics: Statistics
    verification: Verification | None = None
    conditioning: Mapping[str, float] = field(default_factory=dict)
    _evaluate: Callable[[float], Point] | None = field(default=None, repr=False)

    @classmethod
    def from_run(cls, directory: Path | str) -> Trajectory:
        """Read a run on disk, finished or not; its samples are read when they are asked for.

        Raises
        ------
        ArchiveError
            There is no run, or it is damaged.
        """
        return _read(Stored(directory))

    @property
    def times(self) -> np.ndarray:
        """The sample times that were reached, (k,) s."""
        return self.samples.times

    @property
    def states(self) -> Mapping[str, np.ndarray]:
        """Name -> (k,) at the sample times; angles are unwrapped."""
        return self.samples.states

    @property
    def reactions(self) -> Mapping[str, np.ndarray]:
        """Name -> (k,) at the sample times."""
        return self.samples.reactions

    @property
    def outputs(self) -> Mapping[str, np.ndarray]:
        """Name -> (k,) at the sample times."""
        return self.samples.outputs

    @property
    def events(self) -> Sequence[EventRecord]:
        """What happened."""
        return self.samples.events

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the samples of a state, a reaction or an output; "t" is the time."""
        if name == "t":
            return self.times
        for series in (self.states, self.outputs, self.reactions):
            if name in series:
                return series[name]
        known = ["t", *self.states, *self.outputs, *self.reactions]
        raise unknown_name("state, reaction or output", name, known)

    def at(self, time: float) -> Point:
        """Return the point at any time of the run, integrated anew from the last boundary.

        Raises
        ------
        OutOfRangeError
            The run does not cover this time.
        """
        if self._evaluate is None:
            raise OutOfRangeError(
                "this trajectory holds samples alone and cannot be continued; "
                "daesolve.resume(DIR) gives one that can"
            )
        return self._evaluate(time)

    def thinned(self, rows: int) -> Trajectory:
        """Return the trajectory in memory with at most so many samples, evenly chosen, and events.

        Parameters
        ----------
        rows
            At least 2: the first and the last sample are always there. Of the events, the first
            ones are.
        """
        if rows < 2:
            raise OutOfRangeError(f"rows is {rows!r}, but must be >= 2")
        if isinstance(self.samples, StoredSamples):
            count = self.samples.stored.rows
            stride = _stride(count, rows)
            series = self.samples.thinned(stride)
            events = self.samples.first_events(rows)
            last = self.samples.thinned(max(count - 1, 1))
        else:
            count = len(self.times)
            stride = _stride(count, rows)
            series = _every(self.samples, slice(None, None, stride))
            events = tuple(self.events[:rows])
            last = _every(self.samples, slice(-1, None))
        if count and (count - 1) % stride:
            series = _joined(series, _every(last, slice(-1, None)))
        return replace(self, samples=replace(series, events=events))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the samples as a table: states, outputs and reactions over the time `t`.

        A reaction is called `reaction_<name>` where its name is that of a state or an output.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise MissingPackageError("pandas", "tables") from None
        columns = {**self.states, **self.outputs}
        for name, values in self.reactions.items():
            columns[f"reaction_{name}" if name in columns else name] = values
        return pandas.DataFrame(columns, index=pandas.Index(self.times, name="t"))

    def to_xarray(self) -> xarray.Dataset:
        """Return the samples as a data set over the dimension `t`, with units.

        Raises
        ------
        MissingPackageError
            xarray is not installed.
        """
        try:
            import xarray
        except ImportError:
            raise MissingPackageError("xarray", "tables") from None
        table = self.to_pandas()
        data = xarray.Dataset.from_dataframe(table)
        for name in data.data_vars:
            unit = self.units.get(str(name).removeprefix("reaction_"), "")
            data[name].attrs["units"] = self.units.get(str(name), unit)
        data["t"].attrs["units"] = "s"
        return data


def _stride(count: int, rows: int) -> int:
    """Return the step through so many samples that leaves room for the last one."""
    return max(-(-count // (rows - 1)) if count > rows else 1, 1)


def _every(samples: Recorded, part: slice) -> Samples:
    return Samples(
        samples.times[part],
        {name: values[part] for name, values in samples.states.items()},
        {name: values[part] for name, values in samples.reactions.items()},
        {name: values[part] for name, values in samples.outputs.items()},
    )


def _joined(first: Samples, second: Samples) -> Samples:
    def both(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        return {name: np.append(values, b[name]) for name, values in a.items()}

    return Samples(
        np.append(first.times, second.times),
        both(first.states, second.states),
        both(first.reactions, second.reactions),
        both(first.outputs, second.outputs),
    )


# -- on disk --------------------------------------------------------------------------------------


def row_of_event(event: EventRecord) -> dict[str, Any]:
    """Return an event as a row of a table: see `event_of_row`."""
    row: dict[str, Any] = {"t": event.time, "event": event.name, "fired": list(event.fired)}
    row |= {f"x_{name}": value for name, value in event.detail.items()}
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
        Column -> value, None where the event has none.
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
    detail = named("detail", "x") or {}
    return EventRecord(row["t"], row["event"], detail, named("after", "after"), fired, impact)


def summary_of(run: Trajectory) -> dict[str, Any]:
    """Return a trajectory without its series, for the archive."""
    return {
        "outcome": run.outcome.value,
        "message": run.message,
        "end_time": run.end_time,
        "event_count": run.event_count,
        "drift": {name: asdict(drift) for name, drift in run.drift.items()},
        "start": dict(run.start),
        "end_state": dict(run.end_state),
        "units": dict(run.units),
        "description": dict(run.description),
        "statistics": asdict(run.statistics),
        "verification": None if run.verification is None else asdict(run.verification),
        "conditioning": dict(run.conditioning),
    }


def _read(stored: Stored) -> Trajectory:
    told = stored.result
    if told is None:
        told = _unfinished(stored)
    verification = told["verification"]
    return Trajectory(
        samples=StoredSamples(stored),
        drift={name: _drift(entry) for name, entry in told["drift"].items()},
        event_count=told["event_count"],
        outcome=Outcome(told["outcome"]),
        message=told["message"],
        end_time=told["end_time"],
        start={name: (given, value) for name, (given, value) in told["start"].items()},
        end_state=told["end_state"],
        units=told["units"],
        description=told["description"],
        statistics=Statistics(**told["statistics"]),
        verification=None if verification is None else Verification(**verification),
        conditioning=told["conditioning"],
    )


def _unfinished(stored: Stored) -> Mapping[str, Any]:
    """Return what is known of a run that is under way, or was stopped, from its last checkpoint."""
    directory = str(stored.directory)
    if not stored.last:
        raise NotARunError(
            f"the run in {directory!r} has not come to the end of its first part yet: nothing can "
            "be read of it so far"
        )
    so_far = stored.checkpoint(stored.last)["so_far"]
    told = {**stored.manifest["told"], **so_far, "verification": None}
    told["description"] = {
        **told["description"],
        "notes": told["description"]["notes"] + so_far["notes"],
    }
    told["outcome"] = Outcome.INTERRUPTED.value
    told["message"] = (
        f"under way, at t = {told['end_time']:g} s so far"
        if stored.locked
        else f"not finished: what was computed up to t = {told['end_time']:g} s is kept, and "
        f"`daesolve resume {directory}` goes on"
    )
    return told


def _drift(entry: Mapping[str, Any]) -> Drift:
    history = tuple((float(time), float(value)) for time, value in entry["history"])
    return Drift(**{**entry, "history": history})
