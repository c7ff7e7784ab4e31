"""IDAS through CasADi, on differential-algebraic equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import daesolve as ds
from daesolve.core.solvers import State
from tests.interruption import interrupted_after
from tests.reference.chaplygin_sleigh import sleigh_states
from tests.reference.pendulum import pendulum_period, pendulum_states
from tests.systems import pendulum, prepared_run, sleigh

FORMULATIONS = {
    "index-1": ds.Index1(),
    "baumgarte": ds.Index1(rate=10.0),
    "index-2": ds.Index2(),
    "ggl": ds.GGL(),
}
STATES = ("x", "y", "x_dot", "y_dot")

every_form = pytest.mark.parametrize("name", FORMULATIONS)


def pendulum_error(run):
    exact = pendulum_states(run.times, -1.0, 0.0)
    return max(np.max(np.abs(run[state] - exact[state])) for state in STATES)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("-10.0-index-1", "-10.0-index-2", "10.0-index-1", "10.0-index-2")
@every_form
@pytest.mark.parametrize("until", [10.0, -10.0])
def test_a_pendulum_is_where_elliptic_functions_put_it(name, until):
    run = ds.solve(
        pendulum(), until, {"x": -1.0}, formulation=FORMULATIONS[name],
        solver=ds.Idas(rtol=1e-9, atol=1e-9), at=ds.every(1.0),
    )  # fmt: skip
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.end_time == until
    assert pendulum_error(run) <= 1e-5


@pytest.mark.default_rows(1)
@every_form
def test_errors_fall_with_the_tolerance(name):
    errors = []
    for rtol in (1e-6, 1e-8):
        run = ds.solve(
            pendulum(), 5.0, {"x": -1.0}, formulation=FORMULATIONS[name],
            solver=ds.Idas(rtol=rtol, atol=rtol), at=[5.0],
        )  # fmt: skip
        errors.append(pendulum_error(run))
    assert errors[1] < errors[0] / 10
    assert errors[1] < 1e-6


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("formulation", [ds.Index1(), ds.Index2(), ds.GGL()])
def test_a_sleigh_is_where_its_closed_form_puts_it(formulation):
    run = ds.solve(
        sleigh(), 10.0, {"x_dot": 1.0, "phi_dot": 1.0}, formulation=formulation,
        solver=ds.Idas(rtol=1e-7, atol=1e-7), at=[10.0],
    )  # fmt: skip
    exact = sleigh_states([10.0], 1.0, 1.0)
    for state in ("x", "y", "phi"):
        assert run[state] == pytest.approx(exact[state], abs=1e-4), state


@pytest.mark.default_rows(1)
@every_form
@pytest.mark.parametrize("until", [5.0, -5.0])
def test_events_lie_on_their_guards(name, until):
    system = pendulum(events=lambda q, p: [ds.Event("bottom", q.x)])
    run = ds.solve(
        system, until, {"x": -1.0}, formulation=FORMULATIONS[name], solver=ds.Idas(1e-8, 1e-8)
    )
    exact = np.sign(until) * pendulum_period(-1.0, 0.0) / 4 * np.array([1, 3, 5, 7])
    assert [event.time for event in run.events] == pytest.approx(exact, abs=1e-6)
    assert [event.detail["x"] for event in run.events] == pytest.approx([0.0] * 4, abs=1e-13)


def test_a_run_stops_at_an_event():
    system = pendulum(events=lambda q, p: [ds.Event("bottom", q.x, then=ds.Stop())])
    run = ds.solve(system, 5.0, {"x": -1.0}, formulation=ds.Index2(), solver=ds.Idas())
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.end_state["x"] == pytest.approx(0.0, abs=1e-13)


def test_what_watches_sees_at_least_twice_the_steps():
    prepared = prepared_run(pendulum(), 2.0, {"x": -1.0}, formulation=ds.Index2(), solver=ds.Idas())
    seen = []
    end = prepared.solver.segment(
        prepared.problem, State(0.0, prepared.initial, prepared.values), 2.0, np.empty(0),
        lambda block: seen.extend(block.times),
    )  # fmt: skip
    assert end.steps > 256
    assert len(seen) >= 2 * end.steps


@pytest.mark.slow
def test_a_motion_that_leaves_to_infinity_keeps_its_data():
    """x' = x^2 from 1 ends at t = 1."""
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": x.x**2})
    run = ds.solve(
        system, 2.0, {"x": 1.0}, formulation=ds.Index1(), solver=ds.Idas(), at=[0.0, 0.5, 0.75, 1.5]
    )
    assert run.outcome is ds.Outcome.FAILED
    assert 0.5 <= run.end_time <= 1.0 + 1e-6
    assert run["x"] == pytest.approx(1 / (1 - run.times), rel=1e-5)


