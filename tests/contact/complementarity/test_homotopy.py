"""The branch from no friction: continuous, of right signs all along, ending where it is said to."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from daesolve.contact.complementarity.homotopy import homotopy
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity, signs_of
from daesolve.errors import FrictionlessIllPosed, PosingError
from tests.reference.prism_trains import is_one_of, reactions_of_all_variants, trains
from tests.reference.prisms import CASES, Prism, random_prism

TURNS_BACK = Prism(
    along=np.array([[-0.8, -0.3], [0.25, 0.25]]),
    height=np.array([[1, -1.35], [1.1, -1.85]]),
    friction=np.array([[0.7, 0.15], [0.95, 0.85]]),
    slip=1,
    force_x=3.0,
    force_y=-11.0,
    moment=6.0,
)
"""Jams before full friction, where there are answers again."""


def problem_of(prism: Prism, copies: int = 1) -> HorizontalComplementarity:
    """Equal prisms that have nothing to do with each other."""
    columns = prism.columns()
    load = np.tile(columns.pop("load"), copies)
    blocks = {name: np.kron(np.eye(copies), matrix) for name, matrix in columns.items()}
    return HorizontalComplementarity(**blocks, load=load)


def reactions_at(problem, variant, kappa):
    matrix = problem.at(kappa).orthant(signs_of(variant, problem.count))
    return np.linalg.solve(matrix, problem.load)


def assert_is_branch(problem, path):
    """In every piece the reactions have the variant's signs; from one to the next none jumps."""
    ends = [0.0, *path.kinks, path.kappa_reached]
    assert len(ends) == len(path.variants) + 1
    for variant, begin, end in zip(path.variants, ends[:-1], ends[1:], strict=True):
        signs = signs_of(variant, problem.count)
        for share in np.linspace(0.02, 0.98, 13):
            reactions = reactions_at(problem, variant, begin + share * (end - begin))
            assert np.all(signs * reactions > -1e-9 * np.max(np.abs(reactions)))
    for kink, before, after in zip(path.kinks, path.variants[:-1], path.variants[1:], strict=True):
        left, right = (reactions_at(problem, variant, kink) for variant in (before, after))
        assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
        assert np.max(np.abs(left - right)) < 1e-7 * np.max(np.abs(left))
    if path.jammed:
        signs = signs_of(path.variants[-1], problem.count)
        matrix = problem.scaling.problem.at(path.kappa_reached).orthant(signs)
        sizes = np.linalg.svd(matrix, compute_uv=False)
        assert sizes[-1] < 1e-7 * sizes[0]


@pytest.mark.parametrize("pairs", [2, 4, 8])
def test_it_arrives_at_the_answer_wherever_each_load_has_one(pairs):
    for problem in itertools.islice(trains(pairs, unique=True), 15):
        path = homotopy(problem)
        assert path.answer is not None
        assert path.kappa_reached == 1.0
        assert not path.jammed
        assert is_one_of(path.answer.reactions, reactions_of_all_variants(problem))
        assert_is_branch(problem, path)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("pairs", [2, 4, 6])
def test_elsewhere_it_arrives_at_an_answer_of_the_right_sign_or_jams(pairs):
    turned = jammed = 0
    for problem in itertools.islice(trains(pairs, unique=False), 30):
        path = homotopy(problem)
        assert_is_branch(problem, path)
        turned += any(later < sooner for sooner, later in itertools.pairwise(path.kinks))
        jammed += path.jammed
        if path.answer is None:
            assert path.jammed
            assert 0.0 < path.kappa_reached < 1.0
        else:
            assert path.answer.physical
            assert is_one_of(path.answer.reactions, reactions_of_all_variants(problem))
    assert jammed > 0


@pytest.mark.slow
def test_a_prism_jams_where_its_arms_meet():
    """D_ij = c_2^j - c_1^i vanishes: a_2 - a_1 = kappa (difference of the friction's arms)."""
    random, jams = np.random.default_rng(3), 0
    for _ in range(200):
        prism = random_prism(random)
        path = homotopy(problem_of(prism))
        if path.jammed:
            jams += 1
            i, j = path.variants[-1]
            rigid = replace(prism, friction=0 * prism.friction).determinant((i, j))
            rubbing = prism.determinant((i, j)) - rigid
            assert path.kappa_reached == pytest.approx(-rigid / rubbing, rel=1e-9)
        else:
            assert path.answer is not None
            assert is_one_of(path.answer.reactions, list(prism.answers().values()))
    assert jams > 10


def test_it_may_jam_on_the_way_though_there_are_answers():
    prism = TURNS_BACK
    assert len(prism.answers()) == 2
    path = homotopy(problem_of(prism))
    assert path.answer is None
    assert path.jammed
    assert path.kappa_reached == pytest.approx(0.653, abs=1e-3)


