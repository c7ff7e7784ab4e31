"""A switching law of one's own: one class and one registration, and a run follows it."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.core import features
from daesolve.core.events.transitions import LAWS
from daesolve.errors import (
    NotResumableError,
    PosingError,
    ResetError,
    UnsupportedError,
    VariantError,
)

from .own_law import Dwell, ball

FALLS = {"y": 5.0}
"""It strikes at 1 s with 10 m/s, leaves with 8 m/s, and strikes again 1.6 s later."""


class Stuck(Dwell):
    """Follows no motion beyond the floor."""

    error: Exception = ResetError("the floor gives way")

    def decide(self, time, x, p, fired, book):
        if fired:
            raise self.error
        yield from ()


@pytest.fixture
def add(monkeypatch):
    """Registers a law for one test."""
    registered = {point: [*additions] for point, additions in features._registered.items()}
    with monkeypatch.context() as patch:
        patch.setattr(features, "_registered", registered)
        yield lambda law: features.register(LAWS, law)
    features.references.cache_clear()


@pytest.mark.parametrize("solver", [None, ds.Dop853()])
def test_a_ball_stays_where_it_strikes_and_leaves_as_the_law_says(add, solver):
    """It rises to 3.2 m at 1.9 s, and leaves with 6.4 m/s at 2.8 s, for 2.048 m at 3.44 s."""
    add(Dwell)
    run = ds.solve(ball(), 3.44, FALLS, at=[1.05, 1.9, 2.75, 3.44], solver=solver)
    assert [event.name for event in run.events] == 2 * ["strike", "leaves"]
    assert [event.time for event in run.events] == pytest.approx([1.0, 1.1, 2.7, 2.8], rel=1e-12)
    assert run["y"] == pytest.approx([0.0, 3.2, 0.0, 2.048], abs=1e-12)
    assert run["y_dot"] == pytest.approx(np.zeros(4), abs=1e-12)


def test_a_law_chooses_the_first_mode(add):
    add(Dwell)
    run = ds.solve(ball(), 0.5, FALLS, parameters={"stays": 1.0}, at=[0.5])
    assert run["y"] == pytest.approx([3.75])
    assert "it begins free" in run.description["notes"]


def test_without_it_the_events_change_nothing_as_posed(add):
    """Also where the same system was prepared with the law, or without it, before."""
    bare = ds.solve(ball(), 1.5, FALLS)
    assert bare.end_state["y"] == pytest.approx(5.0 - 5.0 * 1.5**2)
    add(Dwell)
    assert ds.solve(ball(), 1.5, FALLS).end_state["y"] == pytest.approx(8.0 * 0.4 - 5.0 * 0.4**2)


def test_a_stored_run_goes_on_with_the_law_and_not_without_it(add, tmp_path):
    add(Dwell)
    ds.solve(ball(), 0.5, FALLS, store=tmp_path / "run")
    whole = ds.resume(tmp_path / "run", 1.5, source=ball())
    assert whole.end_state["y"] == pytest.approx(8.0 * 0.4 - 5.0 * 0.4**2)
    features._registered[LAWS].pop()
    features.references.cache_clear()
    with pytest.raises(NotResumableError, match="are Dwell, but here are ResetLaw: register"):
        ds.resume(tmp_path / "run", 2.0, source=ball())


def test_an_audit_leaves_to_the_law_what_was_posed_to_change_nothing(add):
    add(Dwell)
    found = ds.solve(ball(), 1.5, FALLS).audit()
    assert found.holds
    assert [str(finding) for finding in found.unchecked] == [
        f"reset, {event}: not checked: the law Dwell decides what it changes"
        for event in ("strike", "leaves")
    ]


def test_an_audit_objects_where_the_law_changes_what_was_posed_otherwise(add):
    add(Dwell)
    run = ds.solve(ball(ds.Reset({"y_dot": 8.0})), 1.5, FALLS)
    (objection,) = run.audit().contradictions
    assert objection.owner == "reset, strike"
    assert "y_dot becomes 0 instead of 8" in objection.sentence


def test_a_law_without_an_answer_ends_the_run_by_the_kind_of_its_error(add, monkeypatch):
    add(Stuck)
    run = ds.solve(ball(), 1.5, FALLS, at=[])
    assert run.outcome is ds.Outcome.FAILED
    assert "gives way" in run.message
    assert run.end_time == pytest.approx(1.0, rel=1e-14)
    monkeypatch.setattr(Stuck, "error", VariantError("no mode continues the motion"))
    run = ds.solve(ball(), 1.5, FALLS, at=[])
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "no mode continues" in run.message


def test_a_start_beyond_what_a_law_bars_is_refused(add):
    add(Dwell)
    with pytest.raises(ds.DaesolveError, match="beyond the barrier of the event 'strike'"):
        ds.solve(ball(), 1.5, {"y": -1.0, "y_dot": 2.0})


def test_no_unit_is_made_of_what_a_law_decides(add, tmp_path):
    pytest.importorskip("daesolve.export")
    add(Dwell)
    with pytest.raises(UnsupportedError, match="the event 'strike' is decided by the law Dwell"):
        ball().to_fmu(tmp_path / "ball.fmu")


def test_an_event_that_is_only_recorded_is_no_place_for_a_law(add):
    add(Dwell)
    with pytest.raises(PosingError, match="takes the event 'strike', which is only recorded"):
        ds.solve(ball(ds.Record()), 1.5, FALLS)
