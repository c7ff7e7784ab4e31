import numpy as np

import daesolve as ds
from tests.reference.pendulum import pendulum_states


def test_states_and_tension_agree_with_elliptic_functions():
    times = np.array([1.0, 10.0, 100.0])
    run = ds.problem("pendulum").case("release").solve(at=times)
    expected = pendulum_states(times, -1.0, 0.0)
    for name in ("x", "y", "x_dot", "y_dot"):
        size = max(1.0, np.max(np.abs(expected[name])))
        assert np.max(np.abs(run[name] - expected[name])) < 1e-12 * size, name
    assert np.max(np.abs(run["tension"] - expected["tension"])) < 1e-12 * 3 * 9.81
    assert run.drift["rod"].max_relative < 1e-14
    assert run.drift["energy"].max_relative < 1e-14
