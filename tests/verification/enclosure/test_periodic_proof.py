"""Proofs of periodic motions against closed forms, and one of the literature."""

import casadi as ca
import mpmath
import numpy as np
import pytest

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
