"""Runs in quadruple precision against closed forms."""

from __future__ import annotations

import casadi as ca
import mpmath
import numpy as np
import pytest

import daesolve as ds
from daesolve.verification.reference_run import TOLERANCE
from tests.reference.pendulum import pendulum_states
from tests.systems import (
    chain,
    chain_state,
    free_body,
    oscillator,
    pendulum,
    sleigh,
    wheel,
    wheel_state,
)

RELEASE = {"x": -1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}


def digits(run, name, place):
    return mpmath.mpf(run.decimals[name][place])


@pytest.fixture(scope="module")
def released():
    return ds.analysis.reference_run(pendulum(), 100.0, RELEASE, at=[0.0, 10.0, 100.0])


@pytest.mark.slow
def test_the_pendulum_is_right_to_the_last_bit_of_a_double(released):
    """Against Jacobi's elliptic functions, with gravity as the double that 9.81 is."""
    exact = pendulum_states([10.0, 100.0], -1.0, 0.0)
    for name, values in released.states.items():
        assert np.all(np.abs(values[1:] - exact[name]) <= np.spacing(np.abs(exact[name])))


def test_the_pendulum_keeps_28_digits_over_a_hundred_seconds(released):
    """theta(t) = 2 asin(k sn(sqrt(g) t - K)), k = sin(pi/4): released from the horizontal."""
    with mpmath.workdps(40):
        modulus = mpmath.sqrt(mpmath.mpf(1) / 2)
        for place, moment in enumerate((0, 10, 100)):
            argument = mpmath.sqrt(mpmath.mpf(9.81)) * moment - mpmath.ellipk(modulus**2)
            sn, dn = (mpmath.ellipfun(name, argument, m=modulus**2) for name in ("sn", "dn"))
            # errors of a step, 1e-30 of the state, add up over 1350 steps
            assert abs(digits(released, "x", place) - 2 * modulus * sn * dn) < 1e-28
            assert abs(digits(released, "y", place) + 1 - 2 * (modulus * sn) ** 2) < 1e-28


def test_residuals_and_the_energy_that_nothing_drives_stay_at_the_rounding_of_113_bits(released):
    assert set(released.residuals) == {"rod", "rod_dot", "energy"}
    assert max(released.residuals.values()) < 1e-30


def test_the_start_is_made_consistent_in_quadruple_precision():
    """The doubles 0.6 and 0.8 miss the circle by 1e-17, which would stay."""
    run = ds.analysis.reference_run(pendulum(), 1.0, {"x": -0.6, "y": -0.8}, at=[0.0])
    assert 0.0 < run.start_moved <= 2.0**-53
    with mpmath.workdps(40):
        assert abs(digits(run, "x", 0) ** 2 + digits(run, "y", 0) ** 2 - 1) < 1e-33


def test_samples_come_in_the_order_asked_for_and_backwards_in_time():
    run = ds.analysis.reference_run(pendulum(), -3.0, RELEASE, at=[-1.0, 0.0, -3.0, -1.0])
    exact = pendulum_states([-1.0, 0.0, -3.0, -1.0], -1.0, 0.0)
    assert run.times.tolist() == [-1.0, 0.0, -3.0, -1.0]
    np.testing.assert_allclose(run["x_dot"], exact["x_dot"], rtol=1e-15, atol=0.0)


def test_explicit_time_is_as_exact():
    """x' = 2 t, from x(1) = 1: t^2."""
    s = ds.states(x="")
    system = ds.ControlSystem(s, {"x": 2 * ds.time})
    run = ds.analysis.reference_run(system, 3.0, {"x": 1.0}, start_time=1.0, at=[1.5, 3.0])
    np.testing.assert_array_equal(run["x"], [2.25, 9.0])


@pytest.mark.slow_rows("implicit", "non-holonomic")
@pytest.mark.parametrize(
    ("pose", "start", "until"),
    [
        (sleigh, {"x_dot": 1.0, "phi_dot": 1.0}, 5.0),
        (wheel, wheel_state(0.2, 1.0), 0.2),
        (free_body, {"w": 1.0, "i": 0.1, "wx": 0.6, "wz": 2.0}, 5.0),
    ],
    ids=["non-holonomic", "implicit", "quaternion"],
)
def test_every_kind_of_goal_holds_to_30_digits(pose, start, until):
    """The quaternion's norm is held where it is, 1.005, which is no number of 16 digits."""
    system = pose()
    run = ds.analysis.reference_run(system, until, start, at=np.linspace(0.0, until, 5))
    assert max(run.residuals.values()) < 1e-29
    # the double run of the same equations, whose errors have little time to grow
    ordinary = ds.solve(system, until, start, at=np.linspace(0.0, until, 5))
    for name, values in run.states.items():
        assert np.max(np.abs(values - ordinary[name])) < 1e-12 * max(1.0, np.max(np.abs(values)))


