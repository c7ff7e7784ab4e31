"""Contacts that rub, open and collide, through the library's own interface, on the reference."""

import math
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from tests.contact.decisions.cases import agrees, case, cases
from tests.rubbing import (
    balls,
    block,
    crank_in_clearance,
    hoop_on_hill,
    leaning,
    rod,
    standing,
    times_of,
    woodpecker,
)


def values_of(name):
    return case(name)["values"]


@pytest.mark.slow
def test_a_block_slides_down_an_incline_to_rest_on_both_feet():
    known = values_of("slide_to_rest")
    run = ds.solve(block(0.1, 0.2, 0.3, incline=0.1), 1.0, standing(0.2, 1.0))
    assert run.outcome is ds.Outcome.COMPLETED
    assert [event.name for event in run.events] == [
        "rear_sticks", "front_sticks", "rest",
    ]  # fmt: skip
    assert agrees(run.events[0].time, known["t_rest"])
    assert run.events[2].time == run.events[0].time
    assert agrees(run["x"][-1], known["distance"])
    assert agrees(run["rear"][0], known["N_rear"])
    assert agrees(run["front"][0], known["N_front"])
    assert agrees(run["rear"][-1], known["rest_N_rear"])
    assert agrees(run["rear_friction"][-1] + run["front_friction"][-1], known["rest_T_sum"])


@pytest.mark.slow
def test_a_block_that_is_stopped_by_its_front_foot_tips_and_rocks_to_rest():
    known = values_of("tips_and_rocks_to_rest")
    run = ds.solve(block(0.1, 0.2, 0.7), 2.0, standing(0.2, 1.0))
    assert run.outcome is ds.Outcome.COMPLETED
    assert agrees(times_of(run, "front_sticks")[0], known["t_front_foot_sticks"])
    impact = next(event for event in run.events if event.name == "rear_closed")
    assert agrees(impact.time, known["t_first_impact"])
    assert agrees(impact.detail["theta_dot"], known["rate_before_first_impact"], 12)
    assert agrees(run["x"][-1], known["x_rest"])
    assert agrees(times_of(run, "accumulated")[0], known["t_rest"])
    assert agrees(times_of(run, "rest")[0], known["t_rest"])
    # Nothing moves any more.
    assert abs(run["x_dot"][-1]) + abs(run["theta_dot"][-1]) <= 1e-14


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(("friction", "tips"), [(0.499, False), (0.501, True)])
def test_a_block_tips_from_the_friction_on_that_is_its_width_over_its_height(friction, tips):
    run = ds.solve(block(0.1, 0.2, friction), 0.01, standing(0.2, 1.0))
    assert ("rear_lost" in [event.name for event in run.events]) == tips


@pytest.mark.slow
def test_a_block_rocks_to_rest_at_the_instant_to_which_its_impacts_lead():
    known = values_of("housner_rest")
    run = ds.solve(block(0.1, 0.3, 0.5), 3.0, **leaning(0.1, 0.3, 0.2))
    impacts = times_of(run, "front_closed", "rear_closed")
    assert agrees(impacts[0], known["t_first_impact"])
    assert agrees(impacts[9], known["t_impact_10"])
    assert agrees(times_of(run, "accumulated")[0], known["t_rest"])
    first = next(event for event in run.events if event.impact is not None)
    before, after = first.detail["theta_dot"], first.after["theta_dot"]
    assert agrees(abs(before), known["rate_first_impact"])
    assert agrees(after / before, known["ratio_rate"])
    impulses = first.impact.impulses
    ratio = abs(impulses["front_stuck"]) / impulses["front"]
    assert agrees(ratio, known["impulse_ratio_T_over_N"])


def test_a_ball_rests_when_its_bounces_are_over():
    known = values_of("bouncing_ball_rest")
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.1, restitution=0.5, closed=False)
    ball = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=9.81 * q.y, goals=[floor]
    )
    run = ds.solve(ball, 2.0, {"y": 1.25, "x": 0.0, "x_dot": 0.0})
    assert agrees(times_of(run, "accumulated")[0], known["t_rest"])


