"""The vehicle on light rollers in a bend: closed forms, and Lagrange's equations switched by hand.

The reference (`tests/reference/omni_bend.py`) shares neither coordinates nor equations with the
library; it integrates with relative tolerances of 1e-12, and its events are as accurate.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems.omni_lifting.light_sizes import lift_time
from scipy.optimize import brentq

import daesolve as ds
from daesolve.errors import DaesolveError, OutOfRangeError, UndeterminedContact
from tests.reference.omni_bend import Vehicle

VEHICLE = ds.problem("omni-lifting")
INSTANT = 1e-9
"""s"""


def times_of(run, name):
    return [event.time for event in run.events if event.name == name]


def by_hand(case, wheels=3, **how):
    return Vehicle(
        {name: float(value) for name, value in case.full_parameters.items()}, wheels, **how
    )


def lift_by_hand(p):
    """Return when the moment about the line through the wheels outside holds no more, s.

    Mass at the height H with the acceleration w V towards the inside, over the lever R / 2 of the
    weight; the spins J V_i n_i turn with the rate w, and their sum is 3 J V / (2 l).
    """
    mass, R, radius = (
        p["platform_mass"] + 3 * p["wheel_mass"],
        p["platform_radius"],
        p["wheel_radius"],
    )
    high = radius + p["platform_mass"] * p["platform_height"] / mass
    axial = p["wheel_mass"] * radius**2 / 2
    about = p["platform_mass"] * R**2 / 2 + 3 * (axial / 2 + p["wheel_mass"] * R**2)
    gain = about * p["bend_growth"] / (2 * mass * R)

    def held(t):
        w, v = p["bend_rate"] + p["bend_growth"] * t, p["bend_speed"] + gain * t
        return mass * p["gravity"] * R / 2 - w * v * (mass * high + 3 * axial / (2 * radius))

    return brentq(held, 0.0, 10.0, xtol=1e-15, rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"bend_rate": 1.0, "bend_growth": 2.0, "wheel_mass": 0.4},
        {"bend_inside": 2 * math.pi / 3, "roller_radius": 0.02, "platform_height": 0.2},
    ],
)
def test_the_wheel_inside_lifts_where_its_load_is_zero_in_closed_form(changes):
    case = VEHICLE.case("bend").changed({**changes, "motor_time": 2.0})
    wanted = lift_by_hand(case.full_parameters)
    run = case.solve(until=wanted + 0.01)
    inside = 2 if "bend_inside" in changes else 1
    (lifted,) = times_of(run, f"rim_{inside}_lost")
    assert abs(lifted - wanted) < INSTANT
    earlier = [event for event in run.events if event.time < wanted - INSTANT]
    assert not earlier


def test_a_bend_just_below_the_limit_keeps_all_wheels_down():
    case = VEHICLE.case("holds")
    run = case.solve(until=0.5)
    assert not run.events
    p = case.full_parameters
    limit = case.analyse("bend").values["largest_rate_times_speed"]
    share = 1 - p["bend_rate"] * p["bend_speed"] / limit  # of the weight of a third
    weight = (p["platform_mass"] + 3 * p["wheel_mass"]) * p["gravity"]
    assert np.ptp(run["rim_1"]) < 1e-12 * weight
    assert run["rim_1"][-1] == pytest.approx(weight / 3 * share, rel=1e-10)


@pytest.mark.slow
def test_it_flies_lands_and_rolls_on_as_by_hand():
    case = VEHICLE.case("bend")
    run = case.solve()
    level = by_hand(case, mode={0: None, 1: None, 2: None})
    lifts, x, _ = level.integrate(0.0, 1.0, level.start(), {"lost": level.load(0)})
    tilts = by_hand(case, mode={1: None, 2: None})
    ends = {"gap": tilts.gap(0), "loose 2": tilts.hold(1), "loose 3": tilts.hold(2)}
    stops, x, ended = tilts.integrate(lifts, case.full_parameters["motor_time"], x, ends)
    assert ended == ""
    coasts = by_hand(case, mode=tilts.mode, motors=False)
    lands, x, ended = coasts.integrate(stops, 1.0, x, {**ends, "gap": coasts.gap(0)})
    assert ended == "gap"
    assert abs(times_of(run, "rim_1_lost")[0] - lifts) < INSTANT
    assert abs(times_of(run, "rim_1_closed")[0] - lands) < INSTANT
    v, (push, rub) = coasts.struck(x, 0)
    after = coasts.values(np.concatenate([x[:9], v]), lands)
    # The wheels outside need no impulse: they leave the floor, and the one inside sticks.
    assert min(after[7][1:, 0]) > 0.0
    assert abs(rub) < case.full_parameters["friction"] * push
    impact = next(event.impact for event in run.events if event.impact)
    assert impact.impulses["rim_1"] == pytest.approx(push, rel=1e-8)
    assert impact.impulses["rim_1_stuck"] == pytest.approx(rub, rel=1e-6)
    assert impact.impulses["rim_2"] == impact.impulses["rim_3"] == 0.0
    assert impact.kinetic_after == pytest.approx(after[10][0, 0], rel=1e-9)
    assert run.outcome.good
    assert run["up_z"][-1] == pytest.approx(1.0, abs=1e-12)
    states = [run[f"rim_{i}_state"][-1] for i in (1, 2, 3)]
    assert states == [2.0, 2.0, 2.0]  # all three stick, that is, roll
    assert run.audit().holds
    struck = sum(e.impact.kinetic_before - e.impact.kinetic_after for e in run.events if e.impact)
    works = [run[f"rim_{i}_friction_work"][-1] for i in (1, 2, 3)] + [run["motor_work"][-1]]
    balance = run["energy"][-1] - run["energy"][0] - sum(works) + struck
    # What remains are the bounces that are left out, below 1e-9 J each.
    assert abs(balance) < 1e-8 * run["energy"][0]


@pytest.mark.slow
def test_it_slides_off_and_tips_over_as_by_hand():
    case = VEHICLE.case("tips-over")
    run = case.solve()
    level = by_hand(case, mode={0: None, 1: None, 2: None})
    time, x, _ = level.integrate(0.0, 1.0, level.start(), {"rim_1_lost": level.load(0)})
    modes = [
        ("rim_3_slips", {1: None, 2: None}, lambda now: now.hold(2)),
        ("rim_2_slips", {1: None, 2: 1.0}, lambda now: now.hold(1)),
        ("rim_3_lost", {1: 1.0, 2: 1.0}, lambda now: now.load(2)),
        ("rim_2_lost", {1: 1.0}, lambda now: now.load(1)),
        ("tipped_over", {}, lambda now: now.rim),
    ]
    for name, mode, ends in modes:
        probe = by_hand(case, mode={i: s and _way(run, i) for i, s in mode.items()})
        time, x, ended = probe.integrate(time, time + 0.5, x, {name: ends(probe)})
        assert ended == name
        (own,) = times_of(run, name)
        assert abs(own - time) < INSTANT, name
    assert run.audit().holds


def _way(run, wheel):
    """Return the sign with which a wheel slides in a run, +-1."""
    states = run[f"rim_{wheel + 1}_state"]
    return float(next(state for state in states if abs(state) == 1.0))


@pytest.mark.slow
def test_with_a_load_off_the_middle_a_wheel_slides_and_lifts_as_by_hand():
    case = VEHICLE.case("uneven")
    run = case.solve()
    level = by_hand(case, mode={0: None, 1: None, 2: None})
    slips, x, _ = level.integrate(0.0, 1.0, level.start(), {"slips": level.hold(0)})
    assert abs(times_of(run, "rim_1_slips")[0] - slips) < INSTANT
    way = math.copysign(1.0, -level.accelerations(slips, x)[2][0])
    slides = by_hand(case, mode={0: way, 1: None, 2: None})
    lifts, x, _ = slides.integrate(slips, 1.0, x, {"lost": slides.load(0)})
    assert abs(times_of(run, "rim_1_lost")[0] - lifts) < INSTANT
    assert run.audit().holds


def test_four_wheels_on_a_rigid_floor_are_refused_since_their_loads_decide():
    with pytest.raises(UndeterminedContact, match="undetermined reactions"):
        VEHICLE.case("bend", wheels=4).solve(until=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("wheels", [3, 4])
def test_on_stiffer_springs_the_lift_tends_to_the_closed_form(wheels):
    """The deviation is of the order of the creep within `slip_velocity` and of 1/stiffness."""
    off = []
    for factor in (0.3, 1.0, 3.0):
        case = VEHICLE.case("four-wheels", wheels=wheels).changed(
            {"stiffness": 1e5 * factor, "slip_velocity": 1e-3 / factor}
        )
        wanted = lift_time(case.full_parameters, wheels)
        run = case.solve(until=wanted + 0.01)
        off.append(abs(times_of(run, "rim_1_lost")[0] - wanted))
    assert off[1] < 0.5 * off[0]
    assert off[2] < 0.5 * off[1]
    assert off[2] < 1e-3


def test_bad_input_gets_one_sentence():
    with pytest.raises(OutOfRangeError, match="roller_radius"):
        VEHICLE.case("bend", roller_radius=0.06).solve(until=0.01)
    with pytest.raises(OutOfRangeError, match="stands upright"):
        VEHICLE.case("bend").starting({"tilt": math.pi / 2, "height": 0.2}).solve(until=0.01)
    with pytest.raises(DaesolveError, match="closed form"):
        VEHICLE.case("uneven").analyse("bend")
    with pytest.raises(DaesolveError, match="closed form"):
        VEHICLE.case("bend", bend_inside=1.0).analyse("bend")
