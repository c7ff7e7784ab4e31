"""What every solver promises: exact samples, every event, both directions, reported failures."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.run.integration.simulation import simulate
from daesolve.core.solvers import SOLVERS, State, Status
from tests.conftest import WITHOUT_HEYOKA
from tests.interruption import raised_after
from tests.systems import EPSILON, WITHOUT_ASSIMULO, oscillator, pendulum, prepared_run, projectile

PRECISE: dict[str, ds.Solver] = {
    "taylor": ds.Taylor(engine="kernel"),
    "dop853": ds.Dop853(rtol=1e-12, atol=1e-14),
    "cvodes": ds.Cvodes(rtol=1e-12, atol=1e-14),
    "radau": ds.RadauIIA(rtol=1e-10, atol=1e-12),
    "lsoda": ds.Lsoda(rtol=1e-12, atol=1e-14),
    "sundae-cvode": ds.solvers.SundaeCvode(rtol=1e-12, atol=1e-14),
}
ACCURACY = {"taylor": 1e-14, "taylor by heyoka": 1e-14, "dop853": 1e-11, "radau": 1e-8}
ACCURACY |= dict.fromkeys(("cvodes", "lsoda", "sundae-cvode", "assimulo-cvode"), 1e-9)
"""Global error of sin t after 20 s: some hundred steps of the tolerance; Taylor's is rounding."""

if not WITHOUT_HEYOKA:
    PRECISE["taylor by heyoka"] = ds.Taylor(engine="heyoka")
if not WITHOUT_ASSIMULO:
    PRECISE["assimulo-cvode"] = ds.solvers.AssimuloCvode(rtol=1e-12, atol=1e-14)

every_solver = pytest.mark.parametrize("name", PRECISE)
both_ways = pytest.mark.parametrize("until", [20.0, -20.0])
START = {"x": 0.0, "x_dot": 1.0}


def free(**more):
    """sin t without any feedback, so that solvers are measured alone."""
    return {"formulation": ds.Feedback(rates={"energy": None}), **more}


def times_of(run, name):
    return np.array([event.time for event in run.events if event.name == name])


def test_every_solver_is_tested_here():
    assert {solver.name for solver in PRECISE.values()} <= set(SOLVERS)


@pytest.mark.core
@every_solver
@both_ways
def test_motion_and_samples_are_those_of_the_sine(name, until):
    run = ds.solve(oscillator(), until, START, solver=PRECISE[name], at=ds.every(0.37), **free())
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.end_time == until
    assert len(run.times) == 56
    assert np.max(np.abs(run["x"] - np.sin(run.times))) <= ACCURACY[name]
    assert np.max(np.abs(run["x_dot"] - np.cos(run.times))) <= ACCURACY[name]
    assert run.end_state["x"] == run["x"][-1]


@pytest.mark.default_rows(6)
@pytest.mark.core
@every_solver
@both_ways
def test_every_event_is_found_at_its_time_in_its_direction(name, until):
    """Directions are those of integration: what falls when run forwards rises backwards."""
    system = oscillator(
        events=lambda q: [
            ds.Event("half", q.x - 0.5),
            ds.Event("falls", q.x - 0.5, ds.FALLING),
            ds.Event("rises", q.x - 0.5, ds.RISING),
        ]
    )
    run = ds.solve(system, until, START, solver=PRECISE[name], **free())
    first = np.pi * np.array([1 / 6, 5 / 6])
    crossings = np.sort(np.concatenate([first + 2 * np.pi * k for k in range(-4, 4)]))
    inside = crossings[(crossings * np.sign(until) > 0) & (np.abs(crossings) < 20)]
    ordered = inside if until > 0 else inside[::-1]
    exact = {"half": ordered, "rises": ordered[np.cos(ordered) * np.sign(until) > 0],
             "falls": ordered[np.cos(ordered) * np.sign(until) < 0]}  # fmt: skip
    for event, moments in exact.items():
        found = times_of(run, event)
        assert len(found) == len(moments), event
        # the slope of the guard there is cos(pi / 6): an error of x is one of time, times 1.15
        assert np.max(np.abs(found - moments)) <= 1.2 * ACCURACY[name] + 20 * EPSILON, event
    assert [e.time for e in run.events] == sorted((e.time for e in run.events), reverse=until < 0)


@pytest.mark.default_rows(2)
@every_solver
def test_a_guard_that_starts_at_zero_is_not_an_event_there(name):
    system = oscillator(events=lambda q: [ds.Event("zero", q.x)])
    run = ds.solve(system, 7.0, START, solver=PRECISE[name], **free())
    assert times_of(run, "zero") == pytest.approx([np.pi, 2 * np.pi], abs=ACCURACY[name])


