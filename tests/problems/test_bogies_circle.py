"""The bogies' circle map drawn, growth where a skate stands across, and the symmetric cart."""

import math

import numpy as np
import pytest
from daesolve_problems.bogies.circle import advances, circle_of, drift, separatrices
from daesolve_problems.cart.symmetric import symmetric

import daesolve as ds
from daesolve.errors import OutOfRangeError

BOGIES = ds.problem("bogies")


def reduced():
    return BOGIES.case("regular", model="reduced")


@pytest.mark.slow
def test_the_drift_of_a_locked_motion_is_that_of_the_model_with_multipliers() -> None:
    circle = circle_of(reduced(), -2.0)
    found = drift(reduced(), circle, (3, 1))
    angle = 0.964305285309032  # the stable point, by DOP853 and by heyoka
    start = {"theta_1": angle, "theta_2": angle, "integral_1": 3.0, "integral_2": 1.0}
    run = BOGIES.case("regular").solve(3 * math.pi, initial=start, at=math.pi * np.arange(4.0))
    steps = np.hypot(np.diff(run["x"]), np.diff(run["y"]))
    assert np.allclose(steps, found.along, rtol=0.0, atol=1e-11)
    assert np.max(np.abs(np.diff(run["psi"]))) < 1e-11
    assert abs(found.turned) < 1e-13
    with pytest.raises(OutOfRangeError, match="locked stably"):
        drift(reduced(), circle.at(C1=2.3), (3, 1))
    with pytest.raises(OutOfRangeError, match="never returns"):
        circle_of(reduced(), 0.0)


@pytest.mark.long
def test_advances_for_a_picture_are_rotation_numbers() -> None:
    # 3 and 5/2 are locked; 2.29665071770 by 12 000 periods of two other programs.
    found = advances(reduced(), np.array([3.0, 2.5, 2.3]), np.array([-2.0]), 100)[0]
    assert np.abs(found - [3.0, 2.5, 2.29665071770]).max() < 0.01  # of order 1 / periods


@pytest.mark.slow
def test_separatrices_lead_into_their_points() -> None:
    found = separatrices(reduced(), 3.0, -2.0)
    assert len(found) == 8
    for one in found:
        at, sense = one.theta[-1], 1.0 if one.into else -1.0
        start = {"theta_1": at[0], "theta_2": at[1], "integral_1": 3.0, "integral_2": 1.0}
        run = BOGIES.case("regular", model="reduced").solve(
            sense * math.pi, initial=start, at=sense * np.linspace(0.0, math.pi, 401)
        )
        # Back where it began, within a millisecond of the point: |theta'| < 5 rad/s there.
        away = np.hypot(run["theta_1"] - one.point[0], run["theta_2"] - one.point[1])
        assert away[-1] < 6e-3


@pytest.mark.slow
def test_where_a_skate_stands_across_manoeuvres_lose_an_order_and_the_motion_does_not_care() -> (
    None
):
    answer = BOGIES.case("regular").analyse("growth")
    assert answer.values["growth_vectors"] == {
        "regular": [3, 5],
        "front across": [3, 4, 5],
        "rear across": [3, 4, 5],
    }
    orders = answer.values["orders"]
    assert orders["regular"] == pytest.approx(2.0, abs=0.02)
    assert orders["front across"] == pytest.approx(3.0, abs=0.02)
    assert orders["rear across"] == pytest.approx(3.0, abs=0.02)
    passages = answer.values["passages"]
    assert [passage["where"] for passage in passages] == ["front across", "rear across"]
    for passage in passages:
        assert abs(passage["speed"]) < 1e-12
        assert abs(passage["rate"]) > 1.0  # it goes on through zero: a cusp
        assert passage["largest_force"] < 20.0
    assert set(answer.figures) == {"manoeuvres", "paths"}


@pytest.mark.slow
def test_the_symmetric_cart_moves_as_the_bogies_do() -> None:
    """Wheels count as skates heavier by 2 i / h^2; squares of the constraints drop out."""
    numbers, same = symmetric()
    until, names = 3.0, ("x", "y", "psi", "theta_1", "theta_2")
    like = BOGIES.case("regular", **same)
    bogies = like.solve(until, at=[until])
    cart = ds.problem("cart").case("free", **numbers)
    run = cart.solve(until, initial=dict(like.guess()[0]), at=[until])
    apart = max(abs(run[name][-1] - bogies[name][-1]) for name in names)
    assert apart < 2e-12  # rounding of 3e-15, grown up to a few hundredfold
    other = ds.problem("cart").case("free", **(numbers | {"wheel_inertia_1": 0.06}))
    run = other.solve(until, initial=dict(like.guess()[0]), at=[until])
    assert max(abs(run[name][-1] - bogies[name][-1]) for name in names) > 1e-3
