"""SciPy's methods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import DOP853

import daesolve as ds
from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.solvers import State
from daesolve.core.solvers.dop853 import Dop853Steps
from daesolve.core.solvers.dormand_prince import FIFTH, INCREMENTS, PARTS, THIRD, WEIGHTS
from daesolve.core.solvers.scipy_dop853 import CompiledDop853
from tests.systems import EPSILON, oscillator, pendulum, prepared_run


def free(**more):
    return {"formulation": ds.Feedback(rates={"energy": None}), **more}


def test_a_fixed_step_is_fixed_and_of_order_eight():
    errors = []
    for step in (0.4, 0.2):
        prepared = prepared_run(
            oscillator(), 8.0, {"x": 0.0, "x_dot": 1.0}, solver=ds.Dop853(fixed_step=step), **free()
        )
        times = []
        end = prepared.solver.segment(
            prepared.problem, State(0.0, prepared.initial, prepared.values), 8.0, np.empty(0),
            lambda block, times=times: times.extend(block.times),
        )  # fmt: skip
        assert np.diff([0.0, *times]) == pytest.approx(step, rel=1e-12)
        errors.append(np.linalg.norm(end.state - [np.sin(8.0), np.cos(8.0)]))
    order = np.log2(errors[0] / errors[1])
    assert 7.0 < order < 9.5


def test_fixed_steps_sample_between_the_steps():
    run = ds.solve(
        oscillator(), 4.0, {"x": 0.0, "x_dot": 1.0}, solver=ds.Dop853(fixed_step=0.1),
        at=ds.every(0.03), **free(),
    )  # fmt: skip
    assert run["x"] == pytest.approx(np.sin(run.times), abs=1e-12)


def test_a_fixed_step_works_backwards():
    run = ds.solve(
        oscillator(), -4.0, {"x": 0.0, "x_dot": 1.0}, solver=ds.Dop853(fixed_step=0.1), **free()
    )
    assert run["x"] == pytest.approx(np.sin(run.times), abs=1e-12)
    assert run.times[-1] == -4.0


@pytest.mark.parametrize("step", [0.0, -0.1, np.nan])
def test_a_fixed_step_that_is_no_positive_number_is_refused(step):
    with pytest.raises(ds.DaesolveError, match="fixed_step"):
        ds.Dop853(fixed_step=step)


def test_a_tolerance_that_scipy_cannot_do_is_refused():
    with pytest.raises(ds.DaesolveError, match="at least"):
        ds.Dop853(rtol=1e-15)


@pytest.mark.slow_rows("solver1", "solver2")
@pytest.mark.parametrize("solver", [ds.Lsoda(), ds.RadauIIA(), ds.Dop853()])
def test_locating_events_does_not_disturb_the_motion(solver):
    """Side steps are taken with a stepper of their own, in the middle of the main one."""
    quiet = ds.solve(oscillator(), 10.0, {"x": 0.0, "x_dot": 1.0}, solver=solver, **free())
    watched = oscillator(events=lambda q: [ds.Event("half", q.x - 0.5)])
    run = ds.solve(watched, 10.0, {"x": 0.0, "x_dot": 1.0}, solver=solver, **free())
    assert len(run.events) == 4
    assert np.array_equal(run["x"], quiet["x"])


@pytest.mark.parametrize("solver", [ds.RadauIIA(1e-8, 1e-8), ds.Lsoda(), ds.Cvodes(method="bdf")])
def test_stiff_motion_takes_few_steps_with_the_exact_jacobian(solver):
    """x' = -1e6 (x - cos t): an explicit method would take some 300 000 steps a second."""
    import casadi as ca

    s = ds.states(x="")
    system = ds.ControlSystem(s, {"x": -1e6 * (s.x - ca.cos(ds.time))})
    run = ds.solve(system, 1.0, {"x": 1.0}, solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.statistics.steps < 20_000
    assert run["x"][-1] == pytest.approx(np.cos(1.0), abs=1e-5)


def test_evaluations_are_counted():
    run = ds.solve(pendulum(), 1.0, {"x": -1.0}, solver=ds.Dop853(), at=[1.0])
    assert run.statistics.rhs_evaluations >= 11 * run.statistics.steps > 0


def steps_of(kind, until, rtol, **options):
    prepared = prepared_run(pendulum(), until, {"x": -1.0})
    rate = StateFunction(prepared.problem.rhs, prepared.values)
    method = kind(rate, 0.0, prepared.initial, until, rtol=rtol, atol=rtol / 100, **options)
    times, between = [], []
    while method.status == "running":
        method.step()
        times.append(method.t)
        between.append(method.dense_output()(0.7 * method.t_old + 0.3 * method.t))
    return times, np.array(between), method.y, rate.calls


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("until", [10.0, -10.0])
@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_compiled_steps_of_dop853_are_those_of_scipy(until, rtol):
    times, _, end, calls = steps_of(DOP853, until, rtol)
    found, _, own_end, own_calls = steps_of(CompiledDop853, until, rtol)
    assert (len(found), own_calls) == (len(times), calls)
    # The estimate of an error of rtol is a difference of numbers of size one: it is known to
    # epsilon / rtol, and lengths go on from each other over all steps.
    assert np.max(np.abs(np.subtract(found, times))) <= len(times) * 1e2 * EPSILON / rtol
    # Other lengths move what steps leave out, a small part of the tolerance.
    assert np.max(np.abs(own_end - end)) <= 1e-3 * rtol


def test_compiled_steps_of_a_given_length_have_the_states_of_scipy_to_rounding():
    given = {"first_step": 0.01, "max_step": 0.01}
    times, between, end, calls = steps_of(DOP853, 2.0, 1e-3, **given)
    found, own_between, own_end, own_calls = steps_of(CompiledDop853, 2.0, 1e-3, **given)
    assert (found, own_calls) == (times, calls)
    # Each of 200 steps rounds its 12 stages, and errors of the pendulum grow with time.
    assert np.max(np.abs(own_end - end)) <= 200 * 12 * EPSILON
    assert np.max(np.abs(own_between - between)) <= 200 * 12 * EPSILON


@pytest.mark.parametrize("until", [10.0, -10.0])
@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_steps_without_an_interpolant_are_the_same(until, rtol):
    prepared = prepared_run(pendulum(), until, {"x": -1.0})
    methods = []
    for kind in (CompiledDop853, Dop853Steps):
        rate = StateFunction(prepared.problem.rhs, prepared.values)
        methods.append(kind(rate, 0.0, prepared.initial, until, rtol=rtol, atol=rtol / 100))
    scipy, own = methods
    while scipy.status == "running":
        scipy.step()
        own.step()
        assert (own.t_old, own.t, own.status) == (scipy.t_old, scipy.t, scipy.status)
        assert np.array_equal(own.y, scipy.y)
    assert own.status == "finished"


def test_coefficients_are_those_of_scipy():
    for own, known in (
        (INCREMENTS, "A"),
        (WEIGHTS, "B"),
        (PARTS, "C"),
        (THIRD, "E3"),
        (FIFTH, "E5"),
    ):
        assert np.array_equal(own, getattr(DOP853, known))


@pytest.mark.parametrize("until", [10.0, -10.0])
def test_steps_taken_at_once_are_those_taken_one_by_one_to_the_last_bit(until):
    prepared = prepared_run(pendulum(), until, {"x": -1.0})
    one, other = (
        Dop853Steps(
            StateFunction(prepared.problem.rhs, prepared.values),
            0.0,
            prepared.initial,
            until,
            rtol=1e-6,
            atol=1e-9,
        )
        for _ in range(2)
    )
    times, states = [], []
    while one.status == "running":
        one.step()
        times.append(one.t)
        states.append(one.y)
    found = [other.several(7, (0, np.inf, np.inf)) for _ in range(-(-len(times) // 7))]
    assert other.status == "finished"
    assert np.array_equal(np.concatenate([ends for ends, _ in found]), times)
    assert np.array_equal(np.concatenate([reached for _, reached in found]), states)


def test_steps_taken_at_once_end_with_one_that_is_far_longer_than_the_shortest():
    s = ds.states(x="")
    system = ds.ControlSystem(s, {"x": -s.x})
    prepared = prepared_run(system, 1e3, {"x": 1.0})
    rate = StateFunction(prepared.problem.rhs, prepared.values)
    method = Dop853Steps(rate, 0.0, prepared.initial, 1e3, rtol=1e-3, atol=1e-6)
    ends, _ = method.several(100, (3, 5.0, np.inf))
    lengths = np.diff(ends, prepend=0.0)
    assert lengths[-1] > 5.0 * np.min(lengths)
    assert np.all(lengths[3:-1] <= 5.0 * np.minimum.accumulate(lengths)[3:-1])
    assert 4 <= len(ends) < 100
    assert method.status == "running"
