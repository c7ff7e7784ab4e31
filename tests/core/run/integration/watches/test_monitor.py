"""Monitors see every accepted step, and count it right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.watches.grip_watch import GripWatch
from daesolve.core.run.integration.watches.monitor import Monitor, NotFinite, NumberWatch
from daesolve.core.run.integration.watches.step_statistics import BINS_PER_DECADE
from tests.systems import EPSILON, pendulum, prepared_run


def free_state():
    """One state that no law binds, with the invariant x whose reference is 0."""
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": x.x * 0}, goals=[ds.Invariant("level", x.x, rate=4.0)])
    return prepared_run(system, 1.0, {"x": 0.0})


def watch(prepared, times, values, block=100, **settings):
    scales = np.full(len(prepared.problem.watched), settings.pop("scale", 1.0))
    start = settings.pop("start_time", 0.0)
    run = replace(prepared, scales=scales, start_time=start)
    monitor = Monitor(run, [NumberWatch(run.problem)])
    for first in range(0, len(times), block):
        part = slice(first, first + block)
        monitor.observe(StepBlock(times[part], np.asarray(values)[part, None]))
    return monitor


@pytest.fixture(scope="module")
def prepared():
    return free_state()


@pytest.mark.parametrize("place", [0, 41, 99, 100, 299])
def test_a_spike_of_one_step_is_seen_wherever_it_falls_in_a_block(prepared, place):
    values = np.zeros(300)
    values[place] = -3e-7
    monitor = watch(prepared, np.linspace(0.1, 30, 300), values, scale=0.5)
    drift = monitor.drift()["level"]
    assert drift.max_abs == 3e-7
    assert drift.max_relative == 6e-7
    assert drift.final_relative == (6e-7 if place == 299 else 0.0)


def test_a_value_that_is_not_a_number_ends_the_run_at_the_step_before_it(prepared):
    times, values = np.linspace(0.1, 1, 10), np.full(10, 1e-9)
    values[4], values[5:] = np.nan, 1.0
    monitor = watch(prepared, times, values)
    assert monitor.over
    assert isinstance(monitor.loss, NotFinite)
    assert monitor.loss.what == "the residual 'level'"
    assert (monitor.loss.time, monitor.loss.last_time) == (times[4], times[3])
    assert monitor.drift()["level"].max_abs == 1e-9
    assert monitor.drift()["level"].growth_exponent is None


@pytest.mark.parametrize("value", [np.inf, 1e200, -1e200, 1e308])
def test_a_huge_value_raises_nothing(prepared, value):
    """A run that fails must not fail in its report (NumPy warns of overflow)."""
    drift = watch(prepared, np.linspace(0.1, 1, 10), np.full(10, value)).drift()["level"]
    assert drift.max_abs == abs(value)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.5, 2.0])
def test_the_growth_exponent_of_a_power_of_time_is_its_power(prepared, exponent):
    """1000 steps a decade, spread alike over every bin: each bin's rms is t^k times a constant."""
    times = 10.0 ** (np.arange(-1000, 2000) / 1000 + 0.0005)
    monitor = watch(prepared, times, 1e-12 * times**exponent)
    assert monitor.drift()["level"].growth_exponent == pytest.approx(exponent, abs=1e-9)


def test_growth_is_that_of_the_last_two_decades_alone(prepared):
    times = 10.0 ** (np.arange(-2000, 2000) / 1000 + 0.0005)
    values = 1e-12 * np.where(times < 1.0, times**2, times)
    monitor = watch(prepared, times, values)
    assert monitor.drift()["level"].growth_exponent == pytest.approx(1.0, abs=0.02)


def test_a_random_walk_grows_like_the_root_of_time(prepared):
    generator = np.random.default_rng(7)
    exponents = []
    for _ in range(40):
        walk = 1e-13 * np.cumsum(generator.choice([-1.0, 1.0], 20_000))
        monitor = watch(prepared, np.arange(1.0, 20_001.0), walk, block=2500)
        exponents.append(monitor.drift()["level"].growth_exponent)
    # each walk's exponent scatters by about 0.3; the mean of 40 by 0.05
    assert np.mean(exponents) == pytest.approx(0.5, abs=0.15)


def test_rounding_has_no_growth_exponent(prepared):
    times = 10.0 ** (np.arange(0, 3000) / 1000)
    drift = watch(prepared, times, np.full(3000, 1e-16)).drift()["level"]
    assert drift.growth_exponent is None
    assert len(drift.history) == pytest.approx(3 * BINS_PER_DECADE, abs=1)


@pytest.mark.slow
def test_the_history_does_not_depend_on_how_steps_are_cut_into_blocks(prepared):
    times = np.linspace(0.01, 50.0, 1234)
    values = 1e-9 * np.sin(times)
    drifts = [watch(prepared, times, values, block=n).drift()["level"] for n in (1, 7, 5000)]
    for other in drifts[1:]:
        assert other.max_abs == drifts[0].max_abs
        assert other.correction == pytest.approx(drifts[0].correction, rel=1e-12)
        first, second = np.array(drifts[0].history), np.array(other.history)
        assert first == pytest.approx(second, rel=1e-12)


