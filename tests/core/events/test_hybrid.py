"""Hybrid motions with closed forms: events, resets and impacts one after the other.

Taylor's method at machine epsilon: times and states are as exact as a few roundings for each event
make them. Other solvers and formulations are held to the same motions in `test_hybrid_pairs`.
"""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import daesolve as ds
from daesolve.errors import InconsistentStateError
from tests.hybrid_systems import (
    GRAVITY,
    PEG,
    SLOPE,
    SPOKES,
    balls_on_a_line,
    bounces,
    bouncing_ball,
    latched_particle,
    peg_pendulum,
    peg_times,
    rimless_rates,
    rimless_start,
    rimless_times,
    rimless_wheel,
    shaken_ball,
    thermostat,
)
from tests.systems import EPSILON

BALL = bouncing_ball()


def dropped(until, restitution=0.9, **rest):
    return ds.solve(
        BALL, until, {"y": 1.0, "y_dot": 0.0}, parameters={"restitution": restitution}, **rest
    )


def times_of(run):
    return np.array([event.time for event in run.events])


def after(run, name):
    assert all(event.after is not None for event in run.events)
    return np.array([event.after[name] for event in run.events])


# -- a bouncing ball -----------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("restitution", [0.5, 0.9, 0.99, 1.0])
def test_a_ball_bounces_at_the_times_and_speeds_of_the_closed_form(restitution):
    """100 bounces, or as many as are longer than a millisecond."""
    count = 100 if restitution > 0.9 else int(math.log(1e-3) / math.log(restitution))
    times, speeds = bounces(restitution, 1.0, count)
    run = dropped(times[-1] + 0.5 * speeds[-1] / GRAVITY, restitution)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.event_count == count
    # each flight rounds speed and time a few times, and passes the error of its speed on
    allowed = 8.0 * EPSILON * np.arange(1, count + 1)
    assert np.all(np.abs(times_of(run) - times) <= allowed * times[-1])
    assert np.all(np.abs(after(run, "y_dot") - speeds) <= allowed * speeds[0])
    top = speeds[-1] ** 2 / (2.0 * GRAVITY)
    risen = (
        speeds[-1] * 0.5 * speeds[-1] / GRAVITY - GRAVITY * (0.5 * speeds[-1] / GRAVITY) ** 2 / 2
    )
    assert risen == pytest.approx(0.75 * top)
    assert run.end_state["y"] == pytest.approx(
        risen, abs=2.0 * speeds[-1] * allowed[-1] * times[-1]
    )


def test_an_impact_tells_its_impulse_and_what_it_cost():
    times, speeds = bounces(0.9, 1.0, 5)
    run = dropped(times[-1] + 0.01)
    for event, speed in zip(run.events, speeds, strict=True):
        impact = event.impact
        assert impact is not None
        # m (1 + e) times the speed with which the floor is met, N s, away from the floor
        assert impact.impulses["floor"] == pytest.approx(2.0 * 1.9 * speed / 0.9, rel=1e-13)
        assert impact.kinetic_before == pytest.approx((speed / 0.9) ** 2, rel=1e-13)
        assert impact.kinetic_after == pytest.approx(speed**2, rel=1e-13)
        assert impact.carnot <= 1e-13
        assert event.detail["y_dot"] == pytest.approx(-speed / 0.9, rel=1e-13)
        assert abs(event.after["y"]) <= 4 * EPSILON


def test_the_energy_that_is_watched_is_that_of_each_flight():
    """It falls by 1 - e^2 at a bounce, and the drift tells nothing of it."""
    run = dropped(3.0)
    assert run.event_count == 4
    assert run.drift["energy"].max_relative <= 1e-14


def test_a_floor_that_holds_is_reported_to_need_a_mode_of_rest():
    """Without restitution it would fall through the floor, or stop for ever more at one instant."""
    run = dropped(2.0, 0.0)
    assert run.outcome is ds.Outcome.FAILED
    assert "comes to rest on its guard" in run.message
    assert run.end_time == pytest.approx(math.sqrt(2.0 / GRAVITY), rel=1e-14)
    assert abs(run.end_state["y"]) <= 1e-14
    assert abs(run.end_state["y_dot"]) <= 1e-14


