"""Circle maps against DOP853 and heyoka, stability maps against values of Mathieu functions."""

import math
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
import scipy
from scipy.special import mathieu_a, mathieu_b

import daesolve as ds
from daesolve.analysis.orbits.circle_maps import weighted_mean
from daesolve.analysis.orbits.tongues import tongue, zeros
from tests.analysis.orbits import bogies_by_scipy as own


def slow_or_long(chosen: bool) -> pytest.MarkDecorator:
    """Return the mark of a row of a table: one or two are slow tests, the others are long."""
    return pytest.mark.slow if chosen else pytest.mark.long


circle_map, stability_map = ds.analysis.circle_map, ds.analysis.stability_map


@cache
def bogies(difference: float) -> ds.analysis.CircleMap:
    """Angle theta_1 = theta_2 of two bogies, whose absolute rates of turn differ."""
    case = ds.problem("bogies").case("regular", model="reduced")

    def start(theta: float, C1: float) -> dict[str, float]:  # noqa: N803
        turning = {"integral_1": C1, "integral_2": C1 + difference}
        return {"theta_1": theta, "theta_2": theta, **turning}

    period = 2 * math.pi / abs(difference)
    return circle_map(case, start, "theta_1", modulo=math.pi, period=period, values={"C1": 3.0})


@pytest.mark.slow
def test_a_locked_map_has_its_ratio_and_its_points() -> None:
    # DOP853 with variational equations, beside heyoka.
    circle = bogies(-2.0)
    stable, unstable = circle.fixed_points((3, 1))
    assert abs(stable.angle - 0.964305285309032) < 1e-13
    assert abs(stable.multiplier - 0.48234060450977) < 1e-11
    assert abs(unstable.angle - 2.39673536788817) < 1e-13
    assert abs(unstable.multiplier - 2.38381732643964) < 1e-11
    assert (stable.stable, unstable.stable) == (True, False)
    found = circle.rotation_number(100)
    assert found.ratio == (3, 1)
    assert found.value == 3.0
    assert found.point is not None
    assert abs(found.point.angle - 0.964305285309032) < 1e-12


STAIRCASE = {
    2.3: 2.29665071770, 2.5: (5, 2), 2.6: (13, 5), 2.7183: 2.7292135, 2.85: 2.89302325581,
    2.95: (3, 1), 3.0: (3, 1), 3.2: (3, 1), 3.3: (45, 14), 3.5: (7, 2),
}  # fmt: skip


@pytest.mark.long_rows("2.5", "2.7183")
@pytest.mark.parametrize(
    "value", [pytest.param(v, marks=slow_or_long(v in (2.5, 2.7183))) for v in STAIRCASE]
)
def test_rotation_numbers_lie_on_a_staircase(value: float) -> None:
    # Two starts of 12 000 periods by DOP853 agree to 1e-11 at 2.3 and 2.85, and to 1e-8 at 2.7183,
    # which lies near to the end of a tongue.
    expected = STAIRCASE[value]
    found = bogies(-2.0).at(C1=value).rotation_number(4000)
    if isinstance(expected, tuple):
        assert found.ratio == expected
        assert found.value == expected[0] / expected[1]
    else:
        assert found.ratio is None
        assert abs(found.value - expected) < max(10 * found.uncertainty, 1e-9)


@pytest.mark.long
def test_a_slow_rotation_number_is_known_to_its_uncertainty() -> None:
    # Two starts by DOP853: 1.41674009 and 1.41674010 after 12 000 periods.
    found = bogies(-1.3).at(C1=0.9).rotation_number(12000)
    assert found.ratio is None
    assert abs(found.value - 1.4167401) < 5e-8
    assert found.uncertainty < 1e-6


# D, k, and the two ends: Newton's method by DOP853 and by heyoka, and extrema, agree to 1e-14.
TONGUES = {
    (-2.0, 3): (2.898635606328147, 3.251586155491741),
    (-2.0, 4): (3.907981692832753, 4.124444523108941),
    (2.0, 1): (0.874671745441914, 1.304530116204723),
    (2.0, 3): (3.015193362467553, 3.053231519059077),
    (-3.0, 2): (2.839277518282543, 3.108059149246174),
    (-4.0, 2): (3.840911302461315, 4.078747884269097),
    (-1.7, 3): (2.461562462575057, 2.775421920682468),
    (-2.5, 3): (3.633667001254750, 3.998709620296401),
}


