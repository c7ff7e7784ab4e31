"""Large stiff systems: radau is chosen, keeps its order, and agrees with closed forms."""

import functools
from dataclasses import dataclass
from typing import cast

import casadi as ca
import numpy as np
import pytest
import scipy

import daesolve as ds
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers import jacobians
from daesolve.core.solvers.collocation import Collocated, radau
from tests.systems import four_bar_state, four_bar_windows, prepared_run

COUNT, DAMPING, STIFFNESS = 150, 1500.0, 4.0
"""Unit masses in a row; N s/m between neighbours; N/m from each to the ground."""


@functools.cache
def row_of_masses() -> ds.MechanicalSystem:
    """Relative speeds decay with up to four times the damping, and all masses swing together."""
    q = ds.coordinates(**{f"x_{k}": "m" for k in range(COUNT)})
    places = ca.vertcat(*[q[f"x_{k}"] for k in range(COUNT)])
    speeds = ca.vertcat(*[q.dot[f"x_{k}"] for k in range(COUNT)])
    slips = DAMPING * (speeds[1:] - speeds[:-1])
    force = ca.vertcat(slips, 0) - ca.vertcat(0, slips)
    return ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(speeds) / 2,
        potential=STIFFNESS * ca.sumsqr(places) / 2,
        force={f"x_{k}": force[k] for k in range(COUNT)},
    )


def start_speeds() -> np.ndarray:
    return np.cos(np.arange(COUNT) ** 2 / 10.0)


def start() -> dict[str, float]:
    return {f"x_dot_{k}": float(speed) for k, speed in enumerate(start_speeds())}


def exact(time: float) -> np.ndarray:
    """Positions and speeds by the matrix exponential of each mode of the damping."""
    turns = np.pi * np.arange(COUNT) / COUNT
    rates = 2.0 * DAMPING * (1.0 - np.cos(turns))
    modes = np.cos(np.outer(np.arange(COUNT) + 0.5, turns))
    modes /= np.linalg.norm(modes, axis=0)
    parts = modes.T @ start_speeds()
    after = np.array(
        [
            scipy.linalg.expm(np.array([[0.0, 1.0], [-STIFFNESS, -rate]]) * time) @ [0.0, part]
            for rate, part in zip(rates, parts, strict=True)
        ]
    )
    return np.concatenate([modes @ after[:, 0], modes @ after[:, 1]])


def states(run: ds.Trajectory, index: int) -> np.ndarray:
    names = [f"x_{k}" for k in range(COUNT)] + [f"x_dot_{k}" for k in range(COUNT)]
    return np.array([run.states[name][index] for name in names])


@pytest.mark.slow
def test_a_damped_row_of_masses_is_integrated_implicitly_to_its_closed_form() -> None:
    """A tolerance of each step gives at most a hundred times that in the end.

    The dampers take what is left of the kinetic energy of all relative motions.
    """
    times = [0.001, 0.37, 3.3, 10.0]
    run = ds.solve(row_of_masses(), 10.0, start(), at=times, rtol=1e-8, atol=1e-10)
    assert any(
        note.startswith("stiff: decays at 6e+03 1/s, the motion at 2 1/s") for note in run.notes
    )
    for index, time in enumerate(times):
        np.testing.assert_allclose(states(run, index), exact(time), rtol=0, atol=1e-6)
    # Stability alone would ask an explicit method for 6000 * 10 / 8.8 steps.
    assert run.statistics.steps < 6000 * 10 / 8.8 / 20
    first, last = (0.5 * np.sum(start_speeds() ** 2), exact(10.0))
    left = 0.5 * np.sum(last[COUNT:] ** 2) + 0.5 * STIFFNESS * np.sum(last[:COUNT] ** 2)
    assert run.outputs["work"][-1] == pytest.approx(left - first, rel=1e-6)


@pytest.mark.slow
def test_an_explicit_method_keeps_the_system_and_is_told_what_is_faster() -> None:
    prepared = prepared_run(row_of_masses(), 10.0, start(), solver=ds.Taylor())
    (note,) = [note for note in prepared.notes if "stiff" in note]
    assert isinstance(prepared.solver, ds.Taylor)
    assert note.startswith("the equations are stiff for taylor: decays at 6e+03 1/s")
    assert note.endswith("radau needs far fewer")


