"""Runs of any length, time and mass are as accurate as those about 1, with every solver."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ellipj, ellipk

import daesolve as ds
from daesolve.core.solvers.scaling import Scaling, scaled

PAIRS = [
    ("feedback", "taylor"),
    ("feedback", "cvodes"),
    ("feedback", "dop853"),
    ("feedback", "radau"),
    ("feedback", "lsoda"),
    ("feedback", "sundae-cvode"),
    ("feedback", "assimulo-cvode"),
    ("projected", "radau"),
    ("null-space", "dop853"),
    ("index-1", "idas"),
    ("index-2", "sundae-ida"),
    ("ggl", "idas"),
    ("index-3", "sundae-ida"),
    ("index-2", "assimulo-radau5"),
    ("overdetermined", "assimulo-odassl"),
]
UNITS = [(1e-15, 1.0), (1e-9, 1e-9), (1e-9, 1e-4), (1e9, 1e9), (1e12, 1.0), (1.0, 1e9)]
"""Lengths in m and times in s by which those of a motion are multiplied."""


def pendulum() -> ds.MechanicalSystem:
    """Return a pendulum in Cartesian coordinates."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(length=(1.0, "m"), gravity=(1.0, "m/s^2"), mass=(1.0, "kg"))
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.mass * p.gravity * q.y,
        goals=[rod],
    )


PENDULUM = pendulum()


def error_of(length: float, second: float, mass: float = 1.0, **options: object) -> float:
    """Return the largest error of the pendulum let go at the horizontal, over its length.

    With k = sin(45 degrees) it is sin(phi / 2) = k sn(K - t, k) in units of sqrt(length / g).
    """
    run = ds.solve(
        PENDULUM,
        until=10.0 * second,
        initial={"x": length},
        guess={"y": 0.0},
        parameters={"length": length, "gravity": length / second**2, "mass": mass},
        default_rate=1.0 / second,
        at=np.linspace(0.0, 10.0 * second, 21),
        **options,
    )
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    k = math.sqrt(0.5)
    half = k * ellipj(ellipk(k**2) - run.times / second, k**2)[0]
    x, y = 2.0 * half * np.sqrt(1.0 - half**2), 2.0 * half**2 - 1.0
    return float(max(np.max(abs(run["x"] / length - x)), np.max(abs(run["y"] / length - y))))


def made(formulation: str, solver: str) -> dict[str, object]:
    """Return the options of a pair, if its backend is installed."""
    try:
        return {"formulation": formulation, "solver": ds.solvers.SOLVERS[solver]()}
    except ds.errors.MissingBackendError:
        pytest.skip(f"{solver} is not installed")


@pytest.mark.long_rows("index-3-sundae-ida")
@pytest.mark.long_beyond(7)
@pytest.mark.slow
@pytest.mark.parametrize(("formulation", "solver"), PAIRS)
def test_pendulum_of_any_size_is_as_accurate_as_one_of_a_metre(formulation, solver) -> None:
    options = made(formulation, solver)
    usual = error_of(1.0, 1.0, **options)
    for length, second in UNITS[::2] if solver.startswith("assimulo") else UNITS:
        # Steps differ by where rounding makes them differ; index 3 is rough, so errors scatter.
        assert error_of(length, second, **options) < 12.0 * usual + 1e-14


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.integers(-50, 40), st.integers(-30, 30), st.integers(-60, 60))
def test_errors_do_not_depend_on_units(length: int, second: int, mass: int) -> None:
    found = error_of(2.0**length, 2.0**second, 2.0**mass, solver="dop853")
    assert found < 12.0 * error_of(1.0, 1.0, solver="dop853")


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["taylor", "cvodes", "dop853", "radau", "lsoda"])
@pytest.mark.parametrize(("length", "second"), UNITS)
def test_ball_of_any_size_bounces_as_one_of_a_metre(solver, length, second) -> None:
    """Let go at 1 with g = 2 it lands at 1, and with e = 1/2 again one, then a half later."""
    q = ds.coordinates(y="m")
    p = ds.parameters(gravity=(2.0, "m/s^2"))
    floor = ds.Event("floor", q.y, ds.FALLING, ds.Reset({"y_dot": -q.dot.y / 2}))
    ball = ds.MechanicalSystem(
        q, p, kinetic=q.dot.y**2 / 2, potential=p.gravity * q.y, events=[floor]
    )
    run = ds.solve(
        ball,
        until=2.6 * second,
        initial={"y": length},
        parameters={"gravity": 2.0 * length / second**2},
        solver=solver,
    )
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    times = [event.time / second for event in run.events]
    assert times == pytest.approx([1.0, 2.0, 2.5], rel=1e-9)


