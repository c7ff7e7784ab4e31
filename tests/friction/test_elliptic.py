"""Elliptic integrals by means, against mpmath."""

import casadi as ca
import mpmath as mp
import pytest

from daesolve.friction.elliptic import complete_integrals

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
