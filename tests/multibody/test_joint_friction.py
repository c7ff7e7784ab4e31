"""Dry friction in joints: brakes, slots and bushes in closed form; what is refused."""

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError, UnsupportedError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.friction_laws import Coulomb, RegularisedCoulomb
from daesolve.multibody.joint_friction import JointFriction
from daesolve.multibody.joints import Prismatic, Revolute, Slot, Spherical
from daesolve.multibody.loads import PointForce, Torque
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.painleve import friction_margin
from daesolve.multibody.places import GROUND
from tests.reference.rubbing import CrankAndSlider

MASS, INERTIA = 2.0, 0.5


def rotor(**start):
    body = PlanarBody("rotor", MASS, INERTIA, **start)
    return body, Revolute("axle", GROUND.frame((0, 0)), body.frame((0, 0)))


def moved(body, parts, until=2.0):
    mechanism = Mechanism([body], parts)
    return ds.solve(mechanism.system(), until=until, guess=mechanism.start)


def test_a_brake_stops_a_rotor_and_holds_it():
    body, axle = rotor(rate=-6.0)
    brake = JointFriction("brake", axle, Coulomb(0.4), preload=5.0)
    run = moved(body, [axle, brake])
    stops = 6.0 * INERTIA / (0.4 * 5.0)
    assert [event.name for event in run.events] == ["brake_sticks"]
    assert run.events[0].time == pytest.approx(stops, abs=1e-13)
    assert run["rotor_angle"][-1] == pytest.approx(-6.0 * stops / 2, abs=1e-12)
    assert run["rotor_angle_dot"][-1] == pytest.approx(0.0, abs=1e-14)
    assert run["brake_friction"][0] == pytest.approx(2.0, rel=1e-14)
    assert run["brake_friction_work"][-1] == pytest.approx(-INERTIA * 36.0 / 2, rel=1e-12)


def test_a_brake_lets_go_where_the_torque_reaches_its_static_limit():
    body, axle = rotor()
    brake = JointFriction("brake", axle, Coulomb(0.4, 0.6), preload=5.0)
    run = moved(body, [axle, brake, Torque(body.frame((0, 0)), 4.0 * ds.time)])
    assert [event.name for event in run.events] == ["brake_slips"]
    begins = 3.0 / 4.0
    assert run.events[0].time == pytest.approx(begins, abs=1e-14)
    rate = (2.0 * (4.0 - begins**2) - 2.0 * (2.0 - begins)) / INERTIA
    assert run["rotor_angle_dot"][-1] == pytest.approx(rate, rel=1e-13)


@pytest.mark.slow
def test_a_hinge_in_space_creeps_below_the_regularised_limit():
    body = Body("rotor", MASS, (1.0, 1.0, INERTIA), angular_velocity=(0, 0, 0.05))
    axle = Revolute("axle", GROUND.frame(), body.frame())
    law = RegularisedCoulomb(0.4, 0.1)
    run = moved(body, [axle, JointFriction("brake", axle, law, preload=5.0)], until=0.2)
    decay = 0.4 * 5.0 / 0.1 / INERTIA
    assert run["rotor_w3"] == pytest.approx(0.05 * np.exp(-decay * run.times), abs=1e-13)


def test_a_pin_rubs_on_both_sides_of_its_slot_in_turn():
    body = PlanarBody("pin", MASS, INERTIA, velocity=(3.0, 0.0))
    slot = Slot("slot", GROUND.frame((0, 0)), body.centre)
    law = Coulomb(0.25)
    push = PointForce(body.centre, (0.0, 8.0 * ca.cos(3 * ds.time)))
    run = moved(body, [slot, push, JointFriction("rub", slot, law)], until=1.9)
    turns = [math.pi / 6 * k for k in (1, 3)]
    assert [event.name for event in run.events] == ["rub_side", "rub_side"]
    assert [event.time for event in run.events] == pytest.approx(turns, abs=1e-13)
    # v' = -mu |N| / m, and |cos 3t| comes to 1/3 + 2/3 up to the second zero; then it grows.
    pressed = 1.0 + (math.sin(3 * 1.9) + 1.0) / 3.0
    speed = 3.0 - 0.25 * 8.0 / MASS * pressed
    assert run["pin_x_dot"][-1] == pytest.approx(speed, abs=1e-12)


def drawer(lever, law):
    """A drawer that is drawn by 10 N, `lever` beside the middle of its bush of 0.4 m."""
    body = PlanarBody("drawer", MASS, INERTIA)
    rail = Prismatic("rail", GROUND.frame((0, 0)), body.frame((0, 0)))
    drawn = PointForce(body.point(0.0, lever), (10.0, 0.0))
    return body, [rail, drawn, JointFriction("rub", rail, law, bush=0.4)]


@pytest.mark.parametrize("lever", [0.3, pytest.param(-0.3, marks=pytest.mark.slow)])
def test_a_drawer_that_is_drawn_beside_its_middle_rubs_at_both_ends(lever):
    run = moved(*drawer(lever, Coulomb(0.5)), until=1.0)
    # Forces of 10 * 0.3 / 0.4 N at both ends.
    expected = 10.0 * (1 - 2 * 0.5 * 0.3 / 0.4) / MASS
    assert run["drawer_x_dot"][-1] == pytest.approx(expected, rel=1e-13)


def test_a_drawer_locks_where_the_lever_is_long():
    run = moved(*drawer(0.3, Coulomb(0.7)), until=1.0)
    assert run["drawer_x_dot"][-1] == pytest.approx(0.0, abs=1e-14)
    assert run["rub_friction"][-1] == pytest.approx(-10.0, rel=1e-13)


