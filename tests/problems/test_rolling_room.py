"""Largest discs and second contacts against closed forms and against brute force."""

import math

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.curves import CIRCLE, QUARTIC, contact_point, explicit, implicit
from daesolve_problems.rolling_room import admissibility, barriers
from daesolve_problems.tracks import trace
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.spatial import KDTree

from daesolve.errors import OutOfRangeError

PARABOLA = explicit(lambda x, p: x**2, label="parabola")  # bends by 2 at its vertex
CASSINI = implicit(
    lambda x, z, p: (x**2 + z**2) ** 2 - 2 * (x**2 - z**2) + 1 - p["product"] ** 2,
    label="Cassini oval",
    product=(1.05**2, "m^2"),
)
NECK = math.sqrt(1.05**2 - 1)  # half the width of its neck
TOUCH = 1e-10


def traced(curve, length, values=None, **start):
    values = values or {}
    return trace(curve, values, contact_point(curve, values, start), length)


def touches(track, radius, second, tolerance=TOUCH):
    """Whether a disc that is tangent at the contact touches the curve in the other point."""
    here = track.at(second.s)
    assert here.points[0] == pytest.approx(second.contact, abs=tolerance)
    other = np.array([second.other])
    _, f_x, f_z, *_ = track.curve.evaluate(track.values, other)[:, 0]
    centre = other[0] - radius * np.array([f_x, f_z]) / math.hypot(f_x, f_z)
    return here.centres(radius)[0] == pytest.approx(centre, abs=tolerance)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("0.49", "0.5002", "0.505", "2.0")
@pytest.mark.parametrize("radius", [0.49, 0.5002, 0.505, 0.6, 1.0, 2.0])
def test_in_a_parabola_a_disc_rests_on_both_flanks(radius):
    track = traced(PARABOLA, 8.0, contact_x=-2.2)
    found = admissibility(track, radius)
    assert found.largest_local_radius == pytest.approx(0.5, rel=1e-12)
    assert found.largest_radius == pytest.approx(0.5, rel=1e-12)
    assert found.tightest == pytest.approx((0.0, 0.0), abs=1e-6)
    assert found.admissible == (radius < 0.5)
    assert found.fits_at_start
    backward, forward = found.second_contacts
    assert backward is None
    if found.admissible:
        assert forward is None
        assert found.free_stretch == found.stretch == track.ends
        return
    x = math.sqrt(radius**2 - 0.25)
    assert forward.contact == pytest.approx((-x, x**2), abs=TOUCH)
    assert forward.other == pytest.approx((x, x**2), abs=TOUCH)
    assert found.free_stretch == (track.ends[0], forward.s)
    assert radius * track.at(forward.s).curvature[0] < 1.0
    assert touches(track, radius, forward)


@pytest.mark.long
@settings(derandomize=True, max_examples=10, deadline=None)
@given(
    st.floats(0.8, 3.0), st.floats(0.2, 0.7), st.floats(-math.pi, math.pi), st.floats(0.05, 0.95)
)
def test_in_an_ellipse_a_disc_rests_on_both_sides_of_a_tip(a, b, turn, part):
    def residual(x, z, p):
        along, across = x * ca.cos(turn) + z * ca.sin(turn), z * ca.cos(turn) - x * ca.sin(turn)
        return (along / a) ** 2 + (across / b) ** 2 - 1

    smallest = b**2 / a
    radius = smallest + part * (b - smallest)
    track = traced(implicit(residual), 20.0, polar_angle=turn)  # from the end of the minor axis
    found = admissibility(track, radius)
    assert found.largest_local_radius == pytest.approx(smallest, rel=1e-11)
    assert found.largest_radius == pytest.approx(smallest, rel=1e-11)
    # the normal in (a cos, b sin) meets the major axis at the distance r
    sine = math.sqrt((radius**2 - smallest**2) / (b**2 - smallest**2))
    side = a * math.sqrt(1 - sine**2)
    for second, sign in zip(found.second_contacts, (-1.0, 1.0), strict=True):
        place = sign * side, -b * sine
        turned = (
            place[0] * math.cos(turn) - place[1] * math.sin(turn),
            place[0] * math.sin(turn) + place[1] * math.cos(turn),
        )
        assert second.contact == pytest.approx(turned, abs=TOUCH)
        assert touches(track, radius, second)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("radius", [0.3, 0.499999, 0.500001, 0.7])
