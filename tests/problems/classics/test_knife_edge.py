import numpy as np
from daesolve_problems.classics.knife_edge import problem

from tests.reference.knife_edge import knife_edge_states


def test_states_and_blade_force_agree_with_the_closed_form():
    times = np.array([0.5, 1.0, 3.0, 10.0, 100.0])
    run = problem.case("release").solve(at=times)
    expected = knife_edge_states(times, 1.25, np.pi / 6, 9.81, 1.0)
    for name, series in expected.items():
        size = np.max(np.abs(series))
        assert np.max(np.abs(run[name] - series)) < 1e-12 * size, name
    assert run.drift["blade"].max_relative < 1e-14
    assert run.drift["energy"].max_relative < 1e-14


def test_the_closed_form_has_the_published_values():
    """At 10 s, in the letters of the source: u, v are x', y'; its multiplier has the other sign."""
    found = knife_edge_states(np.array([10.0]), 1.25, np.pi / 6, 9.81, 1.0)
    published = {
        "x": 0.725839371701328077,
        "y": 23.4055008862952466,
        "x_dot": 2.23899822740950682,
        "y_dot": 1.45167874340265615,
        "blade": -6.67105887228089734,
    }
    for name, value in published.items():
        assert abs(found[name][0] - value) < 1e-14 * abs(value), name


def test_it_drifts_sideways_whatever_its_mass():
    times = np.array([7.0])
    run = problem.case("release", mass=3.0, inertia=0.2).solve(at=times)
    expected = knife_edge_states(times, 3.0, np.pi / 6, 9.81, 1.0)
    assert abs(run["y"][0] - expected["y"][0]) < 1e-12 * expected["y"][0]
    assert abs(run["blade"][0] - expected["blade"][0]) < 1e-11
