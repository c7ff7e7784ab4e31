"""What was identified: as a JSON object, in a terminal, and as a page with figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from daesolve.reporting.content import ContentPart, ContentTable, figure_parts, page_of, sentence
from daesolve.reporting.document import Document, dump, fields_of, plain, replace_file
from daesolve.reporting.facts import short
from daesolve.reporting.layout import Indented, WrappedText

if TYPE_CHECKING:
    from daesolve.analysis.identification import ExperimentFit, Identification


def identification_document(identity: Mapping[str, Any], found: Identification) -> Document:
    """Return what was identified as an object for JSON.

    Parameters
    ----------
    identity
        The identity of the case.
    found
        From `daesolve.identify`.
    """
    rows = zip(
        found.names,
        found.values,
        found.deviations,
        found.low,
        found.high,
        found.digits,
        strict=True,
    )
    return plain(
        {
            **identity,
            "rows": sum(len(one.times) for one in found.experiments),
            "unknowns": {
                name: {
                    "value": value,
                    "unit": found.units[name],
                    "deviation": deviation,
                    "low": low,
                    "high": high,
                    "digits": digits,
                }
                for name, value, deviation, low, high, digits in rows
            },
            "correlations": dict(zip(found.names, found.correlations.tolist(), strict=True)),
            "columns": {
                label: entry for one in found.experiments for label, entry in _entries(one)
            },
            "experiments": {
                one.name: {
                    "rows": len(one.times),
                    "weight": one.weight,
                    "cost": one.cost,
                    "until": one.run.end_time,
                }
                for one in found.experiments
                if one.name
            },
            "undetermined": [str(direction) for direction in found.undetermined],
            **fields_of(found, "cost freedom segments beginnings evaluations notes"),
        }
    )


def _entries(one: ExperimentFit) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the columns of an experiment; with its name, if it has one."""
    for name, residuals in one.residuals.items():
        yield (
            f"{one.name}.{name}" if one.name else name,
            {
                "noise": one.noise[name],
                "largest": float(np.nanmax(np.abs(residuals))),
                "root_mean_square": float(np.sqrt(np.nanmean(residuals**2))),
                "unit": one.run.units.get(name, ""),
            },
        )


def identification_text(document: Document) -> RenderableType:
    """Return what was identified for Rich's console."""
    title = f"{document['problem']} · {document['case']} · {document['model']} · identify"
    lines = [Indented(Text(words)) for words in _sentences(document)]
    tables = [_unknowns(document), _columns(document)]
    if document["experiments"]:
        tables.insert(1, _experiments(document))
    shown = [part for table in tables for part in (table.in_terminal(), Text())]
    head = WrappedText(Text(title, style="bold"))
    return Group(head, WrappedText(Text(_subtitle(document))), Text(), *shown, *lines)


def write_identification(directory: Path, document: Document, found: Identification) -> Path:
    """Write report.html and answer.json, and return the page.

    Parameters
    ----------
    directory
        An existing directory.
    document
        From `identification_document`.
    found
        What was identified.
    """
    from daesolve.reporting.figures.identification import profiles, residuals

    details = [
        plain({"times": one.times, "residuals": dict(one.residuals)}) for one in found.experiments
    ]
    whole = {**document}
    if document["experiments"]:
        shared = zip(document["experiments"].items(), details, strict=True)
        whole["experiments"] = {name: {**entry, **own} for (name, entry), own in shared}
    else:
        whole |= details[0]
    replace_file(directory / "answer.json", dump(whole, indent=1) + "\n")
    figures: dict[str, Any] = {
        f"Data and fit{f': {one.name}' if one.name else ''}": residuals(one)
        for one in found.experiments
    }
    figures["Profiles"] = profiles(found)
    names = list(found.names)
    pairs = [(name, *map(short, document["correlations"][name])) for name in names]
    page = page_of(
        f"{document['problem']}, {document['case']}: identified from measurements",
        _subtitle(document),
        [
            ContentPart("", _unknowns(document).in_page()),
            *(ContentPart("", sentence(words)) for words in _sentences(document)),
            ContentPart("Experiments", _experiments(document).in_page())
            if document["experiments"]
            else None,
            ContentPart("Residuals", _columns(document).in_page()),
            *figure_parts(figures, "identification"),
            ContentPart("Correlations", ContentTable(("", *names), pairs).in_page())
            if len(names) > 1
            else None,
        ],
        with_versions=True,
    )
    return replace_file(directory / "report.html", page)


def _subtitle(document: Document) -> str:
    began, beginnings = document["segments"], document["beginnings"]
    how = f"began in {began} segment{'s' * (began != 1)}"
    if beginnings:
        how = f"went over {beginnings} beginning{'s' * (beginnings != 1)} of the motion"
    return (
        f"{document['rows']} rows of {', '.join(document['columns'])}; the fit {how} and "
        f"differentiated {document['evaluations']} motions"
    )


def _unknowns(document: Document) -> ContentTable:
    rows = [
        (
            name,
            f"{entry['value']:.{max(entry['digits'], 3) + 2}g}",
            entry["unit"],
            "not determined" if entry["deviation"] is None else short(entry["low"], 7),
            "" if entry["deviation"] is None else short(entry["high"], 7),
            str(entry["digits"]),
        )
        for name, entry in document["unknowns"].items()
    ]
    return ContentTable(("unknown", "value", "unit", "95 % from", "to", "digits"), rows, (0, 2))


def _experiments(document: Document) -> ContentTable:
    rows = [
        (
            name,
            str(entry["rows"]),
            short(entry["until"]),
            short(entry["weight"]),
            short(entry["cost"]),
        )
        for name, entry in document["experiments"].items()
    ]
    return ContentTable(
        ("experiment", "rows", "until, s", "weight", "squared residuals"), rows, (0,)
    )


def _columns(document: Document) -> ContentTable:
    rows = [
        (
            name,
            short(entry["noise"]),
            short(entry["root_mean_square"]),
            short(entry["largest"]),
            entry["unit"],
        )
        for name, entry in document["columns"].items()
    ]
    return ContentTable(("column", "noise", "rms residual", "largest", "unit"), rows, (0, 4))


def _sentences(document: Document) -> list[str]:
    """Return what the data do not determine, and the notes."""
    found = [f"{words[0].upper()}{words[1:]}." for words in document["undetermined"]]
    if document["freedom"] > 0:
        ratio = short(document["cost"] / document["freedom"])
        found.append(f"The residuals have {ratio} times the variance of the noise.")
    return found + [f"{words[0].upper()}{words[1:]}." for words in document["notes"]]
