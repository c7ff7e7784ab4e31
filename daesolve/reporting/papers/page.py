"""A paper as a page: published and exact values side by side, and its figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.text import Text

from daesolve.core.run.solving.descriptions import versions
from daesolve.reporting import make_empty
from daesolve.reporting.document import dump, plain, replace_file
from daesolve.reporting.facts import heading, short, template
from daesolve.reporting.figures.style import alone, style, svg
from daesolve.reporting.layout import Indented, Rows
from daesolve.reporting.papers.paper import Compared, MadeItem, PaperResults

DIGITS = 10
"""Digits of an exact value."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the page.

    Parameters
    ----------
    title, stem
        What it shows, and the name of its file without an ending.
    drawn
        The <svg> element.
    """

    title: str
    stem: str
    drawn: Markup


@dataclass(frozen=True)
class PageItem:
    """An item of the page."""

    made: MadeItem
    rows: tuple[tuple[str, ...], ...]
    pictures: tuple[PaperFigure, ...]
    reasons: bool

    @property
    def heading(self) -> str:
        """Its place in the paper, and what it shows."""
        return f"{heading(self.made.item.name)}: {self.made.item.title}"


def write(made: PaperResults, directory: Path) -> list[Path]:
    """Write the page, its numbers and its figures; see `MadePaper.write`."""
    make_empty(directory)
    parts = _parts(made)
    page = template("daesolve.reporting.papers", "paper.html.jinja").render(
        made=made, parts=parts, whole=True, versions=_versions()
    )
    files = [
        replace_file(directory / "paper.html", page),
        replace_file(directory / "paper.json", dump(document(made), indent=1) + "\n"),
    ]
    pictures = [picture for part in parts for picture in part.pictures]
    return files + [
        replace_file(directory / f"{p.stem}.svg", alone(str(p.drawn))) for p in pictures
    ]


def fragment(made: PaperResults) -> str:
    """Return tables and figures for an existing page."""
    found = template("daesolve.reporting.papers", "paper.html.jinja").render(
        made=made, parts=_parts(made), whole=False, versions=""
    )
    return re.sub(r"<svg .*?</svg>", lambda drawn: alone(drawn[0]), found, flags=re.DOTALL)


def document(made: PaperResults) -> dict[str, Any]:
    """Return the results as an object for JSON, without the drawings."""
    return plain(
        {
            "paper": made.paper.name,
            "title": made.paper.title,
            "source": made.paper.source,
            "quick": made.quick,
            "items": [_item(entry) for entry in made.items],
            "missing": dict(made.paper.missing),
            "versions": versions(),
        }
    )


def _item(made: MadeItem) -> Mapping[str, Any]:
    shown = made.shown
    return {
        "name": made.item.name,
        "title": made.item.title,
        "commands": list(made.item.commands),
        "why_not": made.why,
        "rows": [] if shown is None else [asdict(row) for row in shown.rows],
        "figures": [] if shown is None else list(shown.figures),
        "formulas": {} if shown is None else dict(shown.formulas),
        "note": "" if shown is None else shown.note,
    }


def text(made: PaperResults) -> RenderableType:
    """Return the tables for Rich's console."""
    lines: list[RenderableType] = [Text(made.paper.title, style="bold"), Text(made.paper.source)]
    for entry in made.items:
        lines += [Text(), Text(f"{heading(entry.item.name)}: {entry.item.title}", style="bold")]
        if entry.shown is None:
            lines.append(Indented(Text(entry.why, style="red" if entry.failed else "")))
            continue
        if entry.shown.rows:
            lines.append(Indented(_table(entry.shown.rows)))
        if entry.shown.note:
            lines.append(Indented(Text(entry.shown.note)))
    if made.paper.missing:
        lines += [Text(), Text("Not made", style="bold")]
        left_out = made.paper.missing.items()
        lines += [Indented(Text(f"{name}: {why}")) for name, why in left_out]
    return Group(*lines)


def _table(rows: Sequence[Compared]) -> Rows:
    lines: list[tuple[str | Text, ...]] = []
    for row in rows:
        quantity, published, exact, why = _cells(row)
        lines.append((quantity, published, exact))
        if why:
            lines.append(("", Text(why, style="italic"), ""))
    return Rows(("", "published", "exact"), lines, ruled=True)


def _cells(row: Compared) -> tuple[str, str, str, str]:
    exact = short(float(row.exact), DIGITS) if isinstance(row.exact, float) else str(row.exact)
    return row.quantity, row.published, f"{exact} {row.unit}".rstrip(), row.why


def _parts(made: PaperResults) -> list[PageItem]:
    with style():
        return [_part(made, number, entry) for number, entry in enumerate(made.items, start=1)]


def _part(made: PaperResults, number: int, entry: MadeItem) -> PageItem:
    if entry.shown is None:
        return PageItem(entry, (), (), reasons=False)
    pictures: list[PaperFigure] = []
    for title, figure in entry.shown.figures.items():
        words = re.sub(r"[^a-z0-9]+", "-", f"{entry.item.name} {title}".lower()).strip("-")
        stem = f"{number:02}-{words}"
        drawn = Markup(svg(figure, f"{made.paper.name}-{stem}"))
        pictures.append(PaperFigure(title, stem, drawn))
    rows = tuple(_cells(row) for row in entry.shown.rows)
    return PageItem(entry, rows, tuple(pictures), reasons=any(row[-1] for row in rows))


def _versions() -> str:
    return ", ".join(f"{name} {version}" for name, version in versions().items())