@pytest.mark.slow
def test_a_thrown_rod_bounces_on_both_ends():
    known = values_of("thrown_rod")
    start = {"x": 0.0, "y": 1.0, "theta": 0.6, "x_dot": 1.0, "y_dot": 0.0, "theta_dot": 2.0}
    run = ds.solve(rod(0.3, 0.6, closed=False), 1.5, start)
    impacts = [event for event in run.events if event.impact is not None]
    assert len(impacts) == 14
    for number, event in enumerate(impacts, start=1):
        end = event.name[0]
        assert agrees(event.time, known[f"t{number}"])
        assert agrees(event.impact.impulses[end], known[f"LN{number}"], 11)
        assert agrees(event.impact.impulses[f"{end}_stuck"], known[f"LT{number}"], 10)
        assert event.impact.carnot <= 1e-12
    assert agrees(run["x"][-1], known["x_end"])


@pytest.mark.long_rows("block_two_feet_shaking_table_stick_slip-0.2-events0")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "speed", "events"),
    [
        ("block_two_feet_shaking_table_stick_slip", 0.2, ("rear_sticks", "rear_slips")),
        ("block_two_feet_shaking_table_reversal_without_stick", 1.0, ("rear_reverses",)),
    ],
)
def test_a_block_on_a_table_that_shakes_sticks_or_turns_round(name, speed, events):
    known = values_of(name)
    table = block(0.2, 0.1, (0.2, 0.4), floor=speed * ca.sin(20.0 * ds.time))
    run = ds.solve(table, 10 * 2 * math.pi / 20.0, standing(0.1))
    times = times_of(run, *events)
    assert len(times) + 1 == known["n_transitions"]["value"]
    for number in range(2, 7):
        assert agrees(times[number - 2], known[f"t{number}"])
    assert agrees(run["x"][-1], known["x_at_10_periods"], 12)


@pytest.mark.slow
def test_a_block_on_a_belt_sticks_until_its_spring_pulls_it_off():
    known = values_of("block_on_belt_spring")

    def spring(q):
        place = q.x - 0.05 * ca.sin(q.theta)
        return {"x": -40.0 * place, "theta": -40.0 * place * ca.jacobian(place, q.theta)}

    belt = block(0.2, 0.1, (0.2, 0.4), floor=0.3, force=spring)
    # The moment of the spring shifts the load to the rougher foot: it is as if it were stiffer.
    shift = (0.4 - 0.2) / 2 / 0.2
    stiffer = 40.0 * (1.0 + shift * 0.05 / (1.0 + shift * 0.1))
    until = known["t_slip"]["value"] + 0.9 * 2 * math.pi / math.sqrt(stiffer)
    run = ds.solve(belt, until, standing(0.1))
    assert agrees(times_of(run, "rear_sticks")[0], known["t_stick"])
    slips = next(event for event in run.events if event.name == "rear_slips")
    assert agrees(slips.time, known["t_slip"])
    assert agrees(slips.detail["x"], known["x_slip_star"])
    assert agrees(run["x"][-1], known["x_at_0.9_period_after"], 12)


def bird(rate=None):
    """The woodpecker with the data of the reference, and where its cycle begins."""
    found = case("woodpecker_limit_cycle")
    numbers, known = found["params"], found["values"]
    start = {
        "y": 0.0,
        "phi_S": (numbers["r0"] - numbers["rS"]) / numbers["hS"],
        "phi_B": known["phiB_at_slip"]["value"],
        "y_dot": 0.0,
        "phi_S_dot": 0.0,
        "phi_B_dot": known["rate_bird_at_section"]["value"] if rate is None else rate,
    }
    return woodpecker(numbers), start, found


@pytest.mark.slow
def test_the_woodpecker_comes_down_its_rod_in_the_cycle_of_the_reference():
    system, start, found = bird()
    known, numbers = found["values"], found["params"]
    run = ds.solve(system, 0.1465, start)
    entries = [known[key] for key in known if key.startswith("t_")]
    does = {"lost": "open", "closed": "impact", "sticks": "stick", "slips": "slip"}
    names = {"lower": "low", "upper": "up", "beak": "beak"}
    # It begins to slip at the start.
    assert run.events[0].name == "lower_slips"
    said = [event.name.split("_") for event in run.events[1:]]
    wanted = [words.split(" ")[:2] for words in found["sequence"]]
    assert [[does[what], names[place]] for place, what in said] == wanted
    for event, entry in zip(run.events[1:], entries, strict=True):
        assert agrees(event.time, entry, 11)
    # The start has 12 digits, and the cycle is stable.
    end = run.events[-1]
    assert agrees(end.time, known["period"], 11)
    assert agrees(end.detail["y"], known["fall_per_period"], 11)
    assert agrees(end.detail["phi_B"], known["phiB_at_slip"], 11)
    assert agrees(end.detail["phi_B_dot"], known["rate_bird_at_section"], 11)
    # What impacts take, and what the fall gives; the rest is lost in sliding.
    impacts = [event.impact for event in run.events if event.impact is not None]
    lost = sum(impact.kinetic_before - impact.kinetic_after for impact in impacts)
    assert agrees(lost, known["energy_lost_in_impacts"], 10)
    fall = -(numbers["mS"] + numbers["mB"]) * 9.81 * end.detail["y"]
    assert agrees(fall, known["energy_fall"], 10)


