"""Ranks, null spaces and independent rows of matrices for which they are known."""

from __future__ import annotations

import numpy as np
import pytest

from daesolve.core.expressions.singular_values import (
    independent_rows,
    null_space,
    rank,
    singular_directions,
    singular_values,
    unit_length,
)

ANGLE = 1e-4
NEARLY_PARALLEL = np.array([[1.0, 0.0, 0.0], [np.cos(ANGLE), np.sin(ANGLE), 0.0]])


def test_the_smallest_singular_value_of_unit_rows_is_about_the_angle_between_them():
    """For two unit rows at an angle a the singular values are sqrt(1 +- cos a)."""
    found = singular_values(NEARLY_PARALLEL)
    assert found == pytest.approx([np.sqrt(1 + np.cos(ANGLE)), np.sqrt(2) * np.sin(ANGLE / 2)])


def test_a_tolerance_is_absolute():
    assert rank(NEARLY_PARALLEL, ANGLE) == 1
    assert rank(NEARLY_PARALLEL, ANGLE / 2) == 2
    assert rank(1e-3 * NEARLY_PARALLEL, ANGLE / 2) == 1
    # without one, rounding of the matrix itself, whatever its size
    assert rank(1e-30 * NEARLY_PARALLEL) == 2


def test_missing_singular_values_are_zeros_where_a_count_is_wanted():
    tall = np.ones((3, 1))
    assert singular_values(tall) == pytest.approx([np.sqrt(3.0)])
    assert singular_values(tall, 3) == pytest.approx([np.sqrt(3.0), 0.0, 0.0])


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (4, 4)])
def test_null_spaces_complete_the_rank_on_either_side(shape):
    generator = np.random.default_rng(1)
    thin = min(*shape) - 1
    matrix = generator.normal(size=(shape[0], thin)) @ generator.normal(size=(thin, shape[1]))
    found = singular_directions(matrix)
    free, dependences = null_space(matrix, 1e-12), found.dependences(1e-12)
    assert found.rank(1e-12) == thin
    assert free.shape == (shape[1], shape[1] - thin)
    assert dependences.shape == (shape[0], shape[0] - thin)
    assert np.max(np.abs(matrix @ free)) < 1e-14
    assert np.max(np.abs(dependences.T @ matrix)) < 1e-14
    assert free.T @ free == pytest.approx(np.eye(free.shape[1]))


def test_stacks_are_decomposed_matrix_by_matrix():
    stack = np.random.default_rng(2).normal(size=(3, 4, 2))
    found = singular_directions(stack)
    for k, matrix in enumerate(stack):
        assert np.array_equal(found.values[k], singular_directions(matrix).values)
    assert singular_values(stack) == pytest.approx(found.values)


def test_rows_are_kept_in_their_order_whatever_their_lengths():
    rows = np.array([[0.0, 0.0, 0.0], [1e-9, 0.0, 0.0], [5.0, 0.0, 0.0], [1.0, 1e3, 0.0]])
    assert independent_rows(rows, 1e-9) == [1, 3]
    assert independent_rows(np.vstack([np.eye(2), np.ones(2)]), 1e-9) == [0, 1]


def test_a_row_of_zeros_stays_when_others_get_unit_length():
    scaled = unit_length(np.array([[3.0, 4.0], [0.0, 0.0]]), 1)
    assert np.array_equal(scaled, [[0.6, 0.8], [0.0, 0.0]])
