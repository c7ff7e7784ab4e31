"""A run as one JSON object: what is printed with --json and kept as run.json."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.errors import DaesolveError
from daesolve.trajectory import Drift, EventRecord, Trajectory, Verification

Document = Mapping[str, Any]
"""What `document` returns and `load` reads back."""

RUN_FILE = "run.json"
EVENTS_WITH_STATES = 50
"""Of how many events at the beginning, and at the end, report.json has the states."""
PACKAGES = ("daesolve", "casadi", "numpy", "scipy", "heyoka")
SERIES = ("times", "states", "reactions", "outputs")
KINDS: dict[str, type | tuple[type, ...]] = {
    "problem": (str, type(None)),
    "case": (str, type(None)),
    "model": (str, type(None)),
    "structure": dict,
    "parameters": dict,
    "formulation": str,
    "solver": str,
    "rates": dict,
    "tolerances": dict,
    "versions": dict,
    "outcome": str,
    "message": str,
    "end_time": (int, float, type(None)),
    "times": list,
    "states": dict,
    "reactions": dict,
    "outputs": dict,
    "drift": dict,
    "events": list,
    "event_count": int,
    "verification": (dict, type(None)),
    "statistics": dict,
}
"""The keys that every run has, in their order, and what stands under them."""


class ReportError(DaesolveError, ValueError):
    """A directory that does not hold a run of daesolve."""


def document(run: Trajectory, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run as an object for JSON; NaN and infinities become None.

    Parameters
    ----------
    run
        The result.
    identity
        The run's `problem`, `case`, `model` and `structure`, and `parameter_units` where they
        are known; what is absent is None or empty.
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
        "events": [_event(event) for event in run.events],
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
    }
    return plain(whole)


def without_series(document: Document) -> dict[str, Any]:
    """Return the same object without samples and drawing: what report.json holds.

    The states at events are a series too where they are many: those of the first and the last
    ones are kept.
    """
    short = {key: value for key, value in document.items() if key not in (*SERIES, "drawing")}
    last = len(document["events"]) - EVENTS_WITH_STATES
    events = [
        event if place < EVENTS_WITH_STATES or place >= last else _brief(event)
        for place, event in enumerate(document["events"])
    ]
    return short | {"events": events}


def dump(document: Any, indent: int | None = None) -> str:
    """Return the JSON text; numbers read back to the same double."""
    return json.dumps(document, indent=indent, allow_nan=False)


def load(path: Path | str) -> dict[str, Any]:
    """Read the run that a directory holds.

    Raises
    ------
    ReportError
        There is no such directory, no run in it, or what is there is not a run of daesolve.
    """
    directory = Path(path)
    if not directory.is_dir():
        raise ReportError(f"there is no directory {str(directory)!r}")
    file = directory / RUN_FILE
    try:
        found = json.loads(file.read_text(encoding="utf-8"), parse_constant=lambda _: None)
    except FileNotFoundError:
        raise ReportError(
            f"{str(directory)!r} has no {RUN_FILE}; `daesolve run ... --out DIR` writes one"
        ) from None
    except OSError as error:
        raise ReportError(f"{str(file)!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{str(file)!r} is not JSON: {error}") from None
    _check(found, file)
    return found


def versions() -> dict[str, str]:
    """Return the versions of what a run depends on, as far as it is installed."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**found, "python": platform.python_version()}


def _check(found: Any, file: Path) -> None:
    if not isinstance(found, dict):
        raise ReportError(f"{str(file)!r} is not a run of daesolve: it is not an object")
    missing = [key for key in KINDS if key not in found]
    if missing:
        raise ReportError(f"{str(file)!r} is not a run of daesolve: it lacks {', '.join(missing)}")
    wrong = [key for key, kind in KINDS.items() if not isinstance(found[key], kind)]
    if wrong:
        raise ReportError(
            f"{str(file)!r} is not a run of daesolve: {', '.join(wrong)} of the wrong kind"
        )
    count = len(found["times"])
    for kind in SERIES[1:]:
        for name, values in found[kind].items():
            if not isinstance(values, list) or len(values) != count:
                raise ReportError(
                    f"{str(file)!r} is broken: {name!r} in {kind} is not one value for each of "
                    f"the {count} times"
                )


def _event(event: EventRecord) -> dict[str, Any]:
    told: dict[str, Any] = {"time": event.time, "name": event.name, "detail": event.detail}
    if event.after is not None:
        told |= {"fired": event.fired, "after": event.after}
    if event.impact is not None:
        told["impact"] = vars(event.impact)
    return told


def _brief(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event without states and impulses."""
    told = {key: value for key, value in event.items() if key != "after"} | {"detail": {}}
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
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
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
