"""Runs that begin late in time, where that is rounded to a part of a step."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds

SOLVERS = [ds.Taylor(), ds.Dop853(), ds.Cvodes(), ds.RadauIIA(), ds.Lsoda()]


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("begin", [1e6, 1e9, -1e9])
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_a_free_motion_is_as_exact_late_in_time_as_from_zero_on(solver, begin):
    """x = cos(t - t0): nothing but the rounded ends of steps knows of the start."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=[ds.Event("middle", q.x)]
    )
    start = {"x": 1.0, "x_dot": 0.0}
    at = begin + np.arange(11.0)
    run = ds.solve(system, begin + 10.0, start, solver=solver, start_time=begin, at=at)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    # The tolerance of each is 1e-10 or less, over some hundred steps.
    assert run["x"] == pytest.approx(np.cos(np.arange(11.0)), abs=2e-8)
    exact = np.pi / 2 + np.pi * np.arange(3)
    found = np.array([event.time for event in run.events]) - begin
    assert found == pytest.approx(exact, abs=np.spacing(abs(begin)) + 2e-8)


def test_where_time_is_too_coarse_the_sentence_says_so():
    begin, q = 1e11, ds.coordinates(x="m")
    push = ca.sin(ds.time - begin)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=2 * q.x**2, force={"x": push})
    start = {"x": 1.0, "x_dot": 0.0}
    run = ds.solve(
        system, begin + 10.0, start, solver=ds.Dop853(), start_time=begin, at=[begin + 10.0]
    )
    assert run.outcome is ds.Outcome.FAILED
    assert "time itself is rounded to 2e-05 s" in run.message
