"""Motors and actuators: torques, and the reactions of prescribed motions."""

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import PosingError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.joints import Prismatic, Revolute
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.motors import Actuator, Motor
from daesolve.multibody.places import GROUND

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
