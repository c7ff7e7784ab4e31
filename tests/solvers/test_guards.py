"""Guards along steps that are judged at their ends: none may be missed, none invented."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds

EPSILON = np.finfo(float).eps


def drift_by(speed, guard):
    """A body in free motion: one step of Taylor's method spans any time."""
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, events=[ds.Event("met", guard(q.x))])


def moments(run):
    return np.array([event.time for event in run.events])


def test_a_guard_may_hold_what_has_no_series():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        events=[ds.Event("half way", ca.fabs(q.x) - 0.5)],
    )
    run = ds.solve(system, 10.0, {"x": 1.0, "x_dot": 0.0}, solver=ds.Taylor())
    exact = np.sort(np.concatenate([np.arange(1, 10) * np.pi + s * np.pi / 3 for s in (-1, 1)]))
    exact = np.append(exact, np.pi / 3)
    exact = np.sort(exact[exact < 10.0])
    assert moments(run) == pytest.approx(exact, abs=40 * EPSILON)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(turns=st.floats(0.3, 60.0), phase=st.floats(0.05, 3.0))
def test_every_zero_of_an_oscillation_within_one_step_is_found(turns, phase):
    rate = 2 * np.pi * turns
    run = ds.solve(drift_by(1.0, lambda x: ca.sin(rate * x + phase)), 1.0, {"x": 0.0, "x_dot": 1.0})
    count = np.floor((rate + phase) / np.pi)
    exact = (np.arange(1, count + 1) * np.pi - phase) / rate
    exact = exact[exact < 1.0 - 1e-9]
    found = moments(run)[: len(exact)]
    assert len(found) == len(exact)
    assert found == pytest.approx(exact, abs=20 * EPSILON)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(depth=st.floats(1e-6, 0.3), place=st.floats(2.1, 7.9))
def test_a_dip_between_the_ends_of_a_step_is_seen(depth, place):
    """(x - place)^2 - depth^2 is below zero on a stretch of 2 depth of a step of 10."""
    run = ds.solve(
        drift_by(1.0, lambda x: (x - place) ** 2 - depth**2), 10.0, {"x": 0.0, "x_dot": 1.0}
    )
    # the guard is rounded to eps * place^2, and its slope at the roots is 2 depth
    tolerance = 8 * EPSILON * (100.0 / depth + 10.0)
    assert moments(run) == pytest.approx([place - depth, place + depth], abs=tolerance)


def test_a_guard_that_only_comes_near_zero_is_no_event():
    run = ds.solve(drift_by(1.0, lambda x: (x - 3.0) ** 2 + 1e-9), 10.0, {"x": 0.0, "x_dot": 1.0})
    assert run.event_count == 0


def test_a_stop_keeps_the_steps_and_samples_before_it_and_nothing_after():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        events=[
            ds.Event("first", q.x + 0.9, ds.FALLING, ds.Stop()),
            ds.Event("later", q.x - 0.5, ds.RISING),
        ],
    )
    run = ds.solve(system, 1000.0, {"x": 1.0, "x_dot": 0.0}, at=ds.every(0.01))
    end = np.arccos(-0.9)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.end_time == pytest.approx(end, abs=4 * EPSILON)
    assert [event.name for event in run.events] == ["first"]
    assert run.times[-1] <= end < run.times[-1] + 0.01
    assert run.end_state["x"] == pytest.approx(-0.9, abs=4 * EPSILON)
    assert run.statistics.steps < 40