def test_in_a_circle_a_disc_fits_everywhere_or_nowhere(radius):
    track = traced(CIRCLE, 4.0, polar_angle=0.4)
    found = admissibility(track, radius)
    assert found.largest_local_radius == pytest.approx(0.5, rel=1e-12)
    assert found.largest_radius == pytest.approx(0.5, rel=1e-12)
    assert found.admissible == found.fits_at_start == (radius < 0.5)
    if found.admissible:
        assert found.second_contacts == (None, None)
    else:
        assert [second.s for second in found.second_contacts] == [0.0, 0.0]
        with pytest.raises(OutOfRangeError, match="does not fit"):
            barriers(track, found)


@pytest.mark.slow
def test_in_the_troughs_of_a_cosine_the_largest_disc_is_the_osculating_one():
    track = traced(explicit(lambda x, p: 0.1 * ca.cos(3 * x)), 4.0, contact_x=0.0)
    found = admissibility(track, 1.2)
    assert found.largest_radius == pytest.approx(1 / (0.1 * 9), rel=1e-12)
    backward, forward = found.second_contacts
    assert forward.contact == pytest.approx((-backward.contact[0], backward.contact[1]), abs=TOUCH)
    assert forward.contact[0] + forward.other[0] == pytest.approx(2 * math.pi / 3, abs=TOUCH)
    assert touches(track, 1.2, forward)


@pytest.mark.slow
@pytest.mark.parametrize("curve", [explicit(lambda x, p: 0.3 * x), explicit(lambda x, p: -(x**2))])
def test_where_a_curve_never_bends_towards_the_wheel_every_disc_fits(curve):
    found = admissibility(traced(curve, 3.0, contact_x=0.2), 50.0)
    assert found.admissible
    assert found.largest_radius == found.largest_local_radius == math.inf
    assert found.tightest is None


def test_the_largest_disc_on_the_quartic():
    track = traced(QUARTIC, 4.0, contact_x=0.0)
    x = track.points[:, 0]
    low, high = (float(np.interp(end, x, track.s)) for end in (-0.9, 0.92))
    found = admissibility(track, 0.01, (low, high))
    assert found.admissible
    assert found.stretch == (low, high)
    assert found.largest_radius == found.largest_local_radius == pytest.approx(0.2912, abs=5e-5)
    inside = (track.s > low) & (track.s < high)
    assert np.min(track.curvature[inside]) == pytest.approx(-1.0, abs=1e-3)
    assert 1 / found.largest_radius == pytest.approx(3.434, abs=5e-4)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("radius", [0.31, 0.321, 0.35, 0.5])
def test_a_neck_stops_a_disc_that_fits_everywhere_locally(radius):
    track = traced(CASSINI, 8.0, contact_x=-0.9)
    found = admissibility(track, radius)
    assert found.largest_local_radius > 0.51
    assert found.largest_radius == pytest.approx(NECK, rel=1e-12)
    assert np.abs(found.tightest) == pytest.approx((0.0, NECK), abs=1e-6)
    assert found.admissible == (radius < NECK)
    if found.admissible:
        return

    def beyond(x):  # by how much the disc with its centre on the axis, touching at x, is larger
        z = math.sqrt(math.sqrt(4 * x**2 + 1.05**4) - x**2 - 1)
        _, f_x, f_z, *_ = CASSINI.evaluate({}, [(x, z)])[:, 0]
        return z * math.hypot(f_x, f_z) / f_z - radius

    x = -brentq(beyond, 1e-9, 0.6, xtol=1e-14)
    for second, sign in zip(found.second_contacts, (1.0, -1.0), strict=True):
        assert second.contact[0] == pytest.approx(x, abs=TOUCH)
        assert second.contact[1] * sign > 0.0
        assert second.other == pytest.approx((x, -second.contact[1]), abs=TOUCH)
        assert touches(track, radius, second)


