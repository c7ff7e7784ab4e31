"""Identification of motions with contacts and friction, from starts that are far away."""

import math

import numpy as np
import pytest

import daesolve as ds
from daesolve import errors

from .test_identify import bounces

GRAVITY, SPEED = 9.81, 0.5


def ball():
    """Return a ball above a floor that it touches and leaves."""
    q = ds.coordinates(y="m")
    p = ds.parameters(gravity=(9.81, "m/s^2", ds.POSITIVE), restitution=(0.5, "", ds.NON_NEGATIVE))
    floor = ds.Contact("floor", q.y, restitution=p.restitution, closed=False)
    return ds.MechanicalSystem(
        q, p, kinetic=q.dot.y**2 / 2, potential=p.gravity * q.y, goals=[floor]
    )


def block():
    """Return a block on a belt, held by a spring: it sticks, slides back, and sticks again."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(
        stiffness=(30.0, "N/m", ds.POSITIVE),
        sliding=(0.3, "", ds.NON_NEGATIVE),
        sticking=(0.5, "", ds.NON_NEGATIVE),
    )
    belt = ds.Contact(
        "belt", q.y, slip=q.dot.x - SPEED, friction=p.sliding, static_friction=p.sticking
    )
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.stiffness * q.x**2 / 2 + GRAVITY * q.y,
        goals=[belt],
    )


def stick_slip(times, stiffness, sliding, sticking):
    """Return the place of a block of 1 kg that begins to stick at zero, arc by arc.

    It goes with the belt until the spring pulls with the largest friction, and then swings about
    the place where sliding friction holds the spring, until its speed is that of the belt again.
    """
    found, turn = np.empty_like(times), math.sqrt(stiffness)
    middle, reach = sliding * GRAVITY / stiffness, (sticking - sliding) * GRAVITY / stiffness
    begin, x = 0.0, 0.0
    while begin <= times[-1]:
        late = times - begin
        found = np.where(late >= 0.0, x + SPEED * late, found)
        slips = begin + (middle + reach - x) / SPEED
        phase = turn * (times - slips)
        swing = middle + reach * np.cos(phase) + SPEED / turn * np.sin(phase)
        found = np.where(times >= slips, swing, found)
        # -reach turn sin(phase) + SPEED cos(phase) = SPEED, first after a half turn.
        phase = 2 * math.pi - 2 * math.atan(reach * turn / SPEED)
        begin = slips + phase / turn
        x = middle + reach * math.cos(phase) + SPEED / turn * math.sin(phase)
    return found


def data_of(function, until, rows, noise, truth):
    times = np.linspace(until / rows, until, rows)
    values = function(times, *truth)
    return times, values + noise * np.random.default_rng(1).standard_normal(rows)


@pytest.mark.slow
def test_a_bouncing_ball_is_found_from_beginnings_of_its_motion():
    truth = {"gravity": 10.0, "restitution": 0.85, "y": 2.0}
    times, y = data_of(bounces, 2.6, 80, 1e-3, truth.values())
    far = {"gravity": 5.0, "restitution": 0.3, "y": 3.0}
    found = ds.identify(
        ball(), {"time": times, "y": y}, far, initial={"y_dot": 0.0, "y": 3.0}, noise=1e-3
    )
    # Five deviations: one in two million.
    assert np.all(np.abs(found.values - [*truth.values()]) < 5 * found.deviations)
    assert np.all(found.deviations < 1e-2 * found.values)
    assert found.beginnings > 0


@pytest.mark.slow
def test_stick_and_slip_is_found_from_beginnings_of_its_motion():
    truth = {"stiffness": 30.0, "sliding": 0.3, "sticking": 0.5}
    times, x = data_of(stick_slip, 2.0, 60, 1e-4, truth.values())
    far = {"stiffness": 22.0, "sliding": 0.2, "sticking": 0.7}
    start = {"x": 0.0, "x_dot": SPEED, "y": 0.0, "y_dot": 0.0}
    system = block()
    found = ds.identify(system, {"time": times, "x": x}, far, initial=start, noise=1e-4)
    assert np.all(np.abs(found.values - [*truth.values()]) < 5 * found.deviations)
    assert np.all(found.deviations < 1e-2 * found.values)
    assert found.beginnings > 0
    with pytest.raises(errors.UnsupportedError, match="a state does not show"):
        ds.identify(system, {"time": times, "x": x}, far, initial=start, segments=4)
