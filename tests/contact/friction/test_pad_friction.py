"""Friction of a pad: quadrature, tables and elliptic integrals, against mpmath and closed forms."""

from __future__ import annotations

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from daesolve.contact.friction.pad_friction import (
    checked_exponent,
    complete_integrals,
    friction_table,
    pressure,
    reduced_friction,
    scaled_friction,
)
from daesolve.errors import OutOfRangeError, PosingError
from tests.reference.pad_integrals import (
    mean_speed_double,
    reduced_friction_double,
    uniform_friction,
)

RATIOS = np.array([1e-3, 0.3, 0.999, 1.0, 1.02, 4.0])


def moment(exponent, power):
    """Return the mean of ρ^power under the pressure, in the distance from the edge."""

    def integral(of):
        weight = {"weight": "alg", "wvar": (exponent, 0.0), "epsabs": 0.0, "epsrel": 1e-13}
        smooth = lambda depth: (np.sinc(depth / 2.0)) ** exponent * (1.0 - depth) ** of  # noqa: E731
        return quad(smooth, 0.0, 1.0, **weight)[0]

    return integral(power + 1.0) / integral(1.0)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 2.0, 0.7])
def test_both_coefficients_are_the_double_integrals_of_the_paper(exponent):
    sliding, turning = reduced_friction(RATIOS, exponent)
    for index, ratio in enumerate(RATIOS):
        force, torque = reduced_friction_double(ratio, exponent)
        assert sliding[index] == pytest.approx(force, rel=1e-12)
        assert turning[index] == pytest.approx(torque, rel=1e-12)


@pytest.mark.parametrize("exponent", [-0.5, 1.0])
def test_together_they_make_the_mean_speed(exponent):
    for ratio in (0.4, 1.0, 2.5):
        sliding, turning = reduced_friction(ratio, exponent)
        speed = mean_speed_double(ratio, exponent)
        assert ratio * sliding + turning == pytest.approx(speed, rel=1e-12)


def test_uniform_pressure_has_its_closed_form():
    near = 1.0 + np.array([-1e-3, -1e-7, -1e-12, 0.0, 1e-12, 1e-7, 1e-3])
    ratios = np.concatenate([10.0 ** np.arange(-12, 13), near])
    sliding, turning = reduced_friction(ratios, 0.0)
    for index, ratio in enumerate(ratios):
        force, torque = uniform_friction(ratio)
        assert abs(sliding[index] / force - 1) < 1e-14
        assert abs(turning[index] / torque - 1) < 1e-14


@settings(derandomize=True, max_examples=20, deadline=None)
@given(st.floats(-0.9, 20.0))
def test_slow_and_fast_limits_are_moments_of_the_pressure(exponent):
    first, second = moment(exponent, 1.0), moment(exponent, 2.0)
    slow, fast = 1e-9, 1e9
    sliding, turning = reduced_friction([0.0, slow, fast, np.inf], exponent)
    assert sliding[0] == 0.0
    assert sliding[1] == pytest.approx(moment(exponent, -1.0) / 2.0 * slow, rel=1e-8)
    assert turning[0] == pytest.approx(first, rel=1e-12)
    assert turning[1] == pytest.approx(first, rel=1e-8)
    assert sliding[2] == pytest.approx(1.0, rel=1e-15)
    assert turning[2] == pytest.approx(second / (2.0 * fast), rel=1e-12)
    assert (sliding[3], turning[3]) == (pytest.approx(1.0, rel=1e-15), pytest.approx(0.0))


def test_a_uniform_disc_ends_turning_and_sliding_in_a_known_ratio():
    # V'/V = (r ω)'/(r ω) with the moment of inertia m r²/2; 0.653: Farkas, Bartels, Unger and
    # Wolf, Frictional coupling between sliding and spinning motion, Phys. Rev. Lett. 90 (2003).
    ratio = 0.653
    sliding, turning = reduced_friction([ratio - 5e-4, ratio + 5e-4], 0.0)
    left, right = sliding - 2.0 * np.array([ratio - 5e-4, ratio + 5e-4]) * turning
    assert left * right < 0.0


def test_shapes_are_kept():
    sliding, turning = reduced_friction(np.full((2, 3), 0.5), 1.0)
    assert sliding.shape == turning.shape == (2, 3)
    alone, _ = reduced_friction(0.5, 1.0)
    assert alone == sliding[0, 0]


def test_the_variable_of_the_pressure_takes_in_its_infinite_edge():
    radii, density = pressure(np.array([0.0, 1.0]), -0.5)
    assert radii == pytest.approx([1.0, 0.0])
    assert np.isfinite(density).all()


