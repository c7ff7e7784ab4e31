"""Proofs of periodic motions against closed forms, and one of the literature."""

import casadi as ca
import mpmath
import numpy as np
import pytest
import scipy.integrate

import daesolve as ds
from daesolve.errors import NoProofError, OutOfRangeError, UnknownNameError


def oscillator():
    q, p = ds.coordinates(x="m"), ds.parameters(omega=(1.5, "rad/s"))
    force = {"x": ca.cos(p.omega * ds.time) - 0.5 * q.dot.x}
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, potential=q.x**2, force=force)


def test_a_driven_oscillator_has_the_start_and_the_multipliers_of_the_closed_form():
    # x'' + x'/2 + 2 x = cos(1.5 t)
    with mpmath.workdps(50):
        w = mpmath.mpf(1.5)
        answer = 1 / (2 - w**2 + 0.5j * w)
        x, v = answer.real, (1j * w * answer).real
        root = mpmath.sqrt(2 - mpmath.mpf(1) / 16)
        period = 2 * mpmath.pi / w
        size = mpmath.exp(-period / 4)
        exactly = [size * mpmath.expj(root * period), size * mpmath.expj(-root * period)]
    start = {"x": float(x) + 1e-9, "x_dot": float(v)}
    proof = ds.analysis.prove_periodic(oscillator(), start, frequency="omega")
    with mpmath.workdps(50):
        for name, value in (("x", x), ("x_dot", v)):
            centre, offset, radius = map(mpmath.mpf, proof.start[name])
            assert abs(value - centre - offset) <= radius < 1e-18
    for middle, radius in zip(proof.multipliers, proof.radii, strict=True):
        assert min(abs(complex(one) - middle) for one in exactly) <= radius + 1e-16
    assert proof.stable is True


def test_the_unstable_motion_of_the_driven_damped_pendulum_is_proved():
    # Banhelyi, Csendes, Garay and Hatvani (2008), doi 10.1137/070695599
    q = ds.coordinates(angle="rad")
    force = {"angle": ca.cos(ds.time) - 0.1 * q.dot.angle}
    potential = -ca.cos(q.angle)
    pendulum = ds.MechanicalSystem(q, kinetic=q.dot.angle**2 / 2, potential=potential, force=force)
    start = {"angle": 2.634272633, "angle_dot": 0.026029423}
    proof = ds.analysis.prove_periodic(pendulum, start, frequency=1.0)
    assert proof.stable is False
    assert proof.start["angle"][0] == pytest.approx(2.634272633, abs=1e-6)
    # Liouville: the volume shrinks by exp(-0.1 T) in a period.
    assert np.prod(proof.multipliers) == pytest.approx(np.exp(-0.2 * np.pi), rel=1e-8)


GRAVITY, RESTITUTION, THROW = 10.0, 0.5, 12.0


def thrown_ball():
    """Return a ball that a table, which hardly moves, throws back with e v + (1 + e) A cos t."""
    q = ds.coordinates(y="m")
    speed = -RESTITUTION * q.dot.y + (1 + RESTITUTION) * THROW * ca.cos(ds.time)
    event = ds.Event("throw", q.y, ds.FALLING, ds.Reset({"y_dot": speed}))
    return ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=GRAVITY * q.y, events=[event])


def test_a_motion_with_an_impact_in_each_period_is_proved():
    # A flight of one period needs v = pi g; the throw gives it at the phase a.
    v = np.pi * GRAVITY
    a = np.arccos(v * (1 - RESTITUTION) / ((1 + RESTITUTION) * THROW))
    flight = 2 * np.pi - a
    start = {
        "y": v * flight - GRAVITY * flight**2 / 2,
        "y_dot": v - GRAVITY * flight,
    }
    proof = ds.analysis.prove_periodic(thrown_ball(), start, frequency=1.0)
    assert proof.events == 1
    middle, _, radius = proof.start["y"]
    assert radius < 1e-15
    assert middle == pytest.approx(start["y"], abs=1e-12)
    # The map of (phase, speed): t' = t + 2 v/g, v' = e v + (1 + e) A cos t'.
    slope = -(1 + RESTITUTION) * THROW * np.sin(a)
    by = np.array([[1.0, 2 / GRAVITY], [slope, RESTITUTION + slope * 2 / GRAVITY]])
    assert np.poly(proof.multipliers) == pytest.approx(np.poly(by), abs=1e-9)


