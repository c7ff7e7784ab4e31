"""Tables: aligned for a terminal, as Markdown, and between two marks of a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with its first column aligned left and the others aligned right.

    If a row is shorter than the heads, its last cell is a text that fills the rest of the line.
    """
    whole = [row for row in rows if len(row) == len(heads)]
    widths = [max(len(cell) for cell in column) for column in zip(heads, *whole, strict=True)]
    widths[0] = max(widths[0], *(len(row[0]) for row in rows)) if rows else widths[0]

    def line(cells: Sequence[str]) -> str:
        if len(cells) < len(heads):
            return f"{cells[0]:{widths[0]}}  {' '.join(cells[1:])}".rstrip()
        rest = zip(cells[1:], widths[1:], strict=True)
        return "  ".join([f"{cells[0]:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in rest)])

    return "\n".join(line(cells) for cells in (heads, *rows))


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *rows))


def folded(summary: str, text: str) -> str:
    """Return Markdown that a page of the documentation folds behind a summary."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def replaced(document: str, mark: str, tables: str) -> str:
    """Return a document with the text between its two marks replaced.

    Raises
    ------
    ValueError
        The document has no such marks.
    """
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    if begin not in document or end not in document:
        raise ValueError(f"the document has no lines {begin} and {end} for the tables")
    before, rest = document.split(begin, 1)
    return f"{before}{begin}\n\n{tables.strip()}\n\n{end}{rest.split(end, 1)[1]}"


def update(path: Path, mark: str, tables: str) -> None:
    """Replace the text between two marks of a file."""
    path.write_text(replaced(path.read_text(encoding="utf-8"), mark, tables), encoding="utf-8")
