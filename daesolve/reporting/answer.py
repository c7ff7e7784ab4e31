"""What an analysis found: as JSON, as figures in files, and in a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from matplotlib.figure import Figure
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from daesolve.errors import PosingError
from daesolve.reporting.document import Document, dump, plain, replace_file
from daesolve.reporting.facts import short
from daesolve.reporting.style import save_figure
from daesolve.storage.type_guards import is_list, is_mapping

ANSWER_FILE = "answer.json"
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
"""What an answer is about, before what was found."""
NOT_IN_FILES = re.compile(r"[^\w.-]+")
"""What a figure may have in its name, but not the file of it."""
MOST_SHOWN = 12
"""Entries of a list that are shown in a terminal."""


def answer_document(
    identity: Mapping[str, Any], analysis: str, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an answer as an object for JSON; NaN and infinities become None.

    Raises
    ------
    PosingError
        A value has a name that tells what the answer is about.
    """
    taken = [name for name in values if name in IDENTITY]
    if taken:
        raise PosingError(
            f"the analysis {analysis!r} has a value by the name {taken[0]!r}, which tells what an "
            "answer is about; name it otherwise"
        )
    return plain({**identity, "analysis": analysis, **values})


def write_answer(directory: Path, document: Document, figures: Mapping[str, Figure]) -> list[Path]:
    """Write answer.json and each figure as SVG and PNG, and return the files."""
    directory.mkdir(parents=True, exist_ok=True)
    written = [replace_file(directory / ANSWER_FILE, dump(document, indent=1) + "\n")]
    for name, figure in figures.items():
        written += save_figure(figure, directory, NOT_IN_FILES.sub("-", name))
    return written


def answer_text(document: Document) -> RenderableType:
    """Return what was found, for Rich's console."""
    head = Text(f"{document['problem']} · {document['case']}", style="bold")
    head.append(f" · {document['model']} · {document['analysis']}", style="default")
    found = {name: value for name, value in document.items() if name not in IDENTITY}
    return Group(head, Text(), *_entries(found, 0))


def _entries(values: Mapping[str, Any], depth: int) -> Iterator[RenderableType]:
    for name, value in values.items():
        if is_mapping(value):
            yield Padding(Text(f"{name}:"), (0, 0, 0, 2 * depth))
            yield from _entries(value, depth + 1)
        elif _is_listing(value):
            yield Padding(Text(f"{name}:"), (0, 0, 0, 2 * depth))
            for entry in value[:MOST_SHOWN]:
                yield Padding(Text(_shown(entry)[1:-1]), (0, 0, 0, 2 * depth + 2))
            if len(value) > MOST_SHOWN:
                yield Padding(Text(f"... ({len(value)} in all)"), (0, 0, 0, 2 * depth + 2))
        else:
            yield Padding(Text(f"{name}: {_shown(value)}"), (0, 0, 0, 2 * depth))


def _is_listing(value: Any) -> TypeGuard[list[Any]]:
    return is_list(value) and any(is_mapping(entry) for entry in value)


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
