"""Lyapunov exponents against spectra that are known."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.analysis.exponents import lyapunov_exponent, many_exponents
from daesolve.errors import NoDerivativeError, OutOfRangeError
from tests.billiards import sinai_billiard
from tests.reference import sinai_billiard as billiard
from tests.reference.lyapunov import stored_lyapunov_exponent
from tests.systems import chain, free_body, pendulum

from .test_sections import henon_heiles, on_section


def lorenz():
    """E. N. Lorenz, J. Atmos. Sci. 20 (1963) 130."""
    x = ds.states(x="", y="", z="")
    p = ds.parameters(sigma=10.0, rho=28.0, beta=8.0 / 3.0)
    rates = {
        "x": p.sigma * (x.y - x.x),
        "y": x.x * (p.rho - x.z) - x.y,
        "z": x.x * x.y - p.beta * x.z,
    }
    return ds.ControlSystem(x, rates, p)


def check_lorenz(until):
    """0.9056, 0, -14.5723 (J. C. Sprott, Chaos and Time-Series Analysis, 2003)."""
    found = lyapunov_exponent(lorenz(), until, {"x": -1.3, "y": -2.3, "z": 15.0}, count=None)
    assert found.verdict == "exponential"
    error = np.abs(found.spectrum - [0.9056, 0.0, -14.5723])
    assert np.all(error < 4.0 * found.uncertainties)
    assert np.max(found.uncertainties) < 2.0 / math.sqrt(until)
    assert found.time == pytest.approx(1.0 / found.exponent)
    # volumes shrink at a constant rate
    assert np.sum(found.spectrum) == pytest.approx(-(10.0 + 1.0 + 8.0 / 3.0), rel=1e-9)
    return found


@pytest.mark.slow
def test_the_lorenz_system_has_its_known_spectrum():
    found = check_lorenz(100.0)
    assert found.history.shape == (len(found.times), 3)
    assert np.array_equal(found.history[-1], found.spectrum)
    assert found.times[0] >= 5.0
    assert found.times[-1] == pytest.approx(100.0)


@pytest.mark.long
def test_the_estimate_converges_to_the_known_spectrum():
    assert abs(check_lorenz(500.0).exponent - 0.9056) < 0.05


@pytest.mark.slow
def test_exponents_of_damped_motion_are_its_eigenvalues_and_none_is_a_rate_of_feedback():
    """At rest below, s^2 + 40 s + 9.81 = 0: one beyond the rate 10 of the rod, one within."""
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[rod],
        force={"x": -40.0 * q.dot.x, "y": -40.0 * q.dot.y},
    )
    start = {"x": 0.0, "y": -1.0, "x_dot": 0.0, "y_dot": 0.0}
    found = lyapunov_exponent(system, 20.0, start, count=None)
    root = math.sqrt(400.0 - 9.81)
    assert found.dimension == 2
    assert found.spectrum == pytest.approx([root - 20.0, -root - 20.0], rel=1e-8)
    assert found.verdict == "regular"
    assert found.time is None


@pytest.mark.slow
def test_energy_is_a_direction_of_its_own_though_it_is_driven():
    """x'' = x at rest has 1 and -1, whichever energy is held."""
    q = ds.coordinates(x="m")
    saddle = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=-(q.x**2) / 2)
    start = {"x": 0.0, "x_dot": 0.0}
    for until in (40.0, -40.0):
        found = lyapunov_exponent(saddle, until, start, count=None)
        assert found.run.description["rates"]["energy"] == 10.0
        # what is not turned yet after the part that is not counted, e^-4
        assert found.spectrum == pytest.approx([1.0, -1.0], abs=math.exp(-4.0) / 38.0)
        assert found.verdict == "exponential"


@pytest.mark.slow
def test_in_hamiltonian_chaos_exponents_come_in_pairs():
    found = lyapunov_exponent(henon_heiles(), 800.0, on_section(0.16, 0.1, 0.1), count=None)
    assert found.verdict == "exponential"
    assert abs(np.sum(found.spectrum)) < 1e-10
    assert abs(found.spectrum[0] + found.spectrum[3]) < 3.0 * found.uncertainty
    # those of the energy and of the flow fall like ln t / t
    assert np.all(np.abs(found.spectrum[1:3]) < math.log(800.0) / 800.0)


@pytest.mark.slow
def test_motion_on_a_torus_is_regular():
    found = lyapunov_exponent(henon_heiles(), 800.0, on_section(1.0 / 12.0, 0.2, 0.0))
    assert found.verdict == "regular"
    assert found.exponent < math.log(800.0) / 800.0


@pytest.mark.long
def test_the_hoop_is_regular_and_has_two_exponents_and_the_wheels_turn():
    found = lyapunov_exponent(ds.problem("rolling-wheel").case("hoop"), 200.0)
    assert found.verdict == "regular"
    assert found.dimension == 3


@pytest.mark.slow
def test_unit_quaternions_leave_no_exponent_across_them():
    start = {"w": 1.0, "i": 0.0, "j": 0.0, "k": 0.0, "wx": 0.3, "wy": 0.2, "wz": 1.0}
    found = lyapunov_exponent(free_body(), 30.0, start)
    assert found.dimension == 6


@pytest.mark.slow
def test_through_resets_the_doubling_map_has_ln_2():
    s = ds.states(x="", clock="s")
    strike = ds.Reset({"clock": s.clock - 1.0, "x": s.x - (s.x >= 1.0)})
    system = ds.ControlSystem(
        s,
        {"x": math.log(2.0) * s.x, "clock": 1.0},
        events=[ds.Event("strike", s.clock - 1.0, ds.RISING, strike)],
    )
    found = lyapunov_exponent(system, 100.0, {"x": 0.3, "clock": 0.0}, count=None)
    assert found.spectrum == pytest.approx([math.log(2.0), 0.0], abs=1e-3)


@pytest.mark.slow
def test_through_impacts_a_billiard_has_the_exponent_of_its_exact_map():
    x, y, *velocity = billiard.START
    near = [billiard.exponent((x, y + 1e-3 * k, *velocity), 150.0) for k in range(8)]
    start = dict(zip(("x", "y", "x_dot", "y_dot"), billiard.START, strict=True))
    found = lyapunov_exponent(sinai_billiard(billiard.RADIUS), 150.0, start)
    assert found.verdict == "exponential"
    assert abs(found.exponent - np.mean(near)) < 3.0 * np.std(near)


@pytest.mark.long
def test_the_chaotic_wheel_with_pendulum_has_the_stored_exponent():
    mean, spread = stored_lyapunov_exponent("pendulum-chaotic")
    found = lyapunov_exponent(ds.problem("rolling-wheel").case("pendulum-chaotic"), 300.0)
    assert found.verdict == "exponential"
    assert abs(found.exponent - mean) < 3.0 * math.hypot(spread, found.uncertainty)


@pytest.mark.long_rows("null-space")
@pytest.mark.slow
@pytest.mark.parametrize("formulation", [ds.Feedback(), ds.NullSpace()], ids=lambda f: f.name)
def test_a_double_pendulum_in_maximal_coordinates_has_four_exponents_in_pairs(formulation):
    start = {"theta_1": 2.0, "theta_2": 2.5, "theta_dot_1": 0.0, "theta_dot_2": 0.0}
    found = lyapunov_exponent(chain(2), 60.0, start, count=None, formulation=formulation)
    assert found.dimension == 4
    assert found.verdict == "exponential"
    # lengths in these coordinates change by a bounded factor between here and there
    assert abs(np.sum(found.spectrum)) * found.counted < 3.0
    assert abs(found.spectrum[0] + found.spectrum[3]) < 3.0 * found.uncertainty


@pytest.mark.slow
def test_a_run_too_short_to_tell_says_so():
    found = lyapunov_exponent(henon_heiles(), 60.0, on_section(0.16, 0.1, 0.1))
    assert found.verdict == "unknown"
    assert math.isnan(found.time)


@pytest.mark.parametrize("count", [0, 3, 1.5, "all"])
def test_there_are_as_many_exponents_as_the_constraints_leave(count):
    with pytest.raises(OutOfRangeError, match="from 1 to the 2 directions"):
        lyapunov_exponent(pendulum(), 10.0, {"x": -0.6}, guess={"y": -0.8}, count=count)


def test_a_direction_that_an_impact_takes_away_has_no_exponent():
    """Whatever y was, it is 0 afterwards: one direction of two is left."""
    s = ds.states(y="", clock="s")
    dead = ds.Reset({"clock": s.clock - 1.0, "y": 0.0})
    system = ds.ControlSystem(
        s,
        {"y": -s.y, "clock": 1.0},
        events=[ds.Event("dead", s.clock - 1.0, ds.RISING, dead)],
    )
    with pytest.raises(NoDerivativeError, match="the event 'dead' removes one of the 2"):
        lyapunov_exponent(system, 10.0, {"y": 1.0, "clock": 0.0}, count=None)


@pytest.mark.slow
def test_a_contact_that_leaves_no_freedom_has_no_exponents():
    """A ball comes to rest on a table and rides on it: nothing can be changed there."""
    q, p = ds.coordinates(y="m"), ds.parameters(restitution=(0.3, ""))
    gap = q.y - ca.sin(ds.time)
    table = ds.Contact("table", gap, restitution=p.restitution, closed=False)
    ball = ds.MechanicalSystem(q, p, kinetic=q.dot.y**2 / 2, potential=3 * q.y, goals=[table])
    with pytest.raises(NoDerivativeError, match="the event 'table_closed' leaves no freedom"):
        lyapunov_exponent(ball, 60.0, {"y": 1.0, "y_dot": 0.0})


# -- in lanes ------------------------------------------------------------------------------------


ALONE = ds.Taylor(engine="kernel")
"""Asked for by its engine, it goes in no lane."""


@pytest.mark.slow
def test_directions_that_go_beside_each_other_give_the_spectrum_of_those_that_do_not():
    start = on_section(1.0 / 12.0, 0.1, 0.0)
    together, alone = (
        lyapunov_exponent(henon_heiles(), 60.0, start, count=None, solver=solver)
        for solver in (None, ALONE)
    )
    # Rounding of a regular motion, over pieces in each of which changes grow by a small factor.
    np.testing.assert_allclose(together.spectrum, alone.spectrum, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(together.history, alone.history, rtol=0.0, atol=1e-11)


@pytest.mark.long_rows("None")
@pytest.mark.slow
@pytest.mark.parametrize("count", [1, None])
def test_exponents_of_many_starts_are_those_of_each_alone(count):
    system = henon_heiles()
    starts = [on_section(1.0 / 12.0, 0.05 * k, 0.0) for k in range(1, 6)]
    for start, found in zip(starts, many_exponents(system, starts, 40.0, count=count), strict=True):
        alone = lyapunov_exponent(system, 40.0, start, count=count, solver=ALONE)
        assert found.verdict == alone.verdict
        np.testing.assert_allclose(found.spectrum, alone.spectrum, rtol=0.0, atol=1e-12)


@pytest.mark.slow
def test_a_start_without_exponents_is_its_error_among_the_others():
    system = pendulum()
    members = [{"x": 0.1}, {"x": 2.0}, {"x": 0.2}]
    first, refused, last = many_exponents(system, members, 20.0)
    assert isinstance(refused, ds.errors.DaesolveError)
    assert first.dimension == last.dimension == 2
