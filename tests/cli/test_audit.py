"""The command that holds a run against what was posed."""

import json
from dataclasses import replace

import pytest

import daesolve as ds
from daesolve.cli.options import CONTRADICTED, COULD_NOT_GO_ON, REQUEST_IS_WRONG
from daesolve.core.run.solving.stored_runs import keep_audit
from daesolve.reporting.audits import audit_card, audit_headline

from .calling import call, document

SHORT = ["pendulum", "--until", "1"]


def test_a_problem_is_run_and_audited():
    found = document("audit", *SHORT)
    assert found["outcome"] == "completed"
    assert found["end_time"] == 1.0
    assert found["audit"]["holds"] is True
    assert {f["check"] for f in found["audit"]["findings"]} >= {"goal", "equations of motion"}


def test_the_run_takes_rates_and_an_absolute_tolerance():
    assert document("audit", *SHORT, "--atol", "1e-9")["solver"] == "cvodes"
    refused = call("audit", *SHORT, "--rate", "rodd=1", code=REQUEST_IS_WRONG)
    assert "did you mean 'rod'" in refused.stderr


@pytest.mark.slow
def test_the_terminal_shows_every_check():
    found, told = document("audit", *SHORT), call("audit", *SHORT).stdout
    count = len(found["audit"]["findings"])
    assert f"Of {count} checks {count} hold." in told
    assert "equations of motion, x_dot" in told


@pytest.mark.slow
def test_a_run_on_disk_is_audited_and_keeps_what_is_found(tmp_path):
    out = tmp_path / "run"
    call("run", *SHORT, "--out", out)
    assert ds.Trajectory.from_run(out).audited is None
    found = document("audit", out)
    assert found["audit"]["holds"] is True
    kept = ds.Trajectory.from_run(out)
    assert kept.audited.as_json()["findings"] == found["audit"]["findings"]
    call("report", out)
    assert audit_headline(found) in (out / "report.html").read_text()


@pytest.mark.slow
def test_an_audit_that_holds_takes_back_an_earlier_objection(tmp_path):
    run = ds.problem("pendulum").case().solve(1.0, store=tmp_path / "run")
    keep_audit(tmp_path / "run", replace(run, outcome=ds.Outcome.CONTRADICTED, message="once"))
    assert document("audit", tmp_path / "run")["outcome"] == "completed"
    kept = ds.Trajectory.from_run(tmp_path / "run")
    assert (kept.outcome, kept.message) == (ds.Outcome.COMPLETED, "")


@pytest.mark.slow
def test_a_run_without_error_control_is_contradicted(tmp_path):
    words = ["run", *SHORT, "--solver", "dop853", "--fixed-step", "0.1"]
    told = call(*words, "--verify", "--out", tmp_path / "run", code=CONTRADICTED)
    assert "contradicted by its audit" in told.stdout
    assert "contradicted: goal, rod: its residual is" in told.stderr
    kept = ds.Trajectory.from_run(tmp_path / "run")
    assert kept.outcome is ds.Outcome.CONTRADICTED
    assert kept.message == kept.audited.objection


@pytest.mark.slow
def test_what_cannot_be_audited_is_told_in_a_sentence(tmp_path):
    out = tmp_path / "run"
    ds.problem("pendulum").case().solve(1.0, store=out)
    assert "leave out others" in call("audit", out, "--until", 2, code=REQUEST_IS_WRONG).stderr
    assert "pendulum" in call("audit", "pendulu", code=REQUEST_IS_WRONG).stderr


@pytest.mark.slow
def test_what_there_is_of_a_run_that_ended_early_is_audited():
    told = call("audit", "painleve-rod", "--case", "jam", code=COULD_NOT_GO_ON)
    assert told.stderr.startswith("daesolve: degenerate: ")
    assert "equations of motion" in told.stdout


def test_a_report_says_first_whether_a_run_holds():
    audit = document("audit", *SHORT)["audit"]
    worst = {"check": "goal", "subject": "rod", "verdict": "contradicted", "defect": 1e-3}
    worst |= {"time": 0.5, "sentence": "its residual is 1e-3"}
    assert audit_card({"audit": None})[2] == "warn"
    assert audit_card({"audit": audit})[2] == "good"
    bad = {"audit": {"holds": False, "findings": [*audit["findings"], worst], "left_out": ""}}
    assert audit_card(bad) == ("does not hold", "its residual is 1e-3", "bad")
    count = len(audit["findings"])
    told = f"Of {count + 1} checks 1 contradict what was posed, {count} hold."
    assert audit_headline(bad) == told


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_samples_of_another_program_are_held_against_a_problem(tmp_path, kind):
    run = ds.problem("pendulum").case().solve(1.0)
    table, file = run.to_pandas().reset_index(), tmp_path / f"samples.{kind}"
    write = table.to_csv if kind == "csv" else table.to_parquet
    write(file, index=False)
    assert "equations of motion, x_dot: to" in call("audit", "pendulum", "--samples", file).stdout
    heavier = ["audit", "pendulum", "--samples", file, "--set", "gravity=9.9"]
    told = call(*heavier, code=CONTRADICTED)
    assert "contradicted: equations of motion" in told.stderr
    found = json.loads(call(*heavier, "--json", code=CONTRADICTED).stdout)
    assert found["holds"] is False


def test_samples_with_options_of_a_run_are_refused(tmp_path):
    told = call(
        "audit", "pendulum", "--samples", tmp_path / "s.csv", "--until", "1", code=REQUEST_IS_WRONG
    )
    assert "samples are not run" in told.stderr
