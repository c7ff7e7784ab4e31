"""The result of a run: samples, reactions, outputs, drift, events, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daesolve.core.features import Extended, added
from daesolve.core.results.displayable import Displayable
from daesolve.core.results.trajectory.certificate import RunCertificate
from daesolve.core.results.trajectory.findings import Audit
from daesolve.core.results.trajectory.in_words import (
    audit_line,
    drift_lines,
    start_lines,
    verification_line,
)
from daesolve.core.results.trajectory.results import (
    Continuation,
    Degeneracy,
    Drift,
    EventRecord,
    Outcome,
    Peak,
    Statistics,
    TrajectoryPoint,
    Verification,
    fired_at,
)
from daesolve.core.results.trajectory.samples import (
    Recorded,
    StoredSamples,
    column_names,
    every_of,
    joined,
    stride_of,
)
from daesolve.core.results.trajectory.stored_trajectories import read_run, stored_run
from daesolve.errors import (
    OutOfRangeError,
    UnsupportedError,
    is_one_of,
    optional_package,
    suggest_names,
    unknown_name,
)

if TYPE_CHECKING:
    import pandas
    import xarray

AUDITOR = "auditor"
"""The point at which a feature adds the class whose objects audit runs."""
KINDS = {
    "drift": "residual in the drift",
    "start": "changed start value",
    "end_state": "state",
    "end_values": "discrete value",
    "units": "state, reaction or output",
    "description": "entry of the description",
    "conditioning": "goal",
    "peaks": "output",
}
"""What the names in a trajectory's dictionaries denote."""


