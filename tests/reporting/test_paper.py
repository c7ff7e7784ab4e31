"""What Chromium prints: black on white, without controls, and no table runs off the sheet."""

from __future__ import annotations

import numpy as np
import pytest

from daesolve.multibody.drawing import Circle, Dot, Drawing, Line, Trace
from daesolve.reporting import animate
from daesolve.reporting.branches import branch_page
from tests.browser import open_browser

from .test_film import moving

DRAWINGS = {
    "plane": Drawing([Trace(("x", "y"), label="path"), Dot(("x", "y"), role="accent")]),
    "space": Drawing(
        [
            Line([(-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)], role="ground"),
            Circle(("x", "y", 0.0), 0.3, label="ball"),
        ],
        eye=(0.3, -1.0, 0.25),
    ),
}
SHEET = 297 * 96 / 25.4, 210 * 96 / 25.4
"""Width and height of A4 across, CSS pixels."""


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWINGS)
def test_a_player_prints_its_picture_in_proportion_and_no_controls(browser, tmp_path, name):
    animate(moving(DRAWINGS[name]), tmp_path / "a.html", seconds=0.6, rate=10.0)
    context = browser.new_context(color_scheme="dark", reduced_motion="reduce")
    page = context.new_page()
    page.goto((tmp_path / "a.html").as_uri())
    assert page.evaluate("palette.surface") == "#1b1f22"
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate("palette.surface") in ("#fff", "#fefefe")
    assert page.evaluate("palette.accent") == "#c25a16", "dark on white, whatever the screen"
    assert page.evaluate("getComputedStyle(view).objectFit") == "contain"
    for part in ("track", "controls"):
        assert not page.locator(f"#{part}").is_visible()
    assert page.locator("#view").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("palette.surface") == "#1b1f22"
    context.close()


@pytest.mark.slow
def test_two_films_print_the_one_that_is_shown_without_their_tabs(browser, tmp_path):
    times = np.linspace(0.0, 40.0, 8001)
    swing = {"x": np.cos(40.0 * times), "x_dot": -40.0 * np.sin(40.0 * times)}
    animate(moving(DRAWINGS["plane"], count=8001, end=40.0, **swing), tmp_path / "a.html")
    context = browser.new_context(color_scheme="dark", reduced_motion="reduce")
    page = context.new_page()
    page.goto((tmp_path / "a.html").as_uri())
    tabs = page.locator("nav")
    assert tabs.is_visible()
    page.emulate_media(media="print")
    assert not tabs.is_visible()
    assert page.locator("iframe").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgba(0, 0, 0, 0)"
    context.close()


@pytest.mark.slow
def test_a_table_of_many_columns_lies_across_the_sheet(browser, tmp_path):
    """Twenty states of ten digits each: too wide for a sheet that stands."""
    names = ["period", *(f"coordinate_{k}" for k in range(20))]
    document = {
        "problem": "p",
        "case": "c",
        "points": {name: [-0.1234567e-8 * k for k in range(1, 5)] for name in names},
        "multipliers": [[{"size": 1.0}]] * 4,
        "verdicts": ["stable"] * 4,
        "ends": ["reached period = 1", "reached period = 1"],
        "special": [],
    }
    text = branch_page(document, "period", {})
    assert text.count("reached period = 1") == 1
    assert "at both ends" in text
    (tmp_path / "branch.html").write_text(text, encoding="utf-8")
    margins = 2 * 12 * 96 / 25.4
    page = browser.new_page(
        viewport={"width": int(SHEET[0] - margins), "height": int(SHEET[1] - margins)}
    )
    page.goto((tmp_path / "branch.html").as_uri())
    page.emulate_media(media="print")
    assert page.evaluate(
        "document.querySelector('.broad table').getBoundingClientRect().right"
    ) <= (SHEET[0] - margins)
    assert page.evaluate("getComputedStyle(document.querySelector('.broad')).page") == "broad"
    page.close()
