"""Joints in space: what each row holds, what they leave free, and what is refused."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.equations.consistency import sample_states
from daesolve.core.equations.rank import constraint_rank
from daesolve.errors import (
    OutOfRangeError,
    PosingError,
    RedundantConstraintsError,
)
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
from daesolve.multibody.loads import SpringDamper
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND, quaternion
from daesolve.multibody.sliding_joints import Planar, Screw

from .placing import about, matrix, numbers, quaternion_of

MOMENTS, LEAD = (0.2, 0.3, 0.4), -0.7


def frames(draw_numbers):
    """A place and axes from six numbers."""
    turn = quaternion(draw_numbers[3:6] + np.array([0, 0, 2.0]), draw_numbers[3])
    return np.asarray(draw_numbers[:3]), matrix(turn)


# What the second frame may do: it is turned and shifted in the parent's frame by random amounts
# a, b, c; then whose rates a joint holds: velocity of its origin in axes of space (v), velocity or
# angular velocity along an axis of the parent (v_k, w_k), or about the normal of a cross (n).
HELD = {
    "revolute": (
        lambda f, s: Revolute("j", f, s), lambda a, b, c: (about(2, a), np.zeros(3)),
        ["vx", "vy", "vz", "w0", "w1"],
    ),
    "revolute_x": (
        lambda f, s: Revolute("j", f, s, axis=0), lambda a, b, c: (about(0, a), np.zeros(3)),
        ["vx", "vy", "vz", "w1", "w2"],
    ),
    "spherical": (
        lambda f, s: Spherical("j", f, s),
        lambda a, b, c: (about(0, a) @ about(1, b) @ about(2, c), np.zeros(3)),
        ["vx", "vy", "vz"],
    ),
    "prismatic": (
        lambda f, s: Prismatic("j", f, s), lambda a, b, c: (np.eye(3), a * np.eye(3)[0]),
        ["v1", "v2", "w0", "w1", "w2"],
    ),
    "prismatic_y": (
        lambda f, s: Prismatic("j", f, s, axis=1), lambda a, b, c: (np.eye(3), a * np.eye(3)[1]),
        ["v2", "v0", "w0", "w1", "w2"],
    ),
    "cylindrical": (
        lambda f, s: Cylindrical("j", f, s), lambda a, b, c: (about(2, a), b * np.eye(3)[2]),
        ["v0", "v1", "w0", "w1"],
    ),
    "universal": (
        lambda f, s: Universal("j", f, s),
        lambda a, b, c: (about(0, a) @ about(1, b), np.zeros(3)),
        ["vx", "vy", "vz", "n"],
    ),
    "fixed": (
        lambda f, s: Fixed("j", f, s), lambda a, b, c: (np.eye(3), np.zeros(3)),
        ["vx", "vy", "vz", "w0", "w1", "w2"],
    ),
    "slot": (
        lambda f, s: Slot("j", f, s, axis=2),
        lambda a, b, c: (about(0, a) @ about(1, b), c * np.eye(3)[2]), ["v0", "v1"],
    ),
    "planar": (
        lambda f, s: Planar("j", f, s),
        lambda a, b, c: (about(2, a), np.array([b, c, 0.0])), ["v2", "w0", "w1"],
    ),
    "planar_y": (
        lambda f, s: Planar("j", f, s, axis=1),
        lambda a, b, c: (about(1, a), np.array([b, 0.0, c])), ["v1", "w2", "w0"],
    ),
    "screw": (
        lambda f, s: Screw("j", f, s, lead=LEAD), lambda a, b, c: (about(2, a), b * np.eye(3)[2]),
        ["v0", "v1", "w0", "w1", "s"],
    ),
    "distance": (
        lambda f, s: Distance("j", f, s, 0.8),
        lambda a, b, c: (about(0, a), 0.8 * about(1, b)[:, 0]), ["d"],
    ),
}  # fmt: skip


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("kind", HELD)
@settings(derandomize=True, max_examples=4, deadline=None)
@given(st.lists(st.floats(-1.5, 1.5), min_size=15, max_size=15).map(np.array))
def test_each_row_holds_one_component_of_the_relative_velocity(kind, given_numbers):
    """So its reaction is that component of the force or the torque, and no row is redundant."""
    joint_of, motion, held = HELD[kind]
    (origin, axes), (place, own_axes) = frames(given_numbers[:6]), frames(given_numbers[6:12])
    turning, shift = motion(*given_numbers[12:])
    target = axes @ turning
    rotation = target @ own_axes.T
    centre = origin + axes @ shift - rotation @ place
    body = Body("b", 1.3, MOMENTS, position=centre, rotation=quaternion_of(rotation))
    joint = joint_of(GROUND.frame(origin, axes), body.frame(place, own_axes))
    residuals = ca.vertcat(*[goal.residual for goal in joint.goals])
    q, v = body.coordinates.vector, body.velocities.vector
    moved = ca.jacobian(residuals, q) @ ca.jacobian(body.kinematics, v)
    function = ca.Function("rows", [q], [residuals, ca.densify(moved)])
    residual, jacobian = function([float(body.start[name]) for name in body.coordinates.names])
    np.testing.assert_allclose(residual, 0.0, atol=1e-13)
    arm = rotation @ place
    lever = np.cross(np.eye(3), arm).T  # the velocity of the second origin by w in space
    of_point = np.hstack([np.eye(3), lever @ rotation])
    of_turn = np.hstack([np.zeros((3, 3)), rotation])
    cross = np.cross(axes[:, 0], target[:, 1])
    apart = axes @ shift
    rows = {"v" + "xyz"[k]: of_point[k] for k in range(3)}
    rows |= {f"v{k}": axes[:, k] @ of_point for k in range(3)}
    rows |= {f"w{k}": axes[:, k] @ of_turn for k in range(3)}
    rows |= {"s": rows["v2"] - LEAD / (2 * np.pi) * rows["w2"]}
    rows |= {"n": cross @ of_turn, "d": apart / 0.8 @ of_point}
    np.testing.assert_allclose(jacobian, [rows[name] for name in held], atol=1e-13)


@pytest.mark.long_beyond(7)
@pytest.mark.default_rows(2)
@pytest.mark.parametrize("kind", HELD)
def test_rows_are_independent_and_rates_are_those_of_the_angles_and_displacements(kind):
    """Between two moving bodies, at random consistent states."""
    joint_of, _, held = HELD[kind]
    one, other = Body("one", 1.3, MOMENTS), Body("other", 0.7, (0.1, 0.15, 0.12))
    joint = joint_of(
        one.frame((0.3, -0.2, 0.5), matrix(quaternion((1, 2, 3), 0.7))),
        other.frame((0.1, 0.4, -0.3), matrix(quaternion((-1, 1, 2), 1.9))),
    )
    pairs = []
    if isinstance(joint, Revolute | Cylindrical | Planar):
        pairs += [(joint.angle, joint.rate)]
    if isinstance(joint, Cylindrical | Prismatic):
        pairs += [(joint.displacement, joint.speed)]
    if isinstance(joint, Universal):
        pairs += list(zip(joint.angles, joint.rates, strict=True))
    outputs = {f"o{k}_{n}": value for k, pair in enumerate(pairs) for n, value in enumerate(pair)}
    mechanism = Mechanism([one, other], [joint])
    dynamics, _, p = numbers(mechanism.system(outputs=outputs), mechanism.start)
    samples = sample_states(dynamics, p, count=4, at_rest=0)
    rank = constraint_rank(dynamics, samples, p)
    assert (rank.at_start, rank.groups) == (len(held), ())
    places = ca.vertcat(ca.SX(0, 1), *[dynamics.outputs[f"o{k}_0"] for k in range(len(pairs))])
    rates = ca.vertcat(ca.SX(0, 1), *[dynamics.outputs[f"o{k}_1"] for k in range(len(pairs))])
    positions = dynamics.x[: dynamics.position_count]
    moved = ca.jacobian(places, positions) @ dynamics.position_rates
    function = ca.Function("both", [dynamics.x, dynamics.p], [moved, rates])
    for _, state in samples:
        by_derivative, told = (np.asarray(part) for part in function(state, p))
        # Samples meet their constraints to 1e-12 of the size of the states.
        np.testing.assert_allclose(told, by_derivative, rtol=0, atol=1e-10)
        assert np.all(np.abs(told) > 1e-3)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("kind", [Fixed, Prismatic])
def test_a_body_that_is_placed_the_wrong_way_round_is_not_held_so(kind):
    one = Body("one", 1.0, MOMENTS)
    other = Body("other", 1.0, (0.1, 0.1, 0.5), rotation=quaternion((1, 2, 0), np.pi))
    mechanism = Mechanism([one, other], [kind("weld", one.frame(), other.frame())])
    with pytest.raises(RedundantConstraintsError, match="'weld_"):
        ds.solve(mechanism.system(), until=0.1, initial=mechanism.start)


BODY, TOP = Body("body", 1.0, MOMENTS), Body("top", 1.0, (0.2, 0.2, 0.1), axisymmetric=True)
FLAT = PlanarBody("flat", 1.0, 0.1)
SPOT, PLANE_SPOT = GROUND.frame(), GROUND.frame((0.0, 0.0))


@pytest.mark.parametrize(
    ("posed", "message"),
    [
        (lambda: Revolute("a hinge", SPOT, BODY.frame()), "word, not 'a hinge'"),
        (lambda: Revolute("j", BODY, SPOT), "must connect points or frames"),
        (lambda: Revolute("j", PLANE_SPOT, BODY.frame()), "in the plane with one in space"),
        (lambda: Distance("j", BODY.centre, FLAT.centre, 1.0), "in space with one in the plane"),
        (lambda: Spherical("j", BODY.centre, BODY.point(1, 0, 0)), "'body' with itself"),
        (lambda: Spherical("j", SPOT, GROUND.point(1, 0, 0)), "'ground' with itself"),
        (lambda: Revolute("j", SPOT, BODY.centre), "frame of 'body', not a point"),
        (lambda: Fixed("j", SPOT, BODY.centre), "frame of 'body', not a point"),
        (lambda: Revolute("j", SPOT, BODY.frame(), axis=3), "axis 3.*one of"),
        (lambda: Revolute("j", PLANE_SPOT, FLAT.frame(), axis=0), "normal of the plane"),
        (lambda: Prismatic("j", PLANE_SPOT, FLAT.frame(), axis=2), "axis 2.*one of"),
        (lambda: Slot("j", PLANE_SPOT, FLAT.centre, axis=True), "axis True"),
        (lambda: Spherical("j", PLANE_SPOT, FLAT.centre), "use a Revolute joint"),
        (lambda: Cylindrical("j", PLANE_SPOT, FLAT.frame()), "two frames in space"),
        (lambda: Universal("j", SPOT, BODY.centre), "two frames in space"),
        (lambda: Planar("j", PLANE_SPOT, FLAT.frame()), "two frames in space"),
        (lambda: Screw("j", SPOT, BODY.frame(), lead=0.0), "lead of the screw 'j' is 0 m"),
        (lambda: Screw("j", SPOT, TOP.frame(), lead=0.1), "spin with 'top'"),
        (lambda: Revolute("j", SPOT, TOP.frame(), axis=0), "spin with 'top'"),
        (lambda: Prismatic("j", SPOT, TOP.frame()), "spin with 'top'"),
        (lambda: Universal("j", SPOT, TOP.frame()), "spin with 'top'"),
        (lambda: Fixed("j", TOP.frame(), BODY.frame()), "spin with 'top'"),
        (lambda: Slot("j", TOP.frame(), BODY.centre), "spin with 'top'"),
        (lambda: Revolute("j", SPOT, TOP.frame()).angle, "spin with 'top'"),
        (lambda: Cylindrical("j", SPOT, TOP.frame()).angle, "spin with 'top'"),
        (lambda: Distance("j", SPOT, BODY.centre, 0.0), "is 0 m, but must be > 0"),
        (lambda: Distance("j", SPOT, BODY.centre, "1"), "length.*SX expression"),
    ],
)
def test_what_joins_nothing_is_refused_in_a_sentence(posed, message):
    with pytest.raises((PosingError, OutOfRangeError), match=message):
        posed()


def test_a_nut_falls_along_its_spindle_through_many_turns_in_closed_form():
    """(m + I (2 pi / lead)^2) z'' = -m g, the turn 2 pi z / lead, and a force of the thread."""
    lead, mass, moment = 0.02, 0.3, 1e-4
    nut = Body("nut", mass, (2e-4, 2e-4, moment), position=(0.1, 0.0, 0.05))
    thread = Screw("thread", GROUND.frame((0.1, 0, 0)), nut.frame(), lead=lead)
    mechanism = Mechanism([nut], [thread], gravity=(0, 0, -9.81))
    system = mechanism.system(outputs={"angle": thread.angle})
    run = ds.solve(system, until=1.5, guess=mechanism.start, solver=ds.Dop853(), at=[0.7, 1.5])
    inertia = moment * (2 * np.pi / lead) ** 2
    fall = -mass * 9.81 / (mass + inertia)
    assert run["nut_z"] == pytest.approx(0.05 + fall * run.times**2 / 2, abs=1e-10)
    turned = 2 * np.pi / lead * (run["nut_z"] - 0.05)
    assert turned[-1] < -2 * 2 * np.pi
    np.testing.assert_allclose(np.sin(run["angle"] - turned), 0.0, atol=1e-8)
    # The thread bears what the fall does not take.
    assert run["thread_5"] == pytest.approx(mass * (fall + 9.81), rel=1e-8)
    assert run.drift["energy"].max_relative < 1e-9


@pytest.mark.slow
def test_a_block_slides_and_turns_on_a_table_as_a_planar_body_does():
    """Drawn by a spring at a corner: in space, held by a planar joint, and in the plane."""
    ends = []
    for space in (True, False):
        extra = (0.0,) * space
        if space:
            block = Body("b", 1.2, (0.3, 0.2, 0.4), position=(0.5, 0.1, 0.0))
            parts = [Planar("table", GROUND.frame(), block.frame())]
        else:
            block, parts = PlanarBody("b", 1.2, 0.4, position=(0.5, 0.1)), []
        corner = block.point(0.2, 0.3, *extra)
        spring = SpringDamper("k", GROUND.point(-0.3, 0.2, *extra), corner, 12.0, 0.3, 0.4)
        mechanism = Mechanism([block], [*parts, spring])
        run = ds.solve(mechanism.system(), 2.0, guess=mechanism.start, solver=ds.Dop853())
        ends.append([run[name][-1] for name in ("b_x", "b_y", "b_x_dot", "b_y_dot")])
    # Both by dop853 at 1e-11, over 2 s.
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
