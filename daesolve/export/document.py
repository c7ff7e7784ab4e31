"""Sections of equations as a LaTeX document that `pdflatex` compiles with a basic TeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from daesolve.export.sections import EquationSection
from daesolve.export.writing import MARK

PREAMBLE = r"""\documentclass[10pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[margin=22mm]{geometry}
\usepackage{amsmath,amssymb}
\allowdisplaybreaks
\setcounter{MaxMatrixCols}{40}
\setlength{\parindent}{0pt}
\setlength{\parskip}{5pt}
\emergencystretch=3em
"""
INLINE = re.compile(r"`([^`]*)`|\$([^$]*)\$")
SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "…": r"\dots{}",
    "–": "--",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "°": r"$^\circ$",
    "\N{BROKEN BAR}": r"\textbar{}",
    "µ": r"$\mu$",
    "ß": r"\ss{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ω": r"$\omega$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "π": r"$\pi$",
    "θ": r"$\theta$",
    "φ": r"$\varphi$",
}
ACCENTS = dict(
    zip(
        map(chr, (0x300, 0x301, 0x302, 0x303, 0x304, 0x306, 0x307, 0x308, 0x30A, 0x30B, 0x30C)),
        ("`", "'", "^", "~", "=", "u", ".", '"', "r", "H", "v"),
        strict=True,
    )
)
"""The commands of accents."""
DISPLAY = re.compile(r"\$\$\n(.*?)\n\$\$", re.DOTALL)
TABLE_RULE = re.compile(r"\|(-+\|)+")


def body_of(sections: Sequence[EquationSection]) -> str:
    r"""Return sections as LaTeX, for a document that loads `amsmath`.

    Parameters
    ----------
    sections
        Their Markdown has paragraphs, formulas, tables and lists; names are in backticks.
    """
    return f"% {MARK}\n\n{_bodies(sections)}\n"


def document_of(title: str, sections: Sequence[EquationSection]) -> str:
    """Return a whole document; its title is plain text."""
    return (
        f"% {MARK}\n{PREAMBLE}\\title{{{escaped(title)}}}\n\\author{{}}\n\\date{{}}\n"
        f"\\begin{{document}}\n\\maketitle\n\n{_bodies(sections)}\n\n\\end{{document}}\n"
    )


def _bodies(sections: Sequence[EquationSection]) -> str:
    pieces = [f"\\section*{{{escaped(s.title)}}}\n\n{_of_text(s.text)}" for s in sections]
    return "\n\n".join(pieces)


def escaped(text: str) -> str:
    """Return plain text as LaTeX; letters unknown to a basic TeX become their numbers."""
    return "".join(map(_letter, text))


def _letter(letter: str) -> str:
    if letter in SPECIAL:
        return SPECIAL[letter]
    if letter.isascii() or letter in "‘’“”":
        return letter if letter.isprintable() else " "
    base, *accent = unicodedata.normalize("NFD", letter)
    if base.isascii() and len(accent) == 1 and accent[0] in ACCENTS:
        return f"\\{ACCENTS[accent[0]]}{{{base}}}"
    return f"[U+{ord(letter):04X}]"


def _of_text(text: str) -> str:
    """Return Markdown as LaTeX, block by block."""
    pieces: list[str] = []
    place = 0
    for found in DISPLAY.finditer(text):
        pieces += _blocks(text[place : found.start()])
        pieces.append(_display(found[1]))
        place = found.end()
    pieces += _blocks(text[place:])
    return "\n\n".join(pieces)


def _display(maths: str) -> str:
    """Return a formula on lines of its own; equations below each other may run over a page."""
    rows = maths.removeprefix("\\begin{aligned}\n").removesuffix("\n\\end{aligned}")
    if rows == maths:
        return f"\\[\n{maths}\n\\]"
    return f"\\begin{{align*}}\n{rows}\n\\end{{align*}}"


def _blocks(text: str) -> list[str]:
    blocks = [block for block in text.split("\n\n") if block.strip()]
    return [_block(block.strip().split("\n")) for block in blocks]


def _block(lines: list[str]) -> str:
    if len(lines) > 1 and TABLE_RULE.fullmatch(lines[1]):
        return _table(lines)
    if all(line.startswith("- ") for line in lines):
        items = "\n".join(f"\\item {_inline(line[2:])}" for line in lines)
        return f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}"
    return "\n".join(map(_inline, lines))


def _table(lines: list[str]) -> str:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    columns = len(cells[0])
    # Names may be long: the columns share the width of the page, and break their lines.
    column = f"p{{{0.9 / columns:.3f}\\linewidth}}"
    rows = [" & ".join(map(_inline, row)) + r" \\" for row in (cells[0], *cells[2:])]
    rows.insert(1, "\\hline")
    # A table of many rows is cut into several, since one does not run over a page.
    pieces = [rows[k : k + 40] for k in range(0, len(rows), 40)]
    return "\n\n".join(
        f"\\begin{{tabular}}{{{column * columns}}}\n" + "\n".join(piece) + "\n\\end{tabular}"
        for piece in pieces
    )


def _inline(text: str) -> str:
    """Return a line of text with names and formulas in it."""
    pieces: list[str] = []
    place = 0
    for found in INLINE.finditer(text):
        pieces.append(escaped(text[place : found.start()]))
        if found[1] is not None:
            # Long names may break behind an underscore.
            name = escaped(found[1]).replace(r"\_", r"\_\allowbreak{}")
            pieces.append(f"\\texttt{{{name}}}")
        else:
            pieces.append(f"${found[2]}$")
        place = found.end()
    pieces.append(escaped(text[place:]))
    return "".join(pieces)
