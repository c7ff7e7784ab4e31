"""The automatic rate lands where every method works; a stiff one is told."""

from __future__ import annotations

import math

import pytest

import daesolve as ds
from daesolve.elimination.saddle import PROXIMAL_EPSILON
from daesolve.preparation.choosing import (
    FEEDBACK_PER_STEP,
    STABLE,
    automatic_rate,
    passing_rate,
    stiffness_warning,
)
from daesolve.preparation.sizes import Probe, run_probe

from ..systems import four_bar_state, four_bar_windows, pendulum, prepared_run


def probe_of(prepared) -> Probe:
    return run_probe(
        prepared.problem, prepared.values, prepared.start, prepared.start_time, prepared.until
    )


@pytest.fixture(scope="module")
def swing() -> Probe:
    return probe_of(prepared_run(pendulum(), 20.0, {"x": -1.0}))


@pytest.fixture(scope="module")
def windows() -> Probe:
    return probe_of(
        prepared_run(four_bar_windows(2), 10.0, four_bar_state(2), rank_loss="pass",
                     formulation=ds.Feedback(rate=0.0))
    )  # fmt: skip


def test_the_rate_is_that_of_a_few_steps(swing):
    rate, reason = automatic_rate(swing, passes=False)
    assert rate * swing.typical_step == pytest.approx(FEEDBACK_PER_STEP)
    # measured on this pendulum with DOP853 at 1e-12: 1 to 10 are right to 1e-10 at no more than
    # twice the price of none, 100 costs 27 times as much
    assert 1.0 <= rate <= 10.0
    assert "median step" in reason


def test_the_rate_scales_as_one_over_time():
    """The same pendulum under a hundred times the gravity moves ten times as fast."""
    light = probe_of(prepared_run(pendulum(), 20.0, {"x": -1.0}))
    heavy = probe_of(
        prepared_run(pendulum(), 2.0, {"x": -1.0}, parameters={"gravity": 981.0})
    )  # fmt: skip
    ratio = automatic_rate(heavy, passes=False)[0] / automatic_rate(light, passes=False)[0]
    # steps in the tolerance's absolute part differ a little
    assert ratio == pytest.approx(10.0, rel=0.5)


def test_it_is_positive_backwards_as_well():
    backwards = probe_of(prepared_run(pendulum(), -20.0, {"x": -1.0}))
    assert automatic_rate(backwards, passes=False)[0] > 0.0


def test_passing_needs_errors_to_die_between_passages(windows):
    """The bars lie first at 0.71 s, then every 0.4 to 1.5 s; A02 works from 25 to 1000."""
    decay = passing_rate(windows) * windows.between
    assert (1.0 + decay) * math.exp(-decay) == pytest.approx(PROXIMAL_EPSILON, rel=1e-9)
    assert 0.3 <= windows.between <= 0.72
    rate, reason = automatic_rate(windows, passes=True)
    assert rate == passing_rate(windows)
    assert 25.0 <= rate <= 1000.0
    assert "lose rank" in reason
    assert automatic_rate(windows, passes=False)[0] < rate


def test_a_system_without_weak_grip_needs_no_rate_for_passing(swing):
    assert passing_rate(swing) == 0.0


def test_few_steps_close_to_a_singular_position_do_not_make_the_typical_step(windows):
    """Most steps are microseconds; the motion's own are tens of milliseconds."""
    assert 0.02 <= windows.typical_step <= 0.2


def test_a_rate_beyond_the_stability_bound_is_told_with_the_numbers(swing):
    rate = 2.0 * STABLE["dop853"] / 0.01
    told = stiffness_warning(ds.Dop853(fixed_step=0.01), rate, swing)
    assert told is not None
    for number in (f"{rate:.4g}", "12.8", "0.01", "6.4"):
        assert number in told
    assert "unstable" in told
    assert stiffness_warning(ds.Dop853(fixed_step=0.001), rate, swing) is None


def test_the_told_bound_is_where_a_fixed_step_turns_unstable():
    """Errors grow by feedback itself beyond the bound, and die below it."""

    def drift(rate_times_step: float) -> float:
        step = 0.01
        run = ds.solve(
            pendulum(), 2.0, {"x": -1.0}, solver=ds.Dop853(fixed_step=step),
            formulation=ds.Feedback(rate=rate_times_step / step, rates={"energy": None}),
        )  # fmt: skip
        return run.drift["rod"].max_relative

    assert drift(0.85 * STABLE["dop853"]) < 1e-2
    assert not drift(1.15 * STABLE["dop853"]) < 1e2


@pytest.mark.parametrize("solver", [ds.RadauIIA(), ds.Lsoda()])
def test_implicit_methods_are_not_warned_of(solver, swing):
    assert stiffness_warning(solver, 1e9, swing) is None


def test_the_warning_is_a_note_of_the_run():
    run = ds.solve(pendulum(), 1.0, {"x": -1.0}, formulation=ds.Feedback(rate=1e4))
    assert any("stiff for taylor" in note for note in run.description["notes"])
    usual = ds.solve(pendulum(), 1.0, {"x": -1.0})
    assert not any("stiff" in note for note in usual.description["notes"])
