"""A rigid box with eight vertices that falls on a floor in space, against closed forms."""

from __future__ import annotations

import math

import pytest

import daesolve as ds
from daesolve.multibody import Body, Mechanism, corners, feet

GRAVITY, HALF, HEIGHT, FRICTION = 9.81, 0.1, 0.5, 0.4
FALL = math.sqrt(2.0 * (HEIGHT - HALF) / GRAVITY)
INERTIA = (2.0 * HALF) ** 2 / 6.0


def falling(velocity=(0.0, 0.0, 0.0), restitution=0.0, friction=FRICTION, tilt=0.0):
    """Return the mechanism of a cube of 1 kg above the floor, turned about the y-axis."""
    turn = (math.cos(tilt / 2.0), 0.0, math.sin(tilt / 2.0), 0.0)
    box = Body(
        "box",
        1.0,
        (INERTIA,) * 3,
        position=(0.0, 0.0, HEIGHT),
        rotation=turn,
        velocity=velocity,
    )
    points = corners(box, (2.0 * HALF,) * 3)
    floor = feet("corner", points, friction=friction, restitution=restitution, closed=False)
    return Mechanism([box], list(floor), gravity=(0.0, 0.0, -GRAVITY))


def thrown(until, **how):
    mechanism = falling(**how)
    return ds.solve(mechanism.system(), until, guess=mechanism.start)


@pytest.mark.slow
def test_a_box_that_falls_flat_bounces_and_slides_to_rest_as_a_point_does():
    """With e = 0 the impact takes mu m w of the slip; friction ends it, and nothing turns."""
    run = thrown(2.0, velocity=(2.0, 1.0, 0.0))
    speed, fall = math.sqrt(5.0), GRAVITY * FALL
    slides = speed - FRICTION * fall
    stop = FALL + slides / (FRICTION * GRAVITY)
    far = speed * FALL + slides**2 / (2.0 * FRICTION * GRAVITY)
    assert run.events[-1].name == "rest"
    assert run.events[-1].time == pytest.approx(stop, rel=1e-11)
    assert run["box_x"][-1] == pytest.approx(far * 2.0 / speed, rel=1e-11)
    assert run["box_y"][-1] == pytest.approx(far / speed, rel=1e-11)
    assert run["box_z"][-1] == pytest.approx(HALF, abs=1e-11)
    assert any("not known to be the only one" in note for note in run.notes)


@pytest.mark.slow
def test_a_box_that_falls_on_an_edge_turns_about_it_and_lands_on_its_face():
    """The edge stops and sticks: angular momentum about it is kept.

    Then energy is, until the face lands and the other edge takes over with a quarter of the rate:
    1 - 3/2 sin^2 45 degrees.
    """
    tilt = 0.4
    run = thrown(0.6, friction=2.0, tilt=tilt)
    first, second = [event for event in run.events if event.impact][:2]
    reach = math.sqrt(2.0) * HALF
    angle = math.pi / 4.0 + tilt
    lever, low = reach * math.cos(angle), reach * math.sin(angle)
    about = INERTIA + reach**2
    fallen = math.sqrt(2.0 * GRAVITY * (HEIGHT - low))
    rate = fallen * lever / about
    landed, face = first.impact, second.impact
    assert landed.kinetic_after == pytest.approx(about * rate**2 / 2.0, rel=1e-9)
    lowered = GRAVITY * (low - HALF)
    assert face.kinetic_before == pytest.approx(landed.kinetic_after + lowered, rel=1e-9)
    assert face.kinetic_after == pytest.approx(face.kinetic_before / 16.0, rel=1e-8)
