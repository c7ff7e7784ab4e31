"""The symbolic elimination: right, linear in the size, and honest about dependent constraints."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.equations.consistency import instantaneous, sample_states
from daesolve.core.equations.elimination.plan import choose_plan, regularisations
from daesolve.core.equations.elimination.saddle import SHARING_EPSILON, EliminationPlan, Saddle
from daesolve.errors import NoInfluenceError
from tests.systems import (
    EPSILON,
    chain,
    chain_state,
    numbers,
    pendulum,
    prepared_run,
    wheel,
    wheel_state,
)


def solved(system, x, plan=None, **values):
    """v' and u of the plain elimination, without feedback."""
    dynamics = system.dynamics
    vector = dynamics.value_vector(values)
    saddle = Saddle(dynamics, plan or EliminationPlan())
    targets = [-row.bias for row in dynamics.rows]
    offsets = [row.offset for row in dynamics.relations]
    a, u = saddle.solve(dynamics.force, targets, offsets)
    function = ca.Function("f", [dynamics.t, dynamics.x, dynamics.p], [a, u])
    found = [np.asarray(part).ravel() for part in function(0.0, x, vector)]
    return found, instantaneous(dynamics, 0.0, np.asarray(x, dtype=float), vector)


def particles(count, goals, reactions=None, force=None):
    """Unit masses on lines of their own."""
    q = ds.coordinates(**{f"x{k}": "m" for k in range(count)})
    rest = {} if reactions is None else {"reactions": reactions, "force": force}
    return ds.MechanicalSystem(q, kinetic=ca.sumsqr(q.dot.vector) / 2, goals=goals(q), **rest)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 4))
def test_any_set_of_ideal_constraints_agrees_with_dense_least_squares(seed, count, goals):
    """Random quadratic constraints, at a random state: M from T, curvature terms and all."""
    goals = min(goals, count - 1)
    generator = np.random.default_rng(seed)
    q = ds.coordinates(**{f"x{k}": "m" for k in range(count)})
    root = np.eye(count) + 0.4 * generator.normal(size=(count, count)) / count
    mass = ca.DM(root @ root.T)
    posed = []
    for k in range(goals):
        curve = ca.DM(
            generator.normal(size=(count, count)) * (generator.random((count, count)) < 0.4)
        )
        slope = ca.DM(generator.normal(size=count))
        residual = ca.dot(q.vector, curve @ q.vector) / 2 + ca.dot(slope, q.vector)
        posed.append(ds.Holonomic(f"g{k}", residual))
    system = ds.MechanicalSystem(
        q, kinetic=ca.dot(q.dot.vector, mass @ q.dot.vector) / 2, potential=q.x0, goals=posed
    )
    x = generator.normal(size=2 * count)
    parts = system.dynamics.matrices(0.0, x, system.dynamics.value_vector({}))
    saddle = np.block(
        [[parts["mass"], parts["jacobian"].T], [parts["jacobian"], np.zeros((goals, goals))]]
    )
    condition = np.linalg.cond(saddle)
    if condition > 1e6:
        return
    found, right = solved(system, x)
    for mine, other in zip(found, right, strict=True):
        allowed = (
            100 * EPSILON * condition * max(np.linalg.norm(right[0]), np.linalg.norm(right[1]), 1.0)
        )
        assert np.linalg.norm(mine - other) <= allowed


