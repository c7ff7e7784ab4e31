import json
import re
from html.parser import HTMLParser

import pytest
from matplotlib.figure import Figure

from daesolve.errors import OutputExistsError
from daesolve.reporting import ReportError, make_empty, page, rebuild, write
from daesolve.reporting.html import EVENTS_SHOWN

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Checker(HTMLParser):
    """Keeps what is open, and what identifiers there are."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def own_figure(document):
    figure = Figure()
    figure.add_subplot().plot(document["times"], document["states"]["x"])
    return figure


@pytest.mark.parametrize("several", [False, True])
def test_is_whole_and_stands_alone(told, told_measured, sparse, several):
    text = page([told, told_measured, sparse] if several else [told], {"rod": own_figure})
    assert not re.search(r"https?:|//[a-z]|<script|<link|@import|src=|url\((?!#)", text, re.I)
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))


def test_has_every_goal_and_what_is_needed_to_repeat(told):
    text = page([told])
    for goal in told["drift"]:
        assert f">{goal}</th>" in text
    for title in ("Drift", "Verification", "Figures", "Parameters", "needed to repeat"):
        assert title in text
    assert "m/s^2" in text
    for version in told["versions"].values():
        assert version in text


def test_does_not_claim_what_was_not_verified(told, told_measured):
    assert "not verified" not in page([told])
    assert "not verified" in page([told_measured])


def test_escapes_what_it_is_told(told):
    told |= {"outcome": "failed", "message": "<script>alert(1)</script>", "case": "<b>"}
    told["notes"] = ["<i>"]
    text = page([told], {"<u>": own_figure})
    for tag in ("<script", "<b>", "<u>"):
        assert tag not in text
    assert "&lt;script&gt;" in text


def test_a_figure_that_fails_costs_nothing_else(told):
    def broken(document):
        raise KeyError("nothing here")

    text = page([told], {"broken-one": broken, "rod": own_figure, "none": lambda _: None})
    assert "could not be drawn: KeyError" in text
    assert text.index("Broken one") < text.index("<h3>Rod</h3>") < text.index("<h3>Positions</h3>")
    assert "<h3>None</h3>" not in text


def test_events(told):
    events = [{"time": 0.01 * k, "name": "turn", "detail": {"x": 1.0}} for k in range(60)]
    text = page([{**told, "events": events, "event_count": 60}])
    assert f"and {60 - EVENTS_SHOWN} more" in text


def test_writes_all_three(tmp_path, told):
    directory = tmp_path / "deep" / "run"
    write(directory, told, {"rod": own_figure})
    assert sorted(file.name for file in directory.iterdir()) == [
        "report.html",
        "report.json",
        "run.json",
    ]
    short = json.loads((directory / "report.json").read_text())
    assert "states" not in short
    assert short["drift"] == told["drift"]


def test_rebuilds_the_same_page(tmp_path, told):
    write(tmp_path, told, {"rod": own_figure})
    before = (tmp_path / "report.html").read_text()
    assert rebuild([tmp_path], lambda _: {"rod": own_figure}) == tmp_path / "report.html"
    assert (tmp_path / "report.html").read_text() == before


def test_two_runs_side_by_side(tmp_path, told, told_measured):
    write(tmp_path / "a", told)
    write(tmp_path / "b", told_measured)

    def figures_of(document):
        return {"rod": own_figure} if document["solver"] == "taylor" else {}

    text = rebuild([tmp_path / "a", tmp_path / "b"], figures_of).read_text()
    assert "rates 10, taylor" in text
    assert "rates 10, energy off, dop853" in text
    assert text.count("<h3>Rod</h3>") == 1
    runs = json.loads((tmp_path / "a" / "report.json").read_text())["runs"]
    assert [run["solver"] for run in runs] == ["taylor", "dop853"]


def test_a_broken_run_leaves_the_old_report(tmp_path, told):
    write(tmp_path / "a", told)
    before = (tmp_path / "a" / "report.html").read_text()
    with pytest.raises(ReportError):
        rebuild([tmp_path / "a", tmp_path / "nowhere"])
    with pytest.raises(ReportError, match="at least one"):
        rebuild([])
    assert (tmp_path / "a" / "report.html").read_text() == before


def test_a_directory_that_is_not_empty_is_refused(tmp_path):
    make_empty(tmp_path)
    make_empty(tmp_path / "new")
    (tmp_path / "file").touch()
    with pytest.raises(OutputExistsError, match="is not empty"):
        make_empty(tmp_path)
    with pytest.raises(OutputExistsError, match="is a file"):
        make_empty(tmp_path / "file")
