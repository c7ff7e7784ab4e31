"""Mechanisms move as mechanics says of the whole; what does not belong to them is refused."""

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import DaesolveError
from daesolve.multibody import (
    GROUND,
    AppliedForce,
    Body,
    Contribution,
    Cylindrical,
    Distance,
    Mechanism,
    PlanarBody,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    quaternion,
)
from daesolve.multibody.places import Frame, rotation
from tests.multibody.placing import accelerations, quaternion_of

SOLVER = ds.Dop853(rtol=1e-11, atol=1e-11)
INERTIA = (0.1, 0.2, 0.25)
SKEW = np.array([[0.2, 0.03, -0.02], [0.03, 0.15, 0.01], [-0.02, 0.01, 0.25]])


class Push:
    """A part that pushes a body along x."""

    def __init__(self, body: Body, power: int = 1) -> None:
        velocity = body.centre.velocity[0] ** power
        self.contribution = Contribution(forces=[AppliedForce(velocity, ca.SX(3.0))])


def _turn(axis: int, angle: ca.SX) -> ca.SX:
    matrix, one, two = ca.SX.eye(3), (axis + 1) % 3, (axis + 2) % 3
    matrix[one, one] = matrix[two, two] = ca.cos(angle)
    matrix[two, one], matrix[one, two] = ca.sin(angle), -ca.sin(angle)
    return matrix


def test_an_arm_accelerates_as_lagranges_equations_in_its_angles_say() -> None:
    axes, gravity = (2, 1, 0), np.array([0.0, 0.3, -9.81])
    reach, middle = np.array([0.1, 0.2, 0.5]), np.array([0.06, 0.1, 0.24])
    angles, rates = ca.SX.sym("angles", 3), ca.SX.sym("rates", 3)  # pyright: ignore
    turned, origin, turning = ca.SX.eye(3), ca.SX(3, 1), ca.SX(3, 1)
    centres, energy, placed = [], ca.SX(0), []
    for number, axis in enumerate(axes):
        turning = turning + turned[:, axis] * rates[number]
        turned = turned @ _turn(axis, angles[number])
        centre = origin + turned @ middle
        moving, own = ca.jtimes(centre, angles, rates), turned.T @ turning
        energy += (ca.sumsqr(moving) + ca.dot(own, ca.SX(SKEW) @ own)) / 2 + ca.dot(gravity, centre)
        centres.append(centre)
        placed += [centre, turned, moving, own]
        origin = origin + turned @ reach
    # `energy` is the Lagrangian, T - V, of masses of 1 kg.
    momenta = ca.gradient(energy, rates)
    force = ca.gradient(energy, angles) - ca.jtimes(momenta, angles, rates)
    found = ca.solve(ca.jacobian(momenta, rates), force)
    velocities = ca.jtimes(ca.vertcat(*centres), angles, rates)
    expected = ca.jtimes(velocities, angles, rates) + ca.jtimes(velocities, rates, found)
    numbers = ([0.3, 0.4, -0.5], [0.5, -0.8, 1.1])
    start = iter(ca.Function("start", [angles, rates], placed)(*numbers))

    bodies, joints, parent, seat = [], [], GROUND, (0.0, 0.0, 0.0)
    for number, axis in enumerate(axes):
        body = Body(
            f"link{number}",
            1.0,
            SKEW,
            position=np.array(next(start)).ravel(),
            rotation=quaternion_of(np.array(next(start))),
            velocity=np.array(next(start)).ravel(),
            angular_velocity=np.array(next(start)).ravel(),
        )
        hinge = Revolute(f"hinge{number}", parent.frame(seat), body.frame(-middle), axis=axis)
        bodies, joints = [*bodies, body], [*joints, hinge]
        parent, seat = body, tuple(reach - middle)
    moved, _ = accelerations(Mechanism(bodies, joints, gravity=gravity))
    told = [moved[f"link{number}_{letter}_dot"] for number in range(3) for letter in "xyz"]
    reference = np.array(ca.Function("a", [angles, rates], [expected])(*numbers)).ravel()
    # A mass matrix and constraints of condition below a hundred, in two codes.
    np.testing.assert_allclose(told, reference, atol=1e-11)


