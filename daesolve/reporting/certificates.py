"""The certificate of a run in a report: until when it holds, and how wide its boxes are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from daesolve.reporting.sampling import Document

STORED = "certificate.json"
"""The file of a stored run that holds its certificate."""
MOST_TIMES = 400
"""Of the half-widths over time."""
UNCERTIFIED = "Nothing is proved about this motion."


def certificate_entry(certificate: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what a report tells of a certificate, from the certificate as plain values."""
    if certificate is None:
        return None
    times: Sequence[float] = certificate["times"]
    every = -(-len(times) // MOST_TIMES) or 1
    radii: Mapping[str, Sequence[float]] = certificate["radii"]
    return {
        **{name: certificate[name] for name in ("until", "message", "states", "steps", "seconds")},
        "samples": len(times),
        "events": len(certificate["events"]),
        "latest": max((event["radius"] for event in certificate["events"]), default=None),
        "times": times[::every],
        "widths": {name: row[::every] for name, row in radii.items()},
        "largest": {name: max(row, default=0.0) for name, row in radii.items()},
    }


def stored_certificate(directory: Path) -> Mapping[str, Any] | None:
    """Return the certificate of a stored run as plain values; None where there is none."""
    file = directory / STORED
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def certificate_headline(document: Document) -> str:
    """Say until when the motion is proved to be in its boxes, and why not longer."""
    entry = document.get("certificate")
    if not entry:
        return UNCERTIFIED
    events = f" and the intervals of {entry['events']} events" if entry["events"] else ""
    said = f"Proved until t = {entry['until']:.10g} s: {entry['samples']} boxes{events}."
    return f"{said} There it ends: {entry['message']}." if entry["message"] else said


def certificate_rows(document: Document) -> list[tuple[str, str, str]]:
    """Return the quantities with the half-widths of their last and of their largest box."""
    entry = document.get("certificate")
    if not entry or not entry["times"]:
        return []
    rows = [(n, _size(w[-1]), _size(entry["largest"][n])) for n, w in entry["widths"].items()]
    late = entry["latest"]
    return [*rows, ("times of events", "", _size(late))] if late is not None else rows


def _size(width: float | None) -> str:
    return "unbounded" if width is None or width == float("inf") else f"{width:.2g}"
