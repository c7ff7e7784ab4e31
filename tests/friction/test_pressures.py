"""Reduced friction by quadrature, against the double integrals of the paper and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from daesolve.errors import OutOfRangeError, PosingError
from daesolve.friction.pressures import checked_exponent, pressure, reduced_friction

from ..reference.pad_integrals import (
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
    with pytest.raises(OutOfRangeError, match=r"from -0\.95"):
        checked_exponent(exponent)


def test_an_exponent_has_to_be_a_number():
    with pytest.raises(PosingError, match="must be a number, not 'one'"):
        checked_exponent("one")


@pytest.mark.parametrize("ratio", [-1e-9, np.nan])
def test_a_ratio_that_is_none_is_refused(ratio):
    with pytest.raises(OutOfRangeError, match="from 0 to infinity"):
        reduced_friction([1.0, ratio], 0.0)
