"""A run repeated in another way shows how far it can be trusted."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import UnsupportedError
from tests.billiards import sinai_billiard
from tests.hybrid_systems import bouncing_ball
from tests.reference import sinai_billiard as billiard
from tests.systems import oscillator, pendulum, prepared_run

BILLIARD = dict(zip(("x", "y", "x_dot", "y_dot"), billiard.START, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("by", "method"), [(True, "taylor"), ("same", "dop853, rtol 1e-07")])
def test_the_difference_of_two_runs_measures_the_error(by, method):
    loose = ds.Dop853(rtol=1e-6, atol=1e-6)
    run = ds.solve(pendulum(), 10.0, {"x": -1.0}, solver=loose, verify=by)
    exact = ds.solve(pendulum(), 10.0, {"x": -1.0})
    error = np.max(np.abs(run["x"] - exact["x"]))
    assert error > 1e-8
    assert run.verification.difference["x"] == pytest.approx(error, rel=0.5)
    assert method in run.verification.against


@pytest.mark.slow
def test_a_force_that_the_run_stepped_over_is_named_by_state_and_time():
    """A spring that stiffens at t = 5 s, and steps of half a second whatever it does."""
    q = ds.coordinates(x="m")
    spring = ds.smooth(ca.if_else(ds.time > 5.0, -3.0, -1.0) * q.x)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": spring})
    coarse = ds.Dop853(fixed_step=0.47)
    run = ds.solve(system, 10.0, {"x": 1.0}, solver=coarse, verify=ds.Dop853(rtol=1e-12))
    assert 4.9 < min(run.verification.apart_from.values()) < 5.6
    assert "differs by more than 1e-06 of its size from t = " in run.verification.against
    truth = ds.solve(system, 10.0, {"x": 1.0}, solver="dop853", verify=True)
    assert not truth.verification.apart_from


@pytest.mark.slow
def test_another_solver_may_repeat_it():
    run = ds.solve(oscillator(), 10.0, {"x": 1.0}, verify=ds.Dop853(rtol=1e-12, atol=1e-13))
    assert "dop853" in run.verification.against
    assert max(run.verification.difference.values()) <= 1e-10


@pytest.mark.slow
def test_an_angle_that_turns_over_differs_by_no_whole_turns():
    """A pendulum that turns over: wrapped at other boundaries, the difference stays small."""
    import casadi as ca

    q = ds.coordinates(theta=ds.ANGLE)
    system = ds.MechanicalSystem(q, kinetic=q.dot.theta**2 / 2, potential=-9.81 * ca.cos(q.theta))
    run = ds.solve(system, 200.0, {"theta": 0.0, "theta_dot": 10.0}, verify=True)
    assert run["theta"][-1] > 1000.0
    assert run.verification.difference["theta"] <= 1e-9


def test_a_run_that_did_not_finish_is_not_repeated():
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": -x.x}, events=[ds.Event("half", x.x - 0.5, then=ds.Stop())])
    run = ds.solve(system, 5.0, {"x": 1.0}, verify=True)
    assert run.outcome.good
    assert run.verification is not None
    assert run.end_time == pytest.approx(np.log(2.0), rel=1e-14)


def test_verifying_leaves_the_prepared_run_alone():
    prepared = prepared_run(pendulum(), 5.0, {"x": -1.0})
    before = prepared.values.copy(), prepared.initial.copy()
    from daesolve.core.run.integration.simulation import simulate
    from daesolve.verification.second_run import verify

    run = simulate(prepared)
    verify(prepared, run)
    assert np.array_equal(before[0], prepared.values)
    assert np.array_equal(before[1], prepared.initial)


def test_the_difference_is_taken_between_equal_times_in_any_order_of_the_samples():
    """It stops at x = 1/2, a little sooner or later: one of the runs reaches a sample more."""
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": -x.x}, events=[ds.Event("half", x.x - 0.5, then=ds.Stop())])
    coarse = ds.Dop853(rtol=1e-4, atol=1e-4)
    stops = [ds.solve(system, 5.0, {"x": 1.0}, solver=s).end_time for s in (coarse, ds.Taylor())]
    assert stops[0] != stops[1]
    at = [sum(stops) / 2, 0.0, 0.5]
    run = ds.solve(system, 5.0, {"x": 1.0}, at=at, solver=coarse, verify=ds.Taylor())
    assert run.verification.difference["x"] <= 1e-3


@pytest.mark.slow
def test_without_samples_the_ends_are_compared():
    coarse = ds.Dop853(rtol=1e-6, atol=1e-6)
    run = ds.solve(pendulum(), 10.0, {"x": -1.0}, at=[], solver=coarse, verify=True)
    exact = ds.solve(pendulum(), 10.0, {"x": -1.0}).end_state["x"]
    assert run.verification.difference["x"] == pytest.approx(
        abs(run.end_state["x"] - exact), rel=0.5
    )


def test_a_repetition_that_ends_otherwise_is_reported():
    """With a step so large that its state is not finite before long."""
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": -(x.x**3)})
    run = ds.solve(system, 50.0, {"x": 9.0}, verify=ds.Dop853(fixed_step=1.0))
    assert "where it ended failed" in run.verification.against
    assert np.isnan(run.verification.difference["x"])
    assert "not verified, because the repetition ended otherwise" in str(run.verification)
    assert "nan" not in str(run)


def test_a_solver_that_cannot_take_what_was_run_is_refused():
    with pytest.raises(UnsupportedError, match="the solver 'idas' cannot integrate"):
        ds.solve(pendulum(), 1.0, {"x": -1.0}, verify=ds.Idas())


@pytest.mark.slow
def test_the_resets_of_both_runs_are_compared():
    coarse = ds.Dop853(rtol=1e-6, atol=1e-8)
    run = ds.solve(bouncing_ball(), 5.0, {"y": 1.0, "y_dot": 0.0}, solver=coarse, verify=True)
    assert ", the same 8 resets, at times up to " in run.verification.against
    assert max(run.verification.difference.values()) < 1e-4


@pytest.mark.slow
def test_motions_that_part_are_reported_before_anything_else():
    """Errors of 1e-4 of a billiard are no longer small after a few hits."""
    coarse = ds.Dop853(rtol=1e-5, atol=1e-5)
    system = sinai_billiard(billiard.RADIUS)
    run = ds.solve(system, 60.0, BILLIARD, solver=coarse, verify=ds.Taylor())
    counts, reported = run.verification.against.split("resets in the run")
    assert counts.split()[-1] == str(run.event_count)
    assert "differs by more than 1e-06 of its size from t = " in reported
    assert max(run.verification.difference.values()) > 0.1


@pytest.mark.slow
def test_where_series_end_another_method_verifies():
    """Along straight flights a tightened tolerance changes no digit."""
    q = ds.coordinates(x="m", y="m")
    wall = 1.0 - (q.x**2 + q.y**2)
    circle = ds.Holonomic("circle", wall)
    billiard = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        events=[ds.Event("wall", wall, ds.FALLING, ds.Reset(impose=[circle], restitution=1.0))],
    )
    start = {"x": 0.2, "y": 0.0, "x_dot": 0.6, "y_dot": 0.8}
    run = ds.solve(billiard, 20.0, start, verify=True)
    assert run.verification is not None
    assert "dop853" in run.verification.against
    assert 0.0 < max(run.verification.difference.values()) < 1e-10


@pytest.mark.parametrize("begin", [1e6, -1e8])
@pytest.mark.parametrize(
    "force",
    [
        lambda t, x, v: ca.if_else(t > 1.0, 1.0, 0.0),
        lambda t, x, v: ca.floor(t),
        lambda t, x, v: -0.1 * ca.sign(v),
    ],
    ids=["step", "staircase", "dry"],
)
def test_a_jump_late_in_time_is_verified_to_the_rounding_of_times(force, begin):
    """Each of five jumps of size one is known to ten roundings of time, a step of the verifier."""
    q = ds.coordinates(x="m")
    push = {"x": force(ds.time - begin, q.x, q.dot.x)}
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force=push)
    run = ds.solve(system, begin + 5.0, {"x": 1.0}, start_time=begin, verify=True, at=[begin + 5.0])
    assert run.verification is not None
    assert max(run.verification.difference.values()) <= 50.0 * np.spacing(abs(begin))
