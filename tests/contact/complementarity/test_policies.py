"""Which answer is chosen, and the report when none can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.policies import METHODS, POLICIES, solve
from daesolve.contact.complementarity.properties import contraction, w_property
from daesolve.errors import (
    AmbiguousVariant,
    BranchLost,
    FrictionlessIllPosed,
    NoValidVariant,
    PosingError,
    UnknownNameError,
    UnphysicalVariant,
    VariantError,
)
from tests.reference.prisms import CASES, Prism, random_prism

JAMS_ON_THE_WAY = Prism(
    along=np.array([[-0.8, -0.3], [0.25, 0.25]]),
    height=np.array([[1, -1.35], [1.1, -1.85]]),
    friction=np.array([[0.7, 0.15], [0.95, 0.85]]),
    slip=1,
    force_x=3.0,
    force_y=-11.0,
    moment=6.0,
)
"""The branch from no friction jams at 0.653 of it; another pair of answers is born at 0.6."""


def problem_of(*prisms: Prism) -> HorizontalComplementarity:
    """Prisms beside each other."""
    count = 2 * len(prisms)
    columns = [prism.columns() for prism in prisms]
    blocks = {name: np.zeros((count, count)) for name in columns[0] if name != "load"}
    for place, one in enumerate(columns):
        rows = slice(2 * place, 2 * place + 2)
        for name, matrix in blocks.items():
            matrix[rows, rows] = one[name]
    return HorizontalComplementarity(**blocks, load=np.concatenate([c["load"] for c in columns]))


def random_problem(
    random: np.random.Generator, count: int, friction: float
) -> HorizontalComplementarity:
    """Aligned pairs that hold their body."""
    normal = np.eye(count) + random.uniform(-1, 1, (count, count)) / (2 * np.sqrt(count))
    rubbing = friction * random.normal(size=(2, count, count))
    first, second = rubbing + normal * np.array([[[-1]], [[1]]])
    return HorizontalComplementarity(first, second, random.normal(size=count), -normal, normal)


@pytest.mark.parametrize("policy", ["homotopy", "strict", "all"])
@pytest.mark.parametrize(("case", "variant"), [("unique-lower", (2, 2)), ("unique-mixed", (2, 1))])
def test_the_only_answer_is_chosen_by_every_policy(case, variant, policy):
    solution = solve(problem_of(CASES[case]), policy=policy)
    assert solution.complete
    assert [answer.variant for answer in solution.physical] == [variant]
    assert solution.chosen is solution.answers[0]
    np.testing.assert_allclose(
        solution.chosen.reactions, CASES[case].reactions(variant), rtol=1e-13
    )


@pytest.mark.parametrize(
    ("case", "variant", "margin"),
    [
        ("two-solutions", (1, 1), 6.5),
        ("three-solutions", (1, 2), np.inf),
        ("tall-rough-upper-two", (1, 2), np.inf),
    ],
)
def test_of_several_answers_the_one_on_the_branch_from_no_friction_is_chosen(case, variant, margin):
    problem = problem_of(CASES[case])
    solution = solve(problem)
    assert solution.chosen.variant == variant
    assert solution.chosen.physical
    assert solution.margin == pytest.approx(margin)
    assert solution.jam_at is None
    with pytest.raises(AmbiguousVariant, match="answers balance the load") as refused:
        solve(problem, policy="strict")
    assert len(refused.value.solution.answers) == len(solution.answers) > 1
    assert solve(problem, policy="all").chosen is None


@pytest.mark.parametrize("policy", ["homotopy", "strict"])
def test_self_locking_is_named_and_every_variant_is_reported(policy):
    """In the mixed variant (2, 1) friction has overcome the arm: jammed at 0.647 of it."""
    with pytest.raises(NoValidVariant, match="self-locking") as refused:
        solve(problem_of(CASES["none-jam"]), policy=policy)
    solution = refused.value.solution
    assert solution.complete
    assert len(solution.candidates) == 4
    for one in solution.candidates:
        expected = CASES["none-jam"].reactions(one.variant)
        np.testing.assert_allclose(one.reactions, expected, rtol=1e-12)
        assert (one.signs * one.reactions).min() < 0
        assert str(one) in str(refused.value)
    assert solution.jam_at is None or 0 < solution.jam_at < 1


@pytest.mark.parametrize("policy", ["homotopy", "strict"])
def test_one_answer_alone_may_be_unphysical(policy):
    """All determinants are negative: every load has one answer, and it is never what happens."""
    problem = problem_of(CASES["unique-but-negative-det"])
    assert w_property(problem)
    with pytest.raises(UnphysicalVariant, match=r"variant \(1, 2\)") as refused:
        solve(problem, policy=policy)
    assert [answer.variant for answer in refused.value.solution.unphysical] == [(1, 2)]
    assert refused.value.solution.chosen is None
    assert solve(problem, policy="all").chosen is None


def test_where_the_branch_jams_the_only_other_physical_answer_is_taken_and_reported():
    solution = solve(problem_of(JAMS_ON_THE_WAY))
    arms = JAMS_ON_THE_WAY
    length = arms.along[1, 0] - arms.along[0, 1]
    assert solution.jam_at == pytest.approx(length / (length - arms.determinant((2, 1))), rel=1e-9)
    assert solution.chosen.variant == (1, 2)
    assert len(solution.answers) == 2
    assert "no other answer keeps the sign of its determinant" in str(solution)
    assert solution.margin > 1


def test_where_the_branch_jams_several_physical_answers_are_ambiguous():
    problem = problem_of(JAMS_ON_THE_WAY, CASES["three-solutions"])
    with pytest.raises(AmbiguousVariant, match=r"ends at 0\.6528 of the friction") as refused:
        solve(problem)
    assert len(refused.value.solution.answers) == 6
    assert len(refused.value.solution.physical) == 2 + 1


def test_random_prisms_get_the_verdict_of_their_answers():
    random = np.random.default_rng(12)
    for _ in range(150):
        prism = random_prism(random)
        answers = {variant: prism.determinant(variant) > 0 for variant in prism.answers()}
        physical = [variant for variant, kept in answers.items() if kept]
        if not answers:
            with pytest.raises(NoValidVariant):
                solve(problem_of(prism))
        elif not physical:
            with pytest.raises(UnphysicalVariant):
                solve(problem_of(prism))
        else:
            assert solve(problem_of(prism)).chosen.variant in physical


def followed(
    prism: Prism, moments: np.ndarray, variant: tuple[int, ...]
) -> tuple[list[tuple[int, ...]], Prism | None]:
    """Variants that continuity goes through, and the prism at which the branch is lost."""
    passed = [variant]
    for moment in moments:
        moved = replace(prism, moment=float(moment))
        try:
            solution = solve(problem_of(moved), policy="continuity", warm=passed[-1])
        except BranchLost:
            return passed, moved
        expected = moved.reactions(solution.chosen.variant)
        np.testing.assert_allclose(solution.chosen.reactions, expected, atol=1e-12)
        if solution.chosen.variant != passed[-1]:
            passed.append(solution.chosen.variant)
    return passed, None


@pytest.mark.parametrize(
    ("moments", "variant", "last", "before", "after"),
    [
        (np.arange(-11, -4, 0.125), (1, 2), -8, 1.5, 6.3),
        (np.arange(-9, -15, -0.125), (2, 1), -12, 3.5, 1.5),
    ],
)
def test_a_variant_is_kept_until_it_ends_and_then_jumps_with_hysteresis(
    moments, variant, last, before, after
):
    """Three answers: upwards the moment leaves (1, 2) at -8, downwards (2, 1) at -12."""
    prism = CASES["three-solutions"]
    passed, lost = followed(prism, moments, variant)
    assert passed == [variant]
    assert lost.moment == last + np.sign(moments[1] - moments[0]) * 0.125
    at_end = replace(prism, moment=last)
    jumped = solve(problem_of(lost)).chosen.variant
    assert at_end.acceleration(variant) == pytest.approx(before, rel=1e-14)
    assert at_end.acceleration(jumped) == pytest.approx(after, rel=1e-14)


def test_continuity_follows_the_answer_through_switches_where_none_is_lost():
    prism = CASES["unique-lower"]
    passed, lost = followed(prism, np.linspace(-30, 30, 61), (1, 2))
    assert passed == [(1, 2), (2, 2), (2, 1)]
    assert lost is None


def test_two_pairs_may_switch_at_once():
    prism = CASES["unique-lower"]
    moved = problem_of(replace(prism, moment=30.0), replace(prism, moment=-30.0))
    solution = solve(moved, policy="continuity", warm=(2, 2, 2, 2))
    assert solution.chosen.variant == (2, 1, 1, 2)
    assert solution.method == "continuity"


def test_at_the_switch_itself_the_variant_is_still_the_old_one():
    """The moment at which the second pair is not loaded on either side: c_1 P_y."""
    prism = replace(CASES["unique-lower"], moment=-20 * CASES["unique-lower"].arms()[0, 1])
    for warm in [(2, 2), (2, 1)]:
        answer = solve(problem_of(prism), policy="continuity", warm=warm).chosen
        assert answer.variant == warm
        assert answer.loaded == (2, 0)


def test_continuity_tells_all_answers_by_a_method_that_finds_them():
    problem = problem_of(CASES["three-solutions"])
    solution = solve(problem, policy="continuity", warm=(2, 1), method="enumerate")
    assert solution.chosen.variant == (2, 1)
    assert len(solution.answers) == 3


def test_an_unphysical_variant_is_not_continued():
    with pytest.raises(BranchLost, match=r"from variant \(2, 2\)"):
        solve(problem_of(CASES["three-solutions"]), policy="continuity", warm=(2, 2))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_only_answer(method):
    problem = problem_of(CASES["unique-mixed"], CASES["unique-lower"])
    solution = solve(problem, method=method)
    assert solution.chosen.variant == (2, 1, 2, 2)
    assert solution.complete
    assert solution.method == ("enumerate" if method == "auto" else method)


def test_a_method_that_proves_nothing_says_so():
    problem = problem_of(CASES["none-jam"])
    with pytest.raises(
        VariantError, match="newton does not prove that there are no others"
    ) as refused:
        solve(problem, method="newton")
    assert not isinstance(refused.value, NoValidVariant)
    with pytest.raises(NoValidVariant):
        solve(problem, method="branch-and-bound")
    with pytest.raises(AmbiguousVariant, match="homotopy does not prove that there are no others"):
        solve(problem_of(CASES["three-solutions"]), policy="strict", method="homotopy")


def test_many_pairs_of_little_friction_have_one_answer_by_newton():
    random = np.random.default_rng(3)
    for count in (12, 40):
        problem = random_problem(random, count, 0.1 / np.sqrt(count))
        assert contraction(problem) < 1
        for policy in ("homotopy", "strict", "all"):
            solution = solve(problem, policy=policy)
            assert solution.method == "newton"
            assert solution.complete
            size = np.abs(problem.load).max()
            missed = np.abs(problem.residual(solution.chosen.reactions)).max()
            assert missed <= 1e-12 * size


def test_twelve_pairs_of_much_friction_are_decided_as_by_enumeration():
    random = np.random.default_rng(4)
    verdicts = set()
    for friction in (0.15, 0.25, 0.4):
        problem = random_problem(random, 12, friction)
        verdict = []
        for method in ("auto", "enumerate"):
            try:
                chosen = solve(problem, method=method).chosen
                verdict.append(chosen.variant)
            except VariantError as error:
                verdict.append(type(error))
        assert verdict[0] == verdict[1]
        verdicts.add(verdict[0])
    assert NoValidVariant in verdicts
    assert len(verdicts) > 1


@pytest.mark.parametrize("policy", ["homotopy", "strict", "continuity"])
def test_supports_that_do_not_hold_the_body_are_refused(policy):
    crossed = replace(CASES["unique-lower"], along=np.array([[1.5, -1.0], [1.0, 1.0]]))
    with pytest.raises(FrictionlessIllPosed, match="differ in sign"):
        solve(problem_of(crossed), policy=policy, warm=(2, 2))
    told = solve(problem_of(crossed), policy="all")
    assert told.chosen is None
    assert any("do not hold the body" in note for note in told.notes)


def test_reactions_that_are_not_determined_are_ambiguous():
    """Friction makes the columns of both pairs the same: they share one load at will."""
    normal = np.array([[1.0, 1.0], [-1.0, 1.0]])
    second = np.array([[1.0, 1.0], [0.5, 0.5]])
    problem = HorizontalComplementarity(-normal, second, [1.0, 0.5], -normal, normal)
    with pytest.raises(AmbiguousVariant, match=r"variant \(2, 2\) are singular"):
        solve(problem, policy="strict")
    assert not solve(problem, policy="all").complete


def test_words_that_are_no_policy_or_method_are_refused():
    problem = problem_of(CASES["unique-lower"])
    with pytest.raises(UnknownNameError, match="did you mean 'strict'"):
        solve(problem, policy="strickt")
    with pytest.raises(UnknownNameError, match="unknown method"):
        solve(problem, method="guess")
    with pytest.raises(PosingError, match="needs the previous variant"):
        solve(problem, policy="continuity")
    with pytest.raises(PosingError, match="is not a variant of 2 pairs"):
        solve(problem, policy="continuity", warm=(1, 2, 1))
    assert set(POLICIES) == {"homotopy", "continuity", "strict", "all"}
