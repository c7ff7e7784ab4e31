"""Sines in guards that no rate has: steps as long as the horizon hold many of their swings."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers.phase_splitting import MOST_PARTS

SOLVERS = ["taylor", "dop853", "radau", "cvodes", "lsoda"]
HORIZON = 1000.0
FALL = 2.0 * np.sqrt(2.0 * 3.0)
"""The time of the first two falls is below this: a ball from 3 at gravity 1."""


def ball(height: float) -> ds.MechanicalSystem:
    """A ball that loses a fifth of its speed at each impact on a table that is shaken."""
    q = ds.coordinates(y="m")
    table = height * ca.sin(ds.time)
    contact = ds.Contact("table", q.y - table, restitution=0.8, closed=False)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=q.y,
        goals=[contact],
        outputs={"gap": (q.y - table, "m")},
    )


def rod() -> ds.MechanicalSystem:
    """A rod that is thrown, turns evenly and bounces on both its ends without loss."""
    q = ds.coordinates(y="m", theta="rad")
    gaps = {name: q.y + way * ca.sin(q.theta) for name, way in (("one", 1.0), ("other", -1.0))}
    contacts = [ds.Contact(name, gap, restitution=1.0, closed=False) for name, gap in gaps.items()]
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2 + q.dot.theta**2 / 6,
        potential=q.y,
        goals=contacts,
        outputs={f"gap_{name}": (gap, "m") for name, gap in gaps.items()},
    )


@pytest.mark.long_rows("cvodes", "lsoda", "radau")
@pytest.mark.slow_rows("dop853")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_ball_does_not_fall_through_a_table_that_is_shaken_lightly(solver):
    run = ds.solve(ball(1e-3), HORIZON, {"y": 3.0, "y_dot": 0.0}, solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED
    # The table moves with 1e-3 g at most: once at rest on it, the ball stays there.
    assert np.min(run["gap"]) > -1e-9
    assert np.max(np.abs(run["gap"][run.times > 30 * FALL])) < 1e-9


@pytest.mark.slow
def test_a_rod_that_turns_evenly_does_not_pass_through_the_floor():
    start = {"y": 4.0, "y_dot": 0.0, "theta": 0.3, "theta_dot": 1.7}
    run = ds.solve(rod(), HORIZON, start)
    assert run.outcome is ds.Outcome.COMPLETED
    for name in ("gap_one", "gap_other"):
        assert np.min(run[name]) > -1e-9


@pytest.mark.long_rows("37.0-100.0-cvodes")
@pytest.mark.slow_rows(
    "1.0-1000.0-cvodes",
    "37.0-100.0-dop853",
    "37.0-100.0-lsoda",
    "37.0-100.0-radau",
    "1.0-1000.0-dop853",
    "1.0-1000.0-lsoda",
    "1.0-1000.0-radau",
)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("frequency", "until"), [(1.0, HORIZON), (37.0, HORIZON / 10)])
def test_every_swing_of_a_guard_of_time_is_recorded(solver, frequency, until):
    q = ds.coordinates(y="m")
    event = ds.Event("rises", ca.sin(frequency * ds.time + q.y), ds.RISING, ds.Record())
    drifts = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, events=[event])
    run = ds.solve(drifts, until, {"y": 0.1, "y_dot": 1e-3}, solver=solver)
    times = np.array([event.time for event in run.events])
    rate = frequency + 1e-3
    exact = (2 * np.pi * np.arange(1, len(times) + 1) - 0.1) / rate
    assert len(times) == int((rate * until + 0.1) / (2 * np.pi))
    # Times are multiples of 1e-13 s near the horizon; CVODES and LSODA reach y to 1e-8 of it.
    assert np.max(np.abs(times - exact)) < 1e-7


def test_more_swings_than_can_be_searched_end_the_run_with_a_sentence():
    q = ds.coordinates(y="m")
    often = ds.Event("often", ca.sin(10.0 * MOST_PARTS * ds.time) + q.y, ds.FALLING, ds.Stop())
    drifts = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, events=[often])
    run = ds.solve(drifts, 100.0, {"y": 3.0, "y_dot": 0.0}, solver="dop853")
    assert run.outcome is not ds.Outcome.COMPLETED
    assert "in the guard of 'often' turns through more than" in run.message
