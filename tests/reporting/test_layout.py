"""Tables and texts for a terminal of any width."""

import io
from itertools import product

import pytest
from rich.console import Console
from rich.text import Text

from daesolve.reporting.layout import Indented, Rows, WrappedText

NAMES = ("rolling-wheel", "a-name-that-is-longer-than-a-narrow-terminal-is-wide", "kurz")
HEADS = ("case", "note", "command")


def printed(part, width: int) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(part, crop=False)
    return console.file.getvalue()


@pytest.mark.core
@pytest.mark.parametrize("width", [10, 20, 40, 60, 80, 200])
def test_no_name_is_cut_or_broken_however_narrow_the_terminal(width):
    cells = [(name, f"the note of {name}, and more", "pip install this") for name in NAMES]
    for right, ruled, whole in product((False, True), (False, True), ((), HEADS[2:])):
        table = Rows(HEADS, cells, whole=whole, right=right, ruled=ruled)
        for part in (table, Indented(table), WrappedText(Text(", ".join(NAMES)))):
            told = printed(part, width)
            assert "…" not in told
            assert all(name in told.replace(",", " ").split() for name in NAMES)


def test_a_table_that_fits_has_a_line_for_each_row_and_breaks_the_widest_column_first():
    cells = [("one", "a few words that may be broken", "1e-3"), ("two", "short", "12")]
    wide = printed(Rows(HEADS, cells), 80)
    assert [line.split()[0] for line in wide.splitlines()] == ["case", "one", "two"]
    narrow = printed(Rows(HEADS, cells, whole=("command",)), 30).splitlines()
    assert max(map(len, narrow)) <= 30
    assert narrow[0].split() == ["case", "note", "command"]
    assert [line.split()[0] for line in narrow if not line.startswith(" ")] == [
        "case", "one", "two",
    ]  # fmt: skip


def test_what_does_not_fit_side_by_side_is_listed_behind_its_head():
    cells = [("release", "3 s", ""), ("", "4 s", "x")]
    told = printed(Rows(("case", "until", "note"), cells), 12).splitlines()
    assert told == ["release", "  until: 3 s", "  until: 4 s", "  note: x"]
