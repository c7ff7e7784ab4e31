"""The report as a reader sees it: in Chromium, light and dark, narrow and on paper."""

from __future__ import annotations

import pytest

from daesolve.reporting import document, page
from tests.browser import open_browser
from tests.reporting.conftest import IDENTITY, bare

CONTRAST = 4.5
"""What WCAG 2 asks for between text and what it stands on."""
TEXTS = """() => {
  const luminance = ([r, g, b]) => {
    const linear = [r, g, b].map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const numbers = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const c = numbers(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")].filter(e =>
    e.getClientRects().length && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
  ).map(e => {
    const drawn = e instanceof SVGElement;
    const look = getComputedStyle(e);
    const one = luminance(numbers(drawn ? look.fill : look.color)), two = luminance(ground(e));
    const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    return [contrast, e.textContent.trim().slice(0, 40)];
  });
}"""
FIGURES = """() => [...document.querySelectorAll("svg")].map(svg => {
  const box = svg.getBoundingClientRect();
  return [box.width, box.height, svg.querySelectorAll("path, polyline").length];
})"""
GROUND = "() => getComputedStyle(document.body).backgroundColor"
SHOWN = """() => [...document.querySelectorAll("h1, h2, h3, p, table, figure, svg, pre, li")]
  .filter(e => !e.getClientRects().length || getComputedStyle(e).visibility !== "visible")
  .map(e => e.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def report(run, measured_run, tmp_path_factory):
    """The pages of one run, of two side by side, and of one that was interrupted."""
    directory = tmp_path_factory.mktemp("pages")
    one, other = document(run, IDENTITY), document(measured_run, IDENTITY)
    one["conditioning"] = {"rod": 1e-3}
    early = bare(one) | {"outcome": "interrupted", "end_time": 1.5, "verification": None}
    files = {}
    for name, documents in (("one", [one]), ("two", [one, other]), ("early", [early])):
        files[name] = directory / f"{name}.html"
        files[name].write_text(page(documents), encoding="utf-8")
    return files


@pytest.fixture
def seen(browser, report):
    """Open a page; what it asks for and complains of is kept."""
    contexts = []

    def look(name="one", width=1280, scheme="light", media="screen"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        tab = context.new_page()
        tab.asked, tab.complaints = [], []
        tab.on("request", lambda request: tab.asked.append(request.url))
        tab.on("console", lambda message: tab.complaints.append(message.text))
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.emulate_media(media=media, color_scheme=scheme)
        tab.goto(report[name].as_uri())
        return tab

    yield look
    for context in contexts:
        context.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "two", "early"])
def test_nothing_is_asked_for_and_nothing_is_complained_of(seen, report, name):
    tab = seen(name)
    assert tab.complaints == []
    assert tab.asked == [report[name].as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_are_there(seen, scheme):
    figures = seen(scheme=scheme).evaluate(FIGURES)
    assert len(figures) > 5
    for width, height, lines in figures:
        assert width > 20
        assert height > 10
        assert lines > 0


@pytest.mark.parametrize("name", ["one", "two", "early"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(seen, name, scheme):
    texts = seen(name, scheme=scheme).evaluate(TEXTS)
    assert len(texts) > 60
    assert min(texts)[0] >= CONTRAST, min(texts)


def test_the_dark_page_is_dark_and_paper_is_white(seen):
    light, dark = (seen(scheme=scheme).evaluate(GROUND) for scheme in ("light", "dark"))
    assert light != dark
    paper = [seen(scheme=scheme, media="print") for scheme in ("light", "dark")]
    texts = [tab.evaluate(TEXTS) for tab in paper]
    assert texts[0] == texts[1], "what is printed does not depend on the screen"
    assert min(texts[0])[0] >= CONTRAST, min(texts[0])


@pytest.mark.parametrize("name", ["one", "two", "early"])
@pytest.mark.parametrize("width", [390, pytest.param(768, marks=pytest.mark.slow)])
def test_a_narrow_page_does_not_scroll_sideways(seen, name, width):
    tab = seen(name, width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("media", ["screen", "print"])
def test_nothing_is_hidden(seen, media):
    hidden = seen(media=media).evaluate(SHOWN)
    if media == "print":  # what can only be clicked
        hidden = [text for text in hidden if "<a href=" not in text and "downloads" not in text]
    assert hidden == []


@pytest.mark.slow
def test_labels_of_figures_stay_legible_on_a_phone(seen):
    sizes = seen(width=390).evaluate(
        """() => [...document.querySelectorAll("figure svg text")]
             .map(t => t.getBoundingClientRect())
             .map(box => Math.min(box.width, box.height)).filter(size => size > 0)"""
    )
    assert len(sizes) > 50
    assert sorted(sizes)[len(sizes) // 2] > 4.0


@pytest.mark.slow
def test_paper_takes_every_page_whole(seen):
    """Chromium prints the page, on more than one sheet, and figures fit on one each."""
    tab = seen(media="print")
    assert tab.pdf(format="A4").startswith(b"%PDF")
    heights = tab.evaluate(
        "() => [...document.querySelectorAll('.plot')].map(e => e.getBoundingClientRect().height)"
    )
    assert max(heights) < 1000.0, "a sheet of A4 is 1123 px high, less its margins"
