"""The loaded supports as answers: one answer, or all of them.

Reactions are an answer if they solve the equations of a variant and have its signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.complementarity.horizontal import (
    SINGULAR,
    HorizontalComplementarity,
    Variant,
    signs_of,
    variant_of,
)

_SHOWN = 8
SAME = 1e-9
"""Reactions are the same if their shares of the load differ by less, relative to the largest."""


@dataclass(frozen=True, eq=False)
class VariantAnswer:
    """Reactions of one variant.

    Attributes
    ----------
    variant
        The loaded support of each pair, 1 or 2; either if the reaction is zero.
    reactions
        Signed reactions N (m,), N: positive if the second support is loaded.
    determinant
        The determinant of the variant's equations J_s.
    frictionless
        The same determinant without friction.
    names
        Names of the pairs.
    """

    variant: Variant
    reactions: np.ndarray
    determinant: float
    frictionless: float
    names: tuple[str, ...]

    @property
    def signs(self) -> np.ndarray:
        """+1 if the variant uses the second support, -1 if the first: (m,)."""
        return signs_of(self.variant, len(self.variant))

    @property
    def first(self) -> np.ndarray:
        """Reactions t1 of the first supports (m,), N, none negative."""
        return np.maximum(-self.reactions, 0)

    @property
    def second(self) -> np.ndarray:
        """Reactions t2 of the second supports (m,), N, none negative."""
        return np.maximum(self.reactions, 0)

    @property
    def physical(self) -> bool:
        """Whether the determinant keeps the sign it has without friction.

        If it does not, the motion diverges as soon as supports yield slightly. Keeping the sign is
        necessary for the answer to occur in reality, but not sufficient.
        """
        return bool(np.sign(self.determinant) * np.sign(self.frictionless) > 0)

    @property
    def least(self) -> float:
        """The smallest reaction, N: the distance of the variant from the next one."""
        return float(np.abs(self.reactions).min())

    @property
    def loaded(self) -> tuple[int, ...]:
        """The loaded support of each pair; 0 if neither is loaded."""
        return tuple(
            support if reaction else 0
            for support, reaction in zip(self.variant, self.reactions, strict=True)
        )

    def __str__(self) -> str:
        reactions = ", ".join(
            f"{name} {reaction:.6g}"
            for name, reaction in zip(self.names, self.reactions, strict=True)
        )
        kept = "" if self.physical else ", the sign of its determinant is not the friction-free one"
        return f"variant {self.variant}: {reactions}{kept}"


def answer_at(
    problem: HorizontalComplementarity, reactions: ArrayLike, variant: Variant | None = None
) -> VariantAnswer:
    """Return the answer for given reactions.

    Parameters
    ----------
    problem
        The problem of the reactions.
    reactions
        Signed reactions N (m,).
    variant
        The variant; None: from the signs of the reactions, with the second support for zero.
    """
    signed = np.array(reactions, dtype=float)
    signed.flags.writeable = False
    known = variant_of(np.where(signed < 0, -1, 1)) if variant is None else variant
    signs = signs_of(known, problem.count)
    return VariantAnswer(
        variant=known,
        reactions=signed,
        determinant=problem.determinant(signs),
        frictionless=problem.frictionless_determinant(signs),
        names=problem.names,
    )


def have_same_reactions(
    problem: HorizontalComplementarity, one: VariantAnswer, other: VariantAnswer
) -> bool:
    """Return whether two answers agree, compared by their shares of the load."""
    factors = problem.scaling.factors
    shares = [answer.reactions / factors(answer.signs) for answer in (one, other)]
    return bool(np.abs(shares[0] - shares[1]).max() <= SAME * np.abs(shares).max())


@dataclass(frozen=True)
class VariantSolution:
    """The chosen loaded supports, and the alternatives.

    Attributes
    ----------
    chosen
        The chosen answer; None if there is none, or nothing decides between several.
    answers
        All answers found, with reactions of the right signs.
    complete
        Whether these are all answers.
    method
        The method that found them.
    candidates
        If there is no answer and the pairs are few: every variant with its reactions, of which at
        least one has the wrong sign.
    margin
        The factor by which friction may grow before the equations of the chosen variant are
        singular.
    jam_at
        If the branch from zero friction does not arrive: the share of friction at which it ends.
    notes
        Sentences on anything unusual.
    """

    chosen: VariantAnswer | None
    answers: tuple[VariantAnswer, ...]
    complete: bool
    method: str
    candidates: tuple[VariantAnswer, ...] = ()
    margin: float | None = None
    jam_at: float | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def physical(self) -> tuple[VariantAnswer, ...]:
        """The answers whose determinants keep their friction-free sign."""
        return tuple(answer for answer in self.answers if answer.physical)

    @cached_property
    def unphysical(self) -> tuple[VariantAnswer, ...]:
        """The answers whose determinants change their sign."""
        return tuple(answer for answer in self.answers if not answer.physical)

    @property
    def alone(self) -> bool:
        """Whether there is exactly one answer, and it keeps the sign of its determinant."""
        return self.complete and len(self.answers) == 1 and self.answers[0].physical

    def __str__(self) -> str:
        count = len(self.answers)
        known = "all of them" if self.complete else "there may be more"
        lines = [f"chosen {self.chosen}" if self.chosen else "no variant is chosen"]
        lines += [
            f"{count} {'answer' if count == 1 else 'answers'} by {self.method} ({known}),"
            f" {len(self.physical)} with the friction-free sign of the determinant"
        ]
        others = self.answers if self.answers else self.candidates
        kind = "answer" if self.answers else "not an answer"
        lines += [f"{kind}: {one}" for one in others[:_SHOWN] if one is not self.chosen]
        if len(others) > _SHOWN:
            lines += [f"and {len(others) - _SHOWN} more"]
        if self.margin is not None and np.isfinite(self.margin):
            lines += [f"friction may grow {self.margin:.4g} times before this variant jams"]
        if self.jam_at is not None:
            lines += [f"the branch from no friction ends at {self.jam_at:.4g} of the friction"]
        return "\n".join([*lines, *self.notes])


ROUNDING = 4e-15
"""The change of a reaction by rounding, relative to what the equations' terms allow."""


