"""Optimal motions against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds


def carriage() -> ds.MechanicalSystem:
    """A mass on a line that a force pushes."""
    q, u = ds.coordinates(x="m"), ds.inputs(force="N")
    p = ds.parameters(mass=(1.0, "kg"))
    kinetic = p.mass * q.dot.x**2 / 2
    return ds.MechanicalSystem(q, p, kinetic=kinetic, force={"x": u.force}, inputs=u)


@pytest.fixture(scope="module")
def cart() -> ds.MechanicalSystem:
    return carriage()


def test_least_effort_from_rest_to_rest_has_a_linear_force(cart: ds.MechanicalSystem) -> None:
    # x'' = 6 d / T^2 - 12 d t / T^3 has the integral of its square 12 d^2 / T^3.
    found = ds.optimise(
        cart,
        lambda now: now["force"] ** 2,
        time=2.0,
        start={"x": 0.0},
        end={"x": 1.0, "x_dot": 0.0},
        nodes=3,
    )
    assert found.cost == pytest.approx(1.5, rel=1e-12)
    force = 1.5 - 1.5 * found.run.times
    # A force that differs by d from the best one costs d^2 more, which rounding hides up to 1e-7.
    assert np.max(np.abs(found["force"] - force)) < 1e-6
    assert found.run.audited is not None
    assert max(found.excesses.values()) < 1e-11


def test_shortest_time_from_rest_to_rest_is_two_arcs(cart: ds.MechanicalSystem) -> None:
    found = ds.optimise(
        cart,
        time=(0.1, 20.0),
        start={"x": 0.0},
        end={"x": 4.0, "x_dot": 0.0},
        bounds={"force": (-1.0, 1.0)},
        nodes=5,
    )
    assert found.duration == pytest.approx(4.0, rel=1e-10)
    assert np.max(np.abs(found["force"])) <= 1.0 + 1e-12
