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


# -- a follower that leaves its cam ----------------------------------------------------------------


class OwnFlight:
    """The follower on a cam of constant rate and in flight, by closed forms and their roots."""

    def __init__(self, p):
        self.p = p
        self.reach = p["cam_radius"] + p["roller_radius"]
        self.weight = p["mass"] * p["gravity"] + p["preload"]

    def lift(self, t):
        """Height, speed and acceleration of the follower on the cam, and alpha."""
        rate = self.p["rate"]
        height, slope, second, alpha = lifted(self.p, self.p["theta"] + rate * t)
        return height, slope * rate, second * rate**2, alpha

    def grip(self, t, sense):
        """What a unit force of the cam is worth along the stem that slides: less its friction."""
        p, (height, _, _, alpha) = self.p, self.lift(t)
        arms = 2.0 * (p["bushing_from"] - height) + p["bushing_length"]
        rubs = p["friction"] * abs(math.sin(alpha)) * arms / p["bushing_length"]
        return math.cos(alpha) - math.copysign(rubs, sense)

    def push(self, t):
        """The force of the cam."""
        p, (height, speed, acceleration, _) = self.p, self.lift(t)
        load = p["mass"] * acceleration + self.weight
        load += p["stiffness"] * (height - self.reach + p["eccentricity"])
        return load / self.grip(t, speed)

    def flight(self, t, y, v):
        """Return the motion in flight after an instant: time -> y, y'."""
        p, w = self.p, math.sqrt(self.p["stiffness"] / self.p["mass"])
        middle = self.reach - p["eccentricity"] - self.weight / p["stiffness"]

        def at(moment):
            c, s = math.cos(w * (moment - t)), math.sin(w * (moment - t))
            return middle + (y - middle) * c + v / w * s, -(y - middle) * w * s + v * c

        return at

    def lost(self, t):
        """The next instant at which the cam no longer pushes."""
        while self.push(t + 1e-4) > 0.0:
            t += 1e-4
        return brentq(self.push, t, t + 1e-4, xtol=1e-16)

    def landed(self, t, v):
        """When a follower that leaves the cam at some speed meets it again, and its speed then."""
        at = self.flight(t, self.lift(t)[0], v)

        def gap(moment):
            return at(moment)[0] - self.lift(moment)[0]

        step = 1e-6
        begin = t + step
        while gap(begin + step) > 0.0:
            begin += step
            step = min(1e-4, step * 1.5)
        moment = brentq(gap, begin, begin + step, xtol=1e-16)
        return moment, at(moment)[1]


def test_a_follower_that_is_thrown_off_flies_lands_and_bounces_as_closed_forms_say():
    case = ds.problem("cam-follower").case("flies")
    run = case.solve(until=0.3)
    own = OwnFlight(case.full_parameters)
    lost = own.lost(0.0)
    told, time, speed = [("cam_lost", lost, 0.0)], lost, own.lift(lost)[1]
    for _ in range(5):
        time, before = own.landed(time, speed)
        cam = own.lift(time)[1]
        speed = cam - case.full_parameters["restitution"] * (before - cam)
        impulse = case.full_parameters["mass"] * (speed - before) / own.grip(time, speed)
        told.append(("cam_closed", time, impulse))
    again = own.lost(time + 0.01)
    told.append(("cam_lost", again, 0.0))
    told.append(("cam_closed", own.landed(again, own.lift(again)[1])[0], 0.0))
    events = [e for e in run.events if e.name in ("cam_lost", "cam_closed")]
    bounces = [e for e in events if e.time < again - 1e-3]
    found = [*bounces[:6], *[e for e in events if e.time > again - 1e-3][:2]]
    assert [event.name for event in found] == [name for name, *_ in told]
    assert [event.time for event in found] == pytest.approx([t for _, t, _ in told], abs=1e-11)
    impulses = [e.impact.impulses["cam"] for e in found[1:6]]
    assert impulses == pytest.approx([P for *_, P in told[1:6]], rel=1e-9)
    assert run.outcome is ds.Outcome.COMPLETED


def test_on_its_cam_a_thin_stem_rubs_as_two_pairs_of_supports_do():
    flying, guided = (
        ds.problem("cam-follower").case(name, **more).solve(until=0.034, at=[0.01, 0.02, 0.03])
        for name, more in (("flies", {}), ("thrown-off", {"stem": 0.0}))
    )
    for name in ("y", "cam_force", "lower", "upper"):
        assert flying[name] == pytest.approx(guided[name], rel=1e-10)
