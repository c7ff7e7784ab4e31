"""The ground truth of the body on three pairs of pads, checked on its own."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from tests.reference import three_supports as truth
from tests.reference import three_supports_digits as digits

SAME = 3e-12
"""s; a Runge-Kutta method errs so where the velocity centre crosses the rim of a pad."""


def mean_cosine(x):
    """The paper's double integral for f'/f under an even pressure, x > 1."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    radii, angles = (1.0 + nodes) / 2.0, 2.0 * math.pi * np.arange(240) / 240
    r, angle = radii[:, np.newaxis], angles[np.newaxis, :]
    along = (x - r * np.sin(angle)) / np.hypot(x - r * np.sin(angle), r * np.cos(angle))
    return float(np.sum(weights / 2.0 * radii * 2.0 * along.mean(axis=1)))


def mean_speed(x):
    """d(X) of an even pressure, by Legendre's integrals of the parameter X^2 or 1 / X^2."""
    if x <= 1:
        m = x * x
        k, e = mpmath.ellipk(m), mpmath.ellipe(m)
        return 4 * ((7 + m) * e - 4 * (1 - m) * k) / (9 * mpmath.pi)
    m = x * x
    k, e = mpmath.ellipk(1 / m), mpmath.ellipe(1 / m)
    return 4 * (x * (7 + m) * e - (m - 1) * (m + 3) * k / x) / (9 * mpmath.pi)


@pytest.mark.parametrize("x", [1e-6, 0.02, 0.4, 0.99, 1.01, 1.9, 2.1, 14.0, 1e3])
def test_reduced_friction_is_the_derivative_of_the_mean_speed(x):
    with mpmath.workdps(40):
        slope = mpmath.diff(mean_speed, x)
        turning = mean_speed(mpmath.mpf(x)) - x * slope
        found = truth.reduced_friction(x)
        assert found == pytest.approx((float(slope), float(turning)), rel=2e-15)


@pytest.mark.parametrize("x", [1.3, 2.0, 14.0])
def test_reduced_friction_is_the_double_integral(x):
    assert truth.reduced_friction(x)[0] == pytest.approx(mean_cosine(x), rel=1e-13)


def test_one_variant_agrees_with_its_reactions_at_the_start():
    body = truth.Body()
    assert body.variants(truth.START) == [(1, 2, 2)]
    moment = body.at(truth.START, (1, 2, 2))
    assert moment.reactions == pytest.approx((-0.604, 7.810, 7.509), abs=5e-4)


def test_the_equations_are_those_of_six_coordinates():
    """Momentum and angular momentum by differences along a motion that keeps one variant."""
    body = truth.Body()
    for variant in itertools.product((1, 2), repeat=3):
        state = [*truth.START, 0.0]
        moment = body.at(state, variant)
        turn, w = state[2], state[5]
        h = 1e-6

        def momentum(t, turn=turn, w=w, alpha=moment.accelerations[2]):
            n, angle, spin = body.numbers, turn + w * t + alpha * t**2 / 2, w + alpha * t
            flat = complex(n["inertia_xz"], n["inertia_yz"]) * np.exp(1j * angle)
            return np.array([-flat.real * spin, -flat.imag * spin, n["inertia"] * spin])

        rate = (momentum(h) - momentum(-h)) / (2 * h)
        total = np.array([body.numbers[f"moment_{axis}"] for axis in "xyz"])
        for k, side, reaction in zip(truth.PAIRS, variant, moment.reactions, strict=True):
            total += reaction * pad_moment(body, state, k, side)
        assert total == pytest.approx(rate, abs=1e-8)
        assert sum(moment.reactions) == pytest.approx(-body.numbers["force_z"], rel=1e-13)


def pad_moment(body, state, k, side):
    """The moment about the mass centre of a unit reaction, summed over points of the pad."""
    name = {1: "upper", 2: "lower"}[side]
    a, b, height, radius, friction = (
        body.numbers[f"{name}_{what}_{k}"]
        for what in ("a", "b", "height", "pad_radius", "friction")
    )
    nodes, weights = np.polynomial.legendre.leggauss(40)
    rings, angles = (1.0 + nodes) / 2.0, 2.0 * math.pi * np.arange(160) / 160
    points = (complex(a, b) * np.exp(1j * state[2])) + radius * np.outer(
        rings, np.exp(1j * angles)
    ).ravel()
    shares = np.repeat(weights * rings / len(angles), len(angles))
    slip = complex(state[3], state[4]) + 1j * state[5] * points
    rub = -friction * (1 if side == 2 else -1) * slip / np.abs(slip)
    moments = np.array(
        [
            points.imag - height * rub.imag,
            height * rub.real - points.real,
            points.real * rub.imag - points.imag * rub.real,
        ]
    )
    return moments @ shares


@pytest.mark.slow
def test_the_motion_has_the_switches_and_the_stop_that_were_found_before():
    found = truth.motion(truth.Body(), scaled_from=0.8)
    assert [(s.pair, s.variant) for s in found.switches] == [
        (1, (2, 2, 2)),
        (3, (2, 2, 1)),
        (3, (2, 2, 2)),
        (2, (2, 1, 2)),
    ]
    check(found, SAME)


def check(found, same):
    times = [time for time, _ in truth.SWITCHES]
    assert [float(s.time) for s in found.switches] == pytest.approx(times, abs=same)
    assert float(found.stop) == pytest.approx(truth.STOP, abs=same)
    end = [float(part) for part in found.end[:3]]
    assert end == pytest.approx(list(truth.END.values()), abs=2 * same)
    assert [float(part) for part in found.ratios] == pytest.approx(truth.RATIOS, rel=5 * same)
    assert found.balance < 1e-14
    assert float(found.end[3]) == pytest.approx(-2.0775, rel=1e-14)


@pytest.mark.long
def test_time_and_scaled_time_agree():
    check(truth.motion(truth.Body()), SAME)
    check(truth.motion(truth.Body(), step=0.013, scaled_from=0.78), SAME)


@pytest.mark.long
@pytest.mark.skipif(not digits.EXTENDED, reason="needs numbers of 64 binary digits")
def test_extrapolation_with_more_digits_agrees():
    """As far as the second switch."""
    body = truth.Body(arithmetic=digits.PRECISE)
    number = digits.Number
    found = truth.motion(body, step=number("0.02"), rest=1.2)
    times = [time for time, _ in truth.SWITCHES[:2]]
    assert [float(s.time) for s in found.switches] == pytest.approx(times, abs=5e-16)
    assert found.balance < 1e-15
