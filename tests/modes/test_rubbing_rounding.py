"""Rounding of contacts that rub decides nothing, and what is left out for it leaves no error."""

import math

import casadi as ca
import pytest

import daesolve as ds

from ..rubbing import block, standing, times_of


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_feet_that_have_stuck_again_slide_off_to_the_other_side_as_one_contact_does(way):
    feet = block(0.5, 0.1, 0.3, force=lambda q: {"x": 4.0 * way * ca.sin(ds.time)})
    two = ds.solve(feet, 10.0, standing(0.1))
    q = ds.coordinates(x="m", y="m")
    single = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        force={"x": 4.0 * way * ca.sin(ds.time)},
        goals=[ds.Contact("floor", q.y, slip=q.dot.x, friction=0.3)],
    )
    one = ds.solve(single, 10.0, {"x": 0.0, "x_dot": 0.0, "y": 0.0})
    assert two.outcome is ds.Outcome.COMPLETED
    for event in ("slips", "sticks"):
        expected = times_of(one, f"floor_{event}")
        assert len(expected) >= 2
        for foot in ("rear", "front"):
            assert times_of(two, f"{foot}_{event}") == pytest.approx(expected, abs=1e-12)
    assert two.end_state["x"] == pytest.approx(one.end_state["x"], abs=1e-13)


def test_a_heavy_block_that_waits_on_two_feet_keeps_its_rate():
    q = ds.coordinates(x="m", y="m", theta="rad")
    feet = []
    for name, side in (("rear", -0.5), ("front", 0.4)):
        place = q.x + side * ca.cos(q.theta) + 0.07 * ca.sin(q.theta)
        gap = q.y + side * ca.sin(q.theta) - 0.07 * ca.cos(q.theta)
        slip = ca.jacobian(place, q.vector) @ q.dot.vector
        feet.append(ds.Contact(name, gap, slip=slip, friction=0.3))
    heavy = ds.MechanicalSystem(
        q,
        kinetic=766.0 * (q.dot.x**2 + q.dot.y**2 + 0.4 * q.dot.theta**2) / 2,
        potential=766.0 * 9.81 * q.y,
        force={"x": 766.0 * 3.9 * ca.sin(ds.time)},
        goals=feet,
    )
    run = ds.solve(heavy, 1.0, standing(0.07), max_evaluations=100_000)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.description["rates"]["rear"] == 10.0
    assert times_of(run, "rear_slips") == pytest.approx([math.asin(0.3 * 9.81 / 3.9)], rel=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("space", [False, True])
def test_bounces_that_are_left_out_rub_as_much_as_the_contact_that_stays(size, space):
    q = ds.coordinates(**dict.fromkeys("xyz" if space else "xz", "m"))
    slip = (q.dot.x, q.dot.y) if space else q.dot.x
    floor = ds.Contact("floor", q.z, slip=slip, friction=0.1, restitution=0.7, closed=False)
    ball = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=9.81 * size * q.z,
        goals=[floor],
    )
    names = [*q.names, *[f"{name}_dot" for name in q.names]]
    start = dict.fromkeys(names, 0.0) | {"z": size}
    along = {"x": 0.6, "y": 0.8} if space else {"x": 1.0}
    start |= {f"{name}_dot": 3.0 * part * size for name, part in along.items()}
    run = ds.solve(ball, 5.0, start)
    # Every bounce, in units of the size: until 0.7^n is no more than rounding.
    speed, up = 3.0, math.sqrt(2.0 * 9.81)
    at, time = 3.0 * up / 9.81, up / 9.81
    for _ in range(120):
        speed, up = speed - 0.1 * 1.7 * up, 0.7 * up
        at, time = at + speed * 2.0 * up / 9.81, time + 2.0 * up / 9.81
    at, time = at + speed**2 / (2.0 * 0.1 * 9.81), time + speed / (0.1 * 9.81)
    assert run.events[-1].name == "rest"
    # Both ways the ball is back on the floor in the end, so that the impulses of the floor have the
    # same sum and the same sum over time, and friction with them: only rounding is left.
    assert run.events[-1].time == pytest.approx(time, rel=1e-12)
    for name, part in along.items():
        assert run.end_state[name] == pytest.approx(part * at * size, rel=1e-12)


@pytest.mark.parametrize("width", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("space", [False, True])
def test_a_short_push_sets_a_contact_in_motion(space, width):
    """The push passes the limit within a time in which bodies do not move by their own size."""
    q = ds.coordinates(**dict.fromkeys("xyz" if space else "xz", "m"))
    slip = (q.dot.x, q.dot.y) if space else q.dot.x
    limit, at = 0.3 * 9.81, 1.234567
    push = 5.0 * limit / (1.0 + ((ds.time - at) / width) ** 2)
    block = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=9.81 * q.z,
        goals=[ds.Contact("floor", q.z, slip=slip, friction=0.3)],
        force={"x": ca.if_else(ca.fabs(ds.time - at) < 30.0 * width, push, 0.0)},
    )
    names = [*q.names, *[f"{name}_dot" for name in q.names]]
    run = ds.solve(block, 3.0, dict.fromkeys(names, 0.0))
    # It slides from where the push is the limit, 1 + s^2 = 5, in units of its width.
    assert times_of(run, "floor_slips") == pytest.approx([at - 2.0 * width], abs=1e-13)
    (stops,) = (times_of(run, "floor_sticks") - at) / width

    def gained(s):
        return 5.0 * (math.atan(s) + math.atan(2.0)) - (s + 2.0)

    # The time has rounding of 2e-16 s, which is 2e-11 of the shortest width.
    assert gained(stops) == pytest.approx(0.0, abs=1e-7)
    way = 5.0 * (stops * math.atan(stops) - math.log1p(stops**2) / 2)
    way -= 5.0 * (2.0 * math.atan(2.0) - math.log(5.0) / 2)
    way += (5.0 * math.atan(2.0) - 2.0) * (stops + 2.0) - (stops**2 - 4.0) / 2
    assert run.end_state["x"] == pytest.approx(limit * width**2 * way, rel=1e-8)
