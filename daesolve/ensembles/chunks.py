"""The work of a worker: it keeps the problem, and runs members of a sweep."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any, cast

import numpy as np

from daesolve.core.results.trajectory.results import Outcome, Verification
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.solving.descriptions import versions
from daesolve.core.run.solving.early_ends import reported_otherwise
from daesolve.ensembles.batches import run_batch, run_in_lanes
from daesolve.ensembles.members import member_case
from daesolve.ensembles.posed_here import unpacked
from daesolve.errors import (
    DaesolveError,
    MissingPackageError,
    ModelFileError,
    PluginError,
    in_words,
)
from daesolve.plugins import registry
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.foreign import called
from daesolve.plugins.registry import Problem, digest_of

Chunk = Sequence[tuple[int, Mapping[str, Any]]]
"""The numbers of some members, and their values by name."""


@dataclass(frozen=True)
class SweepTask:
    """What all members of a sweep share, as sent to workers.

    Parameters
    ----------
    problem, digest, posed
        The name of an installed problem; the path of its file and the digest of the file; or the
        name of one that exists only in the process that sweeps, and its bytes (`posed_here`).
    case, model, structure, parameters, start, initial
        As in `daesolve.plugins.bound_case.BoundCase`.
    until
        The end of each run, s.
    at
        Sample times; None keeps none.
    options
        Of `daesolve.solve`.
    batch
        Whether members are integrated side by side; None for those that can.
    versions
        The versions that a worker must have.
    """

    problem: str
    digest: str | None
    posed: bytes | None
    case: str
    model: str
    structure: Mapping[str, Any]
    parameters: Mapping[str, float]
    start: Mapping[str, float]
    initial: Mapping[str, float]
    until: float
    at: At
    options: Mapping[str, Any]
    batch: bool | None
    versions: Mapping[str, str]


@dataclass(frozen=True)
class MemberResult:
    """The result of a member: a row of the table, and its samples by name, (k,) each."""

    row: Mapping[str, Any]
    samples: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class ChunkResults:
    """The results of a chunk, and how long it took, s."""

    results: tuple[MemberResult, ...]
    seconds: float


class WorkerError(DaesolveError, RuntimeError):
    """A worker cannot run members: it has another version, or lacks the problem."""


_one_at_a_time = threading.Lock()


def run_chunk(task: SweepTask, chunk: Chunk) -> ChunkResults:
    """Run some members in a worker, one chunk at a time because compiled code has a state.

    Raises
    ------
    WorkerError
        The worker does not fit this sweep.
    """
    with _one_at_a_time:
        begin = time.perf_counter()
        results = run_members(case_of(task), task, chunk)
        return ChunkResults(results, time.perf_counter() - begin)


def run_members(case: BoundCase, task: SweepTask, chunk: Chunk) -> tuple[MemberResult, ...]:
    """Run some members of a case.

    Raises
    ------
    KeyboardInterrupt
        A run was interrupted.
    """
    with reported_otherwise():
        if task.batch is not False:
            return _side_by_side(case, task, chunk)
        return tuple(_alone(case, task, number, values) for number, values in chunk)


def _alone(
    case: BoundCase, task: SweepTask, number: int, values: Mapping[str, Any]
) -> MemberResult:
    try:
        chosen = member_case(case, values)
        run = chosen.solve(task.until, at=_times(case, task), **task.options)
        return _result(task, chosen, number, values, run)
    except Exception as error:
        return _refused(number, values, error)


def _side_by_side(case: BoundCase, task: SweepTask, chunk: Chunk) -> tuple[MemberResult, ...]:
    """Run members as a batch; each on its own where one of them breaks it."""
    try:
        members = [values for _, values in chunk]
        run = run_in_lanes if task.batch is None else run_batch
        found = run(case, members, task.until, at=_times(case, task), **task.options)
    except Exception as error:
        if len(chunk) == 1:
            return (_refused(*chunk[0], error),)
        return tuple(result for one in chunk for result in _side_by_side(case, task, [one]))
    return tuple(
        _refused(number, values, run)
        if isinstance(run, Exception)
        else _result(task, member_case(case, values), number, values, run)
        for (number, values), run in zip(chunk, found, strict=True)
    )


def _times(case: BoundCase, task: SweepTask) -> At:
    """Return the sample times of a member; measurements of a run always need some."""
    return [] if task.at is None and not case.problem.measures else task.at


def _refused(number: int, values: Mapping[str, Any], error: Exception) -> MemberResult:
    if isinstance(error, PluginError) and error.__cause__ is not None:
        return failure(number, values, in_words(error.__cause__))
    said = str(error) if isinstance(error, DaesolveError) else in_words(error)
    return failure(number, values, said)


def _result(
    task: SweepTask, case: BoundCase, number: int, values: Mapping[str, Any], run: Trajectory
) -> MemberResult:
    repeated = run.verification
    if run.outcome is Outcome.INTERRUPTED or (repeated is not None and repeated.interrupted):
        raise KeyboardInterrupt
    measured = {
        name: _number(f"the measure {name!r}", called(f"the measure {name!r}", m.rule, case, run))
        for name, m in case.problem.measures.items()
    }
    return result_of(number, values, run, measured, sampled=task.at is not None)


def _number(what: str, found: object) -> float:
    if not isinstance(found, Real | np.ndarray):
        raise PluginError(f"{what} must return a number, not {type(found).__name__}")
    try:
        return float(cast(Any, found))
    except (TypeError, ValueError):
        raise PluginError(f"{what} must return a number, not {found!r}") from None


def failure(number: int, values: Mapping[str, Any], message: str) -> MemberResult:
    """Return the record of a member without a result."""
    row = {"member": number, **over_columns(values)}
    return MemberResult(row | {"outcome": Outcome.FAILED.value, "message": message}, {})


def result_of(
    number: int,
    values: Mapping[str, Any],
    run: Trajectory,
    measured: Mapping[str, float],
    *,
    sampled: bool,
) -> MemberResult:
    """Return the record of a member's run.

    Parameters
    ----------
    number, values
        The member.
    run
        Its run.
    measured
        What was measured on it, by name.
    sampled
        Whether its samples are kept.
    """
    end = run.at(run.end_time)
    row = {
        "member": number,
        **over_columns(values),
        "outcome": run.outcome.value,
        "message": run.message,
        "notes": "; ".join(run.description["notes"]),
        "end_time": run.end_time,
        "event_count": run.event_count,
        "steps": run.statistics.steps,
        "rhs_evaluations": run.statistics.rhs_evaluations,
        "wall_seconds": run.statistics.wall_seconds,
        "compile_seconds": run.statistics.compile_seconds,
    }
    row |= {f"end_{name}": value for name, value in run.end_state.items()}
    row |= {f"end_{name}": end[name] for name in run.outputs}
    for name, drift in run.drift.items():
        row[f"max_relative_{name}"] = drift.max_relative
        row[f"final_relative_{name}"] = drift.final_relative
    row |= {f"{PEAK}{name}": abs(peak.value) for name, peak in run.peaks.items()}
    row |= {f"{MEASURE}{name}": float(value) for name, value in measured.items()}
    if run.verification is not None:
        row |= _verified(run.verification)
    kept = sampled and len(run.times)
    samples = {"t": run.times, **run.states, **run.outputs} if kept else {}
    return MemberResult(row, samples)


def _verified(found: Verification) -> dict[str, Any]:
    """Return the findings of a repetition; a regular motion has no Lyapunov time."""
    differences = {f"{DIFFERENCE}{name}": value for name, value in found.difference.items()}
    return {AGAINST: found.against, "lyapunov_time": found.lyapunov_time, **differences}


FIXED = {
    "member": "int64",
    "outcome": "string",
    "message": "string",
    "notes": "string",
    "end_time": "double",
    "event_count": "int64",
    "steps": "int64",
    "rhs_evaluations": "int64",
    "wall_seconds": "double",
    "compile_seconds": "double",
    "verified_against": "string",
    "lyapunov_time": "double",
}
"""The columns besides a sweep's own, which are doubles; the last two if members are verified."""
PEAK, MEASURE, DIFFERENCE, AGAINST = "peak_", "measure_", "difference_", "verified_against"
OWN = ("end_", "max_relative_", "final_relative_", PEAK, MEASURE, DIFFERENCE)