@pytest.mark.core
@pytest.mark.parametrize("friction", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("slope", [0.2, 1.0])
def test_friction_on_the_normal_reaction_is_the_school_formula(friction, slope):
    """A block that slides down: a = -g sin b + mu g cos b along the incline, N = m g cos b."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(friction=0.0)
    cosine, sine = np.cos(slope), np.sin(slope)
    plane = ds.Holonomic("plane", -sine * q.x + cosine * q.y)
    normal = plane.reaction
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=2.0 * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=2.0 * 9.81 * q.y,
        goals=[plane],
        force={"x": p.friction * normal * cosine, "y": p.friction * normal * sine},
    )
    found, dense = solved(system, [0.0, 0.0, -cosine, -sine], friction=friction)
    along = -9.81 * sine + friction * 9.81 * cosine
    for a, u in (found, dense):
        assert a == pytest.approx([along * cosine, along * sine], abs=40 * EPSILON * 9.81)
        assert u == pytest.approx([2.0 * 9.81 * cosine], rel=40 * EPSILON)
    run = ds.solve(
        system,
        until=1.0,
        initial={"x": 0.0, "y": 0.0, "x_dot": -5 * cosine, "y_dot": -5 * sine},
        parameters={"friction": friction},
    )
    travelled = -5.0 + along / 2
    assert run["x"][-1] == pytest.approx(travelled * cosine, rel=1e-13)
    assert run.drift["energy"].max_relative <= 1e-14  # the work of friction is metered
    if friction:
        work = -friction * 2.0 * 9.81 * cosine * abs(travelled)
        assert run.outputs["work"][-1] == pytest.approx(work, rel=1e-13)


def test_a_reaction_with_a_direction_of_its_own():
    """A point on a circle held by a force along a fixed direction d: solved by hand."""
    q = ds.coordinates(x="m", y="m")
    r = ds.reactions(pull="N")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        reactions=r,
        force={"x": 0.6 * r.pull, "y": -0.8 * r.pull},
        goals=[ds.Holonomic("circle", q.x**2 + q.y**2 - 1, ideal=False)],
    )
    angle, speed = 2.1, 3.0
    place = np.array([np.sin(angle), -np.cos(angle)])
    velocity = speed * np.array([np.cos(angle), np.sin(angle)])
    direction = np.array([0.6, -0.8])
    gravity = np.array([0.0, -9.81])
    pull = -(place @ gravity + speed**2) / (place @ direction)
    (a, u), dense = solved(system, [*place, *velocity])
    assert u == pytest.approx([pull], rel=1e-13)
    assert a == pytest.approx(gravity + pull * direction, rel=1e-13)
    assert dense[1] == pytest.approx([pull], rel=1e-13)


@pytest.mark.core
def test_a_reaction_that_cannot_influence_its_goal_is_refused():
    """Tied wrong: the force acts along the line that the goal leaves free."""
    r = ds.reactions(push="N")
    system = particles(2, lambda q: [ds.Holonomic("stay", q.x1, ideal=False)], r, {"x0": r.push})
    with pytest.raises(NoInfluenceError, match="'stay'"):
        ds.solve(system, until=1.0, initial={"x0": 0.0, "x1": 0.0})


def test_two_goals_tied_to_the_same_direction_are_refused():
    r = ds.reactions(one="N", two="N")
    system = particles(
        3,
        lambda q: [ds.Holonomic("a", q.x0, ideal=False), ds.Holonomic("b", q.x1, ideal=False)],
        r,
        {"x0": r.one, "x1": r.one, "x2": r.two},
    )
    with pytest.raises(NoInfluenceError, match="'a', 'b'"):
        ds.solve(system, until=1.0, initial={"x0": 0.0})


@pytest.mark.parametrize("swapped", [False, True])
def test_relations_that_build_on_each_other_keep_their_constant_parts(swapped):
    """a = 3, b = 2 a + 1, c = a - b: 3, 7, -4, in whatever order they are posed."""
    r = ds.reactions(a="N", b="N", c="N", d="N")

    def goals(q):
        relations = [
            ds.Relation("first", r.a - 3.0),
            ds.Relation("second", r.b - 2.0 * r.a - 1.0),
            ds.Relation("third", r.c - r.a + r.b),
        ]
        return [
            *(relations[::-1] if swapped else relations),
            ds.Holonomic("hold", q.x3, ideal=False),
        ]

    system = particles(4, goals, r, {"x0": r.a, "x1": r.b, "x2": r.c, "x3": r.d + r.a})
    found, dense = solved(system, np.zeros(8))
    for a, u in (found, dense):
        assert u == pytest.approx([3.0, 7.0, -4.0, -3.0], abs=1e-13)
        assert a == pytest.approx([3.0, 7.0, -4.0, 0.0], abs=1e-13)


def test_a_relation_with_symbolic_factors_sees_what_a_later_one_replaces():
    """p a = p b, posed before 2 b = c, which is solved for b; the goal fixes c: a = b = c / 2."""
    r = ds.reactions(a="N", b="N", c="N")
    p = ds.parameters(factor=3.0)
    q = ds.coordinates(x="m", y="m")
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        reactions=r,
        force={"x": r.a, "y": r.c},
        goals=[
            ds.Relation("equal", p.factor * (r.a - r.b)),
            ds.Relation("double", 2.0 * r.b - r.c),
            ds.Holonomic("hold", q.y, ideal=False),
        ],
    )
    found, dense = solved(system, np.zeros(4))
    for _, u in (found, dense):
        assert u == pytest.approx([9.81 / 2, 9.81 / 2, 9.81], rel=1e-13)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_random_relations_agree_with_dense_least_squares(seed, count):
    """Some coefficients are numbers (substituted), some symbols (solved with the rest)."""
    generator = np.random.default_rng(seed)
    names = [f"r{k}" for k in range(count + 1)]
    r = ds.reactions(**dict.fromkeys(names, "N"))
    p = ds.parameters(one=1.0)
    q = ds.coordinates(**{f"x{k}": "m" for k in range(count + 2)})
    # of order one: a relation is solved for a reaction whose factor is a number, and a tiny number
    # beside a large symbol costs digits
    matrix = generator.uniform(0.5, 1.0, (count, count + 1))
    matrix *= generator.choice([-1.0, 0.0, 1.0], matrix.shape)
    matrix += 3 * np.eye(count, count + 1)
    symbolic = generator.random(matrix.shape) < 0.5
    relations = [
        ds.Relation(
            f"tie{i}",
            sum(
                matrix[i, j] * (p.one if symbolic[i, j] else 1.0) * r[names[j]]
                for j in range(count + 1)
            )
            + generator.normal(),
        )
        for i in range(count)
    ]
    directions = ca.DM(generator.normal(size=(count + 2, count + 1)))
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=q.x0,
        reactions=r,
        force=directions @ r.vector,
        goals=[ds.Holonomic("hold", ca.sum1(q.vector), ideal=False), *relations],
    )
    dynamics = system.dynamics
    parts = dynamics.matrices(0.0, np.zeros(2 * count + 4), dynamics.value_vector({}))
    caused = np.vstack([parts["jacobian"] @ parts["influence"], parts["ties"]])
    condition = np.linalg.cond(caused)
    if condition > 1e4:
        return
    found, dense = solved(system, np.zeros(2 * count + 4))
    size = max(np.linalg.norm(dense[1]), 1.0)
    assert np.linalg.norm(found[1] - dense[1]) <= 100 * EPSILON * condition**2 * size
    assert np.linalg.norm(found[0] - dense[0]) <= 1000 * EPSILON * condition**2 * size


@pytest.mark.slow
def test_instructions_grow_linearly_with_the_links_of_a_chain():
    sizes = {}
    for links in (8, 16, 32):
        dynamics = chain(links).dynamics
        saddle = Saddle(dynamics, EliminationPlan())
        a, u = saddle.solve(dynamics.force, [-row.bias for row in dynamics.rows], [])
        function = ca.Function("f", [dynamics.t, dynamics.x, dynamics.p], [a, u], {"cse": True})
        sizes[links] = function.n_instructions()
    assert 1.9 <= sizes[16] / sizes[8] <= 2.15
    assert 1.9 <= sizes[32] / sizes[16] <= 2.15


@pytest.mark.core
@pytest.mark.parametrize("links", [1, 2, 7])
def test_a_chain_in_maximal_coordinates_agrees_with_dense_least_squares(links):
    system = chain(links)
    generator = np.random.default_rng(links)
    state = chain_state(list(generator.uniform(-2, 2, links)))
    x = np.array([state[n] for n in system.dynamics.labels.states])
    found, dense = solved(system, x)
    parts = system.dynamics.matrices(0.0, x, system.dynamics.value_vector({}))
    condition = np.linalg.cond(
        parts["jacobian"] @ np.linalg.solve(parts["mass"], parts["jacobian"].T)
    )
    for mine, other in zip(found, dense, strict=True):
        assert np.linalg.norm(mine - other) <= 1000 * EPSILON * condition * np.linalg.norm(other)


def test_the_elimination_is_symmetric_where_reactions_are_ideal():
    assert Saddle(pendulum().dynamics, EliminationPlan()).symmetric
    assert Saddle(chain(3).dynamics, EliminationPlan()).symmetric
    assert not Saddle(wheel().dynamics, EliminationPlan()).symmetric


def test_building_twice_from_one_dynamics_gives_the_same():
    """Nothing in the dynamics is changed by an elimination."""
    dynamics = wheel().dynamics
    x = np.array([wheel_state(0.3, 1.0)[n] for n in dynamics.labels.states])
    results = []
    for _ in range(2):
        saddle = Saddle(dynamics, EliminationPlan())
        targets = [-row.bias for row in dynamics.rows]
        solution = saddle.solve(dynamics.force, targets, [row.offset for row in dynamics.relations])
        function = ca.Function("f", [dynamics.t, dynamics.x, dynamics.p], list(solution))
        results.append([np.asarray(part) for part in function(0.0, x, dynamics.value_vector({}))])
    for first, second in zip(*results, strict=True):
        assert np.array_equal(first, second)


@pytest.mark.parametrize("exponent", [-8, 8])
def test_reactions_keep_their_digits_whatever_their_unit(exponent):
    """The wheel's torque in other units: the columns are scaled by powers of two."""
    factor = 10.0**exponent
    q = ds.coordinates(x="m", y="m")
    r = ds.reactions(big="N", small="N")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y + q.x,
        reactions=r,
        force={"x": r.big, "y": factor * r.small + 0.3 * r.big},
        goals=[ds.Holonomic("a", q.y, ideal=False), ds.Relation("b", r.big - 3 * factor * r.small)],
    )
    prepared = prepared_run(system, 1.0, {"x": 0.0, "y": 0.0, "x_dot": 1.0})
    values = numbers(prepared, rate_energy=0.0)
    _, u, _ = prepared.problem.recover(0.0, prepared.initial, values)
    small = 9.81 / (factor * 1.9)
    assert np.asarray(u).ravel() == pytest.approx([3 * factor * small, small], rel=20 * EPSILON)


