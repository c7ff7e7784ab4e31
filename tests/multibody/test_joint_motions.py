"""Mechanisms in space move as in minimal coordinates, and as their closed forms say."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.equations import consistency
from daesolve.core.equations.consistency import complete_start, sample_states
from daesolve.core.equations.rank import constraint_rank
from daesolve.core.equations.scaled_rows import are_independent
from daesolve.errors import RedundantConstraintsError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.joints import (
    Cylindrical,
    Distance,
    Fixed,
    Prismatic,
    Revolute,
    Slot,
    Spherical,
    Universal,
)
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND, quaternion
from tests.reference.multibody_motions import GRAVITY, crossed_pendulum, hooke, spherical_pendulum

from .placing import about, accelerations, numbers, quaternion_of

MOMENTS = (0.2, 0.3, 0.4)
FALL = (0.0, 0.0, -GRAVITY)
SOLVER = ds.Dop853(rtol=1e-12)


@pytest.mark.slow
def test_a_point_on_a_rod_is_a_spherical_pendulum():
    length, angle, rates = 0.7, 0.9, (0.4, 2.5)
    right = spherical_pendulum(length)
    down = about(1, angle) @ about(0, 0.0) @ [0, 0, -length]
    speed = rates[0] * np.cross([0, 1, 0], down) + rates[1] * np.cross(about(1, angle)[:, 0], down)
    ball = Body("ball", 1.0, (0.01, 0.01, 0.01), position=down, velocity=speed)
    rod = Distance("rod", GROUND.point(0, 0, 0), ball.centre, length)
    mechanism = Mechanism([ball], [rod], gravity=FALL)
    run = ds.solve(mechanism.system(), until=1.5, initial=mechanism.start, solver=SOLVER)
    q = right.at(1.5, (angle, 0.0), rates)[:2]
    found = [run[f"ball_{axis}"][-1] for axis in "xyz"]
    np.testing.assert_allclose(found, about(1, q[0]) @ about(0, q[1]) @ [0, 0, -length], atol=1e-10)
    assert run.drift["energy"].max_relative < 1e-12


def crossed(motion, rates):
    """Two bodies below hinges about x and, on the first body, about y."""
    length = 0.6
    masses, moments = (1.2, 0.8), ((0.05, 0.06, 0.02), (0.03, 0.04, 0.01))
    right = crossed_pendulum(masses, moments, length)
    axes = about(0, motion[0])
    axes = [axes, axes @ about(1, motion[1])]
    turns = [rates[0] * np.eye(3)[0]]
    turns.append(axes[1].T @ (axes[0] @ turns[0]) + rates[1] * np.eye(3)[1])
    half = np.array([0, 0, -length / 2])
    velocities = [axes[k] @ np.cross(turns[k], half) for k in range(2)]
    bodies = [
        Body(
            name, masses[k], moments[k], position=axes[0] @ half * (1 + k) + k * axes[k] @ half,
            rotation=quaternion_of(axes[k]), velocity=velocities[k] + 2 * k * velocities[0],
            angular_velocity=turns[k],
        )
        for k, name in enumerate(("upper", "lower"))
    ]  # fmt: skip
    hinges = [
        Revolute("shoulder", GROUND.frame(), bodies[0].frame(-half), axis=0),
        Revolute("elbow", bodies[0].frame(half), bodies[1].frame(-half), axis=1),
    ]
    return right, Mechanism(bodies, hinges, gravity=FALL), hinges


def test_hinges_that_cross_have_the_accelerations_of_their_two_angles():
    motion, rates = (0.5, -0.8), (1.5, -2.2)
    right, mechanism, _ = crossed(motion, rates)
    found, _ = accelerations(mechanism)
    # The second hinge leaves the component of the first turn along it alone, which is zero.
    turns = found["upper_w1"], found["lower_w2"]
    np.testing.assert_allclose(turns, right.accelerations(motion, rates), rtol=1e-11)


@pytest.mark.slow
def test_hinges_that_cross_move_as_in_their_two_angles():
    motion, rates = (0.5, -0.8), (1.5, -2.2)
    right, mechanism, hinges = crossed(motion, rates)
    outputs = {f"angle_{k}": (hinge.angle, "rad") for k, hinge in enumerate(hinges)}
    system = mechanism.system(outputs=outputs)
    run = ds.solve(system, until=1.0, initial=mechanism.start, solver=SOLVER)
    expected = right.at(1.0, motion, rates)[:2]
    np.testing.assert_allclose([run["angle_0"][-1], run["angle_1"][-1]], expected, atol=1e-10)
    assert run.drift["energy"].max_relative < 1e-11


@pytest.mark.parametrize("angle", [0.3, 1.2, 2.6])
def test_a_universal_joint_has_the_ratio_of_hooke(angle):
    """The second shaft is held on its line by a point of it: 5 + 4 + 2 rows leave one freedom."""
    bend, rate = 0.6, 3.0
    tilted = about(0, bend)
    driven, speed, acceleration = hooke(bend, angle, rate)
    one = Body("one", 1.0, MOMENTS, rotation=quaternion((0, 0, 1), angle),
               angular_velocity=(0, 0, rate))  # fmt: skip
    turned = quaternion_of(tilted @ about(2, driven))
    other = Body("other", 0.5, MOMENTS, rotation=turned, angular_velocity=(0, 0, speed))
    joints = [
        Revolute("bearing", GROUND.frame(), one.frame()),
        Universal("cross", one.frame(), other.frame()),
        Slot("line", GROUND.frame(axes=tilted), other.point(0, 0, 0.4), axis=2),
    ]
    mechanism = Mechanism([one, other], joints)
    dynamics, state, p = numbers(mechanism.system(), mechanism.start)
    parts = dynamics.matrices(0.0, state, p)
    names = list(dynamics.labels.states[dynamics.position_count :])
    np.testing.assert_allclose(
        parts["jacobian"] @ state[dynamics.position_count :], 0.0, atol=1e-13
    )
    # What is allowed in accelerations beside rate' of the first shaft.
    free = np.linalg.lstsq(parts["jacobian"], -parts["bias"].ravel(), rcond=None)[0]
    (null,) = np.linalg.svd(parts["jacobian"])[2][11:]
    found = free - free[names.index("one_w3")] / null[names.index("one_w3")] * null
    assert found[names.index("other_w3")] == pytest.approx(acceleration, rel=1e-11)
    ratio = null[names.index("other_w3")] / null[names.index("one_w3")]
    assert ratio == pytest.approx(speed / rate, rel=1e-12)


@pytest.mark.slow
def test_a_bar_in_a_bush_slides_as_if_it_did_not_turn():
    tilt, spin = 0.7, 5.0
    axes = about(0, tilt)
    bar = Body("bar", 2.0, (0.3, 0.3, 0.1), rotation=quaternion_of(axes),
               velocity=1.5 * axes[:, 2], angular_velocity=(0, 0, spin))  # fmt: skip
    bush = Cylindrical("bush", GROUND.frame(axes=axes), bar.frame())
    mechanism = Mechanism([bar], [bush], gravity=FALL)
    system = mechanism.system(outputs={"way": (bush.displacement, "m")})
    run = ds.solve(system, until=1.0, initial=mechanism.start, solver=SOLVER)
    assert run["way"][-1] == pytest.approx(1.5 - GRAVITY * np.cos(tilt) / 2, abs=1e-12)
    assert run["bar_w3"][-1] == pytest.approx(spin, abs=1e-12)


def test_bodies_that_are_fixed_to_each_other_move_as_one():
    """A torque on one turns both about the common mass centre, by Steiner's rule."""
    one, other = Body("one", 1.0, MOMENTS), Body("other", 3.0, (0.1, 0.1, 0.5), position=(2, 0, 0))
    fixed = Fixed("weld", one.frame((1, 0, 0)), other.frame((-1, 0, 0)))
    mechanism = Mechanism([one, other], [fixed])
    found, reactions = accelerations(mechanism, force={"one_w3": 0.7})
    turn = 0.7 / (0.4 + 0.5 + 1.0 * 1.5**2 + 3.0 * 0.5**2)
    right = [0, -1.5 * turn, 0, 0, 0, turn, 0, 0.5 * turn, 0, 0, 0, turn]
    np.testing.assert_allclose(list(found.values()), right, atol=1e-14)
    # The force turns the second about its centre as well, a metre from the weld.
    force = 3.0 * 0.5 * turn
    right = [0, force, 0, 0, 0, 0.5 * turn + force]
    np.testing.assert_allclose(list(reactions.values()), right, atol=1e-14)


