"""--rtol and --atol without --solver are for the solver that would have been chosen anyway."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import OutOfRangeError

PENDULUM = ["pendulum", "--until", "1"]
STIFF = ["omni-friction", "--until", "0.1"]
"""Radau is chosen: the rollers of the vehicle come to their speed in a microsecond."""
INDEX_1 = [*PENDULUM, "--formulation", "index-1"]


def run(*words):
    result = CliRunner().invoke(app, ["run", *words, "--json"])
    assert result.exit_code == 0, (result.stderr, result.exception)
    return json.loads(result.stdout), result.stderr


@pytest.mark.slow_rows("words1-given1-tolerances1", "words2-given2-tolerances2")
@pytest.mark.parametrize(
    ("words", "given", "tolerances"),
    [
        (PENDULUM, ["--rtol", "1e-9"], {"tolerance": 1e-9}),
        (STIFF, ["--rtol", "1e-6"], {"rtol": 1e-6, "atol": 1e-12}),
        (STIFF, ["--rtol", "1e-6", "--atol", "1e-8"], {"rtol": 1e-6, "atol": 1e-8}),
        (INDEX_1, ["--rtol", "1e-7"], {"rtol": 1e-7, "atol": 1e-10}),
    ],
)
def test_the_solver_that_is_chosen_takes_the_tolerances(words, given, tolerances):
    found, told = run(*words, *given)
    chosen = {"pendulum": "taylor", "omni-friction": "radau"}[words[0]]
    assert found["solver"] == ("idas" if words is INDEX_1 else chosen)
    assert found["tolerances"] == tolerances
    assert told == ""


def test_an_absolute_tolerance_takes_cvodes_where_taylor_would_be_and_says_so():
    found, told = run(*PENDULUM, "--atol", "1e-9")
    assert (found["solver"], found["tolerances"]["atol"]) == ("cvodes", 1e-9)
    sentence = "solver cvodes instead of taylor, which has no absolute tolerance"
    assert told == f"daesolve: {sentence}\n"
    assert sentence in found["notes"]


def test_in_python_it_is_the_same():
    case = ds.problem("pendulum").case()
    loose = case.solve(1.0, rtol=1e-5, formulation=ds.Index1())
    by_name = case.solve(1.0, solver=ds.Idas(rtol=1e-5), formulation=ds.Index1())
    assert np.array_equal(loose["x"], by_name["x"])
    with pytest.raises(OutOfRangeError, match="give the tolerance to that solver"):
        case.solve(1.0, rtol=1e-5, solver=ds.Idas())


@pytest.mark.parametrize("option", ["--rtol", "--atol"])
@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1"])
def test_a_tolerance_that_is_none_is_refused(option, value):
    result = CliRunner().invoke(app, ["run", *PENDULUM, option, value])
    assert result.exit_code == 2
    assert f"{option[2:]} is" in result.stderr
    assert "> 0" in result.stderr


@pytest.mark.long
def test_a_run_with_tolerances_goes_on_as_it_was_begun(tmp_path):
    words = ["run", "pendulum", "--quiet", "--rtol", "1e-6", "--formulation", "index-1"]
    options = ["--until", "0.5", "--every", "0.125", "--out", str(tmp_path / "run")]
    assert CliRunner().invoke(app, [*words, *options]).exit_code == 0
    far = CliRunner().invoke(app, ["resume", str(tmp_path / "run"), "--until", "1", "--json"])
    assert far.exit_code == 0, far.stderr
    found = json.loads(far.stdout)
    assert (found["solver"], found["tolerances"]["rtol"]) == ("idas", 1e-6)


def test_the_members_of_a_sweep_keep_their_solver(tmp_path):
    words = ["sweep", "pendulum", "--over", "mass=1,2", "--until", "1", "--workers", "0"]
    given = ["--formulation", "index-1", "--rtol", "1e-6", "--out", str(tmp_path / "sweep")]
    result = CliRunner().invoke(app, [*words, *given])
    assert result.exit_code == 0, (result.stderr, result.exception)
    row = ds.ensembles.Sweep.from_directory(tmp_path / "sweep").to_pandas().iloc[1]
    alone = ds.problem("pendulum").case(mass=2.0)
    assert row["end_x"] == alone.solve(1.0, rtol=1e-6, formulation=ds.Index1()).end_state["x"]


def test_a_batch_takes_the_tolerance_by_taylor(tmp_path):
    words = ["sweep", "pendulum", "--over", "mass=1,2", "--batch", "--workers", "0"]
    out = ["--until", "1", "--out", str(tmp_path / "sweep")]
    assert CliRunner().invoke(app, [*words, "--rtol", "1e-9", *out]).exit_code == 0
    refused = CliRunner().invoke(app, [*words, "--atol", "1e-9", "--out", str(tmp_path / "other")])
    assert refused.exit_code == 2
    assert "'taylor' has no atol" in refused.stderr
