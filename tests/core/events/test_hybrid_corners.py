"""Hybrid motions at their edges: guards that are left and met again, gated, or of values alone."""

from __future__ import annotations

import math

import casadi as ca
import pytest

import daesolve as ds

SOLVERS = [ds.Taylor(), ds.Dop853(rtol=1e-10, atol=1e-12)]
GRAVITY = 9.81


def ball(events, discrete=None, **more):
    q = ds.coordinates(y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=GRAVITY * q.y,
        discrete=discrete or ds.discrete(),
        events=events(q),
        **more,
    )


def floor(q):
    reset = ds.Reset(impose=[ds.Holonomic("floor", q.y)], restitution=0.9)
    return ds.Event("bounce", q.y, ds.FALLING, reset)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
@pytest.mark.slow
def test_a_wheel_of_spokes_that_rocks_comes_to_rest_and_not_over_the_top(solver):
    """Each rock keeps cos(pi / 4) of the rate, so that its energy falls by half."""
    q, half, slope = ds.coordinates(th="rad"), math.pi / 8, 0.08
    kept = math.cos(2 * half) * q.dot.th
    ahead = ds.Reset({"th": q.th - 2 * half, "th_dot": kept})
    back = ds.Reset({"th": q.th + 2 * half, "th_dot": kept})
    wheel = ds.MechanicalSystem(
        q,
        kinetic=q.dot.th**2 / 2,
        potential=GRAVITY * ca.cos(q.th),
        events=[
            ds.Event("step", q.th - slope - half, ds.RISING, ahead),
            ds.Event("back", q.th - slope + half, ds.FALLING, back),
        ],
    )
    run = ds.solve(wheel, 20.0, {"th": 0.0, "th_dot": -1.2}, solver=solver)
    assert run.outcome is ds.Outcome.FAILED
    assert "comes to rest" in run.message
    assert run.end_time == pytest.approx(2.5885, abs=1e-3)
    rates = [abs(event.detail["th_dot"]) for event in run.events]
    assert max(rates[1:]) < 1.2


@pytest.mark.parametrize("unit", [1.0, 1e-15, 1e15])
def test_the_unit_of_a_guard_is_of_no_consequence(unit):
    q, d = ds.coordinates(x="m"), ds.discrete(turns=0.0)
    count = ds.Event("through", unit * q.x, ds.FALLING, ds.Reset({"turns": d.turns + 1.0}))
    oscillator = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=50.0 * q.x**2, discrete=d, events=[count]
    )
    run = ds.solve(oscillator, 10.0, {"x": 1.0})
    times = [(0.5 + 2 * k) * math.pi / 10.0 for k in range(16)]
    assert [event.time for event in run.events] == pytest.approx(times, abs=1e-12)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_a_switch_that_the_motion_never_passed_does_not_fire(solver):
    d = ds.discrete(n=0.0)
    system = ball(lambda q: [ds.Event("low", q.y, ds.FALLING, ds.Reset({"n": d.n + 1.0}))], d)
    run = ds.solve(system, 2.0, {"y": -0.5, "y_dot": 1.0}, solver=solver)
    assert run.event_count == 0


def test_a_guard_that_a_mode_makes_zero_does_not_fire():
    d = ds.discrete(on=0.0)

    def events(q):
        gated = ds.Event("gated", d.on * (q.y - 0.5), ds.EITHER, ds.Reset({"on": 0.0}))
        return [floor(q), gated]

    run = ds.solve(ball(events, d), 1.0, {"y": 1.0})
    assert {event.name for event in run.events} == {"bounce"}


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_what_is_recorded_at_the_instant_of_a_reset_is_recorded(solver):
    run = ds.solve(
        ball(lambda q: [floor(q), ds.Event("down", q.y, ds.FALLING)]),
        1.5,
        {"y": 1.0},
        solver=solver,
    )
    names = [event.name for event in run.events]
    assert names.count("down") == names.count("bounce") >= 2


