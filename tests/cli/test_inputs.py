"""Inputs on the command line: expressions and columns of files, for runs, sweeps, comparisons."""

import json

import numpy as np
import pytest

import daesolve as ds
from daesolve.ensembles import Sweep
from tests.cli.calling import call

PLUGIN = '''"""A cart that is pushed.

What moves: a cart of 2 kg on a spring.
"""

import daesolve as ds


def cart():
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    p = ds.parameters(stiffness=(3.0, "N/m"))
    force = {"x": u.push - p.stiffness * q.x}
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2, force=force, inputs=u)


problem = ds.Problem(
    "pushed-cart",
    title="A cart that is pushed",
    models={"cart": cart},
    cases=[ds.Case("rest", until=2.0)],
)
'''


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("problem")
    (folder / "mine.py").write_text(PLUGIN, encoding="utf-8")
    times = np.linspace(0.0, 2.0, 41)
    rows = "\n".join(f"{time!r},{float(np.sin(3 * time))!r}" for time in times.tolist())
    (folder / "measured.csv").write_text(f"t,force\n{rows}\n", encoding="utf-8")
    return folder


def end_of(mine, **options):
    case = ds.problem(str(mine / "mine.py")).case("rest")
    return case.solve(**options).end_state["x"]


@pytest.mark.long
def test_a_run_takes_an_expression_and_a_column_of_a_file_and_goes_on(mine, tmp_path):
    table = ds.table("push_table", (mine / "measured.csv", "t"), (mine / "measured.csv", "force"))
    for given, inputs in (
        ("push=2 * sin(3 * t) - x", {"push": "2 * sin(3 * t) - x"}),
        (f"push={mine / 'measured.csv'}:force", {"push": table}),
        ("push=1.5", {"push": 1.5}),
    ):
        out = tmp_path / str(len(given))
        call("run", mine / "mine.py", "--input", given, "--out", out, "--quiet")
        run = ds.Trajectory.from_run(out)
        assert run.end_state["x"] == end_of(mine, inputs=inputs)
        # Its own figure beside those of the motion, and none among the outputs.
        page = (out / "report.html").read_text()
        assert "Inputs</h3>" in page
        assert "Outputs</h3>" not in page
        call("resume", out, "--until", 3, "--source", mine / "mine.py", "--quiet")
        longer = ds.Trajectory.from_run(out).end_state["x"]
        assert abs(longer - end_of(mine, until=3.0, inputs=inputs)) < 1e-13


def test_what_is_missing_or_wrong_is_said_in_a_sentence(mine):
    file = mine / "measured.csv"
    for words, sentence in (
        ((), "the input 'push' is not given"),
        (("--input", "push"), "--input needs NAME=EXPRESSION or NAME=FILE:COLUMN"),
        (("--input", "push=2*z"), "unknown name in the input 'push' 'z'"),
        (("--input", f"push={file}:forse"), "did you mean 'force'"),
        (("--input", "push=no.csv:force"), "cannot be read as a table"),
        (("--input", "push=no.csv"), "'no.csv' needs a column"),
        (("--input", "push=1", "--input", "push=2"), "--input push is given twice"),
    ):
        assert sentence in call("run", mine / "mine.py", *words, code=2).stderr


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--set stiffness", ("--set", "stiffness=1", "--set", "stiffness=2")),
        ("--initial x", ("--initial", "x=1", "--initial", "x=2")),
        ("--rate energy", ("--rate", "energy=1", "--rate", "energy=off")),
        ("--rate", ("--rate", "1", "--rate", "auto")),
    ],
)
def test_a_name_that_an_option_gives_twice_is_refused(mine, option, words):
    given = call("run", mine / "mine.py", "--input", "push=1", *words, code=2)
    assert f"{option} is given twice" in " ".join(given.stderr.split())


def test_a_file_of_parameters_that_gives_a_name_twice_is_refused(mine, tmp_path):
    (tmp_path / "twice.json").write_text('{"stiffness": 1, "stiffness": 2}', encoding="utf-8")
    words = ("run", mine / "mine.py", "--input", "push=1", "--parameters", tmp_path / "twice.json")
    assert "'stiffness' is given twice" in " ".join(call(*words, code=2).stderr.split())


@pytest.mark.slow
def test_a_sweep_varies_beside_an_input_and_over_one(mine, tmp_path):
    given = ("--input", f"push={mine / 'measured.csv'}:force")
    words = ("sweep", mine / "mine.py", "--workers", 0)
    call(*words, "--over", "stiffness=1,2", *given, "--out", tmp_path / "one", "--quiet")
    found = Sweep.from_directory(tmp_path / "one").to_pandas()
    table = ds.table("push_table", (mine / "measured.csv", "t"), (mine / "measured.csv", "force"))
    single = end_of(mine, parameters={"stiffness": 2.0}, inputs={"push": table})
    assert abs(found.end_x[1] - single) < 1e-13
    call(*words, "--over", "push=1,2", "--out", tmp_path / "two", "--quiet")
    found = Sweep.from_directory(tmp_path / "two").to_pandas()
    assert abs(found.end_x[1] - end_of(mine, inputs={"push": 2.0})) < 1e-13


def test_a_sweep_over_an_input_that_is_something_else_is_refused(mine, tmp_path):
    words = ("sweep", mine / "mine.py", "--workers", 0, "--over", "push=1,2", "--quiet")
    told = call(*words, "--input", "push=sin(t)", "--out", tmp_path / "three", code=3)
    assert "'push' is given twice, as the parameter value 1.0 and in inputs" in " ".join(
        told.stderr.split()
    )


@pytest.mark.slow
def test_a_comparison_takes_inputs(mine):
    words = ("--formulations", "feedback", "--solvers", "taylor,dop853", "--json")
    told = json.loads(call("compare", mine / "mine.py", *words, "--input", "push=sin(t)").stdout)
    assert all(run["outcome"] == "completed" for run in told["runs"])


def test_inputs_are_shown_with_their_units(mine):
    assert "inputs: push [N]" in call("show", mine / "mine.py").stdout
