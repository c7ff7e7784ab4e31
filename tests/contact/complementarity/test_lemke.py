"""Lemke's method: no cycles under degenerate loads, other bases where one ends in a ray."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.lemke import lemke
from daesolve.errors import PosingError
from tests.reference.prism_trains import (
    is_one_of,
    reactions_of_all_variants,
    train,
    trains,
)
from tests.reference.prisms import CASES, random_prism


@pytest.mark.parametrize("pairs", [2, 4, 8])
def test_it_finds_the_answer_wherever_each_load_has_one(pairs):
    for problem in itertools.islice(trains(pairs, unique=True), 20):
        truth = reactions_of_all_variants(problem)
        for base in ((2,) * pairs, (1,) * pairs, (1, 2) * (pairs // 2)):
            answer = lemke(problem, base)
            assert answer is not None
            assert is_one_of(answer.reactions, truth)


def test_of_two_pairs_it_finds_an_answer_wherever_there_is_one():
    """All variants serve as bases: every prism with an answer, and no other."""
    random, solvable = np.random.default_rng(1), 0
    for _ in range(300):
        prism = random_prism(random)
        answer = lemke(HorizontalComplementarity(**prism.columns()))
        truth = list(prism.answers().values())
        solvable += bool(truth)
        assert (answer is not None) == bool(truth)
        assert answer is None or is_one_of(answer.reactions, truth)
    assert 200 < solvable < 300


@pytest.mark.parametrize("pairs", [4, 8])
def test_what_it_finds_is_an_answer_where_loads_have_none_or_several(pairs):
    solvable = found = 0
    for problem in itertools.islice(trains(pairs, unique=False), 30):
        truth, answer = reactions_of_all_variants(problem), lemke(problem)
        solvable += bool(truth)
        found += answer is not None
        assert answer is None or is_one_of(answer.reactions, truth)
    assert 0.9 * solvable <= found <= solvable


@pytest.mark.parametrize("unloaded", [1, 2, 3])
def test_loads_under_which_reactions_vanish_do_not_make_it_cycle(unloaded):
    random = np.random.default_rng(unloaded)
    for problem in itertools.islice(trains(4, unique=True), 20):
        reactions = random.normal(size=4)
        reactions[random.permutation(4)[:unloaded]] = 0.0
        answer = lemke(problem.under(problem(reactions)))
        assert answer is not None
        np.testing.assert_allclose(answer.reactions, reactions, atol=1e-10)


def test_no_load_has_no_reactions():
    problem = next(trains(4, unique=True)).under(np.zeros(4))
    answer = lemke(problem)
    assert answer is not None
    assert not np.any(answer.reactions)


def test_forty_pairs_take_a_moment():
    problem = train(20, np.random.default_rng(1), friction=0.1)
    answer = lemke(problem)
    assert answer is not None
    assert np.max(np.abs(problem.residual(answer.reactions))) < 1e-11 * np.max(np.abs(problem.load))


@settings(max_examples=30, derandomize=True, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_units_choose_neither_the_pivots_nor_the_answer(seed):
    """Several answers exist for some: the same one is found."""
    random = np.random.default_rng(seed)
    problem = train(2, random, friction=1.0)
    rows, reactions, size = (
        10.0 ** random.integers(-6, 7, 4),
        10.0 ** random.integers(-6, 7, 4),
        1e9,
    )
    other = HorizontalComplementarity(
        rows[:, None] * problem.first * reactions,
        rows[:, None] * problem.second * reactions,
        rows * problem.load * size,
    )
    here, there = lemke(problem), lemke(other)
    assert (here is None) == (there is None)
    if here is not None and there is not None:
        np.testing.assert_allclose(there.reactions * reactions / size, here.reactions, rtol=1e-9)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_whatever_the_numbers_it_ends_and_tells_the_truth(count, seed):
    """Small integers: singular bases, ties and zero reactions as often as not."""
    numbers = np.random.default_rng(seed).integers(-2, 3, (2 * count + 1, count)).astype(float)
    problem = HorizontalComplementarity(numbers[:count], numbers[count:-1], numbers[-1])
    answer = lemke(problem)
    if answer is not None:
        terms = np.abs(problem.first) @ answer.first + np.abs(problem.second) @ answer.second
        missed = np.abs(problem.residual(answer.reactions))
        assert np.all(missed <= 1e-13 * (np.max(terms) + np.abs(problem.load)))
        assert np.all(answer.signs * answer.reactions >= 0)
        assert abs(answer.determinant) > 0.5  # integers: the variant is not singular


def test_self_locking_is_no_answer():
    assert lemke(HorizontalComplementarity(**CASES["none-jam"].columns())) is None


def test_a_base_that_is_no_variant_is_refused():
    problem = next(trains(2, unique=True))
    with pytest.raises(PosingError, match="not a variant of 2 pairs"):
        lemke(problem, (1, 3))
