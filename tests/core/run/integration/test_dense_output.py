"""A run keeps the motion within its steps as long as it fits into memory, bit for bit."""

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.run.integration import dense_output
from tests.systems import pendulum
from tests.verification.audit.motions import (
    backwards,
    clock,
    pushed,
    sampled,
    struck,
    swinging,
    ticking,
)


def kept_by(run):
    return run.auditor.stages()[0].state.motion


@pytest.mark.parametrize("motion", [swinging, ticking, struck, backwards, pushed, sampled])
def test_the_motion_that_is_kept_is_the_one_that_is_integrated_again(motion):
    run = motion.__wrapped__()  # nothing else may have made it forget
    assert kept_by(run).ends(run.auditor.prepared.start_time, run.end_time) is not None
    kept = run.auditor.certificate(run)
    kept_by(run).forget()
    again = run.auditor.certificate(run)
    assert np.array_equal(kept.starts, again.starts)
    assert kept.columns.keys() == again.columns.keys()
    for name, column in kept.columns.items():
        assert np.array_equal(column, again.columns[name], equal_nan=True), name
    for name, row in kept.values.items():
        assert np.array_equal(row, again.values[name]), name


def test_steps_that_follow_simple_resets_are_kept():
    run = ds.solve(clock(), 200.0, {"x": 0.0}, start_time=-0.1)
    assert len(run.events) > 100
    assert kept_by(run).ends(-0.1, 200.0) is not None
    assert run.audit().holds


def test_the_oldest_runs_forget_when_all_together_are_too_large(monkeypatch):
    runs = [ds.solve(pendulum(), until, {"x": 0.6}) for until in (2.0, 2.5)]
    last = kept_by(ds.solve(pendulum(), 3.0, {"x": 0.6}))
    sizes = [kept_by(run).bytes for run in runs]
    monkeypatch.setattr(dense_output, "MOST_BYTES", sizes[1] + last.bytes)
    newest = ds.solve(pendulum(), 0.1, {"x": 0.6})
    assert not kept_by(runs[0]).keeps
    assert not kept_by(runs[0]).pieces
    assert kept_by(newest).keeps
    assert runs[0].audit().holds


def test_a_method_that_knows_nothing_within_its_steps_keeps_nothing():
    run = ds.solve(pendulum(), 1.0, {"x": 0.6}, solver=ds.Dop853())
    assert not kept_by(run).keeps
    assert run.audit().holds
