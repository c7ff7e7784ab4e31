"""The exact Jacobian by the implicit function theorem is that of the eliminated code."""

import functools
from collections.abc import Callable
from typing import Any

import casadi as ca
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.expressions.evaluation import BufferedFunction
from daesolve.core.expressions.translation import translate
from daesolve.core.formulations import OdeProblem
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.solvers.jacobians import (
    FactorisedJacobian,
    exact_jacobian,
    factorises,
    written_out,
)
from tests.systems import oscillator, pendulum, prepared_run, sleigh, wheel, wheel_state

RELATIVE = 1e-9
"""Of the largest entry: of either Jacobian rounding leaves 1e-16 times the condition of the
saddle matrix, which is below 1e6 at the states of these tests."""
HANGING = {"guess": {"y": -0.8}}
UNITS = {"x": "m", "y": "m", "angle": ds.ANGLE}
MPMATH = {
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b,
    ca.OP_NEG: lambda a: -a,
    ca.OP_INV: lambda a: 1 / a,
    ca.OP_SQ: lambda a: a * a,
    ca.OP_TWICE: lambda a: 2 * a,
    ca.OP_SIN: mpmath.sin,
    ca.OP_COS: mpmath.cos,
    ca.OP_TANH: mpmath.tanh,
}
"""The operations of `brush` in the arithmetic of mpmath."""


def chain(count: int) -> tuple[ds.MechanicalSystem, dict[str, float]]:
    """Rods in the plane, each hinged to the one before it, in maximal coordinates; their start."""
    units = {f"{name}{k}": unit for k in range(count) for name, unit in UNITS.items()}
    q = ds.coordinates(**units)
    p = ds.parameters(mass=(1.0, "kg"), half=(0.5, "m"), gravity=(9.81, "m/s^2"))
    kinetic, potential, goals = ca.SX(0), ca.SX(0), []
    pin = ca.SX(2, 1)
    start: dict[str, float] = {}
    for k in range(count):
        centre = ca.vertcat(getattr(q, f"x{k}"), getattr(q, f"y{k}"))
        arm = p.half * ca.vertcat(ca.sin(getattr(q, f"angle{k}")), -ca.cos(getattr(q, f"angle{k}")))
        rates = [getattr(q.dot, f"{name}{k}") for name in UNITS]
        kinetic += p.mass * (rates[0] ** 2 + rates[1] ** 2 + (p.half * rates[2]) ** 2 / 3) / 2
        potential += p.mass * p.gravity * centre[1]
        goals += [
            ds.Holonomic(f"{axis}_{k}", (centre - arm - pin)[number])
            for number, axis in enumerate("xy")
        ]
        pin = centre + arm
        start |= {f"x{k}": 0.5 + k, f"y{k}": 0.0, f"angle{k}": np.pi / 2, f"y{k}_dot": 0.1 * k}
    system = ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential, goals=goals)
    return system, start


def brush() -> ds.MechanicalSystem:
    """A point on a rough line: friction depends on the reaction, its work and heat are metered."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(gravity=(9.81, "m/s^2"), friction=(0.3, ""), slope=(0.2, ""))
    line = ds.Holonomic("line", q.y - p.slope * ca.sin(q.x))
    pull = -p.friction * line.reaction * ca.tanh(q.dot.x)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.gravity * q.y,
        force={"x": pull},
        meters={"heat": (-pull * q.dot.x, "J")},
        goals=[line],
    )


def resting_on_bowl(*, closed: bool) -> ds.MechanicalSystem:
    """A point and a bowl that can only push."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(gravity=(9.81, "m/s^2"))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.gravity * q.y,
        goals=[ds.Contact("bowl", q.y - q.x**2, closed=closed)],
    )


def spherical() -> ds.MechanicalSystem:
    """A pendulum in space about a fixed axis: energy and angular momentum are both fed back."""
    q = ds.coordinates(x="m", y="m", z="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 + q.z**2 - 1.0)
    spin = ds.Invariant("spin", q.x * q.dot.y - q.y * q.dot.x)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=9.81 * q.z,
        goals=[rod, spin],
    )


def twice() -> ds.MechanicalSystem:
    """A pendulum whose rod is posed twice: reactions of minimum norm."""
    return pendulum(goals=lambda q, p: [ds.Holonomic("again", 2 * (q.x**2 + q.y**2 - p.length**2))])


def _prepared(name: str) -> Prepared:
    if name == "chain":
        system, start = chain(4)
        return prepared_run(system, 1.0, start)
    make, initial, options = POSED[name]
    return prepared_run(make(), 1.0, initial, **options)


