"""The forms of the equations say the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from daesolve.contact.complementarity.branching import linear_programme
from daesolve.contact.complementarity.enumeration import enumerate_variants
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.newton import newton
from daesolve.errors import PosingError
from tests.contact.complementarity.forms import (
    gauss_function,
    linear_form,
    nonlinear_residual,
    programme_residual,
    residual_by_moduli,
)
from tests.reference.prisms import CASES, VARIANTS, random_prism


@pytest.mark.long
def test_forms_and_closed_form_and_solver_agree_on_a_thousand_prisms():
    """Every variant in forms 1 to 3; (2.3), (2.4), (3.1), (3.2) and the solver on which answers."""
    random = np.random.default_rng(6)
    worst = 0.0
    for _ in range(1000):
        prism = random_prism(random)
        problem = HorizontalComplementarity(**prism.columns())
        answers = {answer.variant: answer.reactions for answer in enumerate_variants(problem)}
        for variant in VARIANTS:
            expected = prism.reactions(variant)
            forms = [linear_form(problem, variant, number) for number in (1, 2, 3)]
            solved = np.linalg.solve([form.matrix for form in forms], problem.load[:, None])
            for form, reactions in zip(forms, solved[..., 0], strict=True):
                assert form.agrees(reactions) == (variant in answers)
                missed = np.abs(form.signed(reactions) - expected).max()
                worst = max(worst, missed / np.abs(expected).max())
        size = np.abs(problem.load).max()
        for variant, reactions in answers.items():
            missed = np.abs(reactions - prism.reactions(variant)).max()
            worst = max(worst, missed / np.abs(reactions).max())
            for residual in (nonlinear_residual, residual_by_moduli):
                worst = max(worst, np.abs(residual(problem, reactions)).max() / size)
        found = newton(problem)
        if found is not None:
            missed = np.abs(found.reactions - answers[found.variant]).max()
            worst = max(worst, missed / np.abs(found.reactions).max())
    assert worst <= 1e-12


def test_forms_one_and_two_have_one_matrix_and_form_three_its_signed_columns():
    """Forms 1 and 2 describe normals differently but mean the same."""
    problem = HorizontalComplementarity(**CASES["none-jam"].columns())
    first, second, third = (linear_form(problem, (1, 2), number) for number in (1, 2, 3))
    np.testing.assert_allclose(first.matrix, second.matrix, rtol=1e-15)
    np.testing.assert_allclose(first.matrix * [-1, 1], third.matrix, rtol=1e-15)
    np.testing.assert_array_equal(third.matrix, problem.orthant([-1, 1]))
    expected = CASES["none-jam"].reactions((1, 2))
    for form in (first, second, third):
        np.testing.assert_allclose(form.signed(form.solve()), expected, rtol=1e-14)


def test_a_form_or_a_variant_that_is_none_is_refused():
    problem = HorizontalComplementarity(**CASES["none-jam"].columns())
    with pytest.raises(PosingError, match="linear forms 1, 2 and 3, not 4"):
        linear_form(problem, (1, 2), 4)
    with pytest.raises(PosingError, match="is not a variant of 2 pairs"):
        linear_form(problem, (1, 2, 1), 1)


def test_the_nonlinear_forms_are_the_piecewise_linear_map_everywhere():
    random = np.random.default_rng(7)
    problem = HorizontalComplementarity(**random_prism(random).columns())
    for reactions in random.normal(size=(20, 2)):
        expected = problem.residual(reactions)
        np.testing.assert_allclose(nonlinear_residual(problem, reactions), expected, atol=1e-13)
        np.testing.assert_allclose(residual_by_moduli(problem, reactions), expected, atol=1e-13)
        assert gauss_function(problem, reactions) == pytest.approx(expected @ expected)


def test_the_gauss_function_has_a_minimum_above_zero_where_there_is_no_answer():
    """Z vanishes at an answer; a jam leaves it above zero from every start."""
    for case, answered in [("unique-mixed", True), ("none-jam", False)]:
        problem = HorizontalComplementarity(**CASES[case].columns())
        found = [
            minimize(
                lambda reactions, problem=problem: gauss_function(problem, reactions),
                start,
                method="Nelder-Mead",
                options={"xatol": 1e-10, "fatol": 1e-14},
            ).fun
            for start in [(5.0, 5.0), (-5.0, 5.0), (5.0, -5.0)]
        ]
        assert (min(found) < 1e-10) == answered


@pytest.mark.slow
def test_the_programme_clamps_a_pair_where_an_answer_exists():
    """Both supports of a pair loaded balance the load with a smaller sum than the answer does."""
    random = np.random.default_rng(9)
    clamped = 0
    for _ in range(100):
        problem = HorizontalComplementarity(**random_prism(random).columns())
        best = linear_programme(problem)
        if best is None:
            assert enumerate_variants(problem) == ()
            continue
        size = np.abs(problem.load).max()
        assert np.abs(programme_residual(problem, best.first, best.second)).max() <= 1e-9 * size
        for answer in enumerate_variants(problem):
            missed = programme_residual(problem, answer.first, answer.second)
            assert np.abs(missed).max() <= 1e-12 * np.abs(answer.reactions).max()
            assert np.abs(answer.reactions).sum() >= (best.first + best.second).sum() * (1 - 1e-9)
            clamped += not best.complementary
    assert clamped > 0
