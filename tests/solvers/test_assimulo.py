"""Assimulo's solvers: right on every form they take, and true to the contract of a solver.

With DAESOLVE_REQUIRE_ASSIMULO set, a missing Assimulo is a failure.
"""

from __future__ import annotations

import functools

import mpmath
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.expressions.evaluation import BufferedFunction
from daesolve.core.solvers import State, Status
from daesolve.solvers.assimulo import AssimuloCvode
from daesolve.solvers.assimulo_dae import (
    AssimuloIda,
    AssimuloOdassl,
    AssimuloRadau5,
    ImplicitEquations,
)
from daesolve.verification.second_run import difference
from tests.reference.pendulum import pendulum_states
from tests.systems import WITHOUT_ASSIMULO, pendulum, prepared_run

pytestmark = pytest.mark.skipif(WITHOUT_ASSIMULO, reason="Assimulo is not installed")

PAIRS = {
    "cvode adams": (ds.Feedback(), AssimuloCvode, 1e-9, 1e-6),
    "ida index-1": (ds.Index1(), AssimuloIda, 1e-9, 1e-5),
    "ida index-1 rate 10": (ds.Index1(rate=10.0), AssimuloIda, 1e-9, 1e-5),
    "ida index-2": (ds.Index2(), AssimuloIda, 1e-7, 1e-4),
    "ida ggl": (ds.GGL(), AssimuloIda, 1e-7, 1e-4),
    "ida index-3": (ds.Index3(), AssimuloIda, 1e-9, 1e-3),
    "radau5 index-1": (ds.Index1(), AssimuloRadau5, 1e-9, 1e-5),
    "radau5 index-1 rate 10": (ds.Index1(rate=10.0), AssimuloRadau5, 1e-9, 1e-5),
    "radau5 index-2": (ds.Index2(), AssimuloRadau5, 1e-7, 1e-4),
    "radau5 ggl": (ds.GGL(), AssimuloRadau5, 1e-7, 1e-4),
    "odassl": (ds.Overdetermined(), AssimuloOdassl, 1e-7, 1e-4),
}
"""A formulation, a solver, its tolerance, and the error that is allowed after 10 s."""
ONE_OF_EACH = ["cvode adams", "ida ggl", "ida index-3", "radau5 index-2", "odassl"]
START = {"x": -1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}

every_pair = pytest.mark.parametrize("pair", PAIRS)
one_of_each = pytest.mark.parametrize("pair", ONE_OF_EACH)
both_ways = pytest.mark.parametrize("sign", [1.0, -1.0])


@functools.cache
def plain():
    return pendulum()


@functools.cache
def hanging():
    """Released level, it hangs straight at odd quarters of its period."""
    return pendulum(events=lambda q, p: [ds.Event("straight", q.x), ds.Event("high", q.y + 0.1)])


@functools.cache
def stopping(direction):
    return pendulum(events=lambda q, p: [ds.Event("straight", q.x, direction, ds.Stop())])


@functools.cache
def escaping():
    """x'' = 6 x^2 on a level: 1 / (1 - t)^2 ends at t = 1."""
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        force={"x": 6 * q.x**2},
        goals=[ds.Holonomic("level", q.y)],
    )


QUARTER = float(mpmath.ellipk(0.5)) / np.sqrt(9.81)
"""Of the period, 4 K(1/2) / omega."""


def chosen(pair):
    formulation, kind, tolerance, allowed = PAIRS[pair]
    return {"formulation": formulation, "solver": kind(tolerance, tolerance / 100)}, allowed


def prepared_pair(pair, until, system=None):
    return prepared_run(system or plain(), until, START, **chosen(pair)[0])


def run_segment(prepared, until, at=(), observe=lambda block: None):
    start = State(0.0, prepared.initial, prepared.values)
    return prepared.solver.segment(prepared.problem, start, until, np.array(at), observe)


# -- accuracy ------------------------------------------------------------------------------------


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows(
    "ida index-1-10.0",
    "ida index-3--10.0",
    "ida index-3-10.0",
    "radau5 ggl-10.0",
    "radau5 index-1 rate 10-10.0",
    "ida index-2-10.0",
)
@pytest.mark.parametrize(
    ("pair", "until"), [(pair, 10.0) for pair in PAIRS] + [(pair, -10.0) for pair in ONE_OF_EACH]
)
def test_motion_and_samples_are_those_of_the_pendulum(pair, until):
    settings, allowed = chosen(pair)
    run = ds.solve(plain(), until, START, at=ds.every(0.79), **settings)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.end_time == until
    exact = pendulum_states(run.times, -1.0, 0.0)
    for name in START:
        assert np.max(np.abs(run[name] - exact[name])) <= allowed, name


