"""Jumps that would leave a body within a support: refused, for no impact brings it out again."""

from __future__ import annotations

import casadi as ca
import pytest

import daesolve as ds
from daesolve.errors import StepFailedError

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


@pytest.mark.default_rows(1)
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


def raised():
    """A ball over a floor whose height is an input."""
    q, u = ds.coordinates(y="m"), ds.inputs(height="m")
    hit = ds.Reset(impose=[ds.Holonomic("floor", q.y)], restitution=0.5)
    hits = ds.Event("hit", q.y - u.height, ds.FALLING, hit)
    return ds.MechanicalSystem(
        q, kinetic=q.dot.y**2 / 2, potential=GRAVITY * q.y, inputs=u, events=[hits]
    )


def test_an_input_that_steps_past_the_state_in_a_simulator_is_refused():
    simulator = ds.Simulator(raised(), {"y": 0.2, "y_dot": 0.0}, inputs={"height": 0.0})
    simulator.step(0.1, height=0.1)
    with pytest.raises(StepFailedError, match="step of the inputs at t"):
        simulator.step(0.1, height=0.3)


def test_a_table_that_steps_past_the_state_ends_the_run():
    steps = ds.table("height", [0.0, 0.1, 5.0], [0.0, 0.3, 0.3], kind="steps")
    run = ds.solve(raised(), 1.0, {"y": 0.2, "y_dot": 0.0}, inputs={"height": steps})
    assert run.outcome is ds.Outcome.FAILED
    assert "leaves the barrier of the event 'hit' with a distance of -0.1" in run.message


def test_a_jump_to_the_centre_of_a_round_support_is_seen():
    """The slope of the gap is not a number there."""
    q = ds.coordinates(x="m", y="m")
    disc = ds.Contact("disc", ca.sqrt(q.x**2 + q.y**2) - 1.0, restitution=0.5, closed=False)
    event = ds.Event("in", ds.time - 0.1, ds.RISING, ds.Reset({"x": 0.0, "y": 0.0}))
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, goals=[disc], events=[event])
    run = ds.solve(system, 1.0, {"x": 2.0, "y": 0.0, "x_dot": 0.1, "y_dot": 0.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "leaves the contact 'disc' with a gap of -1, past zero" in run.message


def stopped_by(guard, changes):
    """A cart and a wheel; an event stops the wheel for an instant, another jumps past its guard."""
    q, d = ds.coordinates(x="m", th="rad"), ds.discrete(count=2.0, at=10.0)
    hold = ds.Reset(impose=[ds.Nonholonomic("hold", q.dot.th)])
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.th**2) / 2,
        discrete=d,
        events=[
            ds.Event("stop", guard(q, d), ds.RISING, hold),
            ds.Event("jump", ds.time - 0.4, ds.RISING, ds.Reset(changes(q, d))),
        ],
    )
    return ds.solve(system, 1.0, {"x": 0.0, "x_dot": 1.0, "th": 0.0, "th_dot": 1.0})


@pytest.mark.parametrize(
    ("guard", "changes", "stops"),
    [
        (lambda q, d: d.count - 2.5, lambda q, d: {"count": d.count + 1}, 0.4),
        (lambda q, d: ds.time - d.at, lambda q, d: {"at": ds.time - 0.1}, 0.4),
        (lambda q, d: q.x - 0.3, lambda q, d: {"x": q.x + 5.0}, 0.3),
    ],
    ids=["count", "clock", "place of another body"],
)
def test_what_bars_nothing_is_no_barrier(guard, changes, stops):
    run = stopped_by(guard, changes)
    assert run.outcome is ds.Outcome.COMPLETED
    assert [event.time for event in run.events if event.name == "stop"] == [stops]
    assert run.end_state["th"] == pytest.approx(stops, rel=1e-14)


@pytest.mark.parametrize("linked", [False, True])
def test_a_barrier_may_stop_a_body_by_what_links_it_to_others(linked):
    """A belt links three wheels: to stop the last holds the first before its barrier."""
    q = ds.coordinates(a="rad", b="rad", c="rad")
    belts = [ds.Holonomic("first", q.a - q.b), ds.Holonomic("second", q.b - q.c)]
    hold = ds.Reset(impose=[ds.Nonholonomic("hold", q.dot.c)], restitution=1.0)
    jump = ds.Reset(dict.fromkeys(("a", "b", "c"), 2.0))
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.a**2 + q.dot.b**2 + q.dot.c**2) / 2,
        goals=belts if linked else [],
        events=[
            ds.Event("stop", q.a - 1.0, ds.RISING, hold),
            ds.Event("jump", ds.time - 0.4, ds.RISING, jump),
        ],
    )
    run = ds.solve(system, 1.0, dict.fromkeys("abc", 0.0) | {f"{n}_dot": 1.0 for n in "abc"})
    assert run.outcome is (ds.Outcome.FAILED if linked else ds.Outcome.COMPLETED)
