"""What a notebook shows: well-formed, legible in light and dark, and so in a real kernel."""

from __future__ import annotations

import copy
import json
import pickle
from functools import cache
from html.parser import HTMLParser

import casadi as ca
import pytest

import daesolve as ds
from daesolve.errors import UnknownNameError
from daesolve.reporting import ReportError
from daesolve.reporting.notebook.blocks import of_markdown
from tests.browser import open_browser
from tests.reporting.conftest import pendulum
from tests.reporting.test_report_browser import CONTRAST, TEXTS

VOID = {"br", "hr", "img", "input", "link", "meta", "path", "use", "polyline"}
THEMES = {
    "JupyterLab": ('data-jp-theme-light="true"', 'data-jp-theme-light="false"'),
    "VS Code": ('class="vscode-light"', 'class="vscode-dark"'),
    "Sphinx": ('data-theme="light"', 'data-theme="dark"'),
}


class Balanced(HTMLParser):
    """Sees that every element is closed where it must be, and that nothing is fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched = [], []

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def checked(html):
    reader = Balanced()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert all(address.startswith("#") for address in reader.fetched)
    return html


def rimless():
    q, p = ds.coordinates(theta="rad"), ds.parameters(slope=(0.05, "rad"))
    alpha = 0.3
    strike = ds.Reset({"theta": q.theta - 2 * alpha, "theta_dot": ca.cos(2 * alpha) * q.dot.theta})
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.theta**2 / 2,
        potential=ca.cos(q.theta),
        events=[ds.Event("strike", q.theta - alpha - p.slope, ds.RISING, strike)],
    )


class Shown(dict[str, str]):
    """The HTML of things, each of which is made when it is first needed."""

    def __init__(self, makers):
        super().__init__()
        self.makers = makers

    def __missing__(self, name):
        self[name] = self.makers[name]()._repr_html_()
        return self[name]

    def all(self):
        return {name: self[name] for name in self.makers}


@pytest.fixture(scope="module")
def shown(run, stored, tmp_path_factory):
    """Return the HTML of one of each kind of thing."""
    problem = ds.Problem(
        "swings <b>",
        title="A point & its rod",
        models={"cartesian": pendulum},
        cases=[ds.Case("release", start={"x": -1.0, "y": 0.0}, until=2.0, note="a < b")],
    )
    case = problem.case()
    swept = tmp_path_factory.mktemp("swept") / "s"

    @cache
    def orbit():
        guess = {"theta": -0.25, "theta_dot": 0.36}
        return ds.analysis.periodic_orbit(rimless(), guess, section="strike")

    def section():
        spring = ds.MechanicalSystem(
            (q := ds.coordinates(x="m", y="m")),
            kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
            potential=q.x**2 / 2 + q.y**2,
        )
        start = {"x": 1.0, "x_dot": 0.0, "y": 0.5, "y_dot": 0.0}
        return ds.analysis.sections(spring, q.x, 30.0, start)

    return Shown(
        {
            "run": lambda: run,
            "run of a case": case.solve,
            "stored run": lambda: ds.Trajectory.from_run(stored),
            "system": pendulum,
            "problem": lambda: problem,
            "case": lambda: case,
            "comparison": lambda: ds.compare(
                pendulum(), until=0.5, initial={"x": -1.0}, tolerances=[1e-4, 1e-6]
            ),
            "sweep": lambda: ds.sweep(
                case, {"gravity": [9.0, 9.5, 10.0]}, until=0.5, out=swept, workers=0
            ),
            "section": section,
            "orbit": orbit,
            "branch": lambda: ds.analysis.continue_orbit(
                orbit(), {"slope": (0.045, 0.055)}, step=0.2
            ),
            "plot": lambda: run.plot("y", "rod"),
            "drift": run.plot_drift,
            "animation": lambda: run.animate(seconds=2.0),
        }
    )


@pytest.mark.slow
def test_every_kind_of_result_is_well_formed_html_that_fetches_nothing(shown):
    for html in shown.all().values():
        checked(html)


def test_a_run_shows_its_verdict_and_every_goal(shown, run):
    assert "digits agree" in shown["run"]
    assert all(f">{goal}<" in shown["run"] for goal in run.drift)
    assert shown["run"].count("<polyline") == len(run.drift)
    assert "Trajectory" in shown["run"]
    assert "swings &lt;b&gt; · release" in shown["run of a case"]
    assert "completed" in shown["stored run"]


def test_a_system_shows_its_equations_as_latex(shown):
    assert r"\[T = " in shown["system"].replace("\n", "")
    assert r"\frac{\mathrm{d}}" in shown["system"]


def test_names_of_others_are_no_markup(shown):
    assert "swings &lt;b&gt;" in shown["problem"]
    assert "a &lt; b" in shown["case"]
    assert of_markdown("a < b & `<x>`: $u<v$") == (
        '<p>a &lt; b &amp; <code>&lt;x&gt;</code>: <span class="math">\\(u&lt;v\\)</span></p>'
    )


@pytest.mark.slow
def test_results_show_what_was_found(shown):
    assert "index-1 + idas" in shown["comparison"]
    assert "3 of 3" in shown["sweep"]
    assert "gravity" in shown["sweep"]
    assert "passages" in shown["section"]
    assert "stable" in shown["orbit"]
    assert "0.681178877" in shown["orbit"]  # cos^2 0.6, of the rimless wheel
    assert "slope from" in shown["branch"]


@pytest.mark.slow
def test_the_figures_of_one_page_do_not_share_identifiers(run):
    one, other = run.plot("x")._repr_html_(), run.plot("y")._repr_html_()
    identifiers = [set(html.split('id="')[1:]) for html in (one, other)]
    first, second = ({entry.partition('"')[0] for entry in found} for found in identifiers)
    assert first
    assert first & second == set()
    assert one == run.plot("x")._repr_html_(), "the same figure is the same text"


def test_a_plot_has_the_series_that_are_named(run, tmp_path):
    plot = run.plot("rod", "x")
    labels = {axes.get_ylabel() for figure in plot.figures for axes in figure.axes}
    assert any(label.startswith("x") for label in labels)
    assert any(label.startswith("rod") for label in labels)
    files = plot.save(tmp_path / "x.svg")
    assert [file.name for file in files] == ["x.svg", "x-2.svg"]
    assert all(file.stat().st_size > 1000 for file in files)
    with pytest.raises(UnknownNameError, match="'z'"):
        run.plot("z")
    with pytest.raises(UnknownNameError, match=r"\.png, \.svg, \.pdf"):
        plot.save(tmp_path / "x.doc")
    with pytest.raises(ReportError, match="does not exist"):
        plot.save(tmp_path / "absent" / "x.png")


def test_the_time_is_no_series_over_time_and_a_name_is_drawn_once(run):
    with pytest.raises(UnknownNameError, match="'t'"):
        run.plot("t")
    figures = run.plot("x", "x").figures
    assert len(figures) == len(run.plot("x").figures)


@pytest.mark.slow
def test_an_animation_is_saved_as_what_its_name_says(run, tmp_path):
    animation = run.animate(seconds=0.4, rate=10.0)
    assert animation.save(tmp_path / "a.gif").read_bytes().startswith(b"GIF")
    assert "4 pictures" in repr(animation)


def test_where_a_run_comes_from_is_not_pickled_and_not_copied_deeply(run):
    assert run.origin is not None
    assert pickle.loads(pickle.dumps(run)).origin is None
    assert copy.deepcopy(run).origin is run.origin
    assert pickle.loads(pickle.dumps(run))._repr_html_()


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
def test_every_text_can_be_read_in_light_and_dark(browser, shown, theme, tmp_path):
    grounds = set()
    for mark in THEMES[theme]:
        page = tmp_path / "page.html"
        blocks = "".join(html for name, html in shown.all().items() if name != "animation")
        page.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body {mark}>{blocks}')
        tab = browser.new_context(offline=True).new_page()
        asked = []
        tab.on("request", lambda request, asked=asked: asked.append(request.url))
        tab.goto(page.as_uri())
        texts = tab.evaluate(TEXTS)
        assert len(texts) > 100
        assert min(texts)[0] >= CONTRAST, min(texts)
        assert asked == [page.as_uri()]
        ground = "() => getComputedStyle(document.querySelector('.daesolve')).backgroundColor"
        grounds.add(tab.evaluate(ground))
        tab.context.close()
    assert len(grounds) == 2, "dark is another ground than light"


@pytest.mark.slow
def test_an_animation_plays_in_its_frame(browser, shown, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{shown["animation"]}')
    tab = browser.new_context(offline=True).new_page()
    complaints = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto(page.as_uri())
    clock = tab.frame_locator("iframe").locator("#time")
    clock.wait_for()
    before = clock.inner_text()
    playing = "before => document.querySelector('#time').innerText !== before"
    tab.frames[1].wait_for_function(playing, arg=before)
    assert complaints == []
    tab.context.close()


PLAYER = "() => getComputedStyle(document.body).backgroundColor"


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
def test_an_animation_has_the_colours_of_the_notebook(browser, shown, theme, tmp_path):
    """The theme of the notebook counts; a scheme that is emulated would hold in every frame."""
    page, found = tmp_path / "page.html", []
    for mark in THEMES[theme]:
        page.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body {mark}>{shown["animation"]}')
        tab = browser.new_context(offline=True, color_scheme="null").new_page()
        tab.goto(page.as_uri())
        tab.frame_locator("iframe").locator("#time").wait_for()
        found.append(tab.frames[-1].evaluate(PLAYER))
        tab.context.close()
    assert found == ["rgb(244, 245, 244)", "rgb(19, 22, 24)"]


@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
def test_paper_is_white_and_shows_what_is_folded(browser, shown, theme, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body {THEMES[theme][1]}>{shown["run"]}')
    tab = browser.new_context(offline=True).new_page()
    tab.goto(page.as_uri())
    notes = (
        "() => document.querySelector('details p').checkVisibility({contentVisibilityAuto: true})"
    )
    height = "() => document.querySelector('details').getBoundingClientRect().height"
    folded = tab.evaluate(height)
    tab.emulate_media(media="print")
    assert tab.evaluate(height) > 1.5 * folded
    assert tab.evaluate(notes)
    ground = "() => getComputedStyle(document.querySelector('.daesolve')).backgroundColor"
    assert tab.evaluate(ground) == "rgb(254, 254, 254)"
    tab.context.close()


CELLS = [
    "import daesolve as ds\nfrom tests.reporting.conftest import pendulum\nsystem = pendulum()",
    "system",
    'run = ds.solve(system, until=2000.0, initial={"x": -1.0}, progress=True)',
    "run",
    'run.plot("x")',
    "run.plot_drift()",
    "run.animate(seconds=1.0)",
]


@pytest.mark.long
def test_a_real_notebook_shows_all_of_it_and_a_bar_while_it_runs():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    seen = []

    class Client(nbclient.NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if "progress max" in json.dumps(msg["content"].get("data", "")):
                seen.append(msg["content"]["data"]["text/html"])
            return super().process_message(msg, cell, cell_index)

    Client(notebook, timeout=120).execute()
    nbformat.validate(notebook)
    outputs = [cell.outputs for cell in notebook.cells]
    for place in (1, 3, 4, 5, 6):
        assert "daesolve" in checked(outputs[place][0]["data"]["text/html"])
    assert len(seen) >= 2, "a bar, and how it grew"
    assert "t = " in seen[-1]
    (bar,) = outputs[2]
    assert bar["data"]["text/html"] == "", "it goes when the run has ended"