@pytest.mark.slow
def test_a_free_chain_keeps_its_momentum_and_its_angular_momentum() -> None:
    first, second, third = (
        Body(f"body{k}", 1.0 + k, INERTIA, position=(k, 0, 0), velocity=(0, 0.3 * k, -0.2),
                angular_velocity=(0.5, -0.3 * k, 1.0)) for k in range(3)
    )  # fmt: skip
    chain = Mechanism(
        [first, second, third],
        [
            Universal("cross", first.frame((0.5, 0, 0)), second.frame((-0.5, 0, 0))),
            Cylindrical("bush", second.frame((0.5, 0, 0)), third.frame((-0.5, 0, 0)), axis=0),
        ],
    )
    kept = ca.SX(6, 1)
    for body in (first, second, third):
        at, frame = body.centre, body.frame()
        own = frame.rotation @ (body.moments @ (frame.rotation.T @ frame.angular_velocity))
        momentum = body.mass * at.velocity
        kept += ca.vertcat(momentum, own + ca.cross(at.position, momentum))
    outputs: dict[str, tuple[Any, str]] = {f"kept{k}": (kept[k], "") for k in range(6)}
    run = ds.solve(chain.system(outputs=outputs), 2.0, guess=chain.start, solver=SOLVER)
    # No force from outside and no couple: each joint acts on both bodies alike. Errors of 1e-11 a
    # step, of momenta of about 5, over fifty steps.
    for name in outputs:
        assert np.ptp(run[name]) < 1e-9


def test_the_reaction_of_a_joint_is_all_that_accelerates_a_free_pair() -> None:
    one = Body("one", 1.0, INERTIA, angular_velocity=(0.2, 0.5, 1.0))
    two = Body("two", 2.0, INERTIA, position=(1, 0, 0), velocity=(0, 1, 0))
    hinge = Revolute("hinge", one.frame((0.5, 0, 0)), two.frame((-0.5, 0, 0)), axis=1)
    pair = Mechanism([one, two], [hinge])
    state = ds.consistent_state(pair.system(), guess=pair.start)
    for row, letter in enumerate("xyz", start=1):
        force = state.reactions[f"hinge_{row}"]
        on_one = 1.0 * state.accelerations[f"one_{letter}_dot"]
        on_two = 2.0 * state.accelerations[f"two_{letter}_dot"]
        assert on_two == pytest.approx(force, abs=1e-13)
        assert on_one == pytest.approx(-force, abs=1e-13)
    assert abs(state.reactions["hinge_1"]) > 0.1


def test_a_pole_on_a_cart_moves_as_its_own_two_equations_say() -> None:
    mass, load, half, moment, gravity, angle = 2.0, 1.0, 0.5, 1 / 12, 9.81, 1.87
    cart = PlanarBody("cart", mass, 1.0)
    tip = (half * np.cos(angle), half * np.sin(angle))
    pole = PlanarBody("pole", load, moment, position=tip, angle=angle, rate=0.7)
    rail = Prismatic("rail", GROUND.frame((0, 0)), cart.frame(), axis=0)
    pin = Revolute("pin", cart.frame(), pole.frame((-half, 0)))
    balanced = Mechanism([cart, pole], [rail, pin], gravity=(0, -gravity))
    fixed = ("cart_x", "pole_angle", "cart_x_dot", "pole_angle_dot")
    state = ds.consistent_state(balanced.system(), balanced.start, fixed)
    across, along = load * half * np.sin(angle), load * half * np.cos(angle)
    matrix = [[mass + load, -across], [-across, moment + load * half**2]]
    expected = np.linalg.solve(matrix, [along * 0.7**2, -along * gravity])
    found = [state.accelerations[name] for name in ("cart_x_dot", "pole_angle_dot")]
    np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("axisymmetric", [True, False])