def test_a_bush_beside_the_mass_centre_jams_at_the_friction_of_the_closed_form():
    offset, length, coefficient = 0.3, 0.4, 0.2
    body = PlanarBody("block", MASS, INERTIA, velocity=(1.0, 0.0))
    rail = Prismatic("rail", GROUND.frame((0, 0)), body.frame((0, -offset)))
    rubs = JointFriction("rub", rail, RegularisedCoulomb(coefficient, 1e-3), bush=length)
    system = Mechanism([body], [rail, rubs]).system()
    # Friction f at the bush asks for the torque f * offset, which presses with 2 f offset / length.
    amplified = length / (2 * offset * coefficient)
    margins = [
        friction_margin(
            system,
            {"block_y": offset, "block_x_dot": 1.0},
            parameters={"side_rub_1": side, "side_rub_2": -side},
        )
        for side in (1.0, -1.0)
    ]
    assert sorted(margins) == pytest.approx([amplified, math.inf], rel=1e-12)


@pytest.mark.parametrize(
    ("coefficient", "locks"), [pytest.param(0.65, False, marks=pytest.mark.slow), (0.68, True)]
)
def test_a_block_that_stops_locks_where_its_bush_bears_more_than_pushes_it(coefficient, locks):
    # 5 N at the mass centre ask for 5 N at the bush, which bears 2 * mu * 5 * 0.3 / 0.4 N.
    body = PlanarBody("block", MASS, INERTIA, position=(0.0, 0.3), velocity=(1.0, 0.0))
    rail = Prismatic("rail", GROUND.frame((0, 0)), body.frame((0, -0.3)))
    rubs = JointFriction("rub", rail, Coulomb(coefficient), bush=0.4)
    run = moved(body, [rail, rubs, PointForce(body.centre, (-5.0, 0.0))], until=1.0)
    # While it slides nothing presses, so that nothing rubs: 2.5 m/s^2.
    assert run.events[0].time == pytest.approx(0.4, abs=1e-13)
    assert run["block_x_dot"][-1] == pytest.approx(0.0 if locks else -1.5, abs=1e-13)


@pytest.mark.slow
def test_a_crank_takes_its_slider_over_the_dead_centres_against_dry_friction():
    rubs, begins, rate = 0.5, 0.5, 20.0
    linkage = CrankAndSlider(radius=0.2, length=0.6, inertias=(0.01, 0.05))
    radius, length, reach = linkage.radius, linkage.length, linkage.reach
    pin = radius * math.cos(begins), radius * math.sin(begins)
    end, tilt = reach(begins), -math.asin(pin[1] / length)
    crank = PlanarBody("crank", 1.0, 0.01, position=(pin[0] / 2, pin[1] / 2), angle=begins)
    rod = PlanarBody("rod", 1.0, 0.05, position=((pin[0] + end) / 2, pin[1] / 2), angle=tilt)
    slider = PlanarBody("slider", 1.0, 1.0, position=(end, 0.0))
    slide = Prismatic("slide", GROUND.frame((0, 0)), slider.frame((0, 0)))
    parts = [
        Revolute("axle", GROUND.frame((0, 0)), crank.frame((-radius / 2, 0))),
        Revolute("pin", crank.frame((radius / 2, 0)), rod.frame((-length / 2, 0))),
        Revolute("bolt", rod.frame((length / 2, 0)), slider.frame((0, 0))),
        slide,
        JointFriction("rub", slide, Coulomb(0.1), preload=rubs / 0.1),
    ]
    mechanism = Mechanism([crank, rod, slider], parts)
    kept = {"crank_angle": begins, "crank_angle_dot": rate}
    run = ds.solve(mechanism.system(), until=0.5, initial=kept, guess=mechanism.start)
    angle, end = run.end_state["crank_angle"], run.end_state["crank_angle_dot"]
    centres = int(angle // math.pi)
    assert centres > 2
    # Each dead centre turns the slip round.
    assert [event.name for event in run.events] == ["rub_sticks", "rub_slips"] * centres
    # What is lost is the friction times the way of the slider.
    last = reach(centres * math.pi)
    way = reach(begins) - reach(math.pi) + 2 * radius * (centres - 1) + abs(reach(angle) - last)
    expected = linkage.energy(begins, rate) - rubs * way
    assert linkage.energy(angle, end) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda law: (rotor()[1], law, {}), UnsupportedError, "has an unknown direction"),
        (lambda law: (in_space(), law, {"bush": 1.0}), UnsupportedError, "give a preload"),
        (lambda law: (rotor()[1], law, {"preload": -1.0}), OutOfRangeError, "must be >= 0"),
        (lambda law: (rotor()[1], 0.3, {"preload": 1.0}), PosingError, "needs a law of friction"),
        (lambda law: (rail(), law, {}), PosingError, "needs the length of a bush"),
        (lambda law: (rail(), law, {"bush": 0.0}), OutOfRangeError, "must be > 0"),
        (lambda law: (rail(), law, {"bush": 1.0, "preload": 1.0}), PosingError, "only then"),
        (lambda law: (ball(), law, {"preload": 1.0}), PosingError, "turns or slides"),
    ],
)
def test_friction_that_has_no_meaning_is_refused(make, error, sentence):
    joint, law, options = make(Coulomb(0.3))
    with pytest.raises(error, match=sentence):
        JointFriction("rub", joint, law, **options)


def rail():
    return Prismatic("rail", GROUND.frame((0, 0)), PlanarBody("b", 1.0, 1.0).frame((0, 0)))


def in_space():
    return Prismatic("rail", GROUND.frame(), Body("b", 1.0, (1, 1, 1)).frame())


def ball():
    return Spherical("ball", GROUND.point(0, 0, 0), Body("b", 1.0, (1, 1, 1)).centre)
