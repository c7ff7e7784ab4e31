"""Circle maps against DOP853 and heyoka, stability maps against values of Mathieu functions."""

import math
from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.special import mathieu_a, mathieu_b

import daesolve as ds
from daesolve.analysis.orbits.circle_maps import weighted_mean

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "ratio"), [(2.3, None), (2.85, None), (2.5, (5, 2)), (2.6, (13, 5)), (3.3, (45, 14))]
)
def test_rotation_numbers_lie_on_a_staircase(value: float, ratio: tuple[int, int] | None) -> None:
    expected = {2.3: 2.29665071770, 2.85: 2.89302325581}
    found = bogies(-2.0).at(C1=value).rotation_number(4000)
    assert found.ratio == ratio
    if ratio is None:
        assert abs(found.value - expected[value]) < max(10 * found.uncertainty, 1e-9)
    else:
        assert found.value == ratio[0] / ratio[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("difference", "k", "near", "low", "high"),
    [
        (-2.0, 3, (2.8, 3.4), 2.898635606328147, 3.251586155491741),
        (-1.7, 3, (2.4, 2.85), 2.461562462575057, 2.775421920682468),
    ],
)
def test_a_tongue_has_two_ends(
    difference: float, k: int, near: tuple[float, float], low: float, high: float
) -> None:
    # Newton's method by DOP853 and by heyoka, which agree to 1e-14.
    found = bogies(difference).tongue({"C1": near}, (k, 1))
    assert abs(found.low - low) < 1e-13
    assert abs(found.high - high) < 1e-13


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


def test_an_upright_pendulum_is_held_by_shaking() -> None:
    # l theta'' = (g - A W^2 cos W t) sin theta; stable above W = 14.1728900208 at A/l = 0.1.
    q, p = ds.coordinates(theta="rad"), ds.parameters(W=(14.5, "rad/s"))
    force = (1 - 0.1 * p.W**2 * ca.cos(p.W * ds.time)) * q.theta
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.theta**2 / 2, force={"theta": force})
    rest = ds.analysis.periodic_orbit(
        system, {"theta": 0.0, "theta_dot": 0.0}, 2 * ca.pi / p.W, verify=False
    )
    branch = ds.analysis.continue_orbit(rest, {"W": (13.5, 14.5)}, step=0.2)
    (point,) = branch.special
    assert abs(point.value - 14.172890020818476) < 1e-11