def test_a_gyroscope_of_three_bodies_moves_as_the_problem_in_three_angles(
    axisymmetric: bool,
) -> None:
    size, across, until = 0.01, 0.65, 0.1
    rates = {"alpha_dot": 1.5, "beta_dot": -0.7}
    spin = 1.0 / (size * 1.2)
    start = {"alpha": 0.1, "beta": 0.3, "gamma": 0.0, "gamma_dot": spin - 1.5 * np.sin(0.3)}
    posed = ds.problem("gyroscope").case("nutation").system
    expected = ds.solve(posed, until, start | rates, solver=SOLVER, at=[until])

    # The moments of the problem, shared out among ring, housing and rotor.
    turn = _turn(2, ca.SX(0.1)) @ _turn(0, ca.SX(0.3))
    turned = [ca.DM(matrix).full() for matrix in (turn, turn @ _turn(0, ca.SX(-np.pi / 2)))]
    ring = Body("ring", 1.0, (1.0, 1.0, 0.5 * size), rotation=quaternion((0, 0, 1), 0.1))
    housing = Body(
        "housing",
        1.0,
        (size * (0.7 - across), size * 0.3, size * (0.8 - across)),
        rotation=quaternion_of(turned[0]),
    )
    rotor = Body(
        "rotor",
        1.0,
        (size * across, size * across, size * 1.2),
        axisymmetric=axisymmetric,
        rotation=quaternion_of(turned[1]),
    )
    outer = Revolute("outer", GROUND.frame(), ring.frame())
    inner = Revolute("inner", ring.frame(), housing.frame(), axis=0)
    own = Revolute("own", housing.frame(axes=(0, 1, 0)), rotor.frame())

    class Moments:
        contribution = Contribution(
            forces=[
                AppliedForce(outer.rate, 0.3 + 0.2 * ca.cos(ds.time)),
                AppliedForce(inner.rate, -0.5 * ca.cos(inner.angle) - 0.1 * outer.angle),
            ]
        )

    gyroscope = Mechanism([ring, housing, rotor], [outer, inner, own, Moments()])
    system = gyroscope.system(outputs={"alpha": (outer.angle, "rad"), "beta": (inner.angle, "rad")})
    last = "rotor_spin" if axisymmetric else "rotor_w3"
    initial = {"ring_w3": 1.5, "housing_w1": -0.7, last: spin}
    run = ds.solve(system, until, initial, guess=gyroscope.start, solver=SOLVER, at=[until])
    # 1e-11 a step, over fifty steps.
    for name in ("alpha", "beta"):
        assert run[name][-1] == pytest.approx(expected[name][-1], abs=1e-9)
    assert abs(run["alpha"][-1] - 0.1) > 0.01


@pytest.mark.slow
def test_what_is_given_as_initial_stays_and_the_guess_follows_it() -> None:
    bob = Body("bob", 1.0, INERTIA, position=(0, 0, -1))
    pin = Revolute("pin", GROUND.frame(), bob.frame((0, 0, 1)), axis=1)
    pendulum = Mechanism([bob], [pin], gravity=(0, 0, -9.81))
    run = ds.solve(
        pendulum.system(), 0.1, initial={"bob_w2": 2.0}, guess=pendulum.start, solver=SOLVER
    )
    assert run["bob_w2"][0] == 2.0
    assert run["bob_x_dot"][0] == pytest.approx(-2.0, abs=1e-14)


