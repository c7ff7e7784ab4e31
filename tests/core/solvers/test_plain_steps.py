"""Steps whose looks show everything are looked into at once, with the zeros of a look into each."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers import plain_steps
from tests.systems import pendulum


def passages(monkeypatch, events, *, together):
    """The times and places of what a pendulum passes, its steps looked into together or not."""
    with monkeypatch.context() as changed:
        if not together:
            changed.setattr(plain_steps, "FEWEST", 10**9)
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
    together = passages(monkeypatch, events, together=True)
    alone = passages(monkeypatch, events, together=False)
    assert len(together) > 20
    assert together == alone


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
