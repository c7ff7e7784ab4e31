"""The run: segments, wrapped angles, samples, events, interruption, points in between."""

from __future__ import annotations

import signal
import threading
from _thread import interrupt_main

import casadi as ca
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.run.integration.sampling import sample_times
from daesolve.core.run.integration.simulation import simulate
from daesolve.errors import OutOfRangeError, UnknownNameError
from tests.systems import EPSILON, oscillator, pendulum, prepared_run, sleigh, wheel, wheel_state


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(1e-2, 1e3), st.integers(1, 300), st.booleans())
def test_samples_at_an_interval_include_both_ends_once_and_stay_inside(start, length, count, back):
    until = start - length if back else start + length
    times = sample_times(ds.every(length / count), start, until)
    assert times[0] == start
    assert times[-1] == until
    assert np.all(times >= min(start, until))
    assert np.all(times <= max(start, until))
    assert len(times) == count + 1
    steps = np.abs(np.diff(times))
    assert np.all(np.abs(steps - length / count) <= 1e-9 * length)


@pytest.mark.parametrize("times", [[-0.1], [1.1], [np.nan], [0.5, np.inf]])
def test_a_sample_time_outside_of_the_run_is_refused(times):
    with pytest.raises(OutOfRangeError, match="sample time"):
        ds.solve(oscillator(), 1.0, {"x": 1.0}, at=times)


@pytest.mark.parametrize("interval", [0.0, -1.0, np.nan, np.inf])
def test_a_sample_interval_that_is_no_positive_number_is_refused(interval):
    with pytest.raises(OutOfRangeError, match="interval"):
        ds.every(interval)


def test_no_samples_at_all_is_a_run_as_well():
    run = ds.solve(oscillator(), 1.0, {"x": 1.0}, at=[])
    assert len(run.times) == 0
    assert run.end_state["x"] == pytest.approx(np.cos(1.0), rel=1e-14)


# -- angles --------------------------------------------------------------------------------------


def rotor():
    q = ds.coordinates(theta=ds.ANGLE)
    return ds.MechanicalSystem(
        q, kinetic=q.dot.theta**2 / 2, outputs={"cosine": ca.cos(q.theta), "sine": ca.sin(q.theta)}
    )


ROTOR = rotor()


@settings(max_examples=50, deadline=None)
@given(st.floats(-1e6, 1e6))
@pytest.mark.slow
def test_whole_turns_are_taken_out_exactly(theta):
    """The cosine of what is left equals that of the whole angle, as mpmath knows it."""
    run = ds.solve(ROTOR, 1.0, {"theta": theta, "theta_dot": 0.0}, at=[0.0])
    with mpmath.workdps(40):
        cosine, sine = float(mpmath.cos(mpmath.mpf(theta))), float(mpmath.sin(mpmath.mpf(theta)))
    # the rest is at most pi, rounded once or twice
    assert run.outputs["cosine"][0] == pytest.approx(cosine, abs=4 * EPSILON)
    assert run.outputs["sine"][0] == pytest.approx(sine, abs=4 * EPSILON)
    assert run["theta"][0] == pytest.approx(theta, rel=4 * EPSILON, abs=4 * EPSILON)


def test_a_spin_of_1e5_rad_is_shown_unwrapped_and_known_to_its_last_digits():
    """1000 rad/s, a number of steps and segments on the way (a spring on the side sets them)."""
    q = ds.coordinates(theta=ds.ANGLE, x="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.theta**2 + q.dot.x**2) / 2,
        potential=50.0 * q.x**2,
        outputs={"cosine": ca.cos(q.theta)},
    )
    run = ds.solve(
        system, 100.0, {"theta": 0.0, "theta_dot": 1000.0, "x": 1.0, "x_dot": 0.0},
        at=ds.every(0.5),
        formulation=ds.Feedback(rates={"energy": None}),
    )  # fmt: skip
    # wrapped at every boundary: within a segment the angle grows to 1000 rad/s times its length,
    # and every step rounds it by up to EPSILON / 2 of that, at random
    largest = 1000.0 * min(run.description["segment"], 100.0)
    segments = np.ceil(100.0 / run.description["segment"])
    allowed = EPSILON * (largest * np.sqrt(run.statistics.steps) + 4 * np.pi * segments)
    assert run["theta"] == pytest.approx(1000.0 * run["t"], rel=4 * EPSILON, abs=allowed)
    assert run.outputs["cosine"] == pytest.approx(np.cos(1000.0 * run["t"]), abs=allowed)
    assert run.end_state["theta"] == pytest.approx(1e5, abs=allowed)