@pytest.mark.slow
def test_infinitely_many_bounces_end_in_a_sentence_and_what_was_before_is_kept():
    """With e = 1/2 the ball rests after 3 sqrt(2 h / g)."""
    end = 3.0 * math.sqrt(2.0 / GRAVITY)
    run = dropped(2.0, 0.5, at=ds.every(0.1))
    assert run.outcome is ds.Outcome.FAILED
    assert "end earlier" in run.message
    assert run.end_time == pytest.approx(end, rel=1e-9)
    times, speeds = bounces(0.5, 1.0, 20)
    assert times_of(run)[:20] == pytest.approx(times, rel=1e-13)
    assert after(run, "y_dot")[:20] == pytest.approx(speeds, rel=1e-8)
    assert run["t"] == pytest.approx([*np.arange(0.0, end, 0.1), run.end_time], abs=1e-12)
    assert np.all(run["y"] >= -1e-14)
    since = 1.0 - times[1]
    assert run.at(1.0)["y"] == pytest.approx(speeds[1] * since - GRAVITY * since**2 / 2, rel=1e-13)


def test_a_point_between_events_is_that_of_its_own_flight():
    times, speeds = bounces(0.9, 1.0, 10)
    run = dropped(times[-1])
    for start, speed, end in zip(times, speeds, times[1:], strict=False):
        for part in (0.001, 0.5, 0.999):
            elapsed = part * (end - start)
            point = run.at(start + elapsed)
            assert point["y"] == pytest.approx(
                speed * elapsed - GRAVITY * elapsed**2 / 2, abs=1e-13
            )
            assert point["y_dot"] == pytest.approx(speed - GRAVITY * elapsed, abs=1e-13)


def test_a_sample_at_the_time_of_an_event_is_what_was_before_and_a_point_what_comes_after():
    times, speeds = bounces(0.9, 1.0, 4)
    found = times_of(dropped(times[-1] + 0.1))
    run = dropped(times[-1] + 0.1, at=found)
    assert np.array_equal(run["t"], found)
    assert np.all(np.abs(run["y"]) <= 1e-14)
    assert run["y_dot"] == pytest.approx(-speeds / 0.9, rel=1e-13)
    points = [run.at(time)["y_dot"] for time in found]
    assert points == pytest.approx(speeds, rel=1e-13)


def test_samples_do_not_change_the_motion():
    free, sampled = dropped(3.0, at=[]), dropped(3.0, at=ds.every(0.01))
    assert len(free.times) == 0
    assert np.array_equal(times_of(free), times_of(sampled))
    assert free.end_state == sampled.end_state


# -- constraints that move -----------------------------------------------------------------------


def shaken_times(count):
    """Bounces on the moving floor, flight by flight; outside of the library."""

    def floor(t):
        return 0.05 * math.sin(9.0 * t)

    def floor_rate(t):
        return 0.45 * math.cos(9.0 * t)

    start, y, rate = 0.0, 0.6, 0.0
    found = []
    for _ in range(count):

        def gap(t, start=start, y=y, rate=rate):
            return y + rate * (t - start) - GRAVITY * (t - start) ** 2 / 2 - floor(t)

        grid = start + np.linspace(1e-4, 2.0, 20001)
        first = int(np.flatnonzero(np.array([gap(t) for t in grid]) < 0.0)[0])
        end = brentq(gap, grid[first - 1], grid[first], xtol=1e-15, rtol=1e-15)
        before = rate - GRAVITY * (end - start)
        y, rate, start = floor(end), floor_rate(end) - 0.8 * (before - floor_rate(end)), end
        found.append((end, before, rate, floor_rate(end)))
    return np.array(found)


