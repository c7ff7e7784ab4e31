"""The simplest walker, against published walks, its limit, and a walker with heavy feet."""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems.cycles.walker import problem

import daesolve as ds

from .floquet import at, monodromy

STATES = ("theta", "phi", "theta_dot", "phi_dot")
WALKS = {
    "long": (1, 3.88246375285139, (-0.19009984106603, 0.55759877668188)),
    "short": (1, 3.09610586807816, (4.0038643589296, 0.4595895897976)),
    "doubling": (1, 3.9124092124805, (-1.0, -0.29762136168466)),
    "limps": (2, 7.8179201941788, (0.726294469, 0.120683580)),
    "second-doubling": (2, 7.77025494478456, (-1.0, -0.0813483391)),
}
"""Steps, period, and multipliers: two real ones, or real and imaginary part of a pair."""
PAIRS = ("long",)
SMALL = {
    (1e-3, "long"): (0.09690967497190214, -0.10022821484456576, 3.8280033640957525),
    (1e-4, "long"): (0.04504914801881674, -0.04697922709796791, 3.8154996439167816),
    (1e-3, "short"): (0.0941319616448387, -0.10177399572021521, 3.132152995787222),
    (1e-4, "short"): (0.04378900749537491, -0.047657990252252216, 3.1396202113200244),
}
"""By slope and kind: theta, its rate, the period."""


def strikes(run):
    """Return the heel-strikes."""
    return [event for event in run.events if event.name == "heel_strike"]


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_returns_after_its_period(name):
    steps, period, _ = WALKS[name]
    case = problem.case(name)
    # A walk whose errors grow fourfold by step is off by little after two.
    last = strikes(case.solve(until=2.1 * period))[2 * steps - 1]
    assert last.time == pytest.approx(2.0 * period, abs=1e-12)
    for state, value in case.full_start.items():
        assert last.after[state] == pytest.approx(value, abs=1e-12)


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("name", WALKS)
def test_multipliers_are_one_two_of_the_walk_and_zero(name):
    _, period, multipliers = WALKS[name]
    case = problem.case(name)
    middle = at(case, STATES, 1.0)
    carried = monodromy(case.starting(middle), STATES, period)
    found = list(np.linalg.eigvals(carried))
    pair = [complex(*multipliers), complex(*multipliers).conjugate()]
    # One for the flow, zero for phi and its rate, which a strike sets.
    expected = [1.0, 0.0, *(pair if name in PAIRS else multipliers)]
    for value in expected:
        nearest = min(found, key=lambda root: abs(root - value))
        found.remove(nearest)
        # Published digits; from matrices whose entries are of the size of 60.
        assert abs(nearest - value) < (2e-9 if name in ("limps", "second-doubling") else 1e-10)


@pytest.mark.parametrize(("slope", "kind"), SMALL)
def test_small_slopes_come_to_the_limit(slope, kind):
    theta, rate, period = SMALL[slope, kind]
    case = problem.case(kind, slope=slope).starting({"theta": theta, "theta_dot": rate})
    first = strikes(case.solve(until=1.2 * period))[0]
    assert first.time == pytest.approx(period, abs=1e-12)
    assert (first.after["theta"], first.after["theta_dot"]) == pytest.approx(
        (theta, rate), abs=1e-13
    )
    limit = 3.81209179509296599 if kind == "long" else math.pi
    assert math.tan(limit / 2.0) == pytest.approx(-3.0 * math.tanh(limit / 2.0)) or kind == "short"
    # What follows in powers of the slope begins with its 2/3.
    room = 2.0 * slope ** (2.0 / 3.0)
    assert first.time == pytest.approx(limit, abs=room)
    tanh = math.tanh(limit / 2.0)
    assert theta / slope ** (1.0 / 3.0) == pytest.approx(tanh ** (2.0 / 3.0), abs=room)
    assert rate / theta == pytest.approx(-1.0 / tanh, abs=room)


