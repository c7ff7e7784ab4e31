"""Runs, comparisons and answers in a terminal: readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, TypeGuard

from rich.console import Group, RenderableType
from rich.text import Text

from daesolve.contact.posing.guides import SWITCH
from daesolve.core.encoding import is_list, is_mapping
from daesolve.core.posing.value_names import ValueKind
from daesolve.reporting.audits import audit_headline, audit_rows
from daesolve.reporting.certificates import certificate_headline, certificate_rows
from daesolve.reporting.content import comparison_table, drift_table
from daesolve.reporting.document import IDENTITY
from daesolve.reporting.facts import (
    GOOD,
    OUTCOMES,
    UNVERIFIED,
    agreeing,
    agreement,
    bounded,
    changes,
    difference_worst,
    ending,
    notes,
    pace,
    power,
    seconds,
    short,
    title,
)
from daesolve.reporting.html import peaks
from daesolve.reporting.layout import INDENT, Indented, Rows, WrappedText, table_of
from daesolve.reporting.sampling import Document

FIRST_EVENTS = 5
FIRST_DIFFERENCES = 12
MOST_SHOWN = 12
"""Entries of a list that are shown in a terminal."""


def audit_text(document: Document) -> RenderableType:
    """Return the audit of a run for Rich's console."""
    return Group(*_headline(document), Text(), *_audit(document, all_of_it=True))


def summary(document: Document) -> RenderableType:
    """Return the summary of a run for Rich's console."""
    return Group(*_sections(document))


def _sections(document: Document) -> Iterator[RenderableType]:
    yield from _headline(document)
    for heading, body in (
        ("Start made consistent", _changes(document)),
        ("Drift, over every accepted step", _drift(document)),
        ("Peaks, at the ends of steps and within them", _peaks(document)),
        (f"Events: {document['event_count']}", _events(document)),
        ("Verification", _verification(document)),
        ("Audit", _audit(document)),
        ("Certificate", _certificate(document)),
        ("Notes", _notes(document)),
    ):
        if body:
            yield Text()
            yield Text(heading, style="bold")
            for part in body:
                yield Indented(part)


def _headline(document: Document) -> Iterator[RenderableType]:
    name = Text(title(document), style="bold")
    if document["model"]:
        name.append(f" · {document['model']}", style="default")
    yield WrappedText(name)
    good = document["outcome"] in GOOD
    outcome = Text(
        OUTCOMES.get(document["outcome"]) or document["outcome"],
        style="bold green" if good else "bold red",
    )
    words = ending(document) if good else f"; {ending(document)}"
    outcome.append(words if not good else f" {words}", style="default not bold")
    if document["message"]:
        outcome.append(f": {document['message']}", style="default not bold")
    yield WrappedText(outcome)
    statistics = document["statistics"]
    cached = " (cached)" if statistics["compile_cached"] else ""
    speed = pace(document)
    pace_text = "" if speed is None else f", {short(speed)} simulated seconds per second"
    steps = f"{statistics['steps']:,} steps"
    yield WrappedText(Text(f"{document['formulation']} + {document['solver']}, {steps}"))
    yield Text(
        f"{seconds(statistics['wall_seconds'])} wall{pace_text}; "
        f"compiled in {seconds(statistics['compile_seconds'])}{cached}"
    )


def _changes(document: Document) -> list[RenderableType]:
    return [Text(change) for change in changes(document)]


def _drift(document: Document) -> list[RenderableType]:
    if not document["drift"]:
        return []
    remarks = [
        Text(f"{name}: {entry['note']}")
        for name, entry in document["drift"].items()
        if entry["note"]
    ]
    return [drift_table(document).in_terminal(), *remarks]


def _peaks(document: Document) -> list[RenderableType]:
    return [Text(f"{name} {value} at t = {time}") for name, value, time in peaks(document)]


def _events(document: Document) -> list[RenderableType]:
    count = document["event_count"]
    if not count:
        return []
    first = document["events"][:FIRST_EVENTS]
    lines = [
        Text(f"{event['name']}{_whose(event)} at t = {short(event['time'], 10)} s")
        for event in first
    ]
    if count > len(first):
        lines.append(Text(f"and {count - len(first)} more"))
    return list(lines)


