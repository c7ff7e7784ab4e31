"""Small motions about equilibria and steady motions, against closed forms."""

from __future__ import annotations

import json
from functools import cache

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import (
    DegenerateStartError,
    NotStationaryError,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
)
from tests.reference.rolling_wheel import DEFAULT_PARAMETERS as WHEEL
from tests.systems import (
    chain,
    chain_state,
    four_bar_state,
    four_bar_windows,
    free_body,
    pendulum,
    projectile,
    sleigh,
    wheel,
    wheel_state,
)


@cache
def spherical_pendulum():
    """In the distance from the pivot (held by a rod), polar angle from below, and azimuth."""
    q = ds.coordinates(r="m", theta=ds.ANGLE, phi=ds.ANGLE)
    p = ds.parameters(length=(1.0, "m", ds.POSITIVE), gravity=(9.81, "m/s^2"))
    around = q.r * ca.sin(q.theta) * q.dot.phi
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.r**2 + (q.r * q.dot.theta) ** 2 + around**2) / 2,
        potential=-p.gravity * q.r * ca.cos(q.theta),
        goals=[ds.Holonomic("rod", q.r - p.length)],
    )


def bead_on_a_turning_hoop(*, in_space=False):
    """A bead on a hoop about its vertical diameter; in space the constraints contain time."""
    q = ds.coordinates(x="m", y="m", z="m") if in_space else ds.coordinates(x="m", z="m")
    p = ds.parameters(radius=(1.0, "m"), gravity=(9.81, "m/s^2"), turning=(5.0, "rad/s"))
    kinetic = ca.sumsqr(q.dot.vector) / 2
    goals = [ds.Holonomic("hoop", ca.sumsqr(q.vector) - p.radius**2)]
    if in_space:
        angle = p.turning * ds.time
        goals.append(ds.Holonomic("plane", q.y * ca.cos(angle) - q.x * ca.sin(angle)))
    else:
        kinetic += (p.turning * q.x) ** 2 / 2
    return ds.MechanicalSystem(q, p, kinetic=kinetic, potential=p.gravity * q.z, goals=goals)


@cache
def skate():
    """A blade on ice, in velocities along the blade."""
    q = ds.coordinates(x="m", y="m", phi=ds.ANGLE)
    v = ds.velocities(forward="m/s", sideways="m/s", turning="rad/s")
    cosine, sine = ca.cos(q.phi), ca.sin(q.phi)
    moving = ca.vertcat(
        cosine * v.forward - sine * v.sideways, sine * v.forward + cosine * v.sideways, v.turning
    )
    return ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(v.vector) / 2,
        velocities=v,
        kinematics=moving,
        goals=[ds.Nonholonomic("blade", v.sideways)],
    )


def conical(theta, length, gravity):
    """The steady circle at a polar angle, with the frequency of small motions about it."""
    turning = np.sqrt(gravity / (length * np.cos(theta)))
    state = {"r": length, "theta": theta, "phi": 0.4, "phi_dot": turning, "theta_dot": 0.0}
    return state, turning * np.sqrt(1 + 3 * np.cos(theta) ** 2)


# -- equilibria ----------------------------------------------------------------------------------


def test_a_hanging_pendulum_has_the_two_eigenvalues_of_its_motion_and_none_of_feedback():
    found = ds.analysis.linearize(pendulum(), {"y": -2.0}, parameters={"length": 2.0})
    assert found.names == ("x", "x_dot")
    np.testing.assert_allclose(found.matrix, [[0, 1], [-9.81 / 2, 0]], rtol=1e-15, atol=1e-15)
    frequency = np.sqrt(9.81 / 2)
    np.testing.assert_allclose(found.eigenvalues, [-1j * frequency, 1j * frequency], rtol=1e-14)
    assert found.cyclic == ()
    assert found.residual < 1e-15


def test_an_upright_pendulum_falls_at_its_rate_and_moves_along_the_circle():
    found = ds.analysis.linearize(pendulum(), {"y": 1.0})
    np.testing.assert_allclose(found.eigenvalues, np.sqrt(9.81) * np.array([-1, 1]), rtol=1e-14)
    np.testing.assert_allclose(found.modes["y"], 0, atol=1e-15)
    np.testing.assert_allclose(
        found.modes["x_dot"], found.eigenvalues * found.modes["x"], rtol=1e-14
    )


