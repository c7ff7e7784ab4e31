"""The wheel on a curve, its contact with friction: it rolls, slips, flies, lands and rolls on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from daesolve_problems.curves import explicit, implicit
from scipy.optimize import brentq, minimize_scalar

import daesolve as ds
from daesolve.errors import PosingError
from daesolve.plugins.bound_case import BoundCase

GRAVITY = 9.81
HILL = implicit(lambda x, z, p: 1.0 - x**2 - z**2, label="hill")
"""A circle of 1 m, the wheel outside."""
BUMP = explicit(lambda x, p: 0.4 * math.e ** (-0.5 * (x / 0.2) ** 2), label="bump")


def wheel(name: str, changes: dict[str, Any] | None = None, **start: float) -> BoundCase:
    case = ds.problem("rolling-wheel").case(name, model="friction")
    return case.changed(changes or {}).starting(start)


def energy_taken(run: ds.Trajectory) -> float:
    """Return what friction and impacts have taken by the end, J."""
    struck = sum(e.impact.kinetic_before - e.impact.kinetic_after for e in run.events if e.impact)
    return struck - run["contact_friction_work"][-1]


def test_a_wheel_that_friction_holds_rolls_as_the_model_without_slip_does():
    changes = {"friction": 50.0}
    held = wheel("pendulum", changes).solve(5.0, at=[1.0, 5.0])
    assert all(np.array(held["contact_state"]) == 2.0)
    known = ds.problem("rolling-wheel").case("pendulum", model="physical").solve(5.0, at=[1.0, 5.0])
    for name in ("x", "z", "phi"):
        # Rounding of 5 s at 1.5 m/s, grown by the swing of the pendulum.
        assert np.max(np.abs(held[name] - known[name])) < 1e-11


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
