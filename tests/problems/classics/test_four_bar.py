import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError
from tests.reference.four_bar import four_bar_states

PROBLEM = ds.problem("four-bar")


@pytest.mark.slow
@pytest.mark.slow_rows("1", "3")
@pytest.mark.parametrize("windows", [1, 2, 3])
def test_the_bars_stay_parallel_through_every_loss_of_rank(windows):
    times = np.array([1.0, 4.0, 10.0])
    run = PROBLEM.case("swing", windows=windows).solve(at=times)
    assert run.outcome is ds.Outcome.COMPLETED
    # Ten passages, each with some ten roundings of velocities of 10 m/s.
    for name, column in four_bar_states(windows, times).items():
        assert np.max(np.abs(run[name] - column)) < 1e-12, name
    assert run.drift["energy"].max_relative < 1e-14


@pytest.mark.slow
def test_feedback_alone_comes_near():
    """What is within the root of the shift, 3e-10, of lost rank is let go by the constraints."""
    run = PROBLEM.case("swing").solve(at=[10.0], formulation=ds.Feedback())
    for name, column in four_bar_states(2, [10.0]).items():
        assert abs(run[name][0] - column[0]) < 1e-10, name


@pytest.mark.slow
def test_a_rate_that_is_too_low_loses_the_branch_and_says_so():
    run = PROBLEM.case("swing").solve(formulation=ds.Feedback(rate=10.0))
    assert run.outcome is ds.Outcome.DEGENERATE
    assert [event.name for event in run.events] == ["branch_lost"]
    assert "raise the rate" in run.message
    for name, column in four_bar_states(2, run.times).items():
        assert np.max(np.abs(run[name] - column)) < 1e-3, name


@pytest.mark.slow
def test_projected_no_rate_loses_the_branch():
    for rate in (0.0, 10.0, 200.0):
        formulation = ds.Projected(ds.Feedback(rate=rate))
        run = PROBLEM.case("swing").solve(at=[10.0], formulation=formulation)
        for name, column in four_bar_states(2, [10.0]).items():
            assert abs(run[name][0] - column[0]) < 1e-12, name


def test_the_case_asks_for_passing_what_a_run_may_refuse():
    assert PROBLEM.case("swing").case.rank_loss == "pass"
    run = PROBLEM.case("swing").solve(at=[1.0], rank_loss="stop")
    assert run.outcome is ds.Outcome.DEGENERATE
    # In the closed form the bars lie down for the first time at 0.7143555 s, and turn by some
    # 3 rad/s there: within 3.5e-4 rad the constraints count as dependent.
    assert abs(run.end_time - 0.7143555) < 1e-3
    assert run.degeneracy is not None
    assert run.degeneracy.singular_value < run.degeneracy.threshold


def test_states_are_numbered_from_one():
    states = PROBLEM.case("swing", windows=1).system.dynamics.labels.states
    assert states == ("x_1", "y_1", "x_2", "y_2", "x_dot_1", "y_dot_1", "x_dot_2", "y_dot_2")


def test_a_linkage_without_windows_is_refused():
    with pytest.raises(OutOfRangeError, match="windows is 0, but must be at least 1"):
        PROBLEM.case("swing", windows=0)
