"""Poincaré sections: located to rounding, on the curves and at the times that are known."""

from __future__ import annotations

import math
from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.special import ellipk

import daesolve as ds
from daesolve.analysis.sections import many_sections, portrait, section_of, sections
from daesolve.errors import OutOfRangeError, PosingError, UnknownNameError
from tests.systems import oscillator, pendulum

CALM = 1.0 / 12.0
"""An energy of Hénon and Heiles at which nearly all motion is regular."""


@cache
def henon_heiles():
    """M. Hénon and C. Heiles, Astron. J. 69 (1964) 73."""
    q = ds.coordinates(x="m", y="m")
    potential = (q.x**2 + q.y**2) / 2 + q.x**2 * q.y - q.y**3 / 3
    return ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=potential)


def on_section(energy, y, y_dot):
    """The start on x = 0 with this energy, to the right."""
    x_dot = math.sqrt(2.0 * energy - y_dot**2 - y**2 + 2.0 * y**3 / 3.0)
    return {"x": 0.0, "y": y, "x_dot": x_dot, "y_dot": y_dot}


def section_at(energy, y, until, **options):
    system = henon_heiles()
    start = on_section(energy, y, 0.0)
    return sections(
        system, system.coordinates.x, until, start, direction=ds.RISING, **options
    )  # fmt: skip


def roughness(found):
    """How far points that are neighbours by angle lie apart in radius, over the mean radius."""
    y, y_dot = found["y"] - np.mean(found["y"]), found["y_dot"]
    order = np.argsort(np.arctan2(y_dot / np.ptp(y_dot), y / np.ptp(y)))
    radius = np.hypot(y_dot / np.ptp(y_dot), y / np.ptp(y))[order]
    return np.mean(np.abs(np.diff(radius))) / np.mean(radius)


def test_regular_motion_lies_on_a_closed_curve_and_chaos_fills_an_area():
    regular, chaotic = section_at(CALM, 0.2, 600.0), section_at(0.16, 0.05, 600.0)
    assert min(len(regular), len(chaotic)) > 80
    assert roughness(regular) < 0.02
    assert roughness(chaotic) > 10.0 * roughness(regular)


def test_points_lie_on_the_section_and_on_the_energy_to_rounding():
    found = section_at(CALM, 0.2, 600.0)
    ulp = np.spacing(found.times)
    assert np.all(np.abs(found["x"]) <= 4.0 * ulp * found["x_dot"])
    assert np.all(found["x_dot"] > 0.0)
    energy = (found["x_dot"] ** 2 + found["y_dot"] ** 2 + found["x"] ** 2 + found["y"] ** 2) / 2
    energy += found["x"] ** 2 * found["y"] - found["y"] ** 3 / 3
    assert np.max(np.abs(energy / CALM - 1.0)) < 1e-13
    assert np.max(np.abs(found.outputs["energy"] / CALM - 1.0)) < 1e-13
    assert found.units["energy"] == "J"


@pytest.mark.slow_rows("null-space")
@pytest.mark.parametrize("formulation", [ds.Feedback(), ds.NullSpace()], ids=lambda f: f.name)
def test_a_pendulum_passes_one_point_at_the_period_of_the_elliptic_integral(formulation):
    """From x = -0.6, y = -0.8: k^2 = sin^2(angle / 2) = (1 - 0.8) / 2."""
    system = pendulum()
    start = {"x": -0.6, "y": -0.8, "x_dot": 0.0, "y_dot": 0.0}
    found = sections(
        system,
        system.coordinates.x,
        100.0,
        start,
        direction=ds.RISING,
        formulation=formulation,
    )
    period = 4.0 * ellipk(0.1) / math.sqrt(9.81)
    expected = period * (0.25 + np.arange(len(found)))
    assert len(found) == math.ceil(100.0 / period - 0.25)
    assert np.max(np.abs(found.times - expected)) < 1e-13 * 100.0
    speed = math.sqrt(2 * 9.81 * 0.2)
    assert np.max(np.abs(found["x_dot"] / speed - 1.0)) < 1e-13
    assert np.max(np.abs(found["y"] + 1.0)) < 1e-13
    # m g + m v^2 / l, twice l to the multiplier
    assert np.max(np.abs(found["rod"] / (-(9.81 + speed**2) / 2.0) - 1.0)) < 1e-12