@pytest.mark.default_rows(5)
@pytest.mark.slow_rows("Direction.FALLING-taylor by heyoka")
@every_solver
@pytest.mark.parametrize("direction", [ds.FALLING, ds.EITHER])
def test_a_stone_thrown_from_the_ground_stops_where_it_lands(name, direction):
    """The guard is zero at the start as well; a step of Taylor's method spans the whole throw."""
    system = projectile(events=lambda q: [ds.Event("lands", q.y, direction, ds.Stop())])
    run = ds.solve(system, 20.0, {"y": 0.0, "y_dot": 10.0}, solver=PRECISE[name], **free())
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert "'lands'" in run.message
    assert run.end_time == pytest.approx(20.0 / 9.81, rel=ACCURACY[name])
    assert run.end_state["y"] == pytest.approx(0.0, abs=100 * ACCURACY[name])
    assert run.times[-1] <= run.end_time
    assert run.events[-1].name == "lands"


@pytest.mark.default_rows(4)
@every_solver
def test_two_events_in_one_step_come_in_the_order_of_time(name):
    system = projectile(
        events=lambda q: [
            ds.Event("late", q.y - 1.0 + 1e-9, ds.FALLING),
            ds.Event("stop", q.y - 1.0 + 2e-9, ds.FALLING, ds.Stop() | ds.Record()),
            ds.Event("early", q.y - 1.0, ds.FALLING),
            ds.Event("never", q.y - 1.0 + 3e-9, ds.FALLING),
        ]
    )
    run = ds.solve(system, 5.0, {"y": 2.0, "y_dot": 3.0}, solver=PRECISE[name], **free())
    assert [event.name for event in run.events] == ["early", "late", "stop"]
    root = (3.0 + np.sqrt(9.0 + 2 * 9.81)) / 9.81
    assert run.events[0].time == pytest.approx(root, rel=ACCURACY[name] + 4 * EPSILON)
    gaps = np.diff([event.time for event in run.events])
    slope = np.sqrt(9.0 + 2 * 9.81)
    # each located on its own: rounding of the guard, eps * 2 m, over the slope
    assert gaps == pytest.approx(1e-9 / slope, abs=2e-14)


@pytest.mark.default_rows(3)
@every_solver
def test_a_guard_that_crosses_twice_in_one_step_is_seen_twice(name):
    """The top of a throw: 7 mm below it the guard is passed upwards and 0.07 s later downwards."""
    top = 100.0 / (2 * 9.81)
    system = projectile(events=lambda q: [ds.Event("near the top", q.y - top + 0.007)])
    run = ds.solve(system, 2.0, {"y": 0.0, "y_dot": 10.0}, solver=PRECISE[name], **free())
    half = np.sqrt(2 * 0.007 / 9.81)
    right = 10.0 / 9.81 + np.array([-half, half])
    assert times_of(run, "near the top") == pytest.approx(right, abs=1e-10)


@every_solver
def test_an_event_that_holds_already_stops_at_once(name):
    system = projectile(events=lambda q: [ds.Event("under", q.y, ds.FALLING, ds.Stop())])
    run = ds.solve(system, 1.0, {"y": -1.0}, solver=PRECISE[name], **free())
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.end_time == 0.0
    assert "holds at the start" in run.message
    assert list(run.times) == [0.0]


@pytest.mark.slow_rows("10.0-taylor by heyoka")
@pytest.mark.default_rows(1)
@every_solver
@pytest.mark.parametrize("until", [10.0, -10.0])
def test_the_way_back_does_not_see_the_event_that_it_came_from(name, until):
    """Stop at an event, then run back from there: the guard is at rounding distance of zero."""
    system = oscillator(events=lambda q: [ds.Event("half", q.x - 0.5, then=ds.Stop())])
    out = ds.solve(system, until, START, solver=PRECISE[name], **free())
    assert out.outcome is ds.Outcome.STOPPED_BY_EVENT
    back = ds.solve(
        oscillator(), 0.0, out.end_state, start_time=out.end_time, solver=PRECISE[name], **free()
    )
    assert back.end_state["x"] == pytest.approx(0.0, abs=2 * ACCURACY[name])


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("lsoda", "radau")
@every_solver
def test_samples_and_drift_do_not_depend_on_how_many_are_asked_for(name):
    prepared = prepared_run(pendulum(), 3.0, {"x": -1.0}, solver=PRECISE[name])
    few = simulate(prepared, [1.0, 3.0])
    times = np.union1d(np.linspace(0.0, 3.0, 10_001 if name.startswith("taylor") else 1_001), [1.0])
    many = simulate(prepared, times)
    assert dict(few.drift) == dict(many.drift)
    assert few.end_state == many.end_state
    # CVODES interpolates between its steps; where depends on the output that was asked for
    allowed = ACCURACY[name] if name == "cvodes" else 0.0
    assert abs(few["x"][0] - many["x"][np.flatnonzero(times == 1.0)[0]]) <= allowed
    assert few["x"][1] == many["x"][-1]
    assert few.statistics.steps == many.statistics.steps


