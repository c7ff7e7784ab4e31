import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import ClassVar

import pytest
from matplotlib.figure import Figure

import daesolve as ds
from daesolve.errors import OutputExistsError
from daesolve.multibody.drawing import Drawing, Line
from daesolve.reporting import ReportError, load, make_empty, page, rebuild
from daesolve.reporting.html import EVENTS_SHOWN
from tests.reporting.conftest import bare, pendulum

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


@pytest.mark.long_rows("True")
@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_is_whole_and_stands_alone(told, told_measured, sparse, several):
    text = page([told, told_measured, sparse] if several else [told], {"rod": own_figure})
    assert not re.search(r"https?:|//[a-z]|<script|<link|@import|src=|url\((?!#)", text, re.I)
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))


@pytest.mark.slow
def test_has_every_goal_and_what_is_needed_to_repeat(told):
    text = page([told])
    for goal in told["drift"]:
        assert f">{goal}</th>" in text
    for title in ("Drift", "Verification", "Motion", "Parameters", "how to repeat it", "Cost"):
        assert title in text
    assert "m/s^2" in text
    for version in told["versions"].values():
        assert version in text


@pytest.mark.long
def test_does_not_claim_what_was_not_verified(told, told_measured):
    assert "not verified" not in page([told])
    assert "not verified" in page([told_measured])


@pytest.mark.slow
def test_escapes_what_it_is_given(told):
    told |= {"outcome": "failed", "message": "<script>alert(1)</script>", "case": "<b>"}
    told["notes"] = ["<i>"]
    text = page([told], {"<u>": own_figure})
    for tag in ("<script", "<b>", "<u>"):
        assert tag not in text
    assert "&lt;script&gt;" in text


@pytest.mark.slow
def test_a_figure_that_fails_costs_nothing_else(told):
    def broken(document):
        raise KeyError("nothing here")

    text = page([told], {"broken-one": broken, "rod": own_figure, "none": lambda _: None})
    assert "could not be drawn: KeyError" in text
    assert text.index("Broken one") < text.index("<h3>Rod</h3>") < text.index("<h3>Positions</h3>")
    assert "<h3>None</h3>" not in text


@pytest.mark.slow
def test_events(told):
    events = [{"time": 0.01 * k, "name": "turn", "detail": {"x": 1.0}} for k in range(60)]
    text = page([{**told, "events": events, "event_count": 60}])
    assert f"and {60 - EVENTS_SHOWN} more" in text


class Swing:
    """What a problem knows of its reports."""

    figures: ClassVar = {"rod": own_figure}
    drawing = staticmethod(lambda _: Drawing([Line([(0.0, 0.0), ("x", "y")])]))


@pytest.fixture
def two(stored, tmp_path):
    """Two directories with runs, the second of another solver."""
    other = tmp_path / "other"
    where = {"initial": {"x": -1.0}, "store": other, "solver": ds.Dop853()}
    ds.solve(pendulum(), 1.0, formulation=ds.Feedback(rates={"energy": None}), **where)
    one = tmp_path / "one"
    shutil.copytree(stored, one)
    return one, other


@pytest.mark.slow
@pytest.mark.core
def test_writes_page_and_json(two):
    before = set(two[0].iterdir())
    page = rebuild(two[:1], lambda _: Swing())
    assert page == two[0] / "report.html"
    assert {file.name for file in set(two[0].iterdir()) - before} == {"report.html", "report.json"}
    short = json.loads((two[0] / "report.json").read_text())
    assert "states" not in short
    assert short["drift"] == load(two[0])["drift"]


@pytest.mark.long
def test_builds_the_same_page_again(two):
    page = rebuild(two[:1], lambda _: Swing())
    assert page == two[0] / "report.html"
    before = page.read_text()
    for title in ("Scene", "Rod", "Positions"):
        assert f"<h3>{title}</h3>" in before
    assert rebuild(two[:1], lambda _: Swing()).read_text() == before


@pytest.mark.long
def test_two_runs_side_by_side(two, tmp_path):
    before = (rebuild(two[:1])).read_bytes()
    page = rebuild(
        two, lambda run: Swing() if run["solver"] == "taylor" else None, out=tmp_path / "both"
    )
    assert page == tmp_path / "both.html"
    text = page.read_text()
    assert (two[0] / "report.html").read_bytes() == before
    assert "rates 10, taylor" in text
    assert "rates 10, energy off, dop853" in text
    assert text.count("<h3>Rod</h3>") == text.count("<h3>Scene</h3>") == 1
    runs = json.loads((tmp_path / "both.json").read_text())["runs"]
    assert [run["solver"] for run in runs] == ["taylor", "dop853"]