POSED: dict[str, tuple[Callable[[], ds.MechanicalSystem], dict[str, float], dict[str, Any]]] = {
    "free": (oscillator, {"x_dot": 1.0}, {}),
    "holonomic": (pendulum, {"x": 0.6, "x_dot": 0.4}, HANGING),
    "energy measured": (
        pendulum,
        {"x": 0.6, "x_dot": 0.4},
        HANGING | {"formulation": ds.Feedback(rates={"energy": None})},
    ),
    "nonholonomic": (sleigh, {"x_dot": 1.0, "phi_dot": 0.3}, {}),
    "implicit and directed": (wheel, wheel_state(0.3, 0.4), {}),
    "friction and meters": (brush, {"x": 0.3, "x_dot": 1.0}, {}),
    "let go": (functools.partial(resting_on_bowl, closed=False), {"x": 0.3, "y": 1.0}, {}),
    "held": (functools.partial(resting_on_bowl, closed=True), {"x": 0.3, "x_dot": 0.2}, {}),
    "two invariants": (spherical, {"x": 0.6, "y_dot": 0.8}, {"guess": {"z": -0.8}}),
    "redundant": (twice, {"x": 0.6, "x_dot": 0.4}, HANGING | {"redundant": "minimum-norm"}),
    "passing": (pendulum, {"x": 0.6, "x_dot": 0.4}, HANGING | {"rank_loss": "pass"}),
}


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("name", [*POSED, "chain"])
@settings(derandomize=True, max_examples=8, deadline=None)
@given(data=st.data())
def test_both_ways_give_the_same_jacobian(name: str, data: st.DataObject) -> None:
    prepared = _known(name)
    problem, p = prepared.problem, prepared.values
    moves = st.lists(st.floats(-0.1, 0.1), min_size=problem.size, max_size=problem.size)
    x = prepared.initial + np.array(data.draw(moves))
    assert problem.equations is not None
    factorised = FactorisedJacobian(problem.equations, p)(0.3, x)
    written = BufferedFunction(written_out(problem), p).matrix(0.3, x)
    assert np.max(np.abs(factorised - written)) <= RELATIVE * np.max(np.abs(written))


_known = functools.cache(_prepared)


def test_it_is_the_derivative_of_the_rate_in_high_precision() -> None:
    """Central differences of the rate in 40 digits, by a step of 1e-12: right to 1e-24."""
    prepared = _known("friction and meters")
    problem, x = prepared.problem, prepared.initial
    assert problem.equations is not None
    found = FactorisedJacobian(problem.equations, prepared.values)(0.0, x)
    with mpmath.workdps(40):
        step = mpmath.mpf("1e-12")
        for column in range(problem.size):
            sides = [
                _rate(problem, [*map(mpmath.mpf, x)], column, sign * step, prepared.values)
                for sign in (1, -1)
            ]
            slope = [float((a - b) / (2 * step)) for a, b in zip(*sides, strict=True)]
            np.testing.assert_allclose(found[:, column], slope, rtol=1e-12, atol=1e-12)


def _rate(problem: OdeProblem, x: list[Any], column: int, move: Any, p: np.ndarray) -> list[Any]:
    moved = [entry + (move if k == column else 0) for k, entry in enumerate(x)]
    values = [[mpmath.mpf(0)], moved, [*map(mpmath.mpf, p)]]
    return translate(problem.rhs, values, MPMATH, mpmath.mpf)[0]


@pytest.mark.slow
def test_what_costs_less_is_chosen_by_the_length_of_the_code() -> None:
    assert not factorises(_known("holonomic").problem)
    system, start = chain(20)
    large = prepared_run(system, 1.0, start)
    assert factorises(large.problem)
    assert isinstance(exact_jacobian(large.problem, large.values), FactorisedJacobian)


def test_a_singular_matrix_gives_no_number() -> None:
    prepared = _known("holonomic")
    assert prepared.problem.equations is not None
    at_the_pivot = prepared.initial * 0.0
    found = FactorisedJacobian(prepared.problem.equations, prepared.values)(0.0, at_the_pivot)
    assert np.all(np.isnan(found))


def test_sparse_and_dense_factorisations_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = _known("chain")
    assert prepared.problem.equations is not None
    jacobian = FactorisedJacobian(prepared.problem.equations, prepared.values)
    dense = jacobian(0.0, prepared.initial)
    monkeypatch.setattr("daesolve.core.solvers.jacobians.LARGE", 1)
    sparse = jacobian(0.0, prepared.initial)
    np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-12 * np.max(np.abs(dense)))


@pytest.mark.slow
def test_a_stiff_run_with_either_jacobian_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[list[float]] = []
    for least in (-(10**9), 10**9):
        monkeypatch.setattr("daesolve.core.solvers.jacobians.FIXED", least)
        system, start = chain(2)
        run = ds.solve(system, 0.02, start, solver=ds.RadauIIA(rtol=1e-8, atol=1e-10))
        ends.append(list(run.at(0.02).values.values()))
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-8)