def _whose(event: Mapping[str, Any]) -> str:
    """Name the pairs of which another support took over; their values are in the guards' order."""
    if event["name"] != SWITCH or not event.get("after"):
        return ""
    variant = ValueKind.VARIANT
    fired: list[int] = event["fired"]
    pairs = [variant.owner_of(name) for name in event["after"] if variant.is_a(name)]
    return f" of {', '.join(pairs[index] for index in fired)}"


ENDED_OTHERWISE = "not verified, because the repetition ended otherwise than the run"


def _verification(document: Document) -> list[RenderableType]:
    verification = document["verification"]
    if not verification:
        return [Text(UNVERIFIED)]
    units = document.get("units", {})
    difference = verification["difference"]
    digits = agreement(document)
    headline = f"against {verification['against']}"
    if all(size is None for size in difference.values()):
        return [Text(f"{headline}: {ENDED_OTHERWISE}")]
    if digits is not None:
        headline += f": {agreeing(digits)}"
    lines: list[RenderableType] = [Text(headline)]
    if len(difference) <= FIRST_DIFFERENCES:
        differences = ", ".join(
            f"{name} {short(value)} {units.get(name, '')}".rstrip()
            for name, value in difference.items()
        )
        lines.append(Text(f"largest difference: {differences}"))
    elif (worst := difference_worst(document)) is not None:
        unit = units.get(worst.name, "")
        largest = f"{worst.name} {short(worst.size)} {unit}".rstrip()
        lines.append(Text(f"largest difference of {len(difference)} states: {largest}"))
    lines.append(Text(_separation(verification)))
    return lines


def _audit(document: Document, *, all_of_it: bool = False) -> list[RenderableType]:
    """Return what an audit objects to and what it did not check; if wanted, everything."""
    if not document["audit"]:
        return []
    lines: list[RenderableType] = [Text(audit_headline(document))]
    rows = [
        (f"{row.check}, {row.subject}" if row.subject else row.check, row.found, row.sentence)
        for row in audit_rows(document, all_of_them=all_of_it)
    ]
    return [*lines, Rows(("check", "found", ""), rows, ruled=True)] if rows else lines


def _certificate(document: Document) -> list[RenderableType]:
    """Return until when a certificate holds, and how wide its boxes are."""
    if not document.get("certificate"):
        return []
    rows = certificate_rows(document)
    table = Rows(("half-width", "at the last box", "at most"), rows, ruled=True)
    return [WrappedText(Text(certificate_headline(document))), *([table] if rows else [])]


def _separation(verification: Mapping[str, Any]) -> str:
    if verification["growth"] == "exponential":
        return f"chaotic: small errors grow e-fold in {short(verification['lyapunov_time'])} s"
    if verification["growth"] == "regular":
        return "no exponential growth of small errors was seen"
    return "the exponential growth of small errors was not measured"


def _notes(document: Document) -> list[RenderableType]:
    return [Text(note) for note in notes(document)]


def comparison_text(document: Document) -> RenderableType:
    """Return a comparison for Rich's console."""
    return Group(*_comparison_sections(document))


def _comparison_sections(document: Document) -> Iterator[RenderableType]:
    head = Text(title(document), style="bold")
    if document["until"] is not None:
        span = f" · {short(document['start_time'], 6)} s to {short(document['until'], 6)} s"
        head.append(span, style="default")
    yield WrappedText(head)
    if document["interrupted"]:
        yield Text("interrupted: these are the results so far", style="bold red")
    pairs = comparison_table(document).in_terminal((0,))
    for heading, lines in (
        ("", [pairs, *_endings(document)] if document["runs"] else []),
        ("Refused", _refused(document)),
        ("Agreement of the tightest runs", _agreements(document)),
    ):
        if lines:
            yield Text()
            if heading:
                yield Text(heading, style="bold")
            for line in lines:
                yield Indented(line, INDENT if heading else 0)


