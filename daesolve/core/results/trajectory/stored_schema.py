"""The contents of a run's JSON files: its manifest, its checkpoints, its result.

This module imports pydantic, so it is imported only when a run is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, Strict

from daesolve.core.results.storage.schema import (
    Count,
    Finite,
    Flag,
    Number,
    StoredRecord,
    Word,
    fault,
    record_of,
)
from daesolve.core.results.trajectory.findings import Finding
from daesolve.core.results.trajectory.results import (
    Degeneracy,
    Drift,
    Outcome,
    Peak,
    Statistics,
    Verification,
)

Positive = Annotated[float, Strict(), Field(gt=0.0)]
Ending = Literal[
    "completed", "stopped_by_event", "interrupted", "degenerate", "contradicted", "failed"
]
assert {outcome.value for outcome in Outcome} == set(get_args(Ending))
Plain = Flag | Annotated[int, Strict()] | Number | Word
Changes = dict[str, tuple[Number, Number]]

if TYPE_CHECKING:  # models are made of the dataclasses when the program runs
    OfDrift = OfPeak = OfStatistics = OfVerification = OfDegeneracy = OfFinding = dict[str, Any]
else:
    OfDrift, OfPeak = record_of(Drift), record_of(Peak)
    OfStatistics = record_of(Statistics, steps=Count, rhs_evaluations=Count)
    OfVerification, OfDegeneracy = record_of(Verification), record_of(Degeneracy)
    OfFinding = record_of(Finding, verdict=Literal["holds", "contradicted", "not checked"])


class NamedSettings(StoredRecord):
    """A solver or a formulation."""

    name: Word
    settings: dict[str, Any]


class CaseChanges(StoredRecord):
    """The changes to a case."""

    set: dict[str, Any] = Field(default={})
    initial: dict[str, Number] = Field(default={})
    usual: dict[str, Any] = Field(default={})


class Identity(StoredRecord):
    """The identity of a run for the report."""

    problem: Word | None = None
    case: Word | None = None
    model: Word | None = None
    structure: dict[str, Plain] = Field(default={})
    path: Word | None = None
    asked: CaseChanges = CaseChanges()
    parameter_units: dict[str, Word] = Field(default={})


class Source(StoredRecord):
    """How to pose the system again."""

    problem: Word
    path: Word | None
    digest: Word | None = None
    papers: list[Word] | None = None
    model: Word
    structure: dict[str, Plain]


class Asking(StoredRecord):
    """The request, whose fields beyond these have the types of `Request`."""

    until: Finite
    start_time: Finite
    initial: dict[str, Finite]
    guess: dict[str, Finite]
    parameters: dict[str, Finite]
    formulation: NamedSettings | None
    solver: NamedSettings | None
    inputs: dict[str, dict[str, Any]] = Field(default={})


class Even(StoredRecord):
    """Samples at an interval."""

    kind: Literal["every"]
    interval: Positive


class AtEvents(StoredRecord):
    """Samples at events."""

    kind: Literal["events"]


class AtTimes(StoredRecord):
    """Samples at times that were listed."""

    kind: Literal["times"]
    times: list[Finite]


Sampling = Annotated[Even | AtEvents | AtTimes, Field(discriminator="kind")]


Exponent = Annotated[int, Strict()]


class Exponents(StoredRecord):
    """The powers of two by which states and time are divided for the solver."""

    states: list[Exponent]
    visible: list[Exponent]
    unknowns: list[Exponent]
    rows: list[Exponent]
    time: Exponent


class Resolved(StoredRecord):
    """What was decided before the first step."""

    values: list[Number]
    scales: list[Number]
    segment: Positive
    wrapped: list[Count]
    surplus: list[Any]
    scaling: Exponents
    start: list[Finite]
    path: list[Any]
    solver: NamedSettings
    equations: Word


class Columns(StoredRecord):
    """The column of each series by its name."""

    states: dict[str, Word]
    outputs: dict[str, Word]
    reactions: dict[str, Word]
    residuals: dict[str, Word]


class EventColumns(StoredRecord):
    """The names under which events have numbers."""

    detail: list[Word]
    after: list[Word]
    impulses: list[Word]
    energies: list[Word] = Field(default=[])


class Continued(StoredRecord):
    """Which run another one continues, and from when."""

    directory: Word
    time: Finite
    end_time: Finite
    outcome: Ending
    message: Word
    drift: dict[str, Number] = Field(default={})
    fired: dict[str, list[int]] = Field(default={})


class Description(StoredRecord):
    """What was run."""

    formulation: Word
    solver: Word
    rates: dict[str, Number | None]
    tolerances: dict[str, Number | None]
    parameters: dict[str, Number]
    notes: list[Word]
    start_time: Finite = 0.0
    until: Finite = 0.0
    derived: dict[str, Number] = Field(default={})
    impact: Word | None = None
    inputs: list[Word] = Field(default=[])
    continues: Continued | None = None


class BeforeTheRun(StoredRecord):
    """What is known about a run before its first step."""

    start: Changes
    units: dict[str, Word]
    description: Description


class Manifest(StoredRecord):
    """`manifest.json`."""

    columns: Columns
    event_columns: EventColumns
    horizons: Annotated[list[Finite], Field(min_length=1)]
    request: Asking
    resolved: Resolved
    sampling: Sampling
    segments_per_part: Annotated[list[Annotated[int, Strict(), Field(ge=1)]], Field(min_length=1)]
    told: BeforeTheRun
    identity: Identity
    source: Source | None
    derived: list[Word]
    verify: Flag | Word | NamedSettings
    versions: dict[str, Word]
    processor: Word
    remarks: list[Word] = Field(default=[])


class Ended(StoredRecord):
    """What is known about a run at the end of a part."""

    end_time: Finite
    end_state: dict[str, Number]
    end_values: dict[str, Number]
    event_count: Count
    drift: dict[str, OfDrift]
    conditioning: dict[str, Number]
    peaks: dict[str, OfPeak] = Field(default={})
    statistics: OfStatistics


class SoFar(Ended):
    """The same while it is running."""

    notes: list[Word]


class Audited(StoredRecord):
    """A run held against what was posed."""

    holds: Flag
    findings: list[OfFinding]
    left_out: Word


class Result(Ended):
    """`result.json`."""

    outcome: Ending
    message: Word
    verification: OfVerification | None
    audit: Audited | None = None
    start: Changes
    units: dict[str, Word]
    description: Description
    degeneracy: OfDegeneracy | None = None
    parts: Count = 0


class StoredBoundary(StoredRecord):
    """A boundary."""

    time: Finite
    state: list[Number]
    turns: list[Annotated[int, Strict()]]
    values: list[Number]


class Sizes(StoredRecord):
    """A file of a part."""

    rows: Count
    bytes: Count


class Files(StoredRecord):
    """The files of a part."""

    samples: Sizes
    events: Sizes | None


class Checkpoint(StoredRecord):
    """`checkpoints/NUMBER.json`."""

    files: Files
    here: StoredBoundary
    before: StoredBoundary
    until: Finite
    segments: Count
    taken: Count
    steps: Count
    rhs_evaluations: Count
    wall_seconds: Finite
    tally: dict[str, Number]
    recent: list[tuple[Word, Finite, list[Count]]]
    monitor: dict[str, Any]
    transitions: dict[str, Any] | None
    instant: tuple[Number, Annotated[int, Strict()]]
    ahead: tuple[Number, Number]
    effort: list[Any]
    ended: tuple[Ending, Word] | None
    so_far: SoFar


def fault_of(name: str, value: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a JSON file of a run, in words that follow its name.

    Parameters
    ----------
    name
        Of the file.
    value
        Its contents.
    """
    models: dict[str, type[BaseModel]] = {"manifest.json": Manifest, "result.json": Result}
    return fault(models.get(name, Checkpoint), value)