def test_an_interruption_is_one_and_no_failure():
    prepared = prepared_run(
        pendulum(), 1000.0, {"x": -1.0}, formulation=ds.Index2(), solver=ds.Idas()
    )
    with interrupted_after(0.3), pytest.raises(KeyboardInterrupt):
        prepared.solver.segment(
            prepared.problem, State(0.0, prepared.initial, prepared.values), 1000.0, np.empty(0),
            lambda block: None,
        )  # fmt: skip


@pytest.mark.slow
def test_a_failure_writes_nothing_to_the_streams(capfd):
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": x.x**2})
    run = ds.solve(system, 2.0, {"x": 1.0}, formulation=ds.Index1(), solver=ds.Idas())
    assert "idas: " in run.message
    assert capfd.readouterr() == ("", "")


def test_index_three_is_refused_with_what_goes():
    with pytest.raises(ds.DaesolveError, match=r"index-3.*sundae-ida"):
        ds.solve(pendulum(), 1.0, {"x": -1.0}, formulation=ds.Index3(), solver=ds.Idas())


@pytest.mark.parametrize("value", [0.0, -1e-9, np.nan, "1e-9"])
@pytest.mark.parametrize("key", ["rtol", "atol"])
def test_a_tolerance_that_is_no_positive_number_is_refused(key, value):
    with pytest.raises(ds.DaesolveError, match=key):
        ds.Idas(**{key: value})


def test_a_refined_solver_is_more_accurate():
    errors = []
    for solver in (ds.Idas(1e-5, 1e-5), ds.Idas(1e-5, 1e-5).refined()):
        run = ds.solve(
            pendulum(), 5.0, {"x": -1.0}, formulation=ds.Index2(), solver=solver, at=[5.0]
        )
        errors.append(pendulum_error(run))
    assert errors[1] < errors[0]


def test_index_2_passes_the_nodes_of_a_table_that_moves_a_constraint():
    """The guard of a node passes a few roundings behind it, in a span too short for Newton."""
    nodes = np.linspace(3.0, 5.0, 5)
    course = CubicSpline(nodes, 0.2 * np.sin(1.3 * nodes))
    table = ds.table("pivot", nodes, course(nodes), "cubic", outside="refuse")
    q = ds.coordinates(x="m", y="m", s="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.s**2) / 2,
        potential=9.81 * q.y,
        goals=[
            ds.Holonomic("pivot_moves", q.s - table(ds.time)),
            ds.Holonomic("rod", (q.x - q.s) ** 2 + q.y**2 - 1),
        ],
    )
    start = {"x": 0.6 + float(course(3.0)), "x_dot": float(course(3.0, 1))}
    run = ds.solve(
        system,
        5.0,
        start_time=3.0,
        initial=start,
        guess={"y": -0.8},
        formulation="index-2",
        solver="idas",
    )
    swing = solve_ivp(
        lambda t, z: [z[1], -9.81 * np.sin(z[0]) - course(t, 2) * np.cos(z[0])],
        (3.0, 5.0),
        [np.arcsin(0.6), 0.0],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
        max_step=0.05,
    )
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.end_state["y"] == pytest.approx(-np.cos(swing.y[0, -1]), abs=1e-7)