@pytest.mark.slow
def test_a_ceiling_is_a_piece_of_its_own():
    channel = implicit(lambda x, z, p: z * (z - 0.2 - 0.1 * x**2), label="channel")
    track = traced(channel, 3.0, contact_x=1.0)
    largest = admissibility(track, 0.05).largest_radius
    assert largest == pytest.approx(0.1, rel=1e-12)
    found = admissibility(track, 0.12)
    assert found.largest_local_radius == math.inf
    backward, forward = found.second_contacts
    assert forward is None
    assert touches(track, 0.12, backward)
    assert 0.0 < backward.contact[0] < 1.0
    assert backward.other[1] == pytest.approx(0.2 + 0.1 * backward.other[0] ** 2, abs=TOUCH)


@pytest.mark.slow
@pytest.mark.slow_rows("0.3")
@pytest.mark.parametrize("radius", [0.09, 0.11, 0.3])
def test_an_island_stops_a_disc_that_cannot_pass_below(radius):
    island = implicit(lambda x, z, p: -z * ((x - 1) ** 2 + (z - 0.3) ** 2 - 0.01), label="island")
    track = traced(island, 3.0, contact_x=0.0)
    found = admissibility(track, radius)
    assert found.largest_radius == pytest.approx(0.1, rel=1e-12)
    assert found.admissible == (radius < 0.1)
    if not found.admissible:
        x = 1 - math.sqrt((radius + 0.1) ** 2 - (radius - 0.3) ** 2)
        assert found.second_contacts[0] is None
        assert found.second_contacts[1].contact == pytest.approx((x, 0.0), abs=TOUCH)


@pytest.mark.slow
def test_a_disc_may_fit_on_a_stretch_and_not_beyond():
    track = traced(PARABOLA, 8.0, contact_x=-2.2)
    stop = admissibility(track, 1.0).second_contacts[1]
    before = admissibility(track, 1.0, (-1.0, stop.s - 0.01))
    assert before.admissible
    assert 1.0 < before.largest_radius < 1.01
    assert before.largest_local_radius > before.largest_radius
    assert before.tightest == pytest.approx(track.at(stop.s - 0.01).points[0], abs=1e-12)
    again = admissibility(track, 1.0, (-1.0, stop.s + 0.01))
    assert not again.admissible
    assert again.second_contacts[1].contact == pytest.approx(stop.contact, abs=TOUCH)
    at_rest = admissibility(track, 1.0, (0.0, 0.0))
    assert at_rest.admissible
    assert at_rest.largest_radius > before.largest_radius


@pytest.mark.slow
def test_a_disc_at_the_end_of_a_track_sees_what_lies_beyond():
    track = traced(PARABOLA, 5.0, contact_x=-2.2)
    assert track.points[-1, 0] < 0.0
    forward = admissibility(track, 1.0).second_contacts[1]
    assert forward.contact == pytest.approx((-math.sqrt(0.75), 0.75), abs=TOUCH)
    assert forward.other == pytest.approx((math.sqrt(0.75), 0.75), abs=TOUCH)


def wavy_bowl(amplitudes, phases):
    def residual(x, z, p):
        angle = ca.atan2(z, x)
        waves = sum(
            a * ca.cos((k + 2) * angle + phase)
            for k, (a, phase) in enumerate(zip(amplitudes, phases, strict=True))
        )
        return ca.sqrt(x**2 + z**2) - ca.exp(waves)

    return implicit(residual)


