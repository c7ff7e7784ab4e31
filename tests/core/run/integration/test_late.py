"""Runs that begin late in time, where that is rounded to a part of a step."""

import itertools

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


@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853()], ids=lambda solver: solver.name)
def test_guards_of_either_direction_that_pass_together_late_in_time_all_have_their_events(solver):
    """A ball thrown up turns: its speed is zero, and so is that times its height.

    Late in time, both have passed at the next number of time, by different amounts.
    """
    q, count = ds.coordinates(y="m"), ds.discrete(turns=0.0, other=0.0)
    guards = {"turns": q.dot.y, "other": q.y * q.dot.y}
    events = [ds.Event(n, g, then=ds.Reset({n: count[n] + 1.0})) for n, g in guards.items()]
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.y**2 / 2, potential=10.0 * q.y, discrete=count, events=events
    )
    for begin, speed in itertools.product((1e6, 3e5), (1.0, 8.0 / 7.0)):
        start = {"y": 1.0, "y_dot": float(speed)}
        run = ds.solve(system, begin + 0.3, start, start_time=begin, solver=solver)
        names = [event.name for event in run.events]
        assert sorted(names) == ["other", "turns"], (begin, speed)
        for event in run.events:
            assert event.time - begin == pytest.approx(speed / 10.0, abs=2.0 * np.spacing(1e6))


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