def test_a_hinge_takes_the_axis_of_a_body_whose_axes_do_not_spin_with_it():
    def top(axisymmetric):
        tilted = about(0, 0.4)
        body = Body("top", 1.0, (0.2, 0.2, 0.1), axisymmetric=axisymmetric,
                    position=tilted @ [0, 0, 0.5], rotation=quaternion_of(tilted))  # fmt: skip
        wheel = Body("wheel", 0.5, (0.05, 0.05, 0.08), position=tilted @ [0, 0, 0.8],
                     rotation=quaternion_of(tilted), axisymmetric=axisymmetric,
                     angular_velocity=(0, 0, 30.0))  # fmt: skip
        joints = [
            Spherical("tip", GROUND.point(0, 0, 0), body.point(0, 0, -0.5)),
            Revolute("axle", body.frame((0, 0, 0.3)), wheel.frame()),
        ]
        names = ["top_w1", "top_w2", "wheel_x_dot", "wheel_y_dot", "wheel_w1", "wheel_w2"]
        found, held = accelerations(Mechanism([body, wheel], joints, gravity=FALL))
        return [found[name] for name in names], list(held.values())

    spinning, reactions = top(axisymmetric=False)
    steady, same = top(axisymmetric=True)
    # The axes of the spinning wheel are where those of the other are, but turn with it: their
    # rates of w differ by spin x w, and w is zero here.
    np.testing.assert_allclose(steady, spinning, atol=1e-12)
    np.testing.assert_allclose(same, reactions, atol=1e-11)
    assert abs(spinning[0]) > 1.0


