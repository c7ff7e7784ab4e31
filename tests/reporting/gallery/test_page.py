import functools
import re
from pathlib import Path

import pytest

import daesolve as ds
from daesolve.errors import UnknownNameError
from daesolve.multibody.drawing import Dot, Drawing
from daesolve.reporting.document import ReportError
from daesolve.reporting.gallery import write_page
from daesolve.reporting.gallery.pictures import described


def bead(**structure):
    q = ds.coordinates(x="m", z="m")
    p = ds.parameters(mass=(0.1, "kg", ds.POSITIVE), steepness=(0.5, "1/m"), gravity=9.81)
    wire = ds.Holonomic("wire", q.z - p.steepness * q.x**2)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.z**2) / 2,
        potential=p.mass * p.gravity * q.z,
        goals=[wire],
        events=[ds.Event("low", q.x, ds.FALLING), *structure.get("events", ())],
    )


def stopped(**structure):
    p = ds.parameters(limit=1.0)
    q = ds.coordinates(x="m")
    end = ds.Event("end", p.limit - q.x, ds.FALLING, ds.Stop(why="there is no more wire"))
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, events=[end])


def problem(builder=bead, **options):
    start = {"x": 1.0} if builder is bead else {"x": 0.0, "x_dot": 1.0}
    cases = [
        ds.Case("fall", start=start, until=2.0, note="a_b | <c> of `d_e`"),
        ds.Case(
            "heavy", start=start, until=1.0, parameters={"mass": 2.0} if builder is bead else {}
        ),
    ]
    return ds.Problem("a-bead", "A bead on a wire", {"own": builder}, cases, ["*Who?*"], **options)


def drawing(run):
    return Drawing([Dot(("x", "z"))])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    directory = tmp_path_factory.mktemp("pages")
    return write_page(problem(drawing=drawing), directory, "heavy", until=0.5)


@pytest.mark.slow
def test_a_page_has_what_was_posed_in_the_symbols_of_the_system(page):
    text = page.read_text()
    assert text.startswith("# A bead on a wire\n")
    assert r"T = \frac{1}{2} m \left( \dot{x}^{2} + \dot{z}^{2} \right)" in text
    assert "V = m g z" in text
    assert r"z - \mathrm{steepness} \, x^{2} = 0" in text
    assert "| `wire` | holonomic | 2 | `wire` |" in text
    assert "| `mass` | $m$ | 0.1 | 2 | kg | \\> 0 |" in text
    assert "`low`, where this falls through zero: it is recorded." in text
    assert r"a\_b \| \<c\> of `d_e`" in text
    assert r"- \*Who?\*" in text


def test_the_drift_on_a_page_is_that_of_the_run(page):
    run = problem().case("heavy").solve(0.5)
    text = page.read_text()
    told = re.search(r"\| `wire` \| driven \| (\S+) \|", text)
    assert float(told[1]) == pytest.approx(run.drift["wire"].max_relative, rel=5e-3)
    assert "**Completed at t = 0.5 s**." in text
    assert "the case runs to 1 s" in text
    assert "digits agree" in text


def test_every_file_that_a_page_names_is_there_and_every_address_is_relative(page):
    links = re.findall(r"\]\(([^)#][^)]*)\)", page.read_text())
    assert links
    for link in links:
        assert not Path(link).is_absolute()
        assert (page.parent / link).is_file()


def test_a_figure_stands_by_itself(page):
    text = (page.parent / "a-bead" / "residuals.svg").read_text()
    assert text.startswith('<svg xmlns="http://www.w3.org/2000/svg" ')
    assert "var(" not in text


def test_every_figure_says_what_it_shows_and_fits_a_column(page):
    text = page.read_text()
    for figure in re.findall(r"^### .*\n\n!\[.*\]\((.*)\)\n\n(.*)", text, re.MULTILINE):
        file, caption = figure
        assert len(caption.split()) > 2, file
        assert not caption.startswith("Draw"), file
        width = re.search(r'viewBox="0 0 ([\d.]+)', (page.parent / file).read_text())
        assert float(width[1]) <= 400, file


def test_a_figure_shows_what_its_rule_says():
    def rule(run):
        """Draw the place
        over `time`.

        More of it.
        """

    assert described(rule) == "The place over `time`."
    assert described(functools.partial(rule)) == "The place over `time`."
    assert described(lambda run: None) == ""


@pytest.mark.slow
def test_the_same_run_makes_the_same_files_and_those_of_an_earlier_page_are_gone(page, tmp_path):
    old = tmp_path / "a-bead" / "of-last-year.svg"
    old.parent.mkdir()
    old.write_text("<svg/>")
    again = write_page(problem(drawing=drawing), tmp_path, "heavy", until=0.5)
    assert not old.exists()
    assert again.read_text() == page.read_text()
    for file in (page.parent / "a-bead").iterdir():
        assert (tmp_path / "a-bead" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.slow
def test_a_run_that_cannot_go_on_is_reported_as_it_is(tmp_path):
    text = write_page(problem(stopped), tmp_path).read_text()
    assert "**Degenerate at t = 1 s**: " in text
    assert "there is no more wire" in text
    assert "`end`, where this falls through zero: the motion cannot be continued." in text


def test_an_unknown_case_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UnknownNameError, match="case"):
        write_page(problem(), tmp_path, "fail")
    assert not any(tmp_path.iterdir())


def test_a_drawing_that_cannot_be_made_fails_the_page(tmp_path):
    def broken(run):
        raise ValueError("no wire to draw")

    with pytest.raises(ReportError, match="no wire to draw"):
        write_page(problem(drawing=broken), tmp_path)
    assert not (tmp_path / "a-bead.md").exists()


def test_an_animation_stands_beside_the_page_and_in_it(page):
    assert (page.parent / "a-bead" / "animation.html").is_file()
    text = page.read_text()
    assert '<iframe src="a-bead/animation.html"' in text
    assert "![The scene of the run: the bodies at a few instants](a-bead/scene.svg)" in text
