"""Contacts without friction of their own: which of them take part in an impact."""

import math

import casadi as ca
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
