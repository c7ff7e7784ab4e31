"""Steps that are cleared many at a time are those into which a look finds nothing."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.solvers import guards
from daesolve.core.solvers.clear_steps import are_clear
from tests.systems import prepared_run


def moving(guard):
    """A body in free motion, x = t, and its guard."""
    q = ds.coordinates(x="m")
    events = [ds.Event("met", guard(q.x), then=ds.Record())]
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, events=events)
    return prepared_run(system, 10.0, {"x": 0.0, "x_dot": 1.0})


def states(times):
    return np.stack([times, np.ones_like(times)], axis=-1)


def cleared(run, times):
    ends = np.stack([times[:-1], times[1:]], axis=1)
    known = evaluate_block(run.problem.guards, ends.ravel(), states(ends.ravel()), run.values)[0]
    both = (ends, states(ends), known.reshape(*ends.shape, -1))
    return are_clear(run.problem, run.values, both, states, 8)


@pytest.mark.parametrize("height", [-0.05, -1e-3, -1e-9, 1e-9, 1e-3, 0.05])
def test_a_step_with_a_dip_through_zero_is_not_clear_and_those_beside_it_are(height):
    clear = cleared(moving(lambda x: (x - 4.3) ** 2 + height), np.arange(11.0))
    assert np.delete(clear, 4).all()
    if height < 0.0:
        assert not clear[4]


def test_what_is_no_number_is_not_clear():
    clear = cleared(moving(lambda x: 3.0 + ca.sqrt(5.5 - x)), np.arange(11.0))
    assert clear.tolist() == [True] * 5 + [False] * 5


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
def test_the_search_finds_the_same_whether_steps_are_cleared_together_or_not(monkeypatch):
    draw = np.random.default_rng(3).uniform
    shapes = [(draw(0.5, 9.0, 2), draw(0.0, 6.0, 2), draw(-1.9, 1.9)) for _ in range(20)]
    found, asked = [hits(shape) for shape in shapes], []

    def none(_problem, _p, ends, *_rest):
        asked.append(len(ends[0]))
        return np.zeros(len(ends[0]), dtype=bool)

    monkeypatch.setattr(guards, "are_clear", none)
    assert found == [hits(shape) for shape in shapes]
    assert sum(map(len, found)) > 100
    assert sum(asked) > 100
