"""Text and tables for a terminal of any width: no word is cut or broken, since one may type it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from daesolve.core.encoding import is_list, is_mapping

GAP = 2
"""Characters between columns."""
INDENT = 2
"""Characters before what belongs to a line above it."""
WIDEST = 78
"""Characters that a table may take."""
GAPS = (2, 1)
"""Characters between columns, in order of preference."""
ROUNDING = 1e-13
"""A number below this fraction of the largest beside it is shown as zero."""
LONGEST = 12
"""The most numbers in an entry of a table."""


@dataclass(frozen=True)
class WrappedText:
    """A text that is broken between words only."""

    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(options.max_width, _longest_word(self.text))
        lines = self.text.wrap(console, width)
        for line in lines:
            line.rstrip()
            line.no_wrap, line.overflow = True, "ignore"
            yield line


@dataclass(frozen=True)
class Indented:
    """What belongs to a line above it."""

    part: RenderableType
    by: int = INDENT

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        part = WrappedText(self.part) if isinstance(self.part, Text) else self.part
        inner = options.update(width=max(options.max_width - self.by, 1))
        for line in Segment.split_lines(console.render(part, inner)):
            yield Segment(" " * self.by)
            yield from line
            yield Segment.line()


@dataclass(frozen=True, eq=False)
class Rows:
    """A table, or where the terminal is too narrow for its words, each row as lines.

    Parameters
    ----------
    heads
        Of the columns.
    rows
        Cells, as many as heads.
    whole
        The heads of columns whose cells are not broken between words either.
    right
        Whether columns behind the first are aligned at their right.
    gap
        Characters between columns.
    ruled
        Whether a line is drawn below the heads.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Text]]
    whole: Collection[str] = ()
    right: bool = False
    gap: int = GAP
    ruled: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths(options.max_width)
        yield from self._listed() if widths is None else [self._drawn(widths)]

    @property
    def width(self) -> int:
        """The characters of the widest lines, if no cell is broken."""
        return sum(map(_width, self._columns())) + self.gap * (len(self.heads) - 1)

    def _columns(self) -> Iterable[Sequence[Text]]:
        return zip(*(map(_text, row) for row in (self.heads, *self.rows)), strict=True)

    def _widths(self, room: int) -> list[int] | None:
        """Return the width of each column; None if words are too long for the room."""
        room -= self.gap * (len(self.heads) - 1)
        most = [_width(column) for column in self._columns()]
        least = [
            full if head in self.whole else max(map(_longest_word, column))
            for head, full, column in zip(self.heads, most, self._columns(), strict=True)
        ]
        if sum(least) > room:
            return None
        widths = least
        for cap in range(max(most, default=0) + 1):
            wider = [max(low, min(high, cap)) for low, high in zip(least, most, strict=True)]
            if sum(wider) > room:
                break
            widths = wider
        return widths

    def _drawn(self, widths: Sequence[int]) -> Table:
        line = box.SIMPLE_HEAD if self.ruled else None  # it is a character wide itself
        table = Table(
            box=line, pad_edge=False, show_edge=False, padding=(0, self.gap - self.ruled, 0, 0),
            header_style="bold",
        )  # fmt: skip
        for place, (head, width) in enumerate(zip(self.heads, widths, strict=True)):
            justify = "right" if self.right and place else "left"
            table.add_column(Text(head), justify=justify, width=width)
        for row in self.rows:
            table.add_row(*map(_text, row))
        return table

    def _listed(self) -> Iterable[RenderableType]:
        """Return the first cell of each row, and below it the others behind their heads."""
        for row in self.rows:
            first, *others = map(_text, row)
            if first.plain:
                yield WrappedText(first)
            for head, cell in zip(self.heads[1:], others, strict=True):
                if cell.plain:
                    yield Indented(Text.assemble(f"{head}: ", cell))


def _text(cell: str | Text) -> Text:
    return Text(cell) if isinstance(cell, str) else cell


def _width(cells: Sequence[Text]) -> int:
    return max(cell.cell_len for cell in cells)


def _longest_word(text: Text) -> int:
    return max((Text(word).cell_len for word in text.plain.split()), default=1)


def table_of(entries: Sequence[Any], shown: Callable[[Any], str]) -> Rows | None:
    """Return entries as a table, an entry a row or, where that is too wide, an entry a column.

    Parameters
    ----------
    entries
        Of a list.
    shown
        Returns a value in words.

    Returns
    -------
    Rows or None
        None if they have not the same names, or neither table is narrow enough.
    """
    flat = [_flattened(entry) for entry in entries]
    if len(flat) < 2 or any(row is None for row in flat):
        return None
    rows = [row for row in flat if row is not None]
    names = list(rows[0])
    if not names or any(list(row) != names for row in rows):
        return None
    cells = [[shown(row[name]) for name in names] for row in rows]
    heads = [name.rpartition(".")[2] for name in names]
    heads = names if len(set(heads)) < len(heads) else heads
    upright = [heads, *cells]
    turned = [list(column) for column in zip(*upright, strict=True)]
    for lines in (upright, turned):
        for gap in GAPS:
            heads, *others = lines
            table = Rows(heads, others, whole=heads, right=True, gap=gap)
            if table.width <= WIDEST:
                return table
    return None


def _flattened(entry: Any, before: str = "") -> dict[str, Any] | None:
    """Return the values of an entry by name; None if it has lists of entries, or long lists."""
    if not is_mapping(entry):
        return None
    found: dict[str, Any] = {}
    for name, value in entry.items():
        if is_mapping(value):
            inner = _flattened(value, f"{before}{name}.")
            if inner is None:
                return None
            found |= _rounded(inner)
        elif is_list(value) and (len(value) > LONGEST or any(map(_is_nested, value))):
            return None
        else:
            found[f"{before}{name}"] = value
    return found


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of one kind, without those that are the rounding of others."""
    sizes = [abs(value) for value in values.values() if isinstance(value, float)]
    least = ROUNDING * max(sizes, default=0.0)
    return {
        name: 0.0 if isinstance(value, float) and abs(value) <= least else value
        for name, value in values.items()
    }


def _is_nested(value: Any) -> bool:
    return is_mapping(value) or is_list(value)
