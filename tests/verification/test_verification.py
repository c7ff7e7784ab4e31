"""A run repeated in another way shows how far it can be trusted."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import UnsupportedError
from daesolve.verification.shadow import lyapunov_time

from ..billiards import circular_billiard, sinai_billiard
from ..hybrid_systems import bouncing_ball, peg_pendulum
from ..reference import sinai_billiard as billiard
from ..systems import chain, oscillator, pendulum, prepared_run, wheel, wheel_state


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
    from daesolve.integration.simulation import simulate
    from daesolve.verification.second_run import verify

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


# -- through resets -------------------------------------------------------------------------------

BILLIARD = dict(zip(("x", "y", "x_dot", "y_dot"), billiard.START, strict=True))


@pytest.mark.slow
def test_a_billiard_about_a_disc_is_as_chaotic_as_sinais_formula_tells():
    """The exponent over 400 s varies from start to start; it is among those of the exact map."""
    x, y, *velocity = billiard.START
    near = [billiard.exponent((x, y + 1e-3 * k, *velocity), 400.0) for k in range(8)]
    time = lyapunov_time(prepared_run(sinai_billiard(billiard.RADIUS), 400.0, BILLIARD))
    assert abs(1.0 / time - np.mean(near)) < 3.0 * np.std(near)
    assert np.std(near) < 0.1 * np.mean(near)


def test_the_doubling_map_has_the_exponent_ln_2():
    """x grows by e^(t ln 2), and whole numbers are taken from it where a clock strikes."""
    s = ds.states(x="", clock="s")
    strike = ds.Reset({"clock": s.clock - 1.0, "x": s.x - (s.x >= 1.0)})
    system = ds.ControlSystem(
        s,
        {"x": np.log(2.0) * s.x, "clock": 1.0},
        events=[ds.Event("strike", s.clock - 1.0, ds.RISING, strike)],
    )
    prepared = prepared_run(system, 200.0, {"x": 0.3, "clock": 0.0})
    assert lyapunov_time(prepared) == pytest.approx(1.0 / np.log(2.0), rel=1e-3)


@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853()], ids=["taylor", "dop853"])
def test_chaos_through_resets_is_seen_with_solvers_that_pass_over_events_too(solver):
    prepared = prepared_run(sinai_billiard(billiard.RADIUS), 100.0, BILLIARD, solver=solver)
    assert 0.5 < 1.0 / lyapunov_time(prepared) < 1.2


@pytest.mark.parametrize(
    ("system", "start", "until"),
    [
        (bouncing_ball(), {"y": 1.0, "y_dot": 0.0}, 100.0),
        (circular_billiard(), {"x": 0.1, "y": 0.3, "x_dot": 1.0, "y_dot": 0.37}, 100.0),
        (peg_pendulum(), {"x": np.sin(0.7), "y": -np.cos(0.7)}, 60.0),
    ],
    ids=["bouncing ball", "circular billiard", "pendulum with a peg"],
)
def test_regular_motion_with_resets_has_no_lyapunov_time(system, start, until):
    numbers = {"restitution": 1.0} if "restitution" in system.dynamics.values else {}
    run = ds.solve(system, until, start, parameters=numbers, verify=True)
    assert run.event_count > 50
    assert run.verification.lyapunov_time is None


def test_a_motion_without_all_of_its_velocities_is_followed_in_all_of_them():
    """Its chart covers no shadow beside the constraints; that regular motion is found is known."""
    start = {"x": np.sin(0.7), "y": -np.cos(0.7)}
    prepared = prepared_run(peg_pendulum(), 60.0, start, formulation=ds.NullSpace())
    assert prepared.problem.chart is not None
    assert lyapunov_time(prepared) is None


def test_a_motion_that_stops_soon_leaves_the_question_open():
    """Not to be taken for regular motion: nobody has seen how errors grow."""
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": -x.x}, events=[ds.Event("half", x.x - 0.5, then=ds.Stop())])
    run = ds.solve(system, 50.0, {"x": 1.0}, verify=True)
    assert np.isnan(run.verification.lyapunov_time)


def test_the_resets_of_both_runs_are_compared():
    coarse = ds.Dop853(rtol=1e-6, atol=1e-8)
    run = ds.solve(bouncing_ball(), 5.0, {"y": 1.0, "y_dot": 0.0}, solver=coarse, verify=True)
    assert ", the same 8 resets, at times up to " in run.verification.against
    assert max(run.verification.difference.values()) < 1e-4


@pytest.mark.slow
def test_motions_that_part_are_told_so_before_anything_else():
    """Errors of 1e-4 of a billiard are no longer small after a few hits."""
    coarse = ds.Dop853(rtol=1e-5, atol=1e-5)
    system = sinai_billiard(billiard.RADIUS)
    run = ds.solve(system, 60.0, BILLIARD, solver=coarse, verify=ds.Taylor())
    counts, told = run.verification.against.split("resets against")
    assert counts.split()[-1] == str(run.event_count)
    assert "not the same from t = " in told
    assert max(run.verification.difference.values()) > 0.1


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