def test_a_mechanism_starts_where_its_bodies_are_also_without_a_guess() -> None:
    """Near a quaternion of zeros there are poses with the hinge upside down."""
    p = ds.parameters(length=(1.0, "m"), turn=(0.3, "rad"))
    place = (-p.length * ca.sin(p.turn), 0, -p.length * ca.cos(p.turn))
    turned = quaternion((0, 1, 0), p.turn)
    bob = Body("bob", 1.0, INERTIA, position=place, rotation=turned)
    pin = Revolute("pin", GROUND.frame(), bob.frame((0, 0, p.length)), axis=1)
    pendulum = Mechanism([bob], [pin], p)
    for values in ({}, {"length": 2.0, "turn": 2.0}):
        start = pendulum.start_at(values)
        begun = ds.consistent_state(pendulum.system(), parameters=values).state
        assert begun == pytest.approx(start, abs=1e-15)
        # What is given beside it counts, by state.
        given = {"bob_w2": 0.5, "bob_x_dot": 0.5 * start["bob_z"]}
        given["bob_z_dot"] = -0.5 * start["bob_x"]
        begun = ds.consistent_state(pendulum.system(), given, parameters=values).state
        assert begun == pytest.approx(start | given, abs=1e-15)
        begun = ds.consistent_state(pendulum.system(guess=given), parameters=values).state
        assert begun["bob_q2"] == pytest.approx(start["bob_q2"], abs=1e-15)


