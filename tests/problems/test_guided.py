"""The cam follower and the drawer against statics by hand, textbook formulas and quadratures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems.guided import cam_follower, drawer
from scipy.optimize import brentq

import daesolve as ds
from daesolve.core.results.trajectory.results import Outcome

# -- the cam follower ------------------------------------------------------------------------------


def lifted(p, angle):
    """Height of the roller, its derivatives by the angle, and the pressure angle."""
    reach, e = p["cam_radius"] + p["roller_radius"], p["eccentricity"]
    across = p["offset"] - e * math.cos(angle)
    above = math.sqrt(reach**2 - across**2)
    by_angle = e * math.sin(angle)  # of across
    slope = e * math.cos(angle) - across * by_angle / above
    curved = e * math.cos(angle) * across + by_angle**2
    second = -e * math.sin(angle) - curved / above - (across * by_angle) ** 2 / above**3
    return e * math.sin(angle) + above, slope, second, math.asin(across / reach)


def forces(p, time):
    """The cam's force and those of the edges, of the variant whose edges push."""
    angle = p["theta"] + p["rate"] * time
    height, slope, second, alpha = lifted(p, angle)
    sense = math.copysign(1.0, slope)
    lowest = p["cam_radius"] + p["roller_radius"] - p["eccentricity"]
    down = p["mass"] * (p["gravity"] + second * p["rate"] ** 2)
    down += p["preload"] + p["stiffness"] * (height - lowest)
    arms = [p["bushing_from"] - height, p["bushing_from"] + p["bushing_length"] - height]
    for low in (1.0, -1.0):
        for high in (1.0, -1.0):
            signs = (low, high)  # +1: the left edge pushes to the right
            rub = [-p["friction"] * sense * sign for sign in signs]
            moments = [
                -arm + r * -sign * p["stem"] for arm, r, sign in zip(arms, rub, signs, strict=True)
            ]
            rows = [[math.sin(alpha), 1.0, 1.0], [math.cos(alpha), *rub], [0.0, *moments]]
            found = np.linalg.solve(rows, [0.0, down, 0.0])
            if low * found[1] >= 0.0 and high * found[2] >= 0.0:
                return found
    raise AssertionError("no edges push")


@pytest.mark.slow
def test_the_follower_is_pressed_as_statics_by_hand_say_over_many_turns():
    case = cam_follower.problem.case("turns")
    run = case.solve(at=ds.every(0.0137))
    assert run.outcome is Outcome.COMPLETED
    p = case.values
    for time, *found in zip(run.times, run["cam_force"], run["lower"], run["upper"], strict=True):
        wanted = forces(p, time)
        assert found == pytest.approx(wanted, abs=1e-9 * np.max(np.abs(wanted)))
    # Twice a turn the slip turns round, at the dead centres.
    turns = [event.time for event in run.events if event.name == "at_rest"]
    assert len(turns) == 13
    for time in turns:
        assert lifted(p, p["theta"] + p["rate"] * time)[1] == pytest.approx(0.0, abs=1e-14)
    assert not run.drift["energy"].driven
    assert run.drift["energy"].max_relative < 1e-10
    assert np.diff(run["friction_work"]).max() <= 0.0


@pytest.mark.slow
def test_a_thin_stem_jams_at_the_pressure_angle_of_the_textbook():
    case = cam_follower.problem.case("jams", stem=0.0)
    p = case.values
    run = case.solve()

    def beyond(time):
        height, _, _, alpha = lifted(p, p["theta"] + p["rate"] * time)
        free, held = p["bushing_from"] - height, p["bushing_length"]
        return abs(math.tan(alpha)) * p["friction"] * (2.0 * free + held) / held - 1.0

    jam = brentq(beyond, 0.0, 0.09, xtol=1e-15)
    assert run.outcome is Outcome.DEGENERATE
    assert run.events[-1].name == "jam"
    # The run ends where the determinant has fallen to a small part of its size.
    assert run.end_time == pytest.approx(jam, rel=1e-4)
    assert run.end_time <= jam


