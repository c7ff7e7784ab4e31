"""The ball and the tripod in space: numbers of two programs, closed forms, pictures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems.contacts import bouncing_ball, free_body, tripod

from daesolve.multibody.drawing import Circle, evaluate, from_json
from daesolve.reporting import document, with_drawing
from tests.contact.decisions.cases import agrees, case, cases

BALL, TRIPOD = bouncing_ball.problem, tripod.problem


def test_the_tennis_ball_is_that_of_the_reference():
    known = cases("ball_with_spin_three_bounces")[0]["values"]
    run = BALL.case("tennis").solve()
    impacts = [event for event in run.events if event.impact is not None]
    assert len(impacts) == 4
    for number, event in enumerate(impacts[:3], start=1):
        impulses = event.impact.impulses
        assert agrees(impulses["floor"], known[f"b{number}_Ln"], 12)
        for name, axis in (("floor_stuck_1", "Lx"), ("floor_stuck_2", "Ly")):
            # Impulses of 1e-17 N s are none beside the normal one.
            assert abs(impulses[name] - known[f"b{number}_{axis}"]["value"]) <= 1e-13
    last = impacts[3].detail
    assert agrees(last["x"], known["x_before_4th"], 12)
    assert agrees(last["y"], known["y_before_4th"], 12)
    spin = free_body.spin_of(last)
    assert agrees(spin[0], known["wx"], 12)
    assert agrees(spin[1], known["wy"], 12)


@pytest.mark.slow_rows("comes-to-rest")
@pytest.mark.parametrize("name", ["tennis", "superball", "comes-to-rest"])
def test_impulses_are_those_of_the_closed_form(name):
    found = BALL.analyses["bouncing"](BALL.case(name))
    assert found.values["impacts"] >= 4
    assert found.values["off_closed_form"] <= 1e-12


def test_the_superball_goes_forward_with_and_without_spin():
    run = BALL.case("superball").solve()
    impacts = [event for event in run.events if event.impact is not None]
    for before, after in zip(impacts, impacts[2:], strict=False):
        np.testing.assert_allclose(
            [after.detail[n] for n in ("x_dot", "z_dot")],
            [before.detail[n] for n in ("x_dot", "z_dot")],
            rtol=1e-12,
        )
    lost = [event.impact.kinetic_before - event.impact.kinetic_after for event in impacts]
    assert np.max(np.abs(lost)) <= 1e-14


@pytest.mark.slow
def test_a_ball_whose_bounces_end_rolls_on():
    """Its speed is that after the first impact at which it grips: 1 / (1 + k) of a ball's."""
    run = BALL.case("comes-to-rest").solve()
    p = BALL.case("comes-to-rest").full_parameters
    rest = next(event for event in run.events if event.name == "accumulated")
    e, height = p["restitution"], 0.5 - p["radius"]
    limit = math.sqrt(2.0 * height / p["gravity"]) * (1.0 + e) / (1.0 - e)
    assert rest.time == pytest.approx(limit, rel=1e-9)
    left = 1.0 / (1.0 + p["inertia_ratio"])
    assert run["x_dot"][-1] == pytest.approx(1.0 * left, rel=1e-12)
    assert run["y_dot"][-1] == pytest.approx(0.5 * left, rel=1e-12)
    assert run["floor"][-1] == pytest.approx(p["mass"] * p["gravity"], rel=1e-12)


@pytest.mark.long
def test_the_tripod_is_that_of_the_reference():
    known = case("tripod_slides_and_spins_to_rest")["values"]
    found = TRIPOD.analyses["stopping"](TRIPOD.case("spins")).values
    # The reference stopped a foot where it still moved; without that it has these numbers.
    assert found["first_foot"] == "foot_1"
    assert found["first_stop"] == pytest.approx(0.2628506662753, abs=1e-12)
    assert found["rest"] == pytest.approx(0.2645709666587, abs=1e-12)
    assert agrees(found["x"], known["x"])
    assert agrees(found["y"], known["y"])
    assert agrees(found["turned"], known["angle"])


@pytest.mark.long
def test_a_spin_lets_the_tripod_slide_down_until_it_stops():
    """It rests on a slope that holds it: the normal loads are those of a body at rest there."""
    bound = TRIPOD.case("slides-down")
    run, p = bound.solve(), bound.full_parameters
    loads = sum(run[name][-1] for name in tripod.FEET)
    assert loads == pytest.approx(p["mass"] * p["gravity"] * math.cos(p["incline"]), rel=1e-12)
    held = sum(run[f"{name}_friction_1"][-1] for name in tripod.FEET)
    assert held == pytest.approx(-p["mass"] * p["gravity"] * math.sin(p["incline"]), rel=1e-10)


@pytest.mark.slow
@pytest.mark.slow_rows("problem1")
@pytest.mark.parametrize("problem", [BALL, TRIPOD])
def test_every_case_has_its_pictures(problem):
    for own in problem.cases:
        bound = problem.case(own.name)
        run = bound.solve(until=0.04, at=np.linspace(0.0, 0.04, 5))
        told = document(run, bound.identity())
        stored = with_drawing(told, problem.drawing)
        assert "drawing" in stored, stored["notes"]
        for figure in problem.figures.values():
            assert figure(told).axes


def test_a_mark_stays_on_the_ball():
    bound = BALL.case("tennis")
    run = bound.solve(until=0.2, at=np.linspace(0.0, 0.2, 9))
    drawing = from_json(with_drawing(document(run, bound.identity()), BALL.drawing)["drawing"])
    series = {**run.states, **run.outputs, **run.reactions, **drawing.series}
    series = {name: np.array(values, dtype=float) for name, values in series.items()}
    for index in range(len(run.times)):
        placed = evaluate(drawing, series, bound.full_parameters, index)
        ball = next(entry for entry in placed if isinstance(entry.shape, Circle))
        mark = placed[-1].points[1]
        # Seen along a direction it is not farther from the centre than it is.
        assert np.linalg.norm(mark - ball.points[0]) <= ball.radius * (1.0 + 1e-12)
