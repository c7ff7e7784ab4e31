"""What the reference says of single instants and of thresholds, through runs of the problems."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy.optimize import bisect

import daesolve as ds
from daesolve.errors import NoMotion
from tests.contact.decisions.cases import agrees, case, cases

LAWS = ("newton", "poisson", "routh")


def struck(phi: float, gap_rate: float, slip: float, **more: Any) -> ds.Trajectory:
    """Let the lower end of a rod strike the floor at once."""
    begin = {
        "y": 0.5 * math.sin(phi),
        "theta": phi,
        "x_dot": slip,
        "y_dot": gap_rate,
        "theta_dot": 0.0,
    }
    numbers = {name: more.pop(name) for name in ("friction", "restitution")}
    rod = ds.problem("thrown-rod").case().changed(numbers).starting(begin)
    return rod.solve(1e-3, at=[1e-3], **more)


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("known", cases("first_impact"))
def test_the_first_impact_of_a_thrown_rod_is_that_of_the_reference(known, law):
    p, values = known["params"], known["values"]
    run = struck(
        p["phi"], p["gN"], p["gT"], friction=p["mu"], restitution=p["e"], impact=law,
        on_gain="report",
    )  # fmt: skip
    impact = run.events[0].impact
    assert impact is not None
    assert agrees(impact.impulses["A"], values[f"{law}_LN"])
    assert agrees(impact.impulses["A_stuck"], values[f"{law}_LT"])
    assert agrees(impact.kinetic_after - impact.kinetic_before, values[f"{law}_dE"], 11)


@pytest.mark.long
@pytest.mark.parametrize("known", cases("slip_stick_reverse_boundaries"))
def test_slip_sticks_and_reverses_between_the_bounds_of_the_reference(known):
    p, values = known["params"], known["values"]

    def after(kappa: float) -> float:
        run = struck(
            p["phi"], -1.0, kappa * (1 + p["e"]), friction=p["mu"], restitution=p["e"],
            on_gain="report",
        )  # fmt: skip
        state = run.events[0].after
        assert state is not None
        slip = state["x_dot"] + 0.5 * math.sin(p["phi"]) * state["theta_dot"]
        # What sticks has a slip that is rounding, of either sign.
        return 0.0 if abs(slip) < 1e-12 else slip

    upper = bisect(lambda kappa: 1.0 if after(kappa) > 0.0 else -1.0, -1.0, 2.0, xtol=1e-10)
    lower = bisect(lambda kappa: -1.0 if after(kappa) < 0.0 else 1.0, -1.0, 2.0, xtol=1e-10)
    assert agrees(upper, values["kappa_plus"], 9)
    assert agrees(lower, values["kappa_minus"], 9)


@pytest.mark.slow
def test_a_block_that_slides_tips_from_the_friction_of_the_reference_on():
    known = case("tipping_threshold")
    block = ds.problem("block").case("tips")

    def tips(mu: float) -> float:
        run = block.changed({"mu_rear": mu, "mu_front": mu}).solve(1e-3, at=[1e-3])
        return 1.0 if run["rear"][0] == 0.0 else -1.0

    found = bisect(tips, 0.4, 0.7, xtol=1e-10)
    assert found == pytest.approx(known["values"]["mu_tip"]["value"], abs=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("known", cases("squat_threshold"))
def test_a_block_wider_than_the_reference_says_stops_dead_at_its_first_impact(known):
    height = known["params"]["h"]
    block = ds.problem("rocking-block").case("squat")

    def goes_on(ratio: float) -> float:
        numbers = {"half_width": ratio * height, "height": height}
        run = block.changed(numbers).solve(1.0)
        first = next(event for event in run.events if event.impact)
        opened = [e for e in run.events if e.time == first.time and e.name.endswith("_lost")]
        return -1.0 if opened else 1.0

    found = bisect(goes_on, 1.3, 1.5, xtol=1e-5)
    # Slower than by a fall of 1e-12 m the other foot is not left: 3e-6 m/s, or 1e-5 of the ratio.
    assert found == pytest.approx(math.sqrt(2.0), abs=3e-5)
    assert agrees(found, known["values"]["b_over_h"], 5)


@pytest.mark.slow
def test_three_balls_collapse_below_the_restitution_of_the_reference():
    """Near to it balls part more slowly than counts: it is looked at from both sides."""
    known = case("sequential_collapse_threshold")["values"]["e_crit"]["value"]
    line = ds.problem("newtons-cradle").case("line-sequential")

    def speeds(e: float) -> list[float]:
        run = line.changed({"restitution": e}).solve()
        return [float(run[f"x_dot_{k}"][-1]) for k in (1, 2, 3)]

    assert known == pytest.approx(7 - 4 * math.sqrt(3), abs=1e-6)
    assert speeds(known - 0.01) == pytest.approx([1 / 3] * 3, abs=1e-15)
    first, second, third = speeds(known + 0.01)
    assert first < second < third


@pytest.mark.slow
def test_a_rod_has_no_motion_from_painleves_friction_on():
    known = case("painleve_critical_mu")
    rod = ds.problem("painleve-rod").case("no-motion").starting({"angle": math.atan(2.0)})

    def moves(mu: float) -> float:
        try:
            rod.changed({"friction": mu}).solve(1e-6, at=[1e-6])
        except NoMotion:
            return -1.0
        return 1.0

    # Nearer to it the reaction is so large that steps shrink.
    found = bisect(moves, 1.2, 1.5, xtol=1e-5)
    assert agrees(found, known["values"]["mu_P"], 5)