@pytest.mark.slow
def test_the_cycle_of_the_woodpecker_is_as_stable_as_the_reference_says():
    """The bird's rate a period later, by central differences of its rate at the start."""
    known = case("woodpecker_limit_cycle")["values"]
    rate = known["rate_bird_at_section"]["value"]

    def later(change):
        system, start, _ = bird(rate + change)
        run = ds.solve(system, 0.147, start)
        return [event for event in run.events if event.name == "lower_slips"][1].detail["phi_B_dot"]

    change = 1e-3
    slope = (later(change) - later(-change)) / (2.0 * change)
    # The curvature of the map is of the order of the map over its rate squared.
    assert slope == pytest.approx(known["multiplier"]["value"], abs=1e-5)


@pytest.mark.long
def test_the_woodpecker_keeps_its_period_a_thousand_times():
    system, start, found = bird()
    period = found["values"]["period"]["value"]
    run = ds.solve(system, 1000.5 * period, start)
    slips = times_of(run, "lower_slips")
    assert len(slips) == 1001
    # The reference has 12 digits.
    assert np.max(np.abs(np.diff(slips)[20:] - period)) <= 1e-12
    assert run.outcome is ds.Outcome.COMPLETED


@pytest.mark.slow
def test_a_slider_in_clearance_strikes_both_walls_and_turns_round_at_them():
    known = values_of("slider_crank_clearance")
    theta, r, length, gap = 0.001, 0.1, 0.3, 1e-3
    x = r * math.cos(theta) + math.sqrt(length**2 - (r * math.sin(theta) + gap) ** 2)
    run = ds.solve(
        crank_in_clearance(r, length, 0.05, 0.2, gap),
        1.8,
        {"theta": theta, "theta_dot": 40.0, "y": -gap, "y_dot": 0.0},
        guess={"x": x},
    )
    assert run.outcome is ds.Outcome.COMPLETED
    assert agrees(run["theta"][-1], known["theta_engine_12"], 11)
    assert len(times_of(run, "bottom_closed", "top_closed")) == known["impacts"]["value"]
    turns = times_of(run, "bottom_reverses", "top_reverses")
    assert len(turns) == known["reversals_in_contact"]["value"]
    assert agrees(run["theta_dot"][-1], known["omega_at_t_end"])
    words = {"open": "lost", "close": "closed", "zero": "reverses"}
    firsts = [
        (time, f"{wall}_{words[kind]}")
        for time, kind, wall in known["first_events"]["value"]
        if kind in words
    ]
    assert [(round(event.time, 9), event.name) for event in run.events[: len(firsts)]] == firsts


@pytest.mark.slow
def test_a_hoop_rolls_slips_flies_lands_and_rolls_again():
    known = values_of("wheel_leaves_hill_and_lands")
    run = ds.solve(
        hoop_on_hill(0.1, 1.0, 0.5, 0.05),
        1.5,
        {"x": 1.1 * math.sin(0.3), "y": 1.1 * math.cos(0.3), "turn": 0.0,
         "x_dot": 0.0, "y_dot": 0.0, "turn_dot": 0.0},
    )  # fmt: skip
    slips, leaves, lands, rolls = run.events
    assert agrees(slips.time, known["t_slip"])
    assert agrees(math.atan2(slips.detail["x"], slips.detail["y"]), known["psi_slip"], 12)
    speeds = leaves.detail
    assert agrees(math.hypot(speeds["x_dot"], speeds["y_dot"]), known["speed_leave"], 12)
    assert agrees(0.1 * speeds["turn_dot"], known["rim_speed_leave"], 12)
    assert agrees(leaves.time, known["t_leave"])
    assert agrees(math.atan2(leaves.detail["x"], leaves.detail["y"]), known["psi_leave"], 12)
    assert agrees(lands.time, known["t_land"])
    assert agrees(lands.detail["x"], known["x_land"])
    assert agrees(lands.detail["y_dot"], known["vy_land"], 12)
    slip = [state["x_dot"] - 0.1 * state["turn_dot"] for state in (lands.detail, lands.after)]
    assert agrees(slip[0], known["slip_before_landing"])
    assert agrees(slip[1], known["slip_after_landing"])
    assert agrees(rolls.time, known["t_rolling"])
    assert agrees(rolls.detail["x"], known["x_rolling"])
    assert agrees(run["x_dot"][-1], known["v_final"])
    energy = (run["x_dot"][-1] ** 2 + (0.1 * run["turn_dot"][-1]) ** 2) / 2
    assert agrees(energy, known["E_final"], 12)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("found", cases("three_touching_balls"))