@pytest.mark.long_rows(
    "slider-crank-0.01-radau5 ggl",
    "slider-crank-0.01-radau5 index-1",
    "slider-crank-0.01-radau5 index-1 rate 10",
)
@pytest.mark.long_beyond(7)
@pytest.mark.slow
@every_pair
@pytest.mark.parametrize("ratio", [1.0, 0.01])
@pytest.mark.parametrize("name", ["slider-crank", "chaplygin-sleigh"])
def test_classics_are_met_as_well(pair, name, ratio):
    formulation, kind, tolerance, allowed = PAIRS[pair]
    problem = ds.problem(name)
    case = problem.case(problem.cases[0].name)
    exact = case.solve(until=10.0, solver=ds.Taylor(), at=ds.every(0.1))
    solver = kind(tolerance, ratio * tolerance)
    run = case.solve(until=10.0, formulation=formulation, solver=solver, at=ds.every(0.1))
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    found = difference(run, exact, exact.units)
    assert found is not None
    assert found.largest <= allowed, found.state


@pytest.mark.parametrize("method", ["adams", "bdf"])
def test_both_families_of_cvode_converge_with_the_tolerance(method):
    exact = pendulum_states([3.0], -1.0, 0.0)["x"][0]
    errors = []
    for solver in (AssimuloCvode(1e-5, 1e-7, method), AssimuloCvode(1e-10, 1e-12, method)):
        run = ds.solve(plain(), 3.0, START, solver=solver)
        errors.append(abs(run.end_state["x"] - exact))
    assert errors[1] <= 1e-7
    assert errors[0] > 10 * errors[1]


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair != "cvode adams"])
def test_the_jacobian_is_that_of_the_residual(pair):
    """F is affine in (x', w'); central differences in x are right to h^2 and rounding over h."""
    prepared = prepared_pair(pair, 1.0)
    for sign in (1.0, -1.0):
        equations = ImplicitEquations(prepared.problem, prepared.values, sign)
        y, yd = equations.start(State(0.0, prepared.initial, prepared.values))
        y = y + 0.1
        c, step = 7.0, 1e-5
        columns = []
        for shift in np.eye(len(y)) * step:
            ahead = equations.residual(0.0, y + shift, yd + c * shift)
            behind = equations.residual(0.0, y - shift, yd - c * shift)
            columns.append((ahead - behind) / (2 * step))
        scale = np.max(np.abs(columns))
        error = np.array(columns).T - equations.jacobian(c, 0.0, y, yd)
        assert np.max(np.abs(error)) <= 1e-8 * scale


# -- the contract --------------------------------------------------------------------------------


