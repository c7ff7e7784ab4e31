"""A run as one JSON object, which --json prints and reports are made from."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daesolve.core.encoding import is_array, is_list, is_mapping, is_tuple
from daesolve.core.results.storage import Stored
from daesolve.core.results.trajectory.curves import KINDS, ROWS, first_oscillations
from daesolve.core.results.trajectory.results import Drift, EventRecord, Outcome
from daesolve.core.results.trajectory.samples import StoredSamples
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.solving.descriptions import versions
from daesolve.errors import DaesolveError, PosingError, in_words
from daesolve.multibody.drawing import (
    Drawing,
    check,
    to_json,
)
from daesolve.reporting.certificates import certificate_entry, stored_certificate
from daesolve.reporting.sampling import Document, columns, tally

if TYPE_CHECKING:
    from daesolve.verification.comparison import Agreement, ComparedRun, Comparison, Largest

EVENTS_WITH_STATES = 50
"""The number of events at the beginning, and at the end, whose states are in report.json."""
SAMPLED = ("times", "states", "reactions", "outputs")
REPEATED = "against difference lyapunov_time growth apart_from"
"""What is told of a verification."""
DIFFERENCE = "largest state by_state"
COUNTED = ("wall_seconds", "steps", "rhs_evaluations", "compile_seconds", "compile_cached")
"""What is counted of a compared run."""
FOR_FIGURES = ("opening", "event_statistics", "drawing", "directory", "source")
"""Further entries of a document that only the page uses."""
USUAL = {
    "redundant": "error",
    "rank_loss": "stop",
    "max_evaluations": None,
    "variant_policy": "continuity",
    "impact": "newton",
    "impact_order": None,
    "on_gain": "refuse",
    "on_jam": "end",
    "on_ambiguous": "refuse",
}
"""What a document lists of a request only where it, or what the case asks for, differs."""
NO_PICTURE = "there is no picture"
"""The beginning of the note that says why there is no picture."""
DrawingRule = Callable[[Document], Drawing | None]
"""Makes the drawing of a run from its document."""
IDENTITY = (
    "problem",
    "case",
    "model",
    "structure",
    "path",
    "asked",
    "parameters",
    "parameter_units",
    "analysis",
)
"""The entries that identify an answer, before its results."""


class ReportError(DaesolveError, ValueError):
    """A run cannot be reported."""


def document(run: Trajectory, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run as an object for JSON; NaN and infinities become None.

    Parameters
    ----------
    run
        The result.
    identity
        The run's `problem`, `case`, `model` and `structure`, and, if known, `parameter_units`,
        `path` (the file that defines the problem) and `asked`: the changes to the case, under "set"
        and "initial", and the options of the case, under "usual". Missing entries are None or
        empty.
    """
    description = run.description
    whole = {
        **_identified(identity),
        "parameters": description.get("parameters", {}),
        "formulation": description.get("formulation", ""),
        "solver": description.get("solver", ""),
        "rates": description.get("rates", {}),
        "tolerances": description.get("tolerances", {}),
        "versions": versions(),
        "outcome": run.outcome.value,
        "message": run.message,
        **fields_of(run, "end_time times states reactions outputs"),
        "drift": {name: drift_document(entry) for name, entry in run.drift.items()},
        "events": [event_document(event) for event in run.events],
        "event_count": run.event_count,
        "verification": fields_of(run.verification, REPEATED) or None,
        "statistics": vars(run.statistics),
        "start_time": description.get("start_time", 0.0),
        "until": description.get("until", run.end_time),
        "notes": description.get("notes", []),
        "start_changes": {
            name: {"given": given, "value": value} for name, (given, value) in run.start.items()
        },
        "end_state": run.end_state,
        "derived": description.get("derived", {}),
        "units": run.units,
        "drift_history": {name: history_document(entry) for name, entry in run.drift.items()},
        "parameter_units": identity.get("parameter_units") or {},
        "conditioning": run.conditioning,
        "peaks": {name: asdict(peak) for name, peak in run.peaks.items()},
        "path": identity.get("path"),
        "asked": identity.get("asked") or {},
        "degeneracy": None if run.degeneracy is None else asdict(run.degeneracy),
        "impact": description.get("impact"),
        "inputs": description.get("inputs", []),
        "continues": description.get("continues"),
        "audit": None if run.audited is None else run.audited.as_json(),
        "certificate": certificate_entry(run.certificate and run.certificate.as_json()),
    }
    return plain(whole)