@pytest.mark.parametrize("coordinates", [(), ("theta_1", "theta_2", "theta_3", "theta_4")])
def test_a_chain_in_maximal_coordinates_has_the_frequencies_of_its_angles(coordinates):
    reach = np.tril(np.ones((4, 4)), -1) + np.eye(4) / 2
    masses = reach.T @ reach + np.eye(4) / 12
    stiffness = np.diag(9.81 * (np.arange(4)[::-1] + 0.5))
    squares = eigh(stiffness, masses, eigvals_only=True)
    found = ds.analysis.linearize(chain(4), chain_state([0.0] * 4), coordinates=coordinates)
    np.testing.assert_allclose(np.sort(found.eigenvalues.imag)[4:] ** 2, squares, rtol=1e-12)
    np.testing.assert_allclose(found.eigenvalues.real, 0, atol=1e-12)
    angles = [f"theta_{k}" for k in range(1, 5)]
    rates = [f"theta_dot_{k}" for k in range(1, 5)]
    assert found.names == (*angles, *rates)
    np.testing.assert_allclose(
        found.matrix[4:, :4], -np.linalg.solve(masses, stiffness), atol=1e-10
    )


def test_an_implicit_unknown_is_carried_along():
    """A hoop at the bottom of a curve of curvature k: w^2 = g k / (2 (1 - r k))."""
    a, b = WHEEL.curve_a, WHEEL.curve_b
    lowest = np.roots([4, 3 * a, -2 * b, -a])
    lowest = float(lowest[np.argmin([12 * x**2 + 6 * a * x - 2 * b < 0 for x in lowest])].real)
    bend = 12 * lowest**2 + 6 * a * lowest - 2 * b
    square = WHEEL.gravity * bend / (2 * (1 - WHEEL.radius * bend))
    found = ds.analysis.linearize(wheel(), wheel_state(lowest, 0.0))
    assert found.cyclic == ("theta",)
    np.testing.assert_allclose(found.eigenvalues, [-1j * square**0.5, 1j * square**0.5], rtol=1e-10)
    turned = found.modes["alpha"] / found.modes["x"]
    np.testing.assert_allclose(turned, bend / (1 - WHEEL.radius * bend), rtol=1e-10)


def test_constraints_that_say_the_same_twice_change_nothing():
    def again(q, p):
        return [ds.Holonomic("again", 3 * (ca.sqrt(q.x**2 + q.y**2) - p.length))]

    once, twice = (
        ds.analysis.linearize(pendulum(goals=g), {"y": -1.0}) for g in (lambda q, p: [], again)
    )
    np.testing.assert_allclose(twice.matrix, once.matrix, rtol=1e-13, atol=1e-13)


def test_a_control_system_is_linearized_on_what_its_goal_leaves_free():
    x = ds.states(position="m", speed="m/s", load="m")
    u = ds.reactions(push="N")
    system = ds.ControlSystem(
        x,
        rate={"position": x.speed, "speed": u.push, "load": -2 * x.load + x.speed},
        controls=u,
        goals=[ds.Goal("hold", x.position, ideal=False)],
    )
    found = ds.analysis.linearize(system, {"position": 0.0})
    assert found.names == ("load",)
    np.testing.assert_allclose(found.matrix, [[-2.0]])


# -- steady motions ------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=12, derandomize=True, deadline=None)
@given(st.floats(0.1, 1.4), st.floats(0.2, 5.0), st.floats(1.0, 20.0))
def test_a_conical_pendulum_nutates_at_its_exact_frequency(theta, length, gravity):
    state, frequency = conical(theta, length, gravity)
    parameters = {"length": length, "gravity": gravity}
    found = ds.analysis.linearize(spherical_pendulum(), state, parameters=parameters)
    assert found.cyclic == ("phi",)
    assert found.names == ("theta", "theta_dot", "phi_dot")
    assert found.rates["phi"] == state["phi_dot"]
    expected = np.array([-1j, 0, 1j]) * frequency
    order = np.argsort(found.eigenvalues.imag)
    # The zero eigenvalue of the family of circles is a single one.
    np.testing.assert_allclose(found.eigenvalues[order], expected, atol=1e-12 * frequency)


def test_a_bead_on_a_turning_hoop_swings_about_its_tilted_equilibrium():
    cosine = 9.81 / 25.0
    sine = np.sqrt(1 - cosine**2)
    found = ds.analysis.linearize(bead_on_a_turning_hoop(), {"x": sine, "z": -cosine})
    np.testing.assert_allclose(found.eigenvalues, np.array([-5j, 5j]) * sine, rtol=1e-13)