# -- constraints that depend on each other -------------------------------------------------------


def floors(second=1.0):
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[ds.Holonomic("floor", q.y), ds.Holonomic("again", second * q.y)],
    )


def test_two_identical_constraints_carry_half_the_weight_each():
    run = ds.solve(
        floors(), until=1.0, initial={"x": 0.0, "y": 0.0, "x_dot": 1.0}, redundant="minimum-norm"
    )
    # two refinements leave (shift / pivot)^3 of the weight, far below rounding; the null
    # direction holds rounding over the shift
    for name in ("floor", "again"):
        assert run.reactions[name] == pytest.approx(9.81 / 2, rel=EPSILON / SHARING_EPSILON)
    assert run.reactions["floor"] + run.reactions["again"] == pytest.approx(9.81, rel=1e-14)
    assert run["x"][-1] == pytest.approx(1.0, rel=1e-14)


def test_minimum_norm_shares_forces_equally_whatever_the_scale_of_a_residual():
    run = ds.solve(
        floors(100.0), until=1.0, initial={"x": 0.0, "y": 0.0, "x_dot": 1.0},
        redundant="minimum-norm",
    )  # fmt: skip
    assert run.reactions["floor"] == pytest.approx(9.81 / 2, rel=1e-6)
    assert 100.0 * run.reactions["again"] == pytest.approx(9.81 / 2, rel=1e-6)


