"""Formulations with multipliers describe the same motion as the one without any."""

from __future__ import annotations

import math
from functools import cache

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.equations.consistency import instantaneous, sample_states
from daesolve.core.formulations import DaeProblem, Elimination, implicit
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.preparing import Request, prepare
from daesolve.core.solvers import SOLVERS
from daesolve.errors import OutOfRangeError, UnsupportedError
from tests.systems import EPSILON, chain, pendulum, sleigh, wheel, wheel_state

SYSTEMS = {
    "pendulum": (pendulum, {"x": 0.6, "y": -0.8, "x_dot": 0.8, "y_dot": 0.6}),
    "sleigh": (sleigh, {"x": 0.0, "y": 0.0, "phi": 0.3, "phi_dot": 1.0}),
    "chain": (lambda: chain(2), {"theta_1": 0.5, "theta_2": -0.7}),
    "wheel": (wheel, wheel_state(0.2, 1.2)),
}
FORMULATIONS = [ds.Index1(), ds.Index1(rate=7.0), ds.Index2(), ds.Index3(), ds.GGL()]
FORMULATIONS.append(ds.Overdetermined())


@cache
def posed(name: str) -> ds.MechanicalSystem:
    pose, _ = SYSTEMS[name]
    return pose()


def problem_of(name: str, formulation: ds.Formulation) -> tuple[DaeProblem, object]:
    """The problem of a system, its solver left to whatever is installed."""
    system, start = posed(name), SYSTEMS[name][1]
    dynamics = system.dynamics
    feedback = prepare(system, Request(until=1.0, initial=start))
    rates = formulation.chosen_rates(dynamics, 10.0)
    conserved = {row.name: True for row in dynamics.invariants}
    problem = formulation.problem(Elimination(dynamics, feedback.problem.plan, conserved, rates))
    assert isinstance(problem, DaeProblem)
    numbers = problem.value_vector(
        {ValueKind.RATE.name_of(goal): rate or 0.0 for goal, rate in rates.items()}
    )
    return problem, numbers


@pytest.mark.default_rows(5)
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f"{f.name} {f!r}"[:22])
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_consistent_unknowns_fulfil_every_equation(name, formulation):
    """Against accelerations and reactions by dense least squares at the same states."""
    problem, numbers = problem_of(name, formulation)
    dynamics = posed(name).dynamics
    for t, x in sample_states(dynamics, numbers[: len(dynamics.values)], count=4):
        rate, z = (np.asarray(part).ravel() for part in problem.consistent(t, x, numbers))
        accelerations, reactions = instantaneous(dynamics, t, x, numbers)
        # Backward stable solutions of one well-conditioned system differ by a few of its terms.
        size = max(np.max(np.abs(accelerations)), np.max(np.abs(reactions)), 1.0)
        tolerance = 1e4 * EPSILON * size
        np.testing.assert_allclose(z[: len(reactions)], reactions, atol=tolerance)
        assert np.all(z[len(reactions) :] == 0.0)
        differential = np.asarray(problem.differential(t, x, z, numbers)).ravel()
        np.testing.assert_allclose(differential, rate, atol=tolerance)
        assert np.max(np.abs(np.asarray(problem.algebraic(t, x, z, numbers)))) < tolerance
        assert np.max(np.abs(np.asarray(problem.surplus(t, x, numbers))), initial=0.0) < tolerance


@pytest.mark.parametrize("name", ["pendulum", "chain", "wheel"])
def test_index_1_with_a_rate_is_the_feedback_off_the_constraints_too(name):
    problem, numbers = problem_of(name, ds.Index1(rate=7.0))
    dynamics = posed(name).dynamics
    generator = np.random.default_rng(3)
    for t, x in sample_states(dynamics, numbers, count=3, at_rest=0):
        x = x + 0.05 * generator.normal(size=x.size)
        rate, z = (np.asarray(part).ravel() for part in problem.consistent(t, x, numbers))
        size = max(np.max(np.abs(rate)), np.max(np.abs(z)))
        residual = np.asarray(problem.algebraic(t, x, z, numbers)).ravel()
        np.testing.assert_allclose(residual, 0.0, atol=1e5 * EPSILON * size)
        differential = np.asarray(problem.differential(t, x, z, numbers)).ravel()
        np.testing.assert_allclose(differential, rate, atol=1e5 * EPSILON * size)


