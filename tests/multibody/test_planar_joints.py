"""Joints in the plane: what they hold, and motions in minimal coordinates and closed forms."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.classics.slider_crank import bodies
from daesolve_problems.classics.slider_crank import start as closed_loop
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.equations.consistency import instantaneous
from daesolve.errors import InconsistentStateError
from daesolve.multibody.bodies import PlanarBody
from daesolve.multibody.joints import Distance, Fixed, Prismatic, Revolute, Slot
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND
from tests.reference.multibody_motions import GRAVITY, double_pendulum

from .placing import accelerations, numbers

SOLVER = ds.Dop853(rtol=1e-12)
FALL = (0.0, -GRAVITY)
ORIGIN = GROUND.frame((0.0, 0.0))

# The second frame is turned and shifted in the first one's axes by random amounts a, b; a joint
# holds velocities of its origin in axes of the plane (v) or of the first frame (v_k), along the
# way from the first (d), or the rate of turn (w).
HELD = {
    "revolute": (lambda f, s: Revolute("j", f, s), lambda a, b: (a, (0, 0)), ["vx", "vy"]),
    "prismatic": (lambda f, s: Prismatic("j", f, s), lambda a, b: (0, (a, 0)), ["v1", "w"]),
    "prismatic_y": (
        lambda f, s: Prismatic("j", f, s, axis=1), lambda a, b: (0, (0, a)), ["v0", "w"],
    ),
    "fixed": (lambda f, s: Fixed("j", f, s), lambda a, b: (0, (0, 0)), ["vx", "vy", "w"]),
    "slot": (lambda f, s: Slot("j", f, s), lambda a, b: (a, (b, 0)), ["v1"]),
    "distance": (
        lambda f, s: Distance("j", f, s, 0.8),
        lambda a, b: (a, (0.8 * np.cos(b), 0.8 * np.sin(b))), ["d"],
    ),
}  # fmt: skip


def turned(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize("kind", HELD)
@settings(derandomize=True, max_examples=4, deadline=None)
@given(st.lists(st.floats(-3.0, 3.0), min_size=8, max_size=8).map(np.array))
def test_each_row_holds_one_component_of_the_relative_velocity(kind, given_numbers):
    joint_of, motion, held = HELD[kind]
    origin, place, (angle, own_angle) = given_numbers[:2], given_numbers[2:4], given_numbers[4:6]
    turn, shift = motion(*given_numbers[6:])
    axes = turned(angle)
    whole = angle + turn - own_angle
    arm = turned(whole) @ place
    body = PlanarBody("b", 1.3, 0.2, origin + axes @ shift - arm, whole)
    joint = joint_of(GROUND.frame(origin, angle=angle), body.frame(place, own_angle))
    residuals = ca.vertcat(*[goal.residual for goal in joint.goals])
    q = body.coordinates.vector
    function = ca.Function("rows", [q], [residuals, ca.densify(ca.jacobian(residuals, q))])
    residual, jacobian = function([float(body.start[name]) for name in body.coordinates.names])
    np.testing.assert_allclose(residual, 0.0, atol=1e-13)
    of_point = np.array([[1, 0, -arm[1]], [0, 1, arm[0]]])
    rows = {"vx": of_point[0], "vy": of_point[1], "w": np.array([0, 0, 1])}
    rows |= {f"v{k}": axes[:, k] @ of_point for k in range(2)}
    rows |= {"d": axes @ shift / 0.8 @ of_point}
    np.testing.assert_allclose(jacobian, [rows[name] for name in held], atol=1e-13)


def pendulum(angles, rates):
    """Two thin rods that hang on each other."""
    lengths, masses = (0.6, 0.9), (1.2, 0.8)
    root, speed = np.zeros(2), np.zeros(2)
    joints, bodies, before = [], [], ORIGIN
    for k, (angle, rate) in enumerate(zip(angles, rates, strict=True)):
        half = lengths[k] / 2
        way, side = turned(angle) @ [half, 0], turned(angle) @ [0, half * rate]
        rod = PlanarBody(f"rod_{k}", masses[k], masses[k] * lengths[k] ** 2 / 12, root + way, angle,
                         speed + side, rate)  # fmt: skip
        joints.append(Revolute(f"pin_{k}", before, rod.frame((-half, 0))))
        bodies.append(rod)
        root, speed, before = root + 2 * way, speed + 2 * side, rod.frame((half, 0))
    return double_pendulum(lengths, masses), Mechanism(bodies, joints, gravity=FALL)


@pytest.mark.slow
def test_two_rods_on_pins_are_a_double_pendulum():
    angles, rates = (0.4, -1.1), (2.0, -3.0)
    right, mechanism = pendulum(angles, rates)
    found, _ = accelerations(mechanism)
    turns = [found[f"rod_{k}_angle_dot"] for k in range(2)]
    np.testing.assert_allclose(turns, right.accelerations(angles, rates), rtol=1e-12)
    run = ds.solve(mechanism.system(), until=1.0, initial=mechanism.start, solver=SOLVER)
    ends = [run[f"rod_{k}_angle"][-1] for k in range(2)]
    np.testing.assert_allclose(ends, right.at(1.0, angles, rates)[:2], atol=1e-10)
    assert run.drift["energy"].max_relative < 1e-12


@pytest.mark.parametrize("angle", [0.3, 2.0])
def test_a_slider_crank_is_that_of_the_classics(angle):
    """Whose loop is posed in coordinates of its own: accelerations and forces in its pins."""
    posed, lengths = bodies(), (0.5, 1.0)
    numbers_of = {"crank_length": lengths[0], "rod_length": lengths[1]}
    start = closed_loop({"phi_1": angle, "phi_dot_1": 12.0}, numbers_of, {})
    dynamics, state, p = numbers(posed, start)
    wanted, forces = instantaneous(dynamics, 0.0, state, p)
    names = dynamics.labels.states[dynamics.position_count :]
    right = dict(zip(names, wanted, strict=True))
    rods = []
    for k in (1, 2):
        x, y, turn, x_dot, y_dot, rate = (
            start[f"{name}_{k}"] for name in ("x", "y", "phi", "x_dot", "y_dot", "phi_dot")
        )
        inertia = lengths[k - 1] ** 2 / 12
        rods.append(PlanarBody(f"body{k}", 1.0, inertia, (x, y), turn, (x_dot, y_dot), rate))
    slider = PlanarBody("slider", 1.0, 0.3, (start["x_3"], 0), velocity=(start["x_dot_3"], 0))
    joints = [
        Revolute("pivot", ORIGIN, rods[0].frame((-0.25, 0))),
        Revolute("pin", rods[0].frame((0.25, 0)), rods[1].frame((-0.5, 0))),
        Revolute("wrist", rods[1].frame((0.5, 0)), slider.frame()),
        Prismatic("rail", ORIGIN, slider.frame()),
    ]
    found, reactions = accelerations(Mechanism([*rods, slider], joints, gravity=FALL))
    for k in (1, 2):
        assert found[f"body{k}_x_dot"] == pytest.approx(right[f"x_dot_{k}"], rel=1e-11)
        assert found[f"body{k}_angle_dot"] == pytest.approx(right[f"phi_dot_{k}"], rel=1e-11)
    assert found["slider_x_dot"] == pytest.approx(right["x_dot_3"], rel=1e-11)
    held = [reactions[f"{joint}_{row}"] for joint in ("pivot", "pin", "wrist") for row in (1, 2)]
    np.testing.assert_allclose(held, forces, rtol=1e-10)
    # Weight and wrist press on the rail.
    assert reactions["rail_1"] == pytest.approx(GRAVITY - reactions["wrist_2"], rel=1e-10)


@pytest.mark.slow
def test_a_slider_on_a_turning_arm_keeps_the_angular_momentum():
    """r'' = r w^2, (I + m r^2) w = L: energy and momentum give r' at every r."""
    inertia, mass, moment = 0.3, 0.7, 0.05
    arm = PlanarBody("arm", 1.0, inertia, rate=4.0)
    slider = PlanarBody("slider", mass, moment, (0.2, 0.0), velocity=(0.5, 0.8), rate=4.0)
    rail = Prismatic("rail", arm.frame(), slider.frame())
    mechanism = Mechanism([arm, slider], [Revolute("axle", ORIGIN, arm.frame()), rail])
    system = mechanism.system(outputs={"way": rail.displacement, "speed": rail.speed})
    run = ds.solve(system, until=3.0, initial=mechanism.start, solver=SOLVER)
    momentum = (inertia + moment + mass * 0.2**2) * 4.0
    twice_energy = momentum * 4.0 + mass * 0.5**2
    turning = momentum / (inertia + moment + mass * run["way"] ** 2)
    np.testing.assert_allclose(run["arm_angle_dot"], turning, rtol=1e-10)
    speed = np.sqrt((twice_energy - momentum * turning) / mass)
    np.testing.assert_allclose(run["speed"], speed, rtol=1e-10)
    assert run["arm_angle"][-1] > np.pi / 2
    # Directions are held by functions that are the same after a whole turn.
    assert not [note for note in run.description["notes"] if "not wrapped" in note]


