"""Solvers of a user's own: steps alone, and samples, events and halting follow."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers import State, Status, StepError, Stepper
from tests.systems import oscillator, pendulum, prepared_run

from .own_heun import Heun
from .own_solver import RungeKutta4

SINE = {"x": 0.0, "x_dot": 1.0}
FREE = {"formulation": ds.Feedback(rates={"energy": None})}
ERROR = 20.0 * 0.01**4 / 120
"""Of sin t after 20 s: h^4 / 120 in each second, the first term of the exponential left out."""


def segment(system, until, *, at=(), observe=lambda block: None, initial=SINE):
    prepared = prepared_run(system, until, initial, solver=RungeKutta4(), **FREE)
    start = State(0.0, prepared.initial, prepared.values)
    return prepared.solver.segment(prepared.problem, start, until, np.array(at), observe)


@pytest.mark.parametrize("until", [20.0, -20.0])
def test_samples_within_steps_are_those_of_the_sine(until):
    run = ds.solve(oscillator(), until, SINE, solver=RungeKutta4(), at=ds.every(0.377), **FREE)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.end_time == until
    assert np.max(np.abs(run["x"] - np.sin(run.times))) <= ERROR
    assert np.max(np.abs(run["x_dot"] - np.cos(run.times))) <= ERROR


def test_the_order_is_four():
    errors = []
    for solver in (RungeKutta4(0.1), RungeKutta4(0.1).refined()):
        run = ds.solve(oscillator(), 10.0, SINE, solver=solver, at=[10.0], **FREE)
        errors.append(np.hypot(run["x"][0] - np.sin(10.0), run["x_dot"][0] - np.cos(10.0)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.1)


@pytest.mark.parametrize("until", [20.0, -20.0])
@pytest.mark.parametrize("rtol", [1e-3, 1e-5])
def test_the_error_of_controlled_steps_follows_their_tolerance(until, rtol):
    """Euler's step of the sine errs by h^2 / 2 of the state, Heun's by h^3 / 6.

    So h^2 <= 2 rtol, and the error after 20 s is 20 h^2 / 6 <= 20 rtol / 3. Steps of 0.9 of the
    length that the tolerance allows make it 0.81 of that.
    """
    solver = Heun(rtol, rtol / 100)
    run = ds.solve(oscillator(), until, SINE, solver=solver, at=ds.every(0.377), **FREE)
    error = np.max(np.abs(run["x"] - np.sin(run.times)))
    assert run.end_time == until
    assert 0.75 * 20 * rtol / 3 <= error <= 20 * rtol / 3


def test_controlled_steps_shrink_where_a_motion_goes_to_infinity():
    x = ds.states(x="")
    run = ds.solve(ds.ControlSystem(x, {"x": x.x**2}), 2.0, {"x": 1.0}, solver=Heun(1e-4))
    assert run.outcome is ds.Outcome.FAILED
    assert "steps have" in run.message
    assert run.end_time == pytest.approx(1.0, rel=1e-3)


def test_steps_and_evaluations_are_counted_and_handed_over_once():
    blocks = []
    end = segment(oscillator(), 20.0, observe=blocks.append)
    times = np.concatenate([block.times for block in blocks])
    assert end.status is Status.REACHED
    assert len(blocks) > 1
    assert np.diff([0.0, *times]) == pytest.approx(0.01, rel=1e-9)
    assert (end.steps, end.rhs_evaluations) == (2000, 8000)
    assert sum(block.evaluations for block in blocks) == 8000


def test_events_are_recorded_and_interrupt():
    system = oscillator(
        events=lambda q: [
            ds.Event("half", q.x - 0.5, ds.RISING),
            ds.Event("stop", q.x + 0.5, ds.FALLING, ds.Stop()),
        ]
    )
    run = ds.solve(system, 20.0, SINE, solver=RungeKutta4(), at=ds.every(0.1), **FREE)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert [event.name for event in run.events] == ["half", "stop"]
    exact = np.pi * np.array([1 / 6, 7 / 6])
    # the slope of the guards there is cos(pi / 6)
    assert [event.time for event in run.events] == pytest.approx(exact, abs=2 * ERROR)
    assert run.times[-1] <= run.end_time < run.times[-1] + 0.1


@pytest.mark.parametrize("solver", [RungeKutta4(), Heun()])
def test_a_ball_goes_through_its_impacts(solver):
    """Dropped from 1 m with restitution 0.8: it lands after sqrt(2 / g) (1 + 2 (0.8 + 0.8^2))."""
    q = ds.coordinates(y="m")
    strike = ds.Reset({"y_dot": -0.8 * q.dot.y})
    ball = ds.MechanicalSystem(
        q, kinetic=q.dot.y**2 / 2, potential=10 * q.y,
        events=[ds.Event("strike", q.y, ds.FALLING, strike)],
    )  # fmt: skip
    run = ds.solve(ball, 1.5, {"y": 1.0}, solver=solver, **FREE)
    exact = np.sqrt(0.2) * np.array([1.0, 2.6])
    assert [event.time for event in run.events] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("answer", [bool, np.bool_])
def test_it_halts_where_the_observer_wants_no_more(answer):
    end = segment(oscillator(), 1000.0, observe=lambda block: answer(block.times[-1] > 5.0))
    assert end.status is Status.HALTED
    assert end.time == pytest.approx(10.0)


def test_what_is_not_finite_is_a_failure_that_keeps_its_data():
    """x' = x^2 from 1 ends at t = 1; steps of fixed length go over it, and overflow."""
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": x.x**2})
    run = ds.solve(system, 2.0, {"x": 1.0}, solver=RungeKutta4(), at=[0.0, 0.5, 2.0])
    assert run.outcome is ds.Outcome.FAILED
    assert "no longer finite" in run.message
    assert run["x"][:-1] == pytest.approx([1.0, 2.0], rel=1e-7)
    assert run.times[-1] == run.end_time < 2.0
    assert np.isfinite(run["x"][-1])


