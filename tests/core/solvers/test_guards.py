"""Guards along steps that are judged at their ends: none may be missed, none invented."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.equations.elimination.saddle import SHARED_ROUNDING
from daesolve.core.solvers import guards
from daesolve.core.solvers.guards import _noise
from tests.systems import WITHOUT_ASSIMULO

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


def test_a_dip_that_ends_the_motion_is_entered_before():
    """A kink below zero at another zero is narrower than any looks: it is found from there."""
    depth, q = 1e-9, ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        events=[
            ds.Event("near", ca.fabs(q.x - 1.0) - depth, ds.FALLING, ds.Record()),
            ds.Event("there", 1.0 - q.x, ds.FALLING, ds.Stop()),
        ],
    )
    run = ds.solve(system, 2.0, {"x": 0.0, "x_dot": 1.0}, solver=ds.Taylor())
    assert [event.name for event in run.events] == ["near", "there"]
    assert moments(run) == pytest.approx([1.0 - depth, 1.0], abs=4 * EPSILON)


def test_no_looks_go_beyond_where_a_motion_is_interrupted(monkeypatch):
    """A kink there is resolved by no looks, however many: it would take thousands."""
    q, evaluated = ds.coordinates(x="m"), []
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        events=[
            ds.Event("near", ca.fabs(q.x - 1.0) - 1e-9, ds.FALLING, ds.Record()),
            ds.Event("there", 1.0 - q.x, ds.FALLING, ds.Stop()),
        ],
    )
    evaluate = guards.evaluate_block

    def counted(function, times, *rest):
        evaluated.append(len(times))
        return evaluate(function, times, *rest)

    monkeypatch.setattr(guards, "evaluate_block", counted)
    run = ds.solve(system, 2.0, {"x": 0.0, "x_dot": 1.0}, solver=ds.Taylor())
    assert run.end_time == pytest.approx(1.0, abs=4 * EPSILON)
    assert sum(evaluated) < 4 * guards.LOOKS * len(evaluated) < guards.MOST_LOOKS


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("radau-3", "radau-5")
@pytest.mark.parametrize("power", [3, 5])
@pytest.mark.parametrize("solver", ["taylor", "dop853", "radau"])
def test_a_zero_without_slope_is_found(solver, power):
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        events=[ds.Event("met", q.x**power)],
    )
    run = ds.solve(system, 7.0, {"x": 0.0, "x_dot": 1.0}, solver=solver)
    # The tolerance of radau is 1e-6 or less.
    assert moments(run) == pytest.approx([np.pi, 2 * np.pi], abs=1e-5)


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert run.times == pytest.approx([*np.arange(270) * 0.01, end], abs=4 * EPSILON)
    assert run.times[-1] == run.end_time
    assert run.end_state["x"] == pytest.approx(-0.9, abs=4 * EPSILON)
    assert run.statistics.steps < 40


def exact_zeros(rate, phase, level, until):
    """The times at which sin(rate t + phase) = level, rate > 0."""
    turns = np.arange(-1, np.ceil(rate * until / (2 * np.pi)) + 2) * 2 * np.pi
    angles = np.concatenate([turns + np.arcsin(level), turns + np.pi - np.arcsin(level)])
    times = np.sort((angles - phase) / rate)
    return times[(times > 0.0) & (times < until)]


def oscillator_with(*events):
    q = ds.coordinates(x="m")
    posed = [ds.Event(name, guard(q), *rest) for name, guard, *rest in events]
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=posed)


RELEASED = {"x": 1.0, "x_dot": 0.0}


@pytest.mark.slow
@settings(derandomize=True, max_examples=15, deadline=None)
@given(rate=st.floats(4.0, 15.0), phase=st.floats(0.1, 6.0), level=st.floats(-0.7, 0.7))
def test_a_guard_that_swings_more_often_than_steps_are_taken_is_followed(rate, phase, level):
    system = oscillator_with(("swing", lambda q: ca.sin(rate * ds.time + phase) - level))
    run = ds.solve(system, 60.0, RELEASED, solver=ds.Taylor(), at=[60.0])
    exact = exact_zeros(rate, phase, level, 60.0)
    # the argument of the sine is rounded to eps * 900, its slope at the zeros is at least 0.7
    assert moments(run) == pytest.approx(exact, abs=4 * EPSILON * 900)


@pytest.mark.slow_rows("0.25")
@pytest.mark.parametrize("step", [0.5, 0.25])
def test_an_oscillation_in_step_with_the_solver_is_seen(step):
    rate = 2 * np.pi / step
    system = oscillator_with(("swing", lambda q: ca.sin(rate * ds.time + 1.0)))
    run = ds.solve(system, 30.0, RELEASED, solver=ds.Dop853(fixed_step=step), at=[30.0])
    exact = exact_zeros(rate, 1.0, 0.0, 30.0)
    assert moments(run) == pytest.approx(exact, abs=4 * EPSILON * rate * 30.0)


SOLVERS = [ds.Taylor(), ds.Dop853(), ds.Lsoda(), ds.Cvodes()]
MOSTLY = [*SOLVERS[:-1], pytest.param(SOLVERS[-1], marks=pytest.mark.slow)]
"""CVODES looks at guards by integrating again, which takes seconds where they are not smooth."""


EVERY = [*SOLVERS, ds.RadauIIA(), ds.solvers.SundaeCvode()]
if not WITHOUT_ASSIMULO:
    EVERY.append(ds.solvers.AssimuloCvode())


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("solver", EVERY, ids=lambda solver: solver.name)
def test_a_guard_that_ceases_to_be_a_number_ends_the_run_where_it_does(solver):
    system = oscillator_with(("near the middle", lambda q: ca.sqrt(q.x) - 0.1))
    run = ds.solve(system, 12.0, RELEASED, solver=solver, at=[12.0])
    assert moments(run) == pytest.approx([np.arccos(0.01)], abs=1e-6)
    assert run.outcome is ds.Outcome.FAILED
    assert "the guard of the event 'near the middle' is nan" in run.message
    assert run.end_time == pytest.approx(np.pi / 2, abs=1e-6)


@pytest.mark.default_rows(1)
@pytest.mark.long_rows("cvodes")
@pytest.mark.slow_rows("lsoda")
@pytest.mark.parametrize("solver", MOSTLY, ids=lambda solver: solver.name)
def test_a_pole_is_no_zero(solver):
    system = oscillator_with(("third", lambda q: 1.0 / q.x - 3.0))
    run = ds.solve(system, 12.0, RELEASED, solver=solver, at=[12.0])
    assert [event.detail["x"] for event in run.events] == pytest.approx([1 / 3] * 4, abs=1e-6)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("solver", ["taylor", "dop853", "radau"])
@pytest.mark.parametrize("pole", [2.05, 2.0])
def test_a_run_goes_on_over_a_pole_in_time_to_the_zero_beyond(solver, pole):
    """1 / (t - pole) is 5 at pole + 0.2; at the pole itself it is no number."""
    q, n = ds.coordinates(x="m"), ds.discrete(n=0.0)
    event = ds.Event("met", 1 / (ds.time - pole) - 5, ds.EITHER, ds.Reset({"n": n.n + 1}))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, discrete=n, events=[event])
    run = ds.solve(system, 5.0, {"x_dot": 1.0}, solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED
    assert [event.time for event in run.events] == pytest.approx([pole + 0.2], abs=1e-13)


@pytest.mark.parametrize("solver", ["taylor", "dop853", "radau"])
def test_a_guard_that_is_no_number_from_a_reset_on_ends_the_run_with_its_name(solver):
    """At x = 1 a level takes the place of x in a root, of which there is none."""
    q, n = ds.coordinates(x="m"), ds.discrete(n=0.0)
    events = [
        ds.Event("jump", q.x - 1, ds.RISING, ds.Reset({"n": 1.0})),
        ds.Event("root", ca.sqrt(9 - q.x - 20 * n.n) - 0.5, ds.FALLING),
    ]
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, discrete=n, events=events)
    run = ds.solve(system, 5.0, {"x_dot": 1.0}, solver=solver)
    assert run.outcome is ds.Outcome.FAILED
    assert "'root'" in run.message


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_an_event_at_the_moment_of_a_stop_is_written_down_in_either_order(solver, order):
    events = [
        ("stop", lambda q: q.x - 0.5, ds.EITHER, ds.Stop()),
        ("passed", lambda q: q.x - 0.5),
    ]
    run = ds.solve(oscillator_with(*events[::order]), 60.0, RELEASED, solver=solver)
    assert [event.name for event in run.events] == ["passed", "stop"]
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT


@pytest.mark.parametrize("solver", [*SOLVERS, ds.RadauIIA()], ids=lambda solver: solver.name)
def test_a_stop_counts_though_the_motion_would_end_right_after(solver):
    """x'' = x^3 from x = 1 at rest is infinite at t = 1.854; it stops at x = 10."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=-(q.x**4) / 4,
        events=[ds.Event("far", q.x - 10.0, ds.RISING, ds.Stop())],
    )
    run = ds.solve(system, 1.8, RELEASED, solver=solver, at=ds.every(0.01))
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.end_state["x"] == pytest.approx(10.0, abs=1e-8)
    assert run.times == pytest.approx([*np.arange(172) * 0.01, run.end_time], abs=1e-12)
    assert run.times[-1] == run.end_time
    assert len(run["x"]) == 173
    assert run.drift["energy"].max_relative < 1e-6


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("solver", ["taylor", "dop853"])
@pytest.mark.parametrize("swing", [1e-6, 1e-7, 1e-8])
def test_a_zero_far_below_the_terms_of_its_guard_is_no_rounding(solver, swing):
    """The guard is a sum of 1e6 and less than 1e-12 of it: only its rate tells that it passes."""
    far, q = 1e6, ds.coordinates(x="m", y="m")
    guard = (q.y + q.x) - far
    system = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=q.x**2 / 2,
        events=[ds.Event("up", guard, ds.RISING), ds.Event("down", guard, ds.FALLING)],
    )
    start = {"x": swing, "x_dot": 0.0, "y": far, "y_dot": 0.0}
    run = ds.solve(system, 20.0, start, solver=solver)
    assert [event.name for event in run.events] == ["down", "up"] * 3
    # Twice the unit in the last place of 1e6, over the slope, which is the swing; 1e-9 of steps.
    tolerance = EPSILON * far / swing + 1e-9
    assert moments(run) == pytest.approx(np.pi * (np.arange(6) + 0.5), abs=tolerance)


def test_the_rounding_of_shared_loads_is_that_of_the_largest():
    """Loads that are shared come from one solution, which is exact to a part of its largest."""
    problem = SimpleNamespace(plan=SimpleNamespace(proximal=True), borne=(1, 2))
    gap, small, large = 0.3, 1e-6, 1e3
    values = np.tile([gap, small, -large], (5, 1))
    noise = _noise(problem, SimpleNamespace(noise=0.0), values)
    assert noise[0] == SHARED_ROUNDING * gap
    assert noise[1] == noise[2] == SHARED_ROUNDING * large
    coarse = _noise(problem, SimpleNamespace(noise=1e-3), values)
    assert coarse == pytest.approx([1e-3 * gap, SHARED_ROUNDING * large, 1e-3 * large])
