"""An optimal motion: as a JSON object, in a terminal, and as a page with figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from daesolve.reporting.content import ContentPart, ContentTable, figure_parts, page_of, sentence
from daesolve.reporting.document import Document, dump, fields_of, plain, replace_file
from daesolve.reporting.facts import short
from daesolve.reporting.layout import Indented, WrappedText

if TYPE_CHECKING:
    from daesolve.analysis.optimal_control import Optimum


def optimum_document(identity: Mapping[str, Any], found: Optimum) -> Document:
    """Return an optimum as an object for JSON.

    Parameters
    ----------
    identity
        The identity of the case.
    found
        From `daesolve.optimise`.
    """
    run = found.run
    own = "cost duration digits objection difference repeated gain excesses costs parameters"
    return plain(
        {
            **identity,
            **fields_of(found, own),
            "found": dict(found.parameters),
            "parameters": run.description.get("parameters", {}),
            "intervals": found.mesh.intervals,
            "nodes": [run.times[0] + found.duration * node for node in found.mesh.nodes],
            "outcome": run.outcome.value,
            "verification": None if run.verification is None else str(run.verification),
            "audit": None if run.audited is None else run.audited.as_json(),
            "peaks": {
                name: {"least": float(run[name].min()), "largest": float(run[name].max())}
                for name in found.controls
            },
            "units": {name: run.units.get(name, "") for name in (*found.controls, *run.states)},
            "times": run.times,
            "controls": {name: run[name] for name in found.controls},
        }
    )


def optimum_text(document: Document) -> RenderableType:
    """Return an optimum for Rich's console."""
    title = f"{document['problem']} · {document['case']} · {document['model']} · optimise"
    lines = [Indented(Text(words)) for words in _sentences(document)]
    tables = [table for table in (_controls(document), _excesses(document)) if table.rows]
    shown = [part for table in tables for part in (table.in_terminal(), Text())]
    head = WrappedText(Text(title, style="bold"))
    return Group(head, WrappedText(Text(_subtitle(document))), Text(), *shown, *lines)


def write_optimum(directory: Path, document: Document, found: Optimum) -> Path:
    """Write report.html and answer.json, and return the page.

    Parameters
    ----------
    directory
        An existing directory.
    document
        From `optimum_document`.
    found
        The optimum.
    """
    from daesolve.reporting.figures.optimum import controls, states

    replace_file(directory / "answer.json", dump(document, indent=1) + "\n")
    figures = {"Controls": controls(found), "Motion": states(found)}
    page = page_of(
        f"{document['problem']}, {document['case']}: the best motion",
        _subtitle(document),
        [
            ContentPart("", _controls(document).in_page()),
            *(ContentPart("", sentence(words)) for words in _sentences(document)),
            *figure_parts(figures, "optimum"),
            ContentPart("Ends and bounds", _excesses(document).in_page())
            if document["excesses"]
            else None,
            ContentPart("Meshes", _meshes(document).in_page()),
        ],
        with_versions=True,
    )
    return replace_file(directory / "report.html", page)


def _subtitle(document: Document) -> str:
    digits = document["digits"]
    size = f"{document['cost']:.{max(digits, 3) + 1}g}"
    return f"cost {size}, to {digits} digits, in {short(document['duration'], 7)} s"


def _controls(document: Document) -> ContentTable:
    units = document["units"]
    rows = [
        (name, short(entry["least"]), short(entry["largest"]), units[name])
        for name, entry in document["peaks"].items()
    ]
    rows += [(name, short(value, 9), "", "") for name, value in document["found"].items()]
    return ContentTable(("found", "least", "largest", "unit"), rows, (0, 3))


def _excesses(document: Document) -> ContentTable:
    rows = [(name, short(size)) for name, size in document["excesses"].items()]
    return ContentTable(("end, period or bound", "missed by at most"), rows)


def _meshes(document: Document) -> ContentTable:
    rows = [(str(k + 1), f"{cost:.12g}") for k, cost in enumerate(document["costs"])]
    return ContentTable(("mesh", "cost along the run"), rows)


def _sentences(document: Document) -> list[str]:
    """Return how far run, repetition and meshes agree, and what the verification objects to."""
    count = len(document["costs"])
    meshes = f"{count} mesh{'es' * (count > 1)}"
    found = [
        f"The run differs by {short(document['difference'])} of the size of a state from "
        f"{document['intervals']} intervals of collocation, and its cost by "
        f"{short(document['gain'])} from that of the mesh before; {meshes} in all."
    ]
    if document["repeated"] is not None:
        found.append(f"By another method the run differs by {short(document['repeated'])}.")
    audit = document["audit"]
    if audit is not None:
        checks = sum(row["verdict"] == "holds" for row in audit["findings"])
        verdict = f"{checks} checks hold" if audit["holds"] else "it does not hold"
        found.append(f"Audit of the run: {verdict}.")
    objection = document["objection"]
    if objection:
        found.append(f"{objection[0].upper()}{objection[1:]}.")
    return found
