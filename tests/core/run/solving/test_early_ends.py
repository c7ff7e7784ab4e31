"""A run that ended before its time warns the caller, whose line the warning names."""

import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import EndedEarlyWarning

SHORT = 100
"""Evaluations that are too few for a run."""


def spring():
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)


def failing(tmp_path, name):
    case = ds.problem("pendulum").case()
    if name == "ds.solve":
        return ds.solve(spring(), 100.0, {"x": 1.0, "x_dot": 0.0}, max_evaluations=SHORT)
    if name == "case.solve":
        return case.solve(max_evaluations=SHORT)
    store = tmp_path / "stored"
    if name == "stored":
        return case.solve(max_evaluations=SHORT, store=store)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.solve(max_evaluations=SHORT, store=store)
    return ds.resume(store)


@pytest.mark.slow_rows("ds.resume")
@pytest.mark.parametrize("name", ["ds.solve", "case.solve", "stored", "ds.resume"])
def test_a_run_that_failed_warns_at_the_line_of_the_caller(tmp_path, name):
    with pytest.warns(EndedEarlyWarning, match="^the run failed at t = ") as caught:
        run = failing(tmp_path, name)
    (warning,) = caught
    assert run.message in str(warning.message)
    assert f"t = {run.end_time:.10g} s, and its end_state is the state there" in str(
        warning.message
    )
    assert Path(warning.filename) == Path(__file__)


def test_it_can_be_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", EndedEarlyWarning)
        with pytest.raises(EndedEarlyWarning):
            ds.solve(spring(), 100.0, {"x": 1.0, "x_dot": 0.0}, max_evaluations=SHORT)


def test_a_run_that_ended_as_it_was_to_does_not_warn():
    q = ds.coordinates(x="m")
    free = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, events=[ds.Event("there", q.x - 1.0, then=ds.Stop())]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ds.solve(free, 0.5, {"x": 0.0, "x_dot": 1.0}).outcome is ds.Outcome.COMPLETED
        stopped = ds.solve(free, 2.0, {"x": 0.0, "x_dot": 1.0})
    assert stopped.outcome is ds.Outcome.STOPPED_BY_EVENT


def test_what_reports_each_outcome_does_not_warn(tmp_path):
    case = ds.problem("pendulum").case()
    words = ["run", "pendulum", "--max-evaluations", str(SHORT), "--quiet"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        case.compare(["feedback"], ["taylor"], 1.0, max_evaluations=SHORT, reference={"x": 0.0})
        found = ds.ensembles.sweep(
            case, {"mass": [1.0, 2.0]}, out=tmp_path / "swept", workers=0, max_evaluations=SHORT
        )
        assert CliRunner().invoke(app, words).exit_code == 3
    assert found.failed == 2
