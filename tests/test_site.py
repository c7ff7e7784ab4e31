"""The site: whole without a network, its mathematics set, its tutorials as notebooks.

`DAESOLVE_SITE=DIR` names a site that is built; else a few of its pages are.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import open_browser

nbformat = pytest.importorskip("nbformat", reason="the documentation's packages are not installed")
nbclient = pytest.importorskip("nbclient")

DOCS = Path(__file__).parent.parent / "docs"
PAGES = (
    "tutorial/pendulum",
    "how-to/notebooks",
    "theory/index",
    "theory/elimination",
    "theory/contact",
)
INDEX = "# Pages\n\n```{toctree}\n" + "\n".join(PAGES) + "\n```\n"
UNSET = r"""() => {
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (words.nextNode()) {
    const parent = words.currentNode.parentElement;
    if (parent.closest("script, style, code, pre, mjx-container")) continue;
    if (/\\[()\[\]]|\$\$|\\(frac|mathrm|lambda|delta)/.test(words.currentNode.data))
      found.push(words.currentNode.data.trim().slice(0, 60));
  }
  return found;
}"""
"""What is still LaTeX in the text of a page."""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    built = os.environ.get("DAESOLVE_SITE")
    if built:
        return Path(built)
    directory = tmp_path_factory.mktemp("docs")
    (directory / "index.md").write_text(INDEX)
    for page in PAGES:
        (directory / page).parent.mkdir(exist_ok=True)
        shutil.copyfile(DOCS / f"{page}.md", directory / f"{page}.md")
    shutil.copytree(DOCS / "_static", directory / "_static")
    target = directory / "_build" / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-c", str(DOCS)]
    subprocess.run([*command, str(directory), str(target)], check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


def pages(site):
    return sorted(file for file in site.rglob("*.html") if "_static" not in file.parts)


def test_no_page_fetches_anything_from_elsewhere(site, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    from offline import outside

    assert list(outside(site)) == []
    elsewhere = site / "elsewhere.html"
    elsewhere.write_text('<script src="//cdn.example/x.js"></script><a href="https://x.example">')
    try:
        assert [address for _, address in outside(site)] == ["//cdn.example/x.js"]
    finally:
        elsewhere.unlink()


def test_pages_are_whole_without_a_network(site, browser):
    """Chromium has none; a page asks only for files of the site, and finds them all."""
    context = browser.new_context(offline=True)
    tab = context.new_page()
    asked, failed, complaints = [], [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("requestfailed", lambda request: failed.append(request.url))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    formulas = 0
    for page in pages(site):
        tab.goto(page.as_uri())
        tab.wait_for_function("() => !window.MathJax || MathJax.startup?.promise")
        tab.evaluate("() => window.MathJax?.startup?.promise")
        assert tab.evaluate(UNSET) == [], page
        formulas += tab.evaluate("() => document.querySelectorAll('mjx-container svg').length")
        assert tab.evaluate("() => document.querySelectorAll('[data-mml-node=merror]').length") == 0
    context.close()
    assert formulas > 50
    assert failed == []
    assert complaints == []
    assert {url for url in asked if not url.startswith(("file:", "data:", "blob:"))} == set()


def test_a_tutorial_can_be_downloaded_as_a_notebook_that_runs(site, browser, tmp_path):
    context = browser.new_context(offline=True)
    tab = context.new_page()
    tab.goto((site / "tutorial" / "pendulum.html").as_uri())
    link = tab.get_by_text("Download this page as a notebook")
    assert link.get_attribute("href") == "pendulum.ipynb"
    context.close()
    notebook = nbformat.read(site / "tutorial" / "pendulum.ipynb", as_version=4)
    nbformat.validate(notebook)
    page = (DOCS / "tutorial" / "pendulum.md").read_text(encoding="utf-8")
    cells = [
        re.sub(r"^(:.*\n)+", "", cell)
        for cell in re.findall(r"```{code-cell}\n(.*?)\n```", page, re.DOTALL)
    ]
    coded = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.source for cell in coded] == cells
    assert any(
        "image/svg+xml" in output.get("data", {}) for cell in coded for output in cell.outputs
    )
    told = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert ".md)" not in told
    printed = _printed(coded)
    again = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    again.execute()
    assert _printed(coded) == printed


def _printed(cells):
    """What cells print, without what libraries say on standard error when they first run."""
    return [
        output.text for cell in cells for output in cell.outputs if output.get("name") == "stdout"
    ]


LOOKS = """() => {
  const style = (found) => getComputedStyle(document.querySelector(found));
  return {
    picture: style('article img[src$=".svg"]').filter,
    side: style(".sidebar-drawer").display,
    ground: style("body").backgroundColor,
  };
}"""


def test_pictures_turn_dark_on_a_dark_screen_and_stay_white_on_paper(site, browser):
    looks = {}
    for media in ("screen", "print"):
        for scheme in ("light", "dark"):
            context = browser.new_context(offline=True, color_scheme=scheme)
            tab = context.new_page()
            tab.emulate_media(media=media, color_scheme=scheme)
            tab.goto((site / "theory" / "elimination.html").as_uri())
            looks[media, scheme] = tab.evaluate(LOOKS)
            context.close()
    assert "invert" in looks["screen", "dark"]["picture"]
    assert looks["screen", "light"]["picture"] == "none"
    assert looks["screen", "light"]["side"] != "none"
    for scheme in ("light", "dark"):
        paper = looks["print", scheme]
        assert paper["picture"] == paper["side"] == "none"
    assert looks["print", "dark"]["ground"] == looks["print", "light"]["ground"]


def test_what_is_folded_is_open_on_paper(site, browser):
    context = browser.new_context(offline=True)
    tab = context.new_page()
    tab.goto((site / "how-to" / "notebooks.html").as_uri())
    seen = """() => [...document.querySelectorAll('article details > :last-child')]
      .map((shown) => shown.checkVisibility())"""
    folded = tab.evaluate(seen)
    tab.emulate_media(media="print")
    unfolded = tab.evaluate(seen)
    context.close()
    assert folded
    assert not any(folded)
    assert all(unfolded)


def test_figures_are_legible_on_a_telephone():
    # On 390 pixels, 400 points are shown at two thirds: letters of 8 points have 7 pixels.
    for file in (DOCS / "_static").glob("*.svg"):
        head = file.read_text(encoding="utf-8")[:2000]
        found = re.search(r'viewBox="0 0 ([\d.]+)', head)
        if found and "matplotlib" in head.lower():
            assert float(found[1]) <= 400, file.name
