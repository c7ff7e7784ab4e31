"""A run in a terminal: readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from daesolve.posing.guides import SWITCH
from daesolve.reporting.document import Document
from daesolve.reporting.facts import (
    GOOD,
    OUTCOMES,
    UNVERIFIED,
    agreement,
    bounded,
    changes,
    correction,
    difference_worst,
    pace,
    seconds,
    short,
    title,
)
from daesolve.reporting.tables import peaks

FIRST_EVENTS = 5
FIRST_DIFFERENCES = 12
VARIANT = "variant_"
"""Before a pair's name, that of the value which tells its loaded support."""


def summary(document: Document) -> RenderableType:
    """Return what a reader should know of a run, for Rich's console."""
    return Group(*_sections(document))


def _sections(document: Document) -> Iterator[RenderableType]:
    yield from _headline(document)
    for heading, body in (
        ("Start made consistent", _changes(document)),
        ("Drift, over every accepted step", _drift(document)),
        ("Peaks, over every accepted step", _peaks(document)),
        (f"Events: {document['event_count']}", _events(document)),
        ("Verification", _verification(document)),
        ("Notes", _notes(document)),
    ):
        if body:
            yield Text()
            yield Text(heading, style="bold")
            for part in body:
                yield Padding(part, (0, 0, 0, 2))


def _headline(document: Document) -> Iterator[Text]:
    name = Text(title(document), style="bold")
    if document["model"]:
        name.append(f" · {document['model']}", style="default")
    yield name
    good = document["outcome"] in GOOD
    outcome = Text(
        OUTCOMES.get(document["outcome"]) or document["outcome"],
        style="bold green" if good else "bold red",
    )
    outcome.append(f" at t = {short(document['end_time'], 10)} s", style="default not bold")
    if document["message"]:
        outcome.append(f": {document['message']}", style="default not bold")
    yield outcome
    statistics = document["statistics"]
    cached = " (cached)" if statistics["compile_cached"] else ""
    speed = pace(document)
    told = "" if speed is None else f", {short(speed)} simulated seconds a second"
    yield Text(f"{document['formulation']} + {document['solver']}, {statistics['steps']:,} steps")
    yield Text(
        f"{seconds(statistics['wall_seconds'])} wall{told}; "
        f"compiled in {seconds(statistics['compile_seconds'])}{cached}"
    )


def _changes(document: Document) -> list[RenderableType]:
    return [Text(change) for change in changes(document)]


def _drift(document: Document) -> list[RenderableType]:
    if not document["drift"]:
        return []
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("goal", overflow="fold", min_width=8)
    table.add_column("fed back", no_wrap=True)
    for heading in ("largest", "final", "correction", "growth", "scale"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, entry in document["drift"].items():
        table.add_row(
            Text(name),
            "driven" if entry["driven"] else "measured",
            bounded(entry["max_relative"]),
            bounded(entry["final_relative"]),
            correction(entry),
            _growth(entry["growth_exponent"]),
            short(entry["scale"]),
        )
    remarks = [
        Text(f"{name}: {entry['note']}")
        for name, entry in document["drift"].items()
        if entry["note"]
    ]
    return [table, *remarks]


def _peaks(document: Document) -> list[RenderableType]:
    return [Text(f"{name} {value} at t = {time}") for name, value, time in peaks(document)]


def _growth(exponent: float | None) -> str:
    return short(None) if exponent is None else f"t^{exponent:.2f}"


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
    pairs = [n.removeprefix(VARIANT) for n in event["after"] if n.startswith(VARIANT)]
    return f" of {', '.join(pairs[index] for index in event['fired'])}"


def _verification(document: Document) -> list[RenderableType]:
    verification = document["verification"]
    if not verification:
        return [Text(UNVERIFIED)]
    units = document.get("units", {})
    difference = verification["difference"]
    digits = agreement(document)
    headline = f"against {verification['against']}"
    if digits is not None:
        headline += f": agrees to about {digits:.0f} digits"
    lines: list[RenderableType] = [Text(headline)]
    if len(difference) <= FIRST_DIFFERENCES:
        told = ", ".join(
            f"{name} {short(value)} {units.get(name, '')}".rstrip()
            for name, value in difference.items()
        )
        lines.append(Text(f"largest difference: {told}"))
    elif (worst := difference_worst(document)) is not None:
        unit = units.get(worst.name, "")
        told = f"{short(worst.size)} {unit}".rstrip()
        lines.append(Text(f"largest difference of {len(difference)} states: {worst.name} {told}"))
    lines.append(Text(_separation(verification)))
    return lines


def _separation(verification: Mapping[str, Any]) -> str:
    if verification["growth"] == "exponential":
        return f"chaotic: small errors grow e-fold in {short(verification['lyapunov_time'])} s"
    if verification["growth"] == "regular":
        return "no exponential growth of small errors was seen"
    return "whether small errors grow exponentially was not found out"


def _notes(document: Document) -> list[RenderableType]:
    return [Text(note) for note in document.get("notes", [])]