def test_both_directions_together_are_rising_and_falling():
    system = oscillator()
    both, rising, falling = (
        sections(system, system.coordinates.x, 20.0, {"x": 1.0, "x_dot": 0.0}, direction=direction)
        for direction in (ds.EITHER, ds.RISING, ds.FALLING)
    )
    assert np.array_equal(both.times, np.sort(np.concatenate([rising.times, falling.times])))
    assert both.times == pytest.approx(math.pi * (0.5 + np.arange(6)), abs=1e-14 * 20.0)


def test_a_guard_may_contain_time_and_parameters():
    """A stroboscope: the phase of a drive."""
    q = ds.coordinates(x="m")
    p = ds.parameters(rate=2.0)
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    found = sections(
        system, ca.sin(p.rate * ds.time), 10.0, {"x": 1.0, "x_dot": 0.0}, direction=ds.RISING,
        parameters={"rate": 4.0},
    )  # fmt: skip
    assert found.times == pytest.approx(np.pi / 2 * np.arange(1, 7), abs=1e-14)
    assert found["x"] == pytest.approx(np.cos(found.times), abs=1e-13)


def test_backwards_the_same_points_are_passed():
    system = oscillator()
    found = sections(system, system.coordinates.x, -10.0, {"x": 1.0, "x_dot": 0.0})
    assert found.times == pytest.approx(-math.pi * (0.5 + np.arange(3)), abs=1e-14)


def test_an_event_of_the_system_is_a_section_and_so_is_that_of_a_finished_run():
    """A ball on the ground: the states are those before it is thrown back."""
    q = ds.coordinates(y="m")
    back = ds.Reset({"y_dot": -0.9 * q.dot.y})
    ground = ds.Event("ground", q.y, ds.FALLING, back)
    ball = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=10.0 * q.y, events=[ground])
    start = {"y": 5.0, "y_dot": 0.0}
    found = sections(ball, "ground", 3.0, start)
    assert found["y_dot"] == pytest.approx([-10.0, -9.0], rel=1e-14)
    assert found["energy"] == pytest.approx([50.0, 40.5], rel=1e-14)
    later = section_of(ds.solve(ball, 3.0, start), "ground")
    assert np.array_equal(later["y_dot"], found["y_dot"])
    assert np.array_equal(later.times, found.times)


@pytest.mark.slow
def test_a_case_keeps_its_own_horizon_and_start_names():
    case = ds.problem("rolling-wheel").case("hoop")
    found = sections(case, case.system.coordinates.dot.x, 20.0, {"speed": 1.4})
    assert found.run.outcome is ds.Outcome.COMPLETED
    # it turns at two places alone
    assert np.unique(found["contact_x"].round(12)).size == 2
    assert len(found) == 12


def test_the_same_guard_is_posed_once():
    """So that a family of starts is compiled once."""
    system = oscillator()
    guard = system.coordinates.x
    runs = [sections(system, guard, 5.0, {"x": x, "x_dot": 0.0}).run for x in (1.0, 2.0)]
    assert runs[1].statistics.compile_seconds == 0.0


@pytest.mark.parametrize(
    ("guard", "kind", "words"),
    [
        ("none", UnknownNameError, "unknown event 'none'"),
        (1.0, PosingError, "is the constant 1"),
        (ds.coordinates(w="m").w, PosingError, "contains the symbol 'w'"),
        (len, PosingError, "must be a CasADi SX expression"),
    ],
)
def test_what_is_no_guard_is_refused(guard, kind, words):
    with pytest.raises(kind, match=words):
        sections(oscillator(), guard, 1.0, {"x": 1.0})


