"""A paper made again: what a plugin says of it, what fails, the page, the command."""

from __future__ import annotations

import json
import re
from importlib import import_module

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from daesolve.cli.app import app
from daesolve.errors import OutputExistsError, PluginError, PosingError, UnknownNameError
from daesolve.reporting.papers import Compared, Item, Paper, Shown, make
from daesolve.reporting.papers import paper as installed_paper

installed = import_module("daesolve.reporting.papers.paper")


def drawn():
    figure = Figure(figsize=(3.0, 2.0))
    figure.add_subplot().plot([0.0, 1.0], [0.0, 1.0])
    return figure


def table(quick):
    rows = [
        Compared("period <of it>", "3.33 s", 3.311958798, "s", "a term is missing"),
        Compared("count", "3", 4 if quick else 5),
    ]
    return Shown(rows, {"a line": drawn()}, {"form 1": r"a < b"}, "Over 60 s.")


def broken(quick):
    raise ZeroDivisionError("by zero")


PAPER = Paper(
    "law-of-falling",
    "On falling",
    "A. Author, On falling (1900)",
    [
        Item("figure 1", "how it falls", table, ["daesolve run ball"]),
        Item("figure 2", "how it falls for long", table, slow=True),
        Item("figure 3", "how it fails", broken),
        Item("figure 4", "what is no figure", lambda quick: 3),
    ],
    missing={"figure 5": "a photograph"},
)


@pytest.fixture
def offered(monkeypatch):
    """The paper as an installed one."""

    class Point:
        name, value, group, dist = PAPER.name, "papers:paper", installed.GROUP, None

        def load(self):
            return PAPER

    monkeypatch.setattr(installed, "entry_points", lambda group: [Point()])


def test_what_fails_does_not_cost_the_rest_and_what_is_slow_is_left_out_when_quick():
    told = []
    made = make(PAPER, quick=True, tell=lambda item: told.append(item.name))
    assert told == ["figure 1", "figure 3", "figure 4"]
    first, second, third, fourth = made.items
    assert first.shown.rows[1].exact == 4
    assert second.shown is None
    assert not second.failed
    assert third.why == "failed: ZeroDivisionError: by zero"
    assert "must give a daesolve.reporting.papers.Shown, not int" in fourth.why
    assert made.failed == (third, fourth)
    assert make(PAPER).items[1].shown.rows[1].exact == 5


def test_the_page_has_values_side_by_side_escaped_with_figures_as_files_of_their_own(tmp_path):
    files = make(PAPER).write(tmp_path / "out")
    assert [file.name for file in files] == [
        "paper.html",
        "paper.json",
        "01-figure-1-a-line.svg",
        "02-figure-2-a-line.svg",
    ]
    page = files[0].read_text()
    assert "period &lt;of it&gt;" in page
    assert "<of it>" not in page
    row = re.search(r"<td>3.33 s</td><td>3.311958798 s</td><td>a term is missing</td>", page)
    assert row is not None
    assert "a &lt; b" in page
    assert "a photograph" in page
    assert "daesolve run ball" in page
    assert page.count("<svg ") == 2
    assert files[2].read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    found = json.loads(files[1].read_text())
    assert found["items"][0]["rows"][0]["exact"] == 3.311958798
    assert found["items"][2]["why_not"].endswith("by zero")


@pytest.mark.slow
def test_the_same_paper_makes_the_same_page_and_a_directory_that_is_full_is_refused(tmp_path):
    pages = [make(PAPER).write(tmp_path / name)[0].read_bytes() for name in "ab"]
    assert pages[0] == pages[1]
    with pytest.raises(OutputExistsError, match="not empty"):
        make(PAPER).write(tmp_path / "a")


def test_a_notebook_shows_tables_and_figures_without_a_page():
    shown = make(PAPER, quick=True)._repr_html_()
    assert "<html" not in shown
    assert "<td>3.33 s</td>" in shown
    assert "var(--" not in shown  # a page of others has not these colours


def test_names_are_checked(offered):
    with pytest.raises(UnknownNameError, match=r"did you mean 'law-of-falling'\?"):
        installed_paper("law-of-fallin")
    assert installed_paper("law-of-falling") is PAPER
    with pytest.raises(PosingError, match="at least one item"):
        Paper("empty", "", "", [])
    with pytest.raises(PosingError, match="two items"):
        Paper("twice", "", "", [PAPER.items[0], PAPER.items[0]])


def test_what_an_entry_point_gives_is_checked(monkeypatch, offered):
    assert "must give a daesolve.reporting.papers.Paper" in installed._wrong("x", 3)
    assert "use one name for both" in installed._wrong("x", PAPER)
    monkeypatch.setitem(PAPER.__dict__, "name", "other")
    with pytest.raises(PluginError, match="use one name"):
        installed_paper("law-of-falling")


@pytest.mark.slow
def test_the_command_writes_the_page_and_says_what_failed(offered, tmp_path):
    ended = CliRunner().invoke(app, ["paper", "law-of-falling", "--out", str(tmp_path / "out")])
    assert ended.exit_code == 3
    assert "3.311958798 s" in ended.stdout
    assert "page:" in ended.stdout
    assert "these items failed: figure 3, figure 4" in ended.stderr
    assert (tmp_path / "out" / "paper.html").is_file()


def test_the_command_gives_json_alone(offered):
    ended = CliRunner().invoke(app, ["paper", "law-of-falling", "--quick", "--json"])
    found = json.loads(ended.stdout)
    assert found["quick"] is True
    assert found["items"][1]["why_not"].startswith("skipped")