@every_solver
def test_samples_come_in_the_order_asked_for_and_twice_if_asked_twice(name):
    times = [2.0, 0.0, 1.0, 2.0, 0.5]
    run = ds.solve(oscillator(), 2.0, START, solver=PRECISE[name], at=times, **free())
    assert list(run.times) == times
    assert run["x"] == pytest.approx(np.sin(times), abs=ACCURACY[name])


@pytest.mark.default_rows(4)
@every_solver
def test_steps_are_handed_over_once_each_and_in_order(name):
    prepared = prepared_run(oscillator(), 5.0, START, solver=PRECISE[name], **free())
    blocks = []
    end = prepared.solver.segment(
        prepared.problem, State(0.0, prepared.initial, prepared.values), 5.0, np.empty(0),
        blocks.append,
    )  # fmt: skip
    times = np.concatenate([block.times for block in blocks])
    states = np.concatenate([block.states for block in blocks])
    assert end.status is Status.REACHED
    assert times[0] > 0.0
    assert times[-1] == end.time == 5.0
    assert np.all(np.diff(times) > 0)
    assert np.array_equal(states[-1], end.state)
    assert np.max(np.abs(states[:, 0] - np.sin(times))) <= ACCURACY[name]


def deadline(seconds):
    """Fail where a run does not come back: a segment is to take less than about a second."""
    return raised_after(seconds, TimeoutError(f"no end after {seconds} s"))


@pytest.mark.default_rows(2)
@every_solver
def test_a_motion_that_leaves_to_infinity_is_a_failure_that_keeps_its_data(name):
    """x' = x^2 from 1 ends at t = 1."""
    x = ds.states(x="")
    solver = PRECISE[name] if name.startswith("taylor") else SOLVERS[name]()
    system = ds.ControlSystem(x, {"x": x.x**2})
    with deadline(6.0):
        run = ds.solve(system, 2.0, {"x": 1.0}, solver=solver, at=[0.0, 0.5, 0.75, 1.5])
    assert run.outcome is ds.Outcome.FAILED
    assert 0.5 <= run.end_time <= 1.0 + 1e-6
    assert len(run.times) >= 3
    before = run.times[:-1]
    assert run["x"][:-1] == pytest.approx(1 / (1 - before), rel=1e-5)  # 1 / (1 - t) magnifies
    # The last sample is the end, where 1 / (1 - t) magnifies without bound: its inverse does not.
    assert run.times[-1] == run.end_time
    assert run["x"][-1] == run.end_state["x"]
    assert np.isfinite(run.end_state["x"])
    assert 1 - 1 / run.end_state["x"] == pytest.approx(run.end_time, abs=1e-5)
    assert "t = " in run.message


@pytest.mark.default_rows(1)
@every_solver
def test_time_dependent_forces_are_taken_at_their_time(name):
    """x'' = 6 t from any start time."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": 6 * ds.time})
    for start, until in ((2.0, 3.0), (3.0, 2.0)):
        run = ds.solve(
            system, until, {"x": start**3, "x_dot": 3 * start**2}, start_time=start,
            solver=PRECISE[name],
        )  # fmt: skip
        assert run.end_state["x"] == pytest.approx(until**3, rel=1e-8)


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("radau")
@every_solver
def test_a_refined_solver_is_more_accurate(name):
    loose = (
        ds.Taylor(1e-6)
        if name.startswith("taylor")
        else replace(PRECISE[name], rtol=1e-5, atol=1e-5)
    )
    errors = []
    for solver in (loose, loose.refined()):
        run = ds.solve(oscillator(), 10.0, START, solver=solver, **free())
        errors.append(np.max(np.abs(run["x"] - np.sin(run.times))))
    assert errors[1] < errors[0]


@pytest.mark.default_rows(2)
@every_solver
def test_an_absolute_value_that_is_kept_runs_everywhere_but_in_taylor_which_names_it(name):
    """x'' = -|x| sign(x), posed with fabs and if_else."""
    q = ds.coordinates(x="m")
    spring = ds.smooth(ca.if_else(q.x > 0, -ca.fabs(q.x), ca.fabs(q.x)))
    system = ds.MechanicalSystem(q, mass_matrix=ca.SX.eye(1), force={"x": spring})
    if name.startswith("taylor"):
        with pytest.raises(ds.DaesolveError, match=r"fabs.*dop853") as caught:
            ds.solve(system, 1.0, START, solver=ds.Taylor())
        assert "if_else_zero" in str(caught.value) or "lt" in str(caught.value)
        return
    run = ds.solve(system, 1.0, START, solver=PRECISE[name])
    assert run.end_state["x"] == pytest.approx(np.sin(1.0), abs=1e-8)


@every_solver
@pytest.mark.parametrize("value", [0.0, -1e-9, np.nan, np.inf, "1e-9"])
def test_a_tolerance_that_is_no_positive_number_is_refused(name, value):
    key = "tolerance" if name.startswith("taylor") else "rtol"
    with pytest.raises(ds.DaesolveError, match=key):
        type(PRECISE[name])(**{key: value})
