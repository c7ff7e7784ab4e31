"""Tables of a report: a line for each name, a cell for each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daesolve.reporting import facts
from daesolve.reporting.document import Document


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


def repeat(documents: Sequence[Document]) -> list[tuple[str, list[Row]]]:
    """List what is needed to repeat the runs, in groups."""
    plain = [
        Row(name.replace("_", " "), tuple(facts.exact(d.get(name)) for d in documents), unit)
        for name, unit in (
            ("problem", ""),
            ("case", ""),
            ("model", ""),
            ("formulation", ""),
            ("solver", ""),
            ("start_time", "s"),
            ("until", "s"),
        )
    ]
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
    groups = [
        ("Run", [row for row in plain if set(row.cells) != {facts.NOTHING}]),
        ("Rates", rates),
        ("Tolerances", _rows(documents, "tolerances")),
        ("Start", start),
        ("Versions", _rows(documents, "versions")),
    ]
    return [(title, rows) for title, rows in groups if rows]


def differences(run: Document) -> list[tuple[str, str]]:
    """List the states of a verified run with their largest differences."""
    verification = run["verification"] or {"difference": {}}
    units = run.get("units", {})
    return [
        (name, f"{facts.short(value)} {units.get(name, '')}".rstrip())
        for name, value in verification["difference"].items()
    ]


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