def never_begun(identity: Mapping[str, Any], time: float, error: DaesolveError) -> dict[str, Any]:
    """Return the document of a run that could not start, as an object for JSON.

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
            **_identified(identity),
            "versions": versions(),
            "outcome": Outcome.DEGENERATE.value,
            "message": str(error),
            "end_time": time,
            "times": [],
            **{name: {} for name in ("states", "reactions", "outputs", "drift")},
            "events": [],
            "event_count": 0,
            "verification": None,
            "audit": None,
            "certificate": None,
            "asked": identity.get("asked") or {},
        }
    )


def without_series(document: Document) -> dict[str, Any]:
    """Return the same object without samples and drawing, for report.json.

    The states at many events are a series too: only those of the first and the last events are
    kept.
    """
    short = {k: v for k, v in document.items() if k not in (*SAMPLED, *FOR_FIGURES)}
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
    entry: dict[str, Any] = {"time": event.time, "name": event.name, "detail": event.detail}
    if event.after is not None:
        entry |= {"fired": event.fired, "after": event.after}
    if event.impact is not None:
        entry["impact"] = vars(event.impact)
    return entry


def _brief(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event without states and impulses."""
    brief: dict[str, Any] = {key: value for key, value in event.items() if key != "after"}
    brief["detail"] = {}
    if "impact" in event:
        kept = {key: value for key, value in event["impact"].items() if key != "impulses"}
        brief["impact"] = kept
    return brief


def drift_document(entry: Drift) -> dict[str, Any]:
    """Return the sizes of a residual as an object."""
    sizes = "max_abs max_relative final_relative scale correction growth_exponent"
    return fields_of(entry, f"driven {sizes} note")


def history_document(entry: Drift) -> dict[str, Any]:
    """Return the root mean square of a residual over time as an object."""
    return {
        "times": [time for time, _ in entry.history],
        "rms": [value for _, value in entry.history],
    }


