"""Moments of rollers against integrals in closed form, those of a wheel against its bodies."""

import math

import casadi as ca
import mpmath
import numpy as np
import pytest
from daesolve_problems.spindle import Spindle, Wheel

ROUNDING = 1e-14
"""Relative: some dozens of roundings of sums of positive numbers."""
UNIT_MOMENTS = {
    3: (0.09731905982, 0.1697051099),
    4: (0.03307861615, 0.0926933961),
    5: (0.01400286984, 0.05835777387),
    8: (0.002214017169, 0.02234424095),
}
"""n -> B / (m l^2), A / (m l^2) of pointed rollers, to ten digits."""


def closed_forms(rollers, end):
    """Return V, B / m and A / m for l = 1, by powers of the cosine in sixty digits."""
    with mpmath.workdps(60):
        al = mpmath.pi / rollers
        s, d = mpmath.sin(al), mpmath.cos(al) - mpmath.mpf(end)
        c = {
            1: s,
            2: al / 2 + mpmath.sin(2 * al) / 4,
            3: s - s**3 / 3,
            4: 3 * al / 8 + mpmath.sin(2 * al) / 4 + mpmath.sin(4 * al) / 32,
            5: s - 2 * s**3 / 3 + s**5 / 5,
        }
        volume = 2 * mpmath.pi * (c[3] - 2 * d * c[2] + d**2 * c[1])
        fourth = c[5] - 4 * d * c[4] + 6 * d**2 * c[3] - 4 * d**3 * c[2] + d**4 * c[1]
        spread = (c[3] - c[5]) - 2 * d * (c[2] - c[4]) + d**2 * (c[1] - c[3])
        along = mpmath.pi * fourth / volume
        return float(volume), float(along), float(along / 2 + 2 * mpmath.pi * spread / volume)


@pytest.mark.parametrize("rollers", [3, 4, 5, 8, 40, 200])
@pytest.mark.parametrize("end", [0.0, 1e-3, 0.2071])
def test_volume_and_moments_are_those_in_closed_form_to_rounding(rollers, end):
    roller = Spindle(1.0, rollers, end)
    found = (roller.volume, roller.along, roller.across)
    np.testing.assert_allclose(found, closed_forms(rollers, end), rtol=ROUNDING)


@pytest.mark.parametrize("rollers", UNIT_MOMENTS)
def test_moments_of_pointed_rollers_grow_with_the_square_of_the_wheel(rollers):
    roller = Spindle(0.05, rollers)
    found = np.array([roller.along, roller.across]) / 0.05**2
    np.testing.assert_allclose(found, UNIT_MOMENTS[rollers], rtol=2e-10)


def test_lengths_of_a_roller_close_the_wheels_circle():
    roller = Spindle(0.05, 5, 0.004)
    reach = roller.axis_distance + roller.end_radius
    assert math.hypot(reach, roller.half_length) == pytest.approx(0.05, rel=1e-15)
    assert roller.axis_distance + roller.middle_radius == pytest.approx(0.05, rel=1e-15)


def test_a_disc_and_its_rollers_make_the_moments_of_a_wheel():
    """Summed over the bodies, wherever the wheel has turned to, but for the rollers' own spin."""
    wheel = Wheel(0.15, 0.3, Spindle(0.05, 5, 0.003))
    disc = wheel.disc_mass * (0.05 * math.cos(math.pi / 5)) ** 2
    m, a, b = wheel.roller_mass, wheel.roller_across, wheel.roller_along
    d = wheel.roller.axis_distance
    axial, spins = disc / 2 + 5 * (a + m * d**2), []
    for chi in (0.0, 0.2, 0.55):
        upright = disc / 4
        for j in range(5):
            psi = chi + math.tau * j / 5
            axis = np.array([math.cos(psi), math.sin(psi)])
            tensor = a * np.eye(2) + (b - a) * np.outer(axis, axis)
            upright += tensor[1, 1] + m * (d * math.sin(psi)) ** 2
            upright -= b * math.sin(psi) ** 2
        spins.append(upright)
    np.testing.assert_allclose(wheel.axial, axial, rtol=ROUNDING)
    np.testing.assert_allclose(wheel.upright, spins, rtol=ROUNDING)
    np.testing.assert_allclose(wheel.disc_mass + 5 * m, 0.15, rtol=ROUNDING)


def test_expressions_of_parameters_give_what_numbers_give():
    names = ("radius", "end", "mass", "share")
    symbols = [ca.SX.sym(name) for name in names]
    numbers = (0.05, 0.002, 0.15, 0.1)

    def quantities(radius, end, mass, share):
        roller = Spindle(radius, 4, end)
        wheel = Wheel(mass, share, roller)
        return (roller.volume, wheel.roller_along, wheel.roller_across, wheel.axial, wheel.upright)

    function = ca.Function("quantities", symbols, [ca.vertcat(*quantities(*symbols))])
    found = np.asarray(function(*numbers)).ravel()
    np.testing.assert_allclose(found, quantities(*numbers), rtol=ROUNDING)
