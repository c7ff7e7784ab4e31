import numpy as np
import pytest
from daesolve_problems.classics.rolling_disc import problem

import daesolve as ds
from tests.reference.rolling_disc import Disc

DISC = Disc()
UPRIGHT = {"beta": 0.0, "alpha_dot": 0.0, "beta_dot": 0.0}


def test_the_steady_circle_has_the_published_rates_and_closes():
    run = problem.case("circle").solve()
    assert abs(run["gamma_dot"][0] - 10.7364981632611997) < 1e-14 * 10.7
    assert abs(run["alpha_dot"][0] + 1.07364981632611997) < 1e-14 * 1.07
    assert np.max(np.abs(run["beta"] - np.radians(5.0))) < 1e-14
    assert np.max(np.abs(np.hypot(run["contact_x"], run["contact_y"]) - 0.5)) < 1e-14
    assert abs(run["alpha"][-1] + 2 * np.pi) < 1e-12
    assert np.max(np.abs(run["normal"] - 0.3048 * 9.81)) < 1e-12


@pytest.mark.slow
def test_states_and_contact_force_agree_with_newton_and_euler():
    times = np.array([0.5, 1.0, 2.0, 5.0])
    case = problem.case("wobble")
    run = case.solve(at=times)
    expected = DISC.states(times, dict(case.full_start))
    assert np.ptp(expected["beta"]) > 0.1
    for name, series in expected.items():
        size = max(np.max(np.abs(series)), 0.1)
        assert np.max(np.abs(run[name] - series)) < 1e-10 * size, name
    for goal, drift in run.drift.items():
        assert drift.max_relative < 1e-12, goal


def test_small_motions_about_a_circle_are_those_of_the_reduced_equations():
    case = problem.case("circle")
    state = case.consistent_start().state
    names = case.system.dynamics.labels.states
    start = dict(zip(names, state, strict=True))
    found = ds.analysis.linearize(case.system, start)
    assert found.cyclic == ("x", "y", "alpha", "gamma")
    beta = start["beta"]
    w = [
        0.0,
        start["gamma_dot"] + start["alpha_dot"] * np.sin(beta),
        start["alpha_dot"] * np.cos(beta),
    ]
    expected = np.linalg.eigvals(DISC.circle_matrix(beta, np.array(w)))
    fast = np.max(expected.imag)
    assert abs(np.max(found.eigenvalues.imag) - fast) < 1e-12 * fast
    assert np.max(np.abs(found.eigenvalues.real)) < 1e-12 * fast


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_an_upright_disc_rolls_stably_from_its_critical_speed_on(share):
    """lambda^2 (A + m r^2) = m g r - C (C + m r^2) gamma'^2 / A; C = 2 A: from g / 3 r on."""
    spin = share * np.sqrt(9.81 / (3 * 0.05))
    found = ds.analysis.linearize(
        problem.case().system, UPRIGHT | {"gamma_dot": spin, "alpha": 0.0}
    )
    inertia = DISC.mass * DISC.radius**2
    square = (
        DISC.mass * DISC.gravity * DISC.radius
        - DISC.axle * (DISC.axle + inertia) * spin**2 / DISC.diameter
    ) / (DISC.diameter + inertia)
    squares = np.sort((found.eigenvalues**2).real)
    expected = np.sort([square, square, 0.0, 0.0])
    np.testing.assert_allclose(squares, expected, atol=1e-10 * abs(square))
