"""HTML for notebooks: headings, cards, tables and figures, with their own style.

A block has its own ground, so that it can be read whatever the notebook's theme; it is dark where
the notebook says that it is: JupyterLab, VS Code, and pages by Sphinx.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from daesolve.reporting.content import ContentPart, ContentTable, template
from daesolve.reporting.facts import Card

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DISPLAY = re.compile(r"\$\$\n(.*?)\n\$\$", re.DOTALL)
INLINE = re.compile(r"`([^`]*)`|\$([^$]*)\$")
TABLE_RULE = re.compile(r"\|([-:]+\|)+")


def block(
    title: str,
    subtitle: str = "",
    cards: Sequence[Card] = (),
    parts: Iterable[ContentPart | None] = (),
) -> str:
    """Return a block of HTML for a notebook.

    Parameters
    ----------
    title, subtitle
        Its first line.
    cards
        Facts beside each other.
    parts
        What follows below; None is left out.
    """
    return template("daesolve.reporting", "notebook.html.jinja").render(
        title=title,
        subtitle=subtitle,
        cards=cards,
        parts=[part for part in parts if part is not None],
    )


def code(text: str) -> Markup:
    """Return lines of code."""
    return Markup("<pre>{}</pre>").format(text)


def drawn(figures: Sequence[Figure]) -> Markup:
    """Return figures as SVG that takes the colours of its block."""
    from daesolve.reporting.figures.style import style, svg

    found: list[Markup] = []
    for figure in figures:
        with style():
            text = svg(figure, "figure")
            # Its identifiers must differ from those of every other output of the notebook.
            text = svg(figure, f"figure-{sha256(text.encode()).hexdigest()[:12]}")
        found.append(Markup('<div class="plot">{}</div>').format(Markup(text)))
    return Markup("").join(found)


def of_markdown(text: str) -> Markup:
    """Return the Markdown of equations as HTML: paragraphs, tables, lists and formulas.

    Parameters
    ----------
    text
        As `daesolve.export.sections` writes it: formulas between dollar signs, names in backticks.
    """
    pieces: list[Markup] = []
    place = 0
    for found in DISPLAY.finditer(text):
        pieces += _blocks(text[place : found.start()])
        pieces.append(Markup('<div class="math formula">\\[{}\\]</div>').format(found[1]))
        place = found.end()
    return Markup("").join([*pieces, *_blocks(text[place:])])


def _blocks(text: str) -> list[Markup]:
    blocks = (block.strip() for block in text.split("\n\n"))
    return [_block(block.split("\n")) for block in blocks if block]


def _block(lines: list[str]) -> Markup:
    if len(lines) > 1 and TABLE_RULE.fullmatch(lines[1]):
        cells = [
            [_inline(cell.strip()) for cell in line.strip("|").split("|")]
            for line in (lines[0], *lines[2:])
        ]
        return ContentTable(cells[0], cells[1:], range(len(cells[0]))).in_notebook()
    if all(line.startswith("- ") for line in lines):
        entries = Markup("").join(Markup("<li>{}</li>").format(_inline(x[2:])) for x in lines)
        return Markup("<ul>{}</ul>").format(entries)
    return Markup("<p>{}</p>").format(Markup(" ").join(map(_inline, lines)))


def _inline(text: str) -> Markup:
    """Return a line of text with names and formulas in it."""
    pieces: list[Markup] = []
    place = 0
    for found in INLINE.finditer(text):
        pieces.append(escape(text[place : found.start()]))
        if found[1] is not None:
            pieces.append(Markup("<code>{}</code>").format(found[1]))
        else:
            pieces.append(Markup('<span class="math">\\({}\\)</span>').format(found[2]))
        place = found.end()
    return Markup("").join([*pieces, escape(text[place:])])