@pytest.mark.parametrize(
    ("formulation", "levels"),
    [
        (ds.Index2(), {"rod_dot"}),
        (ds.Index3(), {"rod"}),
        (ds.GGL(), {"rod", "rod_dot"}),
        (ds.Overdetermined(), {"rod", "rod_dot"}),
        (ds.Index1(), set()),
        (ds.Index1(rate=5.0), {"rod", "rod_dot"}),
    ],
)
def test_the_constraints_of_each_formulation_are_those_that_it_is_named_for(formulation, levels):
    problem, _ = problem_of("pendulum", formulation)
    assert {entry.name for entry in problem.watched if entry.driven} == levels


def test_the_stabiliser_of_ggl_moves_positions_along_the_gradient_alone():
    problem, numbers = problem_of("pendulum", ds.GGL())
    x = np.array([0.6, -0.8, 0.8, 0.6])
    push = np.array([0.0, 0.3])
    change = problem.differential(0.0, x, push, numbers) - problem.differential(
        0.0, x, np.zeros(2), numbers
    )
    # Unit mass: M^-1 J^T mu = 2 (x, y) mu.
    expected = [0.6 * 2 * 0.3, -0.8 * 2 * 0.3, 0.0, 0.0]
    np.testing.assert_allclose(np.asarray(change).ravel(), expected, atol=4 * EPSILON)


@pytest.mark.parametrize("rest", [{"rank_loss": "pass"}, {"redundant": "minimum-norm"}])
def test_multipliers_that_are_not_determined_are_refused(rest):
    q = ds.coordinates(x="m", y="m")
    rod = q.x**2 + q.y**2 - 1
    twice = [ds.Holonomic("rod", rod)] + [ds.Holonomic("again", rod)] * ("redundant" in rest)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=twice)
    with pytest.raises(UnsupportedError, match="multipliers are not determined"):
        ds.solve(system, 1.0, {"x": 1.0, "y": 0.0}, formulation=ds.Index1(), **rest)


def test_ggl_refuses_goals_of_a_control_system():
    x = ds.states(position="m", speed="m/s")
    u = ds.reactions(thrust="m/s^2")
    system = ds.ControlSystem(
        x,
        {"position": x.speed, "speed": u.thrust},
        controls=u,
        goals=[ds.Goal("station", x.position - 1.0)],
    )
    dynamics = system.dynamics
    plan = prepare(system, Request(until=1.0, initial={"position": 1.0})).problem.plan
    with pytest.raises(UnsupportedError, match="'station' of a control system"):
        ds.GGL().problem(Elimination(dynamics, plan, {}, ds.GGL().chosen_rates(dynamics, 10.0)))


@pytest.mark.default_rows(6)
@pytest.mark.parametrize("formulation", FORMULATIONS[1:], ids=lambda f: f.name)
@pytest.mark.parametrize("name", ["pendulum", "wheel"])
def test_the_jacobian_of_the_implicit_form_is_its_derivative(name, formulation):
    """The central difference of a step e misses it by e^2 F''' / 6 and by rounding / e."""
    problem, numbers = problem_of(name, formulation)
    form = implicit(problem)
    generator = np.random.default_rng(11)
    size = form.residual.nnz_in(1)
    _, x = sample_states(posed(name).dynamics, numbers, count=2, at_rest=0)[-1]
    y = np.concatenate([x, generator.normal(size=size - len(x))])
    rate, direction = generator.normal(size=(2, size))
    slope = 3.0

    def moved(step: float) -> np.ndarray:
        shifted = form.residual(0.0, y + step * direction, rate + slope * step * direction, numbers)
        return np.asarray(shifted).ravel()

    step = EPSILON ** (1 / 3)
    difference = (moved(step) - moved(-step)) / (2 * step)
    exact = form.jacobian(0.0, y, rate, slope, numbers).toarray() @ direction
    np.testing.assert_allclose(difference, exact, atol=1e3 * step**2 * np.max(np.abs(exact)))
    assert form.differential.sum() == problem.size


