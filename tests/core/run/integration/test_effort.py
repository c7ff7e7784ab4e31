"""What ends a run that gets nowhere: interruptions for nothing, and a pace without prospect."""

import numpy as np

from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.effort import (
    FAR,
    IDLE,
    LONG,
    Effort,
)


def steps(begin, length, count=2000):
    times = begin + length * np.arange(1, count + 1)
    return StepBlock(times, np.zeros((count, 1)), count)


def test_interruptions_at_one_time_from_which_nothing_follows_end_a_run():
    effort = Effort(None, mean_step=0.1)
    assert not any(effort.interrupted(1.0, "gap", idle=True) for _ in range(IDLE))
    assert effort.interrupted(1.0, "gap", idle=True)
    assert "the guard of the event 'gap' stays at zero" in effort.reason


def test_an_instant_at_which_something_happens_counts_anew():
    effort = Effort(None, mean_step=0.1)
    for number in range(5 * IDLE):
        assert not effort.interrupted(1.0, "gap", idle=number % IDLE > 0)


def test_interruptions_that_lie_apart_are_no_reason():
    effort = Effort(None, mean_step=0.1)
    assert not any(effort.interrupted(0.01 * k, "gap", idle=True) for k in range(5 * IDLE))


def paced(most, until):
    """How many steps of 1e-6 s pass, after usual ones of 0.1 s."""
    effort = Effort(most, mean_step=0.1, until=until)
    effort.begin(0.0)
    for number in range(2 * LONG // 2000):
        if effort.take(steps(2e-3 * number, 1e-6), 0, weak=False):
            return 2000 * (number + 1), effort.reason
    return None


def test_a_pace_at_which_a_run_would_not_return_ends_it():
    count, reason = paced(None, until=5.0)
    assert count == LONG
    assert "less than a thousandth" in reason


def test_a_pace_is_kept_where_the_end_is_near_or_a_bound_is_given():
    assert paced(None, until=0.9e-6 * FAR) is None
    assert paced(10**9, until=5.0) is None
