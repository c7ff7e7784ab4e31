"""The forms of the equations of a system with dry friction, as views of one problem.

Nikolskii V. V. and Smirnov Yu. P., On forms of the equations of dynamics of a system with dry
friction: forms 1 and 2 have reactions that are not negative (2.3), form 3 signed ones (2.4), each
linear in the reactions of a variant; the non-linear form (3.1), (3.2) needs no variant. Signs that
are misprinted there are put right: the factors delta of (3.1) are plus a half of 1 -+ sgn N, normal
reactions enter (3.4) with a plus, and with normals of one common direction (3.1) has a plus too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from daesolve.contact.complementarity.horizontal import HorizontalComplementarity, Variant, signs_of
from daesolve.errors import PosingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Number = Literal[1, 2, 3]


@dataclass(frozen=True, eq=False)
class LinearForm:
    """The equations of one variant in one of the three linear forms.

    Attributes
    ----------
    number
        1, 2 or 3.
    variant
        The loaded support of each pair, 1 or 2.
    matrix
        (m, m).
    load
        (m,).
    """

    number: Number
    variant: Variant
    matrix: NDArray[np.float64]
    load: NDArray[np.float64]

    def solve(self) -> NDArray[np.float64]:
        """Return the reactions in the sense of this form (m,), N, whatever their signs.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the equations are singular.
        """
        return np.asarray(np.linalg.solve(self.matrix, self.load), dtype=np.float64)

    def agrees(self, reactions: ArrayLike) -> bool:
        """Tell whether reactions of this form belong to its variant: (2.3), or (2.4) in form 3."""
        values = np.asarray(reactions)
        return bool((values >= 0).all() if self.number < 3 else (self._signs * values >= 0).all())

    def signed(self, reactions: ArrayLike) -> NDArray[np.float64]:
        """Return signed reactions: those of forms 1 and 2 times (-1)^p, those of form 3 as such."""
        factors = np.ones(len(self.variant)) if self.number == 3 else self._signs
        return np.asarray(factors * np.asarray(reactions), dtype=np.float64)

    @property
    def _signs(self) -> NDArray[np.int_]:
        return signs_of(self.variant, len(self.variant))


def linear_form(
    problem: HorizontalComplementarity, variant: Sequence[int], number: Number
) -> LinearForm:
    """Return the equations (2.1), (2.2) of a variant, without the accelerations.

    Parameters
    ----------
    problem
        With its columns without friction.
    variant
        The loaded support of each pair, 1 or 2.
    number
        1: normals nu into the body, f tau beside them. 2: nu = (-1)^p n, n of one direction for
        both supports of a pair. 3: n, and (-1)^p f tau beside it.

    Raises
    ------
    PosingError
        If the variant is none of the problem, or the form none of the three.
    """
    signs = signs_of(variant, problem.count)
    normal, friction = _parts(problem, signs)
    common = signs * normal
    if number == 1:
        matrix = normal + friction
    elif number == 2:
        matrix = signs * common + friction
    elif number == 3:
        matrix = common + signs * friction
    else:
        raise PosingError(f"there are the linear forms 1, 2 and 3, not {number!r}")
    return LinearForm(number, tuple(variant), matrix, problem.load)


def nonlinear_residual(
    problem: HorizontalComplementarity, reactions: ArrayLike
) -> NDArray[np.float64]:
    """Return by how much signed reactions miss the load: (3.1), with normals of one direction.

    Parameters
    ----------
    problem
        With its columns without friction.
    reactions
        Signed reactions N (m,).

    Returns
    -------
    residual
        (m,), in units of the load; zero at every answer and nowhere else.
    """
    signed = np.asarray(reactions, dtype=float)
    by_first, by_second = (1 - np.sign(signed)) / 2, (1 + np.sign(signed)) / 2
    ones = np.ones(problem.count)
    first_normal, first_friction = _parts(problem, -ones)
    second_normal, second_friction = _parts(problem, ones)
    normal = (second_normal * by_second - first_normal * by_first) @ signed
    friction = (first_friction * by_first + second_friction * by_second) @ np.abs(signed)
    return normal + friction - problem.load


def residual_by_moduli(
    problem: HorizontalComplementarity, reactions: ArrayLike
) -> NDArray[np.float64]:
    """Return the same by (3.2): halves of |N| - N and |N| + N, normals into the body."""
    signed = np.asarray(reactions, dtype=float)
    ones = np.ones(problem.count)
    first_normal, first_friction = _parts(problem, -ones)
    second_normal, second_friction = _parts(problem, ones)
    of_first, of_second = (np.abs(signed) - signed) / 2, (np.abs(signed) + signed) / 2
    normal = first_normal @ of_first + second_normal @ of_second
    friction = first_friction @ of_first + second_friction @ of_second
    return normal + friction - problem.load


def gauss_function(problem: HorizontalComplementarity, reactions: ArrayLike) -> float:
    """Return the generalised function of Gauss, Z: the sum of squares of the residual.

    Zero at answers alone. Where every load has exactly one answer it is stationary nowhere else;
    otherwise it may have local minima above zero, and a minimum above zero proves nothing.
    """
    return float(np.sum(nonlinear_residual(problem, reactions) ** 2))


def programme_residual(
    problem: HorizontalComplementarity, first: ArrayLike, second: ArrayLike
) -> NDArray[np.float64]:
    """Return by how much reactions t1, t2 >= 0 of both sides miss the load: (m,).

    These are the equations of (3.4). They admit a pair whose supports are both loaded, a clamped
    one, which no gap allows, be it ever so small.
    """
    ones = np.ones(problem.count)
    first_normal, first_friction = _parts(problem, -ones)
    second_normal, second_friction = _parts(problem, ones)
    t1, t2 = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    friction = first_friction @ t1 + second_friction @ t2
    return first_normal @ t1 + second_normal @ t2 + friction - problem.load


def _parts(
    problem: HorizontalComplementarity, signs: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the columns nu and f tau of the loaded supports."""
    normal = problem.frictionless.orthant(signs) * np.asarray(signs)
    return normal, problem.orthant(signs) * np.asarray(signs) - normal