def test_an_angle_that_counts_its_turns_is_not_wrapped_and_this_is_reported():
    """A clock spring of 1e-3 N m: after 40 rad it pulls harder than after 34."""
    q = ds.coordinates(theta=ds.ANGLE)
    system = ds.MechanicalSystem(q, kinetic=q.dot.theta**2 / 2, potential=1e-3 * q.theta**2 / 2)
    run = ds.solve(system, 500.0, {"theta": 40.0, "theta_dot": 0.0}, at=[500.0])
    assert run["theta"][0] == pytest.approx(40.0 * np.cos(np.sqrt(1e-3) * 500.0), abs=1e-11)
    assert any("'theta' is not wrapped" in note for note in run.description["notes"])


def test_an_event_that_counts_turns_keeps_the_angle_unwrapped():
    q = ds.coordinates(theta=ds.ANGLE)
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.theta**2 / 2,
        events=[ds.Event("100 rad", q.theta - 100.0, ds.RISING, ds.Stop())],
    )
    run = ds.solve(system, 60.0, {"theta": 0.0, "theta_dot": 2.0})
    assert run.end_time == pytest.approx(50.0, rel=1e-14)
    assert run.events[0].detail["theta"] == pytest.approx(100.0, rel=1e-14)


def test_angles_in_events_and_points_are_unwrapped():
    q = ds.coordinates(theta=ds.ANGLE)
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.theta**2 / 2, events=[ds.Event("up", ca.sin(q.theta), ds.RISING)]
    )
    run = ds.solve(system, 40.0, {"theta": 100.0, "theta_dot": 1.0})
    assert run.events[0].detail["theta"] == pytest.approx(32 * np.pi, rel=1e-14)
    assert run.at(7.0)["theta"] == pytest.approx(107.0, rel=1e-14)
    assert run.start.get("theta") is None
    assert run["theta"][0] == 100.0


# -- segments ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_extending_the_horizon_changes_nothing_before():
    """Bit by bit: boundaries lie at multiples of a length that the horizon does not move."""
    system = wheel()
    start = wheel_state(0.0, 1.5)
    solver = ds.Taylor(code="compact", optimisation=0)  # "auto" weighs the horizon, and tells
    runs = [
        ds.solve(system, until, start, at=[0.5, 1.0], solver=solver)
        for until in (25.0, 40.0, 400.0)
    ]
    lengths = {run.description["segment"] for run in runs}
    assert len(lengths) == 1
    for run in runs[1:]:
        assert np.array_equal(run["x"], runs[0]["x"])
        assert np.array_equal(run["theta_dot"], runs[0]["theta_dot"])


def test_a_run_is_the_same_every_time():
    system = pendulum()
    first, second = (ds.solve(system, 20.0, {"x": -1.0}) for _ in range(2))
    assert np.array_equal(first["x"], second["x"])
    assert dict(first.drift) == dict(second.drift)


def test_a_point_between_samples_is_the_motion_itself():
    run = ds.solve(oscillator(), 50.0, {"x": 0.0, "x_dot": 1.0}, at=[50.0])
    for moment in (0.0, 0.1, 3.21, 49.99, 50.0):
        assert run.at(moment)["x"] == pytest.approx(np.sin(moment), abs=1e-14)
    assert run.at(50.0)["energy"] == pytest.approx(0.5, rel=1e-15)
    with pytest.raises(OutOfRangeError, match=r"t = 50\.1 s"):
        run.at(50.1)
    with pytest.raises(UnknownNameError, match="did you mean 'x"):
        run.at(1.0)["xx"]


def test_a_point_of_a_run_with_reactions_and_events():
    system = pendulum(events=lambda q, p: [ds.Event("bottom", q.x)])
    run = ds.solve(system, 5.0, {"x": -1.0}, at=[1.0, 2.0])
    for index, moment in enumerate((1.0, 2.0)):
        point = run.at(moment)
        assert point["x"] == pytest.approx(run["x"][index], abs=1e-14)
        assert point["rod"] == pytest.approx(run.reactions["rod"][index], rel=1e-13)


def test_names_are_looked_up_in_states_outputs_and_reactions():
    run = ds.solve(pendulum(), 1.0, {"x": -1.0})
    assert run["t"] is run.times
    assert run["rod"] is run.reactions["rod"]
    assert run["energy"] is run.outputs["energy"]
    with pytest.raises(UnknownNameError, match="did you mean 'x_dot'"):
        run["xdot"]


# -- backwards -----------------------------------------------------------------------------------


def test_forwards_and_back_again_returns_to_the_start():
    """The pendulum is regular: an error of the energy of EPSILON moves the phase by 100 s of it."""
    system = pendulum()
    out = ds.solve(system, 100.0, {"x": -1.0})
    back = ds.solve(system, 0.0, out.end_state, start_time=100.0)
    assert back.times[0] == 100.0
    assert back.times[-1] == 0.0
    for name, right in (("x", -1.0), ("y", 0.0), ("x_dot", 0.0), ("y_dot", 0.0)):
        assert back.end_state[name] == pytest.approx(right, abs=2e-12), name
    assert back.drift["rod"].max_relative <= 1e-14