def four_bar(in_space):
    """Crank, coupler and rocker of 1, 2 and 1.5 m on a base of 2 m, the crank at 1 rad."""
    lengths, base = (1.0, 2.0, 1.5), 2.0
    angle = 1.0
    pin = np.array([np.cos(angle), np.sin(angle)])
    way = np.array([base, 0.0]) - pin
    gap = np.hypot(*way)
    bend = np.arccos((lengths[1] ** 2 + gap**2 - lengths[2] ** 2) / (2 * lengths[1] * gap))
    coupler = np.arctan2(way[1], way[0]) + bend
    other = pin + lengths[1] * np.array([np.cos(coupler), np.sin(coupler)])
    rocker = np.arctan2(other[1], other[0] - base)
    # Rates: crank 2 rad/s, and the closure of the loop.
    side = [np.array([-np.sin(a), np.cos(a)]) for a in (angle, coupler, rocker)]
    closure = np.column_stack([lengths[1] * side[1], -lengths[2] * side[2]])
    rates = np.array([2.0, *np.linalg.solve(closure, -2.0 * lengths[0] * side[0])])
    roots = [(np.zeros(2), np.zeros(2)), (pin, 2.0 * side[0]),
             (np.array([base, 0.0]), np.zeros(2))]  # fmt: skip
    bodies, ends = [], []
    for k, (name, turn) in enumerate(
        zip(("crank", "coupler", "rocker"), (angle, coupler, rocker), strict=True)
    ):
        half, moment = lengths[k] / 2, lengths[k] ** 2 / 12
        place = roots[k][0] + half * np.array([np.cos(turn), np.sin(turn)])
        velocity = roots[k][1] + half * rates[k] * side[k]
        if in_space:
            body = Body(name, 1.0, (0.01, moment, moment), position=(*place, 0),
                        rotation=quaternion((0, 0, 1), turn), velocity=(*velocity, 0),
                        angular_velocity=(0, 0, rates[k]))  # fmt: skip
            ends.append([body.frame((-half, 0, 0)), body.frame((half, 0, 0))])
        else:
            body = PlanarBody(name, 1.0, moment, place, turn, velocity, rates[k])
            ends.append([body.frame((-half, 0)), body.frame((half, 0))])
        bodies.append(body)
    extra = (0.0,) * in_space
    joints = [
        Revolute("a", GROUND.frame((0.0, 0.0, *extra)), ends[0][0]),
        Revolute("b", ends[0][1], ends[1][0]),
        Revolute("c", ends[1][1], ends[2][1]),
        Revolute("d", GROUND.frame((base, 0.0, *extra)), ends[2][0]),
    ]
    return Mechanism(bodies, joints, gravity=(0.0, -GRAVITY, *extra))


