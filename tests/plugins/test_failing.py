"""A plugin that fails, wherever it fails, gives a sentence and a status, and costs no run."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import DaesolveError, PluginError

PLUGIN = """
import daesolve as ds


class Odd(Exception):
    def __str__(self):
        raise ValueError("no words")


class Deep(BaseException):
    pass


def fail():
    return fail()


def model():
    {model}
    q, p = ds.coordinates(x="m"), ds.parameters(stiffness=(4.0, "N/m"))
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, potential=p.stiffness * q.x**2 / 2)


def start(values, parameters, structure):
    {start}
    return {{"x": values["a"]}}


def derived(values, parameters, structure):
    {derived}
    return {{}}


def scales(values, parameters, structure):
    {scales}
    return {{}}


def names(structure):
    {names}
    return ["b"]


def drawing(run):
    {drawing}
    return ds.drawing.Drawing([ds.drawing.Dot(("x", 0.0))])


def figure(run):
    {figure}
    return None


def measure(case, run):
    {measure}
    return 1.0


def analysis(case):
    {analysis}
    return ds.Answer({{"value": 1.0}})


problem = ds.Problem(
    name="mine", title="a mass", models={{"one": model}}, start=start, derived=derived,
    scales=scales, start_values=names, cases=[ds.Case("release", until=0.05, start={{"a": 1.0}})],
    drawing=drawing, figures={{"own": figure}}, measures={{"m": ds.Measure(measure)}},
    analyses={{"mine": analysis}},
)
"""
FAILS = [
    'raise ZeroDivisionError("a\\nb")', "raise SystemExit", 'raise Deep("x")', "raise Odd",
    "return fail()", "raise MemoryError", "raise StopIteration", 'raise OSError(28, "No space")',
]  # fmt: skip
RETURNS = [
    "return 3", 'return "x"', "return [1]", 'return {"x": None}', "return {1: 2}", "yield 1",
    'return {"x": float("nan")}', "return ds.Answer(None)", "return object()", "return ds.time",
]  # fmt: skip
PLACES = (
    "model",
    "start",
    "derived",
    "scales",
    "names",
    "drawing",
    "figure",
    "measure",
    "analysis",
)


def written(folder, place, line):
    slots = dict.fromkeys(PLACES, "pass") | {place: line}
    file = folder / "mine.py"
    file.write_text(PLUGIN.format(**slots), encoding="utf-8")
    return file


def ended(words):
    found = CliRunner().invoke(app, list(map(str, words)))
    assert found.exception is None or isinstance(found.exception, SystemExit), words
    assert found.exit_code in (0, 2, 3), words
    assert not found.exit_code or found.stderr.startswith("daesolve: "), words
    assert found.exit_code in (0, 3) or found.stderr.count("\n") == 1, words
    return found


@pytest.mark.long_beyond(5)
@pytest.mark.default_rows(1)
@pytest.mark.slow_rows(
    'start-raise Deep("x")',
    "start-raise SystemExit",
    'start-raise ZeroDivisionError("a\\\\nb")',
    'start-return "x"',
    "start-return [1]",
    'start-return {"x": None}',
    "names-return ds.time",
    "names-return fail()",
)
@pytest.mark.parametrize("line", FAILS + RETURNS)
@pytest.mark.parametrize("place", ["model", "start", "derived", "scales", "names"])
def test_what_poses_a_case_may_fail(tmp_path, place, line):
    file = written(tmp_path, place, line)
    ended(["show", file])
    ended(["run", file, "--until", "0.01", "--json"])
    if line in FAILS:
        with pytest.raises(DaesolveError) as raised:
            ds.problem(str(file)).case().solve(0.01)
        assert "\n" not in str(raised.value)


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("return ds.time")
@pytest.mark.parametrize("line", FAILS + RETURNS)
def test_an_analysis_and_a_measure_may_fail(tmp_path, line):
    ended(["analyse", written(tmp_path, "analysis", line), "mine"])
    file = written(tmp_path, "measure", line)
    out = tmp_path / "out"
    ended(["sweep", file, "--over", "stiffness=1", "--workers", "0", "--out", out, "--quiet"])


def test_what_a_rule_raises_is_named_with_its_cause(tmp_path):
    file = written(tmp_path, "start", FAILS[0])
    with pytest.raises(PluginError, match=r"rule for the start of the problem 'mine' fails: Zero"):
        ds.problem(str(file)).case().solve(0.01)


@pytest.mark.long_beyond(3)
@pytest.mark.slow
@pytest.mark.parametrize("line", FAILS + RETURNS)
@pytest.mark.parametrize("place", ["drawing", "figure"])
def test_a_drawing_that_fails_costs_no_report(tmp_path, place, line):
    file = written(tmp_path, place, line)
    found = ended(["run", file, "--out", tmp_path / "run", "--quiet"])
    assert found.exit_code == 0
    assert (tmp_path / "run/report.html").is_file()