def test_a_ball_leaves_a_moving_floor_with_the_relative_speed_turned():
    expected = shaken_times(8)
    run = ds.solve(shaken_ball(), expected[-1, 0] + 0.01, {"y": 0.6, "y_dot": 0.0})
    assert run.event_count == 8
    # an error of the time grows by up to 1 + e a bounce
    allowed = 1e-15 * 4.0 ** np.arange(8)
    assert np.all(np.abs(times_of(run) - expected[:, 0]) <= allowed)
    assert np.all(np.abs(after(run, "y_dot") - expected[:, 2]) <= 20.0 * allowed)
    for event, (_, before, rate, _) in zip(run.events, expected, strict=True):
        impact = event.impact
        assert impact is not None
        assert impact.impulses["floor"] == pytest.approx(3.0 * (rate - before), rel=1e-9)
        assert impact.carnot <= 1e-13


# -- collisions ----------------------------------------------------------------------------------


def test_two_balls_collide_as_newton_says():
    """v' = (m1 v1 + m2 v2 -+ e m (v1 - v2)) / (m1 + m2)."""
    run = ds.solve(
        balls_on_a_line([2.0, 3.0], 0.5),
        2.0,
        {"x_1": 0.0, "x_2": 1.0, "x_dot_1": 1.0, "x_dot_2": 0.0},
    )
    assert times_of(run) == pytest.approx([1.0], rel=1e-14)
    assert run.end_state["x_dot_1"] == pytest.approx((2.0 - 0.5 * 3.0) / 5.0, abs=1e-15)
    assert run.end_state["x_dot_2"] == pytest.approx((2.0 + 0.5 * 2.0) / 5.0, abs=1e-15)
    impact = run.events[0].impact
    # the reduced mass times the restitution's kinetic energy
    assert impact is not None
    assert impact.kinetic_before - impact.kinetic_after == pytest.approx(1.2 * 0.75 / 2, rel=1e-14)


def test_a_cradle_passes_the_motion_on_to_the_last_ball():
    """The others touch; their collisions follow each other at one instant."""
    start = {"x_1": -1.0, "x_2": 0.0, "x_3": 0.0, "x_4": 0.0, "x_dot_1": 1.0}
    start |= dict.fromkeys(["x_dot_2", "x_dot_3", "x_dot_4"], 0.0)
    run = ds.solve(balls_on_a_line([1.0] * 4, 1.0), 2.0, start)
    assert [event.name for event in run.events] == ["hit_1", "hit_2", "hit_3"]
    assert times_of(run) == pytest.approx([1.0] * 3, rel=1e-14)
    rates = [run.end_state[f"x_dot_{k}"] for k in range(1, 5)]
    assert rates == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-15)


@pytest.mark.parametrize(
    ("order", "rates"), [("simultaneous", [-5 / 3, -2 / 3, 4 / 3]), ("sequential", [-2, 0, 1])]
)
def test_collisions_at_one_instant_depend_on_their_order(order, rates):
    """Balls with the speeds 1, 0, -2 meet at once, e = 1.

    At once, velocities are mirrored in those of the common motion, 2 (-1/3) - v; one after the
    other, 1 and 2, then 2 and 3, then 1 and 2 again exchange theirs.
    """
    start = {"x_1": -1.0, "x_2": 0.0, "x_3": 2.0, "x_dot_1": 1.0, "x_dot_2": 0.0, "x_dot_3": -2.0}
    run = ds.solve(balls_on_a_line([1.0] * 3, 1.0, order), 1.5, start)
    assert times_of(run) == pytest.approx([1.0] * run.event_count, rel=1e-14)
    assert [run.end_state[f"x_dot_{k}"] for k in (1, 2, 3)] == pytest.approx(rates, abs=1e-14)


# -- modes ---------------------------------------------------------------------------------------