@pytest.mark.parametrize("law", ["newton", "poisson", "sequential left", "sequential right"])
def test_three_touching_balls_part_by_the_law_that_is_named(found, law):
    numbers = found["params"]
    kind, _, first = law.partition(" ")
    order = {"left": ["left", "right"], "right": ["right", "left"]}.get(first)
    start = dict.fromkeys(("first", "second", "third"), 0.0)
    start |= dict(zip(("first_dot", "second_dot", "third_dot"), numbers["u"], strict=True))
    system = balls(numbers["m"], numbers["e"])
    run = ds.solve(system, 0.1, start, impact=kind, impact_order=order)
    key = f"exact_seq_{first}" if first else f"exact_{kind}"
    wanted = [float(Fraction(number)) for number in found[key]]
    ends = [run[f"{name}_dot"][-1] for name in ("first", "second", "third")]
    assert ends == pytest.approx(wanted, abs=1e-14)


def test_a_run_ends_where_the_order_of_impacts_decides_and_none_is_named():
    start = dict.fromkeys(("first", "second", "third"), 0.0)
    start |= {"first_dot": 1.0, "second_dot": 0.0, "third_dot": -1.0}
    run = ds.solve(balls((1.0, 2.0, 1.0), 0.8), 0.1, start, impact="sequential")
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "depending on the order" in run.message


def test_a_rod_that_slides_where_friction_lets_no_motion_follow_is_refused():
    """Painleve's paradox: tan phi = 2 lies between its angles, and it does not turn."""
    start = {"x": 0.0, "theta": math.atan(2.0), "theta_dot": 0.0, "x_dot": -3.0, "y_dot": 0.0}
    system = rod(1.8, 0.0, ends=("A",))
    with pytest.raises(ds.errors.NoMotion, match="no motion"):
        ds.solve(system, 0.1, start, guess={"y": 0.5 * math.sin(math.atan(2.0))})


@pytest.mark.slow
def test_an_impact_that_would_give_energy_ends_the_run_or_is_another_law():
    """A double pendulum that strikes the floor, after Kane: Newton's law gains 59 per cent."""
    found = cases("kane_double_pendulum")[0]
    q = ds.coordinates(first="rad", second="rad")
    one = (ca.sin(q.first), -ca.cos(q.first))
    tip = (one[0] + ca.sin(q.second), one[1] - ca.cos(q.second))
    speeds = [ca.jacobian(part, q.vector) @ q.dot.vector for part in (*one, *tip)]
    floor = -(math.cos(math.pi / 9) + math.cos(math.pi / 6))
    foot = ds.Contact(
        "foot", tip[1] - floor, slip=speeds[2], friction=0.5, restitution=0.5, closed=False
    )
    # Two rods of 1 kg and 1 m.
    middle = (
        (one[0] / 2, one[1] / 2),
        (one[0] + ca.sin(q.second) / 2, one[1] - ca.cos(q.second) / 2),
    )
    rates = [ca.jacobian(part, q.vector) @ q.dot.vector for pair in middle for part in pair]
    kinetic = sum(rate**2 for rate in rates) / 2 + (q.dot.first**2 + q.dot.second**2) / 24
    system = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=9.81 * (middle[0][1] + middle[1][1]), goals=[foot]
    )
    start = {
        "first": math.pi / 9, "second": math.pi / 6, "first_dot": -0.1, "second_dot": -0.2,
    }  # fmt: skip
    refused = ds.solve(system, 0.01, start)
    assert refused.outcome is ds.Outcome.DEGENERATE
    assert "would add energy" in refused.message
    for law, key in (("newton", "newton"), ("poisson", "poisson")):
        run = ds.solve(system, 0.01, start, impact=law, on_gain="report")
        impact = run.events[0].impact
        change = impact.kinetic_after / impact.kinetic_before - 1.0
        assert agrees(change, found["values"][f"{key}_relative_energy_change"], 11)


