"""Clutches that slip and stick, against motions that are put together by hand."""

from __future__ import annotations

import numpy as np
import pytest
from daesolve_problems.mechanisms.clutches import problem

import daesolve as ds
from daesolve.multibody.drawing import evaluate, from_json
from daesolve.reporting import document, with_drawing

FREE = {"drag": 0.0}
APART = {"engine_dot": 50.0, "gearbox_dot": 0.0, "load_dot": 0.0}


def times_of(run, name):
    """Return when an event happened."""
    return [event.time for event in run.events if event.name == name]


@pytest.mark.slow
def test_two_clutches_pressed_at_once_stick_one_after_the_other():
    inputs = {"torque": 10.0, "pressure_1": 1.0}
    run = problem.case("engage", **FREE).solve(0.5, APART, inputs=inputs)
    # Both slip: 0.2 w1' = 10 - 150, 0.05 w2' = 150 - 120, 1.5 w3' = 120.
    first = 50.0 / (700.0 + 600.0)
    both, load = 50.0 - 700.0 * first, 80.0 * first
    # Engine and gearbox as one: 0.25 w' = 10 - 120.
    second = first + (both - load) / (440.0 + 80.0)
    end = 80.0 * second + 10.0 / 1.75 * (0.5 - second)
    assert times_of(run, "clutch_1_sticks") == pytest.approx([first], abs=1e-13)
    assert times_of(run, "clutch_2_sticks") == pytest.approx([second], abs=1e-13)
    for shaft in ("engine", "gearbox", "load"):
        assert run.end_state[f"{shaft}_dot"] == pytest.approx(end, rel=1e-13)
    # Half of the torque times the slip at its begin, and so on: slips fall along straight lines.
    assert run["heat_1"][-1] == pytest.approx(150.0 * 50.0 * first / 2, rel=1e-13)
    between = (600.0 - 80.0) * first
    heat = 120.0 * between * first / 2 + 120.0 * between * (second - first) / 2
    assert run["heat_2"][-1] == pytest.approx(heat, rel=1e-12)
    assert run["clutch_1_torque"][-1] == pytest.approx(10.0 - 0.2 * 10.0 / 1.75, rel=1e-12)


@pytest.mark.parametrize("share", [1.0, 1.3])
def test_a_clutch_slips_where_the_torque_comes_to_its_static_limit(share):
    together = dict.fromkeys(APART, 100.0)
    case = problem.case("engage", **FREE, static_share=share)
    run = case.solve(3.0, together, inputs={"torque": "100 * t", "pressure_1": 1.0})
    # What sticks carries the share of the inertia behind it; the second has less to carry.
    limits = {"clutch_1": 150.0 / (1.55 / 1.75), "clutch_2": 120.0 / (1.5 / 1.75)}
    first = min(limits, key=lambda name: limits[name])
    assert run.events[0].name == f"{first}_slips"
    # What sticks may exceed its limit by 1e-12 of it.
    assert run.events[0].time == pytest.approx(share * limits[first] / 100.0, rel=1e-11)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("name", ["engage", "overload", "shift"])
def test_work_of_the_engine_goes_into_energy_heat_and_the_load(name):
    run = problem.case(name).solve()
    assert run.outcome.name == "COMPLETED"
    taken = run["heat_1"] + run["heat_2"] + run["load_work"] + run["energy"]
    assert np.ptp(taken - run["engine_work"]) <= 1e-13 * np.max(taken)
    assert np.all(np.diff(run["heat_1"]) >= -1e-9)
    assert any(event.name.endswith("sticks") for event in run.events)


def test_a_pressure_below_zero_ends_the_run():
    case = problem.case("engage")
    run = case.solve(inputs={"torque": 3.0, "pressure_1": "1 - t"})
    assert run.outcome.name == "DEGENERATE"
    assert "clutches only push together" in run.message
    assert run.end_time == pytest.approx(1.0, abs=1e-8)


@pytest.mark.slow
def test_pressures_from_a_table_are_those_of_an_expression():
    case = problem.case("engage")
    ramp = ds.table("ramp", [0.0, 0.5, 1.0], [0.0, 0.0, 1.0])
    words = case.solve(2.0, inputs={"torque": 40.0, "pressure_1": "min(max(2 * t - 1, 0), 1)"})
    table = case.solve(2.0, inputs={"torque": 40.0, "pressure_1": ramp})
    assert table.end_state == pytest.approx(words.end_state, rel=1e-12)


def test_what_is_drawn_has_its_place():
    case = problem.case("engage")
    run = case.solve(0.5, at=np.array([0.0, 0.5]))
    stored = with_drawing(document(run, case.identity()), problem.drawing)
    series = {**run.states, **run.outputs}
    shapes = evaluate(from_json(stored["drawing"]), series, case.full_parameters, 1)
    assert all(np.all(np.isfinite(shape.points)) for shape in shapes)
    for rule in problem.figures.values():
        assert rule(stored).axes
