"""Sections of equations as Markdown, from expressions with left-hand sides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from daesolve.export.forms import LEAST_NAMED
from daesolve.export.latex import MOST, WIDTH, FormulaWriter, LatexExpressions, aligned, seen

Entry = tuple[str, ca.SX | ca.DM | float]
"""The LaTeX of a left-hand side, and the expression on the right."""

WIDEST = 1.2 * WIDTH
"""The width of a table in visible characters."""
NOT_PRINTED = 'operations; not printed. `system.function("rhs")` computes them.'


@dataclass(frozen=True)
class EquationSection:
    """A part of the equations: its title and its Markdown."""

    title: str
    text: str


@dataclass(frozen=True)
class Extent:
    """How much is printed; the rest is only counted.

    Parameters
    ----------
    operations
        Of what is printed together.
    formulas
        Goals and events whose formulas are printed.
    rows
        Equations of one kind.
    matrix
        Rows of a matrix in a table.
    entries
        Whether the entries of larger ones are listed.
    named
        Operations from which on a part that occurs often enough is named.
    """

    operations: int
    formulas: int
    rows: int
    matrix: int
    entries: bool
    named: int


PAGE = Extent(MOST, 12, 18, 6, False, LEAST_NAMED)
"""The extent of a page for a first look."""
DOCUMENT = Extent(3000, 400, 400, 6, True, 3)
"""The extent of a document for reference."""


def named(name: str) -> str:
    """Return a name for text, with lookalikes of characters that would end it or a column."""
    plain = " ".join(name.replace("`", "'").replace("|", "\N{BROKEN BAR}").split())
    return f"`{plain}`"


def displayed(maths: str) -> str:
    """Return a displayed formula."""
    return f"$$\n{maths}\n$$"


class EquationWriter:
    """Writes equations as Markdown; a part named in one section is known in the next.

    Parameters
    ----------
    symbols
        LaTeX by name.
    constants
        The names of what comes first in products.
    extent
        How much is printed.
    """

    def __init__(
        self, symbols: Mapping[str, str], constants: Collection[str], extent: Extent
    ) -> None:
        self.extent = extent
        self._formulas = FormulaWriter(symbols, constants, extent.operations, extent.named)

    def prepare(self, expressions: ca.SX) -> None:
        """Give names to sums that appear in several denominators, before anything is written."""
        self._formulas.prepare(ca.vertsplit(ca.densify(expressions)))

    def equations(self, entries: Sequence[Entry], end: str = "") -> str:
        """Return equations with left-hand sides, and the parts named in them."""
        shown = entries[: self.extent.rows]
        written = self._formulas.write([ca.SX(expression) for _, expression in shown])
        if not written.printed:
            return f"{self._listed(shown)}{written.operations} {NOT_PRINTED}"
        rows = zip([left for left, _ in shown], written.formulas, strict=True)
        text = displayed(aligned(rows, end))
        if len(entries) > len(shown):
            text += f"\n\nand {len(entries) - len(shown)} more, which are not printed"
        if written.parts:
            text += f"\n\nwith\n\n{displayed(aligned(written.parts))}"
        elif len(entries) > len(shown):
            text += "."
        return text

    def matrix(self, name: str, matrix: ca.SX, *, symmetric: bool = False) -> str:
        """Return a matrix as a table if that fits on a page, otherwise its entries.

        Parameters
        ----------
        name
            Its LaTeX.
        matrix
            (m, n)
        symmetric
            Whether the entries below its diagonal need not be listed.
        """
        rows, columns = matrix.shape
        if max(rows, columns) > self.extent.matrix and not self.extent.entries:
            count = ca.sparsify(matrix).nnz()
            return (
                f"The matrix ${name}$ is {rows} by {columns}, with {count} entries that are "
                "not zero."
            )
        places = [(i, j) for i in range(rows) for j in range(columns) if not symmetric or j >= i]
        if max(rows, columns) <= self.extent.matrix:
            written = self._formulas.write([ca.SX(ca.densify(matrix)[i, j]) for i, j in places])
            if not written.printed:
                return f"The matrix ${name}$: {written.operations} {NOT_PRINTED}"
            texts = dict(zip(places, [" ".join(terms) for terms in written.formulas], strict=True))
            table = [
                [texts[min(i, j), max(i, j)] if symmetric else texts[i, j] for j in range(columns)]
                for i in range(rows)
            ]
            width = sum(max(map(seen, column)) + 3 for column in zip(*table, strict=True))
            if width <= WIDEST:
                return _with_parts(_table(name, table), written)
        which = ", on and above the diagonal" if symmetric else ""
        listed = not_zero(
            [(_entry_name(name, i, j, columns), ca.SX(matrix[i, j])) for i, j in places]
        )
        if not listed:
            return f"The matrix ${name}$ is zero."
        return (
            f"The matrix ${name}$ is {rows} by {columns}; its entries that are not zero{which}:"
            f"\n\n{self.equations(listed)}"
        )

    def identities(self, sides: Sequence[tuple[ca.SX, ca.SX]]) -> str:
        """Return equations with expressions on both sides."""
        written = self._formulas.write([ca.SX(side) for pair in sides for side in pair])
        if not written.printed:
            return f"{written.operations} {NOT_PRINTED}"
        lefts, rights = written.formulas[::2], written.formulas[1::2]
        rows = [
            ("", [*left, f"= {right[0]}", *right[1:]])
            for left, right in zip(lefts, rights, strict=True)
        ]
        return _with_parts(displayed(aligned(rows)), written)

    def each(
        self, given: Sequence[object], write: Callable[..., str], what: str, where: str
    ) -> list[str]:
        """Return the first of many formulas, and how many others there are."""
        texts = [write(entry) for entry in given[: self.extent.formulas]]
        rest = len(given) - len(texts)
        if rest:
            texts.append(
                f"The formulas of {rest} more {what} are not printed; they are in `{where}`."
            )
        return texts

    def _listed(self, entries: Sequence[Entry]) -> str:
        lefts = [f"${left}$" for left, _ in entries if left][: self.extent.formulas]
        more = ", …" if len(entries) > len(lefts) and lefts else ""
        return f"{', '.join(lefts)}{more}: " if lefts else ""


def _table(name: str, entries: Sequence[Sequence[str]]) -> str:
    body = " \\\\\n".join(" & ".join(row) for row in entries)
    return displayed(f"{name} = \\begin{{pmatrix}}\n{body}\n\\end{{pmatrix}}")


def _entry_name(name: str, row: int, column: int, columns: int) -> str:
    own = name.lower() if name.startswith("M") else name
    return f"{own}_{{{row + 1}}}" if columns == 1 else f"{own}_{{{row + 1},{column + 1}}}"


def _with_parts(text: str, written: LatexExpressions) -> str:
    """Add the named expressions of formulas."""
    return f"{text}\n\nwith\n\n{displayed(aligned(written.parts))}" if written.parts else text


def not_zero(entries: Iterable[Entry]) -> list[Entry]:
    """Return the equations whose right-hand sides are not zero."""
    return [(left, entry) for left, entry in entries if not ca.SX(entry).is_zero()]