def agreeing(matrix: np.ndarray, load: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, bool]:
    """Solve the equations of an orthant; return whether there is one solution and it lies in it.

    Reactions within rounding count as zero, whatever their signs. Rounding is measured relative to
    |J^-1| (|J| |N| + |b|), so the choice of units does not change the outcome.

    Parameters
    ----------
    matrix
        J_s, (m, m).
    load
        b, (m,).
    signs
        s, (m,).

    Returns
    -------
    reactions, whether
        N (m,): with signs s or zero if it lies in the orthant, otherwise as solved.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is singular.
    """
    inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    solved = inverse @ load
    # One refinement recovers the accuracy lost by rows of very different size.
    solved = solved + inverse @ (load - matrix @ solved)
    sizes = np.abs(matrix)
    terms = sizes @ np.abs(solved) + np.abs(load)
    slack = ROUNDING * (np.abs(inverse) @ terms)
    if np.any(signs * solved < -slack):
        return solved, False
    reactions = np.where(signs * solved > slack, solved, 0.0)
    missed = np.abs(matrix @ reactions - load)
    fits = bool(np.all(missed <= sizes @ slack + ROUNDING * terms))
    return (reactions, True) if fits and _is_regular(matrix, inverse) else (solved, False)


def is_regular(matrix: np.ndarray) -> bool:
    """Return whether equations determine reactions, by the least condition over all scalings."""
    try:
        return _is_regular(matrix, np.asarray(np.linalg.inv(matrix), dtype=np.float64))
    except np.linalg.LinAlgError:
        return False


def _is_regular(matrix: np.ndarray, inverse: np.ndarray) -> bool:
    """Compare the spectral radius of |J^-1| |J|, the condition number for optimal scaling.

    Bauer, Optimally scaled matrices, Numerische Mathematik 5, 1963.
    """
    condition = np.max(np.abs(np.linalg.eigvals(np.abs(inverse) @ np.abs(matrix))))
    return bool(condition < 1.0 / SINGULAR)


def answer_in(problem: HorizontalComplementarity, signs: np.ndarray) -> VariantAnswer | None:
    """Return the answer of an orthant; None if it has none or its equations are singular."""
    try:
        reactions, agrees = agreeing(problem.orthant(signs), problem.load, signs)
    except np.linalg.LinAlgError:
        return None
    return answer_of(problem, reactions, signs) if agrees else None


def answer_of(
    problem: HorizontalComplementarity, reactions: np.ndarray, signs: np.ndarray
) -> VariantAnswer:
    """Return the answer for reactions in an orthant.

    If a reaction is zero, either support may count as loaded. If the given variant does not keep
    the sign of its friction-free determinant but a neighbour does, the neighbour is used.
    """
    answer = answer_at(problem, reactions, variant_of(signs))
    for pair in np.flatnonzero(reactions == 0.0):
        if answer.physical:
            break
        turned = signs.copy()
        turned[pair] = -signs[pair]
        other = answer_at(problem, reactions, variant_of(turned))
        answer = other if other.physical else answer
    return answer