@pytest.mark.slow
def test_numbers_that_were_folded_in_double_precision_show_in_the_energy():
    """The inertia 1/12 of a bar is in the equations, not in the parameters."""
    run = ds.analysis.reference_run(chain(2), 1.0, chain_state([0.5, 1.0]), at=[0.0, 0.5, 1.0])
    assert max(size for name, size in run.residuals.items() if "joint" in name) < 1e-30
    assert 1e-22 < run.residuals["energy"] < 1e-15


def test_a_singularity_ends_it_with_what_came_before():
    """x' = x^2 from 1 is 1 / (1 - t)."""
    s = ds.states(x="")
    system = ds.ControlSystem(s, {"x": s.x**2})
    run = ds.analysis.reference_run(system, 2.0, {"x": 1.0}, at=[0.5, 0.75, 1.5])
    np.testing.assert_array_equal(run["x"], [2.0, 4.0])
    assert "at t = 1 s the steps have become too small" in run.message


def test_a_state_that_is_no_longer_finite_ends_it_too():
    """x = 1 - t, y' = log x: y = x - x log x - 1 until t = 1."""
    s = ds.states(x="", y="")
    system = ds.ControlSystem(s, {"x": ca.SX(-1), "y": ca.log(s.x)})
    run = ds.analysis.reference_run(system, 2.0, {"x": 1.0, "y": 0.0}, at=[0.5, 1.5])
    assert run["y"].tolist() == [pytest.approx(-0.5 + 0.5 * np.log(2.0), rel=1e-15)]
    assert "at t = 1 s the state is no longer finite" in run.message


def test_progress_reports_the_time_reached():
    reported = []
    ds.analysis.reference_run(oscillator(), 5.0, {"x": 1.0}, at=[5.0], progress=reported.append)
    assert reported[-1] == 5.0


def test_a_coarser_tolerance_is_coarser_and_reported():
    run = ds.analysis.reference_run(oscillator(), 10.0, {"x": 1.0}, at=[10.0], tolerance=1e-18)
    fine = ds.analysis.reference_run(oscillator(), 10.0, {"x": 1.0}, at=[10.0])
    assert run.steps < 2 * fine.steps
    assert (run.tolerance, fine.tolerance) == (1e-18, TOLERANCE)
    with mpmath.workdps(40):
        errors = [abs(digits(entry, "x", 0) - mpmath.cos(10)) for entry in (run, fine)]
    assert errors[1] < 1e-29 < errors[0] < 1e-15


def test_an_operation_without_a_series_is_named():
    q = ds.coordinates(x="m")
    potential = ds.smooth(ca.fabs(q.x) ** 3)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=potential)
    with pytest.raises(ds.DaesolveError, match="fabs"):
        ds.analysis.reference_run(system, 1.0, {"x": 1.0})


@pytest.mark.parametrize("tolerance", [1e-40, 0.5, float("nan")])
def test_a_tolerance_beyond_113_bits_is_refused(tolerance):
    with pytest.raises(ds.DaesolveError, match="tolerance of the reference"):
        ds.analysis.reference_run(oscillator(), 1.0, {"x": 1.0}, tolerance=tolerance)


@pytest.mark.long
def test_andrews_mechanism_to_eleven_digits():
    """Taylor's method in doubles keeps eleven digits of every state, CVODES at 1e-12 eight.

    The quadruple run fulfils the velocity constraints to 1e-32 of their scale; the published
    state at 0.03 s misses them by 1e-9 m/s, so its velocities are no standard beyond 7 digits.
    """
    pytest.importorskip("daesolve_problems")
    case = ds.problem("andrews").case()
    exact = case.reference_run(at=[case.case.until])
    assert max(exact.residuals.values()) < 1e-30
    for solver, right in ((ds.Taylor(), 11), (ds.Cvodes(rtol=1e-12, atol=1e-14), 8)):
        run = case.solve(solver=solver, at=[case.case.until])
        for name, value in exact.states.items():
            assert abs(run[name][0] - value[0]) < 10.0**-right * abs(value[0])
