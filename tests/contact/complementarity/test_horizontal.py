"""The piecewise linear map of signed reactions, its orthants, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from daesolve.contact.complementarity.answers import VariantSolution, answer_at
from daesolve.contact.complementarity.horizontal import (
    HorizontalComplementarity,
    signs_of,
    variant_of,
)
from daesolve.errors import OutOfRangeError, PosingError, VariantError
from tests.reference.prisms import CASES, VARIANTS

THREE = HorizontalComplementarity(**CASES["three-solutions"].columns())


def random_problem(seed: int, count: int = 4) -> HorizontalComplementarity:
    random = np.random.default_rng(seed)
    normal = random.normal(size=(count, count))
    first, second = random.normal(size=(2, count, count))
    return HorizontalComplementarity(
        first - normal, second + normal, random.normal(size=count), -normal, normal
    )


def test_the_map_is_linear_in_an_orthant_and_splits_into_odd_and_even_parts():
    problem = random_problem(1)
    signs = np.array([1, -1, -1, 1])
    reactions = signs * np.array([0.3, 2.0, 0.7, 1.1])
    expected = problem.orthant(signs) @ reactions
    parts = problem.odd @ reactions + problem.even @ np.abs(reactions)
    np.testing.assert_allclose(problem(reactions), expected, rtol=1e-14)
    np.testing.assert_allclose(parts, expected, rtol=1e-14)
    np.testing.assert_allclose(problem.residual(reactions), expected - problem.load, rtol=1e-13)


def test_many_orthants_are_made_at_once():
    problem = random_problem(2)
    signs = np.array([[1, 1, -1, 1], [-1, 1, 1, -1]])
    matrices = problem.orthant(signs)
    for matrix, one in zip(matrices, signs, strict=True):
        np.testing.assert_array_equal(matrix, problem.orthant(one))


@pytest.mark.parametrize("variant", VARIANTS)
def test_determinants_of_a_prism_are_the_differences_of_its_arms(variant):
    prism = CASES["three-solutions"]
    signs = signs_of(variant, 2)
    assert THREE.determinant(signs) == pytest.approx(prism.determinant(variant), rel=1e-14)
    lengths = prism.along[1, variant[1] - 1] - prism.along[0, variant[0] - 1]
    assert THREE.frictionless_determinant(signs) == pytest.approx(lengths, rel=1e-14)


def test_friction_is_scaled_between_none_and_all_of_it():
    problem = random_problem(3)
    half = problem.at(0.5)
    np.testing.assert_allclose(half.second, (problem.second + problem.second_normal) / 2)
    np.testing.assert_array_equal(problem.frictionless.first, problem.first_normal)
    np.testing.assert_allclose(problem.at(1.0).first, problem.first, rtol=1e-14)
    np.testing.assert_array_equal(half.second_normal, problem.second_normal)


def test_columns_without_friction_are_the_columns_where_none_are_given():
    problem = HorizontalComplementarity(-np.eye(2), np.eye(2), np.ones(2))
    np.testing.assert_array_equal(problem.frictionless.first, problem.first)
    assert problem.names == ("1", "2")


@pytest.mark.parametrize("base", [None, (1, 2, 1, 1)])
def test_the_linear_complementarity_problem_has_the_same_answers(base):
    problem = random_problem(4)
    matrix, vector = problem.linear(base)
    opposite = np.array([0.5, 0.0, 0.0, 2.0])
    loaded = matrix @ opposite + vector
    second = np.array([support == 2 for support in base or (2, 2, 2, 2)])
    t2, t1 = np.where(second, loaded, opposite), np.where(second, opposite, loaded)
    balanced = problem.second @ t2 + problem.first @ t1
    np.testing.assert_allclose(balanced, problem.load, atol=1e-13)


def test_a_singular_base_is_refused():
    problem = HorizontalComplementarity(-np.eye(2), [[1, 1], [1, 1]], [1, 2])
    with pytest.raises(VariantError, match=r"variant \(2, 2\) are singular"):
        problem.linear()
    assert problem.linear((1, 1))[1] == pytest.approx([-1, -2])


def test_scaling_evens_out_sizes_exactly():
    problem = random_problem(5)
    rows, columns = 10.0 ** np.array([6, -9, 0, 3]), 10.0 ** np.array([-8, 0, 5, 1])
    uneven = HorizontalComplementarity(
        rows[:, None] * problem.first * columns,
        rows[:, None] * problem.second * columns[::-1],
        rows * problem.load,
    )
    scaled = uneven.scaling.problem
    sizes = np.abs(np.hstack([scaled.first, scaled.second]))
    assert sizes.max() < 4
    assert sizes.max(axis=0).min() > 0.2
    assert sizes.max(axis=1).min() > 0.2
    shares = np.array([0.5, -3.0, 2.0, -0.25])
    reactions = shares * uneven.scaling.factors(np.sign(shares))
    rows_of_two = scaled.load / uneven.load
    np.testing.assert_array_equal(np.frexp(rows_of_two)[0], 0.5)
    np.testing.assert_allclose(scaled(shares), rows_of_two * uneven(reactions), rtol=1e-12)


def test_numbers_cannot_be_changed_behind_the_problems_back():
    columns = np.eye(2)
    problem = HorizontalComplementarity(-columns, columns, np.ones(2))
    columns[0, 0] = 7
    assert problem.second[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        problem.second[0, 0] = 3


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"load": [1.0, np.nan]}, OutOfRangeError, "the load: nan is not a finite number"),
        ({"second": [[1, 0], [0, np.inf]]}, OutOfRangeError, "pair right among the second"),
        ({"first": np.eye(3)}, PosingError, r"the shape is \(3, 3\), 2 pairs need \(2, 2\)"),
        ({"first_normal": [1, 2]}, PosingError, "first supports without friction"),
        ({"load": []}, PosingError, "at least one pair"),
        ({"load": "heavy"}, PosingError, "real numbers"),
        ({"names": ("left", "left")}, PosingError, "2 different names"),
        ({"names": ("left",)}, PosingError, "2 different names"),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_sentence(change, error, words):
    told = {
        "first": -np.eye(2),
        "second": np.eye(2),
        "load": [1.0, 2.0],
        "names": ("left", "right"),
    }
    with pytest.raises(error, match=words):
        HorizontalComplementarity(**{**told, **change})


def test_variants_and_signs_are_two_words_for_one_thing():
    assert variant_of(signs_of((1, 2, 2), 3)) == (1, 2, 2)
    for wrong in [(1, 2), (0, 1, 2), (1, 2, 3)]:
        with pytest.raises(PosingError, match="is not a variant of 3 pairs"):
            signs_of(wrong, 3)


def test_an_answer_tells_its_sides_and_its_pairs_that_are_not_loaded():
    answer = answer_at(THREE, [12.0, 0.0])
    assert answer.variant == (2, 2)
    assert answer.loaded == (2, 0)
    assert answer.least == 0
    np.testing.assert_array_equal(answer.second - answer.first, answer.reactions)
    assert not answer.physical
    assert "1 12, 2 0, the sign" in str(answer)


def test_a_solution_prints_itself_in_a_few_lines():
    answer = answer_at(THREE, [-1.0, 9.0])
    other = answer_at(THREE, [4.0, 4.0])
    solution = VariantSolution(
        answer, (answer, other), True, "enumerate", margin=3.0, jam_at=0.5, notes=("A note.",)
    )
    assert solution.physical == (answer,)
    assert solution.unphysical == (other,)
    lines = str(solution).splitlines()
    assert lines[0] == "chosen variant (1, 2): 1 -1, 2 9"
    assert lines[1].startswith("2 answers by enumerate (all of them), 1 with")
    assert lines[2].startswith("answer: variant (2, 2): 1 4, 2 4")
    assert lines[3:] == [
        "friction may grow 3 times before this variant jams",
        "the branch from no friction ends at 0.5 of the friction",
        "A note.",
    ]
