"""Steps contain the motion and its derivatives, whatever the order of their polynomials."""

from dataclasses import replace

import casadi as ca
import mpmath
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.formulations import Feedback
from daesolve.core.preparation.preparing import prepare
from daesolve.core.run.integration.run_options import requested
from daesolve.verification.enclosure.equations import CertifiedEquations, as_exact
from daesolve.verification.enclosure.exact_constants import with_exact_constants
from daesolve.verification.enclosure.state_sets import StateSet
from daesolve.verification.enclosure.steps import Stepping, apart, tables_of


@pytest.fixture(scope="module")
def falling():
    """Return the tables and values of x'' = -6 x^2, one motion of which is -1/(1 + t)^2."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=2 * q.x**3)
    request, _ = requested(1.0, {"x": -1.0, "x_dot": 2.0}, {"formulation": Feedback()})
    prepared = prepare(with_exact_constants(system), request)
    return tables_of(CertifiedEquations(prepared.problem, ())), as_exact(prepared.values)


@pytest.mark.parametrize("order", [2, 4, 8])
def test_slopes_contain_the_derivatives_of_the_motion_although_the_order_is_low(falling, order):
    stepping = Stepping(*falling, order, 1e-3, slope_tolerance=1e-9)
    start = StateSet.around(np.array([[-1.0, 0.0], [2.0, 0.0]]), np.zeros(2))
    step = stepping.step(start, 0.0, 0.125)
    slopes = step.at(apart(step.end, 0.0)).by_start
    with mpmath.workdps(40):
        # Variations solve w'' = 12 w/(1 + t)^2: w = (1 + t)^4 and (1 + t)^-3.
        one = 1 + mpmath.mpf(step.end)
        basis = mpmath.matrix([[one**4, one**-3], [4 * one**3, -3 * one**-4]])
        first = mpmath.matrix([[1, 1], [4, -3]])
        exactly = basis * first**-1
    polynomial = replace(step, slopes=step.slopes[:, :-1])
    without = polynomial.at(apart(step.end, 0.0)).by_start
    for i in range(2):
        for k in range(2):
            off = abs(exactly[i, k] - mpmath.mpf(slopes.centre[i, k]))
            assert off <= slopes.radius[i, k]
    # The polynomial's own slopes are something else: the remainder is needed.
    off = abs(float(exactly[1, 0]) - without.centre[1, 0])
    assert off > without.radius[1, 0]


def test_numbers_are_not_rounded_by_derivatives():
    q = ds.coordinates(x="m")
    track = ds.Holonomic("track", q.x - 0.7 * ca.sin(3.3 * ds.time) / 3)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, goals=[track])
    run = ds.solve(system, 1.0, {}, guess={"x": 0.0}, at=[0.5, 1.0], certify=True)
    certificate = run.certificate
    assert certificate.width < 1e-25
    for k, time in enumerate(certificate.times.tolist()):
        with mpmath.workdps(50):
            exactly = mpmath.mpf(0.7) * mpmath.sin(mpmath.mpf(3.3) * mpmath.mpf(time)) / 3
            middle = mpmath.mpf(float(certificate.centres["x"][k]))
            middle += mpmath.mpf(float(certificate.offsets["x"][k]))
            assert abs(exactly - middle) <= mpmath.mpf(float(certificate.radii["x"][k]))


def test_the_restitution_of_a_reset_is_the_number_that_was_posed():
    # 1 + 0.8 is no double.
    q = ds.coordinates(y="m")
    reset = ds.Reset(impose=[ds.Holonomic("ground", q.y)], restitution=0.8)
    bounce = ds.Event("bounce", q.y, ds.FALLING, reset)
    ball = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=8 * q.y, events=[bounce])
    run = ds.solve(ball, 1.5, {"y": 4.0, "y_dot": 0.0}, at=[1.5], certify=True)
    with mpmath.workdps(50):
        exactly = mpmath.mpf(0.8) * 8 - 8 * mpmath.mpf(0.5)
        certificate = run.certificate
        middle = mpmath.mpf(certificate.centres["y_dot"][-1])
        middle += mpmath.mpf(certificate.offsets["y_dot"][-1])
        assert abs(exactly - middle) <= certificate.radii["y_dot"][-1] < 1e-25
