"""Derivatives of large guards as numbers are those of their functions, and of formulas."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import Request
from daesolve.core.solvers import grazing, guard_derivatives, resting

TIMES = np.array([0.3, 1.7])
STATES = np.array([[1.2, -0.4], [-0.7, 2.1]])
ROUNDING = {"rtol": 64 * np.finfo(float).eps, "atol": 64 * np.finfo(float).eps}


@pytest.fixture(scope="module")
def problem():
    """x'' = -x, with the guards sin(t) x^2 v and x - |v|."""
    q = ds.coordinates(x="m")
    guards = ca.vertcat(ca.sin(ds.time) * q.x**2 * q.dot.x, q.x - ca.fabs(q.dot.x))
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        events=[ds.Event("met", guards)],
    )
    return prepare(system, Request(until=1.0, guess={"x": 1.0, "x_dot": 0.0})).problem


def test_slopes_are_those_of_formulas(problem, monkeypatch):
    monkeypatch.setattr(guard_derivatives, "MANY", 0)
    p = problem.value_vector({})
    for time, (x, v) in zip(TIMES, STATES, strict=True):
        by_state, by_time = resting.slopes_of_guards(problem, time, np.array([x, v]), p)
        sine, cosine = np.sin(time), np.cos(time)
        exact = [[2 * sine * x * v, sine * x**2], [1.0, -np.sign(v)]]
        np.testing.assert_allclose(by_state, exact, **ROUNDING)
        np.testing.assert_allclose(by_time, [cosine * x**2 * v, 0.0], **ROUNDING)
        rates = grazing.guard_evaluator(problem)(time, np.array([x, v]), p)[1]
        along = [exact[0][0] * v - exact[0][1] * x + cosine * x**2 * v, v + np.sign(v) * x]
        np.testing.assert_allclose(rates, along, **ROUNDING)


def test_numbers_are_those_of_functions(problem, monkeypatch):
    p = problem.value_vector({})

    def found():
        tables = [*grazing.guards_at(problem, TIMES, STATES, p)]
        tables += resting.sized_guards(problem, TIMES, STATES, p)
        tables += resting._speeds(problem, TIMES, STATES, p)
        return [*tables, *resting.slopes_of_guards(problem, TIMES[0], STATES[0], p)]

    functions = found()
    monkeypatch.setattr(guard_derivatives, "MANY", 0)
    for one, other in zip(found(), functions, strict=True):
        np.testing.assert_allclose(one, other, **ROUNDING)
