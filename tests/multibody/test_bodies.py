"""Bodies move as Newton and Euler say; places on them have the velocities of the material."""

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.errors import PosingError, UnknownNameError
from daesolve.multibody import GROUND, Body, Mechanism, PlanarBody, PointForce, quaternion

SOLVER = ds.Dop853(rtol=1e-12, atol=1e-12)
MOMENTS = (0.3, 0.5, 0.7)
SPIN = (0.4, 3.0, 0.2)
UNIT = st.floats(-1.0, 1.0)


def _run(body: Body, until: float, **further: Any) -> tuple[ds.MechanicalSystem, ds.Trajectory]:
    mechanism = Mechanism([body], **further)
    system = mechanism.system()
    return system, ds.solve(system, until, guess=mechanism.start, solver=SOLVER)


def _evaluate(expressions: list[ca.SX], body: Body, x: np.ndarray) -> list[np.ndarray]:
    symbols = ca.vertcat(body.coordinates.vector, body.velocities.vector)
    function = ca.Function("f", [symbols], expressions)
    found = function(x)
    found = found if isinstance(found, tuple | list) else [found]
    return [np.asarray(entry) for entry in found]


def test_a_free_body_turns_as_euler_says() -> None:
    body = Body("body", 2.0, MOMENTS, angular_velocity=SPIN)
    _, run = _run(body, 5.0)
    moments = np.array(MOMENTS)

    def euler(t: float, w: np.ndarray) -> np.ndarray:
        return np.cross(moments * w, w) / moments

    expected = solve_ivp(euler, (0.0, 5.0), SPIN, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    found = [run.end_state[f"body_w{k}"] for k in (1, 2, 3)]
    # Both are integrated to 1e-12 a step or better, over about a hundred steps.
    np.testing.assert_allclose(found, expected, atol=1e-9)
    # Errors of a step, which the feedback takes back within ten steps.
    assert run.drift["body_norm"].max_abs < 1e-12
    assert run.drift["energy"].max_relative < 1e-12


def test_a_free_body_keeps_its_angular_momentum_in_space() -> None:
    body = Body("body", 2.0, MOMENTS, angular_velocity=SPIN, velocity=(1.0, 0.0, 0.0))
    _, run = _run(body, 5.0)
    momentum = body.frame().rotation @ (ca.DM(MOMENTS) * body.velocities.vector[3:])
    names = (*body.coordinates.names, *body.velocities.names)
    (end,) = _evaluate([momentum], body, np.array([run.end_state[name] for name in names]))
    # The rotation is right to what is left of 1e-12 a step.
    np.testing.assert_allclose(end.ravel(), np.array(MOMENTS) * SPIN, atol=1e-10)
    assert run.end_state["body_x"] == pytest.approx(5.0, abs=1e-11)


@pytest.mark.slow
def test_a_body_whose_axes_do_not_spin_with_it_moves_its_axis_as_one_whose_axes_do() -> None:
    ends: list[np.ndarray] = []
    for axisymmetric in (False, True):
        top = Body(
            "top",
            1.0,
            (0.2, 0.2, 0.1),
            axisymmetric=axisymmetric,
            rotation=quaternion((1, 0, 0), 0.4),
            angular_velocity=(0.3, 0.0, 20.0),
        )
        _, run = _run(top, 2.0)
        names = (*top.coordinates.names, *top.velocities.names)
        x = np.array([run.end_state[name] for name in names])
        frame = top.frame()
        ends.append(np.concatenate(_evaluate([frame.axis(2), frame.angular_velocity], top, x)))
    # Errors of 1e-12 a step, times the spin for the angular velocity.
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


@pytest.mark.slow
@given(st.lists(UNIT, min_size=3, max_size=3), st.lists(UNIT, min_size=4, max_size=4))
@settings(max_examples=20, derandomize=True, deadline=None)
def test_the_rate_of_a_place_is_its_velocity(offset: list[float], turn: list[float]) -> None:
    turned = np.array(turn) / max(float(np.linalg.norm(turn)), 1e-3)
    if abs(np.linalg.norm(turned) - 1.0) > 1e-9:
        return
    for axisymmetric in (False, True):
        body = Body("body", 1.0, (0.2, 0.2, 0.1), axisymmetric=axisymmetric)
        point = body.point(0, 0, offset[2]) if axisymmetric else body.point(*offset)
        frame = body.frame()
        rate = ca.jtimes(point.position, body.coordinates.vector, body.kinematics)
        axis = ca.jtimes(frame.axis(2), body.coordinates.vector, body.kinematics)
        x = np.concatenate([[0.1, 0.2, 0.3], turned, [1.0, 2.0, 3.0, 0.7, -0.4, 5.0]])
        found, told, turning, spun = _evaluate(
            [rate, point.velocity, axis, ca.cross(frame.angular_velocity, frame.axis(2))], body, x
        )
        # Both hold for quaternions of length one, and its rounding counts ten times at the most.
        np.testing.assert_allclose(found, told, atol=1e-13)
        np.testing.assert_allclose(turning, spun, atol=1e-13)


@pytest.mark.slow
def test_a_matrix_of_inertia_is_that_of_the_turned_moments() -> None:
    turn = quaternion((1.0, 2.0, 0.5), 0.8)
    w, x, y, z = turn
    axes = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix = axes @ np.diag(MOMENTS) @ axes.T
    matrix = (matrix + matrix.T) / 2
    plain = Body("body", 1.0, MOMENTS, rotation=turn, angular_velocity=SPIN)
    turned = Body("body", 1.0, matrix, angular_velocity=tuple(axes @ SPIN))
    _, first = _run(plain, 3.0)
    _, second = _run(turned, 3.0)
    expected = axes @ [first.end_state[f"body_w{k}"] for k in (1, 2, 3)]
    found = [second.end_state[f"body_w{k}"] for k in (1, 2, 3)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_falling_body_falls() -> None:
    p = ds.parameters(gravity=(9.81, "m/s^2"), height=(2.0, "m"))
    body = Body("stone", 3.0, MOMENTS, position=(0, 0, p.height), velocity=(1, 0, 0))
    mechanism = Mechanism([body], (), p, gravity=(0, 0, -p.gravity))
    assert mechanism.start["stone_z"] == 2.0
    assert mechanism.start_at({"height": 5.0})["stone_z"] == 5.0
    run = ds.solve(mechanism.system(), 0.5, guess=mechanism.start, solver=SOLVER)
    assert run.end_state["stone_z"] == pytest.approx(2.0 - 9.81 * 0.125, abs=1e-12)
    assert run.end_state["stone_x"] == pytest.approx(0.5, abs=1e-12)


def test_a_planar_body_falls_and_turns() -> None:
    plate = PlanarBody("plate", 1.0, 0.1, angle=0.2, rate=1.5)
    corner = plate.point(1.0, 0.5)
    mechanism = Mechanism([plate], gravity=(0, -9.81))
    system = mechanism.system(outputs={"corner_x": (corner.position[0], "m")})
    run = ds.solve(system, 1.0, guess=mechanism.start, solver=SOLVER)
    assert run.end_state["plate_angle"] == pytest.approx(1.7, abs=1e-12)
    assert run.end_state["plate_y"] == pytest.approx(-9.81 / 2, abs=1e-11)
    expected = np.cos(1.7) - 0.5 * np.sin(1.7)
    assert run.at(1.0)["corner_x"] == pytest.approx(expected, abs=1e-11)


def test_a_start_that_is_not_of_length_one_is_moved_to_it() -> None:
    body = Body("body", 1.0, MOMENTS, rotation=(2.0, 0.0, 0.0, 0.0))
    _, run = _run(body, 0.1)
    assert run.start["body_q0"] == (2.0, pytest.approx(1.0, abs=1e-15))


PLATE = PlanarBody("plate", 1.0, 1.0)
ROUND = Body("round", 1.0, (1.0, 1.0, 2.0), axisymmetric=True)
REFUSED: dict[str, tuple[str, Callable[[], object]]] = {
    "a name with a blank": ("must be a word", lambda: Body("a b", 1.0, MOMENTS)),
    "two moments": ("three moments", lambda: Body("b", 1.0, (1.0, 2.0))),
    "a skew inertia": (
        "symmetric three-by-three matrix",
        lambda: Body("b", 1.0, np.triu(np.ones((3, 3)))),
    ),
    "no symmetry": (
        "not symmetric about",
        lambda: Body("b", 1.0, MOMENTS, axisymmetric=True),
    ),
    "a point beside the axis": ("third axis", lambda: ROUND.point(0.1, 0, 0)),
    "a turned axis": ("be the body's third axis", lambda: ROUND.frame(axes=(1, 0, 0))),
    "a skew frame": (
        "no rotation|orthogonal",
        lambda: GROUND.frame(axes=np.ones((3, 3))),
    ),
    "axes in the plane": (
        r"an angle, not axes: write frame\(origin, angle=...\)",
        lambda: GROUND.frame((0, 0), np.eye(3)),
    ),
    "four coordinates": ("2 or 3 coordinates", lambda: GROUND.point(1, 2, 3, 4)),
    "no direction": ("not all zero", lambda: quaternion((0, 0, 0), 1.0)),
    "no bodies": ("at least one body", lambda: Mechanism([])),
    "mixed": ("all in space or all in the plane", lambda: Mechanism([PLATE, ROUND])),
    "two of a name": (
        "two bodies",
        lambda: Mechanism([PLATE, PlanarBody("plate", 1, 1)]),
    ),
    "not a part": ("not a part", lambda: Mechanism([PLATE], [PLATE])),  # pyright: ignore
    "no body": ("must be bodies", lambda: Mechanism(["x"])),  # pyright: ignore
    "gravity in space": (
        "gravity has 2",
        lambda: Mechanism([PLATE], gravity=(0, 0, 1)).system(),
    ),
    "a start that moves": (
        "numbers and parameters of the",
        lambda: Mechanism([PlanarBody("b", 1, 1, angle=PLATE.coordinates.plate_x), PLATE]).start,
    ),
    "a force on nothing": (
        "of the force 'x'",
        lambda: Mechanism([PLATE]).system(force={"x": 1.0}),
    ),
    "a force along one velocity by two names": (
        "'plate_x' and that on 'plate_x_dot' act along the same velocity",
        lambda: Mechanism([PLATE]).system(force={"plate_x": 1.0, "plate_x_dot": 1.0}),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_mechanism_without_meaning_is_refused(name: str) -> None:
    sentence, pose = REFUSED[name]
    with pytest.raises((PosingError, UnknownNameError), match=sentence):
        pose()


def test_attributes_of_a_body_are_quantities_of_its_motion_and_its_start_is_kept() -> None:
    body = Body("body", 2.0, MOMENTS, position=(1, 2, 3), velocity=(4, 5, 6), angular_velocity=SPIN)
    disc = PlanarBody("disc", 1.0, 0.5, position=(1, 2), angle=0.3, velocity=(4, 5), rate=7.0)
    names = {
        "position": ["body_x", "body_y", "body_z"],
        "rotation": ["body_q0", "body_q1", "body_q2", "body_q3"],
        "velocity": ["body_x_dot", "body_y_dot", "body_z_dot"],
        "angular_velocity": ["body_w1", "body_w2", "body_w3"],
    }
    for part, expected in names.items():
        assert [symbol.name() for symbol in ca.symvar(getattr(body, part))] == expected
    assert [symbol.name() for symbol in ca.symvar(disc.position)] == ["disc_x", "disc_y"]
    assert [symbol.name() for symbol in ca.symvar(disc.velocity)] == ["disc_x_dot", "disc_y_dot"]
    assert (disc.angle.name(), disc.rate.name()) == ("disc_angle", "disc_angle_dot")
    assert [float(value) for value in disc.start.values()] == [1, 2, 0.3, 4, 5, 7]
    assert float(body.start["body_w2"]) == SPIN[1]


def test_a_force_may_be_written_in_the_velocity_of_a_body() -> None:
    body = PlanarBody("body", 2.0, 1.0, velocity=(3.0, 0.0))
    drag = PointForce(body.centre, -0.5 * body.velocity)
    mechanism = Mechanism([body], [drag])
    run = ds.solve(mechanism.system(), 1.0, guess=mechanism.start, solver=SOLVER)
    assert run.end_state["body_x_dot"] == pytest.approx(3.0 * np.exp(-0.25), rel=1e-10)
