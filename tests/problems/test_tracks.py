import math

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.curves import CIRCLE, QUARTIC, contact_point, explicit, implicit
from daesolve_problems.tracks import lowest_centre, reach, trace
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ellipe

from daesolve.errors import OutOfRangeError

PARABOLA = explicit(lambda x, p: p["bend"] * x**2 / 2, label="parabola", bend=(2.0, "1/m"))
FLAT = explicit(lambda x, p: 0.0, label="flat")
TRACED = 1e-11  # the integrator's tolerance of 1e-13 a step, over about a hundred steps


def traced(curve, length, values=None, **start):
    values = values or {}
    return trace(curve, values, contact_point(curve, values, start), length)


@pytest.fixture(scope="module")
def bowl():
    return traced(CIRCLE, 2.0, polar_angle=0.3)


def test_a_circle_is_traced_exactly_twice_round(bowl):
    angle = 0.3 + bowl.s / 0.5
    assert bowl.points == pytest.approx(
        0.5 * np.column_stack((np.sin(angle), -np.cos(angle))), abs=TRACED
    )
    assert bowl.perimeter == pytest.approx(math.pi, abs=TRACED)
    assert bowl.ends == (-bowl.perimeter, bowl.perimeter)
    assert np.all(np.diff(bowl.s) > 0.0)
    assert np.max(np.diff(bowl.s)) < 0.05
    assert 0.0 in bowl.s


def test_a_closed_track_goes_on_for_ever(bowl):
    assert bowl.at(1.0 + 7 * math.pi).points == pytest.approx(bowl.at(1.0).points, abs=10 * TRACED)


@pytest.mark.parametrize("part", [0.4999, 0.5, 0.5001, 0.75, 0.999999999, 1.0, 1.000000001, 20.0])
def test_a_curve_is_found_to_be_closed_within_twice_the_length(part):
    perimeter = traced(CIRCLE, part * math.pi, polar_angle=1.0).perimeter
    if part < 0.5:
        assert perimeter is None
    else:
        assert perimeter == pytest.approx(math.pi, abs=TRACED)


@pytest.mark.slow
@settings(derandomize=True, max_examples=10, deadline=None)
@given(st.floats(0.5, 3.0), st.floats(0.1, 0.5), st.floats(-3.0, 3.0))
def test_an_ellipse_closes_after_its_perimeter_and_one_turn(a, b, angle):
    ellipse = implicit(lambda x, z, p: (x / a) ** 2 + (z / b) ** 2 - 1)
    track = traced(ellipse, 10.0, polar_angle=angle)
    assert track.perimeter == pytest.approx(4 * a * ellipe(1 - (b / a) ** 2), abs=10 * TRACED)
    once = track.part(track.s >= 0.0)
    turning = np.sum((once.curvature[1:] + once.curvature[:-1]) / 2 * np.diff(once.s))
    assert turning == pytest.approx(2 * math.pi, abs=1e-2)
    assert ellipse.evaluate({}, track.points)[0] == pytest.approx(0.0, abs=1e-13)


def test_arc_length_along_a_parabola_is_exact():
    track = traced(PARABOLA, 3.0, contact_x=-0.5)

    def length(x):
        return (2 * x * np.sqrt(1 + 4 * x**2) + np.arcsinh(2 * x)) / 4

    assert track.s == pytest.approx(length(track.points[:, 0]) - length(-0.5), abs=TRACED)
    assert track.ends == (-3.0, 3.0)
    assert track.stops == (False, False)


def test_tangents_and_curvature_are_derivatives_by_arc_length():
    track = traced(QUARTIC, 2.0, contact_x=0.1)
    s, step = np.linspace(-1.9, 1.9, 39), 1e-3
    here, after, before = track.at(s), track.at(s + step), track.at(s - step)
    assert (after.points - before.points) / (2 * step) == pytest.approx(here.tangents, abs=1e-5)
    turning = (after.normals - before.normals) / (2 * step)
    assert turning == pytest.approx(here.curvature[:, None] * here.tangents, abs=1e-4)


def test_a_narrow_dip_in_a_straight_line_is_found():
    dip = explicit(lambda x, p: -0.01 * ca.exp(-(((x - 2) / 0.02) ** 2)))
    track = traced(dip, 8.0, contact_x=0.0)
    assert np.max(track.curvature) == pytest.approx(2 * 0.01 / 0.02**2, rel=1e-2)


def test_an_open_track_ends_where_tracing_ended():
    track = traced(FLAT, 2.0, contact_x=1.0)
    assert track.at([-2.0, 2.0]).points == pytest.approx(np.array([[-1.0, 0.0], [3.0, 0.0]]))
    with pytest.raises(OutOfRangeError, match="goes from -2 m to 2 m"):
        track.at(2.1)


