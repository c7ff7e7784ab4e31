"""Springs, dampers, forces and torques in closed form; what is refused."""

import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import DegenerateStartError, OutOfRangeError, PosingError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.joints import Prismatic, Revolute
from daesolve.multibody.loads import (
    Damper,
    PointForce,
    Spring,
    SpringDamper,
    Torque,
    TorsionDamper,
    TorsionSpring,
)
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND

MASS, INERTIA = 2.0, 0.5


def free(**start):
    return PlanarBody("body", MASS, INERTIA, **start)


def moved(parts, bodies, until=1.0, **further):
    mechanism = Mechanism(bodies, parts, **further)
    return ds.solve(mechanism.system(), until=until, guess=mechanism.start)


def test_a_spring_swings_a_mass_with_its_natural_frequency_and_keeps_the_energy():
    body = free(position=(1.3, 0.0))
    spring = Spring("spring", GROUND.point(0, 0), body.centre, 50.0, 1.0)
    run = moved([spring], [body], until=3.0)
    swing = 0.3 * np.cos(math.sqrt(50.0 / MASS) * run.times)
    assert run["body_x"] == pytest.approx(1.0 + swing, abs=1e-12)
    assert run["spring_length"] == pytest.approx(1.0 + swing, abs=1e-12)
    assert run["spring_tension"] == pytest.approx(50.0 * swing, abs=1e-10)
    assert run.outputs["energy"] == pytest.approx(50.0 * 0.3**2 / 2, rel=1e-13)
    assert run.drift["energy"].driven


def test_a_spring_without_natural_length_goes_through_its_own_end():
    body = free(position=(0.4, 0.0))
    run = moved([Spring("spring", GROUND.point(0, 0), body.centre, 50.0, 0.0)], [body], until=2.0)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run["body_x"] == pytest.approx(0.4 * np.cos(5.0 * run.times), abs=1e-12)


def test_a_spring_and_a_damper_in_space_move_two_bodies_about_their_centre():
    first = Body("first", 1.0, (1, 1, 1), position=(0, 0, 1.0))
    second = Body("second", 3.0, (1, 1, 1), position=(0, 0, 2.5))
    link = SpringDamper("link", first.centre, second.centre, 12.0, 1.5, 1.0)
    run = moved([link], [first, second], until=2.0)
    # The reduced mass is 3/4 kg: d'' + 2 d' + 16 d = 0 for the elongation.
    rate, frequency = 1.0, math.sqrt(15.0)
    phase = frequency * run.times
    swing = np.exp(-rate * run.times) * (np.cos(phase) + rate / frequency * np.sin(phase))
    assert run["second_z"] - run["first_z"] == pytest.approx(1.0 + 0.5 * swing, abs=1e-11)
    assert run["first_z"] + 3 * run["second_z"] == pytest.approx(8.5, abs=1e-12)
    assert run.drift["energy"].max_relative < 1e-12


def test_a_damper_slows_a_mass_exponentially():
    body = free(position=(1.0, 0.0), velocity=(2.0, 0.0))
    run = moved([Damper("oil", GROUND.point(0, 0), body.centre, 3.0)], [body])
    assert run["body_x_dot"] == pytest.approx(2.0 * np.exp(-1.5 * run.times), abs=1e-12)


def test_a_run_ends_where_the_ends_of_a_spring_meet():
    body = free(position=(0.5, 0.0), velocity=(-4.0, 0.0))
    run = moved([Spring("spring", GROUND.point(0, 0), body.centre, 1e-3, 1.0)], [body])
    assert run.outcome is ds.Outcome.DEGENERATE
    assert [event.name for event in run.events] == ["spring_met"]
    assert "the ends of 'spring' coincide" in run.message


@pytest.mark.parametrize("place", ["plane", pytest.param("space", marks=pytest.mark.slow)])
def test_a_torsion_spring_and_damper_swing_a_hinged_body(place):
    if place == "plane":
        body = free(angle=0.8)
        hinge = Revolute("hinge", GROUND.frame((0, 0)), body.frame((0, 0)))
        name = "body_angle"
    else:
        body = Body(
            "body", MASS, (1.0, 1.0, INERTIA), rotation=(math.cos(0.4), 0, 0, math.sin(0.4))
        )
        hinge = Revolute("hinge", GROUND.frame(), body.frame())
        name = "angle"
    parts = [hinge, TorsionSpring("coil", hinge, 8.0, rest=0.2), TorsionDamper("oil", hinge, 1.0)]
    mechanism = Mechanism([body], parts)
    run = ds.solve(
        mechanism.system(outputs={"angle": hinge.angle}), until=2.0, guess=mechanism.start
    )
    frequency = math.sqrt(15.0)
    phase = frequency * run.times
    swing = 0.6 * np.exp(-run.times) * (np.cos(phase) + np.sin(phase) / frequency)
    assert run[name] == pytest.approx(0.2 + swing, abs=1e-9)
    assert run["coil_torque"] == pytest.approx(-8.0 * swing, abs=1e-8)


