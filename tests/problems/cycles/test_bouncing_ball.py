"""A ball on a shaken table, against closed forms and flights that are put together by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from daesolve_problems.cycles.bouncing_ball import doubling, fold, one_bounce, problem

from daesolve.errors import OutOfRangeError

from .floquet import monodromy

TURN = 2.0 * math.pi
STATES = ("y", "y_dot")
PAIRS = {
    "published example": {"amplitude": 1.28701062585782931},
    "loses little": {"amplitude": 0.709951159323386442, "restitution": 0.8},
    "a laboratory": {
        "frequency": 40.0 * math.pi,
        "gravity": 9.81,
        "amplitude": 8e-4,
        "restitution": 0.5,
        "mass": 0.01,
    },
}


def starts_of(case):
    """Return the states at the start of a case."""
    run = case.solve(until=1e-3 / case.full_parameters["frequency"])
    return {name: float(run.states[name][0]) for name in STATES}


def over_periods(case, periods):
    """Return by how much the state misses itself after some periods, and the monodromy."""
    start, until = starts_of(case), periods * TURN / case.full_parameters["frequency"]
    end = case.solve(until=until).end_state
    sizes = [case.full_parameters["amplitude"], case.full_parameters["amplitude"]]
    sizes[1] *= case.full_parameters["frequency"]
    misses = [abs(end[name] - start[name]) / size for name, size in zip(STATES, sizes, strict=True)]
    return max(misses), monodromy(case.starting(start), STATES, until)


@pytest.mark.long_rows("a laboratory--1", "a laboratory-1")
@pytest.mark.slow
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("name", PAIRS)
def test_one_bounce_a_period_returns_with_its_multipliers(name, side):
    case = problem.case("one-bounce", **PAIRS[name]).starting({"side": side})
    p = case.full_parameters
    e, shaken = p["restitution"], p["amplitude"] * p["frequency"] ** 2 / p["gravity"]
    missed, carried = over_periods(case, 1)
    assert missed < 1e-12
    lost = math.pi * (1.0 - e) / (1.0 + e)
    sine = side * math.sqrt(1.0 - (lost / shaken) ** 2)
    trace = 1.0 + e**2 - (1.0 + e) ** 2 * shaken * sine
    # In units of the table, in which the entries of the matrix are of the size of one.
    assert np.linalg.det(carried) == pytest.approx(e**2, abs=1e-11)
    assert np.trace(carried) == pytest.approx(trace, abs=1e-11)
    found = case.solve().events[0]
    phase, speed = one_bounce(p, 1, side)
    assert found.time * p["frequency"] == pytest.approx(phase % TURN, abs=1e-12)
    assert found.after["y_dot"] == pytest.approx(speed, rel=1e-12)


@pytest.mark.slow
def test_a_ball_may_bounce_once_in_two_periods():
    case = problem.case("one-bounce", amplitude=2.3).starting({"periods": 2})
    missed, carried = over_periods(case, 2)
    assert missed < 1e-12
    assert np.linalg.det(carried) == pytest.approx(0.25, abs=1e-11)
    sine = math.sqrt(1.0 - (TURN / 3.0 / 2.3) ** 2)
    assert np.trace(carried) == pytest.approx(1.25 - 2.25 * 2.3 * sine, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.5, 0.8, 0.3])
def test_at_fold_and_doubling_a_multiplier_is_one_and_minus_one(restitution):
    values = {**problem.case().full_parameters, "restitution": restitution}
    for amplitude, multiplier in ((fold(values), 1.0), (doubling(values), -1.0)):
        case = problem.case("one-bounce", restitution=restitution, amplitude=amplitude)
        missed, carried = over_periods(case, 1)
        assert missed < 1e-12
        expected = sorted([multiplier, multiplier * restitution**2])
        # Apart from each other by 1 - e^2, they have the errors of the matrix.
        assert sorted(np.linalg.eigvals(carried).real) == pytest.approx(expected, abs=1e-10)


@pytest.mark.slow_rows("two-bounces-0.2961390003083076-second0")
@pytest.mark.parametrize(
    ("name", "trace", "second"),
    [
        ("two-bounces", 0.2961390003083076, (1.13306073894641815, 2.68696412612701852)),
        ("springy", 0.9721802021982314, (0.925073893895093034, 3.48025588242568988)),
    ],
)
def test_a_high_bounce_and_a_low_one_return_after_two_periods(name, trace, second):
    case = problem.case(name)
    e = case.full_parameters["restitution"]
    missed, carried = over_periods(case, 2)
    assert missed < 1e-12
    assert np.linalg.det(carried) == pytest.approx(e**4, abs=1e-11)
    assert np.trace(carried) == pytest.approx(trace, abs=1e-10)
    first = case.solve(until=2 * TURN).events[0]
    assert (first.time, first.after["y_dot"]) == pytest.approx(second, abs=1e-12)


@pytest.mark.slow_rows("two-bounces-1.667130660769543-0.2485474697287557-3.842054871970415")
@pytest.mark.parametrize(
    ("name", "amplitude", "phase", "speed"),
    [
        ("two-bounces", 1.66713066076954308, 0.248547469728755681, 3.8420548719704149),
        ("springy", 1.22177969954674298, 0.386802748710915082, 4.02358651756273909),
    ],
)
def test_at_the_second_doubling_a_multiplier_is_minus_one(name, amplitude, phase, speed):
    case = problem.case(name, amplitude=amplitude).starting({"phase": phase, "speed": speed})
    missed, carried = over_periods(case, 2)
    assert missed < 1e-12
    expected = [-1.0, -(case.full_parameters["restitution"] ** 4)]
    assert sorted(np.linalg.eigvals(carried).real) == pytest.approx(expected, abs=1e-10)


def test_irregular_bounces_are_flights_from_parabola_to_parabola():
    case = problem.case("chaos")
    shaken, e = case.full_parameters["amplitude"], case.full_parameters["restitution"]
    events = case.solve(until=15 * TURN).events
    time, speed = 0.5 - TURN, 4.0
    for event in events[:8]:
        height = shaken * math.sin(time)

        def gap(after, time=time, speed=speed, height=height):
            flown = height + speed * after - after**2 / 2.0
            return flown - shaken * math.sin(time + after)

        # The first sign change after take-off, on a grid that is finer than the table.
        grid = np.linspace(1e-3, 15.0, 15000)
        first = next(k for k, after in enumerate(grid) if gap(after) < 0.0)
        after = scipy.optimize.brentq(gap, grid[first - 1], grid[first], xtol=1e-15)
        time += after
        table = shaken * math.cos(time)
        speed = table - e * (speed - after - table)
        # Errors grow by less than (1 + e)^2 times the shaking at each of eight impacts.
        assert event.time == pytest.approx(time, abs=1e-10)
        assert event.after["y_dot"] == pytest.approx(speed, abs=1e-10)


@pytest.mark.long
def test_however_far_the_end_is_the_ball_does_not_fall_through_the_table():
    until = 300.0 * TURN
    run = problem.case("chaos").solve(until=until)
    assert np.min(run["y"] - run["table_height"]) > -1e-9
    # A flight takes at most as long as the fastest take-off that is seen.
    highest = max(event.after["y_dot"] for event in run.events)
    assert len(run.events) > until / (2.0 * highest + TURN)


@pytest.mark.slow
def test_a_ball_that_rides_leaves_where_the_table_falls_faster_than_it():
    case = problem.case("rides")
    events = [event for event in case.solve().events if event.name == "table_lost"]
    assert len(events) >= 3
    for event in events:
        left = math.asin(1.0 / case.full_parameters["amplitude"])
        assert math.remainder(event.time - left, TURN) == pytest.approx(0.0, abs=1e-10)


def test_the_answer_tells_fold_doubling_and_orbit():
    found = problem.case("saddle").analyse("closed-form").values
    assert found["fold"] == pytest.approx(1.04719755119659775, rel=1e-15)
    assert found["doubling"] == pytest.approx(1.52682370051906086, rel=1e-15)
    assert found["multipliers"][0][0] == pytest.approx(2.845548983304288, rel=1e-14)
    below = problem.case("rides").analyse("closed-form").values
    assert "multipliers" not in below


@pytest.mark.parametrize("given", [{"phase": 0.3}, {"periods": 1.5}, {"side": 0.5}])
def test_a_take_off_that_makes_no_sense_is_refused(given):
    with pytest.raises(OutOfRangeError):
        problem.case("one-bounce").starting(given).solve(until=1.0)