def over_column(name: str) -> str:
    """Return the column of a varied value: its name, unless results have a column of that name."""
    return f"over_{name}" if name in FIXED or name.startswith(OWN) else name


def over_columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the varied values by column."""
    return {over_column(name): value for name, value in values.items()}


@lru_cache(maxsize=1)
def computing_versions() -> dict[str, str]:
    """Return the versions of all packages on which the digits of a result depend."""
    return {name: found for name, found in versions().items() if name != "python"}


def check_worker(task: SweepTask) -> None:
    """Refuse to work with versions or a problem other than those of the sweep.

    Raises
    ------
    WorkerError
        The message names what differs.
    """
    here = computing_versions()
    for package in {**task.versions, **here}:
        asked, found = task.versions.get(package, "none"), here.get(package, "none")
        if asked != found:
            raise WorkerError(
                f"a worker on {platform.node()} has {package} {found}, but the sweep was "
                f"started with {asked}: install the same versions everywhere"
            )
    _problem(task.problem, task.digest, task.posed)


def case_of(task: SweepTask) -> BoundCase:
    """Return the case of a task, on a worker.

    Raises
    ------
    WorkerError
        The worker has other versions, or lacks the problem.
    """
    check_worker(task)
    case = _problem(task.problem, task.digest, task.posed).case(task.case, model=task.model)
    return replace(
        case,
        structure=task.structure,
        parameters=task.parameters,
        start=task.start,
        initial=task.initial,
    )


@lru_cache(maxsize=4)
def _problem(name: str, digest: str | None, posed: bytes | None) -> Problem:
    """Load a problem once: its systems, and the code compiled for them, are kept with it."""
    if posed is not None:
        return unpacked(posed)
    try:
        if digest is None:
            return registry.installed(name)
        if digest_of(Path(name)) != digest:
            raise WorkerError(
                f"a worker on {platform.node()} has a different file {name}: give each "
                "worker the same file"
            )
        return registry.of_file(Path(name), digest)
    except (OSError, PluginError, LookupError, ModelFileError, MissingPackageError) as error:
        raise WorkerError(
            f"a worker on {platform.node()} does not have the problem {name!r}: {error}"
        ) from error
