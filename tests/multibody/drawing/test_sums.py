"""What events add up to before each sample, for drawings."""

from __future__ import annotations

import numpy as np
import pytest

from daesolve.multibody.drawing import sum_over_events

EVENTS = [
    {"name": "step", "time": 1.0, "after": {"x": 0.5}},
    {"name": "other", "time": 1.5, "after": {"x": 9.0}},
    {"name": "step", "time": 2.0, "after": {"x": 0.25}},
]


def amount(event):
    return 2.0 * event["after"]["x"]


def test_a_sum_counts_the_events_of_its_name_before_each_sample():
    run = {"times": [0.0, 1.0, 1.1, 2.0, 3.0], "events": EVENTS}
    assert sum_over_events(run, "step", amount).tolist() == [0.0, 0.0, 1.0, 1.0, 1.5]
    assert sum_over_events(run, "nothing", amount).tolist() == [0.0] * 5


def test_a_run_that_goes_back_meets_its_events_in_its_own_order():
    run = {"times": [3.0, 2.0, 1.5, 0.0], "events": EVENTS[::-1]}
    assert sum_over_events(run, "step", amount).tolist() == [0.0, 0.0, 0.5, 1.5]


@pytest.mark.parametrize("times", [[], [0.0]])
def test_short_runs_have_sums(times):
    found = sum_over_events({"times": times, "events": []}, "step", amount)
    assert np.array_equal(found, np.zeros(len(times)))
