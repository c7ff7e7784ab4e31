import numpy as np
import pytest

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


@pytest.mark.slow
def test_after_ten_thousand_seconds_the_phase_is_as_right_as_the_energy():
    times = np.array([1000.0, 10000.0])
    run = ds.problem("pendulum").case("release").solve(until=10000.0, at=times)
    expected = pendulum_states(times, -1.0, 0.0)
    # The period answers to a relative change of the energy by 0.23 of it: what the energy is off
    # at most would shift a point of 4.43 m/s by less than this, were it off all the time.
    limit = run.drift["energy"].max_relative * 4.43 * 10000.0
    assert limit < 1e-10
    for name in ("x", "y"):
        assert np.max(np.abs(run[name] - expected[name])) < limit, name
