"""A mass on a belt: stick-slip cycles, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from daesolve_problems.cycles.belt_oscillator import cycle, problem

from .floquet import at, monodromy

PUBLISHED = {
    "undamped": (0.04, 0.02, 0.471238898038468958, 0.671238898038469014),
    "slow": (0.06, -0.02, 0.339030264268331614, 1.93903026426833139),
    "damped": (0.0398, 0.0209940740938952444, 0.412150266272314241, 0.788268784394409376),
}
"""Where slip begins and ends, how long it takes, and the period (40 digits)."""
FASTEST = 0.188327991447273896
OTHER = {
    "mass": 2.5,
    "stiffness": 40.0,
    "damping": 1.0,
    "load": 30.0,
    "static_friction": 0.5,
    "kinetic_friction": 0.25,
    "belt_speed": 0.2,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_slip_and_stick_take_as_long_as_in_closed_form(name):
    slips_from, sticks_from, slip_time, period = PUBLISHED[name]
    case = problem.case(name)
    found = cycle(case.full_parameters)
    expected = (slips_from, sticks_from, slip_time, period)
    own = (found.slips_from, found.sticks_from, found.slip_time, found.period)
    assert own == pytest.approx(expected, rel=1e-14)
    run = case.solve()
    slips = [event for event in run.events if event.name == "belt_slips"]
    sticks = [event for event in run.events if event.name == "belt_sticks"]
    assert len(slips) >= 10
    for k, (begun, ended) in enumerate(zip(slips, sticks, strict=False)):
        # What sticks may bear 1e-12 more than its limit, and so slips that much later.
        assert begun.time - slips[0].time == pytest.approx(k * period, abs=1e-11)
        assert begun.detail["x"] == pytest.approx(slips_from, abs=1e-12)
        assert ended.time - begun.time == pytest.approx(slip_time, abs=1e-12)
        assert ended.detail["x"] == pytest.approx(sticks_from, abs=1e-12)


def test_without_a_damper_the_period_is_an_arc_tangent():
    case = problem.case("undamped", **{**OTHER, "damping": 0.0})
    rate = math.sqrt(40.0 / 2.5)
    excess = 0.25 * 30.0 / 40.0
    period = 2.0 * excess / 0.2 + (2.0 / rate) * (math.pi - math.atan(excess * rate / 0.2))
    slips = [event.time for event in case.solve().events if event.name == "belt_slips"]
    assert np.diff(slips) == pytest.approx(period, abs=1e-11)
    assert cycle(case.full_parameters).period == pytest.approx(period, rel=1e-14)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("name", [*PUBLISHED, "other"])
def test_multipliers_are_one_and_zero(name):
    case = problem.case("damped", **OTHER) if name == "other" else problem.case(name)
    found = cycle(case.full_parameters)
    first = case.solve().events[0].time
    middle = at(case, ("x", "x_dot"), first + found.slip_time / 2.0)
    carried = monodromy(case.starting(middle), ("x", "x_dot"), found.period)
    values = sorted(np.linalg.eigvals(carried).real)
    # One is simple and has the error of the matrix, and so has zero.
    assert values == pytest.approx([0.0, 1.0], abs=1e-10)


def test_friction_turns_into_heat_what_the_belt_slips():
    case = problem.case("damped")
    p, found = case.full_parameters, cycle(case.full_parameters)
    run = case.solve(until=10.0 * found.period)
    pressed = p["kinetic_friction"] * p["load"]
    each = pressed * (p["belt_speed"] * found.slip_time - found.sticks_from + found.slips_from)
    assert run.end_state["heat"] == pytest.approx(10.0 * each, rel=1e-11)


def test_the_cycle_ends_at_a_belt_whose_speed_is_only_just_reached():
    values = dict(problem.case("damped").full_parameters)

    def speed_at_most(belt_speed):
        """Return by how much the mass that slips becomes faster than the belt at most."""
        rate = math.sqrt(100.0 - 0.04)
        times = np.linspace(0.5 * math.pi, 2.5 * math.pi, 20001) / rate
        sine = (0.2 * belt_speed - 1.0) / rate
        swing = belt_speed * np.cos(rate * times) + sine * np.sin(rate * times)
        return float(np.max(np.exp(-0.2 * times) * swing)) - belt_speed

    # A maximum on a grid of 3e-5 s is off by 1e-9 of the amplitude.
    fastest = scipy.optimize.brentq(speed_at_most, 0.1, 0.3)
    assert fastest == pytest.approx(FASTEST, abs=1e-8)
    below, above = FASTEST * (1.0 - 1e-13), FASTEST * (1.0 + 1e-13)
    limit = cycle({**values, "belt_speed": below})
    # Near a maximum the time is as the square root of what is left.
    assert limit.slip_time == pytest.approx(0.579186167762115355, abs=1e-6)
    assert cycle({**values, "belt_speed": above}) is None
    for belt_speed, sticks in ((FASTEST - 1e-9, True), (FASTEST + 1e-9, False)):
        run = problem.case("damped", belt_speed=belt_speed).solve(until=20.0)
        assert any(event.name == "belt_sticks" for event in run.events) == sticks


def test_on_a_belt_that_is_too_fast_the_mass_comes_to_rest():
    case = problem.case("slips-for-ever")
    assert cycle(case.full_parameters) is None
    end = case.solve(until=200.0).end_state
    # exp(-0.2 * 200) of the first swing is left.
    assert end["x"] == pytest.approx(0.03, abs=1e-14)
    assert end["x_dot"] == pytest.approx(0.0, abs=1e-13)
    assert "none" in case.analyse("closed-form").values["cycle"]