@pytest.mark.slow
def test_it_goes_back_where_the_determinant_changes_its_sign_at_a_kink():
    random, turned = np.random.default_rng(0), 0
    for _ in range(150):
        problem = problem_of(random_prism(random))
        path = homotopy(problem)
        turns = list(itertools.pairwise((0.0, *path.kinks, path.kappa_reached)))
        for place, (sooner, later) in enumerate(turns):
            signs = signs_of(path.variants[place], 2)
            middle = problem.at((sooner + later) / 2)
            onwards = middle.determinant(signs) * problem.frictionless_determinant(signs) > 0
            assert (later > sooner) == onwards
            turned += not onwards
        assert_is_branch(problem, path)
    assert turned > 0


@pytest.mark.parametrize("case", ["unique-lower", "unique-mixed", "two-solutions", "none-jam"])
def test_equal_prisms_meet_their_kinks_together(case):
    """All kinks coincide: what one prism does, each of three does, and it is not undecided."""
    alone, together = homotopy(problem_of(CASES[case])), homotopy(problem_of(CASES[case], 3))
    assert together.jammed == alone.jammed
    assert together.kappa_reached == pytest.approx(alone.kappa_reached, abs=1e-6)
    if alone.answer is None:
        assert together.answer is None
    else:
        assert together.answer is not None
        expected = np.tile(alone.answer.reactions, 3)
        np.testing.assert_allclose(together.answer.reactions, expected, rtol=1e-12)


@pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0])
def test_reactions_that_vanish_together_do_not_stop_it(kappa):
    """The load is such that two of four reactions are zero at one share of friction."""
    random = np.random.default_rng(5)
    for problem in itertools.islice(trains(4, unique=True), 15):
        reactions = random.normal(size=4) * np.array([1.0, 0.0, 0.0, 1.0])
        loaded = problem.under(problem.at(kappa)(reactions))
        path = homotopy(loaded)
        assert path.answer is not None
        missed = np.abs(loaded.residual(path.answer.reactions))
        assert np.max(missed) < 1e-10 * np.max(np.abs(loaded.load))
        assert path.answer.physical


def test_what_has_no_load_does_not_jam():
    """Beside a prism that is loaded stands one that would lock under any load, and has none."""
    locking, free = CASES["none-jam"], CASES["unique-lower"]
    parts = [problem_of(locking), problem_of(free)]
    blocks = {
        name: np.block([[getattr(parts[0], name), np.zeros((2, 2))],
                        [np.zeros((2, 2)), getattr(parts[1], name)]])
        for name in ("first", "second", "first_normal", "second_normal")
    }  # fmt: skip
    load = np.concatenate([np.zeros(2), parts[1].load])
    path = homotopy(HorizontalComplementarity(**blocks, load=load))
    assert path.answer is not None
    expected = np.concatenate([np.zeros(2), free.answers()[2, 2]])
    np.testing.assert_allclose(path.answer.reactions, expected, rtol=1e-12, atol=1e-12)


def test_units_change_nothing_of_the_branch():
    random = np.random.default_rng(6)
    for problem in itertools.islice(trains(4, unique=False), 15):
        rows, sizes = 10.0 ** random.integers(-6, 7, (2, 4))
        columns = {
            name: rows[:, None] * getattr(problem, name) * sizes
            for name in ("first", "second", "first_normal", "second_normal")
        }
        here = homotopy(problem)
        there = homotopy(HorizontalComplementarity(**columns, load=1e9 * rows * problem.load))
        assert there.variants == here.variants
        np.testing.assert_allclose(there.kinks, here.kinks, rtol=1e-7)
        assert there.kappa_reached == pytest.approx(here.kappa_reached, rel=1e-9)


def test_a_start_may_be_given():
    problem = next(trains(4, unique=True))
    start = np.linalg.solve(problem.frictionless.orthant(np.ones(4)), problem.load)
    assert homotopy(problem, start).variants == homotopy(problem).variants
    with pytest.raises(PosingError, match=r"start has shape \(2,\): 4 pairs"):
        homotopy(problem, start[:2])


def test_supports_that_do_not_hold_the_body_are_refused():
    beside = np.array([[1.0, 1.0], [0.5, 0.5]])
    rub = np.array([[0.0, 0.0], [0.1, -0.2]])
    problem = HorizontalComplementarity(
        rub - beside, rub + beside, np.array([1.0, 0.5]), -beside, beside
    )
    with pytest.raises(FrictionlessIllPosed, match="without friction"):
        homotopy(problem)
    with pytest.raises(FrictionlessIllPosed, match="do not hold the body even without friction"):
        homotopy(problem, np.ones(2))
