"""What a report has beside its figures: values under the pointer, tables, plain words."""

from __future__ import annotations

import re
from io import BytesIO, StringIO
from urllib.parse import unquote

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from rich.console import Console

from daesolve.multibody.drawing import to_json
from daesolve.reporting import facts, page, summary
from daesolve.reporting.figures.hovering import with_values
from daesolve.reporting.figures.scene import _magnified
from daesolve.reporting.figures.style import svg
from daesolve.reporting.html import tables
from tests.browser import open_browser
from tests.reporting.conftest import bare
from tests.reporting.test_film import DOT

CODE = "Taylor's method by the kernel for 190 instructions, nothing to compile"


@pytest.mark.slow
def test_a_value_lies_where_its_curve_is_drawn():
    figure = Figure(figsize=(6.0, 3.0))
    axes = figure.add_subplot()
    axes.plot([1.0, 10.0, 100.0], [2.0, 3.0, 4.0], "o", label="x & y")
    axes.plot([1.0], [2.0], label="_unnamed")
    axes.set_xscale("log")
    text = with_values(figure, svg(figure, "test"))
    found = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="5"><title>(.*?)</title>', text)
    assert [words for _, _, words in found] == [
        "x &amp; y: 2 at 1",
        "x &amp; y: 3 at 10",
        "x &amp; y: 4 at 100",
    ]
    # Matplotlib's own marks of these samples stand at the same places.
    marks = re.findall(r'<use href="#[^"]*" x="([\d.]+)" y="([\d.]+)"', text)
    places = np.array([(float(x), float(y)) for x, y, _ in found])
    known = np.array([(float(x), float(y)) for x, y in marks])
    assert all(np.abs(known - place).sum(axis=1).min() < 0.2 for place in places)


def test_tables_hold_the_samples_and_the_residuals(run, told):
    links = {link.file: link for link in tables(told)}
    assert {"samples.csv", "rod.csv", "energy.csv"} <= set(links)
    head, *rows = unquote(links["samples.csv"].address.partition(",")[2]).split("\n")
    names = head.split(",")
    assert names[0] == "t"
    assert "reaction_rod" in names
    table = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    x = table[:, names.index("x")]
    assert np.allclose(x, run["x"][:: -(-len(run.times) // 500)], rtol=1e-8)
    assert len(rows) <= 500


@pytest.mark.slow
def test_the_terminal_and_the_page_say_the_same_of_digits(told):
    told["verification"]["difference"] = {"x": 10.0**-12.7, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}
    digits = facts.agreement(told)
    assert 12.5 < digits < 13.0
    words = f"{int(digits)} digits agree"
    assert words in page([told])
    console = Console(width=200, file=StringIO())
    console.print(summary(told))
    assert words in console.file.getvalue()
    assert (facts.agreeing(0.9), facts.agreeing(1.9)) == ("no digit agrees", "1 digit agrees")


@pytest.mark.slow
def test_how_code_was_made_is_a_cost_and_no_note(told):
    told["notes"] = ["rate 10 1/s", CODE]
    assert facts.notes(told) == ["rate 10 1/s"]
    text = page([told])
    assert f"<li>{CODE}" not in text.replace("&#39;", "'")
    assert CODE in text.replace("&#39;", "'")


def test_a_bad_end_is_reported_once_and_its_two_times_are_explained(told):
    message = "at t = 2 s the goals 'a', 'b' almost depend on each other: " + "so " * 80
    event = {"time": 2.0, "name": "degenerate", "detail": {}}
    bad = told | {"outcome": "degenerate", "message": message, "end_time": 1.5, "events": [event]}
    assert facts.cards(bad)[1].detail == "the motion is known up to t = 1.5 s"
    detail = facts.banner(bad).detail
    assert message.strip() in detail
    assert "ends at t = 1.5 s; the fault was found within the next one, at t = 2 s." in detail


@pytest.mark.parametrize(
    ("factor", "words"),
    [(13.2, "13 times larger"), (0.66, "1.5 times smaller"), (1.01, "as large as above")],
)
def test_smaller_is_not_called_larger(factor, words):
    assert _magnified(factor) == words


@pytest.mark.long
def test_the_page_links_to_the_animation_that_lies_beside_it(told, tmp_path):
    drawn = told | {"drawing": None, "directory": str(tmp_path)}
    assert "Play the animation" not in page([bare(drawn)])
    drawn["drawing"] = to_json(DOT)
    assert f"daesolve animate {tmp_path}" in page([drawn])
    (tmp_path / "animation.html").write_text("")
    assert '<a href="animation.html">Play the animation</a>' in page([drawn])


@pytest.mark.long
def test_a_narrow_page_shows_that_there_is_more_to_the_right(told, tmp_path):
    """The right edge of a table is shaded until the table is scrolled to it."""
    file = tmp_path / "page.html"
    file.write_text(page([told]), encoding="utf-8")
    with open_browser() as browser:
        tab = browser.new_context(viewport={"width": 390, "height": 900}).new_page()
        tab.goto(file.as_uri())
        box = tab.locator(".scroll:has(> .wide)").first
        darkness = []
        for place in (0, 10_000):
            box.evaluate(f"element => element.scrollLeft = {place}")
            darkness.append(_edge(box.screenshot()))
    assert darkness[0] < darkness[1] - 10


def _edge(picture: bytes) -> float:
    pixels = np.asarray(Image.open(BytesIO(picture)).convert("L"), dtype=float)
    return float(np.median(pixels[:, -6]))