@pytest.mark.long
def test_the_report_of_several_runs_replaces_only_its_like(two, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = rebuild(two[:1]).read_bytes()
    for _ in range(2):
        assert rebuild(two) == Path("reports.html")
    assert {file.name for file in tmp_path.glob("*.*")} == {"reports.html", "reports.json"}
    (tmp_path / "notes.html").write_text("mine")
    (tmp_path / "data.json").write_text('{"mine": 1}')
    alone = rebuild(two[:1], out=tmp_path / "alone.html")
    wrong = {
        tmp_path / "notes.html": "exists",
        tmp_path / "data.html": "exists",
        alone: "exists",
        two[0] / "report.html": "directory of a run",
        two[1] / "manifest.html": "directory of a run",
    }
    for file, why in wrong.items():
        with pytest.raises(OutputExistsError, match=why):
            rebuild(two, out=file)
    with pytest.raises(OutputExistsError, match="directory of a run"):
        rebuild(two[:1], out=two[1] / "report.html")
    for file in (tmp_path / "page.txt", tmp_path):
        with pytest.raises(ReportError, match=r"NAME\.html"):
            rebuild(two, out=file)
    assert (tmp_path / "notes.html").read_text() == "mine"
    assert (tmp_path / "data.json").read_text() == '{"mine": 1}'
    assert (two[0] / "report.html").read_bytes() == own


@pytest.mark.slow
def test_a_broken_run_leaves_the_old_report(two, tmp_path):
    before = rebuild(two[:1]).read_text()
    with pytest.raises(ReportError, match="there is no directory"):
        rebuild([two[0], tmp_path / "nowhere"])
    with pytest.raises(ReportError, match="at least one"):
        rebuild([])
    assert (two[0] / "report.html").read_text() == before


@pytest.mark.slow
def test_a_run_that_was_killed_is_reported_as_unfinished(two):
    directory = two[0]
    (directory / "result.json").unlink()
    text = rebuild([directory]).read_text()
    assert "This run is not finished: it has reached t = 4 s of 4 s, 100 %" in text
    assert f"daesolve resume {directory}" in text
    assert json.loads((directory / "report.json").read_text())["finished"] is False


def test_what_follows_from_verification_is_reported(told):
    told["verification"] |= {"growth": "exponential", "lyapunov_time": 1.0}
    text = page([bare(told)])
    for name, unit in (("x", "m"), ("y_dot", "m/s")):
        assert re.search(rf">{name}</th><td class=.number.>[0-9.e-]+ {unit}</td>", text)
    assert "which costs one digit every 2.3 s, and the 16 of a double in 36.8 s" in text


def test_what_was_not_verified_comes_with_the_command_that_does(told_measured):
    text = page([bare(told_measured)])
    words = re.sub(r"</?span[^>]*>", "", text)
    assert re.search(r"daesolve run pendulum --case swing [^<]*--verify", words)
    assert '<span class="option">--verify</span>' in text, "no line breaks at its hyphens"


def test_the_grip_of_each_goal_is_shown(told):
    told["conditioning"] = {"rod": 1e-6}
    bar = r">rod</th><td class=.number.>1e-6</td><td><span class=.meter.><i style=.width:50.0%"
    assert re.search(bar, page([bare(told)]))
    assert "smallest grip" not in page([bare({**told, "conditioning": {}})])


@pytest.mark.parametrize(
    ("outcome", "headline"),
    [
        ("interrupted", "This run was interrupted: it has reached t = 1 s of 3 s, 33.3 %."),
        ("failed", "The run ended failed; the motion is known up to t = 1 s of 3 s, 33.3 %."),
        ("completed", None),
    ],
)
def test_a_run_that_ended_early_says_so_first(told, outcome, headline):
    text = page([{**bare(told), "outcome": outcome, "end_time": 1.0}])
    assert (headline is None) == ('role="status"' not in text)
    assert headline is None or text.index(headline) < text.index("Outcome")


@pytest.mark.slow
def test_a_long_run_makes_a_small_page(tmp_path):
    directory = tmp_path / "long"
    sampling = {"at": ds.every(0.002), "store": directory}
    ds.solve(pendulum(), 60.0, {"x": -1.0}, solver=ds.Cvodes(rtol=1e-6, atol=1e-6), **sampling)
    assert len(ds.Trajectory.from_run(directory).times) == 30_001
    assert rebuild([directory]).stat().st_size < 1e6


def test_a_directory_that_is_not_empty_is_refused(tmp_path):
    make_empty(tmp_path)
    make_empty(tmp_path / "new")
    (tmp_path / "file").touch()
    with pytest.raises(OutputExistsError, match="is not empty"):
        make_empty(tmp_path)
    with pytest.raises(OutputExistsError, match="is a file"):
        make_empty(tmp_path / "file")
