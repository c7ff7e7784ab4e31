import json

import pytest
from typer.testing import CliRunner

from daesolve import problem
from daesolve.cli import analyse as comparing
from daesolve.cli.app import app
from daesolve.cli.continuing import Begun

PLUGIN = """
import daesolve as ds


def build():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(length=(1.0, "m", ds.POSITIVE), gravity=(9.81, "m/s^2"))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.gravity * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)],
    )


problem = ds.Problem(
    name="mine",
    title="a rod",
    models={"cartesian": build},
    cases=[ds.Case("swing", until=2.0, start={"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0})],
)
"""


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN, encoding="utf-8")
    return file


def call(*words, code=0):
    result = CliRunner().invoke(app, ["compare", *map(str, words)])
    assert result.exit_code == code, result.output
    return result


PAIRS = ("--formulations", "feedback", "--solvers", "taylor,dop853")


@pytest.mark.core
def test_json_has_every_run(mine):
    words = (*PAIRS, "--tolerances", "1e-6,1e-9", "--set", "gravity=1.62", "--json")
    told = json.loads(call(mine, *words).stdout)
    assert [(run["solver"], run["tolerance"]) for run in told["runs"]] == [
        ("taylor", 1e-6),
        ("taylor", 1e-9),
        ("dop853", 1e-6),
        ("dop853", 1e-9),
    ]
    assert told["parameters"]["gravity"] == 1.62
    assert (told["problem"], told["case"], told["until"]) == ("mine", "swing", 2.0)
    assert all(run["error"] < 1e-4 for run in told["runs"])


@pytest.mark.long
def test_the_table_is_printed_and_the_figure_written(mine, tmp_path):
    told = call(mine, *PAIRS, "--until", "1", "--out", tmp_path / "out").stdout
    assert "feedback + dop853" in told
    assert "0 s to 1 s" in told
    assert (tmp_path / "out" / "work-precision.svg").exists()
    assert "not empty" in call(mine, *PAIRS, "--out", tmp_path / "out", code=2).stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--formulations", "feedback", "--solvers", "tailor"), "did you mean 'taylor'"),
        (("--formulations", ",", "--solvers", "taylor"), "--formulations needs names"),
        ((*PAIRS, "--tolerances", "small"), "--tolerances needs numbers"),
    ],
)
def test_a_wrong_request_is_reported_with_status_2(mine, words, sentence):
    assert sentence in call(mine, *words, code=2).stderr


def test_status_2_where_every_pair_is_refused(mine):
    words = ("--formulations", "feedback", "--solvers", "dop853", "--tolerances", "1e-18")
    assert "no pair of a formulation and a solver works" in call(mine, *words, code=2).stderr


@pytest.mark.slow
def test_status_3_where_no_run_is_completed(mine):
    singular = PLUGIN.replace("potential=p.gravity * q.y", "potential=-1e3 / (q.x**2 + q.y - 0.2)")
    mine.write_text(singular, encoding="utf-8")
    result = call(mine, "--formulations", "feedback", "--solvers", "dop853", code=3)
    assert "no run finished" in result.stderr


def test_progress_is_shown_in_a_terminal(mine, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    case = problem(str(mine)).case()
    found, _ = comparing.compared(
        Begun(case, None, {}), "feedback", "taylor", None, 0.5, quiet=False
    )
    assert [run.tolerance for run in found.runs] == [1e-4, 1e-6, 1e-8, 1e-10, 1e-12]
