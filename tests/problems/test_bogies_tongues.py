"""The ends of tongues, against the extrema of the map and the equations with multipliers."""

import math

import numpy as np
import pytest
import scipy
from daesolve_problems.bogies.tongues import (
    NEAR_ENDS,
    ReducedMotion,
    follow_tongue,
    tongue,
    tongue_near,
)

import daesolve as ds
from daesolve.errors import OutOfRangeError

CASE = ds.problem("bogies").case("regular", model="reduced")
MOTION = ReducedMotion.of(CASE)
DIFFERENCE = -2.0
PERIOD = math.pi
EXTREMA = {
    (3, 1): (2.898635606328148, 3.2515861554917427),
    (5, 2): (2.4696998309297515, 2.5459889823858783),
}
"""C_1 where the largest and the least F^q - id - p are zero, by `CircleMap.tongue`: with Taylor's
method, and without derivatives of the map."""


@pytest.mark.slow
@pytest.mark.parametrize("ratio", EXTREMA)
def test_tongues_end_where_extrema_of_the_map_are_zero(ratio):
    found = tongue_near(MOTION, ratio, DIFFERENCE, NEAR_ENDS[ratio])
    assert (found.low, found.high) == pytest.approx(EXTREMA[ratio], abs=1e-11)
    assert found.missed < 1e-9


@pytest.mark.slow
def test_ends_are_found_from_the_whole_circle():
    found = tongue(MOTION, (3, 1), DIFFERENCE)
    assert (found.low, found.high) == pytest.approx(EXTREMA[3, 1], abs=1e-11)


def test_derivatives_of_the_motion_are_those_of_differences():
    at, first, step = np.array([0.3]), np.array([2.6]), 1e-4

    def ahead(start, change):
        return MOTION.carried(at + start, first + change, DIFFERENCE, 2)[:, 0]

    middle = ahead(0.0, 0.0)
    by_start = (ahead(step, 0.0) - ahead(-step, 0.0)) / (2 * step)
    by_first = (ahead(0.0, step) - ahead(0.0, -step)) / (2 * step)
    # Central differences are off by step^2 times a third derivative, here some hundred.
    assert middle[1:3] == pytest.approx([by_start[0], by_first[0]], rel=1e-5)
    assert middle[3:] == pytest.approx([by_start[1], by_first[1]], rel=1e-5)


@pytest.mark.slow
def test_a_tongue_is_followed_only_where_it_is():
    known = tongue_near(MOTION, (3, 1), DIFFERENCE, NEAR_ENDS[3, 1])
    followed = follow_tongue(MOTION, known, -2.3)
    again = follow_tongue(MOTION, followed, DIFFERENCE)
    assert (again.low, again.high) == pytest.approx((known.low, known.high), abs=1e-11)
    with pytest.raises(
        OutOfRangeError, match="no saddle-nodes were found at both ends of the tongue 3/1"
    ):
        tongue_near(MOTION, (3, 1), DIFFERENCE, [(0.3, 1.0), (0.3, 1.0)])


# -- the equations with multipliers, by hand -------------------------------------------------------


def rates(_, y):
    """Hamel's equations of the frame and both bogies, with a multiplier for each skate."""
    p = CASE.full_parameters
    m, a, inertia, j = (p[name] for name in ("mass", "centre", "inertia", "bogie_inertia"))
    theta, w = y[:2], y[2:]
    v_1, v_2, turn = w[:3]
    mass = np.diag([m, m, inertia, j, j])
    mass[1, 2] = mass[2, 1] = m * a
    mass[2, 3:] = mass[3:, 2] = j
    momenta = mass @ w
    force = np.array([turn * momenta[1], -turn * momenta[0], 0.0, 0.0, 0.0])
    force[2] = v_2 * momenta[0] - v_1 * momenta[1]
    arms, c, s = np.array([-p["front"], p["rear"]]), np.cos(theta), np.sin(theta)
    rows = np.column_stack([c, s, arms * c, np.zeros((2, 2))])
    bias = (-s * (v_1 + arms * turn) + c * v_2) * w[3:]
    whole = np.block([[mass, -rows.T], [rows, np.zeros((2, 2))]])
    return np.concatenate([w[3:], np.linalg.solve(whole, np.concatenate([force, -bias]))[:5]])


def advances(theta, first, periods):
    """The advances of theta_1 in each period, in pi."""
    p, given = CASE.full_parameters, CASE.full_start
    c, s = math.cos(theta), math.sin(theta)
    front, rear = p["front"], p["rear"]
    # With both bogies parallel N = ((b_1 + b_2) s c, -(b_1 + b_2) c^2, 0), and psi' = 0.
    way = np.array([s, -c]) * math.copysign(1.0, c) * given["sign"] * given["level"]
    assert front + rear > 0.0
    begin = np.array([theta, theta, *way, 0.0, first, first + DIFFERENCE])
    times = PERIOD * np.arange(periods + 1)
    found = scipy.integrate.solve_ivp(
        rates, times[[0, -1]], begin, "DOP853", times, rtol=1e-11, atol=1e-12
    )
    return np.diff(found.y[0]) / math.pi


@pytest.mark.slow
def test_a_tongue_that_ends_in_a_corner_is_refused():
    with pytest.raises(OutOfRangeError, match="an end is a corner"):
        tongue(MOTION, (2, 1), DIFFERENCE)


def locked_return(ratio, first):
    """How far the return of the motion that attracts is off p, by Steffensen's iteration."""
    p, q = ratio
    theta = 0.3 + math.pi * np.sum(advances(0.3, first, 8 * q) - p / q)
    off = math.inf
    for _ in range(4):
        one, two = math.pi * (advances(theta, first, 2 * q).reshape(2, q).sum(axis=1) - p)
        off = one / math.pi
        theta += one**2 / (one - two) if one != two else 0.0
    return off


@pytest.mark.slow
@pytest.mark.parametrize("ratio", EXTREMA)
def test_the_equations_with_multipliers_are_locked_inside_a_tongue_and_not_outside(ratio):
    (p, q), (low, high) = ratio, EXTREMA[ratio]
    width = high - low
    for share in (0.1, 0.9) if q == 1 else (0.5,):
        # A motion that returns to itself turned by p pi is locked, and its rotation number p / q.
        assert abs(locked_return(ratio, low + share * width)) < 1e-10
    for first, side in ((low - 0.1 * width, -1.0), (high + 0.1 * width, 1.0)):
        returns = advances(0.3, first, 8 * q).reshape(-1, q).sum(axis=1)
        # Every return falls short of p, or exceeds it: the rotation number is another one.
        assert np.all(side * (returns - p) > 1e-3)