@pytest.mark.parametrize("exponent", [-1.0, -0.96, 101.0, np.nan, np.inf])
def test_an_exponent_out_of_its_range_is_refused(exponent):
    with pytest.raises(OutOfRangeError, match=r"between -0\.95"):
        checked_exponent(exponent)


def test_an_exponent_has_to_be_a_number():
    with pytest.raises(PosingError, match="must be a number, not 'one'"):
        checked_exponent("one")


@pytest.mark.parametrize("ratio", [-1e-9, np.nan])
def test_a_ratio_that_is_none_is_refused(ratio):
    with pytest.raises(OutOfRangeError, match="between 0 and infinity"):
        reduced_friction([1.0, ratio], 0.0)


MODULI = np.concatenate(
    [np.linspace(0.0, 1.0, 41), 10.0 ** -np.arange(2.0, 9.0), 1.0 - 10.0 ** -np.arange(2.0, 9.0)]
)


def worst(exponent):
    """Return the largest relative error of the four series."""
    complement = ca.SX.sym("complement")
    table = ca.Function("table", [complement], list(friction_table(exponent).series(complement)))
    found = np.vstack([np.array(row) for row in table(((1 - MODULI) * (1 + MODULI))[np.newaxis])])
    slow_slide, slow_turn = scaled_friction(MODULI, exponent)
    with np.errstate(divide="ignore"):
        fast_slide, fast_turn = scaled_friction(1.0 / MODULI, exponent)
    return np.abs(found / [slow_slide, fast_slide, slow_turn, fast_turn] - 1.0).max()


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 2.0])
def test_the_usual_pressures_are_tabulated_to_1e_12(exponent):
    assert worst(exponent) < 1e-12
    assert friction_table(exponent).coefficients.shape[1] <= 25


@pytest.mark.slow
@settings(derandomize=True, max_examples=8, deadline=None)
@given(st.floats(-0.95, 100.0))
@example(-0.95)
@example(1e-9)
@example(0.999)
@example(100.0)
def test_every_pressure_is_tabulated_to_1e_11(exponent):
    assert worst(exponent) < 1e-11


def test_a_table_is_made_once():
    assert friction_table(1.25) is friction_table(1.25)


COMPLEMENTS = [2e-8, 1e-7, 1e-5, 1e-3, 0.03, 0.2, 0.5, 0.8, 0.97, 1.0]
SMALL_PARAMETERS = [1e-3, 1e-8, 1e-16, 1e-40]


def as_numbers(parameter, complement):
    found = complete_integrals(ca.SX(parameter), ca.SX(complement))
    return [float(value) for value in (found.first, found.cosine, found.sine, found.product)]


def expected(parameter):
    with mp.workdps(100):
        if parameter == 0:
            return mp.pi / 2, mp.pi / 4, mp.pi / 4, mp.pi / 16
        first, second = mp.ellipk(parameter), mp.ellipe(parameter)
        sine = (first - second) / parameter
        cosine = first - sine
        return first, cosine, sine, (sine - cosine) / parameter


@pytest.mark.parametrize("complement", COMPLEMENTS)
def test_the_integrals_are_right_up_to_a_modulus_near_one(complement):
    with mp.workdps(100):
        exact = expected(1 - mp.mpf(complement))
    # B is K/2 less nearly K/2 near one: K there is up to 10.3, each term of it rounded.
    for value, reference in zip(as_numbers(1.0 - complement, complement), exact, strict=True):
        assert abs(value / reference - 1) < 1e-14


@pytest.mark.parametrize("parameter", SMALL_PARAMETERS)
def test_no_integral_loses_digits_at_a_small_modulus(parameter):
    exact = expected(mp.mpf(parameter))
    for value, reference in zip(as_numbers(parameter, 1.0 - parameter), exact, strict=True):
        assert abs(value / reference - 1) < 1e-15


def test_legendres_relation_holds():
    # E K' + E' K - K K' = π/2, with E = B + (1 - k²) D.
    for parameter in (0.1, 0.37, 0.5):
        first, cosine, sine, _ = as_numbers(parameter, 1.0 - parameter)
        other, other_cosine, other_sine, _ = as_numbers(1.0 - parameter, parameter)
        second = cosine + (1.0 - parameter) * sine
        other_second = other_cosine + parameter * other_sine
        relation = second * other + other_second * first - first * other
        assert relation == pytest.approx(float(mp.pi / 2), rel=4e-15)