@pytest.mark.default_rows(4)
@one_of_each
@both_ways
def test_steps_are_handed_over_once_each_and_in_order(pair, sign):
    blocks = []
    end = run_segment(prepared_pair(pair, sign), sign, observe=blocks.append)
    times = np.concatenate([block.times for block in blocks])
    states = np.concatenate([block.states for block in blocks])
    assert end.status is Status.REACHED
    assert sign * times[0] > 0.0
    assert times[-1] == end.time == sign
    assert np.all(sign * np.diff(times) > 0)
    assert np.array_equal(states[-1], end.state)
    assert end.steps == len(times)
    some = slice(None, None, 1 + len(times) // 20)
    exact = pendulum_states(times[some], -1.0, 0.0)["x"]
    assert np.max(np.abs(states[some, 0] - exact)) <= chosen(pair)[1]


@pytest.mark.default_rows(1)
@one_of_each
def test_samples_change_no_step_and_land_on_ends(pair):
    prepared = prepared_pair(pair, 2.0)
    alone = run_segment(prepared, 2.0)
    at = np.linspace(0.0, 2.0, 21)
    sampled = run_segment(prepared, 2.0, at)
    assert sampled.steps == alone.steps
    assert np.array_equal(sampled.state, alone.state)
    assert np.array_equal(sampled.samples[0], prepared.initial)
    assert np.array_equal(sampled.samples[-1], alone.state)
    exact = pendulum_states(at, -1.0, 0.0)["x"]
    assert np.max(np.abs(sampled.samples[:, 0] - exact)) <= chosen(pair)[1]


@one_of_each
def test_a_segment_of_next_to_no_length_is_reached(pair):
    prepared = prepared_pair(pair, 1.0)
    for until in (0.0, 1e-15, -1e-15, 1e-9):
        end = run_segment(prepared, until, [until])
        assert end.status is Status.REACHED
        assert end.time == until
        assert end.samples == pytest.approx(prepared.initial[None, :], abs=1e-7)


@pytest.mark.default_rows(1)
@one_of_each
@both_ways
def test_events_are_found_at_their_times(pair, sign):
    settings, allowed = chosen(pair)
    run = ds.solve(hanging(), sign * 2.0, START, at=[sign * 2.0], **settings)
    straight = [event.time for event in run.events if event.name == "straight"]
    # at the speed sqrt(2 g) there an error of x is a smaller one of time
    assert straight == pytest.approx([sign * QUARTER, 3 * sign * QUARTER], abs=allowed)
    high = [event.detail["y"] for event in run.events if event.name == "high"]
    assert high == pytest.approx([-0.1] * 3, abs=1e-9)
    times = [event.time for event in run.events]
    assert times == sorted(times, key=lambda time: sign * time)


@pytest.mark.default_rows(3)
@one_of_each
@both_ways
def test_a_stop_ends_the_run_at_its_event(pair, sign):
    settings, allowed = chosen(pair)
    run = ds.solve(stopping(ds.EITHER), sign * 2.0, START, at=ds.every(0.1), **settings)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.end_time == pytest.approx(sign * QUARTER, abs=allowed)
    assert abs(run.end_state["x"]) <= 1e-12
    assert len(run.times) == 1 + int(QUARTER / 0.1) + 1
    assert run.times[-1] == run.end_time


@pytest.mark.default_rows(2)
@one_of_each
def test_a_passage_in_the_other_direction_does_not_stop(pair):
    """It passes the lowest point to the right first."""
    end = run_segment(prepared_pair(pair, 2.0, stopping(ds.FALLING)), 2.0)
    assert end.status is Status.STOPPED
    assert end.time == pytest.approx(3 * QUARTER, abs=chosen(pair)[1])
    assert len(end.hits) == 1


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("ida index-3", "ida ggl", "radau5 index-2")
@one_of_each
def test_a_motion_that_leaves_to_infinity_is_a_failure_that_keeps_its_data(pair):
    settings, _ = chosen(pair)
    run = ds.solve(escaping(), 2.0, {"x": 1.0, "x_dot": 2.0}, at=[0.0, 0.5, 0.75, 1.5], **settings)
    assert run.outcome is ds.Outcome.FAILED
    assert 0.95 <= run.end_time <= 1.0 + 1e-6
    assert run.times[:-1] == pytest.approx([0.0, 0.5, 0.75], abs=0.0)
    assert run["x"][:-1] == pytest.approx([1.0, 4.0, 16.0], rel=1e-5)
    # The last sample is the end, where 1 / (1 - t)^2 magnifies without bound: its root's inverse
    # does not.
    assert run.times[-1] == run.end_time
    assert 1 - run["x"][-1] ** -0.5 == pytest.approx(run.end_time, abs=1e-5)
    assert np.isfinite(run.end_state["x"])


@one_of_each
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("not by design")])
def test_what_a_function_raises_comes_out_and_nothing_is_printed(pair, error, monkeypatch, capfd):
    prepared = prepared_pair(pair, 3.0)
    calls = iter(range(10_000))
    evaluate = BufferedFunction.__call__

    def failing(self, t, x):
        if next(calls) == 200:
            raise error
        return evaluate(self, t, x)

    monkeypatch.setattr(BufferedFunction, "__call__", failing)
    with pytest.raises(type(error)) as caught:
        run_segment(prepared, 3.0)
    assert caught.value is error
    assert next(calls) < 210
    assert capfd.readouterr() == ("", "")


@one_of_each
def test_a_run_is_silent(pair, capfd):
    assert run_segment(prepared_pair(pair, 1.0), 1.0).status is Status.REACHED
    assert capfd.readouterr() == ("", "")


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [AssimuloCvode, AssimuloIda, AssimuloRadau5, AssimuloOdassl])
def test_tolerances_are_checked_reported_and_refined(kind):
    for value in (0.0, -1e-9, np.nan, np.inf, "1e-9", 1e-14):
        with pytest.raises(ds.DaesolveError, match="rtol"):
            kind(rtol=value)
    with pytest.raises(ds.DaesolveError, match="atol"):
        kind(atol=0.0)
    assert kind(1e-6, 1e-8).tolerances() == {"rtol": 1e-6, "atol": 1e-8}
    refined = kind(1e-6, 1e-8).refined().tolerances()
    assert refined == pytest.approx({"rtol": 1e-7, "atol": 1e-9})


def test_cvode_refuses_a_family_that_there_is_not():
    with pytest.raises(ds.DaesolveError, match="'adams' or 'bdf'"):
        AssimuloCvode(method="euler")


def test_a_form_that_a_solver_cannot_take_is_refused():
    with pytest.raises(ds.DaesolveError, match="index 3"):
        ds.solve(plain(), 1.0, START, formulation=ds.Index3(), solver=AssimuloRadau5())


@pytest.mark.slow_rows("assimulo-radau5-index-1")
@pytest.mark.parametrize(
    ("solver", "formulation"),
    [(AssimuloIda, ds.Index2), (AssimuloRadau5, ds.Index1)],
    ids=lambda posed: posed.name,
)
def test_an_equation_of_one_state_without_multipliers_is_taken(solver, formulation):
    """x' = -x."""
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": -x.x})
    run = ds.solve(system, 1.0, {"x": 1.0}, solver=solver(), formulation=formulation())
    assert run.end_state["x"] == pytest.approx(np.exp(-1.0), abs=1e-7)