def test_the_other_offset_lets_it_turn():
    run = cam_follower.problem.case("jams", offset=0.02).solve(1.0)
    assert run.outcome is Outcome.COMPLETED


def test_a_cam_that_turns_too_fast_throws_the_follower_off_where_its_force_ends():
    case = cam_follower.problem.case("thrown-off")
    run = case.solve()
    assert run.events[0].name == "thrown_off"
    thrown = brentq(lambda time: forces(case.values, time)[0], 0.0, 0.06, xtol=1e-15)
    assert run.end_time == pytest.approx(thrown, rel=1e-10)


# -- the drawer ------------------------------------------------------------------------------------


def shares(p, structure):
    """The coefficients at the edge and at the back."""
    share = p["friction"] * p["axle_radius"] / p["wheel_radius"]
    rolls = share / math.sqrt(1.0 - share**2)
    return [rolls if structure.get(name) else p["friction"] for name in ("rollers", "wheels")]


def half_speed_squared(p, structure, x):
    """v^2 / 2 at an opening: the pull less friction, integrated."""
    edge, back = shares(p, structure)
    length = p["depth"] + (back - edge) * p["width"] / 2.0
    work = x + (edge + back) * p["off"] * math.log((length - x) / length)
    return p["pull"] * work / p["mass"]


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(
    ("name", "structure"),
    [("plain", {}), ("rollers", {"rollers": True}), ("wheels", {"rollers": True, "wheels": True})],
)
def test_the_drawer_has_the_speed_of_the_closed_form_and_stops_where_that_ends(name, structure):
    case = drawer.problem.case(name)
    run = case.solve(at=ds.every(0.05))
    p = case.values
    for x, v in zip(run["x"], run["x_dot"], strict=True):
        assert v**2 / 2.0 == pytest.approx(half_speed_squared(p, structure, x), abs=1e-12)
    if name != "plain":
        assert run.events[-1].name == "open"
        assert run.end_state["x"] == pytest.approx(p["depth"] - p["overlap"], rel=1e-12)
        return
    edge, back = shares(p, structure)
    length = p["depth"] + (back - edge) * p["width"] / 2.0
    fastest = length - (edge + back) * p["off"]
    stop = brentq(lambda x: half_speed_squared(p, structure, x), fastest, length - 1e-6)
    assert run.events[-1].name == "at_rest"
    # Where the speed ends its square is of first order in the way.
    assert run.end_state["x"] == pytest.approx(stop, rel=1e-10)


def test_a_closed_drawer_jams_where_twice_f_e_is_more_than_its_depth():
    case = drawer.problem.case("jams")
    run = case.solve()
    assert [event.name for event in run.events] == ["at_rest"]
    limit = ds.friction.stiction_limit(case.system, {"x": 0.0}, "off", (0.0, 1.0), case.values)
    p = case.values
    assert limit.value == pytest.approx(p["depth"] / (2.0 * p["friction"]), rel=1e-9)
    harder = drawer.problem.case("jams", pull=1e4).solve()
    assert harder.end_state["x"] == 0.0


def test_wheels_and_rollers_move_the_limit_to_that_of_their_axles():
    case = drawer.problem.case("wheels")
    limit = ds.friction.stiction_limit(case.system, {"x": 0.0}, "off", (0.0, 30.0), case.values)
    share = shares(case.values, {"rollers": True})[0]
    assert limit.value == pytest.approx(case.values["depth"] / (2.0 * share), rel=1e-9)


def test_where_the_follower_cannot_turn_round_at_the_bottom_the_supports_lock():
    run = cam_follower.problem.case("jams", offset=0.03).solve(1.0)
    assert run.outcome is Outcome.DEGENERATE
    assert run.events[-1].name == "no_valid_variant"
    assert "turns round" in run.message
