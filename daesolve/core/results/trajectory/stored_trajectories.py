"""A run on disk, read: what a trajectory is made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daesolve.core.results.storage import Stored, resuming
from daesolve.core.results.trajectory.findings import Audit
from daesolve.core.results.trajectory.results import (
    Degeneracy,
    Drift,
    Outcome,
    Peak,
    Statistics,
    Verification,
)
from daesolve.core.results.trajectory.samples import StoredSamples
from daesolve.errors import NotARunError


def stored_run(directory: Path | str) -> Stored:
    """Open a run on disk.

    Raises
    ------
    NotARunError
        There is none.
    ArchiveError
        A file does not belong to a run, or has changed since it was written: the message names the
        field.
    """
    return Stored(directory, _fault)


def _fault(name: str, value: Mapping[str, Any]) -> str | None:
    """Say what a file of a run should not hold, by a function that can be pickled."""
    from daesolve.core.results.trajectory.stored_schema import fault_of

    return fault_of(name, value)


def read_run(stored: Stored) -> dict[str, Any]:
    """Return a run on disk, finished or not, as the settings of a `Trajectory`."""
    result = stored.result
    if result is None:
        result = _unfinished(stored)
    verification, description = result["verification"], result["description"]
    audit = result.get("audit")
    remarks = [*description["notes"], *stored.manifest.get("remarks", ())]
    return {
        "samples": StoredSamples(stored),
        "drift": {name: _drift(entry) for name, entry in result["drift"].items()},
        "event_count": result["event_count"],
        "outcome": Outcome(result["outcome"]),
        "message": result["message"],
        "end_time": result["end_time"],
        "start": {name: (given, value) for name, (given, value) in result["start"].items()},
        "end_state": result["end_state"],
        "end_values": result["end_values"],
        "units": result["units"],
        "description": {**description, "notes": remarks},
        "statistics": Statistics(**result["statistics"]),
        "verification": None if verification is None else Verification(**verification),
        "audited": None if audit is None else Audit.from_json(audit),
        "conditioning": result["conditioning"],
        "degeneracy": _degeneracy(result.get("degeneracy")),
        "peaks": {name: Peak(**entry) for name, entry in result.get("peaks", {}).items()},
    }


def _unfinished(stored: Stored) -> Mapping[str, Any]:
    """Return what is known of a run that is under way, or was stopped, from its last checkpoint."""
    directory = str(stored.directory)
    if not stored.last:
        raise NotARunError(
            f"the run in {directory!r} has not completed its first part yet: there is nothing "
            "to read so far"
        )
    so_far: Mapping[str, Any] = stored.checkpoint(stored.last)["so_far"]
    result: dict[str, Any] = {**stored.manifest["told"], **so_far, "verification": None}
    result["description"] = {
        **result["description"],
        "notes": result["description"]["notes"] + so_far["notes"],
    }
    result["outcome"] = Outcome.INTERRUPTED.value
    result["message"] = (
        f"running, at t = {result['end_time']:g} s so far"
        if stored.locked
        else f"not finished: what was computed up to t = {result['end_time']:g} s is kept, and "
        f"`{resuming(stored.directory)}` resumes it"
    )
    return result


def _degeneracy(entry: Mapping[str, Any] | None) -> Degeneracy | None:
    """Return where a run became degenerate; runs of earlier versions do not say so."""
    if entry is None:
        return None
    settings: dict[str, Any] = {**entry, "goals": tuple(entry["goals"])}
    return Degeneracy(**settings)


def _drift(entry: Mapping[str, Any]) -> Drift:
    history = tuple((float(time), float(value)) for time, value in entry["history"])
    settings: dict[str, Any] = {**entry, "history": history}
    return Drift(**settings)
