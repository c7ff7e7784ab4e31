"""A run repeated in another way shows how far it can be trusted."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import UnsupportedError
from daesolve.verification import lyapunov_time

from .systems import chain, oscillator, pendulum, prepared_run, wheel, wheel_state


def test_the_difference_of_two_tolerances_measures_the_error():
    run = ds.solve(
        pendulum(), 10.0, {"x": -1.0}, solver=ds.Dop853(rtol=1e-6, atol=1e-6), verify=True
    )
    exact = ds.solve(pendulum(), 10.0, {"x": -1.0})
    error = np.max(np.abs(run["x"] - exact["x"]))
    assert error > 1e-8
    assert run.verification.difference["x"] == pytest.approx(error, rel=0.5)
    assert "dop853" in run.verification.against


def test_another_solver_may_repeat_it():
    run = ds.solve(oscillator(), 10.0, {"x": 1.0}, verify=ds.Dop853(rtol=1e-12, atol=1e-13))
    assert "dop853" in run.verification.against
    assert max(run.verification.difference.values()) <= 1e-10


def test_regular_motion_has_no_lyapunov_time():
    run = ds.solve(pendulum(), 100.0, {"x": -1.0}, verify=True)
    assert run.verification.lyapunov_time is None
    assert run.verification.difference["x"] <= 1e-11


@pytest.mark.slow
def test_the_chaotic_wheel_with_pendulum_has_the_known_lyapunov_time():
    """Benettin over 300 s: 0.96 to 1.0 per second from (0.2, phi = 2.9)."""
    start = wheel_state(0.2, 0.0, phi=2.9, phi_dot=0.0)
    run = ds.solve(wheel(with_pendulum=True), 100.0, start, verify=True)
    # over 100 s and not 300, with a few seconds between the restarts of the shadow: a factor of two
    assert 0.5 < run.verification.lyapunov_time < 2.0


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
    from daesolve.simulation import simulate
    from daesolve.verification import verify

    run = simulate(prepared)
    verify(prepared, run)
    assert np.array_equal(before[0], prepared.values)
    assert np.array_equal(before[1], prepared.initial)


@pytest.mark.parametrize("until", [30.0, -30.0])
def test_errors_on_a_saddle_grow_with_its_rate_in_either_direction_of_time(until):
    """x'' = x: from rest at x = 1e-3 it is 1e-3 cosh t, and so are errors."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=-(q.x**2) / 2)
    run = ds.solve(system, until, {"x": 1e-3, "x_dot": 0.0}, verify=True)
    assert run.verification.lyapunov_time == pytest.approx(1.0, rel=0.05)


def test_a_system_that_rests_at_zero_has_no_lyapunov_time():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    run = ds.solve(system, 30.0, {"x": 0.0, "x_dot": 0.0}, verify=True)
    assert run.verification.lyapunov_time is None


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


def test_without_samples_the_ends_are_compared():
    coarse = ds.Dop853(rtol=1e-6, atol=1e-6)
    run = ds.solve(pendulum(), 10.0, {"x": -1.0}, at=[], solver=coarse, verify=True)
    exact = ds.solve(pendulum(), 10.0, {"x": -1.0}).end_state["x"]
    assert run.verification.difference["x"] == pytest.approx(
        abs(run.end_state["x"] - exact), rel=0.5
    )


def test_a_repetition_that_ends_otherwise_is_told():
    """With a step so large that its state is not finite before long."""
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": -(x.x**3)})
    run = ds.solve(system, 50.0, {"x": 9.0}, verify=ds.Dop853(fixed_step=1.0))
    assert "where it ended failed" in run.verification.against
    assert np.isnan(run.verification.difference["x"])


def test_a_solver_that_cannot_take_what_was_run_is_refused():
    with pytest.raises(UnsupportedError, match="the solver 'idas' cannot take"):
        ds.solve(pendulum(), 1.0, {"x": -1.0}, verify=ds.Idas())


@pytest.mark.parametrize("formulation", [ds.Feedback(), ds.Index1(), ds.Index2(), ds.GGL()])
def test_chaos_is_seen_in_every_formulation(formulation):
    """A double pendulum from far up: about 0.7 s, by feedback with Taylor's method."""
    start = {"theta_1": 2.0, "theta_2": 2.5, "theta_dot_1": 0.0, "theta_dot_2": 0.0}
    prepared = prepared_run(chain(2), 20.0, start, formulation=formulation)
    assert lyapunov_time(prepared) == pytest.approx(0.7, rel=0.15)
