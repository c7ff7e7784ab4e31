"""Jumps that would leave a body within a support: refused, for no impact brings it out again."""

from __future__ import annotations

import casadi as ca
import pytest

import daesolve as ds

GRAVITY = 9.81
START = {"x": 0.0, "y": 0.2, "x_dot": 0.5, "y_dot": 0.0}
"""Of a ball that is 0.15 m above the ground after 0.1 s, and has gone 0.05 m."""


def ball(q, height, friction, **more):
    slip = {} if friction is None else {"slip": q.dot.x, "friction": friction}
    ground = ds.Contact("ground", q.y - height, restitution=0.5, closed=False, **slip)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=GRAVITY * q.y, goals=[ground], **more)


def by_a_mode(q, friction):
    d = ds.discrete(height=0.0)
    up = ds.Event("up", ds.time - 0.1, ds.RISING, ds.Reset({"height": 0.3}))
    return ball(q, d.height, friction, discrete=d, events=[up]), {}


def by_its_place(q, friction):
    down = ds.Event("down", ds.time - 0.1, ds.RISING, ds.Reset({"y": -0.1, "y_dot": 3.0}))
    return ball(q, 0.0, friction, events=[down]), {}


def by_a_step_in_time(q, friction):
    u = ds.inputs(height="m")
    height = ca.if_else(ds.time > 0.1, 0.3, 0.0)
    return ball(q, u.height, friction, inputs=u), {"inputs": {"height": height}}


def by_a_step_in_space(q, friction):
    return ball(q, ca.if_else(q.x > 0.05, 0.3, 0.0), friction), {}


def by_a_sampled_law(q, friction):
    u = ds.inputs(height="m")
    law = ds.sampled("height", 0.1, lambda seen: ca.if_else(seen.t > 0.05, 0.3, 0.0))
    return ball(q, u.height, friction, inputs=u), {"inputs": {"height": law}}


@pytest.mark.parametrize("friction", [None, 0.3])
@pytest.mark.parametrize(
    "jump", [by_a_mode, by_its_place, by_a_step_in_time, by_a_step_in_space, by_a_sampled_law]
)
def test_a_jump_that_leaves_a_body_within_a_support_ends_the_run(jump, friction):
    system, options = jump(ds.coordinates(x="m", y="m"), friction)
    run = ds.solve(system, 1.2, START, **options)
    assert run.outcome is ds.Outcome.FAILED
    assert "leaves the contact 'ground' with a gap of -0.1" in run.message
    # The run ends before the jump, where all was well.
    assert run.end_time == pytest.approx(0.1, abs=1e-15)
    assert run.end_state["y"] == pytest.approx(0.2 - GRAVITY * 0.1**2 / 2, abs=1e-15)


@pytest.mark.parametrize("depth", [0.0, 1e-16, 1e-13])
def test_a_body_that_a_reset_puts_on_a_support_to_rounding_stays_there(depth):
    q = ds.coordinates(x="m", y="m")
    down = ds.Event("down", ds.time - 0.1, ds.RISING, ds.Reset({"y": -depth, "y_dot": 0.0}))
    run = ds.solve(ball(q, 0.0, None, events=[down]), 1.2, START)
    assert run.outcome.good
    assert abs(run.end_state["y"]) < 1e-12
    assert run["ground"][-1] == pytest.approx(GRAVITY, rel=1e-14)


def test_a_jump_that_opens_a_gap_lets_the_body_fall_to_the_new_support():
    q, d = ds.coordinates(x="m", y="m"), ds.discrete(height=0.0)
    down = ds.Event("down", ds.time - 0.1, ds.RISING, ds.Reset({"height": -1.0}))
    run = ds.solve(ball(q, d.height, None, discrete=d, events=[down]), 1.0, START)
    first = next(event for event in run.events if event.name == "ground_closed")
    assert first.time == pytest.approx((2 * 1.2 / GRAVITY) ** 0.5, rel=1e-14)


def bouncing(changes, e=0.5):
    """A ball over a floor that an event imposes for an instant."""
    q, d = ds.coordinates(y="m"), ds.discrete(height=0.0)
    floor = ds.Holonomic("floor", q.y - d.height)
    hit = ds.Reset(impose=[floor], restitution=e)
    events = [
        ds.Event("hit", d.height - q.y, ds.RISING, hit),
        ds.Event("jump", ds.time - 0.1, ds.RISING, ds.Reset(changes)),
    ]
    return ds.MechanicalSystem(
        q, kinetic=q.dot.y**2 / 2, potential=GRAVITY * q.y, discrete=d, events=events
    )


@pytest.mark.parametrize("changes", [{"y": -0.1}, {"height": 0.3}, {"y": -0.1, "y_dot": 3.0}])
def test_a_jump_past_a_barrier_ends_the_run(changes):
    run = ds.solve(bouncing(changes), 0.9, {"y": 0.2, "y_dot": 0.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "leaves the barrier of the event 'hit' with a distance of -0.1" in run.message


def test_a_jump_before_a_barrier_does_not():
    run = ds.solve(bouncing({"y": 0.05, "height": -0.05}), 0.3, {"y": 0.2, "y_dot": 0.0})
    # From 0.1 m above the floor, with the speed of 0.1 s.
    speed = GRAVITY * 0.1
    later = ((speed**2 + 0.2 * GRAVITY) ** 0.5 - speed) / GRAVITY
    assert [event.time for event in run.events] == pytest.approx([0.1, 0.1 + later], rel=1e-14)
