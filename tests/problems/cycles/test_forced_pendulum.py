"""Oscillators with a drive: orbits at which their stability changes, and Mathieu's equation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems.cycles.forced_pendulum import problem

from .floquet import monodromy

ORBITS = {
    "symmetry-breaking": (1, (0.008983291021128936, 1.0)),
    "doubling": (1, (-0.008983291021131379, -1.0)),
    "period-2": (2, (9.420955068506487e-05, 0.8565959287349196)),
    "second-doubling": (2, (-8.069951757549987e-05, -1.0)),
    "fold-upper": (1, (1.0, 0.7527227784557898)),
    "fold-lower": (1, (1.0, 0.6461422212103892)),
    "torus": (1, (0.3574285962 + 0.9339404685j, 0.3574285962 - 0.9339404685j)),
}
"""Periods of the drive, and multipliers: by shooting, which collocation confirms."""
BORDERS = (-0.455138604107, -0.110248816992, 1.859108072514, 3.917024772998, 4.371300982735)
"""Mathieu's D at e = 1 where the trace is 2 or -2."""


def names_of(case):
    """Return the names of place and rate."""
    return list(case.system.dynamics.labels.states)[:2]


def period_of(case):
    """Return the period of the drive."""
    return 2.0 * math.pi / case.full_parameters["frequency"]


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("name", ORBITS)
def test_an_orbit_returns_with_its_multipliers(name):
    periods, multipliers = ORBITS[name]
    case = problem.case(name)
    names, until = names_of(case), periods * period_of(case)
    run = case.solve(until=until)
    for state in names:
        assert run.end_state[state] == pytest.approx(case.full_start[state], abs=1e-12)
    found = list(np.linalg.eigvals(monodromy(case, names, until)))
    for value in multipliers:
        nearest = min(found, key=lambda root: abs(root - value))
        found.remove(nearest)
        # The published points are right to 2e-13, and multipliers change with them by 1e3 at most.
        assert nearest == pytest.approx(value, abs=2e-10)


@pytest.mark.parametrize("name", [name for name in ORBITS if name != "torus"])
def test_the_product_of_multipliers_is_what_damping_leaves_of_an_area(name):
    periods, _ = ORBITS[name]
    case = problem.case(name)
    until = periods * period_of(case)
    product = math.exp(-case.full_parameters["damping"] * until)
    carried = monodromy(case, names_of(case), until)
    assert np.linalg.det(carried) == pytest.approx(
        product, abs=1e-12 * np.max(np.abs(carried)) ** 2
    )


def test_the_torus_is_born_where_damping_and_driving_balance():
    case = problem.case("torus")
    until = period_of(case)
    times = np.linspace(0.0, until, 129)
    x = case.solve(until=until, at=times)["x"]
    # The trapezoidal rule of a smooth periodic function: the mean of x^2 is 1 on this orbit.
    assert np.mean(x[:-1] ** 2) == pytest.approx(1.0, abs=1e-12)
    carried = monodromy(case, ["x", "x_dot"], until)
    assert np.linalg.det(carried) == pytest.approx(1.0, abs=1e-11)


def test_symmetry_breaks_where_half_the_map_and_a_mirror_have_the_multiplier_minus_one():
    case = problem.case("symmetry-breaking")
    names, until = names_of(case), period_of(case) / 2.0
    run = case.solve(until=until)
    for state in names:
        assert -run.end_state[state] == pytest.approx(case.full_start[state], abs=1e-12)
    found = sorted(np.linalg.eigvals(-monodromy(case, names, until)).real)
    assert found == pytest.approx([-1.0, -0.0947802248421521], abs=2e-10)


def test_the_strobe_tells_the_state_once_a_period_of_the_drive():
    case = problem.case("period-2")
    events = case.solve(until=6.5 * period_of(case)).events
    assert [event.name for event in events] == ["strobe"] * 6
    for k, event in enumerate(events, start=1):
        assert event.time == pytest.approx(k * period_of(case), rel=1e-14)
    for k in (1, 3, 5):
        assert events[k].detail["theta"] == pytest.approx(case.full_start["theta"], abs=1e-11)


@pytest.mark.parametrize("stiffness", BORDERS)
def test_a_shaken_pivot_is_stable_between_the_borders_of_mathieus_equation(stiffness):
    # e = 1 is an amplitude of a half; the place hangs where D > 0, and stands where D < 0.
    frequency = 2.0 / math.sqrt(abs(stiffness))
    hanging = {"theta": 0.0 if stiffness > 0.0 else math.pi, "theta_dot": 0.0}
    case = problem.case("upright", amplitude=0.5, frequency=frequency).starting(hanging)
    trace = np.trace(monodromy(case, ["theta", "theta_dot"], period_of(case)))
    # The borders have twelve digits.
    assert abs(trace) == pytest.approx(2.0, abs=1e-10)


def test_a_pendulum_stands_upright_from_the_published_frequency_on():
    hanging = {"theta": math.pi, "theta_dot": 0.0}
    for frequency, stable in ((14.1728900207, False), (14.1728900209, True)):
        case = problem.case("upright", amplitude=0.1, frequency=frequency).starting(hanging)
        trace = np.trace(monodromy(case, ["theta", "theta_dot"], period_of(case)))
        assert (abs(trace) < 2.0) == stable
    upright = problem.case("upright").solve(until=30.0)
    assert np.max(np.abs(upright["theta"] - math.pi)) < 0.3
    falls = problem.case("upright", frequency=12.0).solve(until=30.0)
    assert np.max(np.abs(falls["theta"] - math.pi)) > 1.0


@pytest.mark.parametrize("linear", [1.0, -1.0])
def test_without_drive_and_damping_duffing_keeps_its_energy(linear):
    quiet = {"damping": 0.0, "amplitude": 0.0, "linear": linear, "cubic": 0.7}
    case = problem.case("fold-upper", **quiet).starting({"x": 1.5, "x_dot": 0.2})
    times = np.linspace(0.0, 50.0, 101)
    run = case.solve(until=50.0, at=times)
    energy = run["x_dot"] ** 2 / 2 + linear * run["x"] ** 2 / 2 + 0.7 * run["x"] ** 4 / 4
    assert np.ptp(energy) < 1e-12