@pytest.mark.core
def test_a_string_that_meets_a_peg_swings_about_it():
    """No energy is lost, for the velocity is across the string at once before and after."""
    angle, count = 1.0, 7
    expected = peg_times(angle, count)
    start = {"x": math.sin(angle), "y": -math.cos(angle), "x_dot": 0.0, "y_dot": 0.0}
    run = ds.solve(peg_pendulum(), expected[-1] + 0.1, start)
    assert [event.name for event in run.events] == (["caught", "freed"] * count)[:count]
    assert np.abs(times_of(run) - expected).max() <= 50.0 * EPSILON * expected[-1]
    speed = math.sqrt(2.0 * GRAVITY * (1.0 - math.cos(angle)))
    assert np.abs(after(run, "x_dot")) == pytest.approx(speed, rel=1e-13)
    assert list(after(run, "length")) == pytest.approx(([1.0 - PEG, 1.0] * count)[:count])
    for event in run.events:
        assert event.impact is not None
        assert abs(event.impact.impulses["string"]) <= 1e-13
    assert run.drift["string"].max_abs <= 1e-14


def test_a_particle_that_a_rod_catches_keeps_what_is_along_the_circle():
    """From (-0.5, 0.8) at (1, 0.3) m/s it is caught at (0, 0.95) and goes round at 1 m/s."""
    run = ds.solve(
        latched_particle(),
        5.0,
        {"x": -0.5, "y": 0.8, "idle": 0.0, "x_dot": 1.0, "y_dot": 0.3, "idle_dot": 0.0},
    )
    assert times_of(run) == pytest.approx([0.5], rel=1e-14)
    angle = 4.5 / 0.95
    assert run.end_state["x"] == pytest.approx(0.95 * math.sin(angle), abs=1e-14)
    assert run.end_state["y"] == pytest.approx(0.95 * math.cos(angle), abs=1e-14)
    impact = run.events[0].impact
    assert impact is not None
    # what was lost is the energy of the velocity along the rod
    assert impact.kinetic_before - impact.kinetic_after == pytest.approx(0.3**2, rel=1e-13)
    assert abs(run.reactions["circle"][-1]) * 2.0 * 0.95 == pytest.approx(2.0 / 0.95, rel=1e-12)


def test_a_rimless_wheel_follows_its_map_of_section_to_its_limit_cycle():
    count = 40
    expected = rimless_rates(1.5, count)
    run = ds.solve(rimless_wheel(), 60.0, rimless_start(1.5))
    rates = np.hypot(after(run, "x_dot"), after(run, "y_dot"))
    assert rates[:count] == pytest.approx(expected, rel=1e-13)
    assert times_of(run)[:10] == pytest.approx(rimless_times(1.5, 10), rel=1e-13)
    assert np.array_equal(after(run, "spoke"), np.arange(1, run.event_count + 1))
    limit = math.sqrt(
        4.0 * GRAVITY * math.sin(SPOKES) * math.sin(SLOPE) / math.tan(2.0 * SPOKES) ** 2
    )
    assert rates[-1] == pytest.approx(limit, rel=1e-13)
    # The leg is the difference of two places far down the slope.
    assert run.drift["leg"].max_abs <= 2.0 * EPSILON * np.max(np.abs(run["x"]))


def test_a_thermostat_switches_at_the_times_of_its_exponentials():
    """From 0 up to 0.7, then 0.7 -> 0.3 and back in ln(7/3) each; nothing is imposed."""
    run = ds.solve(thermostat(), 6.0, {"temperature": 0.0})
    first, swing = -math.log(0.3), math.log(7.0 / 3.0)
    count = int((6.0 - first) / swing) + 1
    assert times_of(run) == pytest.approx(first + swing * np.arange(count), rel=1e-14)
    assert list(after(run, "heater")) == ([0.0, 1.0] * count)[:count]
    assert all(event.impact is None for event in run.events)


