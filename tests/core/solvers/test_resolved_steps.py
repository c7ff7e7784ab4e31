"""Steps whose looks show everything are looked into at once, with the zeros of a look into each."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.solvers import guards
from daesolve.core.solvers.resolved_steps import (
    Looks,
    even_looks,
    refined_looks,
    resolved_steps,
    together,
)
from tests.systems import pendulum, prepared_run


def none_resolved(*_):
    return {}


def passages(monkeypatch, events, *, together):
    """The times and places of what a pendulum passes, its steps looked into together or not."""
    with monkeypatch.context() as changed:
        if not together:
            changed.setattr(guards, "resolved_steps", none_resolved)
        run = ds.solve(pendulum(events=events), 40.0, {"x": 0.8}, at=[])
    return [(event.name, event.time, event.detail["x"]) for event in run.events]


def low(q, p):
    """Beside a guard that passes, others have an extremum in the same step, or dip."""
    return [
        ds.Event("lowest", q.x),
        ds.Event("fast", q.dot.x**2 - 5.0 * (p.length + q.y), ds.RISING),
        ds.Event("near", q.y + 0.99),
    ]


def sharp(q, _):
    """It oscillates within steps, so that no even looks show its course."""
    return [ds.Event("ripple", q.x - 0.3 + 0.05 * ca.sin(200.0 * q.x))]


@pytest.mark.parametrize("events", [low, sharp])
def test_zeros_are_those_of_a_look_into_each_step(monkeypatch, events):
    all_at_once = passages(monkeypatch, events, together=True)
    alone = passages(monkeypatch, events, together=False)
    assert len(all_at_once) > 20
    assert all_at_once == alone


def test_steps_in_which_a_guard_dips_are_left_to_a_closer_look(monkeypatch):
    """Turning 1e-9 beyond the line, the pendulum passes it twice, 1e-4 s apart at each turn."""

    def turning(q, p):
        return [ds.Event("turn", q.x - (0.8 - 1e-9))]

    found = passages(monkeypatch, turning, together=True)
    times = np.array([time for _, time, _ in found])
    assert found == passages(monkeypatch, turning, together=False)
    # It starts beyond the line and leaves it once, and then passes twice at each turn.
    assert len(times) > 20
    assert np.all(np.diff(times)[1::2] < 1e-3)


def moving(guard):
    """A body in free motion, x = t, and its guard."""
    q = ds.coordinates(x="m")
    events = [ds.Event("met", guard(q.x), then=ds.Record())]
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, events=events)
    return prepared_run(system, 10.0, {"x": 0.0, "x_dot": 1.0})


def states(times):
    return np.stack([times, np.ones_like(times)], axis=-1)


def resolved(run, times):
    """The looks into resolved steps."""
    both = np.stack([times[:-1], times[1:]], axis=1)
    known = evaluate_block(run.problem.guards, both.ravel(), states(both.ravel()), run.values)[0]
    ends = Looks(np.arange(len(both)), both, states(both), known.reshape(*both.shape, -1))
    looks = even_looks(run.problem, run.values, ends, 8, states)
    return resolved_steps(run.problem, run.values, looks, states)


@pytest.mark.parametrize("height", [-0.05, -1e-3, -1e-9, 1e-9, 1e-3, 0.05])
def test_looks_into_a_step_with_a_dip_through_zero_show_it_or_it_is_not_resolved(height):
    found = resolved(moving(lambda x: (x - 4.3) ** 2 + height), np.arange(11.0))
    assert {*range(10)} - {4} <= set(found)
    if height < 0.0 and 4 in found:
        assert np.min(found[4][2]) < 0.0


def test_steps_with_many_swings_are_resolved_by_more_looks():
    found = resolved(moving(lambda x: ca.sin(15.0 * x) - 1.5), np.arange(11.0))
    assert set(found) == {*range(10)}
    assert {len(times) for times, _, _ in found.values()} != {9}


def test_a_step_in_which_a_guard_is_no_number_is_not_resolved():
    found = resolved(moving(lambda x: 3.0 + ca.sqrt(5.5 - x)), np.arange(11.0))
    assert set(found) == {*range(5)}


def hits(shape):
    rates, phases, shift = shape
    run = moving(
        lambda x: ca.sin(rates[0] * x + phases[0]) + ca.sin(rates[1] * x + phases[1]) + shift
    )
    times = np.linspace(0.0, 10.0, 41)
    steps = guards.AcceptedSteps(
        times,
        states(times),
        states(guards.inner_times(times)),
        states,
        lambda _, time: states(np.array(time)),
    )
    return [hit.time for hit in guards.find_events(run.problem, run.values, steps)]


@pytest.mark.slow
def test_the_search_finds_the_same_whether_steps_are_resolved_together_or_not(monkeypatch):
    draw = np.random.default_rng(3).uniform
    shapes = [(draw(0.5, 9.0, 2), draw(0.0, 6.0, 2), draw(-1.9, 1.9)) for _ in range(20)]
    found = [hits(shape) for shape in shapes]
    monkeypatch.setattr(guards, "resolved_steps", none_resolved)
    assert found == [hits(shape) for shape in shapes]
    assert sum(map(len, found)) > 100


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_only_what_is_rough_in_a_step_is_looked_at_closely(way):
    """A kink beside a smooth guard: as close as 4096 even looks, by fewer than a twentieth."""
    kink = 0.3137 * way

    def look(times):
        return times[:, None], np.column_stack([np.abs(times - kink), np.cos(3.0 * times)])

    even = way * np.linspace(0.0, 1.0, 65)
    table = even, *look(even)
    tables = refined_looks(table, 64, 4096, np.zeros(2), look)
    times, states, values = together(tables)
    assert set(even) <= set(times)
    assert len(times) < 200
    assert np.all(way * np.diff(times) > 0.0)
    np.testing.assert_array_equal(values, look(times)[1])
    np.testing.assert_array_equal(states[:, 0], times)
    around = np.flatnonzero(np.abs(times - kink) < 2.0 / 4096)
    np.testing.assert_allclose(np.abs(np.diff(times[around])), 1.0 / 4096, rtol=1e-12)
    # Without the kink nothing is rough.
    smooth = even, even[:, None], np.cos(3.0 * even)[:, None]
    assert refined_looks(smooth, 64, 4096, np.zeros(1), look) == [smooth]