@pytest.mark.parametrize("speed", [2.5, 2.0])
def test_what_is_recorded_at_resets_is_recorded_where_its_guard_is_only_seen_at_zero(speed):
    # The guards have no size at these instants but that of rounding.
    bounce = ds.Reset({"y_dot": -0.8 * BALL.dot.y + 0.5})
    events = [
        ds.Event("bounce", BALL.y, ds.FALLING, bounce),
        ds.Event("down", 3 * BALL.y + BALL.y**3, ds.FALLING),
    ]
    kinetic, potential = BALL.dot.y**2 / 2, 9.81 * BALL.y
    system = ds.MechanicalSystem(BALL, kinetic=kinetic, potential=potential, events=events)
    run = ds.solve(system, 40.0, {"y": 0.0, "y_dot": speed}, at=[40.0])
    names = [event.name for event in run.events]
    assert names.count("down") == names.count("bounce") > 50


BALL = ds.coordinates(y="m")


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_guards_of_one_event_that_pass_together_are_reported_together(solver):
    q = ds.coordinates(x="m", y="m")
    corner = ds.Event("corner", [q.x - 1, q.y - 1], ds.RISING)
    far = ds.Event("far", q.x - 5.0, ds.RISING, ds.Reset({"x": -5.0}))
    free = ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, events=[corner, far])
    run = ds.solve(free, 2.0, {"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 1.0}, solver=solver)
    assert [event.fired for event in run.events] == [(0, 1)]
    assert run.events[0].time == pytest.approx(1.0, abs=1e-12)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("line and parabola-cvodes")
@pytest.mark.parametrize("solver", ["dop853", "lsoda", "cvodes"])
@pytest.mark.parametrize("curved", [False, True], ids=["lines", "line and parabola"])
def test_both_ends_of_a_window_pass_one_after_the_other(solver, curved):
    """They are nearer to each other than the solver is accurate, but have its errors in common."""
    q, d = ds.coordinates(x="m"), ds.discrete(on=0.0)
    end = q.x**2 - (1.0 + 1e-10) ** 2 if curved else q.x - (1.0 + 1e-10)
    pushed = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        discrete=d,
        force={"x": 1e9 * d.on},
        events=[
            ds.Event("begins", q.x - 1.0, ds.RISING, ds.Reset({"on": 1.0})),
            ds.Event("ends", end, ds.RISING, ds.Reset({"on": 0.0})),
        ],
    )
    run = ds.solve(pushed, 2.0, {"x_dot": 1.0}, solver=solver)
    assert [event.name for event in run.events] == ["begins", "ends"]
    # The width is known to the rounding of 1 m, 2e-6 of it, at both ends and in time.
    assert run.end_state["x_dot"] == pytest.approx(math.sqrt(1.2), abs=1e-5)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_a_guard_of_discrete_values_alone_passes_where_a_reset_takes_it(solver):
    d = ds.discrete(n=0.0)

    def events(q):
        reset = ds.Reset({"n": d.n + 1.0}, impose=[ds.Holonomic("floor", q.y)], restitution=0.9)
        enough = ds.Event("enough", d.n - 2.5, ds.RISING, ds.Stop())
        return [ds.Event("bounce", q.y, ds.FALLING, reset), enough]

    run = ds.solve(ball(events, d), 10.0, {"y": 1.0}, solver=solver)
    first = math.sqrt(2.0 / GRAVITY)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert [event.name for event in run.events] == ["bounce"] * 3 + ["enough"]
    assert run.end_time == pytest.approx(first * (1.0 + 2 * 0.9 + 2 * 0.81), rel=1e-9)


def released():
    q, d = ds.coordinates(a="rad", b="rad"), ds.discrete(on=1.0)
    clutch = ds.Nonholonomic("clutch", d.on * (q.dot.a - q.dot.b))
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.a**2 + 2.0 * q.dot.b**2) / 2,
        force={"a": 1.0},
        goals=[clutch],
        discrete=d,
        events=[ds.Event("off", ds.time - 1.0, ds.RISING, ds.Reset({"on": 0.0}))],
    )


def test_a_constraint_that_is_let_go_of_is_reported_to_need_the_passing_of_rank():
    run = ds.solve(released(), 2.0, {"a_dot": 0.0, "b_dot": 0.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "rank_loss = 'pass'" in run.message
    assert run.end_time == 1.0


def test_a_constraint_can_be_let_go_of():
    """Together they gain 1/3 rad/s in the first second, then a alone gains 1 rad/s."""
    run = ds.solve(released(), 2.0, {"a_dot": 0.0, "b_dot": 0.0}, rank_loss="pass")
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.end_state["a_dot"] == pytest.approx(4.0 / 3.0, rel=1e-9)
    assert run.end_state["b_dot"] == pytest.approx(1.0 / 3.0, rel=1e-9)
