"""Bodies that come to rest on their contacts, whatever these share of the load."""

from __future__ import annotations

import math

import casadi as ca
import pytest

import daesolve as ds
from tests.rubbing import GRAVITY, block, standing

STILL = {"x": 0.0, "x_dot": 0.0, "y_dot": 0.0, "theta": 0.0, "theta_dot": 0.0}


def posed(q, contacts, incline=0.0, force=()):
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + 0.02 * q.dot.theta**2) / 2,
        potential=GRAVITY * (q.y * math.cos(incline) - q.x * math.sin(incline)),
        goals=contacts,
        force=force,
    )


def three_feet(friction, incline=0.0, force=None):
    """A block whose three feet stand on one plane, 0.2 m below its centre."""
    q = ds.coordinates(x="m", y="m", theta="rad")
    feet = []
    for name, side in (("rear", -0.1), ("middle", 0.0), ("front", 0.1)):
        place = q.x + side * ca.cos(q.theta) + 0.2 * ca.sin(q.theta)
        gap = q.y + side * ca.sin(q.theta) - 0.2 * ca.cos(q.theta)
        slip = ca.jacobian(place, q.vector) @ q.dot.vector
        feet.append(ds.Contact(name, gap, slip=slip, friction=friction))
    return posed(q, feet, incline, force(q) if force else ())


def between_walls(friction, half=0.5):
    """A bar that sticks across a shaft, held by friction at its ends alone; a prestress is free."""
    q = ds.coordinates(x="m", y="m", theta="rad")
    ends = []
    for name, side in (("left", -half), ("right", half)):
        along = q.x + side * ca.cos(q.theta)
        slip = ca.jacobian(q.y + side * ca.sin(q.theta), q.vector) @ q.dot.vector
        ends.append(ds.Contact(name, half - along / (side / half), slip=slip, friction=friction))
    return posed(q, ends)


@pytest.mark.slow
@pytest.mark.parametrize("incline", [0.0, 0.1])
def test_a_block_rests_on_three_feet_though_they_share_its_weight_in_many_ways(incline):
    run = ds.solve(three_feet(0.5, incline), 2.0, {**STILL, "y": 0.2})
    assert run.outcome is ds.Outcome.COMPLETED
    assert abs(run["x"][-1]) + abs(run["theta"][-1]) <= 1e-12
    assert any("not determined" in note for note in run.description["notes"])
    # Their sums are.
    normal = sum(run[name][-1] for name in ("rear", "middle", "front"))
    along = sum(run[f"{name}_friction"][-1] for name in ("rear", "middle", "front"))
    assert normal == pytest.approx(GRAVITY * math.cos(incline), rel=1e-12)
    assert along == pytest.approx(-GRAVITY * math.sin(incline), abs=1e-12)


@pytest.mark.slow
def test_a_bar_across_a_shaft_falls_or_is_wedged_in_and_rests_where_that_is_kept():
    """Whether anything presses its ends is not known of rigid bodies."""
    start = {**STILL, "y": 0.0}
    with pytest.raises(ds.errors.UndeterminedContact, match='on_ambiguous = "keep"'):
        ds.solve(between_walls(0.6), 1.0, start)
    run = ds.solve(between_walls(0.6), 1.0, start, on_ambiguous="keep")
    assert run.outcome is ds.Outcome.COMPLETED
    assert abs(run["y"][-1]) <= 1e-12
    friction = sum(run[f"{name}_friction"][-1] for name in ("left", "right"))
    assert friction == pytest.approx(GRAVITY, rel=1e-12)


@pytest.mark.slow
def test_three_feet_let_go_together_where_a_load_exceeds_the_sum_of_their_limits():
    pushed = three_feet(0.3, force=lambda q: {"x": 4.0 * ca.sin(ds.time)})
    run = ds.solve(pushed, 1.0, {**STILL, "y": 0.2})
    assert run.outcome is ds.Outcome.COMPLETED
    slips = [event.time for event in run.events if event.name.endswith("_slips")]
    assert slips == pytest.approx([math.asin(0.3 * GRAVITY / 4.0)] * 3, rel=1e-12)
    assert any("not determined" in note for note in run.description["notes"])
    feet = ("rear", "middle", "front")
    assert min(run[name].min() for name in feet) >= 0.0
    assert sum(run[name][-1] for name in feet) == pytest.approx(GRAVITY, rel=1e-12)


