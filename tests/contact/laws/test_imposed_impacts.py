"""Resets that impose constraints while contacts are closed."""

import math

import casadi as ca
import pytest

import daesolve as ds


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("rough", [False, True], ids=["smooth", "rough"])
def test_an_imposed_impact_opens_the_contact_that_it_slackens(restitution, rough):
    """A ball on a taut string of 1 m circles with 1.3 rad/s until a wall throws it back.

    The string lets it go inwards, so it flies straight on: of its velocity (c, s) 1.3 m/s the wall
    turns the first part around. The derivatives are those of x = s - e c (1.3 t - 0.7) and
    y = -c + s (1.3 t - 0.7).
    """
    q = ds.coordinates(x="m", y="m", z="m")
    s, c = math.sin(0.7), math.cos(0.7)
    wall = ds.Reset(impose=[ds.Holonomic("wall", s - q.x)], restitution=restitution)
    friction = {"slip": q.dot.z, "friction": 0.4} if rough else {}
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 + q.dot.y**2 + q.dot.z**2,
        goals=[ds.Contact("string", 1.0 - ca.sqrt(q.x**2 + q.y**2), **friction)],
        events=[ds.Event("strikes", s - q.x, ds.FALLING, wall)],
    )
    start, guess = {"x": 0.0, "x_dot": 1.3, "z": 0.0, "z_dot": 0.2}, {"y": -1.0, "y_dot": 0.0}
    found = ds.analysis.sensitivity(system, 0.7, start, by=["x_dot"], guess=guess)
    run, far = found.run, 1.3 * 0.7 - 0.7
    assert [event.name for event in run.events][-2:] == ["strikes", "string_lost"]
    ends = [run.end_state[name] for name in ("x", "y")]
    assert ends == pytest.approx([s - restitution * c * far, -c + s * far], abs=1e-12)
    slopes = [found["x", "x_dot"], found["y", "x_dot"]]
    assert slopes == pytest.approx([-restitution * c * 0.7, s * 0.7], abs=1e-9)
    assert run.audit().holds
