"""Properties of problems, against exact fractions, brute force and bisection."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from daesolve.contact.complementarity.enumeration import enumerate_variants, undetermined_variants
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity, signs_of
from daesolve.contact.complementarity.properties import (
    contraction,
    degree,
    friction_margin,
    frictionless_sign,
    w_property,
)
from daesolve.errors import FrictionlessIllPosed, VariantError
from tests.contact.complementarity import rational
from tests.contact.complementarity.test_enumeration import small_problems
from tests.reference.prisms import CASES, VARIANTS, random_prism


def random_problem(
    random: np.random.Generator, count: int, friction: float
) -> HorizontalComplementarity:
    """Aligned pairs that hold their body, with friction of a given size."""
    normal = np.eye(count) + random.uniform(-0.4, 0.4, (count, count))
    rubbing = friction * random.normal(size=(2, count, count))
    load = random.normal(size=count)
    return HorizontalComplementarity(
        rubbing[0] - normal, rubbing[1] + normal, load, -normal, normal
    )


@pytest.mark.slow
@settings(max_examples=80, derandomize=True, deadline=None)
@given(small_problems())
def test_the_w_property_is_one_sign_of_exact_determinants(numbers):
    determinants = [determinant for determinant, _ in rational.variants(*numbers).values()]
    expected = all(one > 0 for one in determinants) or all(one < 0 for one in determinants)
    assert w_property(HorizontalComplementarity(*numbers)) is expected


@pytest.mark.slow
@settings(max_examples=80, derandomize=True, deadline=None)
@given(small_problems(), st.lists(st.integers(-9, 9), min_size=3, max_size=3))
def test_the_signed_count_of_answers_is_the_degree_for_every_load(numbers, load):
    """Loads on a boundary of the count are left out: a zero reaction, or a singular variant."""
    load = load[: len(numbers[2])]
    exact = rational.answers(*numbers[:2], load)
    problem = HorizontalComplementarity(*numbers[:2], load)
    assume(all(all(reactions) for _, reactions in exact.values()))
    assume(any(load) and not undetermined_variants(problem))
    try:
        expected = degree(problem)
    except VariantError:
        assume(False)
    assert sum(1 if determinant > 0 else -1 for determinant, _ in exact.values()) == expected


def test_the_degree_of_a_prism_counts_its_negative_mixed_determinants():
    random = np.random.default_rng(2)
    degrees, holding = set(), set()
    for prism in [*CASES.values(), *(random_prism(random) for _ in range(150))]:
        problem = HorizontalComplementarity(**prism.columns())
        answers = enumerate_variants(problem)
        assert degree(problem) == prism.degree()
        assert sum(np.sign(answer.determinant) for answer in answers) == prism.degree()
        signs = {prism.determinant(variant) > 0 for variant in VARIANTS}
        assert w_property(problem) == (len(signs) == 1)
        assert len(answers) == 1 or not w_property(problem)
        degrees.add(prism.degree())
        holding.add(w_property(problem))
    assert degrees == {-1, 0, 1}
    assert holding == {True, False}


def test_where_the_w_property_holds_each_of_many_loads_has_one_answer():
    random = np.random.default_rng(4)
    held = 0
    for _ in range(20):
        problem = random_problem(random, 4, 0.3)
        loads = random.normal(size=(10, 4))
        counts = {len(enumerate_variants(problem.under(load))) for load in loads}
        if w_property(problem):
            held += 1
            assert counts == {1}
    assert 0 < held < 20


def test_a_contraction_is_enough_for_the_w_property_and_not_needed():
    random = np.random.default_rng(5)
    beyond = 0
    for _ in range(60):
        problem = random_problem(random, 3, 0.3)
        signs = {np.sign(problem.determinant(signs)) for signs in product((-1, 1), repeat=3)}
        if contraction(problem) < 1:
            assert len(signs) == 1
        elif len(signs) == 1:
            beyond += 1
            assert w_property(problem)
    assert beyond > 0


def test_the_contraction_of_a_prism_in_closed_form():
    """Equal friction of aligned supports at opposite heights moves no arm: B is zero."""
    level = HorizontalComplementarity(**CASES["unique-lower"].columns())
    assert contraction(level) == pytest.approx(0, abs=1e-15)
    single = HorizontalComplementarity([[-1.0]], [[0.25]], [1])
    assert contraction(single) == pytest.approx(0.75 / 1.25)
    assert contraction(HorizontalComplementarity([[1.0]], [[1.0]], [1])) == np.inf


def test_more_pairs_than_can_be_looked_at_are_decided_by_the_contraction_alone():
    count = 40
    normal = np.eye(count)
    rubbing = 0.9 * np.eye(count)
    held = HorizontalComplementarity(rubbing - normal, rubbing + normal, normal[0], -normal, normal)
    assert w_property(held) is True
    assert frictionless_sign(held) == 1
    assert w_property(held.at(2.0)) is None


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_friction_margin_is_where_bisection_finds_the_first_zero(count):
    random = np.random.default_rng(count)
    shares = np.linspace(0, 20, 4001)
    finite = 0
    for _ in range(15):
        problem = random_problem(random, count, 0.5)
        signs = random.choice([-1, 1], count)
        kappa = friction_margin(problem, signs)
        values = np.array([problem.at(share).determinant(signs) for share in shares[::20]])
        changes = np.flatnonzero(values[:-1] * values[1:] < 0)
        if len(changes):
            low, high = shares[20 * changes[0]], shares[20 * (changes[0] + 1)]
            crossing = brentq(
                lambda share, problem=problem, signs=signs: problem.at(share).determinant(signs),
                low,
                high,
                xtol=1e-13,
            )
            finite += 1
            assert kappa <= crossing * (1 + 1e-9)
        if np.isfinite(kappa):
            normal = np.abs(problem.frictionless.orthant(signs))
            size = normal + kappa * np.abs(
                problem.orthant(signs) - problem.frictionless.orthant(signs)
            )
            bound = np.prod(np.linalg.norm(size, axis=0))
            assert abs(problem.at(kappa).determinant(signs)) <= 1e-9 * bound
            inside = shares[shares < kappa * (1 - 1e-6)][::40]
            sign = np.sign(problem.frictionless_determinant(signs))
            assert all(problem.at(share).determinant(signs) * sign > 0 for share in inside)
        else:
            assert not len(changes)
    assert finite > 3


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", CASES)
def test_the_friction_margin_of_a_prism_in_closed_form(case, variant):
    """D_ij is linear in kappa: its length without friction, and what friction takes of it."""
    prism = CASES[case]
    problem = HorizontalComplementarity(**prism.columns())
    i, j = variant
    length = prism.along[1, j - 1] - prism.along[0, i - 1]
    taken = length - prism.determinant(variant)
    expected = length / taken if taken > 1e-12 else np.inf
    assert friction_margin(problem, signs_of(variant, 2)) == pytest.approx(expected, rel=1e-12)


def test_supports_that_hold_the_body_have_one_sign_without_friction():
    for prism in CASES.values():
        assert frictionless_sign(HorizontalComplementarity(**prism.columns())) == 1
    turned = CASES["none-jam"].columns()
    turned = {name: part[::-1] for name, part in turned.items()}
    assert frictionless_sign(HorizontalComplementarity(**turned)) == -1


def test_unilateral_supports_of_a_positive_definite_response_have_the_sign_plus():
    random = np.random.default_rng(8)
    for _ in range(20):
        root = random.normal(size=(4, 4))
        response = root @ root.T + 0.01 * np.eye(4)
        problem = HorizontalComplementarity(-np.eye(4), response, np.ones(4))
        assert frictionless_sign(problem) == 1
        assert w_property(problem)


@pytest.mark.parametrize(
    ("upper", "words"), [((2.0, 1.0), "differ in sign"), ((1.0, 1.0), "vanish")]
)
def test_supports_that_do_not_hold_the_body_are_refused(upper, words):
    """The upper supports of the first pair stand right of the second pair, or under it."""
    left, right = upper
    problem = HorizontalComplementarity([[-1, -1], [-left, -right]], [[1, 1], [-1, 1]], [1, 0])
    with pytest.raises(FrictionlessIllPosed, match=f"pairs 1, 2 {words}"):
        frictionless_sign(problem)


def test_no_margin_where_the_body_is_not_held_without_friction():
    problem = HorizontalComplementarity(
        [[-1.0]], [[0.5]], [1.0], np.array([[-1.0]]), np.array([[0.0]])
    )
    with pytest.raises(FrictionlessIllPosed, match=r"variant \(2,\)"):
        friction_margin(problem, [1])


def test_no_degree_where_reactions_balance_each_other():
    clamped = HorizontalComplementarity([[-1, -1], [1, -1]], [[1, 1], [1, 1]], [5, 5])
    with pytest.raises(VariantError, match=r"variant \(2, 1\) is singular and balances"):
        degree(clamped)