def test_a_relay_without_hysteresis_ends_in_a_sentence():
    run = ds.solve(thermostat(0.5, 0.5), 3.0, {"temperature": 0.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "at one instant" in run.message
    assert run.end_time == pytest.approx(math.log(2.0), rel=1e-14)
    assert run.end_state["temperature"] == pytest.approx(0.5, rel=1e-14)


def test_a_change_of_mode_that_does_not_turn_the_motion_back_happens_once():
    """The push is halved at 1 m/s, and the speed goes on beyond."""
    q = ds.coordinates(x="m")
    d = ds.discrete(push=2.0)
    shift = ds.Event("shift", q.dot.x - 1.0, ds.RISING, ds.Reset({"push": d.push / 2.0}))
    tick = ds.Event("tick", ca.sin(ca.pi * ds.time), ds.EITHER, ds.Reset({}))
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, force={"x": d.push}, discrete=d, events=[shift, tick]
    )
    run = ds.solve(system, 3.75, {"x": 0.0, "x_dot": 0.0})
    assert [event.name for event in run.events] == ["shift", "tick", "tick", "tick"]
    assert times_of(run) == pytest.approx([0.5, 1.0, 2.0, 3.0], rel=1e-14)
    assert run.end_state["x_dot"] == pytest.approx(1.0 + 3.25, rel=1e-14)


def test_a_barrier_that_counts_either_way_is_reported_to_need_a_direction():
    """Left at rounding's distance, it would be met from the other side at once."""
    q = ds.coordinates(y="m")
    floor = ds.Reset(impose=[ds.Holonomic("floor", q.y)], restitution=0.9)
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=GRAVITY * q.y,
        events=[ds.Event("bounce", q.y, ds.EITHER, floor)],
    )
    run = ds.solve(system, 0.9, {"y": 1.0, "y_dot": 0.0}, solver=ds.Dop853())
    assert run.outcome is ds.Outcome.FAILED
    assert "choose one direction" in run.message


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853(), ds.RadauIIA(), ds.Lsoda()])
def test_a_guard_that_counts_either_way_is_not_lost_where_another_interrupts(solver):
    """Both pass at 1 s; the speed first, to rounding."""
    q = ds.coordinates(x="m")
    d = ds.discrete(push=1.0, ticks=0.0)
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        force={"x": d.push},
        discrete=d,
        events=[
            ds.Event("shift", q.dot.x - 1.0, ds.RISING, ds.Reset({"push": 0.5})),
            ds.Event("tick", ca.sin(ca.pi * ds.time), then=ds.Reset({"ticks": d.ticks + 1.0})),
        ],
    )
    run = ds.solve(system, 3.5, {"x": 0.0, "x_dot": 0.0}, solver=solver)
    assert sorted(event.name for event in run.events) == ["shift", "tick", "tick", "tick"]
    assert times_of(run) == pytest.approx([1.0, 1.0, 2.0, 3.0], abs=1e-9)
    assert run.end_state["x_dot"] == pytest.approx(2.25, abs=1e-9)


# -- several guards ------------------------------------------------------------------------------


def two_falling():
    q = ds.coordinates(y_1="m", y_2="m")
    d = ds.discrete(hits_1=0.0, hits_2=0.0)

    def changes(fired):
        return {
            f"y_dot_{k}": ca.if_else(fired[k - 1], -q.dot[f"y_{k}"], q.dot[f"y_{k}"])
            for k in (1, 2)
        } | {f"hits_{k}": d[f"hits_{k}"] + fired[k - 1] for k in (1, 2)}

    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.y_1**2 + 3.0 * q.dot.y_2**2) / 2,
        potential=GRAVITY * (q.y_1 + 3.0 * q.y_2),
        discrete=d,
        events=[ds.Event("floor", [q.y_1, q.y_2], ds.FALLING, ds.Reset(changes))],
    )


def test_guards_that_reach_zero_together_are_one_event():
    start = {"y_1": 1.0, "y_2": 1.0, "y_dot_1": 0.0, "y_dot_2": 0.0}
    times, _ = bounces(1.0, 1.0, 6)
    run = ds.solve(two_falling(), times[-1] + 0.1, start)
    assert [event.fired for event in run.events] == [(0, 1)] * 6
    assert times_of(run) == pytest.approx(times, rel=1e-13)
    assert run.events[-1].after["hits_1"] == run.events[-1].after["hits_2"] == 6.0