@pytest.mark.parametrize("speed", [2.0, -2.0])
def test_a_sleigh_is_stable_with_its_mass_ahead_of_the_blade_alone(speed):
    found = ds.analysis.linearize(sleigh(), {"phi": 0.0, "x_dot": speed})
    assert found.cyclic == ("x", "y")
    # w' = -m a v w / (I + m a^2); heading and speed are free.
    np.testing.assert_allclose(
        np.sort(found.eigenvalues), np.sort([-0.1 * speed / 0.11, 0, 0]), atol=1e-14
    )


def test_a_spinning_body_needs_no_constant_attitude():
    """Euler's equations about the axis of symmetry: (C - A) / A of the spin."""
    found = ds.analysis.linearize(free_body(), {"w": 1.0, "wz": 3.0})
    assert found.cyclic == ("w", "i", "j", "k")
    np.testing.assert_allclose(np.sort(found.eigenvalues.imag), [-1.5, 0.0, 1.5], atol=1e-14)


def test_a_skate_that_turns_steadily_is_at_rest_but_for_its_place():
    found = ds.analysis.linearize(skate(), {"phi": 0.3, "forward": 2.0, "turning": 0.5})
    assert found.names == ("forward", "turning")
    assert found.cyclic == ("x", "y", "phi")
    np.testing.assert_array_equal(found.matrix, np.zeros((2, 2)))


def test_cyclic_coordinates_may_be_asked_for_where_they_move_uniformly():
    state = {"phi": 0.0, "forward": 2.0, "turning": 0.0}
    found = ds.analysis.linearize(skate(), state, coordinates=("y", "phi"))
    assert found.names == ("y", "phi", "phi_dot")
    np.testing.assert_allclose(found.matrix, [[0, 2, 0], [0, 0, 1], [0, 0, 0]], atol=1e-15)
    with pytest.raises(PosingError, match="'y' cannot be a coordinate of small motions"):
        ds.analysis.linearize(
            skate(), state | {"turning": 0.5}, coordinates=("y", "x", "phi", "forward")
        )


def test_the_matrix_is_the_gradient_of_the_motion_on_the_circle():
    """Two runs from opposite sides of the circle part as exp(A t) says, to second order."""
    state, _ = conical(0.7, 1.0, 9.81)
    found = ds.analysis.linearize(spherical_pendulum(), state)
    size, until = 1e-5, 0.8
    values, vectors = np.linalg.eig(found.matrix)
    flow = (vectors * np.exp(values * until)) @ np.linalg.inv(vectors)
    for column, name in enumerate(found.names):
        ends = [
            ds.solve(spherical_pendulum(), until, state | {name: state.get(name, 0.0) + way * size})
            for way in (1, -1)
        ]
        parted = [(ends[0][n][-1] - ends[1][n][-1]) / (2 * size) for n in found.names]
        np.testing.assert_allclose(parted, flow[:, column].real, atol=1e-8)


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "state", "named"),
    [
        (pendulum(), {"x": 1.0, "y": 0.0}, "'y_dot' changes at 9.81 per second"),
        (projectile(), {"y": 0.0}, "'y_dot' changes at 9.81 per second"),
        (
            spherical_pendulum(),
            {"r": 1.0, "theta": 0.7, "phi_dot": 1.0},
            "every state other than phi keeps",
        ),
        (bead_on_a_turning_hoop(in_space=True), {"x": 1.0, "y": 0.0}, "neither an equilibrium"),
    ],
)
def test_a_state_that_is_no_steady_motion_is_refused(system, state, named):
    with pytest.raises(NotStationaryError, match=named):
        ds.analysis.linearize(system, state)


def test_a_nearly_stationary_state_is_taken_where_that_is_allowed():
    state = {"x": 1e-6}
    with pytest.raises(NotStationaryError, match=r"1e-06 of its size, at most 1e-08 is allowed"):
        ds.analysis.linearize(pendulum(), state | {"y": -np.sqrt(1 - 1e-12)})
    found = ds.analysis.linearize(pendulum(), state | {"y": -np.sqrt(1 - 1e-12)}, tolerance=1e-5)
    assert 0.9e-6 < found.residual < 1.1e-6


