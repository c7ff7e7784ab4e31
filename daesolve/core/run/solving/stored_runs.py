"""Runs that are saved to disk on the way: begun, resumed, repaired, extended.

A run restarts its integrator at whole multiples of the segment from its start, whatever happens.
A part is a whole number of segments. So a run that was killed computes its last part again from the
checkpoint before it, and has the same samples, events and drift as an uninterrupted one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.formulations import Formulation, OdeProblem
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.preparation.request import Request
from daesolve.core.results.storage import Stored, Writer, resuming
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.samples import column_names
from daesolve.core.results.trajectory.stored_trajectories import stored_run
from daesolve.core.results.trajectory.trajectory import Trajectory, summary_of
from daesolve.core.run.integration.assembly import describe
from daesolve.core.run.integration.checkpoints import Keeper, event_columns, segments_per_part
from daesolve.core.run.integration.run_options import By
from daesolve.core.run.integration.sampling import (
    DEFAULT_SAMPLES,
    MOST_SAMPLES,
    At,
    Every,
    EveryEvent,
    restored_sampling,
    saved_sampling,
)
from daesolve.core.run.integration.simulation import Progress, simulate_stored
from daesolve.core.run.solving.descriptions import Made, described, processor, restored, versions
from daesolve.core.run.solving.repetition import verifier
from daesolve.core.run.solving.stored_opening import keep_opening
from daesolve.core.solvers import Solver
from daesolve.core.solvers.scaling import Scaling
from daesolve.errors import NotResumableError, OutOfRangeError, StorageError, Tell, is_number

VERIFIED_ROWS = 10_001
"""The most samples of a stored run at which its repetition is compared."""


@dataclass(frozen=True)
class Destination:
    """Where to store a run, and what is known about it besides its numbers.

    Parameters
    ----------
    directory
        It must be new or empty.
    identity
        Its identity for the report.
    source
        How to pose its system again: problem, path, model and structure. None if unknown; then the
        system must be given to resume the run.
    derived
        The names of parameters that follow from others.
    """

    directory: Path
    identity: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source: Mapping[str, Any] | None = None
    derived: tuple[str, ...] = ()


def begin(
    prepared: Prepared,
    request: Request,
    at: At,
    verifying: bool | By,
    progress: Progress | None,
    destination: Destination,
) -> Trajectory:
    """Run from the start, saving to disk.

    Parameters
    ----------
    prepared, request
        The run, and its request.
    at, verifying, progress
        As in `solve`.
    destination
        Where to store the run.

    Raises
    ------
    OutputExistsError, LockedRunError, StorageError
        The directory cannot be used. A later failure to write ends the run as interrupted.
    """
    manifest = _manifest(prepared, request, at, verifying, destination)
    with Writer.create(destination.directory, manifest) as writer:
        sampling = restored_sampling(writer.manifest["sampling"])
        run = simulate_stored(prepared, sampling, progress, Keeper(writer))
        return _finished(run, prepared, writer)


def go_on(
    directory: Path | str,
    prepared: Prepared,
    until: float | None = None,
    progress: Progress | None = None,
    tell: Tell | None = None,
    remark: str | None = None,
    given: Sequence[Made] = (),
) -> Trajectory:
    """Resume a run on disk: repair damage, compute what is missing, extend it.

    Parameters
    ----------
    directory
        Of the run.
    prepared
        Prepared from the run's request; its numbers are replaced by those of the manifest.
    until
        Another end, s, beyond what is computed.
    progress
        As in `solve`.
    tell
        Called with a sentence for each damage found.
    remark
        A note to add to the run.
    given
        Solvers and formulations given by the caller, whose classes may be used.

    Raises
    ------
    NotResumableError
        The equations have changed, or the run ended for good.
    OutOfRangeError
        It already goes beyond this time.
    UnsupportedError
        It is to be verified, and nothing verifies runs.
    ArchiveError
        The directory cannot be used or read.
    """
    with Writer.open(directory) as writer:
        if tell is not None and writer.taken_over is not None:
            tell(writer.taken_over)
        if writer.manifest["verify"]:
            verifier()
        prepared = _as_begun(prepared, writer, given)
        remarks = [*writer.manifest.get("remarks", ())]
        if remark is not None and remark not in remarks:
            writer.rewrite_manifest({**writer.manifest, "remarks": [*remarks, remark]})
        at = restored_sampling(writer.manifest["sampling"])
        interrupted = _mended(stored_run(directory), prepared, writer, tell)
        if interrupted is not None:
            return interrupted
        horizons = _horizons(stored_run(directory), prepared, until)
        if horizons != list(writer.manifest["horizons"]):
            writer.remove_result()  # first: the result of the shorter run is not one of the longer
            changed = replace(prepared, until=horizons[-1])
            parts = [*writer.manifest["segments_per_part"]][: len(horizons)]
            if len(parts) < len(horizons):
                parts.append(segments_per_part(changed, _count(at, changed)))
            at = _sampling_to(at, changed)
            stages = {"horizons": horizons, "segments_per_part": parts}
            sampling = saved_sampling(at, changed.start_time, changed.until)
            writer.rewrite_manifest({**writer.manifest, **stages, "sampling": sampling})
        while True:
            stored = stored_run(directory)
            stage, keeper = _stage(stored, prepared, writer, stored.last + 1)
            ahead = replace(prepared, until=horizons[stage])
            run = simulate_stored(ahead, at, progress, keeper)
            if run.outcome is not Outcome.COMPLETED or ahead.until == horizons[-1]:
                return _finished(run, ahead, writer, given)


def keep_audit(directory: Path | str, run: Trajectory) -> None:
    """Store the audit of a finished run on disk, and how it ended by that."""
    with Writer.open(directory) as writer:
        result = stored_run(directory).result
        assert result is not None
        summary = summary_of(run)
        kept = {name: summary[name] for name in ("outcome", "message", "audit")}
        writer.write_result({**result, **kept})


def restored_request(
    saved: Mapping[str, Any], given: Sequence[Made] = (), inputs: Mapping[str, Any] | None = None
) -> Request:
    """Return the request of a manifest; `given` are formulations and solvers from Python.

    Entries of `inputs` replace those of the manifest.
    """
    formulation = restored(saved["formulation"], Formulation, given)
    solver = restored(saved["solver"], Solver, given)
    known = {entry.name for entry in fields(Request)}
    for name in saved:
        if name not in known:
            raise NotResumableError(
                f"the manifest contains {name!r}, which this version does not know: use the "
                "version that wrote it"
            )
    driving: dict[str, Any] = {**saved.get("inputs", {}), **(inputs or {})}
    chosen: dict[str, Any] = {"formulation": formulation, "solver": solver, "inputs": driving}
    return Request(**{**saved, **chosen})


# -- the manifest ---------------------------------------------------------------------------------


def _manifest(
    prepared: Prepared,
    request: Request,
    at: At,
    verifying: bool | By,
    destination: Destination,
) -> dict[str, Any]:
    sampling = saved_sampling(at, prepared.start_time, prepared.until)
    description = split_derived(describe(prepared), destination.derived)
    own = {entry.name: getattr(request, entry.name) for entry in fields(request)}
    labels, watched = prepared.problem.labels, [row.name for row in prepared.problem.watched]
    asked = own | {name: described(own[name]) for name in ("formulation", "solver")}
    for name in ("parameters", "initial", "guess"):
        asked[name] = {key: float(value) for key, value in own[name].items()}
    return {
        "identity": dict(destination.identity),
        "source": destination.source,
        "derived": list(destination.derived),
        "request": asked,
        "sampling": sampling,
        "verify": described(verifying) if isinstance(verifying, Solver) else verifying,
        "horizons": [prepared.until],
        "segments_per_part": [segments_per_part(prepared, _count(at, prepared))],
        "resolved": {
            "values": prepared.values,
            "scales": prepared.scales,
            "segment": prepared.segment,
            "wrapped": prepared.wrapped,
            "surplus": prepared.surplus,
            "scaling": asdict(prepared.scaling),
            "start": prepared.start.state,
            "path": prepared.path,
            "solver": described(prepared.solver),
            "equations": _fingerprint(prepared.problem),
            "laws": _laws(prepared),
            **({"driven": prepared.system.digest} if request.inputs else {}),
        },
        "columns": column_names(labels.states, labels.outputs, labels.reactions, watched),
        "event_columns": event_columns(prepared),
        "told": {
            "start": prepared.start.changes,
            "units": prepared.problem.labels.units(),
            "description": description,
        },
        "versions": versions(),
        "processor": processor(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _count(at: At, prepared: Prepared) -> float:
    if isinstance(at, Every):
        span = abs(prepared.until - prepared.start_time)
        if min(prepared.segment, span) / at.interval > MOST_SAMPLES:
            raise OutOfRangeError(
                f"the sample interval {at.interval:g} s gives more than {MOST_SAMPLES:g} "
                f"samples in a segment of {prepared.segment:g} s, too many to hold in memory"
            )
        return span / at.interval
    return DEFAULT_SAMPLES if at is None or isinstance(at, EveryEvent) else float(len(at))


def _fingerprint(problem: OdeProblem) -> str:
    """Return a fingerprint of the equations: no others have it."""
    functions = [getattr(problem, entry.name) for entry in fields(problem)]
    texts = [value.serialize() for value in functions if isinstance(value, ca.Function)]
    return hashlib.sha256("\n".join([*problem.values, *texts]).encode()).hexdigest()


def _laws(prepared: Prepared) -> list[str]:
    """Return the names of the laws that decide about the motion, which features may add."""
    laws = () if prepared.transitions is None else prepared.transitions.laws
    return [type(law).__name__ for law in laws]


def _restored_scaling(saved: Mapping[str, Any]) -> Scaling:
    """Return the exponents of a run; those of one that was begun without any are zero."""
    exponents = {name: value for name, value in saved.items() if name != "time"}
    tuples = {name: tuple(map(int, value)) for name, value in exponents.items()}
    return Scaling(**tuples, time=int(saved.get("time", 0)))


def _as_begun(prepared: Prepared, writer: Writer, given: Sequence[Made]) -> Prepared:
    """Return the run with every number as it was chosen when it began."""
    saved = writer.manifest["resolved"]
    if saved["equations"] != _fingerprint(prepared.problem):
        raise NotResumableError(
            "the equations differ from those that started the run in "
            f"{str(writer.directory)!r}: the system, its plugin or the elimination of the "
            "reactions has changed; resume with the original, or start a new run"
        )
    if saved.get("laws") not in (None, _laws(prepared)):
        begun, here = (", ".join(laws) or "none" for laws in (saved["laws"], _laws(prepared)))
        raise NotResumableError(
            f"the switching laws of the run in {str(writer.directory)!r} are {begun}, but here are "
            f"{here}: register the same ones as it began with, or start a new run"
        )
    # Tables and laws are in what events change, which the equations do not contain.
    if saved.get("driven") not in (None, prepared.system.digest):
        raise NotResumableError(
            f"the inputs differ from those that started the run in {str(writer.directory)!r}: "
            "give the original tables and laws, or start a new run"
        )
    return replace(
        prepared,
        values=np.array(saved["values"], dtype=float),
        scales=np.array(saved["scales"], dtype=float),
        segment=float(saved["segment"]),
        wrapped=tuple(int(index) for index in saved["wrapped"]),
        surplus=tuple(saved["surplus"]),
        scaling=_restored_scaling(saved.get("scaling", {})),
        start=replace(prepared.start, state=np.array(saved["start"], dtype=float)),
        path=np.array(saved["path"], dtype=float).reshape(-1, prepared.path.shape[1]),
        solver=restored(saved["solver"], Solver, given),
    )


# -- from stage to stage --------------------------------------------------------------------------


def _horizons(stored: Stored, prepared: Prepared, until: float | None) -> list[float]:
    """Return the ends of the run's stages, with another end one more or fewer of them."""
    known = [float(end) for end in stored.manifest["horizons"]]
    if until is None or until == known[-1]:
        return known
    if not is_number(until):
        raise OutOfRangeError(f"until is {until!r}, but must be a finite time in s")
    sign = 1.0 if known[0] >= prepared.start_time else -1.0
    last = stored.checkpoint(stored.last) if stored.last else None
    reached = prepared.start_time if last is None else float(last["here"]["time"])
    if sign * (until - reached) <= 0.0:
        planned = "" if reached == known[-1] else f", or leave it out to go on to {known[-1]:g} s"
        raise OutOfRangeError(
            f"until is {until!r}, but the run in {str(stored.directory)!r} goes to {reached:g} s "
            f"already, and nothing of that is taken back: give a time beyond that{planned}"
        )
    ended = None if last is None else last["ended"]
    if ended is not None and ended[0] != Outcome.COMPLETED.value:
        raise NotResumableError(
            f"the run in {str(stored.directory)!r} ended {ended[0]} ({ended[1]}): it cannot be "
            "extended"
        )
    return [*(end for end in known if sign * (until - end) > 0.0), float(until)]


