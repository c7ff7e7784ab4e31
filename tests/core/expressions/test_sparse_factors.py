import numpy as np
import pytest
import scipy
from scipy.sparse import random_array

from daesolve.core.expressions.sparse_factors import AlikeMatrices, solved_sparsely
from tests.systems import EPSILON

SIZE = 60


def pattern():
    matrix = random_array((SIZE, SIZE), density=0.05, rng=np.random.default_rng(1)).tolil()
    matrix.setdiag(1.0)
    matrix.setdiag(1.0, 1)
    matrix[SIZE - 1, 0] = 1.0
    matrix = matrix.tocsc()
    matrix.sort_indices()
    return matrix


def entries_of(matrix, kind, seed):
    drawn = np.random.default_rng(seed)
    entries = drawn.uniform(-1, 1, matrix.nnz).astype(kind)
    if kind is complex:
        entries += 1j * drawn.uniform(-1, 1, matrix.nnz)
    return entries


def backward_error(matrix, entries, solve, seed):
    dense = type(matrix)((entries, matrix.indices, matrix.indptr), shape=matrix.shape).toarray()
    right = np.random.default_rng(seed).uniform(-1, 1, SIZE)
    found = solve(right)
    size = np.linalg.norm(dense, np.inf) * np.max(np.abs(found)) + np.max(np.abs(right))
    return np.max(np.abs(dense @ found - right)) / size


@pytest.mark.slow
@pytest.mark.parametrize("kind", [float, complex])
def test_matrices_alike_are_solved_to_rounding_whatever_pivots_the_first_of_them_had(kind):
    matrix = pattern()
    alike = AlikeMatrices(matrix.indices, matrix.indptr)
    for seed in range(20):
        entries = entries_of(matrix, kind, seed)
        solve = alike.factorise(entries)
        # The backward error of an elimination is SIZE * growth * epsilon; a pivot is a thousandth
        # of its column at least, but growth beyond 100 does not come together in such matrices.
        assert backward_error(matrix, entries, solve, seed) <= 100 * SIZE * EPSILON


def test_factors_that_are_held_stay_those_of_their_own_matrix():
    matrix = pattern()
    alike = AlikeMatrices(matrix.indices, matrix.indptr)
    first, second = entries_of(matrix, float, 1), entries_of(matrix, float, 2)
    solve = alike.factorise(first)
    alike.factorise(second)
    assert backward_error(matrix, first, solve, 3) <= 100 * SIZE * EPSILON


@pytest.mark.slow
def test_known_pivots_are_used_again_until_they_are_too_small(monkeypatch):
    chosen = []
    inner = scipy.sparse.linalg.splu
    monkeypatch.setattr(
        scipy.sparse.linalg, "splu", lambda *a, **k: chosen.append(1) or inner(*a, **k)
    )
    matrix = pattern()
    columns = np.repeat(np.arange(SIZE), np.diff(matrix.indptr))
    diagonal = matrix.indices == columns
    alike = AlikeMatrices(matrix.indices, matrix.indptr)
    dominant = np.where(diagonal, 20.0, entries_of(matrix, float, 1))
    alike.factorise(dominant)
    alike.factorise(1.1 * dominant)
    assert len(chosen) == 1
    tiny = np.where(diagonal, 1e-9, dominant)
    tiny[(matrix.indices + 1) % SIZE == columns] = 20.0  # what is beside the diagonal serves
    assert backward_error(matrix, tiny, alike.factorise(tiny), 3) <= 100 * SIZE * EPSILON
    assert len(chosen) > 1


@pytest.mark.slow
def test_a_singular_matrix_and_one_that_is_not_finite_have_no_factors():
    matrix = pattern()
    alike = AlikeMatrices(matrix.indices, matrix.indptr)
    entries = entries_of(matrix, float, 1)
    nothing = entries.copy()
    nothing[matrix.indptr[3] : matrix.indptr[4]] = 0.0
    assert alike.factorise(nothing) is None
    assert alike.factorise(np.where(np.arange(matrix.nnz) == 5, np.nan, entries)) is None
    assert backward_error(matrix, entries, alike.factorise(entries), 1) <= 100 * SIZE * EPSILON


@pytest.mark.parametrize("rows", [15, 40])
def test_more_constraints_than_unknowns_are_refused_without_a_word_of_the_factorisation(
    rows, capfd
):
    drawn = np.random.default_rng(0)
    slopes = drawn.normal(size=(rows, 12)) * (drawn.random((rows, 12)) < 0.2)
    matrix = np.block([[np.eye(12), slopes.T], [slopes, np.zeros((rows, rows))]])
    assert solved_sparsely(scipy.sparse.csc_array(matrix), np.ones(12 + rows)) is None
    assert capfd.readouterr() == ("", "")
