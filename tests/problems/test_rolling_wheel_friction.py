"""The wheel on a curve, its contact with friction: it rolls, slips, flies, lands and rolls on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from daesolve_problems.curves import explicit, implicit
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, minimize_scalar

import daesolve as ds
from daesolve.errors import PosingError
from daesolve.plugins.bound_case import BoundCase

GRAVITY = 9.81
HILL = implicit(lambda x, z, p: 1.0 - x**2 - z**2, label="hill")
"""A circle of 1 m, the wheel outside."""
BUMP = explicit(lambda x, p: 0.4 * math.e ** (-0.5 * (x / 0.2) ** 2), label="bump")

PIT = explicit(lambda x, p: 3.0 * (1.0 - math.e ** (-(x**2) / 0.5)), label="pit")


def wheel(name: str, changes: dict[str, Any] | None = None, **start: float) -> BoundCase:
    case = ds.problem("rolling-wheel").case(name, model="friction")
    return case.changed(changes or {}).starting(start)


def energy_taken(run: ds.Trajectory) -> float:
    """Return what friction and impacts have taken by the end, J."""
    struck = sum(e.impact.kinetic_before - e.impact.kinetic_after for e in run.events if e.impact)
    return struck - run["contact_friction_work"][-1]


@pytest.mark.slow
def test_a_wheel_that_friction_holds_rolls_as_the_model_without_slip_does():
    changes = {"friction": 50.0}
    held = wheel("pendulum", changes).solve(5.0, at=[1.0, 5.0])
    assert all(np.array(held["contact_state"]) == 2.0)
    known = ds.problem("rolling-wheel").case("pendulum", model="physical").solve(5.0, at=[1.0, 5.0])
    for name in ("x", "z", "phi"):
        # Rounding of 5 s at 1.5 m/s, grown by the swing of the pendulum.
        assert np.max(np.abs(held[name] - known[name])) < 1e-11


@pytest.mark.slow
def test_where_the_wheel_that_is_held_ends_the_one_with_friction_flies_and_lands():
    case = ds.problem("rolling-wheel").case("pendulum-flies")
    run = case.solve()
    assert run.outcome is ds.Outcome.COMPLETED
    names = [event.name for event in run.events]
    assert names.count("contact_lost") == names.count("contact_closed") == 3
    held = ds.problem("rolling-wheel").case("pendulum-lost").solve()
    assert held.events[-1].name == "contact_lost"
    # It slips a little before it is lifted, as friction is large and not infinite.
    first = next(event for event in run.events if event.name == "contact_lost")
    assert 0.0 <= first.time - held.end_time <= 5e-3


@pytest.mark.slow
def test_a_hoop_on_a_circular_hill_slips_and_leaves_it_at_known_times():
    changes = {"curve": HILL, "pendulum": False, "radius": 0.1, "friction": 0.5}
    case = wheel("hoop", changes, contact_x=math.sin(0.3), speed=0.0)
    run = case.solve(1.0)
    times = {event.name: event.time for event in run.events}
    # Two programs agree on these digits.
    assert times["contact_slips"] == pytest.approx(0.68741096880623, abs=1e-12)
    assert times["contact_lost"] == pytest.approx(0.8902792304655, abs=1e-12)
    left = run.at(times["contact_lost"])
    assert math.hypot(left["x_dot"], left["z_dot"]) == pytest.approx(2.4196239826222, abs=1e-11)
    assert -left["theta_dot"] * 0.1 == pytest.approx(1.7222314250632, abs=1e-11)


@pytest.mark.slow
def test_a_wheel_that_flies_off_a_bump_lands_where_its_parabola_meets_the_curve():
    changes = {"curve": BUMP, "pendulum": False, "radius": 0.05, "friction": 0.3}
    case = wheel("hoop", changes, contact_x=-1.5, speed=3.2)
    run = case.solve(1.5, at=ds.every(0.001))
    lost = next(e for e in run.events if e.name == "contact_lost")
    landed = next(e for e in run.events if e.name == "contact_closed" and e.time > lost.time)
    left = run.at(lost.time)

    def height(time: float) -> float:
        """The distance of the rim from the curve, found by itself."""
        x = left["x"] + left["x_dot"] * time
        z = left["z"] + left["z_dot"] * time - GRAVITY * time**2 / 2

        def away(u: float) -> float:
            return math.hypot(x - u, z - 0.4 * math.exp(-0.5 * (u / 0.2) ** 2))

        near = minimize_scalar(
            away, bounds=(x - 0.3, x + 0.3), method="bounded", options={"xatol": 1e-12}
        )
        return float(near.fun) - 0.05

    flight = brentq(height, 0.05, 0.53, xtol=1e-13)
    assert landed.time - lost.time == pytest.approx(flight, abs=1e-8)
    assert np.min(run["gap"]) > -1e-11
    impact = landed.impact
    assert impact is not None
    # On ground that is level but for 0.016 the hoop loses m v_n^2 / 2, and of its slip s what
    # mu v_n takes, or m s^2 / 4 where that is all of it.
    fall = left["z_dot"] - GRAVITY * flight
    slip = left["x_dot"] + 0.05 * left["theta_dot"]
    pushed = min(0.3 * abs(fall), abs(slip) / 2)
    taken = fall**2 / 2 + pushed * (abs(slip) - pushed)
    lost = impact.kinetic_before - impact.kinetic_after
    assert lost == pytest.approx(taken, rel=5e-2)


@pytest.mark.slow
def test_a_pendulum_and_its_wheel_fly_and_land_as_their_own_equations_say():
    case = wheel("pendulum-lost", {"friction": 50.0})
    run = case.solve(8.0)
    p = case.values
    mass, bob, length = p["wheel_mass"], p["bob_mass"], p["pendulum_length"]

    def rates(_: float, y: np.ndarray) -> list[float]:
        """Fly free: the balances of momentum, and of moments about the axle."""
        along, across = bob * length * math.cos(y[2]), bob * length * math.sin(y[2])
        matrix = [
            [mass + bob, 0.0, along],
            [0.0, mass + bob, across],
            [along, across, bob * length**2],
        ]
        load = [across * y[5] ** 2, -(mass + bob) * GRAVITY - along * y[5] ** 2, -across * GRAVITY]
        return [*y[3:], *np.linalg.solve(matrix, load)]

    def height(x: float) -> float:
        """The paper's curve, as its docstring prints it."""
        a, b = p["curve_a"], p["curve_b"]
        return x**4 + a * x**3 - b * x**2 - a * x - (1.0 - b)

    flights = 0
    for lost in (event for event in run.events if event.name == "contact_lost"):
        landed = next(e for e in run.events if e.name == "contact_closed" and e.time > lost.time)
        left = run.at(lost.time)
        names = ("x", "z", "phi", "x_dot", "z_dot", "phi_dot")
        flown = solve_ivp(
            rates, (0.0, 0.1), [left[name] for name in names], "DOP853", rtol=3e-14, atol=1e-16,
            dense_output=True,
        ).sol  # fmt: skip

        def away(time: float, flown: Any = flown) -> float:
            x, z = flown(time)[:2]
            near = minimize_scalar(
                lambda u: math.hypot(x - u, z - height(u)),
                bounds=(x - 0.03, x + 0.03), method="bounded", options={"xatol": 1e-12},
            )  # fmt: skip
            return float(near.fun) - p["radius"]

        flight = landed.time - lost.time
        # Both are right to rounding: 1e-16 of what is some 1 m over a speed of 0.4 m/s, and more.
        assert brentq(away, flight / 2, 0.1, xtol=1e-15) == pytest.approx(flight, abs=1e-12)
        for name, value in zip(names, flown(flight), strict=True):
            assert landed.detail[name] == pytest.approx(value, abs=1e-11)
        flights += 1
    assert flights == 3