def _sampling_to(at: At, prepared: Prepared) -> At:
    """Return the samples of a run with another end; of a list, those up to an earlier one."""
    if at is None or isinstance(at, Every | EveryEvent):
        return at
    sign = 1.0 if prepared.until >= prepared.start_time else -1.0
    times = np.asarray(at, dtype=float)
    kept = times[sign * (times - prepared.until) <= 0.0]
    return times if len(kept) == len(times) else np.append(kept, prepared.until)


def _stage(
    stored: Stored, prepared: Prepared, writer: Writer, number: int, last: int | None = None
) -> tuple[int, Keeper]:
    """Return in which stage a part lies, and what keeps it."""
    horizons = [float(end) for end in writer.manifest["horizons"]]
    before = stored.checkpoint(number - 1) if number > 1 else None
    if before is None:
        return 0, Keeper(writer, number, last_number=last)
    sign = 1.0 if horizons[0] >= prepared.start_time else -1.0
    reached = float(before["here"]["time"])
    open_stages = [k for k, end in enumerate(horizons) if sign * (end - reached) > 0.0]
    over = before["ended"] is not None and before["ended"][0] != Outcome.COMPLETED.value
    stage = horizons.index(before["until"]) if over or not open_stages else open_stages[0]
    return stage, Keeper(writer, number, before, stage, last)


