import numpy as np
import pytest
from daesolve_problems.classics.rattleback import HALF_A_DEGREE, problem

import daesolve as ds
from tests.reference.rattleback import rattleback_states


@pytest.fixture(scope="module")
def reversal():
    return problem.case("reversal").solve()


@pytest.mark.slow
def test_spun_against_its_sense_it_turns_round_with_its_energy(reversal):
    spin = reversal["spin"]
    assert spin[0] < -4.99
    assert np.max(spin) > 5.0
    # It rattles by more than twenty degrees from half a degree, and stays on the plane.
    assert np.degrees(np.max(reversal["delta"])) > 20.0
    assert np.min(reversal["normal"]) > 0.0
    measured = problem.case("reversal").solve(5.0, formulation=ds.Feedback(rates={"energy": None}))
    assert not measured.drift["energy"].driven
    assert measured.drift["energy"].max_relative < 1e-12


@pytest.mark.long_rows("reversal")
@pytest.mark.parametrize("name", ["reversal", "sense"])
@pytest.mark.slow
def test_states_and_normal_force_agree_with_newton_and_euler(name):
    """To the error of the reference: 1e-12 in a step, grown by exp(2.1 * 3.2), in 2000 steps."""
    times = np.array([0.2, 1.0, 3.2])
    run = problem.case(name).solve(at=times)
    w3 = {"reversal": -5.0, "sense": 5.0}[name]
    expected = rattleback_states(times, HALF_A_DEGREE, HALF_A_DEGREE, np.array([0.0, 0.0, w3]))
    for series in ("alpha", "beta", "gamma", "w1", "w2", "w3", "normal", "energy"):
        size = max(np.max(np.abs(expected[series])), 0.01)
        assert np.max(np.abs(run[series] - expected[series])) < 1e-9 * size, series


def test_the_faster_rattle_grows_against_the_sense_and_the_slower_one_with_it():
    """Reversed in time, the spin changes its sign: so do all eigenvalues."""
    system = problem.case().system
    against, along = (
        ds.analysis.linearize(system, {"alpha": 0.0, "beta": 0.0, "w3": w3}) for w3 in (-5.0, 5.0)
    )
    assert against.cyclic == ("x", "y", "gamma")
    order = np.lexsort((along.eigenvalues.imag, -along.eigenvalues.real))
    np.testing.assert_allclose(against.eigenvalues, -along.eigenvalues[order].conj(), atol=1e-10)
    fast = against.eigenvalues[np.argmax(against.eigenvalues.imag)]
    slow = along.eigenvalues[np.argmax(along.eigenvalues.real)]
    assert fast.real > 10 * slow.real > 0
    assert abs(fast.imag) > 3 * abs(slow.imag)