@pytest.mark.slow
@pytest.mark.parametrize(("place", "speed"), [(-2.5, 4.0), (-2.5, 3.0), (-2.0, 6.0)])
def test_a_wheel_that_strikes_another_piece_of_its_curve_ends_the_run(place: float, speed: float):
    changes = {"curve": PIT, "pendulum": False, "radius": 0.1}
    run = wheel("hoop", changes, contact_x=place, speed=speed).solve(3.0)
    assert run.events[-1].name == "not_admissible"
    x, z = run.end_state["x"], run.end_state["z"]
    # Of the far wall, all of which is right of the middle.
    u = np.linspace(0.0, 2.0, 200001)
    away = np.min(np.hypot(x - u, z - 3.0 * (1.0 - np.exp(-(u**2) / 0.5))))
    # Points of the rim stand 22.5 degrees apart. The wall bends by less than 2 / m, so that between
    # two of them it reaches (0.1 m sin(pi / 16))^2 < 4e-4 m farther in than a flat one would.
    assert 0.1 * math.cos(math.pi / 16) - 4e-4 < away < 0.1 + 1e-9


@pytest.mark.slow
def test_a_wheel_that_just_fits_its_curve_is_not_taken_for_one_that_strikes_it():
    # The largest that touches the quartic in one point alone has 0.2912 m.
    changes = {"pendulum": False, "radius": 0.29, "friction": 50.0}
    run = wheel("hoop", changes, contact_x=-0.9, speed=0.0).solve(5.0)
    assert run.outcome is ds.Outcome.COMPLETED
    assert not any(event.name == "not_admissible" for event in run.events)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["pendulum-lost", "pendulum-chaotic"])
def test_energy_goes_where_friction_and_impacts_take_it(case: str):
    run = wheel(case, {"friction": 0.3}).solve(20.0)
    assert run.outcome.value == "completed"
    names = {event.name for event in run.events}
    assert {"contact_slips", "contact_sticks"} <= names
    assert ("contact_closed" in names) == (case == "pendulum-lost")
    lost = run["energy"][0] - run["energy"][-1]
    assert lost == pytest.approx(energy_taken(run), abs=1e-12)
    assert energy_taken(run) > 0.0


def test_a_contact_that_opens_does_not_hold_both_ways():
    with pytest.raises(PosingError, match="one_sided"):
        wheel("bowl").system  # noqa: B018
