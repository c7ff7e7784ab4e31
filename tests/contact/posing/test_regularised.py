"""Regularised friction: how far it is from dry friction, and that it creeps."""

from __future__ import annotations

import math

import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, UnsupportedError
from tests.sliding_bodies import BLOCK
from tests.systems import pendulum

LEVEL = {"slope": 0.0}
GRIP = 0.4 * 9.81


@pytest.mark.parametrize("speed", [1e-2, 1e-3])
def test_a_block_slows_down_as_the_equation_with_smooth_friction_says(speed):
    """v' = -g f v / hypot(v, e) has hypot(v, e) - e artanh(e / hypot(v, e)) + f g t constant."""

    def left(v):
        size = math.hypot(v, speed)
        return size - speed * math.atanh(speed / size)

    run = ds.solve(
        BLOCK(),
        0.8,
        {"x": 0.0, "x_dot": 3.0},
        parameters=LEVEL,
        formulation=ds.Regularised(speed),
        solver=ds.Dop853(rtol=1e-11, atol=1e-14),
        at=[0.5, 0.76],
    )
    assert run.outcome is ds.Outcome.COMPLETED
    for time, v in zip(run.times, run["x_dot"], strict=True):
        assert left(v) + GRIP * time == pytest.approx(left(3.0), rel=1e-10)


@pytest.mark.core
def test_under_any_load_it_creeps_at_a_speed_in_proportion():
    """f m g v / hypot(v, e) = P."""
    share = 0.8
    values = {**LEVEL, "push": share * 2.0 * GRIP}
    for speed in (1e-2, 1e-3):
        run = ds.solve(
            BLOCK(),
            1.0,
            {"x": 0.0, "x_dot": 0.0},
            parameters=values,
            formulation=ds.Regularised(speed),
            at=[1.0],
        )
        assert run["x_dot"][0] == pytest.approx(speed * share / math.sqrt(1 - share**2), rel=1e-6)


def test_it_is_refused_where_there_are_no_supports_and_at_no_speed():
    with pytest.raises(UnsupportedError, match="the system has none"):
        ds.solve(pendulum(), 1.0, {"x": 0.0, "y": -1.0}, formulation=ds.Regularised())
    with pytest.raises(OutOfRangeError, match="must be a number > 0"):
        ds.Regularised(0.0)