@pytest.mark.long
@settings(derandomize=True, max_examples=10, deadline=None)
@given(
    st.tuples(st.floats(0.2, 0.8), st.floats(0.0, 0.25), st.floats(0.0, 0.1)),
    st.tuples(*[st.floats(-3.0, 3.0)] * 3),
    st.sampled_from([1.01, 1.1, 1.4]),
)
def test_brute_force_finds_the_same_largest_disc_and_second_contacts(amplitudes, phases, factor):
    track = traced(wavy_bowl(amplitudes, phases), 8.0, polar_angle=0.5)
    assert track.perimeter is not None
    s = np.linspace(-track.perimeter, track.perimeter, 2001)
    rolled = track.at(s)
    spacing = s[1] - s[0]
    curve = KDTree(track.at(np.linspace(0.0, track.perimeter, 8001)).points)

    def room(radius):
        return curve.query(rolled.centres(radius))[0] - radius

    largest = admissibility(track, 0.01).largest_radius
    assert np.min(room(largest * (1 - 1e-9))) > -1e-12
    assert np.min(room(largest * 1.005)) < -1e-9
    radius = largest * factor
    found = admissibility(track, radius)
    overlaps = room(radius) < -1e-9
    assert found.fits_at_start or room(radius)[1000] < 1e-9
    if found.fits_at_start:
        low, high = found.free_stretch
        assert not np.any(overlaps[(s > low + 1e-9) & (s < high - 1e-9)])
        for second, onward in zip(found.second_contacts, (-1.0, 1.0), strict=True):
            assert touches(track, radius, second)
            soon = (onward * (s - second.s) > 0.0) & (onward * (s - second.s) < 10 * spacing)
            assert np.any(overlaps[soon])


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows(
    "curve1-start1-0.5002", "curve5-start5-0.3", "curve6-start6-0.01", "curve0-start0-0.6"
)
@pytest.mark.parametrize(
    ("curve", "start", "radius"),
    [
        (PARABOLA, {"contact_x": -2.2}, 0.6),
        (PARABOLA, {"contact_x": -2.2}, 0.5002),
        (CASSINI, {"contact_x": -0.9}, 0.321),
        (CASSINI, {"contact_x": -0.9}, 0.5),
        (wavy_bowl((0.3, 0.2, 0.1), (0.5, 1.0, 2.0)), {"polar_angle": 1.1}, 0.25),
        (QUARTIC, {"contact_x": 0.0}, 0.3),
        (QUARTIC, {"contact_x": 0.0}, 0.01),
    ],
)
def test_a_contact_enters_a_barrier_at_the_second_contact_and_not_before(curve, start, radius):
    track = traced(curve, 8.0, **start)
    found = admissibility(track, radius)
    low, high = found.free_stretch
    free = track.at(np.linspace(low, high, 20001)[1:-1]).points
    for barrier, second, onward in zip(
        barriers(track, found), found.second_contacts, (-1.0, 1.0), strict=True
    ):
        centre = barrier.x, barrier.z
        assert np.min(np.linalg.norm(free - centre, axis=1)) > barrier.radius
        if second is None:
            assert barrier.radius == 0.0
            assert math.dist(centre, track.at(0.0).points[0]) > track.ends[1]
            continue
        assert 0.0 < barrier.radius <= 0.1 * radius * (1 + 1e-9)
        assert math.dist(centre, second.contact) == pytest.approx(barrier.radius, rel=1e-12)
        assert math.dist(centre, second.other) > barrier.radius
        inside = track.at(second.s + onward * barrier.radius * np.linspace(0.01, 1.0, 50)).points
        assert np.max(np.linalg.norm(inside - centre, axis=1)) < barrier.radius


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf])
def test_a_disc_without_a_size_is_refused(radius):
    with pytest.raises(OutOfRangeError, match="must be positive"):
        admissibility(traced(PARABOLA, 1.0, contact_x=0.0), radius)


@pytest.mark.slow
def test_a_wheel_that_can_roll_off_the_end_of_a_curve_is_refused():
    lip = traced(explicit(lambda x, p: -ca.sqrt(1 - x**2), label="lip"), 4.0, contact_x=0.1)
    with pytest.raises(OutOfRangeError, match="'lip' ends"):
        admissibility(lip, 0.2)
    assert admissibility(lip, 0.2, (-1.0, 1.0)).admissible
