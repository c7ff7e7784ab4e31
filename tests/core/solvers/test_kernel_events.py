"""Motions with resets by the kernel, whose events are found in the guards' own series."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.solvers import State, Status, kernel_events
from daesolve.core.solvers.kernel_events import KernelEventIntegrator
from daesolve.core.solvers.series_events import halts_in_kernel
from daesolve.core.solvers.taylor_kernel import halting
from tests.systems import oscillator, prepared_run

KERNEL = ds.Taylor(engine="kernel")
EPS = float(np.finfo(float).eps)
AMPLITUDE = math.sqrt(1.25)
"""Of the oscillator that starts at x = -1/2 with the speed 1: x = A sin(t - PHASE)."""
PHASE = math.asin(0.5 / AMPLITUDE)


def _walled(q: ds.Coordinates) -> list[ds.Event]:
    return [
        ds.Event("wall", q.x - 0.5, ds.RISING, ds.Reset({"x_dot": -q.dot.x})),
        ds.Event("middle", q.x, ds.EITHER, ds.Record()),
    ]


def _segment(
    until: float = 10.0,
    at: tuple[float, ...] = (),
    start: tuple[float, float] = (-0.5, 1.0),
    events: object = _walled,
) -> tuple[ds.solvers.SegmentEnd, list[StepBlock], KernelEventIntegrator]:
    run = prepared_run(oscillator(events=events), 10.0, {"x": -0.5, "x_dot": 1.0}, solver=KERNEL)
    assert halts_in_kernel(run.problem)
    integrator = KernelEventIntegrator(EPS, run.problem)
    blocks: list[StepBlock] = []
    begin = State(0.0, np.array(start), run.values)
    return integrator.segment(begin, until, np.array(at), blocks.append), blocks, integrator


def test_a_segment_ends_where_its_guard_is_zero_with_all_that_lies_before() -> None:
    end, blocks, _ = _segment(at=(0.0, 0.25, 0.8, 2.0))
    hit = PHASE + math.asin(0.5 / AMPLITUDE)
    assert end.status is Status.STOPPED
    # Rounding of the time, of the state over a few steps, and of this formula.
    assert end.time == pytest.approx(hit, abs=16 * EPS)
    assert end.state[0] >= 0.5
    assert [h.index for h in end.hits] == [1, 0]
    assert end.hits[0].time == pytest.approx(PHASE, abs=16 * EPS)
    assert blocks[-1].times[-1] == end.time
    assert end.steps == sum(len(block.times) for block in blocks)
    samples = [AMPLITUDE * math.sin(t - PHASE) for t in (0.0, 0.25, 0.8)]
    assert end.samples[:, 0] == pytest.approx(samples, abs=16 * EPS)


def test_backwards_in_time_guards_are_found_in_their_order() -> None:
    end, _, _ = _segment(until=-10.0, start=(-0.5, -1.0))
    assert end.status is Status.STOPPED
    assert end.time == pytest.approx(-(PHASE + math.asin(0.5 / AMPLITUDE)), abs=16 * EPS)
    assert [h.index for h in end.hits] == [1, 0]
    assert end.hits[0].time == pytest.approx(-PHASE, abs=16 * EPS)


def test_what_has_just_been_reset_is_met_again_only_when_it_comes_back() -> None:
    end, _, _ = _segment(start=(0.5, -1.0))
    assert end.time == pytest.approx(math.pi + 2.0 * PHASE, abs=32 * EPS)


def test_a_guard_that_rests_at_zero_but_for_rounding_passes_nowhere() -> None:
    """Its terms are large and cancel; what is left changes its sign from step to step."""

    def resting(q: ds.Coordinates) -> list[ds.Event]:
        zero = (ca.sin(q.x) ** 2 + ca.cos(q.x) ** 2 - 1.0) * q.x
        return [ds.Event("rests", zero, ds.RISING, ds.Reset({"x_dot": 0.0 * q.dot.x}))]

    end, _, _ = _segment(events=resting)
    assert (end.status, end.hits) == (Status.REACHED, ())


def test_what_is_left_open_is_looked_at_more_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _, _ = _segment(at=(0.25, 0.8))

    def undecided(*arguments: object) -> tuple[int, int, int]:
        return 0, halting.UNDECIDED, -1

    monkeypatch.setattr(kernel_events, "march_to_guards", undecided)
    found, _, _ = _segment(at=(0.25, 0.8))
    assert found.status is whole.status
    assert found.time == pytest.approx(whole.time, abs=16 * EPS)
    assert found.samples == pytest.approx(whole.samples, abs=16 * EPS)
    assert [h.index for h in found.hits] == [h.index for h in whole.hits]


def test_a_tick_is_due_at_its_very_instant() -> None:
    """Its guard is linear, so that Newton's first step lands on the zero or beside it."""

    d = ds.discrete(due=1.0, count=0.0)
    q = ds.coordinates(x="m")
    tick = ds.Event(
        "tick", ds.time - d.due, ds.RISING, ds.Reset({"due": d.due + 1.0, "count": d.count + 1.0})
    )
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, discrete=d, events=[tick]
    )
    run = ds.solve(system, until=200.5, initial={"x": 1.0}, solver=KERNEL)
    assert [event.time for event in run.events] == [float(k) for k in range(1, 201)]


