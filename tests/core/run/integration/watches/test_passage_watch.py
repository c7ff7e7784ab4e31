"""A run that passes positions of lower rank stays on its branch, or says where it left it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.preparation.probing import WEAK
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.watches.grip_watch import GripWatch
from daesolve.core.run.integration.watches.monitor import Monitor
from daesolve.core.run.integration.watches.passage_watch import (
    BRANCH_LOST,
    REACH,
    UNBOUNDED,
    Breach,
    PassageWatch,
)
from tests.systems import four_bar_state, four_bar_windows, prepared_run

SPEED = 6.0
"""rad/s, of the bars where they lie."""


def passing(windows, until=10.0, **feedback):
    return ds.solve(
        four_bar_windows(windows),
        until=until,
        initial=four_bar_state(windows),
        formulation=ds.Feedback(**feedback),
        rank_loss="pass",
        at=[until],
    )


# -- judged by made-up steps ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def prepared():
    return prepared_run(four_bar_windows(1), 1.0, four_bar_state(1), rank_loss="pass")


def parallel_bars(angles):
    """States of one window whose bars turn as one, at a speed that keeps the energy.

    T = (2/3 + 1) w^2 / 2 and V = 2 g sin(angle).
    """
    x, y = np.cos(angles), np.sin(angles)
    turn = -np.sqrt(SPEED**2 - 4.0 * 9.81 * y / (5.0 / 3.0))
    u, v = -y * turn, x * turn
    return np.column_stack([x, y, 1 + x, y, u, v, u, v])


def watched(prepared, states, blocks=1):
    names = list(prepared.problem.values)
    values = prepared.values.copy()
    values[names.index("reference_energy")] = 5.0 / 6.0 * SPEED**2
    run = replace(prepared, values=values)
    monitor = Monitor(run, [PassageWatch.of(run), GripWatch.of(run)])
    times = np.linspace(0.0, 0.2, len(states))
    for part in np.array_split(np.arange(len(states)), blocks):
        monitor.observe(StepBlock(times[part], states[part]))
    return monitor


ANGLES = np.linspace(0.6, -0.6, 241)


@pytest.mark.parametrize("blocks", [1, 7, 241])
def test_the_exact_motion_through_a_position_of_lower_rank_is_not_accused(prepared, blocks):
    monitor = watched(prepared, parallel_bars(ANGLES), blocks)
    assert monitor.loss is None
    assert monitor.watch(PassageWatch).count == 1


@pytest.mark.parametrize("blocks", [1, 7, 241])
def test_a_jump_of_the_energy_in_a_passage_is_a_lost_branch(prepared, blocks):
    states = parallel_bars(ANGLES)
    states[120:, 4:] *= 1.0 + REACH  # twice that of the kinetic energy, which is the scale
    monitor = watched(prepared, states, blocks)
    assert isinstance(monitor.loss, Breach)
    assert monitor.loss.event == BRANCH_LOST
    assert "invariant jumped" in monitor.loss.reason
    assert monitor.loss.goals
    # what is to be trusted ends before the passage, where the grip (sin^2) was good
    assert abs(math.sin(0.6 - 1.2 * monitor.loss.last_time / 0.2)) >= 0.5 * math.sqrt(WEAK)
    assert monitor.drift()["energy"].max_relative < 1e-14


def test_a_jump_that_the_shift_explains_is_none(prepared):
    states = parallel_bars(ANGLES)
    states[120:, 4:] *= 1.0 + 0.2 * REACH
    assert watched(prepared, states).loss is None


def test_a_jump_far_from_positions_of_lower_rank_is_none(prepared):
    """There it is drift, and shown as such."""
    states = parallel_bars(ANGLES)
    states[10:, 4:] *= 1.0 + 1e-3
    assert watched(prepared, states).loss is None


def test_a_residual_as_large_as_what_separates_the_branches_is_a_lost_branch(prepared):
    states = parallel_bars(ANGLES)
    lying = np.abs(ANGLES) < 0.03
    states[lying, :4:2] *= 1.0 + 1e-3  # the grip is at most 0.03^2 there
    monitor = watched(prepared, states)
    assert isinstance(monitor.loss, Breach)
    assert monitor.loss.event == BRANCH_LOST
    assert "the distance between the branches" in monitor.loss.reason


# -- runs ----------------------------------------------------------------------------------------


@pytest.mark.slow_rows("2-10.0", "2-5.0")
@pytest.mark.parametrize(("windows", "rate"), [(1, 5.0), (2, 5.0), (2, 10.0)])
def test_too_low_a_rate_loses_the_branch_and_says_so(windows, rate):
    run = passing(windows, rate=rate)
    assert run.outcome is ds.Outcome.DEGENERATE
    (event,) = run.events
    assert event.name == BRANCH_LOST
    assert run.end_time < event.time < 10.0
    assert "raise the rate" in run.message
    # up to there the bars are parallel, as far as the shift can tell
    tops = [run.end_state[f"x_{k}"] - k for k in range(windows + 1)]
    assert np.ptp(tops) <= REACH
    assert run.drift["energy"].max_relative <= REACH


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("1000.0")
@pytest.mark.parametrize("rate", [None, "auto", 25.0, 1000.0])
def test_a_rate_that_is_high_enough_passes_without_a_false_alarm(rate):
    run = passing(1, rate=rate)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.events == ()
    assert any("lose rank 10 times" in note for note in run.description["notes"])


@pytest.mark.slow_rows("solver1")
@pytest.mark.parametrize("solver", [None, ds.Dop853(rtol=1e-9, atol=1e-9)])
def test_a_toggle_position_reached_with_speed_is_an_unbounded_reaction(solver):
    """A driver draws the end of a rod away, until the rod is straight, at 1.25 s."""
    q = ds.coordinates(x="m", y="m", a="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.a**2) / 2,
        potential=15.0 * q.a**2,
        goals=[
            ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0),
            ds.Holonomic("driver", q.x - 0.5 - 0.4 * ds.time),
        ],
    )
    run = ds.solve(
        system, 1.4, {"x": 0.5, "y": -math.sqrt(0.75), "a": 1.0}, rank_loss="pass", solver=solver
    )
    assert run.outcome is ds.Outcome.DEGENERATE
    (event,) = run.events
    assert event.name == UNBOUNDED
    # y = sqrt(1 - x^2) = sqrt(0.8 (1.25 - t)) to leading order, and the grip is y^2: with
    # accelerations of 0.8^(1/2) / 4 (1.25 - t)^(-3/2) grip * acceleration is usual at some 1e-5 s
    assert event.time == pytest.approx(1.25, abs=1e-4)
    assert "without bound" in run.message
    assert np.all(np.isfinite(run.reactions["driver"]))
