"""The vehicle on one wheel: both models against the closed form."""

import numpy as np
import pytest
from daesolve_problems.unicycle import problem

import daesolve as ds
from daesolve.multibody.drawing import Outline, evaluate, from_json
from daesolve.reporting import document, with_drawing
from tests.reference.unicycle import total_turn, unicycle_states

TIMES = (1.0, 2.0, 5.0, 10.0, 20.0)
STATES = ("x", "y", "psi", "phi", "v_tau", "omega")
FORCES = ("skate", "rolling")


@pytest.fixture(scope="module")
def truth():
    return unicycle_states(TIMES)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("model", ["wheel", "sleigh"])
@pytest.mark.parametrize("formulation", [ds.Feedback(), ds.NullSpace()], ids=lambda f: f.name)
def test_states_and_forces_are_those_of_the_closed_form(model, formulation, truth):
    run = problem.case(model=model).solve(at=TIMES, formulation=formulation)
    assert run.outcome is ds.Outcome.COMPLETED
    for name in STATES:
        size = max(1.0, np.max(np.abs(truth[name])))
        assert np.max(np.abs(run[name] - truth[name])) < 1e-12 * size, name
    for name in FORCES:
        assert np.max(np.abs(run.reactions[name] - truth[name])) < 1e-12, name
    for goal, drift in run.drift.items():
        assert drift.max_relative < 1e-12, goal


def test_what_the_blade_bears_is_not_the_force_on_the_wheel(truth):
    """It is ten times as large after a second: a judge of sliding would err by that."""
    run = problem.case(model="sleigh").solve(at=TIMES)
    apparent = run.reactions["skate_apparent"]
    assert np.max(np.abs(apparent - truth["skate_apparent"])) < 1e-12
    assert apparent[0] / truth["skate"][0] > 10.0


def test_from_the_far_past_to_the_far_future_it_turns_by_the_whole_turn():
    """It starts at t*; 100 s before and after, (4 W / k) e^(-100 k) = 1e-22 rad are left."""
    middle = {"psi": 0.0, "v_tau": -0.25 * 1.3 / 2.55, "omega": 1.0}  # u = 0
    case = problem.case(model="sleigh").starting(middle)
    past, future = (case.solve(end, at=[end])["psi"][0] for end in (-100.0, 100.0))
    assert abs(future - past - total_turn()) < 1e-11


def test_the_energy_of_both_models_is_the_same_and_driven():
    runs = [problem.case(model=model).solve(1.0, at=[1.0]) for model in ("wheel", "sleigh")]
    assert all(run.drift["energy"].driven for run in runs)
    energies = [run.outputs["energy"][0] for run in runs]
    assert abs(energies[0] - energies[1]) < 1e-15


@pytest.mark.parametrize("model", ["wheel", "sleigh"])
def test_the_drawn_wheel_moves_across_its_axle_and_its_upper_side_goes_ahead(model):
    case = problem.case(model=model)
    run = case.solve(2.0, at=np.linspace(0.0, 2.0, 201))
    stored = with_drawing(document(run, case.identity()), problem.drawing)
    drawing = from_json(stored["drawing"])
    values = {**run.states, **drawing.series}
    before, after = (evaluate(drawing, values, case.full_parameters, i) for i in (0, 1))
    wheel, *marks = [
        (a.points, b.points)
        for a, b in zip(before, after, strict=True)
        if isinstance(a.shape, Outline) and a.shown
    ]
    moved = wheel[1].mean(axis=0) - wheel[0].mean(axis=0)
    axle = wheel[0][0] - wheel[0][1]
    assert abs(moved @ axle) < 0.01 * np.linalg.norm(moved) * np.linalg.norm(axle)
    assert moved @ _across(axle) < 0.0  # v_tau < 0
    assert marks
    for a, b in marks:
        assert (b.mean(axis=0) - a.mean(axis=0) - moved) @ _across(axle) < 0.0


def _across(axle):
    return np.array([-axle[1], axle[0]])


@pytest.mark.slow_rows("wheel")
@pytest.mark.parametrize("model", ["wheel", "sleigh"])
def test_figures_show_what_the_blade_would_bear_beside_the_force_on_the_wheel(model, truth):
    case = problem.case(model=model)
    told = document(case.solve(at=TIMES), case.identity())
    figures = [draw(told) for draw in problem.figures.values()]
    (along, _) = figures[-1].axes
    shown = {line.get_label(): line.get_ydata() for line in along.lines}
    np.testing.assert_allclose(shown["on the wheel"], truth["skate"], atol=1e-12)
    np.testing.assert_allclose(shown["on a blade"], truth["skate_apparent"], atol=1e-12)