def check_tongue(difference: float, k: int) -> None:
    low, high = TONGUES[difference, k]
    found = bogies(difference).tongue({"C1": (low - 0.05, high + 0.05)}, (k, 1))
    # Rounding of a lift, 4e-15, by the slope of its extremum over C1, 2 to 4.
    assert abs(found.low - low) < 2e-14
    assert abs(found.high - high) < 2e-14
    assert min(found.digits) > 12.5
    assert not found.notes


@pytest.mark.long
def test_a_tongue_has_two_ends() -> None:
    check_tongue(-2.0, 3)


@pytest.mark.long_rows("-3.0-2", "2.0-1")
@pytest.mark.parametrize(
    ("difference", "k"),
    [
        pytest.param(*key, marks=slow_or_long(key in ((-3.0, 2), (2.0, 1))))
        for key in TONGUES
        if key != (-2.0, 3)
    ],
)
def test_tongues_end_where_two_other_routes_have_it(difference: float, k: int) -> None:
    check_tongue(difference, k)


@pytest.mark.long
def test_a_tongue_that_passes_near_a_degenerate_point_has_fewer_digits() -> None:
    found = bogies(-2.5).tongue({"C1": (2.29, 2.68)}, (2, 1))
    assert abs(found.low - 2.341125210769512) < 2e-14
    # It passes at 1.4e-3: heyoka and DOP853 differ by 3e-12.
    assert abs(found.high - 2.62854296987) < 5e-12 + 10.0 ** -found.digits[1] * found.high
    assert 11.5 < found.digits[1] < 13.0 < found.digits[0]


@pytest.mark.long
def test_a_tongue_ends_with_a_corner_where_the_motion_becomes_degenerate() -> None:
    found = bogies(-2.0).tongue({"C1": (1.8, 2.19)}, (2, 1))
    assert abs(found.low - 1.846506074916836) < 2e-14
    # Newton's method, which takes the map for smooth there, finds 2.139954 to 2.139987.
    assert abs(found.high - 2.14) < 1e-4
    assert found.digits[1] < 9.0 < 13.0 < found.digits[0]
    (note,) = found.notes
    assert "the map has a corner at the angle 0.232864" in note
    # DOP853 sees the sign change there: its own accuracy near the point is 1e-9.
    signs = [
        own.lift(found.angle_high, found.high + aside, -2.0)[0] - found.angle_high - 2 * math.pi
        for aside in (-2e-6, 2e-6)
    ]
    assert signs[0] < 0.0 < signs[1]
    # An inner fold, at which two further points appear, is no end: points are left below it.
    fold = 2.041808807660217
    counts = [len(bogies(-2.0).at(C1=fold + s).fixed_points((2, 1))) for s in (-1e-4, 1e-4)]
    assert counts == [2, 4]


OTHERS = [
    (3.0, 1.0, {"mass": 3.4, "level": 1.2}, (3, 1)),
    (1.7, -0.4, {}, (28, 17)),
    (3.3, 0.5, {"mass": 2.0}, None),
    (-2.6, -0.7, {"front": 0.7, "rear": 1.1}, None),
    (3.4, 1.1, {"level": 0.6, "centre": 0.05}, (3, 1)),
    (1.05, 3.05, {"inertia": 1.9}, (1, 1)),
    (2.0, 0.0, {"level": 1.3}, (2, 1)),
]


@pytest.mark.long_rows("row1")
@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [OTHERS[0], *(pytest.param(r, marks=slow_or_long(r is OTHERS[1])) for r in OTHERS[1:])],
)
def test_maps_of_other_vehicles_are_those_of_one_coordinate(row: Any) -> None:
    first, second, changed, ratio = row
    parameters = {name: value for name, value in changed.items() if name != "level"}
    case = ds.problem("bogies").case("regular", model="reduced", **parameters)

    def start(theta: float) -> dict[str, float]:
        level = changed.get("level", 1.1)
        turning = {"integral_1": first, "integral_2": second, "level": level}
        return {"theta_1": theta, "theta_2": theta, **turning}

    difference = second - first
    period = 2 * math.pi / abs(difference)
    circle = circle_map(case, start, "theta_1", modulo=math.pi, period=period)
    for angle in (0.2, 1.3, 2.9):
        reached, slope = circle(angle)
        expected = own.lift(angle, first, difference, changed)
        # DOP853 has 1e-13 a step, some 100 steps and the growth of changes between.
        assert abs(reached - expected[0]) < 1e-11 * max(1.0, abs(slope), 1.0 / abs(slope))
        assert abs(slope - expected[1]) < 1e-10 * max(1.0, abs(slope), 1.0 / abs(slope))
    found = circle.rotation_number(256)
    assert found.ratio == ratio
    if found.ratio is None or found.point is None:
        return
    angle, slope = found.point.angle, 1.0
    for _ in range(found.ratio[1]):
        angle, factor = own.lift(angle, first, difference, changed)
        slope *= factor
    assert abs(angle - found.point.angle - found.ratio[0] * math.pi) < 1e-11
    assert abs(slope - found.point.multiplier) < 1e-10


