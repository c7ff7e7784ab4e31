"""Rods, balls, toys and cranks that touch and strike, against digits of two programs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import daesolve as ds
from tests.contact.decisions.cases import agrees, case, cases
from tests.rubbing import times_of

EDGES = ("beak", "lower", "upper")


def test_a_thrown_rod_bounces_on_both_ends():
    known = case("thrown_rod")["values"]
    run = ds.problem("thrown-rod").case("thrown").solve()
    impacts = [event for event in run.events if event.impact is not None]
    assert len(impacts) == 14
    for number, event in enumerate(impacts, start=1):
        end = event.name[0]
        assert agrees(event.time, known[f"t{number}"])
        assert agrees(event.impact.impulses[end], known[f"LN{number}"], 11)
        assert agrees(event.impact.impulses[f"{end}_stuck"], known[f"LT{number}"], 10)
    assert agrees(run["x"][-1], known["x_end"])


@pytest.mark.parametrize("share", [0.999, 1.001])
def test_an_end_that_is_dropped_sticks_from_a_friction_on(share):
    """Straight down, without spin, from just above the floor."""
    found = case("vertical_drop_stick_limit")
    angle, limit = found["params"]["phi"], found["values"]["mu_stick"]["value"]
    drop = ds.problem("thrown-rod").case("thrown", friction=share * limit, restitution=0.0)
    height = 0.5 * math.sin(angle) + 0.01
    run = drop.solve(
        until=0.05, initial={"y": height, "theta": angle, "x_dot": 0.0, "theta_dot": 0.0}
    )
    first = next(event for event in run.events if event.impact is not None)
    after = first.after
    slip = after["x_dot"] + 0.5 * math.sin(angle) * after["theta_dot"]
    assert (abs(slip) <= 1e-13) == (share > 1.0)


@pytest.mark.parametrize("name", ["poisson", "routh"])
def test_other_laws_bounce_the_same_rod_otherwise_and_gain_nothing(name):
    """Kinetic energies fall in each impact, and the first one differs from Newton's."""
    newton = ds.problem("thrown-rod").case("thrown").solve(until=0.5)
    run = ds.problem("thrown-rod").case(name).solve(until=0.5)
    first, other = (r.events[0].impact for r in (newton, run))
    assert abs(first.impulses["A"] - other.impulses["A"]) > 1e-3 * first.impulses["A"]
    for event in run.events:
        if event.impact is not None:
            assert event.impact.kinetic_after <= event.impact.kinetic_before
            assert event.impact.carnot <= 1e-12


def test_the_woodpecker_starts_where_its_lower_edge_is_about_to_slip():
    found = case("woodpecker_limit_cycle")["values"]
    guess, _ = ds.problem("woodpecker").case("cycle").guess()
    assert agrees(guess["phi_B"], found["phiB_at_slip"])


@pytest.mark.slow
def test_the_woodpecker_pecks_in_its_cycle():
    known = case("woodpecker_limit_cycle")["values"]
    answer = ds.problem("woodpecker").case("cycle").analyse("period")
    assert answer.values["periods"] == 10
    assert agrees(answer.values["period"], known["period"], 11)
    assert agrees(-answer.values["fall"], known["fall_per_period"], 11)
    assert agrees(answer.values["bird_rate"], known["rate_bird_at_section"], 11)


@pytest.mark.long
def test_the_woodpecker_keeps_its_period_and_its_energy_a_thousand_times():
    """What gravity gives, friction and impacts take: to 1e-10 of that."""
    known = case("woodpecker_limit_cycle")["values"]
    period = known["period"]["value"]
    run = ds.problem("woodpecker").case("long").solve(until=1000.5 * period)
    assert run.outcome is ds.Outcome.COMPLETED
    slips = times_of(run, "lower_slips")
    assert len(slips) == 1001
    assert np.max(np.abs(np.diff(slips) / period - 1.0)) <= 1e-10
    impacts = [event.impact for event in run.events if event.impact is not None]
    struck = math.fsum(impact.kinetic_before - impact.kinetic_after for impact in impacts)
    rubbed = -math.fsum(run[f"{edge}_friction_work"][-1] for edge in EDGES)
    given = run["energy"][0] - run["energy"][-1]
    assert abs(given - struck - rubbed) <= 1e-10 * (struck + rubbed)
    assert agrees(struck / 1000.0, known["energy_lost_in_impacts"], 3)


@pytest.mark.slow
def test_a_slower_bird_is_caught_by_the_cycle():
    """Each period leaves about -0.839 of the distance to the cycle, near it."""
    known = case("woodpecker_limit_cycle")["values"]
    run = (
        ds.problem("woodpecker")
        .case("caught")
        .solve(until=6.0, initial={"phi_B_dot": known["rate_bird_at_section"]["value"] - 0.02})
    )
    rates = [event.detail["phi_B_dot"] for event in run.events if event.name == "lower_slips"]
    apart = np.array(rates) - known["rate_bird_at_section"]["value"]
    ratios = apart[21:31] / apart[20:30]
    # The map bends: the ratio is off by the order of the distance over the rate.
    bend = np.abs(apart[20:30]) * 10.0
    assert np.all(np.abs(ratios - known["multiplier"]["value"]) <= bend)


@pytest.mark.slow
def test_the_woodpecker_pecks_on_where_an_event_is_met_slowly():
    """At the start the slip begins with a rate of 1e-14: its end must be found nonetheless."""
    run = ds.problem("woodpecker").case("cycle").solve()
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert len(times_of(run, "lower_slips")) == 11
    assert len(times_of(run, "lower_sticks")) == 10


