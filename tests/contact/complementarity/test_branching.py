"""Branch and bound: all answers, proofs that there is none; what a linear programme can tell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daesolve.contact.complementarity.branching import branch_and_bound, linear_programme
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from tests.contact.complementarity import rational
from tests.reference.prism_trains import is_one_of, reactions_of_all_variants, train, trains
from tests.reference.prisms import CASES, random_prism


@pytest.mark.default_rows(3)
@pytest.mark.parametrize(("pairs", "count"), [(2, 20), (4, 20), (8, 6), (10, 2)])
@pytest.mark.parametrize("unique", [True, False])
def test_it_finds_all_answers_and_knows_it(pairs, count, unique):
    for problem in itertools.islice(trains(pairs, unique=unique), count):
        truth = reactions_of_all_variants(problem)
        answers, complete = branch_and_bound(problem, all=True)
        assert complete
        assert len(answers) == len(truth)
        assert all(is_one_of(answer.reactions, truth) for answer in answers)


@pytest.mark.parametrize("unique", [True, False])
def test_one_answer_ends_it_and_none_is_proved(unique):
    none = 0
    for problem in itertools.islice(trains(8, unique=unique, seed=2), 12):
        truth = reactions_of_all_variants(problem)
        answers, complete = branch_and_bound(problem)
        assert len(answers) == min(len(truth), 1)
        assert all(is_one_of(answer.reactions, truth) for answer in answers)
        if not truth:
            none += 1
            assert complete
    assert unique or none > 0


@pytest.mark.slow
@pytest.mark.parametrize("unique", [True, False])
def test_twelve_pairs_are_searched_completely(unique):
    for problem in itertools.islice(trains(12, unique=unique), 6):
        truth = reactions_of_all_variants(problem)
        answers, complete = branch_and_bound(problem, all=True)
        assert complete
        assert len(answers) == len(truth)
        assert all(is_one_of(answer.reactions, truth) for answer in answers)


def test_twenty_pairs_that_lock_are_proved_to_lock():
    """More than are enumerated: one prism of ten locks, no matter what the others do."""
    random = np.random.default_rng(1)
    count, locking = 20, CASES["none-jam"].columns()
    blocks = {name: np.zeros((count, count)) for name in ("first", "second")}
    load = np.zeros(count)
    for place in range(0, count, 2):
        columns = locking if place == 8 else random_prism(random).columns()
        load[place : place + 2] = columns["load"]
        for name, matrix in blocks.items():
            matrix[place : place + 2, place : place + 2] = columns[name]
    assert branch_and_bound(HorizontalComplementarity(**blocks, load=load)) == ((), True)


@pytest.mark.slow
@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_answers_are_those_of_exact_arithmetic(count, seed):
    """Of small integers; where a variant is singular it may leave open whether there are more."""
    numbers = np.random.default_rng(seed).integers(-2, 3, (2 * count + 1, count)).tolist()
    first, second, load = numbers[:count], numbers[count:-1], numbers[-1]
    exact = [
        [float(n) for n in found] for _, found in rational.answers(first, second, load).values()
    ]
    answers, complete = branch_and_bound(HorizontalComplementarity(first, second, load), all=True)
    expected = {tuple(np.round(reactions, 9) + 0.0) for reactions in exact}
    assert {tuple(np.round(answer.reactions, 9) + 0.0) for answer in answers} == expected
    assert len(answers) == len(expected)
    variants = rational.variants(first, second, load).values()
    assert complete or any(determinant == 0 for determinant, _ in variants)


def test_answers_at_the_border_of_two_variants_are_one():
    problem = next(trains(4, unique=True))
    reactions = np.array([1.0, 0.0, -2.0, 0.0])
    answers, complete = branch_and_bound(problem.under(problem(reactions)), all=True)
    assert complete
    assert len(answers) == 1
    np.testing.assert_allclose(answers[0].reactions, reactions, atol=1e-12)


def test_undetermined_reactions_are_not_called_complete():
    """Two supports side by side share a load in any proportion."""
    side_by_side = np.array([[1.0, 1.0], [1.0, 1.0]])
    problem = HorizontalComplementarity(-side_by_side, side_by_side, np.array([1.0, 1.0]))
    assert branch_and_bound(problem, all=True) == ((), False)


def test_a_complementary_programme_is_an_answer():
    complementary = 0
    for problem in itertools.islice(trains(4, unique=True), 25):
        found = linear_programme(problem)
        assert found is not None
        np.testing.assert_allclose(
            problem.second @ found.second + problem.first @ found.first, problem.load, atol=1e-6
        )
        if found.complementary:
            complementary += 1
            truth = reactions_of_all_variants(problem)
            assert is_one_of(found.second - found.first, truth)
    assert complementary > 15


def test_the_least_sum_may_clamp_a_pair_though_there_is_an_answer():
    """Equation (3.4) drops t1 t2 = 0: its sum is less than that of the only answer."""
    clamped = 0
    for problem in itertools.islice(trains(8, unique=True), 40):
        found = linear_programme(problem)
        assert found is not None
        if not found.complementary:
            clamped += 1
            (truth,) = reactions_of_all_variants(problem)
            assert np.sum(found.first + found.second) < np.sum(np.abs(truth))
            assert np.any(np.minimum(found.first, found.second) > 0)
    assert clamped > 0


def test_without_a_programme_there_is_no_answer():
    none = 0
    for problem in itertools.islice(trains(2, unique=False), 40):
        if linear_programme(problem) is None:
            none += 1
            assert not reactions_of_all_variants(problem)
    assert none > 0


@pytest.mark.slow
def test_units_change_neither_answers_nor_proofs():
    random = np.random.default_rng(7)
    for _ in range(6):
        problem = train(4, random, friction=1.0)
        rows, sizes = 10.0 ** random.integers(-6, 7, (2, 8))
        other = HorizontalComplementarity(
            rows[:, None] * problem.first * sizes,
            rows[:, None] * problem.second * sizes,
            1e9 * rows * problem.load,
        )
        (here, complete), (there, completely) = (
            branch_and_bound(one, all=True) for one in (problem, other)
        )
        assert complete
        assert completely
        assert [answer.variant for answer in there] == [answer.variant for answer in here]
