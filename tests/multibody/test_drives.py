"""Motors, actuators and gears: torques, reactions of prescribed motions, rates at their ratio."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.drives import Actuator, Gear, Motor
from daesolve.multibody.joints import Prismatic, Revolute
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND

from .placing import accelerations, numbers

MASS, INERTIA = 2.0, 0.5


def rotor():
    body = PlanarBody("rotor", MASS, INERTIA)
    return body, Revolute("axle", GROUND.frame((0, 0)), body.frame((0, 0)))


def slider():
    body = PlanarBody("slider", MASS, INERTIA)
    return body, Prismatic("rail", GROUND.frame((0, 0)), body.frame((0, 0)))


def moved(body, joint, drive, until=2.0):
    # A system needs a motion of its own: another body is free.
    further = type(body)("free", 1.0, 1.0 if joint.planar else (1.0, 1.0, 1.0))
    mechanism = Mechanism([body, further], [joint, drive])
    return ds.solve(mechanism.system(), until=until, guess=mechanism.start)


def test_a_torque_turns_a_rotor_and_its_work_is_the_kinetic_energy():
    body, axle = rotor()
    run = moved(body, axle, Motor("motor", axle, torque=ca.sin(ds.time)))
    rate = (1.0 - np.cos(run.times)) / INERTIA
    assert run["rotor_angle_dot"] == pytest.approx(rate, abs=1e-13)
    assert run["motor_torque"] == pytest.approx(np.sin(run.times), abs=1e-15)
    assert run["motor_work"] == pytest.approx(INERTIA * rate**2 / 2, abs=1e-13)


@pytest.mark.parametrize("way", ["speed", "angle"])
def test_the_reaction_of_a_prescribed_turn_is_the_torque(way):
    body, axle = rotor()
    prescribed = {"speed": 3 * ds.time**2} if way == "speed" else {"angle": ds.time**3}
    run = moved(body, axle, Motor("motor", axle, **prescribed), until=3.0)
    # Far beyond one turn.
    assert run["rotor_angle"][-1] == pytest.approx(27.0, abs=1e-11)
    assert run["motor"] == pytest.approx(6.0 * INERTIA * run.times, abs=1e-10)
    work = INERTIA * (3 * run.times**2) ** 2 / 2
    assert run["motor_work"] == pytest.approx(work, rel=1e-11, abs=1e-11)


@pytest.mark.slow
def test_a_prescribed_angle_in_space_goes_round():
    body = Body("rotor", MASS, (1.0, 1.0, INERTIA))
    axle = Revolute("axle", GROUND.frame(), body.frame())
    run = moved(body, axle, Motor("motor", axle, angle=5 * ds.time), until=2.0)
    assert run["rotor_w3"] == pytest.approx(5.0, abs=1e-11)
    half = 5.0 * run.times / 2
    cosine = run["rotor_q0"] * np.cos(half) + run["rotor_q3"] * np.sin(half)
    assert np.abs(cosine) == pytest.approx(1.0, abs=1e-11)


def test_an_actuator_pushes_a_slider_by_force_speed_or_displacement():
    ends = {}
    for way, given in {
        "force": 6 * MASS * ds.time,
        "speed": 3 * ds.time**2,
        "displacement": ds.time**3,
    }.items():
        body, rail = slider()
        ends[way] = moved(body, rail, Actuator("drive", rail, **{way: given}), until=1.5)
        assert ends[way]["slider_x"] == pytest.approx(ends[way].times ** 3, abs=1e-12)
    assert ends["speed"]["drive"] == pytest.approx(ends["force"]["drive_force"], abs=1e-10)
    assert ends["displacement"]["drive"] == pytest.approx(ends["force"]["drive_force"], abs=1e-10)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda axle, rail: Motor("motor", axle), "one of torque, speed, angle, not none"),
        (
            lambda axle, rail: Motor("motor", axle, torque=1.0, speed=1.0),
            "not torque and speed",
        ),
        (lambda axle, rail: Motor("motor", rail, torque=1.0), "needs a joint with a rate"),
        (lambda axle, rail: Actuator("drive", axle, force=1.0), "with a displacement"),
        (lambda axle, rail: Motor("my motor", axle, torque=1.0), "is a word"),
        (lambda axle, rail: Motor("motor", axle, torque=math), "must be a CasADi SX"),
    ],
)
def test_drives_that_have_no_meaning_are_refused(make, sentence):
    with pytest.raises(PosingError, match=sentence):
        make(rotor()[1], slider()[1])


RATIO, TORQUE, SPIN = -2.5, 0.7, 4.0


def wheels(in_space, ratio=RATIO, **start):
    """Two wheels of 0.3 and 2 kg m^2 on the ground."""
    extra = (0.0,) * in_space
    if in_space:
        one = Body("one", 1.0, (1.0, 1.0, 0.3), angular_velocity=(0, 0, SPIN))
        other = Body("other", 1.0, (1.0, 1.0, 2.0), position=(1, 0, 0),
                     angular_velocity=(0, 0, SPIN / ratio))  # fmt: skip
    else:
        one = PlanarBody("one", 1.0, 0.3, rate=SPIN, **start)
        other = PlanarBody("other", 1.0, 2.0, position=(1, 0), angle=0.4, rate=SPIN / ratio)
    axles = [
        Revolute("axle_1", GROUND.frame((0.0, 0.0, *extra)), one.frame()),
        Revolute("axle_2", GROUND.frame((1.0, 0.0, *extra)), other.frame()),
    ]
    return Mechanism([one, other], [*axles, Gear("gear", *axles, ratio)])


@pytest.mark.parametrize(
    ("in_space", "rates"),
    [(True, ("one_w3", "other_w3")), (False, ("one_angle_dot", "other_angle_dot"))],
)
def test_wheels_turn_at_their_ratio_with_the_inertia_of_both(in_space, rates):
    found, reactions = accelerations(wheels(in_space), force={rates[0]: TORQUE})
    turn = TORQUE / (0.3 + 2.0 / RATIO**2)
    assert found[rates[0]] == pytest.approx(turn, rel=1e-13)
    assert found[rates[1]] == pytest.approx(turn / RATIO, rel=1e-13)
    assert reactions["gear"] == pytest.approx(0.3 * turn - TORQUE, rel=1e-12)


@pytest.mark.parametrize(("in_space", "kind"), [(True, "nonholonomic"), (False, "holonomic")])
def test_a_gear_holds_angles_in_the_plane_and_rates_in_space(in_space, kind):
    mechanism = wheels(in_space)
    dynamics, state, p = numbers(mechanism.system(), mechanism.start)
    assert dynamics.rows[-1].kind == kind
    parts = dynamics.matrices(0.0, state, p)
    moving = state[dynamics.position_count :]
    np.testing.assert_allclose(parts["jacobian"] @ moving, 0.0, atol=1e-14)


def test_wheels_mesh_as_they_are_placed_and_their_angles_are_wrapped():
    """At a ratio that is a whole number: after whole turns the teeth stand as before."""
    mechanism = wheels(in_space=False, ratio=-3.0, angle=1.1)
    run = ds.solve(mechanism.system(), until=20.0, initial=mechanism.start, solver=ds.Dop853())
    assert run["one_angle"][-1] == pytest.approx(1.1 + SPIN * 20.0, abs=1e-10)
    assert run["other_angle"][-1] == pytest.approx(0.4 - SPIN * 20.0 / 3.0, abs=1e-10)
    assert not [note for note in run.description["notes"] if "not wrapped" in note]


@pytest.mark.parametrize("in_space", [True, False])
def test_a_rack_is_pushed_by_its_pinion(in_space):
    radius, extra = 0.2, (0.0,) * in_space
    if in_space:
        pinion = Body("pinion", 1.0, (1.0, 1.0, 0.3), angular_velocity=(0, 0, SPIN))
        rack = Body("rack", 5.0, (1.0, 1.0, 2.0), velocity=(radius * SPIN, 0, 0))
    else:
        pinion = PlanarBody("pinion", 1.0, 0.3, rate=SPIN)
        rack = PlanarBody("rack", 5.0, 2.0, velocity=(radius * SPIN, 0))
    ground = GROUND.frame((0.0, 0.0, *extra))
    axle, rail = Revolute("axle", ground, pinion.frame()), Prismatic("rail", ground, rack.frame())
    turn = TORQUE / (0.3 + 5.0 * radius**2)
    rate = "pinion_w3" if in_space else "pinion_angle_dot"
    for gear, force in (
        (Gear("gear", axle, rail, 1 / radius), -5.0 * radius**2 * turn),
        (Gear("gear", rail, axle, radius), 5.0 * radius * turn),
    ):
        mechanism = Mechanism([pinion, rack], [axle, rail, gear])
        found, reactions = accelerations(mechanism, force={rate: TORQUE})
        assert found[rate] == pytest.approx(turn, rel=1e-13)
        assert found["rack_x_dot"] == pytest.approx(radius * turn, rel=1e-13)
        assert reactions["gear"] == pytest.approx(force, rel=1e-12)


BODY, FLAT = Body("body", 1.0, (0.2, 0.3, 0.4)), PlanarBody("flat", 1.0, 0.1)
HINGE = Revolute("hinge", GROUND.frame(), BODY.frame())
FLAT_HINGE = Revolute("flat_hinge", GROUND.frame((0.0, 0.0)), FLAT.frame())
SECOND = Revolute("second", GROUND.frame((0.0, 0.0)), FLAT.frame((1.0, 0.0)))


@pytest.mark.parametrize(
    ("posed", "message"),
    [
        (lambda: Gear("a gear", FLAT_HINGE, SECOND, 2.0), "word, not 'a gear'"),
        (lambda: Gear("g", HINGE, HINGE, 2.0), "'hinge' to itself"),
        (lambda: Gear("g", HINGE, FLAT_HINGE, 2.0), "in the plane to one in space"),
        (lambda: Gear("g", HINGE, BODY, 2.0), "ties revolute or prismatic joints"),
        (lambda: Gear("g", FLAT_HINGE, SECOND, 0.0), "is 0, but must be"),
        (lambda: Gear("g", FLAT_HINGE, SECOND, float("nan")), "is nan, but must be"),
    ],
)
def test_what_meshes_with_nothing_is_refused_in_a_sentence(posed, message):
    with pytest.raises((PosingError, OutOfRangeError), match=message):
        posed()