def test_indices_follow_from_what_is_differentiated():
    assert problem_of("pendulum", ds.Index1())[0].indices == (1, 1, 1, 1, 1)
    assert problem_of("pendulum", ds.Index2())[0].indices == (1, 1, 1, 1, 2)
    assert problem_of("pendulum", ds.Index3())[0].indices == (1, 1, 2, 2, 3)
    assert problem_of("pendulum", ds.GGL())[0].indices == (1, 1, 1, 1, 2, 2)
    assert problem_of("sleigh", ds.Index3())[0].indices == (1, 1, 1, 1, 1, 1, 2)


@pytest.mark.slow
def test_a_pair_that_cannot_meet_is_refused_with_what_can_before_anything_is_computed():
    """The start is inconsistent too; any computation would report that first."""
    for kind in SOLVERS.values():
        if "ode" not in kind.forms or kind.name.startswith(("assimulo", "sundae")):
            continue
        with pytest.raises(UnsupportedError) as refusal:
            ds.solve(
                pendulum(),
                until=1.0,
                initial={"x": 3.0, "y": 3.0},
                formulation=ds.Index2(),
                solver=kind(),
            )
        assert "'index-2'" in str(refusal.value)
        assert kind.name in str(refusal.value)
        assert "idas" in str(refusal.value)


@pytest.mark.parametrize("rate", [-1.0, math.inf, math.nan, "fast"])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(OutOfRangeError, match="rate"):
        ds.Index1(rate=rate)


def test_index_1_refuses_a_rate_of_an_invariant_which_it_could_not_drive():
    with pytest.raises(UnsupportedError, match="'energy' has no meaning in index-1"):
        ds.Index1(rates={"energy": 10.0}).chosen_rates(pendulum().dynamics, 10.0)
    rates = ds.Index1(rates={"energy": None}).chosen_rates(pendulum().dynamics, 10.0)
    assert rates == {"rod": None, "energy": None}


def shaped(last: str) -> ds.ControlSystem:
    """Three integrators in a row behind a control; one of them is to follow a sine."""
    x, u = ds.states(a="", b="", c=""), ds.reactions(u="")
    goal = ds.Goal("goal", x[last] - ca.sin(ds.time))
    return ds.ControlSystem(x, {"a": x.b, "b": x.c, "c": u.u - x.a}, controls=u, goals=[goal])


@pytest.mark.parametrize("last", ["b", "a"])
def test_index_3_judges_the_states_of_a_control_system_that_no_control_pushes(last):
    """Goals of degree 2 and 3: u enters the rate of c alone."""
    start = {"a": 0.0, "b": 1.0, "c": 0.0} if last == "a" else {"a": 0.0, "b": 0.0, "c": 1.0}
    run = ds.solve(shaped(last), 2.0, start, formulation=ds.Index3())
    exact = {"a": np.sin(run.times), "b": 1.0 - np.cos(run.times)}[last]
    assert run.outcome is ds.Outcome.COMPLETED
    np.testing.assert_allclose(run["a"], exact, atol=1e-7)
    prepared = prepare(shaped(last), Request(1.0, initial=start, formulation=ds.Index3()))
    assert isinstance(prepared.problem, DaeProblem)
    assert prepared.problem.indices == (1, 1, 2, 3)


def test_index_3_refuses_controls_that_push_every_state():
    x, u = ds.states(a="", b=""), ds.reactions(u="")
    rates = {"a": u.u - 2 * x.b, "b": -u.u - x.a}
    system = ds.ControlSystem(x, rates, controls=u, goals=[ds.Goal("sum", x.a + x.b)])
    with pytest.raises(UnsupportedError, match="use index-2"):
        ds.solve(system, 1.0, {"a": 0.0, "b": 0.0}, formulation=ds.Index3())