def _identified(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what identifies a run, as far as it is known."""
    named = {name: identity.get(name) for name in ("problem", "case", "model")}
    return named | {"structure": identity.get("structure") or {}}


def fields_of(thing: object, names: str) -> dict[str, Any]:
    """Return some attributes of a result by name; empty where there is no result."""
    return {} if thing is None else {name: getattr(thing, name) for name in names.split()}


def plain(value: Any) -> Any:
    """Return the same with plain Python types, and None for numbers that are not finite."""
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


def file_stem(name: str) -> str:
    """Return the name of a problem or a case as a file name that cannot lead to another folder."""
    return re.sub(r"[^\w+-]+", "-", name).strip("-") or "unnamed"


def replace_file(file: Path, text: str) -> Path:
    """Write a file under another name and rename it, so that it is never incomplete."""
    partial = file.with_name(f".{file.name}.partial")
    partial.unlink(missing_ok=True)  # a link that stood there would be followed
    with partial.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
        stream.write(text)
    os.replace(partial, file)
    return file


def load(path: Path | str, rows: int = ROWS) -> dict[str, Any]:
    """Read the run in a directory, finished or not.

    Parameters
    ----------
    path
        The directory given to `--out` or `store`.
    rows
        How many samples and events to keep. Samples are chosen evenly; if some are left out,
        "opening" contains the first oscillations. The first events are kept, and "event_statistics"
        counts all.

    Raises
    ------
    ReportError
        The directory does not exist.
    ArchiveError
        It contains no run, or a damaged one.
    """
    directory = Path(path)
    if not directory.is_dir():
        raise ReportError(f"there is no directory {str(directory)!r}")
    run = Trajectory.from_run(directory)
    assert isinstance(run.samples, StoredSamples)
    stored = run.samples.stored
    manifest = stored.manifest
    found = document(run.thinned(rows), manifest["identity"])
    request = manifest["request"]
    requested = {name: request.get(name, usual) for name, usual in USUAL.items()}
    own = USUAL | dict(found["asked"].get("usual", {}))
    choices = {n: value for n, value in requested.items() if value != USUAL[n] or value != own[n]}
    found |= {
        "asked": {**found["asked"], **choices, "formulation": plain(request["formulation"])},
        "versions": manifest["versions"],
        "certificate": plain(certificate_entry(stored_certificate(directory))),
        "machine": manifest["processor"],
        "sampling": plain(manifest["sampling"]),
        "samples": stored.rows,
        "finished": stored.result is not None,
        "under_way": stored.result is None and stored.locked,
        "directory": str(directory),
        "source": manifest["source"],
        "event_statistics": tally(_stored_events(stored), found["times"]),
    }
    if stored.rows > len(found["times"]):
        backwards = request["until"] < request["start_time"]
        first = first_oscillations(stored, backwards=backwards)
        named = {kind: dict(getattr(first, kind)) for kind in KINDS}
        found["opening"] = plain({"times": first.times, **named})
    return found


def _stored_events(stored: Stored) -> Iterator[dict[str, Any]]:
    """Go through the events, a part at a time in memory."""
    for row in chain.from_iterable(stored.event_batches()):
        event: dict[str, Any] = {"time": row["t"], "name": row["event"]}
        if row.get("kinetic_before") is not None:
            event["impact"] = {n: row[n] for n in ("kinetic_before", "kinetic_after", "carnot")}
        yield event


def with_drawing(document: dict[str, Any], rule: DrawingRule | None) -> dict[str, Any]:
    """Return the document of a run with its drawing, made by the problem's rule.

    A rule that fails must not cost a long run: a note says so, and there is no drawing.
    """
    if rule is None or not document["times"]:
        return document
    try:
        drawing = rule(document)
        if drawing is None:
            return document
        check(drawing, [*columns(document, drawing.series), *document["parameters"]])
        return {**document, "drawing": to_json(drawing)}
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reason = str(error) if isinstance(error, DaesolveError) else in_words(error)
        return with_note(document, f"{NO_PICTURE} of the scene: {reason}")


def with_note(document: Document, note: str) -> dict[str, Any]:
    """Return the document of a run with one more note."""
    return {**document, "notes": [*document["notes"], note]}


def answer_document(
    identity: Mapping[str, Any], analysis: str, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an answer as an object for JSON; NaN and infinities become None.

    Raises
    ------
    PosingError
        A value has the name of an entry that identifies the answer.
    """
    taken = [name for name in values if name in IDENTITY]
    if taken:
        raise PosingError(
            f"the analysis {analysis!r} has a value named {taken[0]!r}, which identifies the "
            "answer; give it another name"
        )
    return plain({**identity, "analysis": analysis, **values})


def comparison_document(comparison: Comparison, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return a comparison as an object for JSON; NaN and infinities become None.

    Parameters
    ----------
    comparison
        The result.
    identity
        `problem`, `case`, `model`, `structure`, `parameters`, `start_time` and `until`; missing
        entries are None or empty.
    """
    return plain(
        {
            **_identified(identity),
            "parameters": identity.get("parameters") or {},
            "start_time": identity.get("start_time", 0.0),
            "until": identity.get("until"),
            "versions": versions(),
            "reference": fields_of(comparison.standard, "kind note"),
            "runs": [_compared_run(run) for run in comparison.runs],
            "refused": [vars(entry) for entry in comparison.refused],
            "agreement": [_agreement(entry) for entry in comparison.agreement],
            "interrupted": comparison.interrupted,
        }
    )


def _compared_run(run: ComparedRun) -> dict[str, Any]:
    known = run.trajectory
    statistics: Mapping[str, Any] = {} if known is None else vars(known.statistics)
    return {
        **fields_of(run, "formulation solver tolerance"),
        "tolerances": {} if known is None else known.description["tolerances"],
        "outcome": run.outcome.value,
        "message": run.message,
        "end_time": None if known is None else known.end_time,
        **fields_of(run, "error digits"),
        "difference": fields_of(run.difference, DIFFERENCE) or None,
        "residual": _largest(run.residual),
        "invariant": _largest(run.invariant),
        **{name: statistics.get(name) for name in COUNTED},
    }


def _largest(found: Largest | None) -> dict[str, Any] | None:
    return None if found is None else {"name": found.name, "max_relative": found.size}


def _agreement(entry: Agreement) -> dict[str, Any]:
    return fields_of(entry, "first second") | fields_of(entry.difference, DIFFERENCE)