@pytest.mark.parametrize(
    ("curve", "stops", "end"),
    [
        (explicit(lambda x, p: -ca.sqrt(1 - x**2)), (True, True), (1.0, 0.0)),
        (explicit(lambda x, p: ca.fabs(x)), (False, True), (0.0, 0.0)),
    ],
)
def test_tracing_stops_where_a_curve_ends_or_has_a_kink(curve, stops, end):
    track = traced(curve, 4.0, contact_x=-0.5)
    assert track.stops == stops
    assert track.points[-1] == pytest.approx(end, abs=1e-6)


def test_tracing_stops_before_a_jump():
    step = explicit(lambda x, p: ca.if_else(x > 1, 1.0, 0.0))
    track = traced(step, 4.0, contact_x=0.0)
    assert track.stops == (False, True)
    assert np.all(track.points[:, 1] == 0.0)


@pytest.mark.parametrize(
    ("curve", "start", "length", "complaint"),
    [
        (FLAT, (0.0, 0.0), 0.0, "must be positive"),
        (FLAT, (0.0, 0.0), math.inf, "must be positive"),
        (implicit(lambda x, z, p: x * z), (0.0, 0.0), 1.0, "no tangent"),
        (explicit(lambda x, p: ca.sqrt(x)), (0.0, 0.0), 1.0, "no tangent"),
        (explicit(lambda x, p: ca.fabs(x)), (0.0, 0.0), 1.0, "not smooth"),
    ],
)
def test_what_cannot_be_traced_is_refused(curve, start, length, complaint):
    with pytest.raises(OutOfRangeError, match=complaint):
        trace(curve, {}, start, length)


@pytest.mark.slow
@settings(derandomize=True, max_examples=15, deadline=None)
@given(st.floats(-1.4, 1.4), st.floats(0.01, 0.4), st.floats(0.01, 1.5))
def test_in_a_bowl_the_wheel_gets_to_where_its_centre_is_at_the_height(angle, radius, more):
    arm = 0.5 - radius
    highest = abs(angle) + more
    track = traced(CIRCLE, 2.0, polar_angle=angle)
    low, high = reach(track, radius, -arm * math.cos(highest))
    assert low == pytest.approx(-0.5 * (highest + angle), abs=1e-9)
    assert high == pytest.approx(0.5 * (highest - angle), abs=1e-9)
    assert lowest_centre(track, radius, (low, high)) == pytest.approx(-arm, abs=1e-14)


def test_from_beside_the_top_the_far_side_is_reached_the_long_way():
    track = traced(CIRCLE, 2.0, polar_angle=3.0)
    low, high = reach(track, 0.1, -0.4 * math.cos(3.05))
    assert low == pytest.approx(-0.5 * (3.0 + 3.05), abs=1e-9)
    assert high == pytest.approx(0.5 * 0.05, abs=1e-9)


def test_over_the_top_nothing_stops_the_wheel(bowl):
    assert reach(bowl, 0.1, 0.41) == bowl.ends
    assert reach(bowl, 0.1) == bowl.ends


def test_released_from_rest_the_wheel_does_not_go_up():
    track = traced(PARABOLA, 3.0, contact_x=-0.5)
    start = float(track.at(0.0).centres(0.1)[0, 1])
    low, high = reach(track, 0.1, start)
    assert low == pytest.approx(0.0, abs=1e-12)
    assert track.at(high).points[0, 0] == pytest.approx(0.5, abs=1e-9)


def test_a_summit_between_samples_stops_the_wheel():
    hill = explicit(lambda x, p: -(x**2))
    track = traced(hill, 3.0, contact_x=-0.4321)
    summit = 0.1 - 1e-9
    assert reach(track, 0.1, summit)[1] < -track.ends[0] / 3
    assert reach(track, 0.1, 0.1 + 1e-9)[1] == track.ends[1]


def test_the_lowest_centre_over_a_quartic_is_above_its_lowest_level_point():
    track = traced(QUARTIC, 3.0, contact_x=0.0)
    polynomial = np.polynomial.Polynomial([-0.5, -0.13, -0.5, 0.13, 1.0])
    level = polynomial.deriv().roots().real
    lowest = polynomial(level).min() + 0.01
    assert lowest_centre(track, 0.01) == pytest.approx(lowest, abs=1e-14)
    nearer = track.s[np.searchsorted(track.s, 0.0) + 3]
    near = lowest_centre(track, 0.01, (-0.01, nearer))
    assert near > lowest
    assert near == pytest.approx(track.at(nearer).centres(0.01)[0, 1], abs=1e-14)


@pytest.mark.parametrize("stretch", [(-9.0, 1.0), (0.1, 1.0), (-1.0, 9.0), (1.0, -1.0)])
def test_a_stretch_off_the_track_or_without_the_start_is_refused(stretch):
    with pytest.raises(OutOfRangeError, match="must contain the start"):
        lowest_centre(traced(FLAT, 2.0, contact_x=0.0), 0.1, stretch)