def test_the_sleigh_returns_though_its_motion_settles_forwards():
    """Forwards the turning dies out; backwards it grows again from what was left."""
    start = {"x": 0.0, "y": 0.0, "phi": 0.0, "x_dot": 0.0, "y_dot": 0.0, "phi_dot": 1.0}
    out = ds.solve(sleigh(), 5.0, start)
    back = ds.solve(sleigh(), 0.0, out.end_state, start_time=5.0)
    for name, right in start.items():
        assert back.end_state[name] == pytest.approx(right, abs=1e-12), name


def test_backwards_the_residual_dies_out_as_it_does_forwards():
    run = ds.solve(pendulum(), -30.0, {"x": -1.0}, solver=ds.Dop853(rtol=1e-8, atol=1e-8))
    assert run.drift["rod"].max_relative <= 1e-6
    assert run.drift["energy"].max_relative <= 1e-6


# -- interruption --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.slow_rows("solver0")
@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853()])
def test_ctrl_c_ends_a_long_run_and_keeps_its_data(solver):
    prepared = prepared_run(pendulum(), 1e7, {"x": -1.0}, solver=solver)
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.4, interrupt_main)
    timer.start()
    run = simulate(prepared, ds.every(100.0))
    timer.join()
    assert run.outcome is ds.Outcome.INTERRUPTED
    assert not run.outcome.good
    assert "interrupted at t = " in run.message
    assert 0.0 < run.end_time < 1e7
    assert len(run.times) == np.floor(run.end_time / 100.0) + 1
    assert np.all(np.abs(run["x"] ** 2 + run["y"] ** 2 - 1) <= 1e-7)
    assert signal.getsignal(signal.SIGINT) is before
    assert run.at(run.end_time)["x"] == pytest.approx(run.end_state["x"], abs=1e-12)


def test_a_run_in_another_thread_leaves_signals_alone():
    found = []
    prepared = prepared_run(oscillator(), 1.0, {"x": 1.0})
    thread = threading.Thread(target=lambda: found.append(simulate(prepared)))
    thread.start()
    thread.join()
    assert found[0].outcome is ds.Outcome.COMPLETED


def test_progress_is_reported_after_every_segment():
    told = []
    run = ds.solve(
        pendulum(), 1000.0, {"x": -1.0}, at=[1000.0],
        progress=lambda time, monitor, events: told.append((time, events)),
    )  # fmt: skip
    times = [time for time, _ in told]
    assert times == sorted(times)
    assert times[-1] == 1000.0
    assert np.diff([0.0, *times[:-1]]) == pytest.approx(run.description["segment"], rel=1e-12)


# -- discrete values -----------------------------------------------------------------------------


def test_discrete_values_select_by_number_without_compiling_again():
    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(held=1.0)
    p = ds.parameters(gravity=9.81)
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=d.held * q.x**2 / 2 + p.gravity * q.y,
        discrete=d,
    )
    held = ds.solve(system, 1.0, {"x": 1.0, "y": 0.0})
    loose = ds.solve(system, 1.0, {"x": 1.0, "y": 0.0}, parameters={"held": 0.0})
    assert held["x"][-1] == pytest.approx(np.cos(1.0), rel=1e-14)
    assert loose["x"][-1] == 1.0
    assert loose.statistics.compile_cached


def test_many_events_are_counted_across_segments():
    system = oscillator(events=lambda q: [ds.Event("zero", q.x)])
    run = ds.solve(system, 1000.0, {"x": 0.1, "x_dot": 1.0}, at=[1000.0])
    shift = np.arctan(0.1)
    right = np.pi * np.arange(1, 400) - shift
    right = right[right < 1000.0]
    assert run.event_count == len(right)
    assert [e.time for e in run.events] == pytest.approx(list(right), abs=1e-11)


def test_an_event_at_a_segment_boundary_is_counted_once():
    first = ds.solve(oscillator(), 1000.0, {"x": 0.0, "x_dot": 1.0}, at=[1.0])
    length = first.description["segment"]
    system = oscillator(
        events=lambda q: [ds.Event(f"tick {k}", ds.time - k * length) for k in range(1, 4)]
    )
    run = ds.solve(system, 4.5 * length, {"x": 0.0, "x_dot": 1.0}, at=[1.0])
    assert run.description["segment"] == length
    assert [e.name for e in run.events] == ["tick 1", "tick 2", "tick 3"]