def hills(shape: Any) -> Any:
    """F - id - p of a map that goes on by w and a function of the angle."""
    return lambda w: lambda angle: w + shape(angle)


def ends_of(shape: Any, low: float = -2.0, high: float = 2.0) -> Any:
    return tongue(hills(shape), hills(shape), 2 * math.pi, ("w", low, high), (0, 1))


def test_the_ends_of_a_tongue_are_the_outermost_extrema() -> None:
    # w + sin a + 0.4 sin 3 a: maxima at cos a = 0 and beside it, of which the largest counts.
    def shape(angle: float) -> float:
        return math.sin(angle) + 0.4 * math.sin(3 * angle)

    top = max(shape(a) for a in np.linspace(0, 2 * math.pi, 200_001))
    found = ends_of(shape)
    assert abs(found.low + top) < 1e-9  # the grid here has steps of 3e-5
    assert abs(found.high - top) < 1e-9
    assert min(found.digits) > 12.0
    inner = -shape(math.pi / 2)  # the least value between two maxima
    assert [len(zeros(hills(shape)(inner + aside), 2 * math.pi)) for aside in (-1e-3, 1e-3)] == [
        4,
        2,
    ]


def test_a_corner_of_the_map_costs_digits_and_is_named() -> None:
    found = ends_of(lambda angle: -abs(math.sin((angle - 1.0) / 2)))
    assert abs(found.low) < 1e-6
    assert found.digits[0] < 8.0
    assert found.digits[1] > 14.0
    assert abs(found.high - 1.0) < 1e-14
    assert len(found.notes) == 1


def test_zeros_that_lie_between_two_angles_of_the_grid_are_found() -> None:
    # Two zeros, 2e-3 apart: a step of the grid is 0.13.
    found = zeros(lambda angle: 1.0 - 5e-7 - math.cos(angle - 2.0), 2 * math.pi)
    assert np.abs(np.array(found) - [1.999, 2.001]).max() < 1e-8


def test_a_jump_through_zero_is_no_zero() -> None:
    assert zeros(lambda angle: math.copysign(1.0, math.sin(angle)), 2 * math.pi) == []


def test_a_range_with_two_tongues_is_refused() -> None:
    with pytest.raises(ds.errors.OutOfRangeError, match="there is more than one tongue 0/1"):
        tongue(
            lambda w: lambda angle: math.sin(3 * w) + 0.2 * math.sin(angle),
            lambda w: lambda angle: math.sin(3 * w) + 0.2 * math.sin(angle),
            2 * math.pi,
            ("w", -1.5, 0.5 + 1.0),
            (0, 1),
        )


def test_a_mean_with_a_smooth_weight_converges_fast() -> None:
    angles = 0.3 + (math.sqrt(5) - 1) * math.pi * np.arange(2000)
    assert abs(weighted_mean(np.cos(angles))) < 1e-12


def test_questions_to_a_circle_that_make_no_sense_are_refused() -> None:
    circle = bogies(-2.0)
    with pytest.raises(ds.errors.OutOfRangeError, match="must be a pair of whole numbers"):
        circle.fixed_points((3.0, 1))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ds.errors.UnknownNameError, match="unknown value of the start 'C3'"):
        circle.tongue({"C3": (1.0, 2.0)}, (3, 1))
    with pytest.raises(ds.errors.OutOfRangeError, match="a whole number >= 16"):
        circle.rotation_number(3)


def mathieu() -> ds.MechanicalSystem:
    """x'' + (d - 2 e cos 2t) x = 0."""
    q, p = ds.coordinates(x="m"), ds.parameters(d=(0.4, ""), e=(1.0, ""))
    force = -(p.d - 2 * p.e * ca.cos(2 * ds.time)) * q.x
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})


