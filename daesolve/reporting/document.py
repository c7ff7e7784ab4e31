"""A run as one JSON object: what is printed with --json, and what a report is made of."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.errors import DaesolveError
from daesolve.storage.type_guards import is_array, is_list, is_mapping, is_tuple
from daesolve.storage.versions import versions
from daesolve.trajectory.results import Drift, EventRecord, Outcome, Verification
from daesolve.trajectory.trajectory import Trajectory

Document = Mapping[str, Any]
"""What `document` returns."""

EVENTS_WITH_STATES = 50
"""Of how many events at the beginning, and at the end, report.json has the states."""
SERIES = ("times", "states", "reactions", "outputs")
FOR_FIGURES = ("opening", "happened", "drawing", "directory")
"""What a document may have besides, for the page alone."""


class ReportError(DaesolveError, ValueError):
    """A run that cannot be reported, and why."""


def document(run: Trajectory, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run as an object for JSON; NaN and infinities become None.

    Parameters
    ----------
    run
        The result.
    identity
        The run's `problem`, `case`, `model` and `structure`, and where they are known
        `parameter_units`, `path` (of the file that poses the problem) and `asked`: what was
        changed of the case, under "set" and "initial", and under "usual" what the case asks for.
        What is absent is None or empty.
    """
    told = run.description
    whole = {
        "problem": identity.get("problem"),
        "case": identity.get("case"),
        "model": identity.get("model"),
        "structure": identity.get("structure") or {},
        "parameters": told.get("parameters", {}),
        "formulation": told.get("formulation", ""),
        "solver": told.get("solver", ""),
        "rates": told.get("rates", {}),
        "tolerances": told.get("tolerances", {}),
        "versions": versions(),
        "outcome": run.outcome.value,
        "message": run.message,
        "end_time": run.end_time,
        "times": run.times,
        "states": run.states,
        "reactions": run.reactions,
        "outputs": run.outputs,
        "drift": {name: _drift(entry) for name, entry in run.drift.items()},
        "events": [event_document(event) for event in run.events],
        "event_count": run.event_count,
        "verification": _verification(run.verification),
        "statistics": vars(run.statistics),
        "start_time": told.get("start_time", 0.0),
        "until": told.get("until", run.end_time),
        "notes": told.get("notes", []),
        "start_changes": {
            name: {"given": given, "value": value} for name, (given, value) in run.start.items()
        },
        "end_state": run.end_state,
        "derived": told.get("derived", {}),
        "units": run.units,
        "drift_history": {name: _history(entry) for name, entry in run.drift.items()},
        "parameter_units": identity.get("parameter_units") or {},
        "conditioning": run.conditioning,
        "peaks": {name: asdict(peak) for name, peak in run.peaks.items()},
        "path": identity.get("path"),
        "asked": identity.get("asked") or {},
        "degeneracy": None if run.degeneracy is None else asdict(run.degeneracy),
    }
    return plain(whole)


def never_begun(identity: Mapping[str, Any], time: float, error: DaesolveError) -> dict[str, Any]:
    """Return what is told of a run that could not set out, as an object for JSON.

    Parameters
    ----------
    identity
        As in `document`.
    time
        Its start, s.
    error
        Why.
    """
    return plain(
        {
            "problem": identity.get("problem"),
            "case": identity.get("case"),
            "model": identity.get("model"),
            "structure": identity.get("structure") or {},
            "versions": versions(),
            "outcome": Outcome.DEGENERATE.value,
            "message": str(error),
            "end_time": time,
            "times": [],
            "states": {},
            "reactions": {},
            "outputs": {},
            "drift": {},
            "events": [],
            "event_count": 0,
            "verification": None,
            "asked": identity.get("asked") or {},
        }
    )


def without_series(document: Document) -> dict[str, Any]:
    """Return the same object without samples and drawing: what report.json holds.

    The states at events are a series too where they are many: those of the first and the last
    ones are kept.
    """
    short = {k: v for k, v in document.items() if k not in (*SERIES, *FOR_FIGURES)}
    last = len(document["events"]) - EVENTS_WITH_STATES
    events = [
        event if place < EVENTS_WITH_STATES or place >= last else _brief(event)
        for place, event in enumerate(document["events"])
    ]
    return short | {"events": events}


def dump(document: Any, indent: int | None = None) -> str:
    """Return the JSON text; numbers read back to the same double."""
    return json.dumps(document, indent=indent, allow_nan=False)


def event_document(event: EventRecord) -> dict[str, Any]:
    """Return an event as an object."""
    told: dict[str, Any] = {"time": event.time, "name": event.name, "detail": event.detail}
    if event.after is not None:
        told |= {"fired": event.fired, "after": event.after}
    if event.impact is not None:
        told["impact"] = vars(event.impact)
    return told


def _brief(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event without states and impulses."""
    told: dict[str, Any] = {key: value for key, value in event.items() if key != "after"}
    told["detail"] = {}
    if "impact" in event:
        kept = {key: value for key, value in event["impact"].items() if key != "impulses"}
        told["impact"] = kept
    return told


def _drift(entry: Drift) -> dict[str, Any]:
    return {
        "driven": entry.driven,
        "max_abs": entry.max_abs,
        "max_relative": entry.max_relative,
        "final_relative": entry.final_relative,
        "scale": entry.scale,
        "correction": entry.correction,
        "growth_exponent": entry.growth_exponent,
        "note": entry.note,
    }


def _history(entry: Drift) -> dict[str, Any]:
    return {
        "times": [time for time, _ in entry.history],
        "rms": [value for _, value in entry.history],
    }


def _verification(verification: Verification | None) -> dict[str, Any] | None:
    if verification is None:
        return None
    return {
        "against": verification.against,
        "difference": verification.difference,
        "lyapunov_time": verification.lyapunov_time,
        "growth": verification.growth,
    }


def plain(value: Any) -> Any:
    """Return the same with Python's own types, and None for what is not finite."""
    if is_array(value):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if is_mapping(value):
        return {str(key): plain(entry) for key, entry in value.items()}
    if is_list(value) or is_tuple(value):
        return [plain(entry) for entry in value]
    if isinstance(value, bool | int | type(None)):
        return value
    return str(value)


def replace_file(file: Path, text: str) -> Path:
    """Write a file under another name and rename it, so that it is never half there."""
    partial = file.with_name(f".{file.name}.partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    os.replace(partial, file)
    return file
