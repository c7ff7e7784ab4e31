"""The branch of reactions that begins without friction, followed exactly as friction grows.

With friction scaled by kappa, an orthant's equations are (J_0 + kappa F) N = b, so its reactions
are rational in kappa. A reaction vanishes where the matrix with its column replaced by b is
singular; all of them grow without bound where the matrix itself is singular. Both are real
generalised eigenvalues. Between these the signs cannot change, so one point of each interval gives
them. Where a reaction changes its sign, the branch continues in the neighbouring orthant: onwards
if the determinant keeps its sign, back towards less friction otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from daesolve.contact.complementarity.answers import VariantAnswer, answer_in, is_regular
from daesolve.contact.complementarity.horizontal import (
    HorizontalComplementarity,
    Variant,
    variant_of,
)
from daesolve.contact.complementarity.newton import frictionless_reactions, reactions_to_start
from daesolve.core.expressions.singular_values import singular_directions
from daesolve.errors import FrictionlessIllPosed

REAL = 1e-7
"""The imaginary part within which an eigenvalue counts as real, because double ones split into
pairs."""
SAME = 1e-11
"""Shares of friction that differ by less are equal."""
ZERO = 1e-11
"""Shares of the load below this, relative to the largest, are zero."""
SINGULAR_VALUE = 1e-6
"""Singular values at an eigenvalue below this, relative to the largest, are zero."""
DISTURBANCES = (1e-8, 1e-7, 1e-6)
"""The relative change of the load where reactions vanish together and leave the next orthant
open."""


@dataclass(frozen=True, eq=False)
class HomotopyPath:
    """The branch that begins without friction.

    Attributes
    ----------
    answer
        The answer at full friction; None if the branch does not arrive.
    kappa_reached
        The share of friction at which the branch ends, possibly after turning back.
    jammed
        Whether reactions grow without bound there. If there is neither an answer nor a jam, several
        reactions vanish together and the continuation could not be decided, or the branch returned
        to other reactions without friction.
    variants
        The variants along the branch, in order.
    kinks
        The shares of friction at which one variant follows another.
    """

    answer: VariantAnswer | None
    kappa_reached: float
    jammed: bool
    variants: tuple[Variant, ...]
    kinks: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _Orthant:
    """The equations (normal + kappa friction) N = load of the signs (m,)."""

    normal: np.ndarray
    friction: np.ndarray
    load: np.ndarray
    signs: np.ndarray

    @staticmethod
    def of(problem: HorizontalComplementarity, load: np.ndarray, signs: np.ndarray) -> _Orthant:
        first, second = problem.first_normal, problem.second_normal
        assert first is not None
        assert second is not None
        normal = np.where(signs > 0, second, -first)
        if not is_regular(normal):
            raise FrictionlessIllPosed(
                f"the supports of variant {variant_of(signs)} do not hold the body even without "
                "friction: place the supports so that each variant alone does"
            )
        return _Orthant(normal, problem.orthant(signs) - normal, load, signs)

    def reactions(self, kappas: np.ndarray) -> np.ndarray:
        """Return reactions at shares of friction (n,) that are not poles: (n, m)."""
        matrices = self.normal + kappas[:, None, None] * self.friction
        return np.asarray(np.linalg.solve(matrices, self.load[:, None])[..., 0], dtype=np.float64)

    def orientation(self, kappa: float) -> float:
        """Return the sign of the determinant."""
        return float(np.linalg.slogdet(self.normal + kappa * self.friction)[0])

    def singular(self) -> np.ndarray:
        """Return the shares of friction at which the equations are singular."""
        return _real_eigenvalues(self.normal, self.friction)

    def is_pole(self, kappa: float) -> bool:
        """Return whether reactions grow without bound where the equations are singular.

        They do not if the load has no component that they fail to balance, as for a prism without
        load.
        """
        found = singular_directions(self.normal + kappa * self.friction)
        excited = found.dependences(SINGULAR_VALUE * found.values[0]).T @ self.load
        return bool(np.any(np.abs(excited) > ZERO * np.max(np.abs(self.load))))

    def zeros(self) -> np.ndarray:
        """Return the shares of friction at which one of the reactions vanishes."""
        found: list[np.ndarray] = []
        for pair in range(len(self.load)):
            normal, friction = self.normal.copy(), self.friction.copy()
            normal[:, pair], friction[:, pair] = self.load, 0.0
            found.append(_real_eigenvalues(normal, friction))
        return np.concatenate(found)

    def violated(self, kappas: np.ndarray) -> np.ndarray:
        """Return which reactions have the wrong sign at shares of friction (n,): (n, m)."""
        reactions = self.reactions(kappas)
        largest = np.max(np.abs(reactions), axis=1, keepdims=True)
        return self.signs * reactions < -ZERO * largest


@dataclass(frozen=True, eq=False)
class _Branch:
    """A branch up to its end, or up to pairs whose reactions vanish together."""

    signs: np.ndarray
    kappa: float
    end: str
    variants: tuple[Variant, ...]
    kinks: tuple[float, ...]


def homotopy(problem: HorizontalComplementarity, start: ArrayLike | None = None) -> HomotopyPath:
    """Follow the reactions from no friction to full friction.

    If several reactions vanish together, the branch of a load that differs by 1e-8 of its size is
    followed instead; the answer is computed for the original load.

    Parameters
    ----------
    problem
        The problem of the reactions.
    start
        Friction-free signed reactions (m,), if known.

    Raises
    ------
    FrictionlessIllPosed
        There are no reactions without friction to start from, or the supports of a variant on the
        way do not hold the body without friction.
    PosingError
        The start does not have one reaction per pair.
    """
    reactions = reactions_to_start(problem, start)
    scaled = problem.scaling.problem
    # Its size has no influence, but columns of equal size improve the accuracy of eigenvalues.
    load = scaled.load / (np.max(np.abs(scaled.load)) or 1.0)
    branch = _followed(scaled, load, reactions)
    answer = _arrived(problem, branch)
    disturbed = _disturbed(load)
    while branch.end != "pole" and answer is None:
        load = next(disturbed, None)
        if load is None:
            break
        branch = _followed(scaled, load, frictionless_reactions(scaled.under(load)))
        answer = _arrived(problem, branch)
    jammed = branch.end == "pole"
    return HomotopyPath(answer, branch.kappa, jammed, branch.variants, branch.kinks)


def _disturbed(load: np.ndarray) -> Iterator[np.ndarray]:
    """Yield loads near one of size 1, in generic directions that are always the same."""
    generator = np.random.default_rng(1)
    for disturbance in DISTURBANCES:
        ways = generator.choice((-1.0, 1.0), len(load))
        yield load + disturbance * ways * generator.uniform(0.5, 1.5, len(load))


def _arrived(problem: HorizontalComplementarity, branch: _Branch) -> VariantAnswer | None:
    return answer_in(problem, branch.signs) if branch.end == "arrived" else None


def _followed(
    problem: HorizontalComplementarity, load: np.ndarray, reactions: np.ndarray
) -> _Branch:
    """Follow the branch of a load from orthant to orthant."""
    orthant = _Orthant.of(problem, load, np.where(reactions < 0.0, -1, 1))
    kappa, target = 0.0, 1.0
    variants = [variant_of(orthant.signs)]
    kinks: list[float] = []

    def branch(end: str) -> _Branch:
        return _Branch(orthant.signs, kappa, end, tuple(variants), tuple(kinks))

    for _ in range(100 + 20 * problem.count):
        kappa_before = kappa
        kappa, end, leaving = _piece(orthant, kappa, target)
        if end != "kink":
            return branch(end)
        if len(leaving) > 1 or kappa == kappa_before:
            return branch("undecided")
        signs = orthant.signs.copy()
        signs[leaving] = -signs[leaving]
        before, orthant = orthant, _Orthant.of(problem, load, signs)
        variants.append(variant_of(signs))
        kinks.append(kappa)
        turn = orthant.orientation(kappa) * before.orientation(kappa)
        if turn == 0.0:
            return branch("undecided")
        target = target if turn > 0.0 else 1.0 - target
    return branch("undecided")


def _piece(orthant: _Orthant, kappa: float, target: float) -> tuple[float, str, np.ndarray]:
    """Return where the branch leaves an orthant on the way to a target, how, and by which pairs."""
    knots, singular = _knots(orthant, kappa, target)
    violated = orthant.violated((knots[:-1] + knots[1:]) / 2)
    for begin, end, is_singular, wrong in zip(knots, knots[1:], singular, violated, strict=False):
        if np.any(wrong):
            return float(begin), "kink", np.flatnonzero(wrong)
        if is_singular and orthant.is_pole(float(end)):
            return float(end), "pole", np.zeros(0, dtype=np.intp)
    return target, "arrived" if target == 1.0 else "returned", np.zeros(0, dtype=np.intp)


def _knots(orthant: _Orthant, kappa: float, target: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of intervals (n + 1,) without sign changes, in the direction of travel.

    The second result marks the intervals that end where the equations are singular: (n,).
    """
    onwards = 1.0 if target > kappa else -1.0
    found = [(onwards * knot, True) for knot in orthant.singular()]
    found += [(onwards * knot, False) for knot in orthant.zeros()]
    knots, singular = [onwards * kappa], [False]
    for knot, is_singular in sorted(found):
        if onwards * kappa + SAME < knot < onwards * target - SAME:
            if knot - knots[-1] > SAME:
                knots.append(knot)
                singular.append(is_singular)
            else:
                singular[-1] |= is_singular
    return onwards * np.array([*knots, onwards * target]), np.array([*singular[1:], False])


def _real_eigenvalues(normal: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """Return the real kappa at which normal + kappa friction is singular."""
    found = scipy.linalg.eigvals(normal, -friction, check_finite=False)
    values = np.array(found, dtype=np.complex128)
    values = values[np.isfinite(values)]
    return values.real[np.abs(values.imag) <= REAL * np.maximum(1.0, np.abs(values.real))]
