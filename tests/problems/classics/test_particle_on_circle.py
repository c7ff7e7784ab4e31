from functools import cache

import numpy as np
import pytest

import daesolve as ds

EPSILON = float(np.finfo(float).eps)


@cache
def accelerating():
    return ds.problem("particle-on-circle").case("accelerate")


@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Cvodes()], ids=lambda solver: solver.name)
def test_from_its_own_start_time_on_it_follows_the_closed_form(solver):
    times = np.array([1.0, 2.0, 3.5, 5.0])
    run = accelerating().solve(at=times, solver=solver)
    # CVODES bounds the error of a step by 1e-10, and takes some hundred of them.
    limit = 1e-13 if solver.name == "taylor" else 1e-7
    assert np.max(np.abs(run["x"] - np.sin(times**2))) < limit
    assert np.max(np.abs(run["y"] - np.cos(times**2))) < limit
    assert np.max(np.abs(run["x_dot"] - 2 * times * np.cos(times**2))) < 10 * limit
    assert np.max(np.abs(run["L"] + 4 * times**2)) < 100 * limit


def test_the_work_of_the_forces_is_metered():
    run = accelerating().solve(at=[1.0, 5.0])
    # T = 2 t^2
    assert abs(run["work"][-1] - run["work"][0] - 48.0) < 200 * EPSILON * 50.0
    assert not run.drift["energy"].driven
