"""The content of reports besides that of a run: tables, figures and parts, and how each is written.

A table is made once, and written for a terminal, a notebook or a page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from daesolve.core.run.solving.descriptions import versions
from daesolve.reporting.facts import (
    GOOD,
    NOTHING,
    bounded,
    correction,
    exact,
    growth,
    power,
    short,
)
from daesolve.reporting.sampling import Document

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

    from daesolve.reporting.layout import Rows

MOST_ROWS = 30
"""The most rows of a table in a notebook."""
MANY_COLUMNS = 7
"""A page is printed in landscape from so many columns on."""


@cache
def template(package: str, name: str) -> Template:
    """Return a page's template, with the filters that write numbers."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def included(part: str) -> str:
        return files("daesolve.reporting").joinpath(part).read_text("utf-8")

    environment = Environment(
        loader=FunctionLoader(included),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(short=short, exact=exact, correction=correction, bounded=bounded)
    return environment.from_string(files(package).joinpath(name).read_text("utf-8"))


class Alarm(str):
    """A cell that says that something went wrong."""


@dataclass(frozen=True)
class ContentTable:
    """A table.

    Parameters
    ----------
    heads
        Of the columns; none where all are empty.
    rows
        Of cells, as text or HTML; None is a dash.
    words
        Columns that hold words; all others are numbers.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    words: Collection[int] = (0,)

    def in_terminal(self, broken: Collection[int] = ()) -> Rows:
        """Return it for Rich's console; only some columns are broken between words."""
        from rich.text import Text

        from daesolve.reporting.layout import Rows

        rows = [
            [Text(cell, style="red") if isinstance(cell, Alarm) else cell for cell in row]
            for row in self.rows
        ]
        whole = [head for place, head in enumerate(self.heads) if place not in broken]
        return Rows(self.heads, rows, whole=whole, right=True, ruled=True)

    def in_notebook(self, most: int = MOST_ROWS) -> Markup:
        """Return it as HTML: of many rows the first, and how many more there are."""
        found = self._html(self.rows[:most], Markup("<table>"))
        more = len(self.rows) - most
        return found + paragraph(f"and {more:,} more") if more > 0 else found

    def in_page(self) -> Markup:
        """Return it as HTML that is as wide as a page, each row with its name."""
        table = self._html(self.rows, Markup('<table class="wide">'), name='th scope="row"')
        broad = len(self.heads) >= MANY_COLUMNS
        return Markup('<div class="broad">{}</div>').format(table) if broad else table

    def _html(self, rows: Sequence[Sequence[Any]], begin: Markup, name: str = "td") -> Markup:
        head = self._line(self.heads, "th", "th") if any(self.heads) else Markup("")
        top = Markup("<thead>{}</thead>").format(head) if head else head
        body = Markup("").join(self._line(row, name, "td") for row in rows)
        table = Markup("{}{}<tbody>{}</tbody></table>").format(begin, top, body)
        return Markup('<div class="scroll">{}</div>').format(table)

    def _line(self, cells: Sequence[Any], first: str, other: str) -> Markup:
        found = [
            Markup("<{}{}>{}</{}>").format(
                Markup(kind),
                Markup("" if place in self.words else ' class="number"'),
                escape(NOTHING if cell is None else cell),
                Markup(kind.partition(" ")[0]),
            )
            for place, cell in enumerate(cells)
            for kind in [first if place == 0 else other]
        ]
        return Markup("<tr>{}</tr>").format(Markup("").join(found))


@dataclass(frozen=True)
class ContentPart:
    """A part of a page, or of a block in a notebook.

    Parameters
    ----------
    heading
        Empty if there is none.
    body
        HTML.
    folded
        Whether it opens when it is clicked.
    """

    heading: str
    body: Markup
    folded: bool = False


def table_part(
    heading: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Any]],
    words: Collection[int] = (0,),
    *,
    folded: bool = False,
) -> ContentPart | None:
    """Return a part of a notebook's block with a table; None if that has no rows."""
    table = ContentTable(heads, rows, words)
    return ContentPart(heading, table.in_notebook(), folded=folded) if rows else None


def paragraph(words: str) -> Markup:
    """Return a line of quiet words."""
    return Markup('<p class="quiet">{}</p>').format(words)


def sentence(words: str) -> Markup:
    """Return a line of words."""
    return Markup("<p>{}</p>").format(words)


def figure_of(title: str, drawn: Markup, caption: str = "") -> Markup:
    """Return a drawn figure as HTML for a page."""
    below = Markup("<figcaption>{}</figcaption>").format(caption) if caption else ""
    return Markup(
        '<figure role="group" aria-label="{}"><div class="scroll">{}</div>{}</figure>'
    ).format(title, drawn, below)


def figure_parts(figures: Mapping[str, Figure | None], name: str) -> list[ContentPart]:
    """Draw figures for a page, each below its title; None is left out.

    Parameters
    ----------
    figures
        By title.
    name
        With which the identifiers of the drawings begin.
    """
    from daesolve.reporting.figures.style import style, svg

    found: list[ContentPart] = []
    with style():
        for number, (title, figure) in enumerate(figures.items()):
            if figure is not None:
                drawn = Markup(svg(figure, f"{name}-{number}"))
                heading = title[:1].upper() + title[1:]
                found.append(ContentPart(heading, figure_of(title, drawn)))
    return found


def page_of(
    title: str, subtitle: str, parts: Iterable[ContentPart | None], *, with_versions: bool = False
) -> str:
    """Return a page of HTML.

    Parameters
    ----------
    title, subtitle
        At its head.
    parts
        What follows below; None is left out.
    with_versions
        Whether it ends with the versions of packages.
    """
    listed = ", ".join(f"{name} {version}" for name, version in versions().items())
    return template("daesolve.reporting", "page.html.jinja").render(
        title=title,
        subtitle=subtitle,
        parts=[part for part in parts if part is not None],
        versions=listed if with_versions else "",
    )


def drift_table(document: Document) -> ContentTable:
    """Return the residuals of a run, over every accepted step."""
    heads = ("goal", "fed back", "largest", "final", "correction", "growth", "scale")
    rows = [
        (
            name,
            "driven" if entry["driven"] else "measured",
            bounded(entry["max_relative"]),
            bounded(entry["final_relative"]),
            correction(entry),
            growth(entry["growth_exponent"]),
            short(entry["scale"]),
        )
        for name, entry in document["drift"].items()
    ]
    return ContentTable(heads, rows, (0, 1))


def comparison_table(document: Document) -> ContentTable:
    """Return the runs of a comparison, and in place of its error how one ended that failed."""
    heads = ("pair", "tolerance", "error", "wall s", "steps", "residual", "invariant")
    rows: list[tuple[str, ...]] = []
    last = ""
    for run in document["runs"]:
        pair = f"{run['formulation']} + {run['solver']}"
        shown, last = "" if pair == last else pair, pair
        rows.append(
            (
                shown,
                power(run["tolerance"]),
                short(run["error"], 2) if run["outcome"] in GOOD else Alarm(run["outcome"]),
                short(run["wall_seconds"], 2),
                short(run["steps"]),
                *(
                    short(None) if entry is None else bounded(entry["max_relative"])
                    for entry in (run["residual"], run["invariant"])
                ),
            )
        )
    return ContentTable(heads, rows)
