"""Whole runs against exact motions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import daesolve as ds
from tests.reference.chaplygin_sleigh import sleigh_states, sleigh_total_turn
from tests.reference.pendulum import pendulum_states
from tests.reference.rolling_wheel import (
    hoop_energy_scale,
    hoop_period,
    hoop_reactions,
    hoop_states,
    hoop_turning_points,
)
from tests.reference.stored_pendulum import stored_states
from tests.systems import (
    EPSILON,
    chain,
    chain_state,
    oscillator,
    pendulum,
    sleigh,
    wheel,
    wheel_state,
)


@pytest.mark.parametrize("until", [10.0, 100.0])
def test_the_pendulum_is_exact_to_1e_12(until):
    times = np.linspace(0.0, until, 26)
    run = ds.solve(pendulum(), until, {"x": -1.0}, guess={"y": 0.0}, at=times)
    exact = pendulum_states(times, -1.0, 0.0)
    for name in ("x", "y", "x_dot", "y_dot"):
        size = np.max(np.abs(exact[name]))
        assert np.max(np.abs(run[name] - exact[name])) <= 1e-12 * size, name
    assert run.reactions["rod"] == pytest.approx(exact["multiplier"], abs=1e-12 * 9.81)
    assert run.drift["energy"].max_relative <= 4e-15
    assert run.drift["rod"].max_relative <= 4e-15


@pytest.mark.slow
def test_the_sleigh_is_exact_to_1e_12():
    times = np.linspace(0.0, 20.0, 41)
    start = {"x": 0.0, "y": 0.0, "phi": 0.0, "x_dot": 1.0, "y_dot": 0.0, "phi_dot": 1.0}
    run = ds.solve(sleigh(), 20.0, start, at=times)
    exact = sleigh_states(times)
    for name in ("x", "y", "phi", "x_dot", "y_dot"):
        size = max(np.max(np.abs(exact[name])), 1.0)
        assert np.max(np.abs(run[name] - exact[name])) <= 1e-12 * size, name
    assert np.max(np.abs(run["phi_dot"] - exact["angular_velocity"])) <= 1e-12
    assert run.reactions["blade"] == pytest.approx(exact["lateral_force"], abs=1e-12)
    far = ds.solve(sleigh(), 200.0, start, at=[200.0])
    assert far["phi"][0] == pytest.approx(sleigh_total_turn(), rel=1e-12)


@pytest.mark.slow
@pytest.mark.slow_rows("from rest-10 s", "moving-10 s", "moving-100 s")
@pytest.mark.parametrize(
    ("until", "accuracy"), [(10.0, 1e-11), (100.0, 1e-10)], ids=["10 s", "100 s"]
)
@pytest.mark.parametrize("start", [(0.0, 1.5), (-0.9, 0.0)], ids=["moving", "from rest"])
def test_the_hoop_is_exact_through_every_turning_point(start, until, accuracy):
    times = np.linspace(0.0, until, 21)
    run = ds.solve(
        wheel(), until, wheel_state(*start), at=times, scales={"energy": hoop_energy_scale(*start)}
    )
    exact = hoop_states(times, *start)
    for name in ("x", "z", "alpha", "x_dot", "z_dot"):
        assert np.max(np.abs(run[name] - exact[name])) <= accuracy, name
    # the rim turns 100 times as fast as the centre moves
    assert np.max(np.abs(run["theta"] - exact["theta"])) <= 100 * accuracy
    assert np.max(np.abs(run["theta_dot"] - exact["theta_dot"])) <= 100 * accuracy
    forces = hoop_reactions(exact["contact_x"], exact["speed"])
    for name in ("reaction_x", "reaction_z"):
        assert np.max(np.abs(run.reactions[name] - forces[name])) <= 100 * accuracy, name
    assert run.drift["energy"].max_relative <= 1e-14
    assert run.drift["contact"].max_relative <= 1e-14
    assert run.drift["moment"].max_relative <= 1e-14


def test_the_hoop_stops_at_its_turning_point_on_request():
    system = wheel()
    turns = ds.Event("turns", system.coordinates.dot.theta, then=ds.Stop())
    run = ds.solve(replace(system, events=[turns]), 10.0, wheel_state(0.0, 1.5))
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    _, right = hoop_turning_points(0.0, 1.5)
    contact_x = run.end_state["x"] + 0.01 * np.cos(run.end_state["alpha"])
    assert contact_x == pytest.approx(right, abs=1e-13)


def test_the_hoop_comes_back_after_a_period():
    period = hoop_period(0.0, 1.5)
    run = ds.solve(wheel(), 10 * period, wheel_state(0.0, 1.5), at=[10 * period])
    start = wheel_state(0.0, 1.5)
    for name in ("x", "z", "x_dot", "z_dot"):
        assert run[name][0] == pytest.approx(start[name], abs=2e-12), name


@pytest.mark.slow_rows("pendulum-from-rest")
@pytest.mark.parametrize("case", ["pendulum", "pendulum-from-rest"])
def test_the_wheel_with_pendulum_is_exact_for_10_s(case):
    exact = stored_states(case)
    chosen = exact["times"] <= 10.0
    times = exact["times"][chosen]
    starts = {"pendulum": (0.0, 1.5), "pendulum-from-rest": (-0.9, 0.0)}
    start = wheel_state(*starts[case], phi=0.0, phi_dot=0.0)
    run = ds.solve(wheel(with_pendulum=True), 10.0, start, at=times)
    for name in ("x", "z", "phi", "x_dot", "z_dot"):
        assert np.max(np.abs(run[name] - exact[name][chosen])) <= 1e-10, name
    assert run.drift["contact"].max_relative <= 1e-13


@pytest.mark.slow
def test_the_hoop_keeps_its_energy_for_1800_s():
    run = ds.solve(wheel(), 1800.0, wheel_state(0.0, 1.5), at=[1800.0])
    exact = hoop_states([1800.0], 0.0, 1.5)
    assert run["x"][0] == pytest.approx(exact["x"][0], abs=1e-9)
    assert run.drift["energy"].max_relative <= 1e-14
    assert run.drift["contact"].max_abs <= 1e-14
    exponent = run.drift["energy"].growth_exponent
    assert exponent is None or exponent < 0.5


@pytest.mark.default_rows(2)
@pytest.mark.parametrize(
    "solver",
    [
        ds.Dop853(1e-12, 1e-13),
        ds.Cvodes(1e-12, 1e-13),
        ds.RadauIIA(1e-9, 1e-10),
        ds.Lsoda(1e-12, 1e-13),
    ],
    ids=lambda solver: solver.name,
)
def test_every_solver_rolls_the_hoop(solver):
    run = ds.solve(wheel(), 2.0, wheel_state(0.0, 1.5), at=[1.0, 2.0], solver=solver)
    exact = hoop_states([1.0, 2.0], 0.0, 1.5)
    assert run["x"] == pytest.approx(exact["x"], abs=1e-8)
    assert run["theta"] == pytest.approx(exact["theta"], abs=1e-6)


@pytest.mark.slow
def test_a_chain_swings_as_it_does_in_minimal_coordinates():
    """Two uniform bars in maximal coordinates and by their angles."""
    import casadi as ca

    angles = [0.7, -0.4]
    run = ds.solve(chain(2), 5.0, chain_state(angles), at=ds.every(0.5))
    q = ds.coordinates(a=ds.ANGLE, b=ds.ANGLE)
    kinetic = (
        q.dot.a**2 / 6
        + (q.dot.a**2 + q.dot.a * q.dot.b * ca.cos(q.a - q.b) + q.dot.b**2 / 4) / 2
        + q.dot.b**2 / 24
    )
    minimal = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=-9.81 * (1.5 * ca.cos(q.a) + ca.cos(q.b) / 2)
    )
    right = ds.solve(minimal, 5.0, {"a": 0.7, "b": -0.4}, at=ds.every(0.5))
    # a double pendulum in moderate swings: errors grow by little more than the time
    assert run["theta_1"] == pytest.approx(right["a"], abs=1e-11)
    assert run["theta_2"] == pytest.approx(right["b"], abs=1e-11)


def test_a_free_motion_without_goals_is_a_run_as_well():
    run = ds.solve(oscillator(), 100.0, {"x": 1.0})
    assert run["x"] == pytest.approx(np.cos(run["t"]), abs=40 * EPSILON)
    assert run.drift["energy"].max_relative <= 4e-15
