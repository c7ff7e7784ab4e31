"""The settings that IDA gets for an equation of a given index."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers import State
from daesolve.core.solvers.error_control import (
    SMALLEST,
    consistent_start,
    control,
    velocity_warning,
)
from tests.systems import pendulum, prepared_run, sleigh

SOLVER = {"solver": ds.solvers.SundaeIda()}


def problem_of(formulation, system=None):
    start = {"x": -1.0} if system is None else {"x_dot": 1.0, "phi_dot": 1.0}
    return prepared_run(system or pendulum(), 1.0, start, formulation=formulation, **SOLVER)


@pytest.mark.parametrize(
    ("formulation", "tested"),
    [
        (ds.Index1(), 4),  # positions and velocities, not the multiplier
        (ds.Index2(), 4),
        (ds.GGL(), 4),
        (ds.Index3(), 2),  # positions alone
    ],
)
def test_what_grows_as_the_step_shrinks_is_not_tested(formulation, tested):
    prepared = problem_of(formulation)
    judged = control(prepared.problem, 1e-8, 1e-10, prepared.initial)
    assert np.sum(np.isfinite(judged.atol)) == tested
    assert np.all(np.isfinite(judged.atol[:tested]))


def test_indices_decide_and_not_the_name_of_the_form():
    """Non-holonomic constraints have index 2 as they are posed: velocities are tested."""
    prepared = problem_of(ds.Index3(), sleigh())
    judged = control(prepared.problem, 1e-8, 1e-10, prepared.initial)
    assert np.sum(np.isfinite(judged.atol)) == 6
    assert judged.highest_order == 5


def test_the_test_is_stricter_than_the_tolerance_down_to_rounding():
    prepared = problem_of(ds.Index3())
    problem, x = prepared.problem, prepared.initial
    for rtol in (1e-6, 1e-9, SMALLEST):
        judged = control(problem, rtol, rtol / 100, x)
        assert SMALLEST <= judged.rtol <= rtol
    assert control(problem, 1e-6, 1e-8, x).rtol < 1e-8


def test_in_index_three_a_position_near_zero_is_judged_by_the_largest():
    prepared = problem_of(ds.Index3())
    judged = control(prepared.problem, 1e-8, 1e-12, prepared.initial)  # x = -1, y = 0
    assert judged.atol[1] == pytest.approx(judged.rtol)


@pytest.mark.parametrize("formulation", [ds.Index1(), ds.Index2(), ds.GGL(), ds.Index3()])
def test_the_start_fulfils_the_equations(formulation):
    prepared = problem_of(formulation)
    problem, p = prepared.problem, prepared.values
    judged = control(problem, 1e-8, 1e-10, prepared.initial)
    state = State(0.0, prepared.initial, p)
    start = consistent_start(problem, state, -2.0, judged)
    rate = np.asarray(problem.differential(0.0, state.x, start.unknowns, p)).ravel()
    assert start.rate == pytest.approx(rate, abs=1e-13)
    assert np.asarray(problem.algebraic(0.0, state.x, start.unknowns, p)) == pytest.approx(0.0)
    assert start.finite
    # at rest positions move by h^2 y'' / 2 alone, and a step is a thousandth of the run at most
    assert 0.0 < start.first_step <= 2e-3


def test_rounding_limits_the_tolerance():
    with pytest.raises(ds.DaesolveError, match="idas: rtol is 1e-14, but must be at least 1e-13"):
        ds.Idas(rtol=1e-14, atol=1e-14)


def test_small_velocities_of_fast_oscillations_are_reported_in_index_3_alone():
    """Positions of 1 m are known to 1e-8 m, so that velocities are to 1e-4 m/s at 1e4 1/s."""
    sizes, solver = np.array([1.0, 1.0, 1e-3, 50.0]), ds.solvers.SundaeIda(rtol=1e-8, atol=1e-10)
    problem = problem_of(ds.Index3()).problem
    told = velocity_warning(solver, problem, 1e4, sizes)
    assert told is not None
    assert "about 0.0001, and x_dot is no larger than 0.001;" in told
    assert velocity_warning(solver, problem, 1e2, sizes) is None
    assert velocity_warning(solver, problem, 1e4, np.array([1.0, 1.0, 1.0, 50.0])) is None
    assert velocity_warning(solver, problem_of(ds.Index2()).problem, 1e4, sizes) is None
    # What is below the absolute tolerance is not to be known.
    assert velocity_warning(solver, problem, 1e4, np.array([1.0, 1.0, 1e-11, 50.0])) is None


@pytest.mark.slow_rows(
    "slider-crank-flexible-0.002-formulation0-True",
    "slider-crank-flexible-0.002-formulation1-False",
)
@pytest.mark.parametrize(
    ("problem", "until", "formulation", "told"),
    [
        ("slider-crank-flexible", 0.002, ds.Index3(), True),
        ("slider-crank-flexible", 0.002, ds.Index2(), False),
        ("slider-crank", 0.1, ds.Index3(), False),
    ],
)
def test_a_run_in_index_3_tells_of_velocities_that_it_does_not_know(
    problem, until, formulation, told
):
    run = ds.problem(problem).case().solve(until, formulation=formulation, solver="sundae-ida")
    assert any("only the error of positions" in note for note in run.description["notes"]) is told
