"""All answers, against exact fractions and the closed form of the prism."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from daesolve.contact.complementarity.enumeration import (
    MOST_PAIRS,
    enumerate_variants,
    every_variant,
    undetermined_variants,
)
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.errors import UnsupportedError
from tests.contact.complementarity import rational
from tests.reference.prisms import CASES, random_prism

NUMBERS = st.integers(-3, 3)


@st.composite
def small_problems(draw):
    count = draw(st.integers(1, 3))
    matrices = st.lists(
        st.lists(NUMBERS, min_size=count, max_size=count), min_size=count, max_size=count
    )
    return draw(matrices), draw(matrices), draw(st.lists(NUMBERS, min_size=count, max_size=count))


ZERO_BY_A_ROW_OF_ITS_OWN = (
    [[-4, -1, 2], [-1, -3, 2], [1, 1, -1]],
    [[3, 1, 1], [0, 1, -2], [0, 0, 0]],
    [2, 0, 0],
)
"""In variant (1, 2, 2) the first reaction alone enters the last row, which has no load."""


@pytest.mark.slow
@settings(max_examples=100, derandomize=True, deadline=None)
@given(small_problems())
@example(ZERO_BY_A_ROW_OF_ITS_OWN)
def test_answers_are_those_of_exact_arithmetic(numbers):
    exact = rational.answers(*numbers)
    expected = {tuple(reactions) for _, reactions in exact.values()}
    found = enumerate_variants(HorizontalComplementarity(*numbers))
    assert len(found) == len(expected)
    for answer in found:
        reactions = exact[answer.variant][1]
        np.testing.assert_allclose(answer.reactions, [float(n) for n in reactions], rtol=1e-12)
        assert answer.loaded == tuple(
            support if reaction else 0
            for support, reaction in zip(answer.variant, reactions, strict=True)
        )


@settings(max_examples=60, derandomize=True, deadline=None)
@given(small_problems(), st.integers(0, 2**32 - 1))
def test_answers_do_not_depend_on_units(numbers, seed):
    """Units of rows and of the reactions on either side, and the size of the load, over 10^12."""
    first, second, load = (np.array(part, dtype=float) for part in numbers)
    random = np.random.default_rng(seed)
    rows, left, right = 10.0 ** random.integers(-6, 7, (3, len(load)))
    size = 10.0 ** random.integers(-9, 10)
    there = enumerate_variants(
        HorizontalComplementarity(
            rows[:, None] * first * left, rows[:, None] * second * right, rows * load * size
        )
    )
    here = enumerate_variants(HorizontalComplementarity(first, second, load))
    assert [answer.variant for answer in there] == [answer.variant for answer in here]
    for one, other in zip(there, here, strict=True):
        np.testing.assert_allclose(one.second * right / size, other.second, rtol=1e-11)
        np.testing.assert_allclose(one.first * left / size, other.first, rtol=1e-11)


ENTRIES = st.just(0.0) | st.floats(1e-3, 1e3) | st.floats(-1e3, -1e-3)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.integers(1, 3).flatmap(lambda m: arrays(float, (2 * m + 1, m), elements=ENTRIES)))
def test_whatever_the_numbers_an_answer_is_one(numbers):
    """Right signs, a residual within rounding of equations near singular, none given twice."""
    count = numbers.shape[1]
    problem = HorizontalComplementarity(numbers[:count], numbers[count : 2 * count], numbers[-1])
    found = enumerate_variants(problem)
    for answer in found:
        assert (answer.signs * answer.reactions >= 0).all()
        terms = np.abs(problem.orthant(answer.signs)) @ np.abs(answer.reactions)
        missed = np.abs(problem.residual(answer.reactions))
        assert (missed <= 1e-3 * (terms + np.abs(problem.load))).all()
    assert len({tuple(answer.reactions) for answer in found}) == len(found)


def test_random_prisms_have_the_answers_of_the_closed_form():
    random = np.random.default_rng(1)
    counts: Counter[int] = Counter()
    for prism in [*CASES.values(), *(random_prism(random) for _ in range(200))]:
        found = enumerate_variants(HorizontalComplementarity(**prism.columns()))
        expected = prism.answers()
        assert [answer.variant for answer in found] == list(expected)
        for answer in found:
            reactions = expected[answer.variant]
            assert np.abs(answer.reactions - reactions).max() <= 1e-12 * np.abs(reactions).max()
            assert answer.determinant == pytest.approx(prism.determinant(answer.variant), abs=1e-14)
            assert answer.physical == (prism.determinant(answer.variant) > 0)
        counts[len(found)] += 1
    assert set(counts) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("case", "variants", "physical"),
    [
        ("unique-lower", [(2, 2)], [True]),
        ("unique-mixed", [(2, 1)], [True]),
        ("two-solutions", [(1, 1), (1, 2)], [True, False]),
        ("none-jam", [], []),
        ("three-solutions", [(1, 2), (2, 1), (2, 2)], [True, True, False]),
        ("unique-but-negative-det", [(1, 2)], [False]),
        ("tall-rough-upper-two", [(1, 2), (2, 1)], [True, False]),
    ],
)
def test_each_kind_of_prism_is_found(case, variants, physical):
    found = enumerate_variants(HorizontalComplementarity(**CASES[case].columns()))
    assert [answer.variant for answer in found] == variants
    assert [answer.physical for answer in found] == physical


def test_variants_that_differ_in_a_zero_reaction_are_one_answer():
    """The weight stands over the second pair: the first one is not loaded on either side."""
    problem = HorizontalComplementarity([[-1, -1], [1, -1]], [[1, 1], [-1, 1]], [20, 20])
    (answer,) = enumerate_variants(problem)
    np.testing.assert_array_equal(answer.reactions, [0, 20])
    assert answer.loaded == (0, 2)


def test_of_one_answer_the_variant_that_keeps_its_determinant_is_taken():
    """Friction as large as the normal reaction in one variant of the unloaded pair."""
    normal = np.eye(2)
    problem = HorizontalComplementarity(
        [[1, 0], [0, -1]], [[1, 0], [0, 1]], [0, 5], -normal, normal
    )
    (answer,) = enumerate_variants(problem)
    assert answer.variant == (2, 2)
    assert answer.physical


@pytest.mark.parametrize("size", [1e-15, 1.0, 1e15])
def test_a_small_reaction_beside_a_large_one_is_no_zero_where_they_are_not_coupled(size):
    problem = HorizontalComplementarity(-np.eye(2), np.eye(2), [1.0, -size])
    (answer,) = enumerate_variants(problem)
    assert answer.loaded == (2, 1)
    np.testing.assert_array_equal(answer.reactions, [1.0, -size])


def test_no_load_has_one_answer_whatever_the_number_of_pairs():
    normal = np.eye(9) + 0.1
    (answer,) = enumerate_variants(HorizontalComplementarity(-normal, normal, np.zeros(9)))
    assert answer.loaded == (0,) * 9


def test_an_exactly_singular_variant_does_not_spoil_its_batch():
    problem = HorizontalComplementarity([[0, -1], [0, -1]], [[1, 0], [0, 1]], [3, 4])
    (answer,) = enumerate_variants(problem)
    assert answer.variant == (2, 2)
    assert {one.variant for one in every_variant(problem)} == {(2, 1), (2, 2)}
    assert undetermined_variants(problem) == ()


def test_a_nearly_singular_variant_gives_no_answer():
    """Close to a jam reactions are as large as rounding makes them: that is no answer."""
    jammed = HorizontalComplementarity([[-1, -1], [1, -1]], [[1, 1], [1, 1 + 1e-15]], [1, 2])
    assert (2, 2) not in {one.variant for one in every_variant(jammed)}
    near = HorizontalComplementarity([[-1, -1], [1, -1]], [[1, 1], [1, 1 + 1e-9]], [1, 2])
    reactions = {one.variant: one.reactions for one in every_variant(near)}[(2, 2)]
    assert np.abs(reactions).max() == pytest.approx(1e9, rel=1e-6)


def test_reactions_that_a_singular_variant_leaves_open_are_reported():
    """Two supports that do the same carry a load in whatever shares, or clamp each other."""
    problem = HorizontalComplementarity([[-1, -1], [1, -1]], [[1, 1], [1, 1]], [5, 5])
    assert undetermined_variants(problem) == ((2, 1), (2, 2))
    assert undetermined_variants(problem.under([-5, 5])) == ()
    assert undetermined_variants(problem.under([0, 0])) == ((2, 1),)


def test_a_rod_that_rubs_at_its_end_has_two_answers_or_none():
    """Painleve's: friction turns the sign of what its one, unilateral support does.

    Where it is open, the first reaction is the acceleration of its gap, its column -1.
    """
    lifted = HorizontalComplementarity([[-1]], [[-0.5]], [-2], [[-1]], [[1]])
    free, pressed = enumerate_variants(lifted)
    assert (free.variant, free.first[0], free.physical) == ((1,), 2, True)
    assert (pressed.variant, pressed.second[0], pressed.physical) == ((2,), 4, False)
    assert enumerate_variants(lifted.under([2])) == ()


def test_signorini_contacts_have_the_one_answer_of_their_quadratic_programme():
    random = np.random.default_rng(3)
    for _ in range(30):
        root = random.normal(size=(4, 4))
        response, load = root @ root.T + 0.1 * np.eye(4), random.normal(size=4)
        (answer,) = enumerate_variants(HorizontalComplementarity(-np.eye(4), response, load))
        gap = response @ answer.second - load
        np.testing.assert_allclose(gap, answer.first, atol=1e-11)
        assert answer.physical


@pytest.mark.slow
def test_all_answers_of_sixteen_pairs_are_found():
    random = np.random.default_rng(7)
    count = MOST_PAIRS
    normal = np.eye(count) + 0.1 * random.normal(size=(count, count))
    friction = 0.05 * random.normal(size=(2, count, count))
    reactions = random.choice([-1, 1], count) * random.uniform(1, 2, count)
    problem = HorizontalComplementarity(
        -normal + friction[0], normal + friction[1], np.ones(count), -normal, normal
    )
    (answer,) = enumerate_variants(problem.under(problem(reactions)))
    np.testing.assert_allclose(answer.reactions, reactions, rtol=1e-11)


def test_more_pairs_than_can_be_looked_at_are_refused():
    many = np.eye(MOST_PAIRS + 1)
    with pytest.raises(UnsupportedError, match="17 pairs of supports have 2\\^17 variants"):
        enumerate_variants(HorizontalComplementarity(-many, many, many[0]))
