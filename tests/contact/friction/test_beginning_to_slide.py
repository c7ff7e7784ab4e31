"""The paper's test of stagnation and its approximations: where they are right, and where not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import NoFreedomError, OutOfRangeError, PosingError
from tests.sliding_bodies import block

FRICTION = 0.4


def body(**loads):
    """The body on three pads with a load in its plane, at rest."""
    case = ds.problem("three-supports").case()
    return case.system, {"x": 0.0}, {**case.values, **loads}


@pytest.mark.parametrize("slope", [0.1, 0.37, 0.39, 0.5])
def test_of_one_support_the_test_is_exact_and_its_ratio_is_tan_over_f(slope):
    """R / (f N) = tan(slope) / f: a body with one freedom has one direction."""
    given = block(), {"x": 0.0}, {"slope": slope}
    found = ds.friction.stagnation_test(*given)
    assert found.ratio == pytest.approx(math.tan(slope) / FRICTION, rel=1e-12)
    assert found.stays == ds.friction.stiction(*given).sticks
    assert found.normal[0] == pytest.approx(2.0 * 9.81 * math.cos(slope))


@pytest.mark.slow
def test_of_one_support_the_approximations_are_the_acceleration_at_once_or_turn_for_ever():
    slides = ds.friction.successive_approximations(block(), {"x": 0.0}, {"slope": 0.5})
    wanted = 9.81 * (FRICTION * math.cos(0.5) - math.sin(0.5))
    assert slides.converged
    assert len(slides.accelerations) == 3
    assert slides.last[0] == pytest.approx(wanted, rel=1e-12)
    rests = ds.friction.successive_approximations(block(), {"x": 0.0}, {"slope": 0.1})
    assert not rests.converged
    assert rests.accelerations[-1][0] * rests.accelerations[-2][0] < 0.0


@pytest.mark.long_rows("moment_z-0.7039")
@pytest.mark.slow
@pytest.mark.parametrize(("load", "limit"), [("force_y", 5.98866), ("moment_z", 0.70390)])
def test_of_spread_loads_the_test_is_right_where_it_says_rest_and_misses_some_of_it(load, limit):
    """Exact limits: 5.989 N and 0.7039 N m; the test's are about 0.75 and 0.67 of them."""
    for share, says in ((0.5, True), (0.95, False)):
        given = body(**{load: share * limit})
        assert ds.friction.stagnation_test(*given).stays == says
        assert ds.friction.stiction(*given).sticks  # wrong in the second: it rests


@pytest.mark.slow
def test_where_one_support_is_lightly_loaded_the_test_says_motion_at_a_tenth_of_the_limit():
    given = body(force_x=0.1 * 5.5538)
    found = ds.friction.stagnation_test(*given)
    assert not found.stays
    assert found.ratio > 10.0
    assert ds.friction.stiction(*given).sticks


@pytest.mark.slow
def test_the_approximations_diverge_near_the_limit_and_agree_with_the_exact_start_far_from_it():
    near = ds.friction.successive_approximations(*body(force_y=2.0 * 5.98866))
    assert not near.converged
    assert not ds.friction.stiction(*body(force_y=2.0 * 5.98866)).sticks
    given = body(force_y=20.0 * 5.98866)
    far, exact = ds.friction.successive_approximations(*given), ds.friction.stiction(*given)
    assert far.converged
    assert exact.variant == far.variant
    names = list(exact.direction)
    direction = np.array([exact.direction[name] for name in names])
    along = far.last / np.linalg.norm(far.last)
    # The flow's direction settles to 1e-11.
    assert along == pytest.approx(direction / np.linalg.norm(direction), abs=1e-9)


def test_what_the_test_does_not_determine_is_refused():
    prism = ds.problem("prism").case()
    with pytest.raises(PosingError, match="as many pairs of supports as degrees of freedom"):
        ds.friction.stagnation_test(prism.system, {"x": 0.0}, prism.values)
    with pytest.raises(OutOfRangeError, match="the body moves"):
        ds.friction.stagnation_test(block(), {"x": 0.0, "x_dot": 1.0})
    with pytest.raises(NoFreedomError, match="no direction"):
        ds.friction.successive_approximations(block(), {"x": 0.0}, {"slope": 0.0})
