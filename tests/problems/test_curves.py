import math

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.curves import CIRCLE, QUARTIC, contact_point, explicit, implicit
from daesolve_problems.tracks import contacts
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError

ELLIPSE = implicit(lambda x, z, p: x**2 / 4 + z**2 - 1, label="ellipse")
COSINE = explicit(lambda x, p: p["depth"] * ca.cos(3 * x), label="cosine", depth=(0.1, "m"))
ROUNDING = 1e-13


def at(curve, points, **values):
    points = np.atleast_2d(points)
    return contacts(curve, values, np.zeros(len(points)), points)


def test_the_quartic_has_the_height_slope_and_curvature_of_its_polynomial():
    polynomial = np.polynomial.Polynomial([-0.5, -0.13, -0.5, 0.13, 1.0])
    x = np.linspace(-1.2, 1.2, 101)
    slope, second = polynomial.deriv()(x), polynomial.deriv(2)(x)
    found = at(QUARTIC, np.column_stack((x, polynomial(x))))
    assert found.points[:, 1] == pytest.approx(polynomial(x), abs=ROUNDING)
    assert found.tangents[:, 1] / found.tangents[:, 0] == pytest.approx(slope, abs=ROUNDING)
    assert np.all(found.tangents[:, 0] > 0.0)
    assert found.curvature == pytest.approx(second / (1 + slope**2) ** 1.5, abs=10 * ROUNDING)


def test_in_a_bowl_the_normal_points_outwards_and_the_curvature_is_one_over_the_radius():
    angle = np.linspace(0.0, 2 * math.pi, 37)
    outwards = np.column_stack((np.cos(angle), np.sin(angle)))
    found = at(CIRCLE, 0.8 * outwards, circle_radius=0.8)
    assert found.normals == pytest.approx(outwards, abs=ROUNDING)
    assert found.curvature == pytest.approx(1.25, abs=ROUNDING)
    assert found.centres(0.3) == pytest.approx(0.5 * outwards, abs=ROUNDING)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(st.floats(0.3, 3.0), st.floats(0.3, 3.0), st.floats(-math.pi, math.pi), st.floats(-3.0, 3.0))
def test_a_turned_ellipse_has_the_curvature_of_its_parametrisation(a, b, turn, angle):
    def residual(x, z, p):
        along, across = (
            x * ca.cos(turn) + z * ca.sin(turn),
            z * ca.cos(turn) - x * ca.sin(turn),
        )
        return (along / a) ** 2 + (across / b) ** 2 - 1

    point = a * math.cos(angle), b * math.sin(angle)
    turned = (
        point[0] * math.cos(turn) - point[1] * math.sin(turn),
        point[0] * math.sin(turn) + point[1] * math.cos(turn),
    )
    speed = math.hypot(a * math.sin(angle), b * math.cos(angle))
    found = at(implicit(residual), turned)
    assert found.curvature[0] == pytest.approx(a * b / speed**3, rel=1e-11)
    assert math.hypot(*found.normals[0]) == pytest.approx(1.0, abs=ROUNDING)


@pytest.mark.slow
@settings(derandomize=True, max_examples=25, deadline=None)
@given(st.floats(-2.0, 2.0), st.floats(0.01, 0.5), st.floats(0.2, 5.0))
def test_the_explicit_and_any_implicit_form_of_a_curve_agree(x, depth, stretching):
    other = implicit(
        lambda x, z, p: stretching * (1 + x**2 + z**2) * (p["depth"] * ca.cos(3 * x) - z),
        depth=(0.1, "m"),
    )
    place = contact_point(COSINE, {"depth": depth}, {"contact_x": x})
    same = contact_point(other, {"depth": depth}, {"contact_x": x})
    assert place == (x, pytest.approx(depth * math.cos(3 * x), abs=ROUNDING))
    assert same == pytest.approx(place, abs=ROUNDING)
    one, two = at(COSINE, place, depth=depth), at(other, place, depth=depth)
    assert two.normals == pytest.approx(one.normals, abs=ROUNDING)
    assert two.curvature == pytest.approx(one.curvature, abs=100 * ROUNDING)


def test_points_near_the_curve_are_moved_onto_it():
    found = at(ELLIPSE, (1.2, 0.8 + 1e-9))
    assert ELLIPSE.evaluate({}, found.points)[0] == pytest.approx(0.0, abs=1e-15)


