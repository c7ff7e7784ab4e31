import numpy as np

import daesolve as ds
from tests.reference.chaplygin_sleigh import sleigh_states


def test_states_and_blade_force_agree_with_the_closed_form():
    times = np.array([0.5, 1.0, 2.0, 5.0, 10.0])
    run = ds.problem("chaplygin-sleigh").case("turn").solve(at=times)
    expected = sleigh_states(times, 1.0, 1.0)
    for name in ("x", "y", "phi"):
        size = max(1.0, np.max(np.abs(expected[name])))
        assert np.max(np.abs(run[name] - expected[name])) < 1e-12 * size, name
    assert np.max(np.abs(run["speed"] - expected["speed"])) < 1e-12
    assert np.max(np.abs(run["blade"] - expected["lateral_force"])) < 1e-12
