"""A comparison of formulations and solvers: as JSON, as a table, and in a directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from daesolve.reporting.document import Document, dump, plain, replace_file
from daesolve.reporting.facts import GOOD, bounded, short, title
from daesolve.reporting.precision import work_precision
from daesolve.reporting.style import save_figure
from daesolve.solving.comparison import Agreement, ComparedRun, Comparison, Largest
from daesolve.storage.versions import versions
from daesolve.verification.agreement import Difference

COMPARISON_FILE = "comparison.json"
FIGURE_NAME = "work-precision"


def comparison_document(comparison: Comparison, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return a comparison as an object for JSON; NaN and infinities become None.

    Parameters
    ----------
    comparison
        The result.
    identity
        `problem`, `case`, `model`, `structure`, `parameters`, `start_time` and `until`; what is
        absent is None or empty.
    """
    return plain(
        {
            "problem": identity.get("problem"),
            "case": identity.get("case"),
            "model": identity.get("model"),
            "structure": identity.get("structure") or {},
            "parameters": identity.get("parameters") or {},
            "start_time": identity.get("start_time", 0.0),
            "until": identity.get("until"),
            "versions": versions(),
            "reference": {"kind": comparison.standard.kind, "note": comparison.standard.note},
            "runs": [_run(run) for run in comparison.runs],
            "refused": [vars(entry) for entry in comparison.refused],
            "agreement": [_agreement(entry) for entry in comparison.agreement],
            "interrupted": comparison.interrupted,
        }
    )


def _run(run: ComparedRun) -> dict[str, Any]:
    known = run.trajectory
    statistics: Mapping[str, Any] = {} if known is None else vars(known.statistics)
    return {
        "formulation": run.formulation,
        "solver": run.solver,
        "tolerance": run.tolerance,
        "tolerances": {} if known is None else known.description["tolerances"],
        "outcome": run.outcome.value,
        "message": run.message,
        "end_time": None if known is None else known.end_time,
        "error": run.error,
        "digits": run.digits,
        "difference": _difference(run.difference),
        "residual": _largest(run.residual),
        "invariant": _largest(run.invariant),
        **{
            name: statistics.get(name)
            for name in (
                "wall_seconds",
                "steps",
                "rhs_evaluations",
                "compile_seconds",
                "compile_cached",
            )
        },
    }


def _difference(found: Difference | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"largest": found.largest, "state": found.state, "by_state": found.by_state}


def _largest(found: Largest | None) -> dict[str, Any] | None:
    return None if found is None else {"name": found.name, "max_relative": found.size}


def _agreement(entry: Agreement) -> dict[str, Any]:
    return {"first": entry.first, "second": entry.second, **(_difference(entry.difference) or {})}


def write_comparison(directory: Path, document: Document) -> list[Path]:
    """Write comparison.json and the work-precision figure as SVG and PNG; return the files."""
    directory.mkdir(parents=True, exist_ok=True)
    written = [replace_file(directory / COMPARISON_FILE, dump(document, indent=1) + "\n")]
    return written + save_figure(work_precision(document), directory, FIGURE_NAME)


def comparison_text(document: Document) -> RenderableType:
    """Return a comparison for Rich's console."""
    return Group(*_sections(document))


def _sections(document: Document) -> Iterator[RenderableType]:
    head = Text(title(document), style="bold")
    if document["until"] is not None:
        span = f" · {short(document['start_time'], 6)} s to {short(document['until'], 6)} s"
        head.append(span, style="default")
    yield head
    if document["interrupted"]:
        yield Text("interrupted: what was computed until then is here", style="bold red")
    for heading, lines in (
        ("", [_table(document), *_endings(document)] if document["runs"] else []),
        ("Refused", _refused(document)),
        ("Agreement of the tightest runs", _agreements(document)),
    ):
        if lines:
            yield Text()
            if heading:
                yield Text(heading, style="bold")
            for line in lines:
                yield Padding(line, (0, 0, 0, 2)) if heading else line


def _table(document: Document) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("pair", overflow="fold", min_width=12)
    for heading in ("tolerance", "error", "wall s", "steps", "residual", "invariant"):
        table.add_column(heading, justify="right", no_wrap=True)
    last = ""
    for run in document["runs"]:
        good = run["outcome"] in GOOD
        pair = f"{run['formulation']} + {run['solver']}"
        pair, last = "" if pair == last else pair, pair
        table.add_row(
            Text(pair),
            short(run["tolerance"], 2),
            short(run["error"], 2) if good else Text(run["outcome"], style="red"),
            short(run["wall_seconds"], 2),
            short(run["steps"]),
            *(
                short(None) if entry is None else bounded(entry["max_relative"])
                for entry in (run["residual"], run["invariant"])
            ),
        )
    return table


def _endings(document: Document) -> list[RenderableType]:
    """Tell what errors are measured against, and how runs ended that did not complete."""
    lines: list[RenderableType] = [Text(document["reference"]["note"])]
    for run in document["runs"]:
        if run["outcome"] not in GOOD:
            tolerance = "" if run["tolerance"] is None else f" at {short(run['tolerance'], 2)}"
            pair = f"{run['formulation']} + {run['solver']}{tolerance}"
            lines.append(Text(f"{pair} {run['outcome']}: {run['message']}"))
    return lines


def _refused(document: Document) -> list[RenderableType]:
    """Tell each reason once, with the pairs that it concerns."""
    reasons: dict[str, list[str]] = {}
    for entry in document["refused"]:
        reasons.setdefault(entry["reason"], []).append(
            f"{entry['formulation']} + {entry['solver']}"
        )
    return [
        Text(f"{', '.join(dict.fromkeys(pairs))}: {reason}") for reason, pairs in reasons.items()
    ]


def _agreements(document: Document) -> list[RenderableType]:
    """Tell the largest difference of each pair from the others, the worst first."""
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
