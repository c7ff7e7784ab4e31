"""Straight-line factorisations against dense linear algebra."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daesolve.core.expressions.linear import (
    entries_of,
    factorize,
    merge,
    minimum_degree_order,
    orthogonal_rows,
    solve_small,
)
from daesolve.errors import PosingError
from tests.systems import EPSILON

seeds = st.integers(0, 2**32 - 1)


def sparse_symbols(name: str, matrix: np.ndarray) -> tuple[ca.SX, list[ca.SX], list[float]]:
    """A matrix of free symbols where numbers are not zero, with the symbols and their values."""
    result = ca.SX(*matrix.shape)
    symbols, values = [], []
    for i, j in np.argwhere(matrix != 0.0):
        symbols.append(ca.SX.sym(f"{name}_{i}_{j}"))
        values.append(matrix[i, j])
        result[int(i), int(j)] = symbols[-1]
    return result, symbols, values


def random_saddle(seed: int, rows: int, goals: int, density: float):
    """M positive definite and sparse, J of full rank and sparse, well conditioned."""
    generator = np.random.default_rng(seed)
    mask = np.tril(generator.random((rows, rows)) < density, -1)
    lower = np.eye(rows) + 0.5 * mask * generator.uniform(-1, 1, (rows, rows)) / rows
    mass = lower @ np.diag(generator.uniform(0.5, 2.0, rows)) @ lower.T
    jacobian = (generator.random((goals, rows)) < density) * generator.uniform(-1, 1, (goals, rows))
    places = generator.permutation(rows)[:goals]
    jacobian[np.arange(goals), places] += rows
    return mass, jacobian


def solved(entries, order, size, symmetric, inputs, numbers, right, shifts=None):
    factors = factorize(entries, order, symmetric=symmetric, shifts=shifts)
    b = ca.SX.sym("b", size)
    solution = factors.solve({i: b[i] for i in range(size)})
    function = ca.Function(
        "f", [ca.vertcat(*inputs), b], [ca.vertcat(*[solution[i] for i in range(size)])]
    )
    return np.asarray(function(numbers, right)).ravel()


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 9), st.integers(0, 8), st.floats(0.0, 1.0))
def test_ldl_of_a_sparse_saddle_matrix_equals_numpy(seed, rows, goals, density):
    goals = min(goals, rows - 1)
    mass, jacobian = random_saddle(seed, rows, goals, density)
    size = rows + goals
    matrix = np.block([[mass, jacobian.T], [jacobian, np.zeros((goals, goals))]])
    upper = np.triu(mass)
    m, symbols, values = sparse_symbols("m", upper)
    j, j_symbols, j_values = sparse_symbols("j", jacobian)
    m = ca.triu2symm(m)
    entries = merge(entries_of(m), entries_of(j.T, 0, rows), entries_of(j, rows, 0))
    after = {rows + k: frozenset(int(c) for c in np.flatnonzero(jacobian[k])) for k in range(goals)}
    order = minimum_degree_order(entries, range(size), after)
    right = np.random.default_rng(seed + 1).normal(size=size)
    result = solved(entries, order, size, True, symbols + j_symbols, values + j_values, right)
    exact = np.linalg.solve(matrix, right)
    # forward error <= growth * n * eps * cond; no pivoting is needed, so growth is of order one
    allowed = 20 * size * EPSILON * np.linalg.cond(matrix) * np.linalg.norm(exact)
    assert np.linalg.norm(result - exact) <= allowed


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(2, 8))
def test_lu_of_an_unsymmetric_matrix_equals_numpy(seed, size):
    generator = np.random.default_rng(seed)
    matrix = generator.uniform(-1, 1, (size, size)) * (generator.random((size, size)) < 0.6)
    np.fill_diagonal(matrix, size + generator.random(size))
    a, symbols, values = sparse_symbols("a", matrix)
    entries = entries_of(a)
    order = minimum_degree_order(entries, range(size), {})
    right = generator.normal(size=size)
    result = solved(entries, order, size, False, symbols, values, right)
    exact = np.linalg.solve(matrix, right)
    allowed = 20 * size * EPSILON * np.linalg.cond(matrix) * np.linalg.norm(exact)
    assert np.linalg.norm(result - exact) <= allowed


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(3, 8), st.integers(1, 3), st.integers(0, 5))
def test_rows_without_a_safe_pivot_are_solved_as_a_block(seed, size, block, scale_power):
    """The block's own diagonal is zero: only the others can be pivoted on."""
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(size, size))
    matrix[: size - block, : size - block] += 5 * np.eye(size - block)
    matrix[size - block :, size - block :] = 0.0
    if np.linalg.cond(matrix) > 1e6:
        return
    a, symbols, values = sparse_symbols("a", matrix)
    last = list(range(size - block, size))
    factors = factorize(
        entries_of(a),
        minimum_degree_order(entries_of(a), range(size - block), {}),
        symmetric=False,
        block_rows=last,
        block_columns=last[::-1],
        block_scales=dict.fromkeys(last, 2.0**scale_power),
    )
    right = generator.normal(size=size)
    solution = factors.solve({i: ca.SX(right[i]) for i in range(size)})
    function = ca.Function(
        "f", [ca.vertcat(*symbols)], [ca.vertcat(*[solution[i] for i in range(size)])]
    )
    result = np.asarray(function(values)).ravel()
    exact = np.linalg.solve(matrix, right)
    allowed = 50 * size * EPSILON * np.linalg.cond(matrix) ** 2 * np.linalg.norm(exact)
    assert np.linalg.norm(result - exact) <= allowed


