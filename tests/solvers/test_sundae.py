"""CVODE and IDA through scikit-sundae."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.formulations import implicit
from daesolve.core.solvers import State
from daesolve.solvers import sundae
from tests.interruption import interrupted_after
from tests.reference.chaplygin_sleigh import sleigh_states
from tests.reference.pendulum import pendulum_period, pendulum_states
from tests.systems import chain, chain_state, oscillator, pendulum, prepared_run, sleigh

FREE = {"formulation": ds.Feedback(rates={"energy": None})}
SINE = {"x": 0.0, "x_dot": 1.0}
FORMULATIONS = {
    "index-1": ds.Index1(),
    "baumgarte": ds.Index1(rate=10.0),
    "index-2": ds.Index2(),
    "ggl": ds.GGL(),
    "index-3": ds.Index3(),
}
SOLVERS = {
    "sundae-cvode": (ds.solvers.SundaeCvode(), ds.Feedback()),
    "sundae-ida": (ds.solvers.SundaeIda(), ds.Index2()),
}

every_form = pytest.mark.parametrize("name", FORMULATIONS)
every_solver = pytest.mark.parametrize("name", SOLVERS)


def pendulum_error(run):
    exact = pendulum_states(run.times, -1.0, 0.0)
    states = ("x", "y", "x_dot", "y_dot")
    return max(np.max(np.abs(run[state] - exact[state])) for state in states)


def segment_of(prepared, until, at=(), observe=lambda block: None):
    start = State(prepared.start_time, prepared.initial, prepared.values)
    return prepared.solver.segment(prepared.problem, start, until, np.array(at), observe)


# -- CVODE ---------------------------------------------------------------------------------------


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("method", ["adams", "bdf"])
@pytest.mark.parametrize("until", [20.0, -20.0])
def test_both_methods_converge_with_the_tolerance(method, until):
    errors = []
    for rtol in (1e-6, 1e-9):
        solver = ds.solvers.SundaeCvode(rtol=rtol, atol=rtol, method=method)
        run = ds.solve(oscillator(), until, SINE, solver=solver, **FREE)
        assert run.end_time == until
        errors.append(np.max(np.abs(run["x"] - np.sin(run.times))))
    # a method of order k keeps the error of a step; that of the run falls by 1000^(k / (k + 1))
    assert errors[1] < errors[0] / 1000**0.5
    assert errors[1] < 1e-6


def test_a_driven_pendulum_is_where_elliptic_functions_put_it():
    run = ds.solve(
        pendulum(), 10.0, {"x": -1.0}, solver=ds.solvers.SundaeCvode(1e-9, 1e-9), at=[10.0]
    )
    assert pendulum_error(run) <= 1e-6


def test_stiff_motion_takes_few_steps():
    """x' = -1e6 (x - cos t): an explicit method would take some 300 000 steps a second."""
    s = ds.states(x="")
    system = ds.ControlSystem(s, {"x": -1e6 * (s.x - ca.cos(ds.time))})
    run = ds.solve(system, 1.0, {"x": 1.0}, solver=ds.solvers.SundaeCvode(method="bdf"))
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.statistics.steps < 20_000
    assert run["x"][-1] == pytest.approx(np.cos(1.0), abs=1e-5)


def test_an_unknown_method_is_refused():
    with pytest.raises(ds.DaesolveError, match="'adams' or 'bdf'"):
        ds.solvers.SundaeCvode(method="rk4")


# -- IDA -----------------------------------------------------------------------------------------


@pytest.mark.long_beyond(4)
@pytest.mark.slow
@every_form
@pytest.mark.parametrize("until", [10.0, -10.0])
def test_a_pendulum_is_where_elliptic_functions_put_it(name, until):
    run = ds.solve(
        pendulum(), until, {"x": -1.0}, formulation=FORMULATIONS[name],
        solver=ds.solvers.SundaeIda(rtol=1e-9, atol=1e-9), at=ds.every(1.0),
    )  # fmt: skip
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.end_time == until
    assert pendulum_error(run) <= 1e-5


@pytest.mark.default_rows(2)
@every_form
def test_a_sleigh_is_where_its_closed_form_puts_it(name):
    run = ds.solve(
        sleigh(), 10.0, {"x_dot": 1.0, "phi_dot": 1.0}, formulation=FORMULATIONS[name],
        solver=ds.solvers.SundaeIda(rtol=1e-7, atol=1e-7), at=[10.0],
    )  # fmt: skip
    exact = sleigh_states([10.0], 1.0, 1.0)
    for state in ("x", "y", "phi"):
        assert run[state] == pytest.approx(exact[state], abs=1e-4), state