def test_a_pin_in_a_slot_is_a_scotch_yoke():
    """x = r cos(angle): at a rate w the yoke has -r w^2 cos(angle) - r angle'' sin(angle)."""
    radius, angle, rate = 0.4, 0.7, 3.0
    crank = PlanarBody("crank", 1.0, 0.2, angle=angle, rate=rate)
    yoke = PlanarBody("yoke", 2.0, 0.1, (radius * np.cos(angle), 0),
                      velocity=(-radius * rate * np.sin(angle), 0))  # fmt: skip
    joints = [
        Revolute("axle", ORIGIN, crank.frame()),
        Prismatic("rail", ORIGIN, yoke.frame()),
        Slot("slot", yoke.frame(), crank.point(radius, 0), axis=1),
    ]
    found, _ = accelerations(Mechanism([crank, yoke], joints))
    sine, cosine = radius * np.sin(angle), radius * np.cos(angle)
    turn = -2.0 * sine * cosine * rate**2 / (0.2 + 2.0 * sine**2)
    assert found["crank_angle_dot"] == pytest.approx(turn, rel=1e-12)
    assert found["yoke_x_dot"] == pytest.approx(-cosine * rate**2 - sine * turn, rel=1e-12)


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("kind", [Fixed, Prismatic])
@pytest.mark.parametrize("miss", [np.pi, np.pi - 1e-9, 1e-3])
def test_a_body_that_is_placed_the_wrong_way_round_is_not_held_so(kind, miss):
    body = PlanarBody("body", 1.0, 0.2, angle=miss)
    mechanism = Mechanism(
        [body, PlanarBody("free", 1.0, 0.1)], [kind("weld", ORIGIN, body.frame())]
    )
    with pytest.raises(InconsistentStateError, match="'weld_"):
        ds.solve(mechanism.system(), until=0.1, initial=mechanism.start)