@pytest.mark.parametrize("solver", ["taylor", "cvodes", "dop853", "lsoda"])
def test_pendulum_of_a_nanometre(solver) -> None:
    usual = error_of(1.0, 1.0, **made("feedback", solver))
    assert error_of(1e-9, 1e-5, **made("feedback", solver)) < 12.0 * usual + 1e-14


@pytest.mark.slow
def test_two_oscillators_of_sizes_far_apart_keep_their_digits() -> None:
    """Beside one of 1e9 m, one of 1 m is not to be judged by the size of that."""
    q = ds.coordinates(a="m", b="m")
    pair = ds.MechanicalSystem(
        q, kinetic=(q.dot.a**2 + q.dot.b**2) / 2, potential=(q.a**2 + 4.0 * q.b**2) / 2
    )
    for solver in ("cvodes", "dop853", "lsoda"):
        run = ds.solve(pair, until=20.0, initial={"a": 1e9, "b": 1.0}, solver=solver)
        assert run["a"] / 1e9 == pytest.approx(np.cos(run.times), abs=1e-7)
        assert run["b"] == pytest.approx(np.cos(2.0 * run.times), abs=1e-7)


def test_exponents_of_usual_sizes_are_zero_and_change_nothing() -> None:
    run = ds.solve(PENDULUM, until=1.0, initial={"x": 1.0}, guess={"y": 0.0}, solver="dop853")
    assert not any(note.startswith("scaled") for note in run.description["notes"])


def test_exponents_stand_in_the_notes() -> None:
    run = ds.solve(
        PENDULUM,
        until=1e-4,
        initial={"x": 1e-9},
        guess={"y": 0.0},
        parameters={"length": 1e-9, "gravity": 1.0},
        solver="dop853",
    )
    note = next(note for note in run.description["notes"] if note.startswith("scaled"))
    assert "x, y by 2^-30" in note


def test_body_at_rest_is_not_scaled_by_its_rounding() -> None:
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
    hanging = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=9.81 * q.y, goals=[rod]
    )
    run = ds.solve(hanging, until=100.0, initial={"x": 0.0, "y": -1.0}, solver="dop853")
    assert run.outcome is ds.Outcome.COMPLETED
    assert abs(run.end_state["x"]) < 1e-12


def test_scaled_problem_is_the_same_one_in_other_units() -> None:
    from daesolve.core.preparation.preparing import prepare
    from daesolve.core.preparation.request import Request

    request = Request(until=1.0, initial={"x": 1.0}, guess={"y": 0.0})
    problem = prepare(PENDULUM, request).problem
    scaling = Scaling((3, 3, -2, -2), (3, 3, -2, -2), time=5)
    other, p = scaled(problem, scaling), problem.value_vector({})
    x = np.array([0.6, -0.8, 0.4, 0.3])
    units = np.ldexp(1.0, [3, 3, -2, -2])
    expected = 32.0 * np.asarray(problem.rhs(0.0, x, p)).ravel() / units
    assert np.asarray(other.rhs(0.0, x / units, p)).ravel() == pytest.approx(expected, rel=1e-14)
    assert scaled(problem, scaling) is other


@pytest.mark.slow
def test_stored_run_resumes_with_its_exponents(tmp_path) -> None:
    options = {
        "initial": {"x": 1e-9},
        "guess": {"y": 0.0},
        "parameters": {"length": 1e-9, "gravity": 1.0},
        "solver": "dop853",
        "at": ds.every(1e-5),
    }
    whole = ds.solve(PENDULUM, until=2e-4, **options, store=tmp_path / "whole")
    ds.solve(PENDULUM, until=1e-4, **options, store=tmp_path / "parts")
    longer = ds.resume(tmp_path / "parts", until=2e-4, source=PENDULUM)
    assert longer.end_state["x"] == pytest.approx(whole.end_state["x"], abs=1e-18)


@pytest.mark.slow
@pytest.mark.slow_rows("dop853")
@pytest.mark.parametrize("solver", ["taylor", "dop853"])
def test_forces_that_come_to_nothing_leave_a_large_motion_its_steps(solver):
    """Rounding of a power of 1e17 W is no work that a step has to follow."""

    def steps(drag):
        length = 1e9
        q, p = ds.coordinates(x="m", y="m"), ds.parameters(drag=drag)
        system = ds.MechanicalSystem(
            q,
            p,
            kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
            potential=9.81 * length * q.y,
            goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - length**2)],
            force={"x": -p.drag * q.dot.x, "y": -p.drag * q.dot.y},
        )
        start = {"x": 0.5 * length, "y": -np.sqrt(0.75) * length, "x_dot": 0.0, "y_dot": 0.0}
        run = ds.solve(system, 0.5, start, solver=solver)
        assert run.outcome is ds.Outcome.COMPLETED
        return run.statistics.steps

    assert steps(0.0) <= 2 * steps(0.1)