@pytest.mark.slow
def test_a_slider_in_clearance_strikes_both_walls():
    known = case("slider_crank_clearance")["values"]
    run = ds.problem("slider-crank-clearance").case("clearance").solve()
    assert agrees(run["theta"][-1], known["theta_engine_12"], 11)
    assert agrees(run["theta_dot"][-1], known["omega_at_t_end"])
    assert len(times_of(run, "bottom_closed", "top_closed")) == known["impacts"]["value"]
    turns = times_of(run, "bottom_reverses", "top_reverses")
    assert len(turns) == known["reversals_in_contact"]["value"]


@pytest.mark.slow
def test_a_slider_without_clearance_turns_round_at_its_dead_centres():
    """Which side of its guide is loaded, and the sense of friction, change as it moves on."""
    known = case("slider_crank_no_clearance")["values"]
    run = ds.problem("slider-crank-clearance").case("guided").solve()
    assert len(times_of(run, "at_rest")) == known["reversals"]["value"]
    assert agrees(run["theta_dot"][-1], known["omega_end"], 10)
    assert agrees(-run["friction_work"][-1], known["energy_lost"], 8)
    # Ten turns, but for the digits of the time that the reference has.
    late = abs(run["theta"][-1] - 0.001 - 20.0 * math.pi)
    assert late <= 0.5e-8 * 33.5
    assert run["energy"][-1] - run["energy"][0] == pytest.approx(
        run["friction_work"][-1], abs=1e-12
    )


@pytest.mark.slow
def test_a_slider_without_friction_keeps_its_energy_and_turns_round_all_the_same():
    case_ = ds.problem("slider-crank-clearance").case("guided", friction=0.0)
    run = case_.solve()
    assert len(times_of(run, "at_rest")) >= 20
    # Both programs keep 2e-10 J of 40 J; the rounding of some thousand steps is less.
    assert np.ptp(run["energy"]) <= 1e-11


@pytest.mark.long
def test_a_driven_slider_turns_a_thousand_times():
    run = ds.problem("slider-crank-clearance").case("driven").solve()
    assert run.outcome is ds.Outcome.COMPLETED
    turns = (run["theta"][-1] - 0.001) / (2.0 * math.pi)
    assert turns >= 1000.0
    assert abs(len(times_of(run, "at_rest")) - 2.0 * turns) <= 1.0
    change = run["energy"][-1] - run["energy"][0]
    rubbed, driven = run["friction_work"][-1], run["drive_work"][-1]
    assert abs(change - rubbed - driven) <= 1e-10 * abs(rubbed)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(
    ("name", "numbers", "key"),
    [
        ("line-newton", 0, "exact_newton"),
        ("line-poisson", 0, "exact_poisson"),
        ("line-sequential", 0, "exact_seq_left"),
        ("both-sides", 2, "exact_seq_left"),
    ],
)
def test_balls_in_a_line_part_with_rational_speeds(name, numbers, key):
    run = ds.problem("newtons-cradle").case(name).solve()
    wanted = [float(Fraction(number)) for number in cases("three_touching_balls")[numbers][key]]
    ends = [run[f"x_dot_{k}"][-1] for k in (1, 2, 3)]
    assert ends == pytest.approx(wanted, abs=1e-14)


@pytest.mark.slow_rows("two-2")
@pytest.mark.parametrize(("name", "striking"), [("one", 1), ("two", 2)])
def test_as_many_balls_leave_as_strike_where_they_are_a_hair_apart(name, striking):
    """After the first half swing the others hang still, but for what the spacing displaces."""
    run = ds.problem("newtons-cradle").case(name).solve(until=0.35)
    spacing, length = 1e-5, 0.3
    top = math.sqrt(2.0 * 9.81 / length * (1.0 - math.cos(0.5)))
    still = 4.0 * spacing / length
    after = run.events[-1].after
    for k in range(1, 6):
        rate = after[f"phi_dot_{k}"]
        # What strikes is displaced by the spacing, where the pendulum is fastest.
        leaves = k > 5 - striking
        assert abs(rate - (top if leaves else 0.0)) <= top * still


@pytest.mark.long
def test_balls_that_touch_leave_as_the_law_says():
    top = math.sqrt(2.0 * 9.81 / 0.3 * (1.0 - math.cos(0.5)))
    one = ds.problem("newtons-cradle").case("touching").solve().events[0].after
    assert [one[f"phi_dot_{k}"] for k in range(1, 6)] == pytest.approx([0, 0, 0, 0, top], abs=1e-12)
    # By Newton's law the four that are struck leave together, as one of four masses.
    all_ = ds.problem("newtons-cradle").case("at-once").solve().events[0].after
    found = [all_[f"phi_dot_{k}"] for k in range(1, 6)]
    momentum, energy = sum(found), sum(rate**2 for rate in found)
    assert momentum == pytest.approx(top, abs=1e-12)
    assert energy == pytest.approx(top**2, abs=1e-12)
    assert found[0] < 0.0


def test_the_order_of_impacts_must_be_named_where_it_decides():
    both = ds.problem("newtons-cradle").case("both-sides")
    run = both.solve(impact="sequential", impact_order=["between_2_3", "between_1_2"])
    wanted = cases("three_touching_balls")[2]["exact_seq_right"]
    ends = [run[f"x_dot_{k}"][-1] for k in (1, 2, 3)]
    assert ends == pytest.approx([float(Fraction(number)) for number in wanted], abs=1e-14)
    # An order is that of sequential impacts, and goes with another law.
    assert both.solve(impact="newton").outcome is ds.Outcome.COMPLETED