@dataclass(frozen=True, eq=False)
class Trajectory(Extended, Displayable, point="methods of runs"):
    """A run's result.

    Parameters
    ----------
    samples
        The series, in memory or on disk; the source of `times`, `states`, `reactions`, `outputs`
        and `events`.
    drift
        The drift by the name of the goal (and of its hidden constraint, `contact_dot`).
    event_count
        How many events there were.
    outcome, message, end_time
        How and when it ended.
    start
        The changes that made the start consistent: name -> (given, value).
    end_state, end_values
        The state and the discrete values at `end_time`, by name. To continue from there, pass the
        run itself to `daesolve.solve` as `initial`: a state alone does not show which contacts are
        closed.
    units
        The unit of each state, reaction and output.
    description
        A description of the run: formulation, solver, rates, tolerances, parameters and notes.
    statistics, verification, audited, certificate
        Cost, and the repeated run, the audit and the certificate if there were any.
    conditioning
        By goal, the smallest grip of its reaction over every accepted step: its pivot in the
        elimination, relative to its typical size. Zero is a loss of rank.
    degeneracy
        Where constraints began to depend on each other, if that ended the run.
    peaks
        For each output that the system selects, its value of largest magnitude, at the ends of
        accepted steps, after resets, and where the run looked within steps.
    sources
        The papers and books of the problem.
    origin
        The case or the system that was run; None if the run comes from another process.
    auditor
        What `audit` asks; None if the run was read from disk or pickled, or nothing audits runs.

    Notes
    -----
    A trajectory can be pickled and sent to another process. It arrives without the compiled
    functions that `at` needs. For a run on disk only its directory is sent, and the samples are
    read there.

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
    end_values: Mapping[str, float]
    units: Mapping[str, str]
    description: Mapping[str, Any]
    statistics: Statistics
    verification: Verification | None = None
    audited: Audit | None = None
    certificate: RunCertificate | None = None
    conditioning: Mapping[str, float] = field(default_factory=dict[str, float])
    degeneracy: Degeneracy | None = None
    peaks: Mapping[str, Peak] = field(default_factory=dict[str, Peak])
    sources: Sequence[str] = ()
    origin: object = field(default=None, repr=False)
    auditor: Callable[[Trajectory], Audit] | None = field(default=None, repr=False)
    _evaluate: Callable[[float], TrajectoryPoint] | None = field(default=None, repr=False)
    _begin: Callable[[], Recorded | None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        suggest_names(self, **KINDS)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the compiled functions, which belong to this process."""
        return {**vars(self), "origin": None, "_evaluate": None, "_begin": None, "auditor": None}

    def __copy__(self) -> Trajectory:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Trajectory:
        held = {e.name: getattr(self, e.name) for e in fields(self) if e.name != "origin"}
        return replace(self, **{name: deepcopy(value, memo) for name, value in held.items()})

    def __repr__(self) -> str:
        pair = self.description
        return (
            f"Trajectory({pair['formulation']} with {pair['solver']}, {self.outcome.value} at "
            f"t = {self.end_time:g} s)"
        )

    def __str__(self) -> str:
        pair = self.description
        ending = f"{pair['formulation']} with {pair['solver']}: {self.outcome.value}"
        lines = [f"{ending} at t = {self.end_time:g} s", *drift_lines(self.drift)]
        lines[1:1] = start_lines(self.start, self.units)
        if self.message:
            lines.insert(1, self.message)
        if self.event_count:
            lines.append(f"events: {self.event_count}")
        if self.verification is not None:
            lines.append(verification_line(self.verification, self.units))
        if self.audited is not None:
            lines.append(audit_line(self.audited))
        if self.certificate is not None:
            lines.append(str(self.certificate))
        return "\n".join(lines)

    @classmethod
    def from_run(cls, directory: Path | str) -> Trajectory:
        """Read a run on disk, finished or not; its samples are read on demand.

        Raises
        ------
        ArchiveError
            There is no run, or it is damaged.
        """
        return cls(**read_run(stored_run(directory)))

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
        """The events."""
        return self.samples.events

    @property
    def notes(self) -> tuple[str, ...]:
        """Every automatic choice of the run, and what else a reader should know, in words."""
        return tuple(self.description.get("notes", ()))

    def __contains__(self, name: object) -> bool:
        return name == "t" or any(
            name in series for series in (self.states, self.outputs, self.reactions)
        )

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the samples of a state, a reaction or an output; "t" is the time.

        Raises
        ------
        UnknownNameError
            The name is unknown.
        """
        if is_one_of(name, ["t"]):
            return self.times
        for series in (self.states, self.outputs, self.reactions):
            if is_one_of(name, series):
                return series[name]
        known = ["t", *self.states, *self.outputs, *self.reactions]
        raise unknown_name("state, reaction or output", name, known)

    def at(self, time: float) -> TrajectoryPoint:
        """Return the point at any time of the run, integrated again from the last boundary.

        A run can begin there, `daesolve.solve(system, until, run.at(time))`: at an event, after
        what happened then.

        Raises
        ------
        OutOfRangeError
            The run does not cover this time.
        """
        if self._evaluate is None:
            raise OutOfRangeError(
                "this trajectory was read from disk or pickled, so it contains only samples: give "
                "solve the time in `at`, or store the run and use daesolve.resume(DIR); another "
                "run can begin at its end, with the trajectory itself as `initial`"
            )
        point = self._evaluate(time)
        begin = point.continuation
        place = (begin.time, begin.state, begin.values)
        return replace(point, continuation=self._continued_at(*place))

    @property
    def continuation(self) -> Continuation:
        """What a run that begins at the end of this one takes over."""
        return self._continued_at(self.end_time, self.end_state, self.end_values)

    def _continued_at(
        self, time: float, state: Mapping[str, float], values: Mapping[str, float]
    ) -> Continuation:
        """Return what a run takes over that begins at a place of this one."""
        samples = self.samples
        stored = samples.stored.directory if isinstance(samples, StoredSamples) else None
        directory = "" if stored is None else str(stored.resolve())
        sizes = {name: float(entry.max_relative) for name, entry in self.drift.items()}
        drift = {name: size for name, size in sizes.items() if np.isfinite(size)}

        def firing() -> Mapping[str, tuple[int, ...]]:
            return fired_at(samples.events, time)

        ended = (self.outcome, self.message, self.end_time, directory, drift, firing)
        return Continuation(time, state, values, *ended)

    def audit(self) -> Audit:
        """Hold the run against what was posed, with nothing of the library in between.

        The motion at nodes within each of its steps is the one that the run has kept, or the run is
        integrated again; see `daesolve.typing.Audit`.

        Raises
        ------
        OutOfRangeError
            The trajectory was read from disk or pickled.
        UnsupportedError
            Nothing audits runs.
        """
        if self.auditor is None:
            if not added(AUDITOR):
                raise UnsupportedError(
                    "the run has no audit, because no installed feature audits runs"
                )
            raise OutOfRangeError(
                "this trajectory was read from disk or pickled, so it contains only samples: audit "
                "the run where daesolve.solve or daesolve.resume returns it, or by `daesolve audit "
                "DIR`"
            )
        return self.auditor(self)

    def opening(self) -> Recorded | None:
        """Return the beginning, integrated again, with samples at and within each accepted step.

        None if the trajectory was read from disk or pickled, or resumed from a checkpoint.
        """
        return None if self._begin is None else self._begin()

    def thinned(self, rows: int) -> Trajectory:
        """Return the trajectory in memory with at most so many samples, evenly chosen, and events.

        Parameters
        ----------
        rows
            At least 2: the first and the last sample are always kept, and the first events.
        """
        if not isinstance(rows, int) or rows < 2:
            raise OutOfRangeError(f"rows is {rows!r}, but must be >= 2")
        if isinstance(self.samples, StoredSamples):
            count = self.samples.stored.rows
            stride = stride_of(count, rows)
            series = self.samples.thinned(stride)
            events = self.samples.first_events(rows)
            last = self.samples.thinned(max(count - 1, 1))
        else:
            count = len(self.times)
            stride = stride_of(count, rows)
            series = every_of(self.samples, slice(None, None, stride))
            events = tuple(self.events[:rows])
            last = every_of(self.samples, slice(-1, None))
        if count and (count - 1) % stride:
            series = joined(series, every_of(last, slice(-1, None)))
        return replace(self, samples=replace(series, events=events))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the samples as a table: states, outputs and reactions over the time `t`.

        A reaction is called `reaction_<name>`, as in the files of a run.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        pandas = optional_package("pandas", "tables")
        samples = self.samples
        if isinstance(samples, StoredSamples):
            samples = samples.thinned(1)
        columns = {
            column: getattr(samples, kind)[name]
            for kind, named in self._columns().items()
            for name, column in named.items()
        }
        return pandas.DataFrame(columns, index=pandas.Index(samples.times, name="t"))

    def to_xarray(self) -> xarray.Dataset:
        """Return the samples as a data set over the dimension `t`, with units.

        Raises
        ------
        MissingPackageError
            xarray is not installed.
        """
        xarray = optional_package("xarray", "tables")
        table = self.to_pandas()
        data = xarray.Dataset.from_dataframe(table)
        for named in self._columns().values():
            for name, column in named.items():
                data[column].attrs["units"] = self.units.get(name, "")
        data["t"].attrs["units"] = "s"
        return data

    def _columns(self) -> dict[str, dict[str, str]]:
        """Return the column of each series in tables by its name, by kind."""
        named = column_names(self.states, self.outputs, self.reactions)
        return {kind: named[kind] for kind in ("states", "outputs", "reactions")}


# -- on disk --------------------------------------------------------------------------------------


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
        "end_values": dict(run.end_values),
        "units": dict(run.units),
        "description": dict(run.description),
        "statistics": asdict(run.statistics),
        "verification": None if run.verification is None else asdict(run.verification),
        "audit": None if run.audited is None else run.audited.as_json(),
        "conditioning": dict(run.conditioning),
        "degeneracy": None if run.degeneracy is None else asdict(run.degeneracy),
        "peaks": {name: asdict(peak) for name, peak in run.peaks.items()},
    }


_latest: list[tuple[Mapping[str, Any], Sequence[str]]] = []
"""Description and sources of the last run of this process; its samples are not kept."""


def remember_latest(run: Trajectory) -> Trajectory:
    """Return a run and remember it as the latest."""
    _latest[:] = [(run.description, run.sources)]
    return run


def latest() -> tuple[Mapping[str, Any], Sequence[str]] | None:
    """Return the description and the sources of the last run; None if there was none."""
    return _latest[-1] if _latest else None