def test_a_run_is_verified_by_half_the_step():
    run = ds.solve(pendulum(), 2.0, {"x": -1.0}, solver=RungeKutta4(0.002), at=[2.0], verify="same")
    assert run.verification is not None
    assert "0.001" in run.verification.against


class Shrinking(Stepper):
    """Steps of x' = 1, each half as long as the one before."""

    def steps(self, start, until):
        time, x, length = start.time, start.x, (until - start.time) / 4
        while True:
            time, x, length = time + length, x + length, length / 2
            yield time, x


class Broken(Stepper):
    """Two steps of x' = 1, and no third."""

    def steps(self, start, until):
        step = (until - start.time) / 4
        for number in (1, 2):
            yield start.time + number * step, start.x + number * step
        raise StepError("the third step is one too many")


@pytest.mark.parametrize(
    ("kind", "steps", "reached", "reason"),
    [(Shrinking, 238, 2.0, "too small to continue"), (Broken, 2, 2.0, "one too many")],
)
def test_steps_that_lead_nowhere_or_end_are_a_failure_that_keeps_its_data(
    kind, steps, reached, reason
):
    # After n steps 2^(1 - n) s is left; 200 later ones move less than 1e-12 of 4 s from n = 39 on.
    x = ds.states(x="")
    clock = ds.ControlSystem(x, {"x": 1.0 + 0.0 * x.x})
    prepared = prepared_run(clock, 4.0, {"x": 0.0}, solver=RungeKutta4())
    seen = []
    end = kind(prepared.problem, prepared.values).segment(
        State(0.0, prepared.initial, prepared.values), 4.0, np.array([0.0, 1.0, 3.0]), seen.append
    )
    assert end.status is Status.FAILED
    assert reason in end.message
    assert end.steps == sum(len(block.times) for block in seen) == steps
    assert end.time == end.state[0] == pytest.approx(reached)
    assert end.samples.ravel() == pytest.approx([0.0, 1.0])
