"""How the laws of contact pass into each other: orders, expansions by hand, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from daesolve_problems.omni_laws import problem
from daesolve_problems.omni_laws.description import described
from daesolve_problems.omni_laws.expansions import Motion, ahead_by_friction, by_inertia, motion
from daesolve_problems.omni_laws.limits import (
    Convergence,
    slipping,
    solved,
    strong_friction,
    times_of,
    under,
    without_inertia,
)

from daesolve.errors import OutOfRangeError


def moving(case) -> Motion:
    """Return the motion of a case with friction, for its expansion."""
    structure = case.full_structure
    car = described("friction", case.values, structure["wheels"], structure["rollers"])
    found = motion(car, case.values, case.full_start)
    assert found is not None
    return found


@pytest.mark.long_rows("straight-states3-changes3")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "states", "changes"),
    [
        ("spin", ("omega", "theta"), {}),
        ("spin", ("omega", "theta"), {"wheels": 4, "rollers": 7, "compliant": True}),
        ("straight", ("v_1", "x"), {}),
        ("straight", ("v_1", "x"), {"wheels": 5, "rollers": 6, "compliant": True}),
    ],
)
def test_the_effect_of_a_small_inertia_is_that_of_the_expansion_by_hand(name, states, changes):
    case = problem.case(name, model="friction", **changes)
    times = np.linspace(0.0, 2.0, 41)[1:]
    lightest = 1e-5 * case.values["roller_inertia"]
    run = solved(under(case, "impacts", roller_inertia=lightest), times)
    ideal = solved(under(case, "inertialess"), times)
    found = by_inertia(moving(case), times)
    for state in states:
        measured = (run[state] - ideal[state]) / lightest
        scale = np.max(np.abs(found[state]))
        # The next order is the share times a few; differences of numbers of order 1 have the
        # rounding 1e-15 / lightest, a few thousandths of 1e-3 scale at most.
        assert np.max(np.abs(measured - found[state])) < 1e-3 * scale


@pytest.mark.slow
@pytest.mark.slow_rows("mecanum", "mixed")
@pytest.mark.parametrize("name", ["mixed", "mecanum", "slope"])
def test_impacts_tend_to_rollers_without_inertia_with_order_1(name):
    found = without_inertia(problem.case(name), (1e-2, 1e-3, 1e-4))
    for group in ("place", "angle"):
        # The next order changes the slope of the last decades by the share times a few.
        assert found.order(group) == pytest.approx(1.0, abs=0.02)


@pytest.mark.long
def test_strong_friction_tends_to_impacts_with_order_1_and_the_constant_of_the_expansion():
    case = problem.case("straight", model="friction", roller_inertia=1e-7)
    found = strong_friction(case, (10.0, 30.0, 100.0))
    assert found.order("place") == pytest.approx(1.0, abs=0.01)
    until = float(times_of(case)[-1])
    by_hand = ahead_by_friction(moving(case), until)
    assert by_hand is not None
    size = case.values["friction"] * case.values["gravity"]
    # The slip delta that is left while a roller rolls near its end: delta over the speed of 0.5.
    assert found.rate("place") == pytest.approx(by_hand * size, rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize("name", ["mixed", "mecanum", "slope"])
def test_strong_friction_tends_to_impacts_in_any_motion(name):
    found = strong_friction(problem.case(name), (30.0, 100.0, 300.0))
    assert found.order("place") == pytest.approx(1.0, abs=0.1)


@pytest.mark.long
def test_to_impose_at_once_gets_wrong_as_rollers_get_thin_at_their_ends():
    ratios, wrong = [], []
    for end in (0.01, 0.004, 0.002):
        case = problem.case("straight", roller_end_radius=end)
        said = case.analyse("limit").values["imposing_at_once"]
        ratios.append(said["ratio"])
        wrong.append(said["error_of_place"])
        assert ("imposing its rolling at once is right" in said["said"]) == (end == 0.01)
    assert ratios == sorted(ratios)
    assert wrong == sorted(wrong)
    assert wrong[0] < 0.1
    assert wrong[-1] > 0.5


def test_no_order_is_fitted_to_the_errors_of_the_runs():
    small = (1e-1, 1e-2, 1e-3, 1e-4)
    found = Convergence(small, {"place": (1e-3, 1e-13, 1e-13, 1e-13)}, {"place": 1e-13})
    assert found.order("place") is None
    assert found.rate("place") == pytest.approx(1e-2)
    found = Convergence(small, {"place": (1e-3, 1e-4, 1e-5, 2e-13)}, {"place": 1e-13})
    assert found.order("place") == pytest.approx(1.0)


@pytest.mark.slow
def test_pointed_rollers_have_no_limit_of_impacts():
    with pytest.raises(OutOfRangeError, match="thick at their ends"):
        problem.case("mixed", model="friction", roller_end_radius=0.0).analyse("limit")


@pytest.mark.slow
def test_the_time_of_slip_is_the_torque_of_friction_over_the_momentum_that_is_missing():
    case = problem.case("straight")
    found = slipping(case)
    assert found is not None
    p = under(case, "friction").values
    load = (p["platform_mass"] + 3 * p["wheel_mass"]) * p["gravity"] / 3
    momentum = p["roller_inertia"] * 0.5 / p["roller_end_radius"]
    torque = p["friction"] * load * p["roller_end_radius"]
    assert found.lasts == pytest.approx(momentum / torque, rel=1e-12)
    assert slipping(problem.case("spin")) is None


@pytest.mark.long
def test_all_laws_run_side_by_side_and_what_refuses_is_named():
    answer = problem.case("straight").analyse("laws")
    rows = {row["law"]: row for row in answer.values["laws"]}
    assert set(rows) == {"inertialess", "impacts", "friction"}
    assert rows["inertialess"]["x"] == pytest.approx(2.0, abs=1e-12)
    assert rows["impacts"]["energy_lost"] > 0.005 > abs(rows["inertialess"]["energy_lost"])
    assert "laws" in answer.figures
    answer = problem.case("straight", model="friction", roller_end_radius=0.0).analyse("laws")
    assert {row["law"] for row in answer.values["laws"]} == {"inertialess", "friction"}
    assert "thick at their ends" in answer.values["refused"]["impacts"]
