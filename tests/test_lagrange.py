"""The brackets of quasi-velocities: what is a whole number is written as one, and nothing else."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds


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
