"""Properties that hold for every load: the number of answers, and the friction that they bear."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.complementarity.enumeration import (
    MOST_PAIRS,
    all_signs,
    promising_orthants,
    singular_orthants,
    undetermined_variants,
)
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity, variant_of
from daesolve.errors import FrictionlessIllPosed, VariantError

_GOLDEN = (np.sqrt(5) - 1) / 2
_REAL = 1e-7
_CLOSE = 1e-6


def w_property(problem: HorizontalComplementarity) -> bool | None:
    """Return whether every load has exactly one answer.

    This holds if and only if the determinants of all variants have one sign and none is zero: the
    column W-property (Sznajder and Gowda, Generalizations of P0- and P-properties, 1995). A
    contraction below one is sufficient and is tested first.

    Returns
    -------
    holds
        None if the contraction does not decide and the pairs are too many to test all variants.
    """
    if contracts(problem):
        return True
    if problem.count > MOST_PAIRS:
        return None
    return _determinant_signs(problem) in ({1}, {-1})


def _determinant_signs(problem: HorizontalComplementarity) -> set[int]:
    """Return the signs that occur among the determinants of all variants; 0 is singular."""
    scaled = problem.scaling.problem
    found = {0} if len(singular_orthants(problem)) else set[int]()
    values = np.linalg.slogdet(scaled.orthant(all_signs(problem.count)))[0]
    return found | {int(value) for value in np.unique(values)}


def contraction(problem: HorizontalComplementarity) -> float:
    """Return the spectral radius of |P^-1 B|, in F(N) = P N + B |N|.

    Below one, every load has exactly one answer, because det J_s = det P det(I + P^-1 B S) then has
    one sign. It is infinite if P is singular.
    """
    odd, even = problem.odd, problem.even
    if np.linalg.slogdet(odd)[0] == 0:
        return float("inf")
    return float(np.abs(np.linalg.eigvals(np.abs(np.linalg.solve(odd, even)))).max())


def contracts(problem: HorizontalComplementarity) -> bool:
    """Return whether the contraction is surely below one, in given or balanced units."""
    values = contraction(problem), contraction(problem.scaling.problem)
    return min(values) < 1 - _CLOSE


def friction_margin(problem: HorizontalComplementarity, signs: ArrayLike) -> float:
    """Return the factor of all friction at which the equations of a variant become singular.

    It is the smallest kappa > 0 with det(G_s + kappa (J_s - G_s)) = 0, where G_s is J_s without
    friction. Up to this kappa the determinant keeps its friction-free sign.

    Parameters
    ----------
    problem
        A problem with its columns without friction.
    signs
        +1 or -1 for each pair: (m,).

    Returns
    -------
    kappa
        Infinite if no friction makes them singular.

    Raises
    ------
    FrictionlessIllPosed
        If the equations of the variant are singular without friction.
    """
    scaled = problem.scaling.problem
    normal, full = scaled.frictionless.orthant(signs), scaled.orthant(signs)
    if problem.frictionless.is_singular(signs):
        raise FrictionlessIllPosed(
            f"the supports of variant {variant_of(signs)} do not hold the body even without"
            " friction: there is no friction margin"
        )
    matrix = np.linalg.solve(normal, normal - full)
    values = np.linalg.eigvals(matrix)
    real = values.real[np.abs(values.imag) <= _REAL * np.abs(values)]
    largest = real.max(initial=0.0)
    rounding = 10 * problem.count * np.finfo(float).eps * np.linalg.norm(matrix, 1)
    return float(1 / largest) if largest > rounding else float("inf")


def frictionless_sign(problem: HorizontalComplementarity) -> int | None:
    """Return the sign that the determinants of all variants have without friction.

    Returns
    -------
    sign
        +1 or -1; None if the pairs are too many to test all variants and no simpler test decides.

    Raises
    ------
    FrictionlessIllPosed
        If the determinants of two variants differ in sign, or one is zero: the supports do not
        hold the body in every variant, whatever the friction.
    """
    normal = problem.frictionless
    if contracts(normal):
        return int(np.linalg.slogdet(normal.odd)[0])
    if problem.count > MOST_PAIRS:
        return None
    signs = _determinant_signs(normal)
    if signs in ({1}, {-1}):
        return signs.pop()
    what = "vanish" if 0 in signs else "differ in sign"
    raise FrictionlessIllPosed(
        f"without friction the determinants of some variants of pairs {', '.join(problem.names)} "
        f"{what}: the supports do not hold the body in every variant; place them so that each "
        "variant alone does"
    )


def degree(problem: HorizontalComplementarity) -> int:
    """Return the signed count of the answers: the sum of the signs of their determinants.

    It is the same for every load whose answers have no zero reaction, so the function uses such a
    load instead of the problem's. If it is zero, there are loads without an answer.

    Raises
    ------
    VariantError
        If a singular variant lets reactions grow without a load; the count then depends on the
        load.
    UnsupportedError
        If there are more than `MOST_PAIRS` pairs.
    """
    scaled = problem.scaling.problem
    free = undetermined_variants(scaled.under(np.zeros(problem.count)))
    if free:
        raise VariantError(
            f"variant {free[0]} is singular and balances reactions against each other: the signed"
            " count of the answers is not the same for every load"
        )
    places = np.arange(1, problem.count + 1)
    # Random numbers do not lie on a boundary.
    load = np.cos(places * np.sqrt(2)) + np.modf(places * _GOLDEN)[0]
    total = 0
    for batch in promising_orthants(scaled.under(load)):
        answers = batch.regular & (batch.signs * batch.reactions > 0).all(axis=1)
        total += int(np.linalg.slogdet(scaled.orthant(batch.signs[answers]))[0].sum())
    return total