def _mended(
    stored: Stored, prepared: Prepared, writer: Writer, tell: Tell | None
) -> Trajectory | None:
    """Compute damaged parts again; return the run where that was interrupted."""
    at, damaged = restored_sampling(writer.manifest["sampling"]), stored.damaged()
    for number, reason in damaged:
        if tell is not None:
            tell(f"part {number} is damaged ({reason}): it is moved aside and computed again")
        writer.set_aside(number)
        stage, keeper = _stage(stored_run(stored.directory), prepared, writer, number, number)
        until = float(writer.manifest["horizons"][stage])
        run = simulate_stored(replace(prepared, until=until), at, None, keeper)
        if run.outcome is Outcome.INTERRUPTED:
            return run
    if damaged:
        # A run that took back its last steps may have ended before the end of such a part.
        end = float(stored_run(stored.directory).checkpoint(stored.last)["here"]["time"])
        sign = 1.0 if prepared.until >= prepared.start_time else -1.0
        Keeper(writer).cut(end, sign, [number for number, _ in damaged])
    return None


def _finished(
    run: Trajectory, prepared: Prepared, writer: Writer, given: Sequence[Made] = ()
) -> Trajectory:
    """Verify a finished run, and write how it ended."""
    run = replace(run, description=split_derived(run.description, writer.manifest["derived"]))
    if run.outcome is Outcome.INTERRUPTED:
        return run
    stored = stored_run(writer.directory)
    if stored.result is not None:
        return _read_again(writer, run)
    asked = writer.manifest["verify"]
    if asked and run.outcome.good:
        by: By = asked if asked in (True, "same") else restored(asked, Solver, given)
        run = verifier()(prepared, run, by, VERIFIED_ROWS)
        if run.verification is not None and run.verification.interrupted:
            message = (
                f"interrupted during its repetition; `{resuming(stored.directory)}` resumes it"
            )
            ended = Outcome.INTERRUPTED
            return replace(run, outcome=ended, message=message, verification=None)
    try:
        keep_opening(writer, run, prepared)
        writer.write_result(summary_of(run))
    except StorageError as error:
        message = f"{error}; nothing is lost: `{resuming(stored.directory)}` resumes the run"
        return replace(run, outcome=Outcome.INTERRUPTED, message=message)
    return _read_again(writer, run)


def _read_again(writer: Writer, run: Trajectory) -> Trajectory:
    """Return a run with its samples on disk, and what this process can still do with it."""
    stored = Trajectory.from_run(writer.directory)
    return replace(stored, _evaluate=run.at, _begin=run.opening, auditor=run.auditor)


def split_derived(description: Mapping[str, Any], derived: Sequence[str]) -> dict[str, Any]:
    """Return a description with the parameters that follow from others by themselves."""
    parameters = dict(description["parameters"])
    found = {name: parameters.pop(name) for name in derived if name in parameters}
    return {**description, "parameters": parameters, "derived": found}