def test_a_multiplier_is_pivoted_on_after_every_coordinate_it_touches():
    _, jacobian = random_saddle(5, 7, 4, 0.4)
    j, _, _ = sparse_symbols("j", jacobian)
    entries = merge(entries_of(ca.SX.eye(7)), entries_of(j.T, 0, 7), entries_of(j, 7, 0))
    after = {7 + k: frozenset(int(c) for c in np.flatnonzero(jacobian[k])) for k in range(4)}
    order = minimum_degree_order(entries, range(11), after)
    assert sorted(order) == list(range(11))
    for multiplier, earlier in after.items():
        assert all(order.index(c) < order.index(multiplier) for c in earlier)


def test_a_shift_is_added_to_its_pivot_alone():
    matrix = np.array([[2.0, 1.0], [1.0, 0.0]])
    a, symbols, values = sparse_symbols("a", matrix)
    result = solved(entries_of(a), [0, 1], 2, True, symbols, values, [1.0, 0.0], {1: ca.SX(-0.25)})
    exact = np.linalg.solve(matrix + np.diag([0.0, -0.25]), [1.0, 0.0])
    assert result == pytest.approx(exact, abs=4 * EPSILON)


def test_a_pivot_that_is_zero_by_structure_is_refused():
    with pytest.raises(PosingError, match="zero by structure"):
        factorize({0: {1: ca.SX.sym("a")}, 1: {0: ca.SX.sym("b")}}, [0, 1], symmetric=False)


def test_factorising_does_not_change_the_matrix_it_is_given():
    a, _, _ = sparse_symbols("a", np.array([[2.0, 1.0], [1.0, 3.0]]))
    entries = entries_of(a)
    before = {row: dict(columns) for row, columns in entries.items()}
    factorize(entries, [0, 1], symmetric=True, shifts={1: ca.SX(-1.0)})
    assert before.keys() == entries.keys()
    for row, columns in before.items():
        assert columns.keys() == entries[row].keys()
        assert all(ca.is_equal(entries[row][c], columns[c]) for c in columns)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(0, 5), st.integers(1, 3))
def test_small_dense_systems_are_solved_without_any_pivot(seed, size, columns):
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(size, size))
    right = generator.normal(size=(size, columns))
    if size and np.linalg.cond(matrix) > 1e6:
        return
    a, b = ca.SX.sym("a", size, size), ca.SX.sym("b", size, columns)
    result = np.asarray(ca.Function("f", [a, b], [solve_small(a, b)])(matrix, right))
    exact = np.linalg.solve(matrix, right) if size else np.empty((0, columns))
    assert result.shape == exact.shape
    # modified Gram-Schmidt: the loss of orthogonality brings one more factor of cond
    allowed = 50 * (size + 1) * EPSILON * (np.linalg.cond(matrix) ** 2 if size else 1)
    assert np.linalg.norm(result - exact) <= allowed * max(np.linalg.norm(exact), 1.0)


def test_orthogonal_rows_solve_a_matrix_with_zeros_on_its_diagonal():
    rows = [[ca.SX(0), ca.SX(2)], [ca.SX(-1), ca.SX(0)]]
    solution = [float(x) for x in orthogonal_rows(rows).solve([ca.SX(4), ca.SX(3)])]
    assert solution == [-3.0, 2.0]


def test_orthogonal_rows_use_no_absolute_values():
    """CasADi turns sqrt(a^2) into |a|, which has no Taylor series; -a divides as well as a."""
    a = ca.SX.sym("a", 2, 2)
    diagonal = ca.diag(ca.vertcat(a[0, 0], a[1, 1]))
    for matrix in (diagonal, ca.vertcat(ca.horzcat(a[0, 0], 0), ca.horzcat(a[1, 0], a[1, 1]))):
        b = ca.SX.sym("b", 2)
        function = ca.Function("f", [a, b], [solve_small(matrix, b)])
        used = {function.instruction_id(k) for k in range(function.n_instructions())}
        assert ca.OP_FABS not in used
        numbers = ca.DM([[-2.0, 0.0], [0.5, -4.0]])
        exact = np.linalg.solve(np.asarray(ca.Function("m", [a], [matrix])(numbers)), [3.0, 1.0])
        assert np.asarray(function(numbers, [3.0, 1.0])).ravel() == pytest.approx(
            exact, rel=4 * EPSILON
        )
