"""A paper as a page: published and exact values side by side, and its figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure
from rich.console import Group, RenderableType
from rich.text import Text

from daesolve.core.run.solving.descriptions import versions
from daesolve.errors import DaesolveError, PluginError, in_words
from daesolve.reporting import make_empty
from daesolve.reporting.content import ContentPart, ContentTable, figure_of, page_of, paragraph
from daesolve.reporting.document import dump, plain, replace_file
from daesolve.reporting.facts import heading, short
from daesolve.reporting.figures.style import alone, style, svg
from daesolve.reporting.layout import Indented, Rows
from daesolve.reporting.papers.paper import Compared, Item, MadeItem, Paper, PaperResults, Shown

DIGITS = 10
"""Digits of an exact value."""
QUICK = Markup(
    "<p>Quick version: shorter runs, without the long items. "
    "<code>daesolve paper {} --out DIR</code> computes everything.</p>"
)
FORMULA = Markup("<details><summary>{}, in LaTeX</summary><pre><code>{}</code></pre></details>")
Tell = Callable[[Item], object]
LEFT_OUT = "skipped: it takes long, and --quick was given"


def write(made: PaperResults, directory: Path) -> list[Path]:
    """Write the page, its numbers and its figures; see `MadePaper.write`."""
    make_empty(directory)
    drawings = _drawings(made)
    begin: list[ContentPart] = []
    if made.quick:
        begin.append(ContentPart("", QUICK.format(made.paper.name)))
    page = page_of(
        made.paper.title,
        made.paper.source,
        [*begin, *_parts(made, drawings, commands=True)],
        with_versions=True,
    )
    files = [
        replace_file(directory / "paper.html", page),
        replace_file(directory / "paper.json", dump(document(made), indent=1) + "\n"),
    ]
    stems = [each for of_item in drawings for each in of_item.values()]
    return files + [replace_file(directory / f"{s}.svg", alone(str(svg))) for s, svg in stems]


def fragment(made: PaperResults) -> str:
    """Return tables and figures for an existing page."""
    parts = _parts(made, _drawings(made), commands=False)
    body = Markup("").join(
        Markup("<p><strong>{}</strong></p>{}").format(part.heading, part.body) for part in parts
    )
    found = Markup('<div class="paper">{}</div>').format(body)
    return re.sub(r"<svg .*?</svg>", lambda drawn: alone(drawn[0]), found, flags=re.DOTALL)


def _drawings(made: PaperResults) -> list[dict[str, tuple[str, Markup]]]:
    """Draw the figures of each item: by title, the stem of its file, and the <svg> element."""
    found: list[dict[str, tuple[str, Markup]]] = []
    with style():
        for number, entry in enumerate(made.items, start=1):
            drawn: dict[str, tuple[str, Markup]] = {}
            figures: Mapping[str, Figure] = {} if entry.shown is None else entry.shown.figures
            for title, figure in figures.items():
                words = re.sub(r"[^a-z0-9]+", "-", f"{entry.item.name} {title}".lower()).strip("-")
                stem = f"{number:02}-{words}"
                drawn[title] = stem, Markup(svg(figure, f"{made.paper.name}-{stem}"))
            found.append(drawn)
    return found


def _parts(
    made: PaperResults, drawings: Sequence[Mapping[str, tuple[str, Markup]]], *, commands: bool
) -> list[ContentPart]:
    """Return a part for each item, and what is not made."""
    parts = [
        ContentPart(
            f"{heading(entry.item.name)}: {entry.item.title}",
            Markup("").join(_contents(entry, drawn, commands=commands)),
        )
        for entry, drawn in zip(made.items, drawings, strict=True)
    ]
    missing = ContentTable(("", ""), list(made.paper.missing.items()), (0, 1))
    return [*parts, ContentPart("Not made", missing.in_page())] if missing.rows else parts


def _contents(
    entry: MadeItem, drawn: Mapping[str, tuple[str, Markup]], *, commands: bool
) -> Iterator[Markup]:
    """Yield what an item shows: its values, figures, formulas and note."""
    shown = entry.shown
    if shown is None:
        tone = "exceeded" if entry.failed else "quiet"
        yield Markup('<p class="{}">{}</p>').format(tone, entry.why)
    else:
        rows = [_cells(row) for row in shown.rows]
        heads = ("", "published", "exact", "what differs, and why")
        columns = len(heads) if any(row[-1] for row in rows) else len(heads) - 1
        cells = [row[:columns] for row in rows]
        if rows:
            yield ContentTable(heads[:columns], cells, range(columns)).in_page()
        for title, (_, picture) in drawn.items():
            yield figure_of(title, picture, title)
        for title, formula in shown.formulas.items():
            yield FORMULA.format(title, formula)
        if shown.note:
            yield paragraph(shown.note)
    if commands and entry.item.commands:
        listed = Markup("; ").join(Markup("<code>{}</code>").format(c) for c in entry.item.commands)
        yield Markup('<p class="quiet">{}</p>').format(listed)


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


@dataclass(frozen=True, eq=False)
class MadePaper(PaperResults):
    """A reproduced paper; a notebook shows its tables and figures."""

    def _repr_html_(self) -> str:
        """Return tables and figures for a notebook, without a page around them."""
        return fragment(self)

    def write(self, directory: Path | str) -> list[Path]:
        """Write `paper.html`, `paper.json` and each figure as SVG; return the files.

        Raises
        ------
        OutputExistsError
            The directory is not empty, or cannot be created.
        """
        return write(self, Path(directory))


def make(paper: Paper, *, quick: bool = False, tell: Tell | None = None) -> MadePaper:
    """Reproduce the figures and tables of a paper.

    Parameters
    ----------
    paper
        From `daesolve.reporting.papers.paper(NAME)`, or your own.
    quick
        Shorten the runs, and skip slow items.
    tell
        Called with each item before it is reproduced.
    """
    from daesolve.reporting.figures.style import style

    found: list[MadeItem] = []
    with style():
        for item in paper.items:
            if quick and item.slow:
                found.append(MadeItem(item, None, LEFT_OUT))
                continue
            if tell is not None:
                tell(item)
            found.append(_made(paper, item, quick=quick))
    return MadePaper(paper, tuple(found), quick)


def _made(paper: Paper, item: Item, *, quick: bool) -> MadeItem:
    try:
        shown = item.make(quick)
        if not isinstance(shown, Shown):
            raise PluginError(
                f"{item.name} of the paper {paper.name!r} must give a "
                f"daesolve.reporting.papers.Shown, not {type(shown).__name__}"
            )
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        why = str(error) if isinstance(error, DaesolveError) else in_words(error)
        return MadeItem(item, None, f"failed: {why}", failed=True)
    return MadeItem(item, shown)
