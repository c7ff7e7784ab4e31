"""Feedback in quasi-velocities: a top, quaternions, brackets, a ball on a turntable."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.equations.consistency import instantaneous
from tests.systems import (
    EPSILON,
    free_body,
    numbers,
    prepared_run,
    quaternion_rates,
)


def test_a_symmetric_top_precesses_as_euler_s_equations_say():
    """w_x + i w_y turns at (C - A) / A w_z; the axis turns about L at |L| / A."""
    run = ds.solve(
        free_body(),
        50.0,
        {"w": 1.0, "i": 0.0, "j": 0.0, "k": 0.0, "wx": 0.6, "wy": 0.0, "wz": 2.0},
        at=ds.every(0.5),
    )
    t = run["t"]
    turn = (3.0 - 2.0) / 2.0 * 2.0
    assert run["wx"] == pytest.approx(0.6 * np.cos(turn * t), abs=1e-12)
    assert run["wy"] == pytest.approx(0.6 * np.sin(turn * t), abs=1e-12)
    assert run["wz"] == pytest.approx(2.0, abs=4 * EPSILON * 50)
    assert run.drift["norm"].max_abs <= 20 * EPSILON
    w, i, j, k = (run[n] for n in "wijk")
    axis = np.array([2 * (i * k + w * j), 2 * (j * k - w * i), 1 - 2 * (i * i + j * j)])
    momentum = np.array([2.0 * 0.6, 0.0, 3.0 * 2.0])  # in space, by the start
    along = momentum / np.linalg.norm(momentum)
    first = axis[:, 0]
    across = first - along * (along @ first)
    angle = np.linalg.norm(momentum) / 2.0 * t
    right = (
        np.outer(along, along @ first + 0 * t)
        + np.outer(across, np.cos(angle))
        + np.outer(np.cross(along, across), np.sin(angle))
    )
    assert axis == pytest.approx(right, abs=1e-12)


def test_a_quaternion_off_the_unit_sphere_returns_at_its_rate():
    """d = |q|^2 - 1 obeys d' = -rate d: its gradient, 2 q, does not vanish."""
    start = {"w": 1.0, "i": 0.0, "j": 0.0, "k": 0.0, "wx": 0.6, "wy": 0.1, "wz": 2.0}
    prepared = prepared_run(free_body(), 1.0, start)
    values = numbers(prepared, rate_norm=5.0)
    x = prepared.initial.copy()
    x[:4] *= 1.001
    rates = np.asarray(prepared.problem.rhs(0.0, x, values)).ravel()
    square = x[:4] @ x[:4]
    law = -5.0 * (square - 1.0)
    assert 2 * x[:4] @ rates[:4] == pytest.approx(law, rel=1e-11)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_brackets_make_quasi_velocities_equal_to_coordinates(seed):
    """A polar particle by (r', phi') and by v = (r' cos phi - r phi' sin phi, ...) + phi' e_x.

    The second is not integrable: its brackets do not vanish.
    """
    q = ds.coordinates(r="m", phi=ds.ANGLE, z="m")
    plain = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.r**2 + (q.r * q.dot.phi) ** 2 + q.dot.z**2 + q.dot.z * q.dot.r) / 2,
        potential=q.r**2 + q.z * ca.cos(q.phi),
    )
    v = ds.velocities(a="m/s", b="m/s", c="m/s")
    kinematics = ca.vertcat(
        v.a * ca.cos(q.phi) + v.b * ca.sin(q.phi) + q.z * v.c,
        (v.b * ca.cos(q.phi) - v.a * ca.sin(q.phi)) / q.r,
        v.c + q.r * v.a,
    )
    quasi = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.r**2 + (q.r * q.dot.phi) ** 2 + q.dot.z**2 + q.dot.z * q.dot.r) / 2,
        potential=q.r**2 + q.z * ca.cos(q.phi),
        velocities=v,
        kinematics=kinematics,
    )
    generator = np.random.default_rng(seed)
    place, speed = generator.uniform(0.5, 1.5, 3), generator.normal(size=3)
    function = ca.Function(
        "s", [q.vector, v.vector], [kinematics, ca.jacobian(kinematics, v.vector)]
    )
    q_dot, directions = (np.asarray(part) for part in function(place, speed))
    along = np.asarray(
        ca.Function("d", [q.vector, v.vector], [ca.jtimes(kinematics, q.vector, ca.SX(q_dot))])(
            place, speed
        )
    ).ravel()
    if np.linalg.cond(directions) > 30:
        return
    a_quasi, _ = instantaneous(
        quasi.dynamics, 0.0, np.concatenate([place, speed]), quasi.dynamics.value_vector({})
    )
    a_plain, _ = instantaneous(
        plain.dynamics, 0.0, np.concatenate([place, q_dot.ravel()]), plain.dynamics.value_vector({})
    )
    size = max(np.linalg.norm(a_plain), np.linalg.norm(along), 1.0)
    # the left inverse is (S^T S)^-1 S^T, solved by orthogonal rows: the condition counts 4 times
    allowed = 20 * EPSILON * np.linalg.cond(directions) ** 4 * size
    assert np.linalg.norm(directions @ a_quasi + along - a_plain) <= allowed


