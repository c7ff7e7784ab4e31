"""Problems whose motions repeat start for nearby parameters as well, and are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody.drawing import evaluate, from_json
from daesolve.reporting import document, with_drawing

PROBLEMS = (
    "bouncing-ball",
    "rimless-wheel",
    "walker",
    "belt-oscillator",
    "forced-pendulum",
    "impact-oscillator",
)


def numbers(case):
    """Return the parameters of a case that are no discrete values."""
    discrete = case.system.discrete.names
    return {name: value for name, value in case.full_parameters.items() if name not in discrete}


@pytest.mark.long_beyond(2)
@pytest.mark.long_rows("impact-oscillator")
@pytest.mark.slow_rows("belt-oscillator", "bouncing-ball", "forced-pendulum")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "rimless-wheel" else name
        for name in PROBLEMS
    ],
)
def test_a_parameter_may_be_a_tenth_more_or_less(name):
    problem = ds.problem(name)
    for case in problem.cases:
        for parameter, value in numbers(problem.case(case.name)).items():
            for factor in (0.9, 1.1):
                changed = problem.case(case.name, **{parameter: factor * value})
                run = changed.solve(until=0.5)
                assert run.outcome.good, (case.name, parameter, factor, run.message)


@pytest.mark.slow
@pytest.mark.slow_rows("forced-pendulum", "impact-oscillator", "rimless-wheel", "walker")
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_case_has_its_pictures(name):
    problem = ds.problem(name)
    for case in problem.cases:
        bound = problem.case(case.name)
        until = min(case.until, 8.0)
        run = bound.solve(until=until, at=np.linspace(0.0, until, 101))
        told = document(run, bound.identity())
        stored = with_drawing(told, problem.drawing)
        assert "drawing" in stored, stored["notes"]
        drawing = from_json(stored["drawing"])
        series = {**run.states, **run.outputs, **run.reactions, **drawing.series}
        series = {key: np.array(values, dtype=float) for key, values in series.items()}
        for index in (0, len(run.times) - 1):
            for placed in evaluate(drawing, series, bound.full_parameters, index):
                assert np.all(np.isfinite(placed.points))
        for figure in problem.figures.values():
            assert figure(told).axes


@pytest.mark.parametrize("name", ["walker", "rimless-wheel"])
def test_feet_stand_still_between_strikes(name):
    bound = ds.problem(name).case()
    times = np.linspace(0.0, 9.0, 901)
    run = bound.solve(until=9.0, at=times)
    stored = with_drawing(document(run, bound.identity()), bound.problem.drawing)
    series = {key: np.array(v) for key, v in from_json(stored["drawing"]).series.items()}
    if name == "walker":
        steps = np.diff(series["foot_x"])
        stride = 2.0 * np.sin(0.20031090054424552) * np.cos(0.009)
        assert sorted(set(np.round(steps, 12))) == pytest.approx([0.0, stride], abs=1e-12)
    else:
        # The hub goes on without a jump: no faster than its spoke turns it.
        moved = np.hypot(np.diff(series["hub_x"]), np.diff(series["hub_y"]))
        assert np.max(moved) < 1.1 * 0.01 * np.max(np.abs(run["theta_dot"]))
