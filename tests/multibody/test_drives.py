"""Motors, actuators and gears: torques, reactions of prescribed motions, rates at their ratio."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.drives import Actuator, Belt, Gear, Motor, RackAndPinion
from daesolve.multibody.joints import Fixed, Prismatic, Revolute
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND, quaternion

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
    assert not run.events
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


@pytest.mark.slow
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
        (lambda axle, rail: Motor("my motor", axle, torque=1.0), "must be a word"),
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


@pytest.mark.slow
def test_wheels_mesh_as_they_are_placed_and_their_angles_are_wrapped():
    """At a ratio that is a whole number: after whole turns the teeth stand as before."""
    mechanism = wheels(in_space=False, ratio=-3.0, angle=1.1)
    run = ds.solve(mechanism.system(), until=20.0, initial=mechanism.start, solver=ds.Dop853())
    assert run["one_angle"][-1] == pytest.approx(1.1 + SPIN * 20.0, abs=1e-10)
    assert run["other_angle"][-1] == pytest.approx(0.4 - SPIN * 20.0 / 3.0, abs=1e-10)
    assert not [note for note in run.description["notes"] if "not wrapped" in note]


@pytest.mark.default_rows(1)
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
        (lambda: Gear("g", HINGE, BODY, 2.0), "must connect revolute or prismatic joints"),
        (lambda: Gear("g", FLAT_HINGE, SECOND, 0.0), "is 0.0, but must be"),
        (lambda: Gear("g", FLAT_HINGE, SECOND, float("nan")), "is nan, but must be"),
    ],
)
def test_what_meshes_with_nothing_is_refused_in_a_sentence(posed, message):
    with pytest.raises((PosingError, OutOfRangeError), match=message):
        posed()


HAND = PlanarBody("hand", 1.0, 1.0)
WRIST = Revolute("wrist", FLAT.frame((1.0, 0.0)), HAND.frame())


# -- racks and belts ------------------------------------------------------------------------------


def rack_and_pinion(in_space, radius=0.2):
    """A pinion of 0.3 kg m^2 under a torque, and a rack of 2 kg, from half a turn on."""
    extra = (0.0,) * in_space
    if in_space:
        pinion = Body("pinion", 1.0, (1, 1, 0.3), rotation=quaternion((0, 0, 1), 1.1))
        rack = Body("rack", 2.0, (1, 1, 1), position=(0.4, -0.2, 0.0))
    else:
        pinion = PlanarBody("pinion", 1.0, 0.3, angle=1.1)
        rack = PlanarBody("rack", 2.0, 1.0, position=(0.4, -0.2))
    axle = Revolute("axle", GROUND.frame((0.0, 0.0, *extra)), pinion.frame())
    rail = Prismatic("rail", GROUND.frame((0.0, -0.2, *extra)), rack.frame())
    mesh = RackAndPinion("mesh", axle, rail, radius)
    return Mechanism([pinion, rack], [axle, rail, mesh, Motor("motor", axle, torque=5.0)])


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("in_space", [False, True])
def test_a_pinion_drives_its_rack_through_many_turns_in_closed_form(in_space):
    """(I + m r^2) a'' = M, and the rack goes by r a: the force on it is m r a''."""
    mechanism = rack_and_pinion(in_space)
    run = ds.solve(mechanism.system(), 2.0, guess=mechanism.start, solver=ds.Dop853(), at=[2.0])
    turning = 5.0 / (0.3 + 2.0 * 0.2**2)
    assert turning * 2.0 > 2 * 2 * math.pi
    assert run["rack_x"][-1] == pytest.approx(0.4 + 0.2 * turning * 2.0, abs=1e-9)
    # Errors of 1e-11 m in the residual, times the rate of the feedback squared and the mass.
    assert run["mesh"][-1] == pytest.approx(2.0 * 0.2 * turning, abs=1e-11 * 10**2 * 2.0 * 10)


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize("in_space", [False, True])
@pytest.mark.parametrize("crossed", [False, True])
def test_a_belt_is_a_gear_whose_ratio_is_that_of_its_radii(in_space, crossed):
    """And its reaction, over the radius, is the torque of the gear."""
    found = []
    for belt in (True, False):
        ratio = (-1 if crossed else 1) * 0.5 / 0.2
        one, other, axles = pulleys(in_space, ratio)
        part = (
            Belt("belt", *axles, (0.2, 0.5), crossed=crossed)
            if belt
            else Gear("belt", *axles, ratio)
        )
        parts = [*axles, part, Motor("motor", axles[1], torque=0.7)]
        mechanism = Mechanism([one, other], parts)
        run = ds.solve(mechanism.system(), 1.0, guess=mechanism.start, solver=ds.Dop853())
        rates = [f"{name}_{'w3' if in_space else 'angle_dot'}" for name in ("one", "other")]
        found.append([*(run[rate][-1] for rate in rates), run["belt"][-1] * (0.2 if belt else 1)])
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def pulleys(in_space, ratio):
    extra = (0.0,) * in_space
    if in_space:
        one = Body("one", 1.0, (1, 1, 0.3), angular_velocity=(0, 0, SPIN))
        other = Body("other", 1.0, (1, 1, 2.0), position=(1, 0, 0),
                     angular_velocity=(0, 0, SPIN / ratio))  # fmt: skip
    else:
        one = PlanarBody("one", 1.0, 0.3, rate=SPIN)
        other = PlanarBody("other", 1.0, 2.0, position=(1, 0), rate=SPIN / ratio)
    axles = (
        Revolute("axle_1", GROUND.frame((0.0, 0.0, *extra)), one.frame()),
        Revolute("axle_2", GROUND.frame((1.0, 0.0, *extra)), other.frame()),
    )
    return one, other, axles


@pytest.mark.slow
@pytest.mark.slow_rows("None")
@pytest.mark.parametrize("stiffness", [None, 1e4])
def test_a_belt_about_the_pivot_of_an_arm_ties_turns_against_the_arm(stiffness):
    """With a pulley held to the ground, that of equal radius at the end keeps its direction."""
    arm = PlanarBody("arm", 1.0, 0.2, position=(0.5, 0.0), velocity=(0.0, 1.0), rate=2.0)
    still = PlanarBody("still", 1.0, 0.1)
    hand = PlanarBody("hand", 1.0, 0.1, position=(1.0, 0.0), velocity=(0.0, 2.0))
    joints = [
        Revolute("pivot", GROUND.frame((0.0, 0.0)), arm.frame((-0.5, 0.0))),
        Fixed("held", GROUND.frame((0.0, 0.0)), still.frame()),
        Revolute("wrist", arm.frame((0.5, 0.0)), hand.frame()),
    ]
    told = Revolute("told", arm.frame((-0.5, 0.0)), still.frame())
    belt = Belt(
        "belt", told, joints[2], (0.1, 0.1), stiffness=stiffness, pretension=5.0 * bool(stiffness)
    )
    mechanism = Mechanism([arm, still, hand], [*joints, belt])
    run = ds.solve(mechanism.system(), 1.5, guess=mechanism.start)
    assert run["arm_angle"][-1] == pytest.approx(3.0, abs=1e-10)
    assert run["hand_angle"] == pytest.approx(0.0, abs=1e-10)


def test_an_elastic_belt_lets_its_pulleys_swing_against_each_other_in_closed_form():
    """Masses I / r^2 at the rims, with springs of 2 k and dampers of 2 c between them."""
    _, other, axles = pulleys(False, 2.5)
    first = PlanarBody("one", 1.0, 0.3, rate=SPIN + 1.0)
    axles = (Revolute("axle_1", GROUND.frame((0.0, 0.0)), first.frame()), axles[1])
    belt = Belt("belt", *axles, (0.2, 0.5), stiffness=100.0, damping=1.0, pretension=50.0)
    mechanism = Mechanism([first, other], [*axles, belt])
    run = ds.solve(mechanism.system(), 2.0, guess=mechanism.start)
    masses = 0.3 / 0.2**2, 2.0 / 0.5**2
    mass = masses[0] * masses[1] / sum(masses)
    rate = 2 * 1.0 / (2 * mass)
    frequency = math.sqrt(2 * 100.0 / mass - rate**2)
    # The rim of the first is 0.2 m/s quicker at the start.
    expected = -0.2 / frequency * np.exp(-rate * run.times) * np.sin(frequency * run.times)
    assert run["belt_stretch"] == pytest.approx(expected, abs=1e-13)
    assert run["belt_tension_1"] + run["belt_tension_2"] == pytest.approx(100.0, abs=1e-11)
    assert np.min(run["belt_tension_1"]) > 0.0
    assert run["belt_work"][-1] == pytest.approx(run["energy"][-1] - run["energy"][0], abs=1e-11)


def test_of_a_slack_belt_one_strand_pulls_alone():
    """Without pretension: half the stiffness, so 1 / sqrt 2 of the frequency; energy is kept."""
    _, other, axles = pulleys(False, 2.5)
    first = PlanarBody("one", 1.0, 0.3, rate=SPIN + 1.0)
    axles = (Revolute("axle_1", GROUND.frame((0.0, 0.0)), first.frame()), axles[1])
    belt = Belt("belt", *axles, (0.2, 0.5), stiffness=100.0)
    mechanism = Mechanism([first, other], [*axles, belt])
    run = ds.solve(mechanism.system(), 2.0, guess=mechanism.start)
    masses = 0.3 / 0.2**2, 2.0 / 0.5**2
    frequency = math.sqrt(100.0 * sum(masses) / (masses[0] * masses[1]))
    expected = -0.2 / frequency * np.sin(frequency * run.times)
    assert run["belt_stretch"] == pytest.approx(expected, abs=1e-12)
    assert np.min(run["belt_tension_1"]) == 0.0


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda a, r: RackAndPinion("m", r, r, 0.1), PosingError, "pinion of .* revolute joint"),
        (lambda a, r: RackAndPinion("m", a, a, 0.1), PosingError, "rack of .* prismatic joint"),
        (lambda a, r: RackAndPinion("m", a, r, 0.0), OutOfRangeError, "radius of .* is 0"),
        (lambda a, r: RackAndPinion("a b", a, r, 0.1), PosingError, "must be a word"),
        (lambda a, r: Belt("b", a, r, (1, 1)), PosingError, "pulleys on revolute joints"),
        (lambda a, r: Belt("b", a, a, (1, 1)), PosingError, "twice"),
        (lambda a, r: Belt("b", a, rotor()[1], (1, 0)), OutOfRangeError, "must be > 0"),
        (lambda a, r: Belt("b", a, WRIST, (1, 1)), PosingError, "against 'ground' and 'flat'"),
        (lambda a, r: Belt("b", a, rotor()[1], (1, 1), "no"), PosingError, "True or False"),
        (lambda a, r: RackAndPinion("m", WRIST, r, 0.1), PosingError, "no body in common"),
        (lambda a, r: Belt("b", a, rotor()[1], 0.5), PosingError, "needs two radii"),
        (
            lambda a, r: Belt("b", a, rotor()[1], (1, 1), pretension=2.0),
            PosingError,
            "elastic belt",
        ),
    ],
)
def test_racks_and_belts_that_have_no_meaning_are_refused(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make(rotor()[1], slider()[1])
