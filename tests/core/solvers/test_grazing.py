"""Guards that graze zero: both passages are found, be they ever so close to each other."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers.grazing import Look, hidden
from tests.systems import WITHOUT_ASSIMULO

SOLVERS = [
    ds.Taylor(),
    ds.Dop853(),
    ds.Cvodes(),
    ds.RadauIIA(),
    ds.Lsoda(),
    ds.solvers.SundaeCvode(),
]
if not WITHOUT_ASSIMULO:
    SOLVERS.append(ds.solvers.AssimuloCvode())
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)


def watched(guard, action=None, direction=ds.EITHER):
    """x = cos t and s = t, with a guard, and a value that counts."""
    q, d = ds.coordinates(x="m", s="m"), ds.discrete(count=0.0)
    then = ds.Reset({"count": d.count + 1.0}) if action is None else action
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.s**2) / 2,
        potential=q.x**2 / 2,
        discrete=d,
        events=[ds.Event("met", guard(q), direction, then)],
    )


def times_of(system, until, solver):
    start = {"x": 1.0, "s": 0.0, "x_dot": 0.0, "s_dot": 1.0}
    run = ds.solve(system, until, start, solver=solver, at=[until])
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    return np.array([event.time for event in run.events])


DEPTH = 1e-9
HALF = np.arccos(1 - DEPTH)
"""Half of the time for which a sine is above 1 - DEPTH."""
TOPS = np.pi / 2 + 2 * np.pi * np.arange(4)
# A guard near 1 is rounded to 1e-16, and its rate where it passes is the root of 2 DEPTH.
BOUND = 16 * np.finfo(float).eps / np.sqrt(2 * DEPTH)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("sundae-cvode")
@every_solver
def test_a_sine_of_time_that_grazes_is_met_twice_at_each_top(solver):
    system = watched(lambda q: ca.sin(ds.time) - (1 - DEPTH), ds.Record())
    exact = np.sort([*(TOPS - HALF), *(TOPS + HALF)])
    assert times_of(system, 24.0, solver) == pytest.approx(exact, abs=BOUND + 1e-14)


@pytest.mark.default_rows(1)
@every_solver
def test_a_reset_where_a_guard_grazes_does_not_hide_the_way_back(solver):
    system = watched(lambda q: ca.sin(ds.time) - (1 - DEPTH))
    exact = np.sort([*(TOPS[:2] - HALF), *(TOPS[:2] + HALF)])
    # Where the motion goes on from the way up, it counts from a time that is rounded.
    assert times_of(system, 10.0, solver) == pytest.approx(exact, abs=2 * BOUND)


@pytest.mark.default_rows(2)
@every_solver
def test_a_guard_of_the_state_that_grazes_is_met_twice(solver):
    depth = 1e-7
    found = times_of(watched(lambda q: ca.cos(q.s - 0.3) - (1 - depth), ds.Record()), 8.0, solver)
    half = np.arccos(1 - depth)
    exact = np.array([0.3 - half, 0.3 + half, 2 * np.pi + 0.3 - half, 2 * np.pi + 0.3 + half])
    # s = t as exactly as the solver is asked to be, 1e-8 or better
    assert found == pytest.approx(exact, abs=1e-7)


@pytest.mark.default_rows(2)
@every_solver
def test_two_pairs_of_zeros_that_lie_within_one_step_are_told_apart(solver):
    """Their distances are 2e-6 and some 6e-7, and the pairs lie 0.38 from each other."""

    def guard(q):
        return ((ds.time - 3.3333) ** 2 - 1e-12) * ((ds.time - 3.71) ** 2 - 1e-13)

    exact = [3.3333 - 1e-6, 3.3333 + 1e-6, 3.71 - 1e-13**0.5, 3.71 + 1e-13**0.5]
    found = times_of(watched(guard, ds.Record()), 11.0, solver)
    # t - 3.3333 is rounded to 4e-16, and each square counts twice
    assert found == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("depth", [1e-3, 1e-9, 1e-13, -1e-13, -1e-9])
def test_an_extremum_is_judged_on_either_side_of_zero(depth):
    def look(time):
        value = (time - 0.4) ** 2 * (1 + time) - depth
        rate = 2 * (time - 0.4) * (1 + time) + (time - 0.4) ** 2
        return Look(time, np.zeros(1), np.array([value]), np.array([rate]))

    found = hidden([look(0.0), look(1.0)], look, look)
    assert bool(found) == (depth > 0.0)
    if depth > 0.0:
        assert min(other.values[0] for other in found) < 0.0


def test_a_guard_that_begins_at_zero_and_comes_back_is_followed():
    def look(time):
        return Look(
            time, np.zeros(1), np.array([time * (0.01 - time)]), np.array([0.01 - 2 * time])
        )

    (found,) = hidden([look(0.0), look(1.0)], look, look)
    assert found.time == pytest.approx(0.005, abs=1e-9)