def legs(theta, phi, theta_dot, phi_dot, foot):
    """Return mass matrix and forces of a walker with feet of a small mass, free of the ground.

    Coordinates: the standing foot along and across the slope, theta and phi; the hip has mass one.
    Theta leans against the way down, so that x is up the slope where theta grows.
    """
    angles = theta, theta - phi
    hip = np.array([[1.0, 0.0, -math.cos(theta), 0.0], [0.0, 1.0, -math.sin(theta), 0.0]])
    hip_rest = np.array([math.sin(theta), -math.cos(theta)]) * theta_dot**2
    cosine, sine = math.cos(angles[1]), math.sin(angles[1])
    own = theta_dot - phi_dot
    swinging = hip + np.array([[0.0, 0.0, cosine, -cosine], [0.0, 0.0, sine, -sine]])
    swinging_rest = hip_rest + np.array([-sine, cosine]) * own**2
    standing = np.eye(2, 4)
    mass = hip.T @ hip + foot * (swinging.T @ swinging + standing.T @ standing)
    return mass, hip, hip_rest, swinging, swinging_rest, standing


def test_equations_and_strike_are_those_of_a_walker_whose_feet_weigh_next_to_nothing():
    slope, foot = 0.03, 1e-7
    case = problem.case("long", slope=slope)
    weight = np.array([math.sin(slope), -math.cos(slope)])
    for theta, phi, theta_dot, phi_dot in ((0.2, 0.3, -0.2, 0.1), (-0.15, -0.5, -0.3, -0.4)):
        mass, hip, hip_rest, swing, swing_rest, _ = legs(theta, phi, theta_dot, phi_dot, foot)
        force = hip.T @ (weight - hip_rest) + foot * swing.T @ (weight - swing_rest)
        # The standing foot stays: two freedoms are left.
        expected = np.linalg.solve(mass[2:, 2:], force[2:])
        state = dict(zip(STATES, (theta, phi, theta_dot, phi_dot), strict=True))
        run = case.starting(state).solve(until=1e-3, at=[0.0, 1e-3])
        found = [run.end_state[f"{name}_dot"] - state[f"{name}_dot"] for name in ("theta", "phi")]
        assert found == pytest.approx(1e-3 * expected, abs=1e-6)


def test_a_strike_is_the_impact_of_a_foot_that_is_held_at_once():
    foot = 1e-9
    strike = strikes(problem.case("long").solve(until=5.0))[0]
    theta, phi = strike.detail["theta"], strike.detail["phi"]
    before = np.array([0.0, 0.0, strike.detail["theta_dot"], strike.detail["phi_dot"]])
    mass, *_, swinging, _, _ = legs(theta, phi, before[2], before[3], foot)
    # The foot that lands stays where it is, the one behind is free to go.
    inverse = np.linalg.inv(mass)
    held = inverse @ swinging.T @ np.linalg.inv(swinging @ inverse @ swinging.T)
    after = before - held @ (swinging @ before)
    # The legs change places: the angle of the new standing leg is theta - phi, phi turns its sign.
    expected = after[2] - after[3], -after[3]
    own = strike.after["theta_dot"], strike.after["phi_dot"]
    assert own == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "start", [{"theta": 0.2, "theta_dot": 0.3}, {"theta": 0.1, "theta_dot": -0.9}]
)
def test_a_fall_ends_the_run_with_its_name(start):
    run = problem.case("long").starting(start).solve(until=100.0)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.events[-1].name == "falls"
    assert abs(run.end_state["theta"]) == pytest.approx(math.pi / 2, abs=1e-12)


def test_an_unstable_walk_is_left_by_its_leading_multiplier():
    case = problem.case("short")
    start = {**case.full_start, "theta": case.full_start["theta"] * (1.0 + 1e-8)}
    off = [
        event.after["theta"] - case.full_start["theta"]
        for event in strikes(case.starting(start).solve(until=22.0))
    ]
    assert off[4] / off[3] == pytest.approx(4.0038643589296, rel=1e-4)