@pytest.mark.parametrize(
    ("request_", "error", "sentence"),
    [
        ({"coordinates": ("forward", "phii")}, UnknownNameError, "did you mean 'phi'"),
        ({"coordinates": "phi"}, PosingError, r"\('phi',\) for a single one"),
        ({"coordinates": ("sideways",)}, PosingError, "'sideways' cannot be coordinates"),
        (
            {"coordinates": ("y",)},
            PosingError,
            "the motion of 'y', 'y_dot' depends on that of 'turning'",
        ),
        ({"parameters": {"mass": 1.0}}, UnknownNameError, "unknown parameter 'mass'"),
    ],
)
def test_what_cannot_be_asked_gets_one_sentence(request_, error, sentence):
    with pytest.raises(error, match=sentence):
        ds.analysis.linearize(skate(), {"forward": 1.0, "turning": 0.0, "phi": 0.0}, **request_)


def test_a_value_out_of_range_is_refused():
    with pytest.raises(OutOfRangeError, match=r"'length' is -1\.0, but must be > 0"):
        ds.analysis.linearize(spherical_pendulum(), {}, parameters={"length": -1.0})


def test_a_position_where_constraints_depend_on_each_other_has_no_tangent_space():
    flat = dict.fromkeys(four_bar_state(2), 0.0) | {"x_0": 1.0, "x_1": 2.0, "x_2": 3.0}
    with pytest.raises(DegenerateStartError, match="no tangent space"):
        ds.analysis.linearize(four_bar_windows(2), flat)


# -- on the command line -------------------------------------------------------------------------


def call(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.output, result.stderr, result.exception)
    return result


def test_every_problem_answers_to_linearization():
    words = ("analyse", "pendulum", "linearization", "--initial", "x=0", "--initial", "y=-1")
    answer = json.loads(call(*words, "--json").stdout)
    assert answer["names"] == ["x", "x_dot"]
    np.testing.assert_allclose(answer["matrix"]["x_dot"], [-9.81, 0.0], atol=1e-15)
    np.testing.assert_allclose(answer["eigenvalues"]["imaginary"], [-(9.81**0.5), 9.81**0.5])
    assert "eigenvalues:" in call(*words).stdout


def test_a_case_that_is_no_steady_motion_is_a_wrong_request():
    reported = call("analyse", "pendulum", "linearization", code=2).stderr
    assert "neither an equilibrium nor a steady motion: 'y_dot' changes at 9.81" in reported
    assert len(reported.strip().splitlines()) == 1


@pytest.mark.parametrize(("height", "names"), [(0.3, ("x", "y")), (0.0, ("x",))])
def test_an_open_contact_leaves_a_body_free_and_a_closed_one_holds_it(height, names):
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, closed=False)
    springs = 4.0 * q.x**2 / 2 + 9.0 * (q.y - 0.3) ** 2 / 2
    pressed = ca.if_else(q.y > 0.1, 0.0, -20.0)
    body = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=springs,
        force={"y": pressed},
        goals=[floor],
    )
    closed = {"contact_floor": float(height == 0.0)}
    small = ds.analysis.linearize(body, {"x": 0.0, "y": height}, parameters=closed)
    assert small.names == (*names, *(f"{name}_dot" for name in names))
    found = np.sort(np.abs(small.eigenvalues.imag))
    np.testing.assert_allclose(found, [2.0, 2.0, 3.0, 3.0][: 2 * len(names)], rtol=1e-14)


def test_notes_say_where_cyclic_coordinates_and_zero_eigenvalues_went():
    """A bead that swings in x, turns freely in phi, and drifts in y at will."""
    q = ds.coordinates(x="m", y="m", phi=ds.ANGLE)
    kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.phi**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=2 * q.x**2)
    found = ds.analysis.linearize(system, {"phi_dot": 3.0})
    first, second = found.notes
    assert "left out as cyclic: y, phi" in first
    assert "phi at 3" in first
    assert second.startswith("eigenvalues 0 besides: 2")
    assert second.endswith("they differ in y_dot, phi_dot")
    assert all(note in str(found) for note in found.notes)
    asked = ds.analysis.linearize(system, {}, coordinates=("x", "y"))
    assert any("eigenvalues 0 of y" in note for note in asked.notes)
    swing = ds.MechanicalSystem(q, kinetic=kinetic, potential=q.x**2 + q.y**2 + q.phi**2)
    assert ds.analysis.linearize(swing, {}).notes == ()
