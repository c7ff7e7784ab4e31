"""Directional and adjoint derivatives of units, against equations written by hand."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from fmpy.fmi3 import FMU3Model

import daesolve as ds
from tests.export.fmu.driving import begun, cart_pole, opened

KNOWNS = ["x", "angle", "x_dot", "angle_dot", "push", "torque", "length"]
UNKNOWNS = ["der(x_dot)", "der(angle_dot)", "energy"]
PLACE = [0.3, 0.4, -0.2, 0.7, 1.1, -0.4, 0.5]
SEED = np.array([0.3, -0.7, 0.2, 0.5, 1.1, -0.4, 0.9])
WEIGHTS = np.array([0.8, -0.3, 1.7])
ROUNDING = 1e-13
"""A derivative is exact but for the rounding of some hundred operations."""


def by_hand(known: np.ndarray) -> np.ndarray:
    """Return the accelerations and the energy of the cart with its pole."""
    _, angle, speed, turning, push, torque, length = known
    mass, gravity, sine, cosine = 0.3, 9.81, np.sin(angle), np.cos(angle)
    matrix = np.array([[1 + mass, mass * length * cosine], [mass * length * cosine, 0]])
    matrix[1, 1] = mass * length**2
    load = [push + mass * length * sine * turning**2, torque - gravity * mass * length * sine]
    bob = (speed + length * cosine * turning) ** 2 + (length * sine * turning) ** 2
    energy = speed**2 / 2 + mass * bob / 2 - gravity * mass * length * cosine
    return np.array([*np.linalg.solve(matrix, load), energy])


def jacobian() -> np.ndarray:
    """Return the derivatives of the unknowns by the knowns, by complex steps: no difference."""
    steps = 1e-30j * np.eye(len(KNOWNS))
    return np.array([by_hand(np.array(PLACE) + step).imag / 1e-30 for step in steps]).T


@pytest.fixture(scope="module")
def cart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a unit of the cart with its pole."""
    path = tmp_path_factory.mktemp("unit") / "cart.fmu"
    return cart_pole().to_fmu(path, {"angle": 0.4}).path


@pytest.fixture
def unit(cart: Path) -> Iterator[tuple[Any, dict[str, int]]]:
    """Yield the unit in continuous-time mode at the place."""
    unit, variables = opened(cart, FMU3Model)
    unit.setFloat64([variables[name] for name in KNOWNS], PLACE)
    begun(unit)
    unit.updateDiscreteStates()
    unit.enterContinuousTimeMode()
    yield unit, variables
    unit.freeInstance()


def test_derivatives_along_a_direction_are_those_of_the_equations(
    unit: tuple[Any, dict[str, int]],
) -> None:
    known, unknown = ([unit[1][name] for name in names] for names in (KNOWNS, UNKNOWNS))
    along = np.array(unit[0].getDirectionalDerivative(unknown, known, SEED.tolist()))
    expected = jacobian() @ SEED
    assert np.max(np.abs(along - expected)) < ROUNDING * np.max(np.abs(expected))


def test_adjoint_derivatives_are_those_of_the_equations(unit: tuple[Any, dict[str, int]]) -> None:
    known, unknown = ([unit[1][name] for name in names] for names in (KNOWNS, UNKNOWNS))
    # FMPy takes as many results as there are unknowns unless it is told otherwise.
    found = unit[0].getAdjointDerivative(unknown, known, WEIGHTS.tolist(), len(known))
    back = np.array(found)
    expected = WEIGHTS @ jacobian()
    assert np.max(np.abs(back - expected)) < ROUNDING * np.max(np.abs(expected))


def test_casadi_differentiates_a_unit_forwards_and_backwards(cart: Path) -> None:
    about = ca.DaeBuilder("cart", str(cart), {})
    function = about.create("f", ["x", "u"], ["ode", "y"])
    # The states, with that of the work of the inputs, and the inputs.
    place = [*PLACE[:4], 0.0], PLACE[4:6]
    rates, outputs = function(*place)
    rows = [about.x().index(name) for name in ("x_dot", "angle_dot")]
    assert np.allclose(np.ravel(rates[rows]), by_hand(np.array(PLACE))[:2], rtol=ROUNDING)
    energy = about.y().index("energy")
    weights = np.zeros(len(place[0])), np.zeros(outputs.numel())
    weights[0][rows], weights[1][energy] = WEIGHTS[:2], WEIGHTS[2]
    back = function.reverse(1)(*place, rates, outputs, *weights)
    own = np.concatenate([np.ravel(part) for part in back])
    expected = WEIGHTS @ jacobian()[:, :6]
    assert np.allclose(np.delete(own, 4), expected, rtol=ROUNDING, atol=ROUNDING)
    slopes = function.factory("J", ["x", "u"], ["jac:ode:x", "jac:ode:u"])(*place)
    found = np.hstack([np.array(ca.densify(part))[rows] for part in slopes])
    assert np.allclose(np.delete(found, 4, axis=1), jacobian()[:2, :6], atol=1e-12)


def test_indicators_have_derivatives_by_states_and_by_time(tmp_path: Path) -> None:
    q, d = ds.coordinates(x="m"), ds.discrete(one=0.0, other=0.0)
    falls = ds.Event("falls", q.x**2 - ds.time, ds.FALLING, ds.Reset({"one": d.one + 1}))
    either = ds.Event("either", q.x * q.dot.x + 5, ds.EITHER, ds.Reset({"other": 1.0}))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, discrete=d, events=[falls, either])
    unit, variables = opened(system.to_fmu(tmp_path / "c.fmu", {"x": 2.0}).path, FMU3Model)
    begun(unit)
    unit.updateDiscreteStates()
    unit.enterContinuousTimeMode()
    unknown = [variables[f"indicator({name})"] for name in ("falls", "either")]
    known = [0, variables["x"], variables["x_dot"]]
    # One that falls is shown as it is, and one that counts either way from the side on which it is.
    expected = np.array([[-1.0, 4.0, 0.0], [0.0, 0.0, 2.0]])
    for column, seed in zip(expected.T, np.eye(3), strict=True):
        assert unit.getDirectionalDerivative(unknown, known, seed.tolist()) == column.tolist()
    for row, seed in zip(expected, np.eye(2), strict=True):
        assert unit.getAdjointDerivative(unknown, known, seed.tolist(), 3) == row.tolist()
    numbers = (ctypes.c_double * 2)()
    unit.getEventIndicators(numbers, 2)
    assert [*numbers] == [4.0, 5.0]
    unit.freeInstance()