def test_guards_that_reach_zero_one_after_the_other_are_two_events():
    start = {"y_1": 1.0, "y_2": 1.0 + 1e-9, "y_dot_1": 0.0, "y_dot_2": 0.0}
    run = ds.solve(two_falling(), 0.6, start)
    assert [event.fired for event in run.events] == [(0,), (1,)]
    late = math.sqrt(2.0 * (1.0 + 1e-9) / GRAVITY) - math.sqrt(2.0 / GRAVITY)
    assert np.diff(times_of(run)) == pytest.approx([late], abs=4 * EPSILON)


# -- guards at zero ------------------------------------------------------------------------------


@pytest.mark.parametrize("height", [0.0, 1e-14, -1e-14])
def test_a_guard_at_zero_on_its_way_out_fires_at_the_start(height):
    run = ds.solve(BALL, 0.1, {"y": height, "y_dot": -1.0})
    assert times_of(run) == pytest.approx([0.0], abs=2e-14)
    assert run.end_state["y_dot"] == pytest.approx(0.9 - GRAVITY * 0.1, abs=1e-12)


@pytest.mark.parametrize("height", [0.0, 1e-14, -1e-14])
def test_a_guard_at_zero_on_its_way_in_does_not(height):
    run = ds.solve(BALL, 0.1, {"y": height, "y_dot": 1.0})
    assert run.event_count == 0
    assert run.end_state["y_dot"] == pytest.approx(1.0 - GRAVITY * 0.1, abs=1e-14)


def test_a_ball_that_rests_on_the_floor_does_not_fall_through_it():
    run = ds.solve(BALL, 1.0, {"y": 0.0, "y_dot": 0.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "rest" in run.message
    assert abs(run.end_state["y"]) <= 1e-14


@pytest.mark.parametrize("speed", [-1.0, 0.0, 1.0])
def test_a_start_beyond_a_barrier_is_refused(speed):
    with pytest.raises(InconsistentStateError, match="beyond the barrier of the event 'bounce'"):
        ds.solve(BALL, 0.01, {"y": -1e-3, "y_dot": speed})


# -- other actions beside resets -----------------------------------------------------------------


def test_a_reset_that_stops_resets_first():
    q = ds.coordinates(x="m")
    d = ds.discrete(hits=0.0)
    wall = ds.Reset({"x_dot": -0.5 * q.dot.x, "hits": d.hits + 1.0}) | ds.Stop()
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, discrete=d, events=[ds.Event("wall", q.x - 2.0, ds.RISING, wall)]
    )
    run = ds.solve(system, 9.0, {"x": 0.0, "x_dot": 1.0})
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.event_count == 1
    assert run.end_time == pytest.approx(2.0, rel=1e-14)
    assert run.end_state["x_dot"] == -0.5
    assert run.events[0].after["hits"] == 1.0


def test_what_is_only_recorded_is_recorded_between_bounces():
    """The tops of the flights lie in the middle between bounces."""
    system = bouncing_ball(events=lambda q, p: [ds.Event("top", q.dot.y, ds.FALLING, ds.Record())])
    times, speeds = bounces(0.9, 1.0, 6)
    run = ds.solve(system, times[-1] + 0.01, {"y": 1.0, "y_dot": 0.0})
    tops = [event for event in run.events if event.name == "top" and event.time > 0.0]
    middles = (times[1:] + times[:-1]) / 2.0
    assert [event.time for event in tops] == pytest.approx(middles, rel=1e-13)
    heights = speeds[:-1] ** 2 / (2.0 * GRAVITY)
    assert [event.detail["y"] for event in tops] == pytest.approx(heights, rel=1e-13)
    assert all(event.after is None and event.impact is None for event in tops)
    assert [event.time for event in run.events] == sorted(event.time for event in run.events)