def test_a_start_far_from_any_periodic_motion_proves_nothing():
    with pytest.raises(NoProofError, match="not proved"):
        ds.analysis.prove_periodic(thrown_ball(), {"y": 3.0, "y_dot": 1.0}, frequency=1.0)


def test_requests_that_make_no_sense_are_refused():
    with pytest.raises(OutOfRangeError, match="frequency"):
        ds.analysis.prove_periodic(oscillator(), {"x": 0.0}, frequency=-1.0)
    with pytest.raises(UnknownNameError, match="omega"):
        ds.analysis.prove_periodic(oscillator(), {"x": 0.0}, frequency="omga")
    with pytest.raises(OutOfRangeError, match="turns"):
        ds.analysis.prove_periodic(oscillator(), {"x": 0.0}, frequency=1.0, turns=0)


def within(ball, exactly):
    """Return whether a ball in two doubles contains a number of mpmath."""
    with mpmath.workdps(50):
        centre, offset, radius = map(mpmath.mpf, ball)
        return abs(exactly - centre - offset) <= radius


def van_der_pol():
    q = ds.coordinates(x="m")
    force = {"x": (1 - q.x**2) * q.dot.x}
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force=force)


def test_the_period_of_van_der_pols_oscillator_is_proved():
    start = {"x": 2.0086199, "x_dot": 0.0}
    proof = ds.analysis.prove_periodic(van_der_pol(), start, period=6.6632869)
    assert proof.stable is True
    assert proof.free == ("x",)
    assert proof.period[2] < 1e-15

    def rate(_, y):
        return [y[1], (1 - y[0] ** 2) * y[1] - y[0], 1 - y[0] ** 2]

    def turned(_, y):
        return y[1]

    turned.direction = -1.0
    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14, "events": turned}
    found = scipy.integrate.solve_ivp(rate, (0.0, 10.0), [proof.start["x"][0], 0.0, 0.0], **options)
    last = found.t_events[0][-1]
    assert proof.period[0] == pytest.approx(last, abs=1e-10)
    # Liouville: the multiplier is the exponential of the integral of the divergence.
    assert proof.multipliers[0].real == pytest.approx(np.exp(found.y_events[0][-1][2]), rel=1e-8)


def test_a_clock_that_is_kicked_has_the_period_and_multiplier_of_the_closed_form():
    damping, kick = 0.125, 1.0
    q = ds.coordinates(x="m")
    event = ds.Event("kick", q.x, ds.RISING, ds.Reset({"x_dot": q.dot.x + kick}))
    clock = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        force={"x": -2 * damping * q.dot.x},
        events=[event],
    )
    with mpmath.workdps(50):
        d = mpmath.mpf(damping)
        w = mpmath.sqrt(1 - d**2)
        period, late = 2 * mpmath.pi / w, mpmath.mpf(4)
        shrinks = mpmath.exp(-d * period)
        speed = kick / (1 - shrinks)
        x = speed / w * mpmath.exp(-d * late) * mpmath.sin(w * late)
        v = speed * mpmath.exp(-d * late) * (mpmath.cos(w * late) - d / w * mpmath.sin(w * late))
    start = {"x": float(x) + 1e-9, "x_dot": float(v)}
    proof = ds.analysis.prove_periodic(clock, start, period=float(period) + 1e-9)
    assert proof.events == 1
    assert within(proof.period, period)
    assert proof.period[2] < 1e-15
    assert abs(complex(shrinks) - proof.multipliers[0]) <= proof.radii[0] + 1e-16
    # The state that changes fastest keeps its double; the other one follows.
    assert proof.free in (("x",), ("x_dot",))


def test_a_conservative_motion_which_is_not_isolated_is_not_proved():
    q = ds.coordinates(x="m")
    pendulum = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=-ca.cos(q.x))
    with pytest.raises(NoProofError, match="not proved"):
        ds.analysis.prove_periodic(pendulum, {"x": 1.0, "x_dot": 0.0}, period=6.69999)


def test_a_driven_system_needs_the_frequency():
    with pytest.raises(NoProofError, match="depends on time"):
        ds.analysis.prove_periodic(oscillator(), {"x": 0.0}, period=4.0)
    with pytest.raises(OutOfRangeError, match="either the frequency"):
        ds.analysis.prove_periodic(oscillator(), {"x": 0.0})
    with pytest.raises(OutOfRangeError, match="period"):
        ds.analysis.prove_periodic(van_der_pol(), {"x": 2.0}, period=-1.0)
