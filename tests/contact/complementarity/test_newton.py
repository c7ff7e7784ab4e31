"""Newton's method: all answers of unique problems, no false one of others."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.newton import frictionless_reactions, newton
from daesolve.errors import FrictionlessIllPosed, PosingError
from tests.reference.prism_trains import (
    is_one_of,
    reactions_of_all_variants,
    train,
    trains,
)
from tests.reference.prisms import CASES


def members(pairs, unique, count):
    return list(itertools.islice(trains(pairs, unique=unique), count))


@pytest.mark.parametrize("pairs", [2, 4, 8])
def test_it_finds_the_answer_wherever_each_load_has_one(pairs):
    for problem in members(pairs, True, 20):
        answer = newton(problem)
        assert answer is not None
        assert is_one_of(answer.reactions, reactions_of_all_variants(problem))
        assert answer.physical


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("pairs", [2, 4, 8])
def test_what_it_finds_is_an_answer_where_loads_have_none_or_several(pairs):
    """Here it may cycle: it finds most of the answers, and nothing that is none."""
    solvable = found = 0
    for problem in members(pairs, False, 30):
        truth, answer = reactions_of_all_variants(problem), newton(problem)
        solvable += bool(truth)
        found += answer is not None
        assert answer is None or is_one_of(answer.reactions, truth)
    assert 0.7 * solvable <= found <= solvable


def test_from_an_answer_it_stays_at_that_answer():
    prism = CASES["three-solutions"]
    problem = HorizontalComplementarity(**prism.columns())
    assert len(prism.answers()) == 3
    for variant, reactions in prism.answers().items():
        answer = newton(problem, start=reactions)
        assert answer is not None
        assert answer.variant == variant
        np.testing.assert_allclose(answer.reactions, reactions, rtol=1e-13)


def test_forty_pairs_take_a_moment():
    problem = train(20, np.random.default_rng(1), friction=0.1)
    answer = newton(problem, max_iterations=20)
    assert answer is not None
    assert np.max(np.abs(problem.residual(answer.reactions))) < 1e-11 * np.max(np.abs(problem.load))


def test_where_orthants_repeat_it_goes_on_pair_by_pair():
    """Changing all wrong signs at once would never end here, though each load has one answer.

    w = M z + q with M = I + 2 C, C a cyclic shift: the principal minors of M are 1, 1 and 9.
    """
    opposite = np.eye(3) + 2 * np.roll(np.eye(3), 1, axis=1)
    problem = HorizontalComplementarity(-opposite, np.eye(3), np.ones(3))
    signs, seen = np.array([1.0, 1.0, -1.0]), []
    while tuple(signs) not in seen:
        seen.append(tuple(signs))
        reactions = np.linalg.solve(problem.orthant(signs), problem.load)
        signs = np.where(signs * reactions < 0, -signs, signs)
    assert seen[0] == tuple(signs)
    answer = newton(problem, start=signs)
    assert answer is not None
    np.testing.assert_allclose(answer.reactions, np.ones(3), rtol=1e-14)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_neither_units_nor_the_size_of_the_load_matter(seed):
    random = np.random.default_rng(seed)
    problem = train(2, random, friction=1.0)
    rows, reactions, size = (
        10.0 ** random.integers(-6, 7, 4),
        10.0 ** random.integers(-6, 7, 4),
        1e9,
    )
    assert problem.first_normal is not None
    assert problem.second_normal is not None
    other = HorizontalComplementarity(
        rows[:, None] * problem.first * reactions,
        rows[:, None] * problem.second * reactions,
        rows * problem.load * size,
        rows[:, None] * problem.first_normal * reactions,
        rows[:, None] * problem.second_normal * reactions,
    )
    here, there = newton(problem), newton(other)
    assert (here is None) == (there is None)
    if here is not None and there is not None:
        assert here.variant == there.variant
        np.testing.assert_allclose(there.reactions * reactions / size, here.reactions, rtol=1e-9)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_whatever_the_numbers_it_ends_and_tells_the_truth(count, seed):
    """Small integers make singular orthants and zero reactions as often as not."""
    numbers = np.random.default_rng(seed).integers(-2, 3, (2 * count + 1, count)).astype(float)
    problem = HorizontalComplementarity(numbers[:count], numbers[count:-1], numbers[-1])
    answer = newton(problem, start=np.ones(count))
    if answer is not None:
        terms = np.abs(problem.first) @ answer.first + np.abs(problem.second) @ answer.second
        missed = np.abs(problem.residual(answer.reactions))
        assert np.all(missed <= 1e-13 * (np.max(terms) + np.abs(problem.load)))
        assert np.all(answer.signs * answer.reactions >= 0)
        assert abs(answer.determinant) > 0.5  # integers: the variant is not singular


def test_no_friction_is_solved_exactly():
    problem = next(trains(4, unique=True))
    reactions = frictionless_reactions(problem)
    np.testing.assert_allclose(problem.frictionless(reactions), problem.load, rtol=1e-12)


def test_supports_that_do_not_hold_the_body_are_refused():
    beside = np.array([[1.0, 1.0], [0.5, 0.5]])
    problem = HorizontalComplementarity(-beside, beside, np.array([1.0, 0.0]))
    with pytest.raises(FrictionlessIllPosed, match="without friction no reactions"):
        newton(problem)


def test_a_start_of_another_size_is_refused():
    problem = next(trains(4, unique=True))
    with pytest.raises(PosingError, match=r"start has shape \(3,\): 4 pairs"):
        newton(problem, start=np.ones(3))


def test_self_locking_is_no_answer():
    assert newton(HorizontalComplementarity(**CASES["none-jam"].columns())) is None