@pytest.mark.slow
def test_a_torsion_spring_in_space_ends_the_run_where_it_is_wound_by_half_a_turn():
    body = Body("body", MASS, (1, 1, INERTIA), angular_velocity=(0, 0, 4.0))
    hinge = Revolute("hinge", GROUND.frame(), body.frame())
    run = moved([hinge, TorsionSpring("coil", hinge, 1e-6)], [body])
    assert [event.name for event in run.events] == ["coil_wound"]
    assert run.events[0].time == pytest.approx((math.pi - 1e-3) / 4.0, abs=1e-6)
    assert "wound by half a turn" in run.message


def test_a_start_where_the_ends_of_a_spring_meet_is_refused():
    body = free()
    with pytest.raises(DegenerateStartError, match="at the start the ends of 'spring' coincide"):
        moved([Spring("spring", GROUND.point(0, 0), body.centre, 1.0, 1.0)], [body])


@pytest.mark.parametrize("stiffness", [0.0, 8.0])
def test_a_damper_goes_through_its_own_end_but_does_not_start_there(stiffness):
    """Its line turns round there, and its force is continuous."""
    damping, start, speed = 1.0, 0.3, -2.0
    ends = GROUND.point(0, 0), free(position=(start, 0.0), velocity=(speed, 0.0))
    body = ends[1]
    run = moved([SpringDamper("s", ends[0], body.centre, stiffness, damping, 0.0)], [body])
    rate = damping / (2 * MASS)
    if stiffness:
        frequency = math.sqrt(stiffness / MASS - rate**2)
        phase = frequency * run.times
        share = (speed + rate * start) / frequency
        expected = np.exp(-rate * run.times) * (start * np.cos(phase) + share * np.sin(phase))
    else:
        expected = start + speed / (2 * rate) * (1 - np.exp(-2 * rate * run.times))
    assert run["body_x"] == pytest.approx(expected, abs=1e-12)
    assert run.events == ()
    there = free(velocity=(speed, 0.0))
    with pytest.raises(DegenerateStartError, match="its force has no direction"):
        moved([SpringDamper("s", ends[0], there.centre, stiffness, damping, 0.0)], [there])


def test_a_force_and_a_torque_accelerate_a_body_by_newton_and_euler():
    body = free()
    parts = [
        PointForce(body.point(0.5, 0.0), (0.0, 3.0 * ds.time)),
        Torque(body.frame((0, 0)), -1.0),
    ]
    run = moved(parts, [body], until=0.1)
    # At the start: y'' = 3 t / m, I angle'' = 1.5 t - 1.
    early = run.at(1e-3)
    assert early["body_angle_dot"] == pytest.approx((0.75e-6 - 1e-3) / INERTIA, abs=1e-14)
    assert early["body_y_dot"] == pytest.approx(1.5e-6 / MASS, rel=1e-12)


def test_a_torque_in_space_is_reported_in_axes_of_space():
    half = math.sqrt(0.5)
    body = Body("body", 1.0, (0.2, 0.3, 0.4), rotation=(half, half, 0, 0))
    run = moved([Torque(body.frame(), (0.0, 0.0, 0.6))], [body], until=0.5)
    # Turned by a quarter about x, the body has its second axis along z.
    assert run["body_w2"] == pytest.approx(2.0 * run.times, abs=1e-13)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda b: Spring("two words", GROUND.point(0, 0), b.centre, 1.0, 1.0), "must be a word"),
        (lambda b: Spring("s", GROUND.point(0, 0), GROUND.point(1, 0), 1.0, 1.0), "with itself"),
        (lambda b: Spring("s", b.centre, b.point(1, 0), 1.0, 1.0), "joins 'body' with itself"),
        (lambda b: Spring("s", GROUND.point(0, 0, 0), b.centre, 1.0, 1.0), "one in space"),
        (lambda b: Spring("s", b, b.centre, 1.0, 1.0), "must connect points of bodies"),
        (lambda b: TorsionSpring("s", b, 1.0), "needs a joint with an angle"),
        (lambda b: PointForce(GROUND.point(0, 0), (1, 0)), "must act on a point of a body"),
        (lambda b: PointForce(b.centre, (1, 0, 0)), "a force has 2 coordinates"),
        (lambda b: Torque(b.centre, 1.0), "must act on a frame of a body"),
    ],
)
def test_loads_that_have_no_meaning_are_refused(make, sentence):
    with pytest.raises(PosingError, match=sentence):
        make(free())


@pytest.mark.parametrize(("stiffness", "length"), [(-1.0, 1.0), (1.0, -1.0), (math.inf, 1.0)])
def test_numbers_that_cannot_be_are_refused(stiffness, length):
    with pytest.raises(OutOfRangeError, match="of the Spring 's' is"):
        Spring("s", GROUND.point(0, 0), free().centre, stiffness, length)


def test_a_torsion_spring_needs_a_joint_that_turns():
    body = free()
    slider = Prismatic("slider", GROUND.frame((0, 0)), body.frame((0, 0)))
    with pytest.raises(PosingError, match="needs a joint with"):
        TorsionSpring("s", slider, 1.0)
