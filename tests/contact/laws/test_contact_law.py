"""Contacts without friction of their own: which of them take part in an impact."""

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds


@pytest.mark.parametrize("lean", [1.2, 1.9])
def test_friction_that_enters_forces_takes_no_part_in_an_impact(lean):
    """A body slides along a floor against a wall, whose friction is written as a force.

    The impulse of the wall, along its normal alone, lifts the body off the floor where the wall
    leans away, and presses it there where it overhangs. An impulse of friction of 0.8 times it
    would do the opposite.
    """
    rebound, speed, mass = 0.5, 2.0, 3.0
    q = ds.coordinates(x="m", y="m")
    leaning = math.cos(lean) * q.y - math.sin(lean) * (q.x - 1.0)
    wall = ds.Contact("wall", leaning, restitution=rebound, closed=False)
    slip = math.cos(lean) * q.dot.x + math.sin(lean) * q.dot.y
    rub = -0.8 * wall.reaction * slip / ca.sqrt(slip**2 + 1e-4)
    body = ds.MechanicalSystem(
        q,
        kinetic=mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=mass * 9.81 * q.y,
        force={"x": rub * math.cos(lean), "y": rub * math.sin(lean)},
        goals=[ds.Contact("floor", q.y), wall],
    )
    run = ds.solve(body, 0.51, {"x": 0.0, "x_dot": speed})
    (impact,) = [event.impact for event in run.events if event.impact]
    lifts = math.cos(lean) > 0.0
    # Alone the wall gives (1 + e) of the approach; with the floor the body returns along it.
    pushed = mass * (1.0 + rebound) * speed * (math.sin(lean) if lifts else 1.0 / math.sin(lean))
    pressed = 0.0 if lifts else -pushed * math.cos(lean)
    assert impact.impulses["wall"] == pytest.approx(pushed, rel=1e-12)
    assert impact.impulses["floor"] == pytest.approx(pressed, rel=1e-12)
    rises = pushed * math.cos(lean) / mass if lifts else 0.0
    late = 0.51 - 0.5
    assert run.end_state["x"] == pytest.approx(
        1.0 + (speed - pushed * math.sin(lean) / mass) * late, rel=1e-9
    )
    assert run.end_state["y"] == pytest.approx(rises * late - 9.81 * late**2 / 2 * lifts, abs=1e-9)
    assert run.audit().holds, str(run.audit())


@pytest.mark.slow_rows("sequential")
@pytest.mark.parametrize("law", ["newton", "sequential"])
def test_what_bounces_within_the_rounding_of_a_late_time_falls_through_nothing(law):
    """A heavy ball bounces on a light one, both ever faster, until no instant is between.

    At 1e6 s they move by 1e-10 m in the rounding of time, and are met so far past zero.
    """
    q = ds.coordinates(low="m", high="m")
    balls = ds.MechanicalSystem(
        q,
        kinetic=6.5 * q.dot.low**2 + 126.5 * q.dot.high**2,
        potential=9.81 * (13.0 * q.low + 253.0 * q.high),
        goals=[
            ds.Contact("floor", q.low, restitution=0.1, closed=False),
            ds.Contact("balls", q.high - q.low, restitution=0.5, closed=False),
        ],
    )
    start = 1e6
    # No ball is faster than twice what the energy of both would give the heavy one.
    late = 2.0 * math.sqrt(2.0**2 + 2.0 * 9.81 * 0.6) * math.ulp(start)
    for low in (0.33, 0.35, 0.37) if law == "sequential" else (0.35,):
        dropped = {"low": low, "high": 0.6, "low_dot": -0.5, "high_dot": -2.0}
        options = {"start_time": start, "impact": law, "solver": "dop853"}
        run = ds.solve(balls, start + 2.0, dropped, **options)
        assert run.outcome is ds.Outcome.COMPLETED, run.message
        assert np.min(run["low"]) >= -late
        assert np.min(run["high"] - run["low"]) >= -2.0 * late
        assert np.abs([*run.end_state.values()]) == pytest.approx(0.0, abs=1e-12)
        assert run.audit().holds, str(run.audit())
