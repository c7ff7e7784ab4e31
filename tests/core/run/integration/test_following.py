"""Goals that seem to follow from others: watched, and the run ends where they cease to."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from tests.core.events.test_row_law import TURNING, along_the_axes, along_the_wheels, wheelset

LATER = {
    "gauss": (lambda q: ca.exp(-((q.x - 60.0) ** 2)), 60.0),
    "step": (lambda q: (1 + ca.tanh(q.x - 40.0)) / 2, 40.0),
    "time": (lambda q: ca.exp(-((ds.time - 50.0) ** 2)), 50.0),
}


def two_goals(wakes):
    q = ds.coordinates(x="m", y="m", z="m")
    v = q.dot
    return ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2 + v.z**2) / 2,
        goals=[ds.Holonomic("a", q.y - q.x), ds.Holonomic("b", q.y - q.x - q.z * wakes(q))],
    )


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("gauss-minimum-norm", "step-drop")
@pytest.mark.parametrize("rule", ["drop", "minimum-norm"])
@pytest.mark.parametrize("name", LATER)
def test_a_goal_that_wakes_up_on_the_way_ends_the_run_before(name, rule):
    """At x' = 1 m/s; what wakes is 1e-7 of the goal's scale, 200 m, from some 6 s before on."""
    wakes, when = LATER[name]
    start = {"x": 0.0, "z": 0.5, "x_dot": 1.0}
    run = ds.solve(
        two_goals(wakes), 100.0, start, guess={"y_dot": 1.0}, redundant=rule, at=[10.0, 90.0]
    )
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "the goal 'b' is violated" in run.message
    assert when - 8.0 < run.end_time < when
    assert run.end_state["z"] == pytest.approx(0.5, abs=1e-12)
    assert list(run.times) == [10.0, run.end_time]


PIECES = {
    "jump": lambda q: ca.if_else(q.x > 10, 1, 0),
    "kink": lambda q: ca.fmax(0, q.x - 10),
    "time": lambda q: ca.if_else(ds.time > 10, 1, 0),
    "steps": lambda q: ca.floor(q.x / 10),
}


def piecewise_goals(wakes, order=1):
    """From x = 10 m on, at 10 s, z is held; pushed by 0.02 N it is at 1 m then."""
    q = ds.coordinates(x="m", y="m", z="m")
    v = q.dot
    goals = [
        ds.Nonholonomic("a", v.y - v.x),
        ds.Nonholonomic("b", v.y - v.x - v.z * wakes(q)),
    ]
    return ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2 + v.z**2) / 2,
        goals=goals[::order],
        force={"z": ca.SX(0.02)},
    )


AT_ONE = {"x": 0.0, "x_dot": 1.0, "y": 0.0, "z": 0.0, "z_dot": 0.0}


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("piece", PIECES)
def test_a_goal_that_wakes_at_a_switch_ends_a_run_that_left_it_out(piece, order):
    run = ds.solve(piecewise_goals(PIECES[piece], order), 20.0, AT_ONE, redundant="drop")
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "is violated" in run.message
    assert 9.9 < run.end_time <= 10.0
    assert run.end_state["z"] == pytest.approx(0.01 * run.end_time**2, rel=1e-11)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("piece", ["jump", "time", "steps"])
def test_a_goal_that_wakes_at_a_switch_is_imposed_where_all_are_kept(piece):
    run = ds.solve(piecewise_goals(PIECES[piece]), 19.0, AT_ONE, redundant="minimum-norm")
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.end_state["z"] == pytest.approx(1.0, rel=1e-11)


def test_a_goal_whose_grip_comes_from_nothing_ends_the_run():
    """Its reaction is felt late: until then z would have gone on."""
    run = ds.solve(piecewise_goals(PIECES["kink"]), 20.0, AT_ONE, redundant="minimum-norm")
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "at t = 10.0" in run.message
    assert "is violated" in run.message


def test_what_is_shown_to_follow_through_a_switch_is_left_out():
    q = ds.coordinates(x="m", y="m")
    v = q.dot
    twice = v.y - v.x * (1 + ca.if_else(q.x > 10, 1, 0))
    system = ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2) / 2,
        goals=[ds.Nonholonomic("a", twice), ds.Nonholonomic("b", 2 * twice)],
    )
    run = ds.solve(system, 20.0, {"x": 0.0, "y": 0.0, "x_dot": 1.0}, redundant="drop")
    assert "dropped as redundant: b; the motion is the same" in run.description["notes"]
    # Along (1, 2) is left of the momentum (1, 1): 3 / 5 of x'.
    assert run.end_state["x"] == pytest.approx(10 + 0.6 * 10, rel=1e-11)
    assert run.end_state["y"] == pytest.approx(10 + 1.2 * 10, rel=1e-11)


def test_a_goal_that_is_shown_to_follow_is_not_watched():
    run = ds.solve(two_goals(lambda q: 0.0), 10.0, {"x": 0.0, "x_dot": 1.0}, redundant="drop")
    assert "dropped as redundant: b; the motion is the same" in run.description["notes"]
    assert list(run.drift) == ["a", "a_dot", "energy"]


@pytest.mark.slow
def test_where_goals_are_chosen_once_the_end_says_who_chooses_again():
    system = wheelset(along_the_axes)
    once = ds.solve(system, 10.0, TURNING, redundant="drop", formulation="null-space")
    assert once.outcome is ds.Outcome.DEGENERATE
    assert "choose the kept goals anew" in once.message
    right = ds.solve(wheelset(along_the_wheels), once.end_time, TURNING)
    assert once.end_state["x"] == pytest.approx(right.end_state["x"], abs=1e-6)


# -- what is not to be trusted ---------------------------------------------------------------------


def pendulum(rtol, **rates):
    q = ds.coordinates(x="m", y="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1)],
    )
    return ds.solve(
        system, 20.0, {"x": 1.0}, guess={"y": 0.0}, at=[20.0],
        formulation=ds.Feedback(**rates), solver=ds.Cvodes(rtol=rtol, atol=rtol),
    )  # fmt: skip


def test_a_run_whose_residuals_grew_has_failed_and_keeps_its_numbers():
    run = pendulum(1e-2, rate=10.0)
    assert run.outcome is ds.Outcome.FAILED
    assert "not to be trusted" in run.message
    assert run.end_time == 20.0
    assert np.isfinite(run["x"][-1])


def test_a_residual_that_feedback_keeps_small_counts_with_what_it_would_have_been():
    """A hundred times the rate makes residuals small, not the motion right."""
    run = pendulum(1e-3, rate=300.0)
    assert run.drift["rod"].max_relative < 1e-2
    assert run.outcome is ds.Outcome.FAILED
    assert "without feedback" in run.message


def test_a_run_that_is_right_is_trusted():
    assert pendulum(1e-6, rate=10.0).outcome is ds.Outcome.COMPLETED
