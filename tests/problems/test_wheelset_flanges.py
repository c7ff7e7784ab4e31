"""The wheelset that its flanges hold: Nadal's limit, and motions against equations by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

import daesolve as ds


@pytest.fixture(scope="module")
def climbing():
    return ds.problem("wheelset-flanges").case("climbing")


def nadal(p) -> float:
    """Return (tan - kappa) / (1 + kappa tan)."""
    slope = math.tan(p["flange_angle"])
    return (slope - p["friction"]) / (1 + p["friction"] * slope)


class Climbing:
    """The right wheel against its rail, by hand: it rests on its tread, or slides up its flange.

    States psi, psi', and z, z' of the lift; on the flange y = play + z / tan(angle).
    """

    def __init__(self, p) -> None:
        self.p = p
        self.slope = math.tan(p["flange_angle"])
        self.creep = p["friction"] * p["axle_load"] / (p["eps"] * p["speed"])

    def yaw(self, psi, turning, y):
        p = self.p
        rolled = p["half_track"] * turning + p["speed"] * p["conicity"] * y / p["radius"]
        moment = p["moment_mean"] - p["yaw_stiffness"] * psi
        moment -= p["half_track"] * self.creep * rolled
        return moment / (p["mass"] * (p["rho_z"] * p["half_track"]) ** 2)

    def load(self, t, psi, moving):
        """Return the load across: the applied force and creep of both wheels."""
        p = self.p
        force = p["force_mean"] + p["force_amplitude"] * p["frequency"] * t
        return force - self.creep * (moving - p["speed"] * psi)

    def resting(self, t, s):
        return [s[1], self.yaw(s[0], s[1], self.p["play"])]

    def unloaded(self, t, s):
        """Return the force of the tread, while nothing moves up."""
        p, angle = self.p, self.p["flange_angle"]
        press = self.load(t, s[0], 0.0)
        press /= math.sin(angle) - p["friction"] * math.cos(angle)
        return p["axle_load"] / 2 - press * (math.cos(angle) + p["friction"] * math.sin(angle))

    def sliding(self, t, s):
        """Return the rates on the flange: M y'' = L - F (..), m z'' = F (..) - Q/2, z' = y' tan.

        The other wheel stays on its rail: the axle rises by z/2 and rolls by z/2, which is m.
        """
        p, angle = self.p, self.p["flange_angle"]
        across = math.sin(angle) - p["friction"] * math.cos(angle)
        up = math.cos(angle) + p["friction"] * math.sin(angle)
        lifting = p["mass"] * (1 + p["rho_z"] ** 2) / 4
        y, moving = p["play"] + s[2] / self.slope, s[3] / self.slope
        load = self.load(t, s[0], moving)
        inertia, push = p["mass"] / self.slope, p["axle_load"] / 2
        press = (load / inertia + push / lifting) / (across / inertia + up / lifting)
        return [s[1], self.yaw(s[0], s[1], y), s[3], (press * up - push) / lifting]


def followed(rates, start, begin, until, event):
    event.terminal = True
    run = scipy.integrate.solve_ivp(
        rates, (begin, until), start, method="Radau", events=event, rtol=1e-12, atol=1e-14
    )
    assert run.status == 1
    return run.t_events[0][0], run.y_events[0][0]


def test_the_tread_loses_its_rail_at_nadals_limit(climbing):
    found = climbing.analyse("derailment").values
    assert found["nadal_limit"] == pytest.approx(1.4805399198543654, rel=1e-15)
    assert found["quotient_of_loads"] == pytest.approx(nadal(climbing.full_parameters), rel=1e-9)
    assert found["outcome"] == "stopped_by_event"


@pytest.mark.parametrize("changes", [{}, {"friction": 0.15, "flange_angle": 1.1}])
def test_a_flange_that_climbs_moves_as_equations_by_hand(changes):
    case = ds.problem("wheelset-flanges").case("climbing", **changes)
    hand = Climbing(case.full_parameters)
    lost, at = followed(hand.resting, [0.02, 0.0], 0.0, 4.0, lambda t, s: hand.unloaded(t, s))
    tip = case.full_parameters["flange_height"]
    over, _ = followed(hand.sliding, [*at, 0.0, 0.0], lost, 4.0, lambda t, s: s[2] - tip)
    events = {event.name: event for event in case.solve().events}
    # Radau's own errors, relative to times of a second, at its tolerance of 1e-12.
    assert events["tread_right_lost"].time == pytest.approx(lost, rel=1e-9)
    assert events["derailed"].time == pytest.approx(over, rel=1e-9)
    reached = hand.load(lost, at[0], 0.0) / (case.full_parameters["axle_load"] / 2)
    assert reached == pytest.approx(nadal(case.full_parameters), rel=1e-9)


@pytest.mark.slow
def test_a_wheelset_meets_its_flange_as_without_flanges_and_goes_back():
    """Until the first contact the motion is that of `wheelset`, which has only an event there."""
    case = ds.problem("wheelset-flanges").case("gust")
    run = case.solve()
    free = ds.problem("wheelset").case("gust", conicity=0.05).solve(3.0)
    met = [event.time for event in run.events if event.name == "flange_left_closed"]
    alone = [event.time for event in free.events if event.name == "flange"]
    assert met[0] == pytest.approx(alone[0], rel=1e-9)
    play = case.full_parameters["play"]
    left = max(event.time for event in run.events if event.name == "flange_left_lost")
    # The bounces of the flange in the corner of rail and tread last 3 ms.
    held = (run.times > met[0] + 0.01) & (run.times < left)
    assert np.sum(held) > 5
    assert run["y"][held] == pytest.approx(-play, abs=1e-12)
    assert np.max(np.abs(run["y"])) <= play * (1 + 1e-9)
    assert abs(run["y"][-1]) < 0.9 * play
    assert run.audit().holds, str(run.audit())


@pytest.mark.slow
def test_a_light_axle_climbs_and_slides_back():
    run = ds.problem("wheelset-flanges").case("light").solve(at=np.linspace(0.0, 4.0, 2001))
    lift = run["lift_left"]
    assert 4e-3 < np.max(lift) < 6e-3
    assert min(run["tread_left"][-1], run["tread_right"][-1]) > 0.0
    assert run["lift_left"][-1] == pytest.approx(0.0, abs=1e-11)
    assert run.audit().holds, str(run.audit())


@pytest.mark.slow
def test_hunting_that_grows_ends_between_the_flanges():
    case = ds.problem("wheelset-flanges").case("hunting")
    run = case.solve(at=np.linspace(0.0, 4.5, 901))
    play = case.full_parameters["play"]
    # A wheel that hops on its flange moves on by its lift over the slope.
    hops = max(run["lift_left"].max(), run["lift_right"].max()) / math.tan(1.2217304763960306)
    assert np.max(np.abs(run["y"])) <= play + hops + 1e-9
    sides = [event.name for event in run.events if event.name.startswith("flange") and event.impact]
    turns = [a for a, b in zip(sides, [*sides[1:], ""], strict=True) if a != b]
    assert turns == ["flange_left_closed", "flange_right_closed"] * 2 + ["flange_left_closed"]
    assert run.audit().holds, str(run.audit())