@pytest.mark.slow
def test_a_planar_loop_of_hinges_in_space_has_three_rows_too_many():
    """20 rows on 18 velocities leave one freedom: 17 are independent."""
    mechanism = four_bar(in_space=True)
    dynamics, state, p = numbers(mechanism.system(), mechanism.start)
    samples = sample_states(dynamics, p, state, count=3)
    rank = constraint_rank(dynamics, samples, p)
    assert (len(dynamics.rows), rank.at_start, len(rank.droppable)) == (20, 17, 3)
    # Out of the plane: the heights, and the turns about both normals, of a loop.
    out_of_plane = {f"{joint}_{row}" for joint in "abcd" for row in (3, 4, 5)}
    assert set(rank.redundant) <= out_of_plane
    with pytest.raises(RedundantConstraintsError, match=r"'a_3'.*'d_5'"):
        ds.solve(mechanism.system(), until=0.1, initial=mechanism.start)


@pytest.mark.long_rows("minimum-norm")
@pytest.mark.slow
@pytest.mark.parametrize("rule", ["drop", "minimum-norm"])
def test_a_loop_with_rows_too_many_moves_as_the_one_in_the_plane(rule):
    mechanism = four_bar(in_space=True)
    options = {"until": 0.5, "solver": ds.Dop853(rtol=1e-11)}
    run = ds.solve(mechanism.system(), initial=mechanism.start, redundant=rule, **options)
    plane = four_bar(in_space=False)
    right = ds.solve(plane.system(), initial=plane.start, **options)
    for name in ("crank", "coupler", "rocker"):
        for axis in "xy":
            state = f"{name}_{axis}"
            np.testing.assert_allclose(run[state][-1], right[state][-1], atol=1e-9)


@pytest.mark.slow
def test_sample_states_stay_where_sliders_hold(monkeypatch):
    # The rows of a slider vanish at all half turns as well, where they lose their rank: from afar
    # Newton's method often ends there.
    pairs = [[Body(f"{name}_{k}", 1.0, (1.0, 2.0, 3.0)) for name in ("a", "b")] for k in range(4)]
    joints = [
        Prismatic(f"slide_{k}", one.frame(), other.frame()) for k, (one, other) in enumerate(pairs)
    ]
    mechanism = Mechanism([body for pair in pairs for body in pair], joints)
    dynamics = mechanism.system().dynamics
    values = dynamics.value_vector({})
    start = {name: float(value) for name, value in mechanism.start.items()}
    around = complete_start(dynamics, values, start).state

    def regular():
        samples = sample_states(dynamics, values, around)
        return [are_independent(dynamics, t, x, values) for t, x in samples]

    found = regular()
    assert len(found) == 9
    assert all(found)
    monkeypatch.setattr(consistency, "are_independent", lambda *_: True)
    assert not all(regular())