def test_a_ball_bounces_at_the_times_of_its_formula() -> None:
    q = ds.coordinates(y="m")
    floor = ds.Holonomic("floor", q.y)
    bounce = ds.Event("bounce", q.y, ds.FALLING, ds.Reset(impose=[floor], restitution=1.0))
    system = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=9.81 * q.y, events=[bounce])
    run = ds.solve(system, until=100.0, initial={"y": 1.0}, solver=KERNEL)
    fall = math.sqrt(2.0 / 9.81)
    times = np.array([event.time for event in run.events])
    expected = fall * (2.0 * np.arange(len(times)) + 1.0)
    assert len(times) == math.floor((100.0 / fall + 1.0) / 2.0)
    # Each bounce rounds the time and the speed, whose error adds to all later times.
    bounces = np.arange(1, len(times) + 1)
    assert np.all(np.abs(times - expected) <= 4.0 * EPS * expected * bounces)


def test_a_dip_that_no_series_shows_is_found_all_the_same() -> None:
    """Between two steps it is as deep as a quarter of a rounding of the guard elsewhere."""
    q = ds.coordinates(x="m")
    dip = ds.Event("dip", (ds.time - 7.3) ** 2 - 2.5e-17, ds.EITHER, ds.Record())
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=[dip])
    run = ds.solve(system, until=20.0, initial={"x_dot": 1.0}, solver=KERNEL)
    times = [event.time for event in run.events]
    assert times == pytest.approx([7.3 - 5e-9, 7.3 + 5e-9], abs=1e-14)


def _over_a_state(q: ds.Coordinates) -> list[ds.Event]:
    """Zero where x = 1/4; a pole at x = -2, which the motion does not come to."""
    guard = (q.x - 0.25) / (q.x + 2.0)
    return [ds.Event("quotient", guard, ds.RISING, ds.Reset({"x_dot": -q.dot.x}))]


def test_a_guard_that_divides_is_followed_by_its_series() -> None:
    end, _, integrator = _segment(events=_over_a_state)
    assert len(integrator.stepper.instructions.borders) == 1
    assert end.status is Status.STOPPED
    assert end.time == pytest.approx(PHASE + math.asin(0.25 / AMPLITUDE), abs=16 * EPS)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("power", [1, 3])
def test_what_passes_a_pole_passes_no_zero(power: int) -> None:
    def through_a_pole(q: ds.Coordinates) -> list[ds.Event]:
        guard = 1.0 / (q.x - 0.25) ** power
        return [ds.Event("pole", guard, ds.EITHER, ds.Reset({"x_dot": -q.dot.x}))]

    run = ds.solve(
        oscillator(events=through_a_pole), until=10.0, initial={"x": -0.5, "x_dot": 1.0},
        solver=KERNEL,
    )  # fmt: skip
    assert run.events == ()
    assert run.outcome is ds.Outcome.COMPLETED