@pytest.mark.slow
def test_borders_of_mathieus_equation_are_characteristic_values() -> None:
    rest = ds.analysis.periodic_orbit(mathieu(), {"x": 0.0, "x_dot": 0.0}, math.pi, verify=False)
    found = stability_map(rest, {"d": (-1.0, 5.0), "e": (1.0, 1.5)}, cells=(25, 2))
    for e in (1.0, 1.5):
        borders = sorted((point.x, point.kind) for point in found.borders if point.y == e)
        exact = sorted(
            [
                (mathieu_a(0, e), "multiplier 1"),
                (mathieu_b(1, e), "multiplier -1"),
                (mathieu_a(1, e), "multiplier -1"),
                (mathieu_b(2, e), "multiplier 1"),
                (mathieu_a(2, e), "multiplier 1"),
            ]
        )
        assert [kind for _, kind in borders] == [kind for _, kind in exact]
        # SciPy's own are right to 1e-13.
        assert max(abs(a - b) for (a, _), (b, _) in zip(borders, exact, strict=True)) < 1e-12
        row = found.verdicts[list(found.y).index(e)]
        inside = [exact[0][0] < d < exact[1][0] or exact[2][0] < d < exact[3][0] for d in found.x]
        inside = [i or d > exact[4][0] for i, d in zip(inside, found.x, strict=True)]
        assert [verdict == "neutral" for verdict in row] == inside
    assert found.plot().axes[0].get_xlabel() == "d"
    assert "cells" in str(found)


HELD = [0.05, 0.1, 0.15, 0.2, 0.3]
"""A/l."""


def hill(amplitude: float) -> float:
    """W at which theta'' = (1 - a W^2 cos W t) theta has a periodic solution, without time steps.

    With z = W t and h = 1/W^2, Fourier coefficients of period 2 pi obey (h + k^2) c_k = (a/2)
    (c_(k-1) + c_(k+1)), so that h = a c_1 / c_0 by a continued fraction.
    """

    def miss(h: float) -> float:
        tail = 0.0
        for k in range(30, 0, -1):
            tail = (amplitude / 2) / (h + k * k - amplitude / 2 * tail)
        return h - amplitude * tail

    return 1 / math.sqrt(float(scipy.optimize.brentq(miss, 1e-6, 1.0, xtol=1e-18, rtol=9e-16)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "amplitude",
    [HELD[1], *(pytest.param(a, marks=slow_or_long(a == 0.3)) for a in HELD if a != 0.1)],
)
def test_an_upright_pendulum_is_held_by_shaking(amplitude: float) -> None:
    # l theta'' = (g - A W^2 cos W t) sin theta; stable above W = 14.1728900208 at A/l = 0.1.
    exact = hill(amplitude)
    if amplitude == 0.1:
        assert abs(exact - 14.172890020818476) < 1e-12
    q, p = ds.coordinates(theta="rad"), ds.parameters(W=(1.02 * exact, "rad/s"))
    force = (1 - amplitude * p.W**2 * ca.cos(p.W * ds.time)) * q.theta
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.theta**2 / 2, force={"theta": force})
    rest = ds.analysis.periodic_orbit(
        system, {"theta": 0.0, "theta_dot": 0.0}, 2 * ca.pi / p.W, verify=False
    )
    branch = ds.analysis.continue_orbit(rest, {"W": (0.95 * exact, 1.02 * exact)}, step=0.2)
    (point,) = branch.special
    # A branch crosses: it is interpolated, from traces of M with a rounding of 1e-14 or so, which
    # change by 0.1 to 1 over the range of W.
    assert abs(point.value - exact) < 2e-11 * exact


def around(force: Any, start: dict[str, float], count: int) -> ds.analysis.StabilityMap:
    """The map over a and b of a motion under a force, of the period of a drive."""
    q = ds.coordinates(x="m")
    p = ds.parameters(a=(0.2, ""), b=(0.1, ""), z=(0.0, ""))
    pushed = force(q, p) + p.z * ca.cos(ds.time)
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": pushed})
    orbit = ds.analysis.periodic_orbit(system, start, 2 * math.pi, verify=False)
    over = {"a": (-1.45, 1.5), "b": (-1.4, 1.55)}
    return stability_map(orbit, over, cells=(count, count), follow=True)


@pytest.mark.long
def test_a_border_of_pairs_is_followed_around() -> None:
    # det M = exp(-2 pi c) with c = 0.2 (a^2 + b^2 - 1): the pair is on the circle where that is 0.
    found = around(
        lambda q, p: -2 * q.x - 0.2 * (p.a**2 + p.b**2 - 1) * q.dot.x,
        {"x": 0.0, "x_dot": 0.0},
        5,
    )
    (border,) = found.curves
    assert border.kind == "pair on the circle"
    assert border.ends == ("it is closed", "it is closed")
    assert np.abs(np.hypot(border.x, border.y) - 1).max() < 1e-12
    turned = np.unwrap(np.arctan2(border.y, border.x))
    assert 1.9 * math.pi < abs(turned[-1] - turned[0]) < 2.1 * math.pi


