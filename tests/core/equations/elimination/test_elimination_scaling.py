"""What large mechanisms cost: code that grows with the bodies, sparse factors for numbers."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import daesolve as ds
from daesolve.core.equations import projection
from daesolve.core.equations.elimination.saddle import EliminationPlan
from daesolve.core.equations.projection import Projection, levels, metrics
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.linear import minimum_degree_order
from daesolve.core.expressions.sparse_factors import solved_sparsely
from daesolve.core.formulations import Elimination, Feedback
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import Request
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.joints import Revolute, Spherical
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND

EPSILON = np.finfo(float).eps


def before_in_chain(index):
    return index - 1


def before_in_tree(index):
    return (index - 1) // 2


def planar(count, before=before_in_chain):
    """Bars of 1 m that lie along the x-axis, each hinged to the end of another."""
    bars = [PlanarBody(f"bar_{i}", 1.0, 1 / 12, position=(i + 0.5, 0)) for i in range(count)]
    ends = [GROUND.frame((0, 0)), *[bars[before(i)].frame((0.5, 0)) for i in range(1, count)]]
    hinges = [Revolute(f"hinge_{i}", ends[i], bar.frame((-0.5, 0))) for i, bar in enumerate(bars)]
    return Mechanism(bars, hinges, gravity=(0, -9.81))


def spatial(count, before=before_in_chain):
    bars = [Body(f"bar_{i}", 1.0, (0.01, 0.09, 0.09)) for i in range(count)]
    ends = [GROUND.point(0, 0, 0), *[bars[before(i)].point(0.5, 0, 0) for i in range(1, count)]]
    balls = [Spherical(f"ball_{i}", ends[i], bar.point(-0.5, 0, 0)) for i, bar in enumerate(bars)]
    return Mechanism(bars, balls, gravity=(0, 0, -9.81))


def instructions(mechanism):
    """Count those of the eliminated equations, with every conserved quantity driven."""
    dynamics = mechanism.system().dynamics
    formulation = Feedback(rate=10.0)
    conserved = {row.name: True for row in dynamics.invariants}
    rates = formulation.chosen_rates(dynamics, 10.0)
    assert rates["energy"] == 10.0
    problem = formulation.problem(Elimination(dynamics, EliminationPlan(), conserved, rates))
    return problem.rhs.n_instructions()


@pytest.mark.slow
@pytest.mark.parametrize("assemble", [planar, spatial])
def test_each_further_body_of_a_chain_costs_as_many_instructions(assemble):
    few, more, most = (instructions(assemble(count)) for count in (4, 6, 8))
    assert most - more == pytest.approx(more - few, rel=0.01)


@pytest.mark.slow
def test_a_tree_of_bodies_costs_as_many_instructions_a_body_as_a_chain():
    """A body with two children couples them: a few entries more, whatever the size."""
    counts = {count: instructions(planar(count, before_in_tree)) for count in (7, 15, 23)}
    by_body = [(counts[15] - counts[7]) / 8, (counts[23] - counts[15]) / 8]
    assert by_body[1] == pytest.approx(by_body[0], rel=0.02)
    along = (instructions(planar(8)) - instructions(planar(4))) / 4
    assert by_body[1] < 1.25 * along


def searched_order(entries, nodes, after, depends):
    """Order pivots as the definition says, by a search through all that are free at each step."""
    waiting, order = set(nodes), []
    coupled = {frozenset((i, j)) for i, row in entries.items() for j in row if i != j}
    varying = {pair for pair in coupled if depends(pair)}
    numbers = {i for i in entries if i in entries[i] and not depends({i})}

    def near(node):
        return {other for pair in coupled if node in pair for other in pair - {node}}

    def varies(node, other):
        return frozenset((node, other)) in varying or node not in numbers

    def spoilt(node):
        return sum(other in numbers and varies(node, other) for other in near(node) & waiting)

    while waiting:
        free = [node for node in waiting if not after.get(node, frozenset()) & waiting]
        best = min(free, key=lambda n: (0 if after.get(n) else spoilt(n), len(near(n)), n))
        clique = near(best)
        touched = {other for other in clique if varies(best, other)}
        numbers -= touched
        varying |= {frozenset((i, j)) for i in touched for j in clique if i != j}
        coupled = {pair for pair in coupled if best not in pair}
        coupled |= {frozenset((i, j)) for i in clique for j in clique if i != j}
        waiting.remove(best)
        order.append(best)
    return order


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(0, 5))
def test_the_order_of_pivots_is_the_one_that_a_full_search_finds(seed, size, multipliers):
    generator = np.random.default_rng(seed)
    state = ca.SX.sym("x", 2)
    moving = np.triu(generator.random((size, size)) < 0.3)
    moving |= moving.T
    present = np.triu(generator.random((size, size)) < 0.3)
    present |= present.T | moving | np.eye(size, dtype=bool)
    entries = {
        i: {j: state[0] * state[1] if moving[i, j] else ca.SX(2.0) for j in np.flatnonzero(row)}
        for i, row in enumerate(present)
    }
    first = max(size - multipliers, 1)
    after = {i: frozenset(j for j in entries[i] if j < first) for i in range(first, size)}

    def depends(pair):
        i, j = (*pair, *pair)[:2]
        return bool(moving[i, j])

    found = minimum_degree_order(entries, range(size), after, state)
    assert found == searched_order(entries, range(size), after, depends)


def test_an_array_function_fills_in_the_zeros_that_it_does_not_compute():
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p", 0)
    outputs = [ca.jacobian(x[0] * x, x), ca.SX(0, 1), ca.SX(2, 2), x[2]]
    found = ArrayFunction("found", [x, p], outputs)(np.array([1.0, 2.0, 3.0]), np.zeros(0))
    assert found[0].tolist() == [[2, 0, 0], [2, 1, 0], [3, 0, 1]]
    assert [array.shape for array in found] == [(3, 3), (0, 1), (2, 2), (1, 1)]
    assert not found[2].any()
    assert found[3].item() == 3.0


def test_sparse_factors_refuse_rows_that_depend_on_each_other():
    regular = np.array([[2.0, 1.0], [1.0, 3.0]])
    right = np.array([1.0, 2.0])
    found = solved_sparsely(csc_array(regular), right)
    assert found == pytest.approx(np.linalg.solve(regular, right), abs=4 * EPSILON)
    assert solved_sparsely(csc_array(np.ones((2, 2))), right) is None
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]])
    assert solved_sparsely(csc_array(nearly), right) is None


def projections(mechanism, pulled):
    dynamics = mechanism.system().dynamics
    p = dynamics.value_vector({})
    guess = np.array([mechanism.start.get(name, 0.0) for name in dynamics.labels.states])
    generator = np.random.default_rng(4)
    guess += pulled * generator.normal(size=len(guess))
    for number, level in enumerate(levels(dynamics)):
        metric = metrics(dynamics, 0.0, guess, p)[number]
        found = Projection(level, metric, 0.0, guess, p, level.columns).nearest()
        assert found is not None
        yield found
        guess = found


def test_the_nearest_state_of_a_large_mechanism_is_that_of_dense_least_squares(monkeypatch):
    mechanism = planar(4)
    dense = list(projections(mechanism, 0.05))
    monkeypatch.setattr(projection, "SPARSE_FROM", 1)
    for found, true in zip(projections(mechanism, 0.05), dense, strict=True):
        # The way along the manifold ends at 1e-13 of the distance or at rounding of it.
        assert found == pytest.approx(true, abs=1e-7 * np.max(np.abs(true)))


def test_dependent_constraints_of_a_large_mechanism_fall_back_on_least_squares(monkeypatch):
    """A bar that is hinged to the ground at both ends: one of the four rows is of no use."""
    monkeypatch.setattr(projection, "SPARSE_FROM", 1)
    bar = PlanarBody("bar", 1.0, 1 / 12, position=(0.55, 0.02), angle=0.01)
    foot = Revolute("foot", GROUND.frame((0, 0)), bar.frame((-0.5, 0)))
    head = Revolute("head", GROUND.frame((1, 0)), bar.frame((0.5, 0)))
    found, _ = projections(Mechanism([bar], [foot, head]), 0.0)
    assert found[:3] == pytest.approx([0.5, 0.0, 0.0], abs=1e-11)


def test_angles_are_distinguished_however_many_there_are():
    """A spring that knows half turns from whole ones keeps its angle, the 18th, unwrapped."""
    q = ds.coordinates(**{f"angle_{i}": ds.ANGLE for i in range(20)})
    spring = 1 - ca.cos(q.angle_17 / 2)
    rotors = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=spring + ca.sum1(1 - ca.cos(q.vector)),
    )
    start = {f"angle_{i}": 0.1 for i in range(20)}
    prepared = prepare(rotors, Request(until=1.0, initial=start, solver=ds.Dop853()))
    assert prepared.wrapped == tuple(i for i in range(20) if i != 17)
    assert any("'angle_17' is not wrapped" in note for note in prepared.notes)