def test_backwards_is_the_same_as_forwards(prepared):
    times = 10.0 + np.linspace(0.01, 50.0, 500)
    values = 1e-9 * np.linspace(0.01, 50.0, 500)
    forwards = watch(prepared, times, values, start_time=10.0).drift()["level"]
    backwards = watch(prepared, 20.0 - times, values, start_time=10.0).drift()["level"]
    assert np.array(backwards.history) == pytest.approx(np.array(forwards.history), rel=1e-12)
    assert backwards.growth_exponent == pytest.approx(forwards.growth_exponent, rel=1e-9)


def test_the_correction_is_the_integral_of_rate_times_residual():
    """The rod of a pendulum is off by d = 1e-6 sin t for half a turn: 10 d dt gives 20e-6."""
    prepared = prepared_run(pendulum(), 1.0, {"x": -1.0})
    index = [w.name for w in prepared.problem.watched].index("rod")
    times = np.linspace(0.0, np.pi, 2001)
    off = 1e-6 * np.sin(times)
    states = np.zeros((len(times), 4))
    states[:, 1] = -np.sqrt(1 + off)
    monitor = Monitor(prepared, [GripWatch(prepared.problem)])
    monitor.observe(StepBlock(times, states))
    drift = monitor.drift()["rod"]
    assert prepared.scales[index] == drift.scale
    # the trapezoidal rule: relative error (pi / 2000)^2 / 12 = 2e-7, and rounding 1e-16 of 1e-6
    assert drift.correction * drift.scale == pytest.approx(20e-6, rel=1e-6)
    assert drift.max_abs == pytest.approx(1e-6, abs=4 * EPSILON)


def test_a_lost_grip_names_its_goals_and_the_first_time():
    prepared = prepared_run(pendulum(), 1.0, {"x": -1.0})
    monitor = Monitor(prepared, [GripWatch(prepared.problem)])
    states = np.array([[0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]])
    monitor.observe(StepBlock(np.array([0.1, 0.2, 0.3]), states))
    assert monitor.lost_grip is not None
    assert (monitor.lost_grip.time, monitor.lost_grip.goals) == (0.2, ("rod",))
    assert monitor.lost_grip.last_time == 0.1
    assert list(monitor.lost_grip.last_state) == [0.0, -1.0, 0.0, 0.0]
    assert monitor.weakest() == ("rod",)


@pytest.mark.parametrize("block", [1, 2, 3, 10])
def test_drift_and_peaks_are_those_of_the_steps_before_the_grip_was_lost(block):
    """At y = 0, with speed beyond it: that the grip is zero between steps is seen three later."""
    x = np.zeros((10, 6))
    x[:, 1] = np.linspace(-0.65, 0.25, 10)
    x[7:, 3] = 1e4
    times = np.linspace(0.1, 1.0, 10)
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=q.z,
        goals=[ds.Holonomic("level", q.z), ds.Holonomic("bowl", q.z + (q.y**2 - 1) / 2)],
        outputs={"speed": q.dot.x},
        peaks=["speed"],
    )
    prepared = prepared_run(system, 1.0, {"y": -1.0, "x_dot": 1.0})
    found = []
    for kept in (7, 10):
        monitor = Monitor(prepared, [GripWatch(prepared.problem)])
        for first in range(0, kept, block):
            part = slice(first, min(first + block, kept))
            monitor.observe(StepBlock(times[part], x[part]))
        found.append(monitor)
    kept, whole = found
    assert (kept.over, whole.over) == (False, True)
    assert whole.lost_grip.last_time == times[6]
    assert whole.peaks() == kept.peaks()
    for name, drift in whole.drift().items():
        other = kept.drift()[name]
        assert (drift.max_abs, drift.scale) == (other.max_abs, other.scale)
        assert drift.final_relative == other.final_relative
        assert drift.correction == pytest.approx(other.correction, rel=1e-12)
        assert np.array(drift.history) == pytest.approx(np.array(other.history), rel=1e-12)


def test_an_empty_block_changes_nothing(prepared):
    monitor = watch(prepared, np.array([1.0]), np.array([2.0]))
    monitor.observe(StepBlock(np.empty(0), np.empty((0, 1))))
    assert monitor.drift()["level"].max_abs == 2.0


def test_the_automatic_energy_scale_is_the_largest_kinetic_energy_met():
    run = ds.solve(pendulum(), 10.0, {"x": -1.0})
    assert run.drift["energy"].scale == pytest.approx(9.81, rel=1e-2)
    told = ds.solve(pendulum(), 10.0, {"x": -1.0}, scales={"energy": 2.0})
    assert told.drift["energy"].scale == 2.0


def test_drift_is_over_steps_and_not_over_samples():
    run = ds.solve(pendulum(), 10.0, {"x": -1.0}, at=[10.0], solver=ds.Dop853(rtol=1e-6),
                   formulation=ds.Feedback(rate=0.0))  # fmt: skip
    rod = run.drift["rod"]
    assert rod.max_abs > 0.0
    assert rod.max_abs >= abs(rod.final_relative) * rod.scale
