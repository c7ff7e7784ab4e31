"""CVODES through CasADi."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers import State, casadi
from tests.interruption import interrupted_after
from tests.systems import oscillator, pendulum, prepared_run

FREE = {"formulation": ds.Feedback(rates={"energy": None})}


@pytest.mark.parametrize("until", [-1.0, -5.0, -10.0, -50.0])
def test_backwards_as_well_as_forwards(until):
    run = ds.solve(oscillator(), until, {"x": 0.0, "x_dot": 1.0}, solver=ds.Cvodes(), **FREE)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run["x"] == pytest.approx(np.sin(run.times), abs=1e-7)


@pytest.mark.parametrize("method", ["adams", "bdf"])
def test_both_methods_converge_with_the_tolerance(method):
    errors = []
    for rtol in (1e-6, 1e-9):
        run = ds.solve(
            oscillator(), 10.0, {"x": 0.0, "x_dot": 1.0},
            solver=ds.Cvodes(rtol=rtol, atol=rtol, method=method), **FREE,
        )  # fmt: skip
        errors.append(np.max(np.abs(run["x"] - np.sin(run.times))))
    # a method of order k keeps the error of a step; that of the run falls by 1000^(k / (k + 1))
    assert errors[1] < errors[0] / 1000**0.5
    assert errors[1] < 1e-6


def test_what_watches_sees_at_least_twice_the_steps():
    prepared = prepared_run(
        oscillator(), 300.0, {"x": 0.0, "x_dot": 1.0}, solver=ds.Cvodes(), **FREE
    )
    seen = []
    end = prepared.solver.segment(
        prepared.problem, State(0.0, prepared.initial, prepared.values), 300.0, np.empty(0),
        lambda block: seen.extend(block.times),
    )  # fmt: skip
    assert end.steps > 256
    assert len(seen) >= 2 * end.steps


def test_a_segment_of_very_many_steps_is_watched_piece_by_piece(monkeypatch):
    monkeypatch.setattr(casadi, "MOST_GRID", 1024)
    prepared = prepared_run(
        oscillator(), 300.0, {"x": 0.0, "x_dot": 1.0}, solver=ds.Cvodes(), **FREE
    )
    ends = []
    at = np.array([100.0, 250.0])
    end = prepared.solver.segment(
        prepared.problem, State(0.0, prepared.initial, prepared.values), 300.0, at,
        lambda block: ends.append(block.times[-1]),
    )  # fmt: skip
    assert len(ends) >= end.steps / 1024
    assert ends[-1] == 300.0
    # A few thousand steps of 1e-9, as in one piece.
    assert end.samples[:, 0] == pytest.approx(np.sin(at), abs=1e-5)


@pytest.mark.long
def test_a_motion_that_creeps_for_ever_ends_with_a_sentence():
    """A bead at the vertical end of a rail, where its slope is infinite."""
    q = ds.coordinates(x="m", y="m")
    rail = ds.Holonomic("rail", q.y - 1 + ca.sqrt(1 - q.x**2))
    system = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=9.81 * q.y, goals=[rail]
    )
    start = {"x": 0.0, "y": 0.0, "x_dot": 6.0}
    run = ds.solve(system, 5.0, start, solver="cvodes")
    assert run.outcome is ds.Outcome.FAILED
    assert "the steps have shrunk" in run.message


def test_an_unknown_method_is_refused():
    with pytest.raises(ds.DaesolveError, match="'adams' or 'bdf'"):
        ds.Cvodes(method="rk4")


def test_a_driven_pendulum_keeps_its_rod():
    run = ds.solve(pendulum(), 50.0, {"x": -1.0}, solver=ds.Cvodes(1e-10, 1e-12))
    assert run.drift["rod"].max_relative <= 1e-8
    assert run.drift["energy"].max_relative <= 1e-8


def test_an_interruption_is_one_and_no_failure():
    prepared = prepared_run(
        oscillator(), 1e5, {"x": 0.0, "x_dot": 1.0}, solver=ds.Cvodes(1e-12, 1e-14), **FREE
    )
    with interrupted_after(0.2), pytest.raises(KeyboardInterrupt):
        prepared.solver.segment(
            prepared.problem, State(0.0, prepared.initial, prepared.values), 1e5, np.empty(0),
            lambda block: None,
        )  # fmt: skip


def test_a_failure_writes_nothing_to_the_streams(capfd):
    """x' = x^2 from 1 ends at t = 1."""
    x = ds.states(x="")
    run = ds.solve(ds.ControlSystem(x, {"x": x.x**2}), 2.0, {"x": 1.0}, solver=ds.Cvodes())
    assert run.outcome is ds.Outcome.FAILED
    assert "cvodes: " in run.message
    assert capfd.readouterr() == ("", "")


def test_many_even_looks_into_a_step_cost_one_integration(monkeypatch):
    """A force that a power of 3/2 bends at the floor needs thousands of looks beside it."""
    counts: list[int] = []
    run_engine = casadi.run

    def counted(*args):
        counts.append(1)
        return run_engine(*args)

    monkeypatch.setattr("daesolve.core.solvers.casadi.run", counted)
    q = ds.coordinates(y="m")
    push = 4000.0 * ca.fmax(-q.y, 0.0) ** 1.5 * (1.0 - 0.3 * q.dot.y)
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.y**2 / 2, potential=9.81 * q.y, force={"y": ca.fmax(push, 0.0)}
    )
    run = ds.solve(system, 5.0, {"y": 1.0}, solver=ds.Cvodes(), at=[5.0])
    reference = ds.solve(system, 5.0, {"y": 1.0}, at=[5.0])
    assert run["y"] == pytest.approx(reference["y"], abs=1e-7)
    assert len(counts) < 5000


def test_noise_of_a_guard_that_is_far_from_zero_is_not_looked_into(monkeypatch):
    """A string jerks taut at a speed of 5/3 m/s, and holds a ball on its circle.

    What is left is 1 m/s along it, so that the pull is 1 N all the time; a spring of 25 N/m moves
    another ball, whose passages are searched for meanwhile.
    """
    counts: list[int] = []
    run_engine = casadi.run

    def counted(*args):
        counts.append(1)
        return run_engine(*args)

    monkeypatch.setattr("daesolve.core.solvers.casadi.run", counted)
    q = ds.coordinates(x="m", y="m", z="m")
    string = ds.Contact("string", 1.0 - ca.sqrt(q.x**2 + q.y**2), restitution=0.0, closed=False)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=12.5 * q.z**2,
        goals=[string],
        events=[ds.Event("passes", q.z, ds.EITHER)],
    )
    start = {"x": 0.0, "y": 0.6, "x_dot": 5.0 / 3.0, "y_dot": 0.0, "z": 1.0}
    run = ds.solve(system, 2.0, start, solver=ds.Cvodes())
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    # Taut at (0.8, 0.6) after 0.48 s; along the circle only 0.6 of the speed is left.
    angle = np.arctan2(0.8, 0.6) + (2.0 - 0.48)
    ends = [run.end_state[name] for name in ("x", "y")]
    assert ends == pytest.approx([np.sin(angle), np.cos(angle)], abs=1e-7)
    passes = [event.time for event in run.events if event.name == "passes"]
    assert passes == pytest.approx([k * np.pi / 10.0 for k in (1, 3, 5)], abs=1e-7)
    assert len(counts) < 5000