def test_a_compound_pendulum_swings_at_its_frequency() -> None:
    p = ds.parameters(length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    bob = Body("bob", 1.0, (0.01, 0.02, 0.03), position=(0, 0, -p.length))
    pin = Revolute("pin", GROUND.frame(), bob.frame((0, 0, p.length)), axis=1)
    pendulum = Mechanism([bob], [pin], p, gravity=(0, 0, -p.gravity))
    found = ds.analysis.linearize(pendulum.system(), pendulum.start).eigenvalues
    # One degree of freedom: the norm of the quaternion leaves none of its own.
    assert found.size == 2
    np.testing.assert_allclose(np.sort(found.imag), np.sqrt(9.81 / 1.02) * np.array([-1, 1]))


def test_a_start_may_turn_by_a_parameter() -> None:
    p = ds.parameters(angle=(0.3, "rad"))
    body = Body("body", 1.0, INERTIA, rotation=quaternion((0, 3, 0), p.angle))
    start = Mechanism([body], (), p).start_at({"angle": 0.8})
    turned = np.array(ca.DM(rotation(ca.SX([start[f"body_q{k}"] for k in range(4)]))))
    np.testing.assert_allclose(turned[0], [np.cos(0.8), 0, np.sin(0.8)], atol=1e-15)


def test_an_inertia_is_symmetric_but_for_rounding() -> None:
    axes = ca.DM(rotation(ca.SX(quaternion((1, 2, 3), 0.7)))).full()
    product = axes @ np.diag(INERTIA) @ axes.T
    product[0, 1] += 1e-17
    moments = np.array(ca.DM(Body("body", 1.0, product).moments))
    np.testing.assert_array_equal(moments, moments.T)
    turned = axes @ np.diag([0.2, 0.2, 0.2]) @ axes.T
    assert Body("ball", 1.0, turned, axisymmetric=True).moments.nnz() == 3


def test_axes_may_be_written_in_parameters_as_rows_of_a_matrix() -> None:
    p = ds.parameters(tilt=(0.3, "rad"))
    cosine, sine = ca.cos(p.tilt), ca.sin(p.tilt)
    frame = GROUND.frame(axes=[[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]])
    assert isinstance(frame, Frame)
    found = ca.DM(ca.substitute(frame.axis(2), p.tilt, 0.5))
    np.testing.assert_allclose(np.array(found).ravel(), [0, -np.sin(0.5), np.cos(0.5)])


P = ds.parameters(length=(1.0, "m"))
BODY = Body("body", 1.0, INERTIA)
OTHER = Body("other", 1.0, INERTIA)
TWIN = Body("body", 1.0, INERTIA)
BALL = Spherical("ball", GROUND.point(0, 0, 0), BODY.centre)
ROD = Distance("rod", GROUND.point(0, 0, 0), BODY.centre, P.length)
REFUSED: dict[str, tuple[str, Callable[[], object]]] = {
    "a body that is not listed": (
        "a Push contains the symbol 'other_x_dot', which belongs to none of the bodies",
        lambda: Mechanism([BODY], [Push(OTHER)]).system(),
    ),
    "another body of the same name": (
        "'body_x_dot', which belongs to none",
        lambda: Mechanism([BODY], [Push(TWIN)]).system(),
    ),
    "a joint of a body that is not listed": (
        "the spherical joint 'ball' contains the symbol 'body_x'",
        lambda: Mechanism([OTHER], [BALL]).system(),
    ),
    "parameters that are not listed": (
        "the distance 'rod' contains the symbol 'length'",
        lambda: Mechanism([BODY], [ROD]).system(),
    ),
    "a start in parameters that are not listed": (
        "not 'length'",
        lambda: Mechanism([Body("b", 1.0, INERTIA, position=(P.length, 0, 0))]).start,
    ),
    "an action on the square of a velocity": (
        "a Push acts along a velocity that is not linear",
        lambda: Mechanism([BODY], [Push(BODY, 2)]).system(),
    ),
    "a force of another size": (
        "columns of the same size",
        lambda: AppliedForce(BODY.centre.velocity, ca.SX(1.0)),
    ),
    "a part twice": (
        "'ball' is listed twice",
        lambda: Mechanism([BODY], [BALL, BALL]),
    ),
    "a single body": ("must be a list, not <body 'body'>", lambda: Mechanism(BODY)),  # pyright: ignore
    "a single part": ("must be a list", lambda: Mechanism([BODY], BALL)),  # pyright: ignore
    "parameters as a dictionary": (
        "must come from parameters",
        lambda: Mechanism([BODY], (), {"length": 1.0}),  # pyright: ignore
    ),
    "gravity in the plane": (
        "3 coordinates",
        lambda: Mechanism([BODY], gravity=(0, -9.81)),
    ),
    "another kinetic energy": (
        "the bodies of a mechanism determine 'kinetic'",
        lambda: Mechanism([BODY]).system(kinetic=ca.SX(0)),
    ),
    "no mass": ("must be > 0", lambda: Body("b", 0.0, INERTIA)),
    "a mass in words": ("mass of 'b' must be", lambda: Body("b", "1", INERTIA)),  # pyright: ignore
    "a mass that is no number": (
        "is nan kg",
        lambda: Body("b", float("nan"), INERTIA),
    ),
    "a negative moment": ("moments > 0", lambda: Body("b", 1.0, (-1, 1, 1))),
    "a ragged inertia": ("three moments", lambda: Body("b", 1.0, [[1, 2], [3]])),  # pyright: ignore
    "one moment": ("three moments", lambda: Body("b", 1.0, 2.0)),  # pyright: ignore
    "two angles": ("the angle of 'b'", lambda: PlanarBody("b", 1, 1, angle=(1, 2))),  # pyright: ignore
    "a position in the plane": (
        "3 coordinates",
        lambda: Body("b", 1, INERTIA, position=(1, 2)),
    ),
    "no rotation": (
        "of length one",
        lambda: Body("b", 1, INERTIA, rotation=(0, 0, 0, 0)),
    ),
    "a point nowhere": ("must be finite", lambda: BODY.point(float("nan"), 0, 0)),
    "an axis by a letter": ("a direction or three", lambda: BODY.frame(axes="z")),
    "an axis in parameters": (
        "give three columns",
        lambda: BODY.frame(axes=(ca.sin(P.length), 0, ca.cos(P.length))),
    ),
    "skew axes in parameters": (
        "orthogonal columns",
        lambda: BODY.frame(axes=[[P.length, 0, 0], [0, 1, 0], [0, 0, 1]]),  # pyright: ignore
    ),
    "an angle in words": ("angle of a turn", lambda: quaternion((0, 0, 1), "x")),  # pyright: ignore
    "an endless angle": (
        "must be finite",
        lambda: quaternion((0, 0, 1), float("inf")),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_belong_to_a_mechanism_is_refused(name: str) -> None:
    sentence, pose = REFUSED[name]
    with pytest.raises(DaesolveError, match=sentence):
        pose()