@pytest.mark.slow
def test_a_short_run_is_not_worth_an_implicit_method() -> None:
    assert isinstance(prepared_run(row_of_masses(), 1.0, start()).solver, ds.Taylor)


@dataclass(frozen=True, eq=False)
class Equation:
    """What collocation needs of a problem without goals."""

    rhs: ca.Function
    size: int
    project: None = None
    equations: None = None


def end(stages: int, count: int, until: float, rate: ca.SX, x: np.ndarray) -> float:
    """Take steps of one length of x' = rate in T and X; return the first state at the end."""
    rhs = ca.Function("rate", [T, X[: len(x)], ca.SX.sym("p", 0)], [rate])
    problem = cast("OdeProblem", Equation(rhs, len(x)))
    method, h = Collocated(problem, np.zeros(0), radau(stages), 1e-12, 1e-12), until / count
    assert method.equations.move(0.0, x)
    solves = method.factorise(h)
    assert solves is not None
    for number in range(count):
        guess = np.zeros((stages, len(x)))
        found = method.collocate(number * h, x, h, guess, solves, method.scale(x), 1.0)
        assert found.converged
        x = x + found.z[-1]
    return float(x[0])


T, X = ca.SX.sym("t"), ca.SX.sym("x", 2)


@pytest.mark.parametrize(("stages", "count"), [(3, 16), (5, 6), (7, 1)])
def test_the_order_is_one_less_than_twice_the_stages(stages: int, count: int) -> None:
    """Halved steps of an oscillation divide the error by about 2^(2 s - 1)."""
    rate, start = ca.vertcat(X[1], -X[0]), np.array([0.0, 1.0])
    errors = [abs(end(stages, count * parts, 5.0, rate, start) - np.sin(5.0)) for parts in (1, 2)]
    assert 2 * stages - 2.0 < np.log2(errors[0] / errors[1]) < 2 * stages - 0.5


@pytest.mark.parametrize("stages", [3, 5, 7])
def test_the_order_under_stiffness_is_more_than_the_stages(stages: int) -> None:
    """Prothero and Robinson's x' = 1e6 (sin t - x) + cos t: decays cost orders."""
    rate, start = 1e6 * (ca.sin(T) - X[0]) + ca.cos(T), np.zeros(1)
    errors = [abs(end(stages, count, 3.0, rate, start) - np.sin(3.0)) for count in (2, 4)]
    assert np.log2(errors[0] / errors[1]) > stages - 0.5


@pytest.mark.parametrize("stages", [5, 7])
def test_a_relaxation_oscillation_agrees_with_scipy(stages: int) -> None:
    """Van der Pol's equation with mu = 100: slow creep, and fast jumps."""
    q = ds.coordinates(x="m")
    force = 100.0 * (1.0 - q.x**2) * q.dot.x - q.x
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force})
    solver = ds.RadauIIA(rtol=1e-9, atol=1e-11, stages=stages)
    run = ds.solve(system, 200.0, {"x": 2.0}, solver=solver, at=[40.0, 130.0, 200.0])
    other = scipy.integrate.solve_ivp(
        lambda _, y: [y[1], 100.0 * (1.0 - y[0] ** 2) * y[1] - y[0]],
        (0.0, 200.0), [2.0, 0.0], "LSODA", [40.0, 130.0, 200.0], rtol=1e-11, atol=1e-13,
    )  # fmt: skip
    np.testing.assert_allclose(run["x"], other.y[0], rtol=0, atol=1e-6)


def test_redundant_loops_agree_with_taylor_when_their_reactions_stay_unknowns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four-bar linkages in a row, also at samples between steps."""
    monkeypatch.setattr(jacobians, "_costs_less", lambda problem: True)
    at = np.linspace(0.0, 0.5, 41)
    runs = [
        ds.solve(four_bar_windows(2), 0.5, four_bar_state(2), solver=solver, at=at)
        for solver in (ds.RadauIIA(rtol=1e-9, atol=1e-11), ds.Taylor())
    ]
    for name in ("x_0", "y_0", "x_2", "y_2"):
        np.testing.assert_allclose(runs[0][name], runs[1][name], rtol=0, atol=1e-7)
