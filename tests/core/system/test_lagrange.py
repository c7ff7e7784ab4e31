"""Lagrange's equations in quasi-velocities: their brackets, and Hamel's operator."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.posing.symbols import time
from daesolve.core.system.free_motion import Kinematics, hamel, lagrange


def test_velocities_that_mix_rates_by_numbers_alone():
    q = ds.coordinates(x="m", y="m")
    v = ds.velocities(a="m/s", b="m/s")
    system = ds.MechanicalSystem(
        q,
        velocities=v,
        kinematics=ca.vertcat(v.a + v.b, v.a - v.b),
        kinetic=(v.a**2 + v.b**2) / 2,
        potential=q.x**2 / 2,
    )
    run = ds.solve(system, 10.0, {"x": 1.0, "y": 0.0, "a": 0.0, "b": 0.0}, at=[10.0])
    assert run["x"][-1] == pytest.approx(np.cos(10.0 * np.sqrt(2.0)), abs=1e-13)


def test_a_small_structure_constant_is_not_taken_for_zero():
    """y' = b / (1 + e x): T = (a^2 + b^2) / 2 gives a' = e b^2 / (1 + e x) and b' = -e a b / (..).

    With e = 1e-11 and e b^2 = 1e6 the other terms are below 1e-5 of it for a second.
    """
    small = 1e-11
    q = ds.coordinates(x="m", y="m")
    v = ds.velocities(a="m/s", b="m/s")
    system = ds.MechanicalSystem(
        q,
        velocities=v,
        kinematics=ca.vertcat(v.a, v.b / (1 + small * q.x)),
        kinetic=(v.a**2 + v.b**2) / 2,
    )
    run = ds.solve(system, 1.0, {"x": 0.0, "y": 0.0, "a": 0.0, "b": np.sqrt(1e17)}, at=[1.0])
    assert run["a"][-1] == pytest.approx(1e6, rel=1e-4)


# -- Hamel's operator ------------------------------------------------------------------------------


def test_hamels_operator_of_the_lagrangian_gives_the_equations_of_motion():
    """In quasi-velocities whose directions depend on coordinates and on time."""
    q, v = ca.SX.sym("q", 3), ca.SX.sym("v", 3)
    a = ca.SX.sym("a", 3)
    turned = ca.blockcat(
        [[ca.cos(q[2]), -ca.sin(q[2]), 0], [ca.sin(q[2]), ca.cos(q[2]), q[0]], [0, 0, 1 + time**2]]
    )
    k = Kinematics(q, v, turned @ v, ca.SX(0, 1), True)
    kinetic = ((1 + q[0] ** 2) * v[0] ** 2 + v[1] ** 2 + v[2] ** 2 + v[0] * v[2]) / 2
    motion = lagrange(kinetic, ca.sin(q[1]), k)
    equations = hamel(kinetic - ca.sin(q[1]), k, a)
    error = ca.Function("e", [time, q, v, a], [equations - motion.mass @ a + motion.force])
    numbers = np.random.default_rng(3).normal(size=(3, 3))
    assert np.max(np.abs(np.asarray(error(0.4, *numbers)))) < 1e-14


def test_directions_that_change_with_time_alone_leave_a_free_motion_free():
    """x' = (2 + sin t) a: x'' = 0."""
    q, v = ds.coordinates(x="m"), ds.velocities(a="m/s")
    rate = (2 + ca.sin(time)) * v.a
    system = ds.MechanicalSystem(q, velocities=v, kinematics=rate, kinetic=rate**2 / 2)
    solver = ds.Dop853(rtol=1e-12, atol=1e-14)
    run = ds.solve(system, 2.0, {"x": 0.0, "a": 1.0}, at=[1.0, 2.0], solver=solver)
    assert run["x"] == pytest.approx([2.0, 4.0], rel=1e-11)
