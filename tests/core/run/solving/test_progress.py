"""`solve(..., progress=...)`: lines where nothing can be drawn, a callable, or nothing."""

from __future__ import annotations

import re

import pytest

import daesolve as ds
from tests.reporting.conftest import pendulum

START = {"x": -1.0}


@pytest.mark.slow
def test_true_writes_at_most_ten_lines_where_there_is_no_terminal(capfd):
    ds.solve(pendulum(), 5000.0, START, progress=True)
    lines = capfd.readouterr().err.splitlines()
    shares = [int(re.fullmatch(r"daesolve: (\d+) % · t = .* s .*", line)[1]) for line in lines]
    assert 0 < len(shares) <= 10
    assert shares == sorted(shares)


@pytest.mark.slow
def test_true_draws_a_bar_in_a_terminal(monkeypatch, capfd):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    ds.solve(pendulum(), 5000.0, START, progress=True)
    assert "━" in capfd.readouterr().err


def test_nothing_is_shown_unasked_and_the_run_is_the_same(capfd):
    runs = [ds.solve(pendulum(), 5.0, START, progress=asked) for asked in (None, False, True)]
    assert capfd.readouterr().out == ""
    assert len({run.end_state["x"] for run in runs}) == 1


def test_a_callable_receives_the_time_that_was_reached():
    reached = []
    ds.solve(pendulum(), 200.0, START, progress=lambda time, monitor, events: reached.append(time))
    assert reached == sorted(reached)
    assert reached[-1] == 200.0


@pytest.mark.slow
def test_a_case_and_a_run_that_goes_on_take_it_too(tmp_path, capfd):
    case = ds.Problem(
        "swings",
        title="A point",
        models={"cartesian": pendulum},
        cases=[ds.Case("release", start={"x": -1.0, "y": 0.0}, until=3000.0)],
    ).case()
    case.solve(store=tmp_path / "run", progress=True)
    assert "daesolve: " in capfd.readouterr().err
    ds.resume(tmp_path / "run", 9000.0, source=case, progress=True)
    assert "daesolve: " in capfd.readouterr().err