@pytest.mark.long
def test_a_border_of_folds_is_followed_around_what_has_no_orbit() -> None:
    # At rest where x^2 = 1 - a^2 - b^2: two such orbits meet on the circle, and none is outside.
    found = around(
        lambda q, p: 1 - p.a**2 - p.b**2 - q.x**2 - 0.5 * q.dot.x,
        {"x": math.sqrt(0.95), "x_dot": 0.0},
        9,
    )
    (border,) = found.curves
    assert border.kind == "fold"
    assert border.ends == ("it is closed", "it is closed")
    assert np.abs(np.hypot(border.x, border.y) - 1).max() < 1e-12
    inside = np.hypot(*np.meshgrid(found.x, found.y)) < 1
    assert np.array_equal(found.verdicts == "stable", inside)
    assert np.array_equal(found.verdicts == "none", ~inside)


@pytest.mark.long
def test_borders_of_mathieus_equation_are_followed_as_curves() -> None:
    rest = ds.analysis.periodic_orbit(mathieu(), {"x": 0.0, "x_dot": 0.0}, math.pi, verify=False)
    found = stability_map(rest, {"d": (-1.0, 5.0), "e": (0.5, 1.5)}, cells=(25, 3), follow=True)
    kinds: list[tuple[str, int, Any]] = [
        ("multiplier 1", 0, mathieu_a),
        ("multiplier -1", 1, mathieu_b),
        ("multiplier -1", 1, mathieu_a),
        ("multiplier 1", 2, mathieu_b),
        ("multiplier 1", 2, mathieu_a),
    ]
    curves = sorted(found.curves, key=lambda border: border.x[np.argmin(border.y)])
    assert [border.kind for border in curves] == [kind for kind, _, _ in kinds]
    for border, (_, order, value) in zip(curves, kinds, strict=True):
        assert (min(border.y), max(border.y)) == (0.5, 1.5)
        assert len(border.y) > 20
        assert np.abs(border.x - [value(order, e) for e in border.y]).max() < 2e-12


@pytest.mark.long
def test_folds_of_duffings_oscillator_are_those_of_branches_at_each_amplitude() -> None:
    # Beside a branch over w at another amplitude, on which each fold is solved by itself.
    q, p = ds.coordinates(x="m"), ds.parameters(w=(1.3, "rad/s"), F=(0.5, "m/s^2"))
    force = p.F * ca.cos(p.w * ds.time) - 0.1 * q.dot.x - q.x - q.x**3
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})
    orbit = ds.analysis.periodic_orbit(
        system, {"x": 0.5, "x_dot": 1.0}, 2 * ca.pi / p.w, verify=False
    )
    over = {"w": (1.2, 2.5), "F": (0.3, 0.6)}
    found = stability_map(orbit, over, cells=(14, 4), follow=True)
    (border,) = [border for border in found.curves if border.kind == "fold"]
    assert {*border.ends} == {"reached F = 0.3", "reached F = 0.6"}
    for F in (0.3, 0.5):
        at = ds.analysis.periodic_orbit(
            system, {"x": 0.5, "x_dot": 1.0}, 2 * ca.pi / p.w, verify=False, parameters={"F": F}
        )
        upper, _ = ds.analysis.continue_orbit(at, {"w": (1.25, 2.6)}, step=0.1).special
        order = np.argsort(border.y)
        near = np.interp(F, border.y[order], border.x[order])
        assert abs(near - upper.value) < (1e-10 if F in border.y else 1e-3)


@pytest.mark.long
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_ends_of_a_tongue_have_their_digits_in_any_units(scale: float) -> None:
    def start(theta: float, a: float) -> dict[str, float]:
        return {"theta": theta, "a": a}

    ends: list[tuple[float, float]] = []
    for size in (1.0, scale):
        x, p = ds.states(theta="rad"), ds.parameters(a=0.0)
        rate = p.a / size + 0.3 * ca.sin(x.theta) + 0.5 * ca.cos(ds.time)
        circle = circle_map(
            ds.ControlSystem(x, {"theta": rate}, p),
            start,
            "theta",
            period=2 * math.pi,
            values={"a": 0.0},
        )
        tongue = circle.tongue({"a": (-0.9 * size, 0.9 * size)}, (0, 1))
        ends.append((tongue.low / size, tongue.high / size))
    assert abs(ends[1][0] - ends[0][0]) < 1e-13
    # A shift of time by half a period and of the angle mirrors it.
    assert abs(ends[1][1] + ends[1][0]) < 1e-13
