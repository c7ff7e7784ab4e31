"""Projection: the nearest consistent state in the metric of the mass matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.preparation.preparing import Request, prepare
from daesolve.errors import UnsupportedError
from tests.systems import EPSILON, chain, chain_state, free_body, pendulum, wheel, wheel_state

SWING = {"x": 1.0, "y": 0.0, "x_dot": 0.0}


@pytest.mark.slow
@given(angle=st.floats(-3, 3), speed=st.floats(-3, 3), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_the_projection_fulfils_all_and_moves_along_the_gradient(angle, speed, seed):
    """Two Newton steps from 1e-4 leave 1e-16; the rest of the move is of second order."""
    prepared = prepare(pendulum(), Request(1.0, initial=SWING, formulation=ds.Projected()))
    problem, p = prepared.problem, prepared.values.copy()
    # Of equal energy with the start, where V = 0.
    height = np.sin(angle)
    direction = np.array([np.cos(angle), height])
    tangent = np.array([-height, np.cos(angle)])
    p[[*problem.values].index("reference_energy")] = speed**2 / 2 + 9.81 * height
    p[[*problem.values].index("floor_energy")] = 0.0
    state = np.concatenate([direction, speed * tangent])
    moved = state + 1e-4 * np.random.default_rng(seed).uniform(-1, 1, 4)
    assert problem.project is not None
    found = np.asarray(problem.project(0.0, moved, p)).ravel()
    residuals = np.asarray(problem.residuals(0.0, found, p)[0]).ravel()
    assert abs(residuals[0]) < 10 * EPSILON
    assert abs(residuals[1]) < 10 * EPSILON * (1 + abs(speed))
    if abs(speed) > 0.5:
        assert abs(residuals[2]) < 1e-12
    # Equal masses: the positions move along the rod.
    assert abs((found - moved)[:2] @ tangent) < 1e-7


def test_each_step_of_a_one_step_method_ends_on_the_constraints_and_the_energy():
    run = ds.solve(
        pendulum(), 20.0, SWING, formulation=ds.Projected(), solver=ds.Dop853(1e-9, 1e-11)
    )
    for name in ("rod", "rod_dot"):
        assert run.drift[name].max_relative < 10 * EPSILON
    # Newton's second step leaves the square of the error of a step of 1e-9.
    assert run.drift["energy"].max_relative < 1e-14
    assert run.drift["energy"].driven


def test_projecting_costs_one_right_hand_side_a_step():
    """Twelve stages of the method and one after the projection, besides rejected steps."""
    settings = {"until": 20.0, "initial": SWING, "solver": ds.Dop853(1e-9, 1e-11), "at": [20.0]}
    still = ds.Feedback(rate=0.0)
    plain = ds.solve(pendulum(), formulation=still, **settings).statistics
    projected = ds.solve(pendulum(), formulation=ds.Projected(still), **settings).statistics
    extra = projected.rhs_evaluations - plain.rhs_evaluations
    # The steps of both agree but for the size of errors: by one in a hundred.
    assert abs(extra - projected.steps) < 0.02 * plain.rhs_evaluations


@pytest.mark.slow
def test_a_multistep_method_is_projected_at_its_segments():
    run = ds.solve(
        pendulum(),
        30.0,
        SWING,
        formulation=ds.Projected(ds.Feedback(rate=0.0)),
        solver=ds.Cvodes(1e-9, 1e-11),
    )
    plain = ds.solve(
        pendulum(), 30.0, SWING, formulation=ds.Feedback(rate=0.0), solver=ds.Cvodes(1e-9, 1e-11)
    )
    assert run.drift["rod"].max_relative < 0.2 * plain.drift["rod"].max_relative
    assert abs(run["x"][-1] ** 2 + run["y"][-1] ** 2 - 1.0) < 1e-7


def test_an_energy_that_is_switched_off_is_left_alone():
    inner = ds.Feedback(rate=0.0, rates={"energy": None})
    run = ds.solve(
        pendulum(), 5.0, SWING, formulation=ds.Projected(inner), solver=ds.Dop853(1e-6, 1e-8)
    )
    assert not run.drift["energy"].driven
    assert run.drift["energy"].max_relative > 1e-9
    assert run.drift["rod"].max_relative < 10 * EPSILON


@pytest.mark.slow_rows("wheel", "chain")
@pytest.mark.parametrize(
    ("pose", "start"),
    [
        (wheel, wheel_state(0.2, 1.2)),
        (lambda: chain(2), chain_state([0.9, -0.4])),
        (free_body, {"w": 1.0, "wx": 0.3, "wy": 1.0, "wz": -0.4}),
    ],
    ids=["wheel", "chain", "body"],
)
def test_directed_reactions_implicit_unknowns_and_quaternions_are_projected(pose, start):
    system = pose()
    plain = ds.solve(system, 2.0, start)
    run = ds.solve(system, 2.0, start, formulation=ds.Projected(), solver=ds.Dop853())
    for name, drift in run.drift.items():
        assert drift.max_relative < 1e-12, name
    for name, series in plain.states.items():
        size = max(1.0, float(np.max(np.abs(series))))
        np.testing.assert_allclose(run[name], series, atol=1e-7 * size)


def test_projection_wraps_other_formulations_alone():
    with pytest.raises(UnsupportedError, match="wraps another formulation"):
        ds.Projected(ds.Projected())
    with pytest.raises(UnsupportedError, match="null-space"):
        ds.solve(pendulum(), 1.0, SWING, formulation=ds.Projected(ds.NullSpace()))
    assert ds.Projected(ds.Index2()).form == "index-2"


@pytest.mark.parametrize("inner", [lambda **rates: ds.Feedback(0.0, **rates), ds.Index1])
def test_what_is_switched_off_is_not_projected_after_a_run_that_projected_it(inner):
    """The two differ in nothing else, and the problem of the first is kept."""
    system = pendulum()
    for rates, driven in (({}, True), ({"energy": None}, False)):
        formulation = ds.Projected(inner(rates=rates))
        prepared = prepare(system, Request(1.0, initial=SWING, formulation=formulation))
        watched = {entry.name: entry.driven for entry in prepared.problem.watched}
        assert watched == {"rod": True, "rod_dot": True, "energy": driven}


def test_a_run_tells_what_was_projected():
    for formulation, title in (
        (ds.Projected(), "projected"),
        (ds.Projected(ds.GGL()), "projected:ggl"),
    ):
        run = ds.solve(pendulum(), 0.1, SWING, formulation=formulation)
        assert run.description["formulation"] == title