def test_own_parameters_have_defaults_and_others_are_passed_over():
    assert list(QUARTIC.own_values({"curve_b": 0.7, "wheel_mass": 2.0})) == [0.13, 0.7]


def test_the_wheel_lies_on_the_lower_side_of_a_closed_curve():
    x, z = contact_point(CIRCLE, {}, {"contact_x": 0.3, "speed": 1.0})
    assert (x, z) == pytest.approx((0.3, -0.4), abs=ROUNDING)


def test_of_several_grounds_the_lowest_is_taken():
    bands = implicit(lambda x, z, p: (1 - z) * (z - 2) * (z - 3))
    assert contact_point(bands, {}, {"contact_x": 5.0}) == pytest.approx((5.0, 1.0), abs=ROUNDING)


@pytest.mark.parametrize("angle", [0.0, 0.5, math.pi / 2, 3.0, -2.0])
def test_a_polar_angle_counts_from_the_downward_vertical_towards_x(angle):
    place = contact_point(CIRCLE, {"circle_radius": 2.0}, {"polar_angle": angle})
    assert place == pytest.approx((2 * math.sin(angle), -2 * math.cos(angle)), abs=ROUNDING)


def test_along_a_ray_the_first_wall_is_taken():
    rings = implicit(lambda x, z, p: ca.sin(math.pi * (ca.sqrt(x**2 + z**2) - 1)))
    place = contact_point(rings, {}, {"polar_angle": math.pi / 2})
    assert place == pytest.approx((1.0, 0.0), abs=ROUNDING)


def test_a_pole_is_no_contact():
    pole = implicit(lambda x, z, p: -1 / (z - 0.25) - 0.0 * x)
    with pytest.raises(OutOfRangeError, match="cannot touch"):
        contact_point(pole, {}, {"contact_x": 0.0})


@pytest.mark.parametrize(
    ("curve", "start", "complaint"),
    [
        (CIRCLE, {"contact_x": 0.6}, "does not grow through zero downwards"),
        (CIRCLE, {"contact_x": math.nan}, "cannot touch"),
        (CIRCLE, {"contact_x": 0.1, "polar_angle": 0.2}, "but has both"),
        (CIRCLE, {"speed": 1.0}, "but has neither"),
        (QUARTIC, {"polar_angle": 0.2}, "not by polar_angle"),
        (QUARTIC, {"speed": 1.0}, "contact_x, which is missing"),
        (QUARTIC, {"contact_x": math.inf}, "no point"),
        (explicit(lambda x, p: ca.log(x)), {"contact_x": -1.0}, "no point"),
        (implicit(lambda x, z, p: z - x), {"polar_angle": 0.0}, "along the ray"),
    ],
)
def test_a_start_off_the_curve_is_refused(curve, start, complaint):
    with pytest.raises(OutOfRangeError, match=complaint):
        contact_point(curve, {}, start)


def test_a_parameter_out_of_its_range_is_refused():
    with pytest.raises(OutOfRangeError, match="circle_radius"):
        contact_point(CIRCLE, {"circle_radius": -1.0}, {"contact_x": 0.1})


def test_an_unknown_parameter_of_a_curve_is_named():
    curve = explicit(lambda x, p: p["dept"] * x, depth=(0.1, "m"))
    with pytest.raises(PosingError, match="depth"):
        curve.evaluate({}, [(0.0, 0.0)])


@pytest.mark.parametrize(
    ("residual", "complaint"),
    [
        (lambda x, z, p: math.cos(3 * x) - z, "not with math.cos"),
        (lambda x, z, p: ca.vertcat(x, z), "one CasADi expression"),
        (lambda x, z, p: x - z if x > 0 else -z, "one CasADi expression"),
        (lambda x, z, p: ca.SX.sym("y") - z, "one CasADi expression"),
        (lambda x, z, p: "z", "one CasADi expression"),
    ],
)
def test_a_residual_that_is_no_curve_is_refused(residual, complaint):
    with pytest.raises(PosingError, match=complaint):
        contact_point(implicit(residual, label="wrong"), {}, {"contact_x": 0.0})


def test_parameters_of_a_curve_can_be_declared_beside_others():
    p = ds.parameters(**QUARTIC.parameters, **CIRCLE.parameters)
    assert p.values()["circle_radius"] == 0.5
    with pytest.raises(OutOfRangeError):
        p.values({"circle_radius": 0.0})
