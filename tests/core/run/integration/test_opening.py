"""The beginning of a run, sampled within its accepted steps."""

from __future__ import annotations

import pickle

import numpy as np

import daesolve as ds
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.replay import BETWEEN, MOST_SAMPLES, close_times
from daesolve.core.run.integration.watches.first_steps import FIRST_STEPS, FirstSteps


def oscillator(frequency=1.0):
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q,
        ds.parameters(mass=(1.0, "kg")),
        kinetic=q.dot.x**2 / 2,
        potential=frequency**2 * q.x**2 / 2,
    )


def steps_of(times, states):
    found = FirstSteps()
    found.take(StepBlock(np.asarray(times), np.asarray(states)), np.empty(0))
    return found


def test_samples_are_the_motion_itself_at_least_24_a_half_turn():
    run = ds.solve(oscillator(), until=1000.0, initial={"x": 1.0})
    begun = run.opening()
    assert np.diff(begun.times).max() < np.pi / BETWEEN * 1.05
    np.testing.assert_allclose(begun.states["x"], np.cos(begun.times), atol=1e-12)


def test_the_beginning_of_a_run_backwards_goes_backwards():
    run = ds.solve(oscillator(), until=-300.0, initial={"x": 1.0})
    begun = run.opening()
    assert np.all(np.diff(begun.times) < 0.0)
    np.testing.assert_allclose(begun.states["x"], np.cos(begun.times), atol=1e-12)


def test_the_ends_of_the_steps_are_among_the_times_and_repeated_ones_are_not():
    ends = np.array([0.0, 0.1, 0.1, 0.3, 0.6])
    found = close_times(steps_of(ends, np.sin(ends)[:, None]), 2)
    assert set(ends) <= set(found)
    assert np.all(np.diff(found) > 0.0)


def test_so_many_samples_and_steps_are_kept_at_most():
    ends = np.linspace(0.0, 1.0, 5 * FIRST_STEPS)
    found = steps_of(ends, np.sin(7e3 * ends)[:, None])
    assert found.count == len(found.times) == FIRST_STEPS
    assert len(close_times(found, 2)) <= MOST_SAMPLES + 1
    assert len(close_times(found, 10_000)) <= 41


def test_what_was_pickled_or_resumed_has_no_beginning_to_integrate(tmp_path):
    run = ds.solve(oscillator(), until=10.0, initial={"x": 1.0}, store=tmp_path / "run")
    assert run.opening() is not None
    assert pickle.loads(pickle.dumps(run)).opening() is None
    assert ds.Trajectory.from_run(tmp_path / "run").opening() is None


def test_a_run_that_takes_no_step_has_none():
    assert close_times(FirstSteps(), 3).size == 0
