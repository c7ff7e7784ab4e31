"""Small integrations that follow a rate to a guard."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import DOP853

from daesolve.contact.following import DensePath, first_positive, follow, root


def falling(before, after):
    return np.flatnonzero((before > 0.0) & (after <= 0.0))


def oscillator(until):
    start = np.array([1.0, 0.0])
    solver = DOP853(lambda t, x: np.array([x[1], -x[0]]), 0.0, start, until, rtol=1e-12, atol=1e-12)
    return solver, DensePath(0.0, start)


def test_steps_end_where_a_guard_passes_and_the_path_is_the_motion_up_to_there():
    solver, path = oscillator(10.0)
    assert follow(solver, path, lambda t, x: np.array([1.0, x[0]]), falling) == [1]
    begin, end = path.times[-2:]
    passage = root(lambda time: path(time)[0], begin, end)
    assert passage == pytest.approx(math.pi / 2.0, abs=1e-9)
    assert first_positive(lambda time: -path(time)[0], begin, end) == pytest.approx(passage)
    path.cut(passage)
    assert path.times[-1] == passage
    np.testing.assert_allclose(path.states[-1], [0.0, -1.0], atol=1e-9)
    for time in np.linspace(0.0, passage, 7):
        np.testing.assert_allclose(path(time), [math.cos(time), -math.sin(time)], atol=1e-9)


def test_without_a_passage_steps_end_at_the_end_or_where_the_motion_is_over():
    solver, path = oscillator(3.0)
    assert follow(solver, path, lambda t, x: np.ones(1), falling) == []
    assert path.times[-1] == 3.0
    solver, path = oscillator(3.0)
    over = lambda state, values: state[0] < 0.5  # noqa: E731
    assert follow(solver, path, lambda t, x: np.ones(1), falling, over) == []
    assert path.states[-1][0] < 0.5
    assert path.times[-1] < 3.0


def test_a_guard_that_is_at_zero_after_a_step_passes_once_it_is_beyond():
    solver, path = oscillator(10.0)
    values = iter([1.0, 0.0, -1.0])
    passes = follow(
        solver,
        path,
        lambda t, x: np.array([next(values)]),
        lambda before, after: np.flatnonzero(before * after < 0.0),
    )
    assert passes == [0]
    assert len(path.times) == 3