@pytest.mark.slow
@every_form
def test_a_slider_crank_turns_as_by_taylors_method(name):
    """Six constraints and stiff errors: in index 3 the hardest of the three."""
    case = ds.problem("slider-crank").case("spin")
    right = case.solve(until=2.0, at=[2.0])
    run = case.solve(
        until=2.0, at=[2.0], formulation=FORMULATIONS[name], solver=ds.solvers.SundaeIda(1e-7, 1e-7)
    )
    worst = max(abs(run.end_state[state] - right.end_state[state]) for state in right.end_state)
    assert worst <= (1e-3 if name == "index-3" else 1e-4)


@pytest.mark.long
def test_constraints_hold_at_the_level_that_is_imposed():
    drift = {}
    for name in ("index-2", "ggl", "index-3"):
        run = ds.solve(
            pendulum(),
            10.0,
            {"x": -1.0},
            formulation=FORMULATIONS[name],
            solver=ds.solvers.SundaeIda(),
        )
        drift[name] = {goal: entry.max_abs for goal, entry in run.drift.items()}
    # Newton's iteration ends within a part of the tolerance, 1e-8
    assert drift["index-2"]["rod_dot"] <= 1e-8
    assert max(drift["ggl"]["rod"], drift["ggl"]["rod_dot"]) <= 1e-8
    assert drift["index-3"]["rod"] <= 1e-8
    # what is not imposed drifts
    assert drift["index-2"]["rod"] > 10 * drift["ggl"]["rod"]
    assert drift["index-3"]["rod_dot"] > 10 * drift["ggl"]["rod_dot"]


# -- both ----------------------------------------------------------------------------------------


@pytest.mark.slow_rows("-5.0-sundae-ida", "5.0-sundae-cvode", "5.0-sundae-ida")
@every_solver
@pytest.mark.parametrize("until", [5.0, -5.0])
def test_events_lie_on_their_guards(name, until):
    solver, formulation = SOLVERS[name]
    system = pendulum(events=lambda q, p: [ds.Event("bottom", q.x)])
    run = ds.solve(system, until, {"x": -1.0}, formulation=formulation, solver=solver)
    exact = np.sign(until) * pendulum_period(-1.0, 0.0) / 4 * np.array([1, 3, 5, 7])
    assert [event.time for event in run.events] == pytest.approx(exact, abs=1e-6)
    assert [event.detail["x"] for event in run.events] == pytest.approx([0.0] * 4, abs=1e-13)


@pytest.mark.slow
@every_solver
def test_looking_for_events_and_samples_does_not_change_the_steps(name):
    solver, formulation = SOLVERS[name]
    watched = pendulum(events=lambda q, p: [ds.Event("left", q.x + 0.5)])
    ends = []
    for system, at in ((pendulum(), []), (watched, np.linspace(0.01, 3.0, 1000))):
        prepared = prepared_run(system, 3.0, {"x": -1.0}, formulation=formulation, solver=solver)
        ends.append(segment_of(prepared, 3.0, at))
    assert np.array_equal(ends[0].state, ends[1].state)
    assert ends[0].steps == ends[1].steps
    assert len(ends[1].hits) == 3


@every_solver
def test_a_run_stops_at_an_event_in_the_middle_of_a_block(name):
    solver, formulation = SOLVERS[name]
    system = pendulum(events=lambda q, p: [ds.Event("bottom", q.x, then=ds.Stop())])
    prepared = prepared_run(system, 5.0, {"x": -1.0}, formulation=formulation, solver=solver)
    seen = []
    end = segment_of(prepared, 5.0, [0.1, 0.5, 0.7], lambda block: seen.extend(block.times))
    assert end.time == pytest.approx(pendulum_period(-1.0, 0.0) / 4, abs=1e-7)
    assert len(end.samples) == 2
    assert seen[-1] == end.time
    assert len(seen) == end.steps
    assert np.all(np.diff(seen) > 0)


@pytest.mark.slow
@every_solver
def test_steps_are_handed_over_once_each_and_in_order_over_many_blocks(name):
    solver, formulation = SOLVERS[name]
    prepared = prepared_run(pendulum(), 20.0, {"x": -1.0}, formulation=formulation, solver=solver)
    blocks = []
    end = segment_of(prepared, 20.0, (), blocks.append)
    times = np.concatenate([block.times for block in blocks])
    assert len(blocks) > 1
    assert len(times) == end.steps
    assert np.all(np.diff(times) > 0)
    assert times[-1] == end.time == 20.0