def test_kinematics_must_be_linear_in_the_quasi_velocities():
    q = ds.coordinates(x="m")
    v = ds.velocities(u="m/s")
    with pytest.raises(ds.DaesolveError, match="linear in the quasi-velocities"):
        ds.MechanicalSystem(q, kinetic=v.u**2 / 2, velocities=v, kinematics=v.u + ca.SX(1))


def test_a_rolling_ball_on_a_turntable_goes_in_circles():
    """With quasi-velocities: a homogeneous ball circles at 2/7 of the table's rate."""
    q = ds.coordinates(x="m", y="m", w="", i="", j="", k="")
    v = ds.velocities(vx="m/s", vy="m/s", wx="rad/s", wy="rad/s", wz="rad/s")
    p = ds.parameters(radius=0.5, turning=3.0)
    spin = quaternion_rates_in_space(q, v)
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=(v.vx**2 + v.vy**2 + 0.4 * p.radius**2 * (v.wx**2 + v.wy**2 + v.wz**2)) / 2,
        velocities=v,
        kinematics=ca.vertcat(v.vx, v.vy, spin),
        goals=[
            ds.Nonholonomic("slip_x", v.vx - p.radius * v.wy + p.turning * q.y),
            ds.Nonholonomic("slip_y", v.vy + p.radius * v.wx - p.turning * q.x),
            ds.Invariant("norm", q.w**2 + q.i**2 + q.j**2 + q.k**2, drive=True, on="positions"),
        ],
    )
    run = ds.solve(
        system, 20.0, {"x": 1.0, "y": 0.0, "w": 1.0, "i": 0.0, "j": 0.0, "k": 0.0, "vx": 0.3,
                       "vy": 0.2, "wz": 0.0}, at=ds.every(0.25)
    )  # fmt: skip
    rate = 2.0 / 7.0 * 3.0
    velocity = (0.3 + 0.2j) * np.exp(1j * rate * run["t"])
    place = 1.0 + (0.3 + 0.2j) * (np.exp(1j * rate * run["t"]) - 1) / (1j * rate)
    assert run["vx"] + 1j * run["vy"] == pytest.approx(velocity, abs=1e-12)
    assert run["x"] + 1j * run["y"] == pytest.approx(place, abs=1e-12)


def quaternion_rates_in_space(q, v):
    """q' for the angular velocity in space-fixed axes."""
    return (
        ca.vertcat(
            -q.i * v.wx - q.j * v.wy - q.k * v.wz,
            q.w * v.wx - q.j * v.wz + q.k * v.wy,
            q.w * v.wy - q.k * v.wx + q.i * v.wz,
            q.w * v.wz - q.i * v.wy + q.j * v.wx,
        )
        / 2
    )


def test_both_kinds_of_rates_describe_one_rotation():
    """Body and space rates of a turn about the common axis are the same."""
    q = ds.coordinates(w="", i="", j="", k="")
    v = ds.velocities(wx="", wy="", wz="")
    body, space = quaternion_rates(q, v), quaternion_rates_in_space(q, v)
    function = ca.Function("f", [q.vector, v.vector], [body, space])
    turn = np.array([np.cos(0.4), 0.0, np.sin(0.4), 0.0])
    first, second = function(turn, [0.0, 1.7, 0.0])
    assert np.asarray(first) == pytest.approx(np.asarray(second), abs=1e-16)
