import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError
from tests.reference.four_bar import four_bar_states

PROBLEM = ds.problem("four-bar")


@pytest.mark.parametrize("windows", [1, 2, 3])
def test_the_bars_stay_parallel_through_every_loss_of_rank(windows):
    times = np.array([1.0, 4.0, 10.0])
    run = PROBLEM.case("swing", windows=windows).solve(at=times)
    assert run.outcome is ds.Outcome.COMPLETED
    # What is within 1e-9 of lost rank is regularised; leaving to another branch would show in whole
    # lengths.
    for name, column in four_bar_states(windows, times).items():
        assert np.max(np.abs(run[name] - column)) < 1e-9, name


def test_the_case_asks_for_passing_what_a_run_may_refuse():
    assert PROBLEM.case("swing").case.rank_loss == "pass"
    run = PROBLEM.case("swing").solve(at=[1.0], rank_loss="stop")
    assert run.outcome is ds.Outcome.DEGENERATE
    # In the closed form the bars lie down for the first time at 0.7143555 s.
    assert abs(run.end_time - 0.7143555) < 1e-4


def test_states_are_numbered_from_one():
    states = PROBLEM.case("swing", windows=1).system.dynamics.labels.states
    assert states == ("x_1", "y_1", "x_2", "y_2", "x_dot_1", "y_dot_1", "x_dot_2", "y_dot_2")


def test_a_linkage_without_windows_is_refused():
    with pytest.raises(OutOfRangeError, match="windows is 0, but must be at least 1"):
        PROBLEM.case("swing", windows=0)
