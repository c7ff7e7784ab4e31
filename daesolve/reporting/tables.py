"""Tables of a report: a line for each name, a cell for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from daesolve.reporting import facts
from daesolve.reporting.document import Document
from daesolve.reporting.sparklines import WORST_PIVOT, meter


@dataclass(frozen=True)
class Row:
    """A line of a table with one cell for each run; `differs` where they are not the same."""

    name: str
    cells: tuple[str, ...]
    unit: str = ""

    @property
    def differs(self) -> bool:
        """Whether the runs differ here."""
        return len(set(self.cells)) > 1


def parameters(documents: Sequence[Document]) -> list[Row]:
    """List structure and parameters."""
    return [*_rows(documents, "structure"), *_rows(documents, "parameters")]


def numbers(documents: Sequence[Document]) -> list[tuple[str, list[Row]]]:
    """List every number that a run depends on, in groups."""
    rates = [
        Row(name, tuple(_rate(document, name) for document in documents), "1/s")
        for name in dict.fromkeys(name for document in documents for name in document["rates"])
    ]
    starts = [facts.start_state(document) for document in documents]
    units = {k: v for d in documents for k, v in d.get("units", {}).items()}
    start = [
        Row(name, tuple(facts.exact(s.get(name)) for s in starts), units.get(name, ""))
        for name in dict.fromkeys(name for state in starts for name in state)
    ]
    times = [
        Row(words, tuple(facts.exact(d.get(name)) for d in documents), "s")
        for words, name in (("from", "start_time"), ("until", "until"))
    ]
    groups = [
        ("Parameters", parameters(documents)),
        ("Start", start),
        ("Rates", rates),
        ("Time and tolerances", [*times, *_rows(documents, "tolerances")]),
        ("Versions", _rows(documents, "versions")),
    ]
    return [(title, rows) for title, rows in groups if rows]


def costs(documents: Sequence[Document]) -> list[Row]:
    """List what the runs cost."""
    told = [document["statistics"] for document in documents]

    def row(name: str, values: Sequence[float | None], unit: str = "") -> Row:
        return Row(name, tuple(_count(value) for value in values), unit)

    def over(counts: Sequence[float], amounts: Sequence[float]) -> list[float | None]:
        return [n / m if m else None for n, m in zip(counts, amounts, strict=True)]

    steps = [entry["steps"] for entry in told]
    evaluations = [entry["rhs_evaluations"] for entry in told]
    walls = [entry["wall_seconds"] for entry in told]
    spans = [facts.span(document) for document in documents]
    rows = [
        row("steps", steps),
        row("mean step", over(spans, steps), "s"),
        row("evaluations of the right-hand side", evaluations),
        row("integration", walls, "s"),
        row("steps a second", over(steps, walls), "1/s"),
        row("seconds of motion a second", over(spans, walls)),
        row("compilation", [entry["compile_seconds"] for entry in told], "s"),
        Row("compiled before", tuple(facts.short(entry["compile_cached"]) for entry in told)),
        row("instructions of the right-hand side", [e.get("instructions") for e in told]),
        row("samples", [document.get("samples", len(document["times"])) for document in documents]),
    ]
    return [row for row in rows if set(row.cells) != {facts.NOTHING}]


def _count(value: float | None) -> str:
    return f"{value:,}" if isinstance(value, int) else facts.short(value, 4)


@dataclass(frozen=True)
class Agreement:
    """How far a state differed in the repeated run, and in how many digits it agreed."""

    name: str
    difference: str
    digits: str
    bar: Markup


def agreements(run: Document) -> list[Agreement]:
    """List the states of a verified run with their largest differences."""
    verification: Mapping[str, Any] = run["verification"] or {"difference": {}}
    units, sizes = run.get("units", {}), facts.magnitudes(run)
    found: list[Agreement] = []
    for name, value in verification["difference"].items():
        digits = facts.digits(value, sizes.get(name, 1.0))
        bar = meter(digits and 10.0**digits, 1.0, 10.0**facts.DIGITS)
        told = f"{facts.bounded(value)} {units.get(name, '')}".rstrip()
        found.append(
            Agreement(name, told, facts.NOTHING if digits is None else f"{digits:.1f}", bar)
        )
    return found


def grips(run: Document) -> list[tuple[str, str, Markup]]:
    """List the goals with the smallest grip of their reactions, and a bar for each."""
    return [
        (name, facts.short(value), meter(value, WORST_PIVOT, 1.0))
        for name, value in run.get("conditioning", {}).items()
    ]


def peaks(document: Document) -> list[tuple[str, str, str]]:
    """List the outputs that were watched, with their values of largest magnitude, and when."""
    units = document.get("units", {})
    return [
        (name, f"{facts.short(peak['value'], 7)} {units.get(name, '')}".rstrip(),
         f"{facts.short(peak['time'], 10)} s")
        for name, peak in document.get("peaks", {}).items()
    ]  # fmt: skip


def _rows(documents: Sequence[Document], key: str) -> list[Row]:
    names = dict.fromkeys(name for document in documents for name in document[key])
    return [
        Row(
            name,
            tuple(facts.exact(document[key].get(name)) for document in documents),
            next((u for d in documents if (u := d.get("parameter_units", {}).get(name))), ""),
        )
        for name in names
    ]


def _rate(document: Document, name: str) -> str:
    rates = document["rates"]
    return "off" if name in rates and rates[name] is None else facts.exact(rates.get(name))