def _endings(document: Document) -> list[RenderableType]:
    """Say what errors are measured against, and how runs ended that did not complete."""
    lines: list[RenderableType] = [Text(document["reference"]["note"])]
    for run in document["runs"]:
        if run["outcome"] not in GOOD:
            tolerance = "" if run["tolerance"] is None else f" at {power(run['tolerance'])}"
            pair = f"{run['formulation']} + {run['solver']}{tolerance}"
            lines.append(Text(f"{pair} {run['outcome']}: {run['message']}"))
    return lines


def _refused(document: Document) -> list[RenderableType]:
    """List each reason once, with the pairs that it concerns."""
    reasons: dict[str, list[str]] = {}
    for entry in document["refused"]:
        reasons.setdefault(entry["reason"], []).append(
            f"{entry['formulation']} + {entry['solver']}"
        )
    return [
        Text(f"{', '.join(dict.fromkeys(pairs))}: {reason}") for reason, pairs in reasons.items()
    ]


def _agreements(document: Document) -> list[RenderableType]:
    """List the largest difference of each pair from the others, the worst first."""
    worst: dict[str, Mapping[str, Any]] = {}
    for entry in document["agreement"]:
        for pair in (entry["first"], entry["second"]):
            if pair not in worst or _size(entry) > _size(worst[pair]):
                worst[pair] = entry
    ordered = sorted({id(entry): entry for entry in worst.values()}.values(), key=_size)
    return [
        Text(
            f"{entry['first']} and {entry['second']}: {bounded(entry['largest'])} in "
            f"{entry['state']}"
        )
        for entry in reversed(ordered)
    ]


def _size(entry: Mapping[str, Any]) -> float:
    return float("inf") if entry["largest"] is None else entry["largest"]


def answer_text(document: Document, words: str = "") -> RenderableType:
    """Return an answer for Rich's console, in its own words if it has any."""
    head = Text(f"{document['problem']} · {document['case']}", style="bold")
    head.append(f" · {document['model']} · {document['analysis']}", style="default")
    if words:
        return Group(WrappedText(head), Text(), WrappedText(Text(words)))
    found = {name: value for name, value in document.items() if name not in IDENTITY}
    return Group(WrappedText(head), Text(), *_entries(found, 0))


def _entries(values: Mapping[str, Any], depth: int) -> Iterator[RenderableType]:
    for name, value in values.items():
        if is_mapping(value):
            yield Indented(Text(f"{name}:"), INDENT * depth)
            yield from _entries(value, depth + 1)
        elif _is_listing(value):
            yield Indented(Text(f"{name}:"), INDENT * depth)
            shown = value[:MOST_SHOWN]
            table = table_of(shown, partial(_in_a_cell, 4)) or table_of(
                shown, partial(_in_a_cell, 3)
            )
            if table is not None:
                yield Indented(table, INDENT * (depth + 1))
            for entry in value[:MOST_SHOWN] if table is None else ():
                yield Indented(Text(_shown(entry)[1:-1]), INDENT * (depth + 1))
            if len(value) > MOST_SHOWN:
                yield Indented(Text(f"... ({len(value)} in all)"), INDENT * (depth + 1))
        else:
            yield Indented(Text(f"{name}: {_shown(value)}"), INDENT * depth)


def _is_listing(value: Any) -> TypeGuard[list[Any]]:
    return is_list(value) and any(is_mapping(entry) for entry in value)


def _in_a_cell(digits: int, value: Any) -> str:
    """Return a value in so many digits, and a list without spaces."""
    if is_list(value):
        return ",".join(_in_a_cell(digits, entry) for entry in value) or "-"
    return short(value, digits) if isinstance(value, float) else _shown(value)


def _shown(value: Any) -> str:
    if is_mapping(value):
        return "(" + ", ".join(f"{name}: {_shown(entry)}" for name, entry in value.items()) + ")"
    if is_list(value):
        words = ", ".join(_shown(entry) for entry in value[:MOST_SHOWN])
        return (
            words + f", ... ({len(value)} in all)" if len(value) > MOST_SHOWN else words or "none"
        )
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    return short(value, 6) if isinstance(value, float) else str(value)