def test_a_block_that_slides_on_three_feet_stops_whatever_they_share():
    run = ds.solve(three_feet(0.3), 1.0, {**STILL, "y": 0.2, "x_dot": 1.0})
    assert run.events[-1].name == "rest"
    assert run.events[-1].time == pytest.approx(1.0 / (0.3 * GRAVITY), rel=1e-12)
    assert run["x"][-1] == pytest.approx(0.5 / (0.3 * GRAVITY), rel=1e-12)
    assert run.outcome is ds.Outcome.COMPLETED


def test_rest_is_an_event_where_all_sticks_and_nothing_begins_to_move():
    run = ds.solve(block(0.1, 0.2, 0.3), 1.0, standing(0.2, 1.0))
    assert [event.name for event in run.events] == ["rear_sticks", "front_sticks", "rest"]
    assert run.events[-1].time == pytest.approx(1.0 / (0.3 * GRAVITY), rel=1e-12)


@pytest.mark.slow
def test_a_block_on_a_belt_sticks_without_being_at_rest():
    run = ds.solve(block(0.1, 0.2, 0.3, floor=0.5), 1.0, standing(0.2))
    assert [event.name for event in run.events] == ["rear_sticks", "front_sticks"]


def test_a_bar_that_drops_into_a_notch_rests_there():
    """A disc that falls without a bounce between two walls at 0.6 rad, and stays."""
    q = ds.coordinates(x="m", y="m", theta="rad")
    walls = []
    for name, side in (("left", 1.0), ("right", -1.0)):
        across, up = side * math.sin(0.6), math.cos(0.6)
        gap = across * q.x + up * q.y - 0.1
        slip = up * q.dot.x - across * q.dot.y - 0.1 * q.dot.theta
        walls.append(ds.Contact(name, gap, slip=slip, friction=0.4, closed=False))
    run = ds.solve(posed(q, walls), 1.0, {**STILL, "y": 0.3})
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.events[-1].name == "rest"
    fall = 0.3 - 0.1 / math.cos(0.6)
    assert run.events[-1].time == pytest.approx(math.sqrt(2 * fall / GRAVITY), rel=1e-12)
    assert abs(run["y_dot"][-1]) <= 1e-12


def pushed_to_and_fro():
    """A block of 1 kg on two feet that sticks, and is pushed the other way later."""
    return block(0.5, 0.1, 0.3, force=lambda q: {"x": 4 * ca.sin(ds.time)}, inertia=0.1)


@pytest.mark.slow
def test_two_feet_that_stuck_let_go_together_when_they_are_pushed_the_other_way():
    """What their slips are off by at rest has either sign, and is no motion."""
    run = ds.solve(pushed_to_and_fro(), 4.5, standing(0.1))
    assert run.outcome is ds.Outcome.COMPLETED
    loose = math.asin(0.3 * GRAVITY / 4)
    feet = ["rear", "front"]
    after = [(e.name, e.time) for e in run.events if e.time > 3.5]
    assert sorted(name for name, _ in after) == sorted(f"{foot}_slips" for foot in feet)
    assert all(time == pytest.approx(math.pi + loose, rel=1e-12) for _, time in after)
    since = 4.5 - math.pi - loose
    speed = 4 * (math.cos(math.pi + loose) - math.cos(4.5)) + 0.3 * GRAVITY * since
    assert run["x_dot"][-1] == pytest.approx(speed, rel=1e-12)


@pytest.mark.slow
def test_a_run_begins_at_the_state_at_which_another_came_to_rest():
    """Its velocities are rounding, and so is what they miss of the contacts."""
    run = ds.solve(pushed_to_and_fro(), 3.2, standing(0.1))
    assert run.events[-1].name == "rest"
    onward = ds.solve(pushed_to_and_fro(), 3.9, run.end_state, start_time=3.2)
    assert onward.outcome is ds.Outcome.COMPLETED
    assert onward["x"][-1] == pytest.approx(run["x"][-1], rel=1e-12)