def test_the_proximal_refinement_takes_the_bias_of_epsilon_away():
    """What is left of the bias after k refinements is (3e-10)^(k + 1)."""
    system = pendulum()
    dynamics = system.dynamics
    x = np.array([0.6, -0.8, 0.8, 0.6])
    values = dynamics.value_vector({})
    samples = sample_states(dynamics, values, x)
    shifts = regularisations(dynamics, samples, values)
    errors = []
    for refinements in (0, 1, 2):
        found, right = solved(system, x, EliminationPlan(refinements, proximal=True), **shifts)
        errors.append(np.linalg.norm(found[1] - right[1]) / np.linalg.norm(right[1]))
    assert 1e-11 < errors[0] < 1e-7
    assert errors[1] <= 20 * EPSILON
    assert errors[2] <= 20 * EPSILON


@pytest.mark.default_rows(6)
@pytest.mark.parametrize("mass", [1e-3, 1.0, 2.0, 3.0, 5.0, 7.0, 1e3])
@pytest.mark.parametrize("x", [(0.6, -0.8, 0.8, 0.6), (0.0, -1.0, 0.0, 0.0)])
def test_a_well_conditioned_system_needs_no_refinement(mass, x):
    """Nor in equilibrium, where accelerations are rounding: it must not be compared with itself."""
    dynamics = pendulum().dynamics
    values = dynamics.value_vector({"mass": mass})
    samples = sample_states(dynamics, values, np.array(x))
    assert choose_plan(dynamics, samples, values, proximal=False).refinements == 0