def test_what_cannot_be_run_is_refused():
    system = oscillator()
    guard = system.coordinates.x
    with pytest.raises(OutOfRangeError, match="until is missing"):
        sections(system, guard)
    with pytest.raises(UnknownNameError, match="unknown option of sections 'verify'"):
        sections(system, guard, 1.0, verify=True)
    with pytest.raises(PosingError, match="must be a MechanicalSystem or a ControlSystem"):
        sections(3.0, guard, 1.0)
    with pytest.raises(UnknownNameError, match="unknown event of this run 'none'"):
        section_of(ds.solve(system, 1.0, {"x": 1.0}), "none")


def test_an_event_has_its_own_direction():
    system = oscillator(events=lambda q: [ds.Event("middle", q.x)])
    with pytest.raises(PosingError, match="already has a direction"):
        sections(system, "middle", 1.0, {"x": 1.0}, direction=ds.RISING)
    named = oscillator(events=lambda q: [ds.Event("section", q.x)])
    with pytest.raises(PosingError, match="give its name instead of a guard"):
        sections(named, named.coordinates.x, 1.0, {"x": 1.0})


def test_a_portrait_shows_every_point():
    figure = portrait(np.arange(3.0), np.ones(3), "y (m)", "y' (m/s)")
    (axes,) = figure.axes
    assert np.array_equal(axes.lines[0].get_xydata(), [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    assert axes.get_xlabel() == "y (m)"
    with pytest.raises(OutOfRangeError, match="give the same number"):
        portrait(np.arange(3.0), np.ones(2))


# -- of many motions ---------------------------------------------------------------------------


@pytest.mark.slow
def test_sections_of_many_starts_are_those_of_each_start_alone():
    """Small oscillations of Hénon and Heiles, with 18 starts, so that two wait for a lane."""
    system = henon_heiles()
    starts = [on_section(CALM, 0.02 * k, 0.0) for k in range(18)]
    x = system.coordinates.x
    together = many_sections(system, x, starts, 100.0, direction=ds.RISING)
    for start, found in zip(starts, together, strict=True):
        alone = sections(system, x, 100.0, start, direction=ds.RISING)
        assert len(found) == len(alone) > 10
        # A time is located to rounding; regular motion moves it by a few roundings of the time.
        np.testing.assert_allclose(found.times, alone.times, rtol=0.0, atol=1e-12)
        for name, values in alone.states.items():
            np.testing.assert_allclose(found[name], values, rtol=0.0, atol=1e-12)
        assert any("together with other runs" in note for note in found.run.description["notes"])


def test_the_members_beside_one_change_no_bit_of_its_section():
    system = henon_heiles()
    starts = [on_section(CALM, 0.05 * k, 0.0) for k in range(4)]
    first, *_ = many_sections(system, system.coordinates.x, starts, 40.0)
    again, _ = many_sections(system, system.coordinates.x, [starts[0], starts[2]], 40.0)
    assert np.array_equal(first.times, again.times)
    assert np.array_equal(first["y_dot"], again["y_dot"])


@pytest.mark.slow
def test_members_may_differ_in_parameters_and_an_error_takes_the_place_of_its_member():
    system, above = pendulum(), ds.problem("pendulum").case()
    members = [{"x": 0.1, "length": 1.0}, {"x": 0.1, "length": -1.0}, {"x": 0.1, "length": 4.0}]
    short, refused, long = many_sections(system, system.coordinates.x, members, 20.0)
    assert isinstance(refused, OutOfRangeError)
    ratio = np.mean(np.diff(long.times)) / np.mean(np.diff(short.times))
    # T goes with the root of the length, and by x^2 / (16 l^2) of itself with the amplitude.
    assert ratio == pytest.approx(2.0, rel=1e-3)
    one, two = many_sections(above, above.system.coordinates.x, [{}, {"gravity": 1.6}], 10.0)
    assert len(one) > len(two)


@pytest.mark.parametrize("members", [[], {"x": 1.0}, "x", [1.0], None])
def test_what_are_no_members_is_refused(members):
    with pytest.raises(OutOfRangeError, match="list of at least one mapping"):
        many_sections(oscillator(), oscillator().coordinates.x, members, 1.0)
