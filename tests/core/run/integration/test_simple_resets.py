"""Resets that are followed in one compiled loop: nothing but time is saved by it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.run.integration.simple_resets import SimpleResets

KERNEL = ds.Taylor(engine="kernel")
Posed = tuple[ds.MechanicalSystem, dict[str, float], float]


def _box(chance: random.Random) -> Posed:
    """A point between four walls, two of which it may meet at once, and a line that it crosses."""
    q = ds.coordinates(x="m", y="m")

    def thrown_back(fired: ca.SX) -> dict[str, ca.SX]:
        return {
            "x_dot": (1.0 - 2.0 * (fired[0] + fired[1])) * q.dot.x,
            "y_dot": (1.0 - 2.0 * (fired[2] + fired[3])) * q.dot.y,
        }

    walls = [q.x, 1.0 - q.x, q.y, 1.0 - q.y]
    events = [
        ds.Event("hit", walls, ds.FALLING, ds.Reset(thrown_back)),
        ds.Event("middle", q.x - q.y, ds.EITHER, ds.Record()),
    ]
    system = ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, events=events)
    start = {"x": chance.choice([0.5, chance.random()]), "y": 0.5}
    return system, start | {"x_dot": 1.0, "y_dot": chance.choice([3.0, chance.random()])}, 60.0


def _sampled(chance: random.Random) -> Posed:
    """A bouncing body whose controller ticks."""
    q, period = ds.coordinates(x="m", y="m"), chance.choice([0.1, chance.uniform(0.05, 0.3)])
    d = ds.discrete(u=0.0, following=period)
    change = {"u": -q.x - 0.5 * q.dot.x, "following": d.following + period}
    floor = ds.Holonomic("floor", q.y)
    bounce = ds.Reset(impose=[floor], restitution=chance.choice([1.0, 0.97]))
    system = ds.MechanicalSystem(
        q,
        discrete=d,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=q.x**2 + 9.81 * q.y,
        force={"x": d.u},
        events=[
            ds.Event("tick", ds.time - d.following, ds.RISING, ds.Reset(change)),
            ds.Event("bounce", q.y, ds.FALLING, bounce),
        ],
    )
    return system, {"x": 1.0, "y": chance.uniform(0.3, 1.0), "x_dot": 0.0, "y_dot": 0.0}, 8.0


def _pendulum(chance: random.Random) -> Posed:
    """A pendulum between two walls, of which one takes energy."""
    q = ds.coordinates(x="m", y="m")
    left, right = ds.Holonomic("left", q.x + 0.2), ds.Holonomic("right", q.x - 0.3)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)],
        events=[
            ds.Event("left", q.x + 0.2, ds.FALLING, ds.Reset(impose=[left], restitution=0.99)),
            ds.Event("right", q.x - 0.3, ds.RISING, ds.Reset(impose=[right], restitution=1.0)),
        ],
    )
    return system, {"x": 0.0, "y": -1.0, "x_dot": chance.uniform(1.0, 4.0), "y_dot": 0.0}, 20.0


def _kicked(chance: random.Random) -> Posed:
    """A pendulum that turns over, whose angle loses whole turns, kicked twice a turn."""
    q = ds.coordinates(angle="rad")
    kick = ds.Reset({"angle_dot": 1.001 * q.dot.angle})
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.angle**2 / 2,
        potential=-chance.choice([0.0, 1.0]) * ca.cos(q.angle),
        events=[ds.Event("kick", ca.sin(q.angle), ds.EITHER, kick)],
    )
    return system, {"angle": 0.1, "angle_dot": chance.uniform(2.5, 4.0)}, 30.0


def _both_ways(
    monkeypatch: pytest.MonkeyPatch, solve: Callable[[], ds.Trajectory]
) -> tuple[ds.Trajectory, ds.Trajectory, int]:
    """Solve with resets followed and without; return how many times some were followed too."""
    follow, count = SimpleResets.follow, [0]

    def counted(self: SimpleResets, here: Any, until: float) -> Any:
        after = follow(self, here, until)
        count[0] += after is not here
        return after

    monkeypatch.setattr(SimpleResets, "follow", counted)
    followed = solve()
    monkeypatch.setattr(SimpleResets, "follow", lambda self, here, until: here)
    return followed, solve(), count[0]


@pytest.mark.long_beyond(10)
@pytest.mark.default_rows(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pose", [_box, _sampled, _pendulum, _kicked])
@pytest.mark.parametrize("at", [ds.every(0.05), ds.every_event()], ids=["even", "events"])
def test_a_run_is_the_same_to_the_last_bit(
    pose: Callable[[random.Random], Posed], seed: int, at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, start, until = pose(random.Random(seed))
    followed, other, count = _both_ways(
        monkeypatch, lambda: ds.solve(system, until=until, initial=start, at=at, solver=KERNEL)
    )
    assert count > 0
    assert [vars(event) for event in followed.events] == [vars(event) for event in other.events]
    assert np.array_equal(followed.times, other.times)
    for name in followed.end_state:
        assert np.array_equal(followed[name], other[name])
    assert followed.end_state == other.end_state
    assert followed.drift == other.drift
    assert followed.description["notes"] == other.description["notes"]
    assert followed.statistics.steps == other.statistics.steps
    assert followed.statistics.rhs_evaluations == other.statistics.rhs_evaluations


def test_a_ball_bounces_where_the_closed_form_says() -> None:
    q = ds.coordinates(y="m")
    bounce = ds.Event("bounce", q.y, ds.FALLING, ds.Reset({"y_dot": -q.dot.y}))
    ball = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=9.81 * q.y, events=[bounce])
    run = ds.solve(ball, until=500.0, initial={"y": 1.0, "y_dot": 0.0}, solver=KERNEL)
    fall = math.sqrt(2.0 / 9.81)
    expected = fall * (1.0 + 2.0 * np.arange(run.event_count))
    times = np.array([event.time for event in run.events])
    # Each flight takes over the rounding of the time and of the speed of the one before.
    allowed = 4.0 * np.finfo(float).eps * np.arange(1, len(times) + 1) * times
    assert run.event_count == math.floor((500.0 / fall + 1.0) / 2.0)
    assert np.all(np.abs(times - expected) <= allowed)


def test_an_event_that_stops_ends_the_run_where_it_is_met() -> None:
    q, d = ds.coordinates(x="m"), ds.discrete(count=0.0)
    system = ds.MechanicalSystem(
        q,
        discrete=d,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        force={"x": 0.02 * q.dot.x},
        events=[
            ds.Event("counted", q.x, ds.RISING, ds.Reset({"count": d.count + 1.0})),
            ds.Event("far", q.x - 2.0, ds.RISING, ds.Stop("as far as that")),
        ],
    )
    run = ds.solve(system, until=1000.0, initial={"x": 0.0, "x_dot": 1.0}, solver=KERNEL)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.end_state["x"] == pytest.approx(2.0, abs=1e-14)
    counts = [event.after["count"] for event in run.events[:-1] if event.after]
    assert counts == list(np.arange(1.0, len(counts) + 1.0))


def test_where_a_reset_leaves_a_goal_unmet_the_run_fails_with_its_sentence() -> None:
    """The twentieth blow throws the point off its circle."""
    q, d = ds.coordinates(x="m", y="m"), ds.discrete(count=0.0)
    blow = ds.Reset({"count": d.count + 1.0, "y": q.y + ca.if_else(d.count > 18.0, 0.1, 0.0)})
    system = ds.MechanicalSystem(
        q,
        discrete=d,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)],
        events=[ds.Event("blow", q.x, ds.RISING, blow)],
    )
    start = {"x": 0.0, "y": -1.0, "x_dot": 1.0, "y_dot": 0.0}
    run = ds.solve(system, until=100.0, initial=start, solver=KERNEL)
    assert run.outcome is ds.Outcome.FAILED
    assert "leaves the goal 'rod' off" in run.message
    assert run.events[-1].after is not None
    assert run.events[-1].after["count"] == 19.0


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("period", [0.1, 0.05, 0.25, 0.137])
@pytest.mark.parametrize("count", [50, 75])
def test_ticks_that_fall_on_the_ends_of_segments_are_all_met(period: float, count: int) -> None:
    """A segment is a fiftieth of the run; zeros of a sine count either way."""
    q, d = ds.coordinates(x="m"), ds.discrete(u=0.0)
    guard = ca.sin(math.pi / period * ds.time)
    system = ds.MechanicalSystem(
        q,
        discrete=d,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        force={"x": d.u},
        events=[ds.Event("tick", guard, ds.EITHER, ds.Reset({"u": -q.x}))],
    )
    until = period * (count + 0.5)
    for end in (until, period * count):
        run = ds.solve(system, until=end, initial={"x": 1.0, "x_dot": 0.0}, solver=KERNEL)
        times = np.array([event.time for event in run.events])
        expected = period * np.arange(1, count + 1)
        # Whether the last tick of all is before the end of the run is a matter of rounding.
        assert len(times) == count or (end < until and len(times) == count - 1)
        assert np.all(np.abs(times - expected[: len(times)]) <= 4 * np.spacing(expected[-1]))
