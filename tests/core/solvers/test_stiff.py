"""Radau IIA on stiff equations that are interrupted: order, accuracy, events, restarts."""

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers.collocation import radau
from daesolve.errors import OutOfRangeError
from tests.systems import oscillator, prepared_run

RATE = 1e6
"""1/s, with which the slip of `block` decays."""


def block() -> ds.MechanicalSystem:
    """A light block on a belt that swings: regularised friction, its kink an event.

    Within |u| < delta the slip u follows the belt within its acceleration over `RATE`.
    """
    q = ds.coordinates(x="m")
    p = ds.parameters(
        mass=(1e-3, "kg"),
        push=(1.0, "N"),
        delta=(1e-3, "m/s"),
        swing=(1.0, "m/s"),
        turn=(6.0, "1/s"),
    )
    d = ds.discrete(saturated=0.0)
    slip = q.dot.x - p.swing * ca.sin(p.turn * ds.time)
    direction = d.saturated * ca.sign(slip) + (1 - d.saturated) * slip / p.delta
    guard = (1 - 2 * d.saturated) * (p.delta**2 - slip**2) / p.delta**2
    return ds.MechanicalSystem(
        q,
        p,
        discrete=d,
        kinetic=p.mass * q.dot.x**2 / 2,
        force={"x": -p.push * direction},
        events=[ds.Event("kink", guard, ds.FALLING, ds.Reset({"saturated": 1 - d.saturated}))],
    )


@pytest.mark.parametrize("stages", [3, 5])
def test_coefficients_are_of_radau_type(stages: int) -> None:
    """The quadrature is exact to degree 2 s - 2, and the stages come apart as they should."""
    tableau = radau(stages)
    inverse = np.real(tableau.out_of * tableau.eigenvalues @ tableau.into)
    weights = np.linalg.inv(inverse)[-1]
    degrees = np.arange(2 * stages - 1)
    moments = weights @ tableau.nodes[:, None] ** degrees
    np.testing.assert_allclose(moments, 1.0 / (degrees + 1), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("rtol", "close"), [(1e-6, 1e-4), (1e-9, 1e-7), (1e-12, 1e-10)])
def test_the_error_falls_with_the_tolerance(rtol: float, close: float) -> None:
    """A swing of 10 s: a tolerance of each step gives at most a hundred times that in the end."""
    solver = ds.RadauIIA(rtol=rtol, atol=rtol / 100)
    run = ds.solve(oscillator(), 10.0, {"x_dot": 1.0}, solver=solver, at=[3.3, 10.0])
    np.testing.assert_allclose(run["x"], np.sin([3.3, 10.0]), rtol=0, atol=close)


@pytest.mark.slow
def test_steps_do_not_follow_a_decay_that_is_over() -> None:
    """The block sticks to the belt with the slip of quasi-static friction; no kink is reached.

    With u' = -rate u - a cos(turn t), a = swing turn, it is u = -a (rate cos(turn t) + turn
    sin(turn t)) / (rate^2 + turn^2) when the start has died out: 6e-6 of 1e-3 m/s at most.
    """
    run = ds.solve(
        block(),
        2.0,
        {"x_dot": 0.0},
        solver=ds.RadauIIA(rtol=1e-8, atol=1e-14),
        at=[1.0, 2.0],
    )
    turns = 6.0 * np.array([1.0, 2.0])
    slip = -6.0 * (RATE * np.cos(turns) + 6.0 * np.sin(turns)) / (RATE**2 + 36.0)
    # The sign of the slip switches, though nothing depends on it before saturation.
    assert "kink" not in {event.name for event in run.events}
    np.testing.assert_allclose(run["x_dot"] - np.sin(turns), slip, rtol=1e-6, atol=1e-12)
    # An explicit method is bounded by its stability to steps of 6.4 / RATE.
    assert run.statistics.steps < 2.0 * RATE / 6.4 / 100


@pytest.mark.slow
def test_kinks_of_friction_are_found_by_steps_and_not_by_polynomials() -> None:
    """Far from the belt the block is pulled by a constant force until the slip is delta.

    x_dot = 3 - F t / m reaches sin(6 t) + delta at the first kink.
    """
    times = []
    for rtol in (1e-6, 1e-10):
        run = ds.solve(
            block(),
            0.5,
            {"x_dot": 3.0},
            parameters={"mass": 1e-1, "saturated": 1.0},
            solver=ds.RadauIIA(rtol=rtol, atol=rtol / 100),
        )
        times.append(run.events[0].time)
        assert run.outcome is ds.Outcome.COMPLETED
    gap = [3.0 - 10.0 * t - math.sin(6.0 * t) - 1e-3 for t in times]
    # Its slope is at most 16 m/s^2.
    assert max(map(abs, gap)) < 16.0 * 1e-9


def test_a_number_of_stages_that_is_none_is_refused() -> None:
    with pytest.raises(OutOfRangeError, match="stages is 4, but must be 3, 5 or 7"):
        ds.RadauIIA(stages=4)


def test_the_bordered_equations_solve_like_the_dense_ones() -> None:
    from daesolve.core.solvers.jacobians import _Bordered, _Explicit

    prepared = prepared_run(oscillator(), 1.0, {"x_dot": 1.0})
    problem, p, x = prepared.problem, prepared.values, prepared.initial
    assert problem.equations is not None
    answers, rates = [], []
    for equations in (_Bordered(problem.equations, p, 3), _Explicit(problem, p, 3)):
        y = equations.completed(0.0, x)
        assert equations.move(0.0, y)
        rates.append(equations.rate(0.0, y)[: problem.size])
        right_side = np.zeros(len(y))
        right_side[: problem.size] = np.arange(1.0, problem.size + 1)
        for sigma in (10.0 + 0.0j, 3.0 + 4.0j):
            solve = equations.factorise(sigma)
            assert solve is not None
            found = solve(right_side.astype(complex if sigma.imag else float))
            answers.append(found[: problem.size])
    np.testing.assert_allclose(*rates, rtol=1e-13)
    for one, other in zip(answers[:2], answers[2:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