@pytest.mark.slow_rows("sundae-ida")
@every_solver
def test_a_motion_that_leaves_to_infinity_keeps_its_data_and_prints_nothing(name, capfd):
    """x' = x^2 from 1 ends at t = 1."""
    solver, formulation = SOLVERS[name]
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": x.x**2})
    run = ds.solve(
        system, 2.0, {"x": 1.0}, solver=solver, formulation=formulation, at=[0.0, 0.5, 0.75, 1.5]
    )
    assert run.outcome is ds.Outcome.FAILED
    assert 0.999 <= run.end_time <= 1.0 + 1e-6
    assert run.times[:-1] == pytest.approx([0.0, 0.5, 0.75], abs=0.0)
    assert run["x"][:-1] == pytest.approx([1.0, 2.0, 4.0], rel=1e-5)
    # The last sample is the end, where 1 / (1 - t) magnifies without bound: its inverse does not.
    assert run.times[-1] == run.end_time
    assert 1 - 1 / run["x"][-1] == pytest.approx(run.end_time, abs=1e-5)
    assert capfd.readouterr() == ("", "")


@pytest.mark.default_rows(1)
@every_solver
def test_an_interruption_is_one_and_no_failure(name):
    solver, formulation = SOLVERS[name]
    prepared = prepared_run(pendulum(), 1e4, {"x": -1.0}, formulation=formulation, solver=solver)
    with interrupted_after(0.3), pytest.raises(KeyboardInterrupt):
        segment_of(prepared, 1e4)


@every_solver
def test_what_a_callback_raises_comes_out_as_it_is(name, monkeypatch):
    solver, formulation = SOLVERS[name]
    prepared = prepared_run(pendulum(), 1.0, {"x": -1.0}, formulation=formulation, solver=solver)
    mine = ZeroDivisionError("mine")

    def fail(self, *arguments):
        if arguments[0] > 0.01:
            raise mine
        return honest(self, *arguments)

    honest = sundae._Called.__call__
    monkeypatch.setattr(sundae._Called, "__call__", fail)
    with pytest.raises(ZeroDivisionError) as caught:
        segment_of(prepared, 1.0)
    assert caught.value is mine


@pytest.mark.parametrize("solver", [ds.solvers.SundaeCvode, ds.solvers.SundaeIda])
def test_a_missing_package_is_reported_with_the_command_that_adds_it(solver, monkeypatch):
    monkeypatch.setattr(sundae, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install 'daesolve\[sundials\]'"):
        solver()


@pytest.mark.parametrize("solver", [ds.solvers.SundaeCvode, ds.solvers.SundaeIda])
@pytest.mark.parametrize("value", [0.0, -1e-9, np.nan, "1e-9"])
@pytest.mark.parametrize("key", ["rtol", "atol"])
def test_a_tolerance_that_is_no_positive_number_is_refused(solver, key, value):
    with pytest.raises(ds.DaesolveError, match=key):
        solver(**{key: value})


@pytest.mark.slow_rows("sundae-ida")
@every_solver
def test_a_refined_solver_is_more_accurate(name):
    kind, formulation = type(SOLVERS[name][0]), SOLVERS[name][1]
    errors = []
    for solver in (kind(1e-5, 1e-5), kind(1e-5, 1e-5).refined()):
        run = ds.solve(
            pendulum(), 5.0, {"x": -1.0}, formulation=formulation, solver=solver, at=[5.0]
        )
        errors.append(pendulum_error(run))
    assert errors[1] < errors[0]


def ended(run):
    return np.array([values[-1] for values in run.states.values()])


@pytest.mark.long
@pytest.mark.parametrize("name", ["index-1", "index-3"])
def test_a_sparse_matrix_moves_a_chain_as_a_full_one_does(name, monkeypatch):
    system, initial = chain(30), chain_state(np.linspace(1.0, 1.5, 30).tolist())
    options = {"formulation": FORMULATIONS[name], "solver": ds.solvers.SundaeIda(1e-8, 1e-8)}
    problem = prepared_run(system, 0.2, initial, **options).problem
    ends = []
    for least in (sundae.SPARSE_FROM, 10**6):
        monkeypatch.setattr(sundae, "SPARSE_FROM", least)
        assert ("sparsity" in sundae._filled(implicit(problem).jacobian)[1]) == (least < 10**6)
        ends.append(ended(ds.solve(system, 0.2, initial, **options)))
    exact = ended(ds.solve(system, 0.2, initial))
    # Each of some hundred steps may add its tolerance.
    assert max(np.max(np.abs(end - exact)) for end in ends) <= 1e3 * 1e-8 * np.max(np.abs(exact))
