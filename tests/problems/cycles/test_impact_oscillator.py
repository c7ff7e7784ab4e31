"""A driven oscillator that strikes a wall, against orbits in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems.cycles.impact_oscillator import one_impact, problem, trace

from daesolve.errors import OutOfRangeError

from .floquet import at, monodromy

STATES = ("x", "x_dot")
GRAZING = 6.84572859526288845
ORBITS = {
    7.0: (1.10647552254253622, -0.0415498361207488, -193.3889082508649),
    7.5: (1.10378459522598165, -0.176137843388832872, -47.78896911065397),
    8.5: (1.09935706245647814, -0.445031186243928989, -20.62997067449127),
}
"""By the force: time and speed after the impact, and the sum of the multipliers (40 digits)."""
OTHERS = {
    "stable": ("struck", {}, 1),
    "in two periods": ("every-other", {}, 2),
    "a heavy one": (
        "struck",
        {
            "mass": 3.0,
            "stiffness": 50.0,
            "damping": 4.0,
            "force": 40.0,
            "frequency": 5.0,
            "clearance": 0.2,
            "restitution": 0.6,
        },
        1,
    ),
    "before the wall at rest": ("struck", {"clearance": 0.0, "force": 1.0, "frequency": 1.7}, 1),
}


def over_periods(case, periods):
    """Return by how much the state misses itself after some periods, and the monodromy."""
    until = periods * 2.0 * math.pi / case.full_parameters["frequency"]
    run = case.solve(until=until)
    start = {name: float(run.states[name][0]) for name in STATES}
    missed = max(abs(run.end_state[name] - start[name]) for name in STATES)
    return missed, monodromy(case.starting(start), STATES, until), run


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("8.5")
@pytest.mark.parametrize("force", ORBITS)
def test_weak_impacts_return_with_multipliers_that_grow_as_they_weaken(force):
    case = problem.case("near-grazing", force=force)
    time, speed, total = ORBITS[force]
    missed, carried, run = over_periods(case, 1)
    # A start that is off by rounding is so by the sum of multipliers as much after a period.
    rounding = 1e-14 * abs(total)
    assert missed < rounding
    (event,) = run.events
    assert event.time == pytest.approx(time, abs=rounding)
    assert event.after["x_dot"] == pytest.approx(speed, abs=rounding)
    # The sum is nearly inverse to the speed, which is off as much.
    assert np.trace(carried) == pytest.approx(total, rel=10.0 * rounding / abs(speed))
    product = 0.64 * math.exp(-0.1 * 2.0 * math.pi / 2.8)
    assert np.linalg.det(carried) == pytest.approx(product, rel=1e-9)


@pytest.mark.slow_rows("in two periods", "stable", "a heavy one")
@pytest.mark.parametrize("name", OTHERS)
def test_an_orbit_of_one_impact_returns_with_its_multipliers(name):
    label, values, periods = OTHERS[name]
    case = problem.case(label, **values)
    p = case.full_parameters
    missed, carried, run = over_periods(case, periods)
    assert missed < 1e-12
    assert len(run.events) == 1
    struck, speed = one_impact(p, periods)
    between = periods * 2.0 * math.pi / p["frequency"]
    product = p["restitution"] ** 2 * math.exp(-p["damping"] * between / p["mass"])
    assert np.linalg.det(carried) == pytest.approx(product, abs=1e-11)
    assert np.trace(carried) == pytest.approx(trace(p, struck, speed, periods), abs=1e-10)


def test_the_sine_strikes_the_wall_from_the_grazing_force_on():
    case = problem.case("below-grazing")
    found = case.analyse("closed-form").values["grazing force"]
    assert found == pytest.approx(GRAZING, rel=1e-15)
    below = case.changed({"force": GRAZING * (1.0 - 1e-9)}).solve(until=100.0)
    assert not below.events
    reached = np.max(
        case.changed({"force": GRAZING}).solve(until=3.0, at=np.linspace(0, 3, 99))["x"]
    )
    assert reached == pytest.approx(1.0, abs=1e-3)
    # Beyond, the sine itself begins inside the wall's reach, and strikes within a period.
    sine = at(case.changed({"force": GRAZING * (1.0 - 1e-9)}), STATES, 2.0 * math.pi / 2.8)
    above = case.changed({"force": GRAZING * (1.0 + 1e-6)}).starting(sine).solve(until=2.3)
    assert above.events[0].name == "wall_closed"
    assert abs(above.events[0].after["x_dot"]) < 1e-2


def test_what_comes_near_a_stable_orbit_is_drawn_to_it():
    case = problem.case("struck")
    orbit = at(case, STATES, 2.0 * math.pi / 2.4)
    run = case.starting({name: value + 0.01 for name, value in orbit.items()}).solve(until=150.0)
    # Each period leaves 0.70 of what is off: 57 of them 2e-9 of it.
    assert run.events[-1].after["x_dot"] == pytest.approx(-2.213867869638074, abs=1e-9)


@pytest.mark.parametrize("given", [{"x": 0.3}, {"periods": 0.5}])
def test_a_start_that_makes_no_sense_is_refused(given):
    with pytest.raises(OutOfRangeError):
        problem.case("struck").starting(given).solve(until=1.0)


def test_an_orbit_that_would_pass_the_wall_in_between_is_refused():
    values = {**problem.case().full_parameters, "frequency": 0.4, "force": 3.0}
    with pytest.raises(OutOfRangeError, match="once in 3 periods"):
        one_impact(values, 3)


@pytest.mark.parametrize("frequency", [2.0, 4.0])
def test_without_a_damper_a_drive_in_resonance_is_refused(frequency):
    free = {"damping": 0.0, "stiffness": 4.0, "frequency": frequency, "force": 20.0}
    with pytest.raises(OutOfRangeError, match=r"undamped mass|without a damper"):
        problem.case("struck", **free).starting({"periods": 2}).solve(until=1.0)
    given = problem.case("struck", **free).starting({"x": 0.0, "x_dot": 0.0})
    assert given.solve(until=2.0).outcome.good