def test_what_makes_no_friction_is_refused():
    q = ds.coordinates(x="m", y="m")
    with pytest.raises(ds.errors.PosingError, match="needs its slip"):
        ds.Contact("floor", q.y, friction=0.3)
    for wrong in ({"friction": -0.1}, {"tangential_restitution": 1.5}):
        with pytest.raises(ds.errors.OutOfRangeError, match="must be"):
            ds.Contact("floor", q.y, slip=q.dot.x, **wrong)
    with pytest.raises(ds.errors.OutOfRangeError, match="must be at least as large"):
        ds.Contact("floor", q.y, slip=q.dot.x, friction=0.3, static_friction=0.2)


def test_static_friction_holds_a_block_until_the_push_passes_it():
    """A push 2 t on 1 kg passes 0.5 g at t = 0.25 g, and accelerates by 2 t - 0.3 g from there."""
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.3, static_friction=0.5)
    block_ = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[floor],
        force={"x": 2.0 * ds.time},
    )
    run = ds.solve(block_, 3.0, {"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0})
    (slips,) = run.events
    assert slips.name == "floor_slips"
    assert slips.time == pytest.approx(0.25 * 9.81, abs=1e-12)
    speed = 3.0**2 - slips.time**2 - 0.3 * 9.81 * (3.0 - slips.time)
    assert run["x_dot"][-1] == pytest.approx(speed, abs=1e-11)
    assert np.all(run["x"][run.times < slips.time] == 0.0)


def sliding(floor=0.0, force=None, **more):
    """A point of 1 kg on a floor that moves up and down."""
    q = ds.coordinates(x="m", y="m")
    contact = ds.Contact("floor", q.y - floor, slip=q.dot.x, friction=0.3, **more)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[contact],
        force=force(q, contact) if force else (),
    )


START = {"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0}


def test_impacts_on_a_floor_that_moves_account_for_its_work():
    """The floor comes up with 0.5 m/s; what the impact gives is its impulse times that speed."""
    rising = sliding(floor=0.5 * ds.time, restitution=0.5, closed=False)
    run = ds.solve(rising, 1.0, {**START, "y": 1.0})
    impact = run.events[0].impact
    assert impact.kinetic_after != impact.kinetic_before
    assert impact.carnot <= 1e-14


def test_reactions_of_contacts_that_rub_stand_in_no_other_force():
    def drag(_, contact):
        return {"x": 0.1 * contact.reaction}

    with pytest.raises(ds.errors.UnsupportedError, match="appears in a force"):
        ds.solve(sliding(force=drag), 1.0, START)


def test_what_a_law_of_impacts_does_not_know_is_refused():
    returning = sliding(tangential_restitution=0.5)
    with pytest.raises(ds.errors.UnsupportedError, match="belongs to Newton's law"):
        ds.solve(returning, 1.0, START, impact="poisson")
    three = balls((1.0, 1.0, 1.0), 1.0)
    for order, why in (
        (["left"], "name each contact once"),
        (["left", "left"], "name each contact once"),
        (["left", "middle"], "middle"),
    ):
        with pytest.raises(ds.DaesolveError, match=why):
            ds.solve(three, 0.1, impact="sequential", impact_order=order)
    with pytest.raises(ds.errors.UnsupportedError, match="impact = 'sequential'"):
        ds.solve(three, 0.1, impact_order=["left", "right"])


@pytest.mark.slow
def test_an_impact_that_no_law_decides_ends_the_run_and_keeps_what_there_is():
    """Of two feet that land together Routh's law strikes one first, and either may be."""
    falling = {**standing(0.2), "y": 0.5}
    open_ = {"contact_rear": 0.0, "contact_front": 0.0}
    run = ds.solve(block(0.1, 0.2, 0.3), 1.0, falling, impact="routh", parameters=open_)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.events[-1].name == "order_decides"
    assert run.end_time == pytest.approx(math.sqrt(2 * 0.3 / 9.81), abs=1e-12)


def test_contacts_without_friction_have_no_values_or_events_of_friction():
    system = balls((1.0, 1.0, 1.0), 1.0)
    own = "contact", "follows", "slack"
    values = {f"{what}_{side}" for what in own for side in ("left", "right")}
    assert {*system.discrete} == values
    assert {event.name for event in system.events} == {
        "left_lost", "left_closed", "right_lost", "right_closed",
    }  # fmt: skip
