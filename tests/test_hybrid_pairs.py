"""Resets and impacts in every formulation on every solver that takes it: the same events.

Three motions with goals of their own, at tolerances of 1e-9: a pendulum whose string meets a peg, a
rimless wheel, a particle that a rod catches. The time of an event is as exact as the state is: the
guard at the state that is told is zero to rounding, where the solver steps to it again, and to the
error of its interpolant for those that cannot.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.formulations import FORMULATIONS
from daesolve.core.solvers import SOLVERS

from .hybrid_systems import (
    GRAVITY,
    bounces,
    bouncing_ball,
    latched_particle,
    peg_pendulum,
    peg_times,
    rimless_rates,
    rimless_start,
    rimless_times,
    rimless_wheel,
)
from .systems import WITHOUT_ASSIMULO

TOLERANCE = 1e-9
BOUNDS = {
    "feedback": 1e-6,
    "null-space": 5e-6,
    "projected": 1e-6,
    "index-1": 1e-5,
    "index-2": 1e-5,
    "ggl": 1e-5,
    "index-3": 1e-4,
    "overdetermined": 1e-5,
}
"""The error of times and states that is allowed. Null-space feeds no error of the energy back, so
that swings become too long or too short."""
ON_GUARD = 1e-9
"""How far from zero a guard may be at the reported place of its event."""
PAIRS = [
    (formulation, solver)
    for formulation in BOUNDS
    for solver, kind in SOLVERS.items()
    if FORMULATIONS[formulation]().form in kind.forms
]
EXPLICIT = [name for name, kind in SOLVERS.items() if "ode" in kind.forms]


class Expected(NamedTuple):
    """A run and what is known of it: times of events, and a state after each by name."""

    system: ds.MechanicalSystem
    start: dict[str, float]
    until: float
    times: np.ndarray
    speeds: np.ndarray
    guard: str


@cache
def pegged() -> Expected:
    angle, count = 1.0, 4
    times = peg_times(angle, count)
    start = {"x": math.sin(angle), "y": -math.cos(angle), "x_dot": 0.0, "y_dot": 0.0}
    speed = math.sqrt(2.0 * GRAVITY * (1.0 - math.cos(angle)))
    speeds = np.full(count, speed)
    return Expected(peg_pendulum(), start, times[-1] + 0.1, times, speeds, "x")


@cache
def walking() -> Expected:
    times, rates = rimless_times(1.5, 4), rimless_rates(1.5, 4)
    return Expected(rimless_wheel(), rimless_start(1.5), times[-1] + 0.1, times, rates, "")


@cache
def latched() -> Expected:
    start = {"x": -0.5, "y": 0.8, "idle": 0.0, "x_dot": 1.0, "y_dot": 0.3, "idle_dot": 0.0}
    return Expected(latched_particle(), start, 1.5, np.array([0.5]), np.ones(1), "x")


MOTIONS = {"peg": pegged, "rimless wheel": walking, "rod": latched}


def made(solver: str) -> ds.Solver:
    if WITHOUT_ASSIMULO and solver.startswith("assimulo"):
        pytest.skip("Assimulo is not installed")
    kind = SOLVERS[solver]
    return kind(TOLERANCE) if solver == "taylor" else kind(rtol=TOLERANCE, atol=TOLERANCE)  # type: ignore[call-arg]


@pytest.mark.long_beyond(26)
@pytest.mark.slow
@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize(("formulation", "solver"), PAIRS, ids=map(" ".join, PAIRS))
def test_every_pair_finds_the_same_events(formulation, solver, motion):
    expected, bound = MOTIONS[motion](), BOUNDS[formulation]
    run = ds.solve(
        expected.system,
        expected.until,
        expected.start,
        formulation=FORMULATIONS[formulation](),
        solver=made(solver),
        at=ds.every(0.1),
    )
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.event_count == len(expected.speeds)
    assert np.array([e.time for e in run.events]) == pytest.approx(expected.times, abs=bound)
    for event, speed in zip(run.events, expected.speeds, strict=True):
        assert event.after is not None
        assert event.impact is not None
        after = math.hypot(event.after["x_dot"], event.after["y_dot"])
        assert after == pytest.approx(speed, abs=bound)
        assert event.impact.carnot <= 1e-13
        if expected.guard == "x":
            assert abs(event.detail["x"]) <= ON_GUARD
    # a constraint that is imposed is met by the velocities after each impact
    goal = next(iter(run.reactions))
    assert run.drift[goal].max_abs <= bound


@pytest.mark.long_beyond(6)
@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["feedback", "null-space", "projected"])
@pytest.mark.parametrize("solver", EXPLICIT)
def test_every_solver_finds_the_bounces_of_a_ball_and_the_tops_between(solver, formulation):
    """50 bounces; the tops are recorded alone, and do not interrupt the motion."""
    system = bouncing_ball(events=lambda q, p: [ds.Event("top", q.dot.y, ds.FALLING)])
    times, speeds = bounces(0.98, 1.0, 50)
    run = ds.solve(
        system,
        times[-1] + 1e-3,
        {"y": 1.0, "y_dot": 0.0},
        parameters={"restitution": 0.98},
        formulation=FORMULATIONS[formulation](),
        solver=made(solver),
    )
    found = [event for event in run.events if event.name == "bounce"]
    tops = [event for event in run.events if event.name == "top" and event.time > 0.0]
    assert len(found) == 50
    assert len(tops) == 49
    # each flight adds an error of its own
    bound = 50.0 * BOUNDS[formulation] * 0.1
    assert np.array([e.time for e in found]) == pytest.approx(times, abs=bound)
    assert np.array([e.time for e in tops]) == pytest.approx(
        (times[1:] + times[:-1]) / 2, abs=bound
    )
    assert np.array([e.after["y_dot"] for e in found]) == pytest.approx(speeds, abs=bound)
    assert max(abs(e.detail["y"]) for e in found) <= ON_GUARD


@pytest.mark.parametrize("solver", ["cvodes", "dop853"])
def test_an_event_is_found_within_a_billionth_of_a_second_of_a_step(solver):
    """x = t - 1/2 to rounding, wherever a step or a place where states are known ends."""
    q = ds.coordinates(x="m")
    d = ds.discrete(hits=0.0)
    hit = ds.Event("hit", q.x, ds.RISING, ds.Reset({"hits": d.hits + 1.0}))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, discrete=d, events=[hit])
    for beside in (0.0, 3e-10, -3e-10, 7e-10):
        run = ds.solve(
            system, 1.0, {"x": -0.5 + beside, "x_dot": 1.0}, solver=made(solver), at=[0.5]
        )
        assert run.events[0].time == pytest.approx(0.5 - beside, abs=1e-14)
        assert run["x"][0] == pytest.approx(beside, abs=1e-14)
