"""Steps that an observer does not believe are dropped, with all that lies in them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.solvers import State, Status
from daesolve.core.solvers.observers import StepObserver
from tests.systems import oscillator, prepared_run

SOLVERS = [ds.Taylor, ds.Dop853, ds.Cvodes, ds.RadauIIA]


class Doubting(StepObserver):
    """Believes steps up to a time."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.seen: list[float] = []

    def __call__(self, block: StepBlock) -> None:
        self.seen += block.times.tolist()

    def accepted_count(self, times: np.ndarray, states: np.ndarray) -> int:
        assert len(times) == len(states)
        return int(np.sum(times <= self.until))


def _recorded(q: ds.Coordinates) -> list[ds.Event]:
    return [ds.Event("there", q.x, ds.RISING, ds.Record())]


def _reset(q: ds.Coordinates) -> list[ds.Event]:
    then = ds.Reset({"x_dot": -q.dot.x})
    return [ds.Event("wall", q.x - 0.5, ds.RISING, then), *_recorded(q)]


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("until", [10.0, 0.0])
def test_a_segment_ends_with_the_last_step_that_is_believed(
    solver: Callable[[], ds.solvers.Solver], until: float
) -> None:
    run = prepared_run(oscillator(events=_recorded), 40.0, {"x_dot": 1.0}, solver=solver())
    start = State(0.0, run.initial, run.values)
    at, observer = np.arange(0.5, 40.0, 0.5), Doubting(until)
    end = run.solver.segment(run.problem, start, 40.0, at, observer)
    assert end.status is Status.HALTED
    assert end.time <= until
    assert end.time > until - 3.0 or until == 0.0
    assert observer.seen == [] if until == 0.0 else observer.seen[-1] == end.time
    assert len(end.samples) == np.sum(at <= end.time)
    assert all(hit.time <= end.time for hit in end.hits)
    # sin t by methods of tolerances 1e-9 and better, over ten seconds.
    assert abs(end.state[0] - np.sin(end.time)) < 1e-6


def test_events_that_the_kernel_finds_itself_are_dropped_too() -> None:
    """The body meets the wall at pi / 6, and the doubt begins before that."""
    run = prepared_run(oscillator(events=_reset), 40.0, {"x": -0.5, "x_dot": 1.0})
    solver = ds.Taylor(tolerance=1e-16, engine="kernel").configured(run.problem, 1.0)
    assert solver.halts_at_events(run.problem)
    start = State(0.0, run.initial, run.values)
    at = np.array([0.1, 0.9])
    whole = solver.segment(run.problem, start, 40.0, at, Doubting(40.0))
    assert whole.status is Status.STOPPED
    assert len(whole.hits) == 2
    observer = Doubting(0.0)
    end = solver.segment(run.problem, start, 40.0, at, observer)
    assert (end.status, end.time) == (Status.HALTED, 0.0)
    assert (observer.seen, len(end.samples), end.hits) == ([], 0, ())
    assert np.array_equal(end.state, run.initial)


def test_who_says_nothing_believes_all() -> None:
    run = prepared_run(oscillator(), 4.0, {"x_dot": 1.0}, solver=ds.Dop853())
    start = State(0.0, run.initial, run.values)
    end = run.solver.segment(run.problem, start, 4.0, np.empty(0), lambda block: None)
    assert (end.status, end.time) == (Status.REACHED, 4.0)
