"""Blocks on two feet, against the digits of two programs and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems.contacts import rocking_block

import daesolve as ds
from tests.contact.decisions.cases import agrees, case
from tests.rubbing import times_of


def run_of(name, case_, **options):
    return ds.problem(name).case(case_).solve(**options)


def test_a_block_slides_down_its_slope_to_rest():
    known = case("slide_to_rest")["values"]
    run = run_of("block", "slides")
    assert agrees(times_of(run, "rear_sticks")[0], known["t_rest"])
    assert agrees(run["x"][-1], known["distance"])
    assert agrees(run["rear"][0], known["N_rear"])
    assert agrees(run["front"][0], known["N_front"])
    assert agrees(run["rear"][-1], known["rest_N_rear"])
    assert agrees(run["rear_friction"][-1] + run["front_friction"][-1], known["rest_T_sum"])


@pytest.mark.slow
def test_a_block_tips_and_rocks_to_rest():
    known = case("tips_and_rocks_to_rest")["values"]
    run = run_of("block", "tips", at=ds.every(1e-3))
    assert agrees(times_of(run, "front_sticks")[0], known["t_front_foot_sticks"])
    impact = next(event for event in run.events if event.name == "rear_closed")
    assert agrees(impact.time, known["t_first_impact"])
    assert agrees(run["x"][-1], known["x_rest"])
    assert agrees(times_of(run, "accumulated")[0], known["t_rest"])
    # A sample is at most half a step, 5e-4 s, from the top, where the tilt bends by 20 rad/s^2.
    tilt = np.abs(run["theta"]).max()
    assert 0.0 <= known["max_tilt"]["value"] - tilt <= 20.0 * 5e-4**2


@pytest.mark.slow_rows("shaken-block_two_feet_shaking_table_stick_slip-events0")
@pytest.mark.parametrize(
    ("case_", "name", "events"),
    [
        ("shaken", "block_two_feet_shaking_table_stick_slip", ("rear_sticks", "rear_slips")),
        (
            "shaken-hard",
            "block_two_feet_shaking_table_reversal_without_stick",
            ("rear_reverses",),
        ),
    ],
)
def test_a_table_shakes_a_block(case_, name, events):
    known = case(name)["values"]
    run = run_of("block", case_)
    times = times_of(run, *events)
    assert len(times) + 1 == known["n_transitions"]["value"]
    assert all(agrees(times[k - 2], known[f"t{k}"]) for k in range(2, 7))
    assert agrees(run["x"][-1], known["x_at_10_periods"], 12)


@pytest.mark.slow
def test_a_block_rocks_to_rest():
    known = case("housner_rest")["values"]
    run = run_of("rocking-block", "housner")
    impacts = times_of(run, "front_closed", "rear_closed")
    assert agrees(impacts[0], known["t_first_impact"])
    assert agrees(impacts[9], known["t_impact_10"])
    assert agrees(times_of(run, "accumulated")[0], known["t_rest"])
    answer = ds.problem("rocking-block").case("housner").analyse("rocking")
    assert answer.values["first_ratio"] == pytest.approx(answer.values["closed_form"], abs=1e-12)
    assert agrees(answer.values["closed_form"], known["ratio_formula_uniform"])


@pytest.mark.slow_rows("1.001-False")
@pytest.mark.parametrize(("share", "rocks"), [(0.999, True), (1.001, False)])
def test_a_block_wider_than_sqrt_2_of_its_height_stops_dead(share, rocks):
    squat = ds.problem("rocking-block").case("squat", half_width=share * math.sqrt(2.0))
    run = squat.solve()
    assert ("rear_lost" in [event.name for event in run.events]) == rocks
    ratio = rocking_block.rate_ratio(squat.full_parameters)
    first = next(event for event in run.events if event.impact is not None)
    left = first.after["theta_dot"] / first.detail["theta_dot"]
    assert left == pytest.approx(ratio if rocks else 0.0, abs=1e-12)


def test_a_belt_takes_a_block_along_until_its_spring_pulls_it_off():
    known = case("block_on_belt_spring")["values"]
    shift = (0.4 - 0.2) / 2 / 0.2
    stiffer = 40.0 * (1.0 + shift * 0.05 / (1.0 + shift * 0.1))
    until = known["t_slip"]["value"] + 0.9 * 2 * math.pi / math.sqrt(stiffer)
    run = run_of("block-on-belt", "one-limit", until=until)
    assert agrees(times_of(run, "rear_sticks")[0], known["t_stick"])
    slips = next(event for event in run.events if event.name == "rear_slips")
    assert agrees(slips.time, known["t_slip"])
    assert agrees(slips.detail["x"], known["x_slip_star"])
    assert agrees(run["x"][-1], known["x_at_0.9_period_after"], 12)


@pytest.mark.slow
def test_higher_friction_of_rest_makes_a_cycle_of_stick_and_slip():
    """It sticks from x1 to x2 = share mu g / k with the belt's v, and slips about x0 = mu g / k.

    With w^2 = k and a = x2 - x0: x1 = 2 x0 - x2, and it slips for (2 pi - 2 atan(w a / v)) / w.
    """
    run = run_of("block-on-belt", "stick-slip")
    mu, share, stiffness, belt = 0.3, 1.5, 40.0, 0.3
    pulled, middle = share * mu * 9.81 / stiffness, mu * 9.81 / stiffness
    rate, above = math.sqrt(stiffness), share * mu * 9.81 / stiffness - mu * 9.81 / stiffness
    slips, sticks = times_of(run, "rear_slips"), times_of(run, "rear_sticks")
    there = [event.detail["x"] for event in run.events if event.name == "rear_slips"]
    assert np.max(np.abs(np.array(there) - pulled)) <= 1e-13
    slip_time = (2.0 * math.pi - 2.0 * math.atan(rate * above / belt)) / rate
    np.testing.assert_allclose(sticks[1:] - slips[: len(sticks) - 1], slip_time, atol=1e-12)
    stick_time = 2.0 * (pulled - middle) / belt
    np.testing.assert_allclose(slips[1:] - sticks[1 : len(slips)], stick_time, atol=1e-12)


def test_the_first_sample_is_in_the_mode_in_which_the_block_begins():
    # mu > b / h: the rear foot lifts at once. In the mode that ends there it would pull.
    for at in ([0.0, 0.01], ds.every_event()):
        run = ds.problem("block").case("tips").solve(0.01, at=at)
        assert run["rear"][0] == run["rear_state"][0] == run.at(0.0)["rear"] == 0.0
        # Tipping lifts the centre, so that the front foot carries more than the weight.
        assert run["front"][0] > 9.81
