"""Contacts whose shares of a load are not determined though the motion is, against formulas."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import daesolve as ds

GRAVITY = 10.0
START = {"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}


def beside_a_wall(force, friction=0.1, gap=0.5, restitution=0.0):
    """A block of 1 kg on a rough floor, right of a smooth wall, pushed along the floor."""
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=friction)
    wall = ds.Contact("wall", q.x + gap, restitution=restitution, closed=False)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * q.y,
        goals=[floor, wall],
        force={"x": force},
    )


def is_noted(run):
    return any("share their load is not determined" in n for n in run.description["notes"])


def times_of(run, name):
    return [event.time for event in run.events if event.name == name]


def struck(gap):
    """When a block strikes that left at sin t = 2/3 under 3 sin t - 1, against friction of 1 N."""
    begun = math.asin(2.0 / 3.0)

    def speed(t, since, side):
        return 3.0 * (math.cos(since) - math.cos(t)) - (1.0 + side) * (t - since)

    def way(t, since, side):
        run = t - since
        swing = 3.0 * (math.cos(since) * run - math.sin(t) + math.sin(since))
        return swing - (1.0 + side) * run**2 / 2.0

    back = brentq(speed, 2.0, 4.0, (begun, 1.0), xtol=1e-15)
    reach = way(back, begun, 1.0)
    return brentq(lambda t: reach + way(t, back, -1.0) + gap, back, 6.0, xtol=1e-15)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("solver", ["taylor", "dop853"])
def test_a_block_at_a_wall_leaves_where_friction_alone_does_not_hold_it(solver):
    system = beside_a_wall(3.0 * ca.sin(ds.time) - 1.0)
    run = ds.solve(system, 11.0, START, solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED
    again = 2.0 * math.pi + math.asin(2.0 / 3.0)
    strikes = [struck(0.5), 2.0 * math.pi + struck(0.0)]
    assert strikes == pytest.approx([4.861710830826, 10.98671919], abs=1e-8)
    assert times_of(run, "wall_closed") == pytest.approx(strikes, abs=1e-10)
    assert times_of(run, "wall_lost") == pytest.approx([again], abs=1e-10)
    assert times_of(run, "floor_slips")[1:] == times_of(run, "wall_lost")
    assert is_noted(run)
    # One of the shares that are possible.
    held = (run.times > strikes[0]) & (run.times < again)
    force = 3.0 * np.sin(run.times) - 1.0
    assert np.max(np.abs(run["wall"] + run["floor_friction"] + force)[held]) <= 1e-9
    assert np.min(run["wall"]) >= -1e-12
    assert np.max(np.abs(run["floor_friction"])) <= 1.0 + 1e-9
    assert set(run["floor_state"][held]) == {2.0}


def test_impacts_that_accumulate_beside_a_rough_floor_end_at_rest_until_the_load_turns():
    system = beside_a_wall(-8.0 * ca.cos(ds.time), friction=0.3, gap=0.2, restitution=0.5)
    run = ds.solve(system, 2.2, START)
    assert run.outcome is ds.Outcome.COMPLETED
    (accumulated,) = times_of(run, "accumulated")
    leaves = math.acos(-3.0 / 8.0)
    assert accumulated < leaves
    assert times_of(run, "wall_lost") == pytest.approx([leaves], rel=1e-12)
    assert np.max(np.abs(run["x"] + 0.2)[(run.times > accumulated) & (run.times < leaves)]) <= 1e-12
    assert np.min(run["wall"]) >= -1e-12
    # From there on it slides: x'' = -8 cos t - 3.
    last = 2.2 - leaves
    way = 8.0 * (math.cos(2.2) - math.cos(leaves) + math.sin(leaves) * last) - 1.5 * last**2
    assert run["x"][-1] == pytest.approx(way - 0.2, abs=1e-11)


@pytest.mark.parametrize("push", [-0.5, 0.5])
def test_a_wall_beside_which_a_block_rests_does_not_pull(push):
    """Friction holds it as well where it would part, so the wall bears nothing."""
    run = ds.solve(beside_a_wall(push, gap=0.0), 1.0, START, parameters={"contact_wall": 1.0})
    assert run.outcome is ds.Outcome.COMPLETED
    assert run["wall"][-1] == pytest.approx(max(-push, 0.0), abs=1e-12)
    assert run["floor_friction"][-1] == pytest.approx(min(-push, 0.0), abs=1e-12)


@pytest.mark.slow
def test_a_disc_in_a_groove_turns_where_both_sides_are_at_their_limits():
    """One side alone would hold little more than half of the torque."""
    q = ds.coordinates(x="m", y="m", turn="rad")
    radius, friction, root = 0.1, 0.3, math.sqrt(0.5)
    sides = []
    for name, way in (("left", 1.0), ("right", -1.0)):
        gap = root * (way * q.x + q.y) - radius
        slip = root * (q.dot.x - way * q.dot.y) - radius * q.dot.turn
        sides.append(ds.Contact(name, gap, slip=slip, friction=friction))
    disc = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + radius**2 * q.dot.turn**2 / 2) / 2,
        potential=GRAVITY * q.y,
        goals=sides,
        force={"turn": 0.5 * ca.sin(ds.time)},
    )
    run = ds.solve(disc, 1.0, {**START, "turn": 0.0, "turn_dot": 0.0, "y": radius / root})
    most = friction * GRAVITY / root * radius / (1.0 + friction**2)
    turns = math.asin(most / 0.5)
    assert run.outcome is ds.Outcome.COMPLETED
    # As near as a border between modes is known.
    assert [event.time for event in run.events] == pytest.approx([turns] * 2, rel=1e-9)
    assert is_noted(run)


@pytest.mark.slow
def test_a_block_in_space_leaves_a_wall_where_friction_alone_does_not_hold_it():
    q = ds.coordinates(x="m", y="m", z="m")
    floor = ds.Contact("floor", q.z, slip=(q.dot.x, q.dot.y), friction=0.1)
    wall = ds.Contact("wall", q.x + 0.5, closed=False)
    block = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=GRAVITY * q.z,
        goals=[floor, wall],
        force={"x": 3.0 * ca.sin(ds.time) - 1.0},
    )
    run = ds.solve(block, 11.0, dict.fromkeys([*START, "z", "z_dot"], 0.0))
    assert run.outcome is ds.Outcome.COMPLETED
    begins = math.asin(2.0 / 3.0)
    slips = [begins, 2.0 * math.pi + begins]
    assert times_of(run, "floor_slips") == pytest.approx(slips, abs=1e-10)
    strikes = [struck(0.5), 2.0 * math.pi + struck(0.0)]
    assert times_of(run, "wall_closed") == pytest.approx(strikes, abs=1e-10)
    assert np.min(run["wall"]) >= -1e-12
    assert is_noted(run)


def test_a_block_on_four_feet_in_a_row_tips_as_on_the_outer_two():
    """It slides at once with a friction that lifts all feet but the foremost."""

    def tipping(places):
        q = ds.coordinates(x="m", y="m", turn="rad")
        feet = []
        for k, side in enumerate(places):
            sway = side * ca.cos(q.turn) + 0.2 * ca.sin(q.turn)
            gap = q.y + side * ca.sin(q.turn) - 0.2 * ca.cos(q.turn)
            slip = ca.jacobian(q.x + sway, q.vector) @ q.dot.vector
            feet.append(ds.Contact(f"foot{k}", gap, slip=slip, friction=0.8))
        block = ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.turn**2 / 60.0) / 2,
            potential=GRAVITY * q.y,
            goals=feet,
        )
        start = {"x": 0.0, "y": 0.2, "x_dot": 0.6, "y_dot": 0.0, "turn": 0.0, "turn_dot": 0.0}
        return ds.solve(block, 0.2, start)

    four, two = tipping([-0.1, -0.03, 0.04, 0.1]), tipping([-0.1, 0.1])
    lost = [event.name for event in four.events if event.name.endswith("lost")]
    assert lost == ["foot0_lost", "foot1_lost", "foot2_lost"]
    for name in ("x", "y", "turn"):
        assert four.end_state[name] == pytest.approx(two.end_state[name], abs=1e-11)


@pytest.mark.slow
def test_what_hardly_parts_in_an_impact_takes_its_neighbours_with_it():
    """A cube rocks ever lower on four feet in a row, until the middle ones do not part any more.

    They stay in an impact whose last rocking counts for none, and so do the outer ones. The cube
    stands where time steps come to: they are of first order, so that these differ by 1e-8 m.
    """
    q = ds.coordinates(x="m", y="m", turn="rad")
    feet = []
    for k, side in enumerate(np.linspace(-0.2, 0.2, 4).tolist()):
        sway = side * ca.cos(q.turn) + 0.2 * ca.sin(q.turn)
        gap = q.y + side * ca.sin(q.turn) - 0.2 * ca.cos(q.turn)
        slip = ca.jacobian(q.x + sway, q.vector) @ q.dot.vector
        feet.append(ds.Contact(f"foot{k}", gap, slip=slip, friction=0.8))
    swing = ca.sin(4.883 * ds.time + 6.15)
    cube = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.turn**2 * 0.08 / 3.0) / 2,
        potential=GRAVITY * q.y,
        goals=feet,
        force={"x": 2.161 - 1.839 * swing, "y": -3.614 * swing, "turn": 0.504 * swing - 0.074},
    )
    start = {"x": 0.0, "y": 0.2, "x_dot": 0.0317, "y_dot": 0.0, "turn": 0.0, "turn_dot": 0.0}
    run = ds.solve(cube, 2.0, start)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run["x"][-1] == pytest.approx(9.55795e-05, abs=1e-9)
    assert abs(run["turn"][-1]) + abs(run["y"][-1] - 0.2) <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("tilt", [0.0, 0.7])
def test_gaps_that_others_keep_closed_are_no_guards(tilt):
    """A body on three feet strikes a wall and slides back: its gaps are rounding, in any frame."""
    q = ds.coordinates(x="m", y="m")
    along, up = (math.cos(tilt), math.sin(tilt)), (-math.sin(tilt), math.cos(tilt))
    height, way = (up[0] * q.x + up[1] * q.y, along[0] * q.x + along[1] * q.y)
    slip = along[0] * q.dot.x + along[1] * q.dot.y
    feet = [ds.Contact(f"foot{k}", height, slip=slip, friction=0.3) for k in range(3)]
    wall = ds.Contact("wall", way + 0.1, restitution=0.5, closed=False)
    body = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=GRAVITY * height,
        goals=[*feet, wall],
    )
    speed = -1.2
    start = {"x": 0.0, "y": 0.0, "x_dot": along[0] * speed, "y_dot": along[1] * speed}
    run = ds.solve(body, 1.0, start)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert is_noted(run)
    # It brakes with 3 m/s^2 on its way to the wall, and on its way back, with half of its speed.
    back = math.sqrt(speed**2 - 0.6) / 2.0
    strikes = (-speed - 2.0 * back) / 3.0
    assert times_of(run, "wall_closed") == pytest.approx([strikes], abs=1e-12)
    assert times_of(run, "foot0_sticks") == pytest.approx([strikes + back / 3.0], abs=1e-12)
    place = along[0] * run["x"][-1] + along[1] * run["y"][-1]
    assert place == pytest.approx(back**2 / 6.0 - 0.1, abs=1e-13)