def test_a_tangent_is_left_to_whoever_looks_closer() -> None:
    """Its poles are no zeros of what divides."""

    def tangent(q: ds.Coordinates) -> list[ds.Event]:
        return [ds.Event("slope", ca.tan(q.x) - 0.25, ds.RISING, ds.Reset({"x_dot": -q.dot.x}))]

    start = {"x": -0.5, "x_dot": 1.0}
    run = prepared_run(oscillator(events=tangent), 10.0, start, solver=KERNEL)
    assert not halts_in_kernel(run.problem)


def test_a_guard_of_either_direction_is_met_each_time_it_passes() -> None:
    """The reset changes nothing that the guard depends upon: it goes on from its zero."""

    def counted(q: ds.Coordinates) -> list[ds.Event]:
        return [ds.Event("turn", q.dot.x, ds.EITHER, ds.Reset({"x": 1.0 * q.x}))]

    run = ds.solve(
        oscillator(events=counted), until=100.0, initial={"x": -0.5, "x_dot": 1.0}, solver=KERNEL
    )
    turns = PHASE + math.pi / 2.0 + math.pi * np.arange(run.event_count)
    assert run.event_count == math.floor((100.0 - turns[0]) / math.pi) + 1
    found = np.array([event.time for event in run.events])
    assert np.all(np.abs(found - turns) <= 16 * EPS * np.arange(1, len(turns) + 1) * 4)


def test_a_guard_that_swings_faster_than_the_states_shortens_the_steps() -> None:
    def fast(q: ds.Coordinates) -> list[ds.Event]:
        guard = ca.sin(40.0 * ds.time) - 0.5
        return [ds.Event("beat", guard, ds.RISING, ds.Reset({"x_dot": 1.0 * q.dot.x}))]

    end, _, _ = _segment(events=fast)
    assert end.time == pytest.approx(math.asin(0.5) / 40.0, abs=4 * EPS)


def test_a_guard_that_is_left_slower_than_rounding_shows_is_met_where_it_comes_back() -> None:
    """Blows that halve the speed come ever sooner, and are all met until the speed is rounding.

    The body goes up from the floor at v and is back after 2 v / g; at the end it rises by less
    than a rounding of where it is. A speed below 1e-12 of the first counts as none, so that blows
    are left out for 4 * fall * 1e-12 at the end.
    """
    q = ds.coordinates(y="m")
    bounce = ds.Event("bounce", q.y - 1.0, ds.FALLING, ds.Reset({"y_dot": -0.5 * q.dot.y}))
    ball = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=9.81 * q.y, events=[bounce])
    run = ds.solve(ball, until=5.0, initial={"y": 2.0, "y_dot": 0.0}, solver=KERNEL)
    fall = math.sqrt(2.0 / 9.81)
    assert run.outcome is ds.Outcome.FAILED
    assert "comes to rest" in run.message
    assert run.end_time == pytest.approx(3.0 * fall, abs=4.0 * fall * 1e-12)
    times = np.array([event.time for event in run.events[:40]])
    assert times == pytest.approx(3.0 * fall - 4.0 * fall * 0.5 ** np.arange(1, 41), rel=1e-13)


@pytest.mark.parametrize("power", [2, 3, 5, 9, 30])
def test_series_that_leave_out_their_last_terms_are_held_against_their_guards(power: int) -> None:
    """Of sin(3 t^n) from zero on, terms n, 3 n, 5 n, ... remain: the last two say nothing."""
    x = ds.states(y="m")
    until = (4.5 * math.pi / 3.0) ** (1.0 / power)
    wave = ds.Event("wave", ca.sin(3.0 * ds.time**power), ds.EITHER, ds.Record())
    system = ds.ControlSystem(x, {"y": -x.y}, events=[wave])
    run = ds.solve(system, until=until, initial={"y": 1.0}, solver=KERNEL)
    exact = [(k * math.pi / 3.0) ** (1.0 / power) for k in range(1, 5)]
    # The rounding of 3 t^n, over its rate, and of the time: all below 16 units of the time.
    assert [event.time for event in run.events] == pytest.approx(exact, rel=16 * EPS)
