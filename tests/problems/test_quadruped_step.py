"""A quadruped that lifts a foot on a slope under a sampled law: gaps, loads and the auditor."""

import numpy as np
import pytest
from daesolve_problems.robots.quadruped import FEET, STEP, problem


@pytest.mark.long
def test_a_foot_that_the_law_lifts_leaves_the_slope_and_comes_down_again():
    run = problem.case("steps").solve()
    assert run.outcome.value == "completed"
    assert run.audit().holds
    gaps = {foot: np.array(run[f"{foot}_gap"]) for foot in FEET}
    (lost, *_) = [event.time for event in run.events if event.name == "fl_foot_floor_lost"]
    closed = [event.time for event in run.events if event.name == "fl_foot_floor_closed"]
    # The law is sampled every 20 ms, and its first sample in the step lets go.
    assert lost == pytest.approx(STEP[0], abs=1e-9)
    assert min(time for time in closed if time > lost) > STEP[1]
    aloft = (run.times > lost + 1e-6) & (run.times < STEP[1])
    assert np.max(gaps["fl_foot_floor"][aloft]) > 0.01
    assert np.all(run["fl_foot_floor"][aloft] == 0.0)
    for foot in FEET:
        assert np.min(gaps[foot]) > -1e-12
