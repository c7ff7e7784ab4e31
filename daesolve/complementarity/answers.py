"""What is known of which supports are loaded: one answer, or all of them.

Reactions are an answer where they solve the equations of a variant and have its signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from daesolve.complementarity.horizontal import (
    SINGULAR,
    HorizontalComplementarity,
    Variant,
    signs_of,
    variant_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_SHOWN = 8


@dataclass(frozen=True, eq=False)
class VariantAnswer:
    """Reactions of one variant.

    Attributes
    ----------
    variant
        The loaded support of each pair, 1 or 2; either where the reaction is zero.
    reactions
        Signed reactions N (m,), N: positive where the second support is loaded.
    determinant
        The determinant of the variant's equations J_s.
    frictionless
        The same without friction.
    names
        Names of the pairs.
    """

    variant: Variant
    reactions: NDArray[np.float64]
    determinant: float
    frictionless: float
    names: tuple[str, ...]

    @property
    def signs(self) -> NDArray[np.int_]:
        """+1 where the variant takes the second support, -1 where the first one: (m,)."""
        return signs_of(self.variant, len(self.variant))

    @property
    def first(self) -> NDArray[np.float64]:
        """Reactions t1 of the first supports (m,), N, none negative."""
        return np.maximum(-self.reactions, 0)

    @property
    def second(self) -> NDArray[np.float64]:
        """Reactions t2 of the second supports (m,), N, none negative."""
        return np.maximum(self.reactions, 0)

    @property
    def physical(self) -> bool:
        """Whether the determinant keeps the sign it has without friction.

        Where it does not, the motion is divergent as soon as supports yield ever so little. That
        it does is necessary for the answer to be what happens; it is not sufficient.
        """
        return bool(np.sign(self.determinant) * np.sign(self.frictionless) > 0)

    @property
    def least(self) -> float:
        """The smallest reaction, N: how far the variant is from the next one."""
        return float(np.abs(self.reactions).min())

    @property
    def loaded(self) -> tuple[int, ...]:
        """The loaded support of each pair; 0 where neither is."""
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
    problem: HorizontalComplementarity,
    reactions: ArrayLike,
    variant: Variant | None = None,
) -> VariantAnswer:
    """Return the answer that given reactions are.

    Parameters
    ----------
    problem
        Whose reactions they are.
    reactions
        Signed reactions N (m,).
    variant
        The variant; None: by the signs of the reactions, the second support where one is zero.
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


@dataclass(frozen=True)
class VariantSolution:
    """The loaded supports that were chosen, and what else could have been.

    Attributes
    ----------
    chosen
        The answer; None where there is none, or nothing decides which.
    answers
        Those that were found, their reactions of the right signs.
    complete
        Whether they are all there are.
    method
        How they were found.
    candidates
        Where there is no answer and the pairs are few: every variant with its reactions, at least
        one of the wrong sign.
    margin
        Factor by which friction may grow before the equations of the chosen variant are singular.
    jam_at
        Where the branch from no friction does not arrive: the share of the friction at which it
        ends.
    notes
        Sentences on what is unusual.
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
        """The answers whose determinants keep their friction-free signs."""
        return tuple(answer for answer in self.answers if answer.physical)

    @cached_property
    def unphysical(self) -> tuple[VariantAnswer, ...]:
        """The answers whose determinants do not."""
        return tuple(answer for answer in self.answers if not answer.physical)

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
"""What rounding changes of a reaction, relative to what the terms of the equations let it."""


def agreeing(
    matrix: NDArray[np.float64], load: NDArray[np.float64], signs: NDArray[np.int_]
) -> tuple[NDArray[np.float64], bool]:
    """Solve the equations of an orthant; return whether they have one solution and it lies in it.

    Reactions within rounding are zero, whatever their signs. It changes them by a part of
    |J^-1| (|J| |N| + |b|), so that no choice of units changes the outcome.

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
        N (m,): of signs s or zero where it lies there, as solved for where it does not.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is singular.
    """
    inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    solved = inverse @ load
    # What rows of very different size cost in accuracy comes back by one refinement.
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


def is_regular(matrix: NDArray[np.float64]) -> bool:
    """Return whether equations determine reactions, by the least condition over all scalings."""
    try:
        return _is_regular(matrix, np.asarray(np.linalg.inv(matrix), dtype=np.float64))
    except np.linalg.LinAlgError:
        return False


def _is_regular(matrix: NDArray[np.float64], inverse: NDArray[np.float64]) -> bool:
    """Compare the spectral radius of |J^-1| |J|, the condition with rows and columns scaled best.

    Bauer, Optimally scaled matrices, Numerische Mathematik 5, 1963.
    """
    condition = np.max(np.abs(np.linalg.eigvals(np.abs(inverse) @ np.abs(matrix))))
    return bool(condition < 1.0 / SINGULAR)


def answer_in(problem: HorizontalComplementarity, signs: NDArray[np.int_]) -> VariantAnswer | None:
    """Return the answer of an orthant, None where it has none or its equations are singular."""
    try:
        reactions, agrees = agreeing(problem.orthant(signs), problem.load, signs)
    except np.linalg.LinAlgError:
        return None
    return answer_of(problem, reactions, signs) if agrees else None


def answer_of(
    problem: HorizontalComplementarity, reactions: NDArray[np.float64], signs: NDArray[np.int_]
) -> VariantAnswer:
    """Return the answer that reactions of an orthant are.

    Where a reaction is zero either support may be called loaded: the variant is one that keeps
    the sign of its friction-free determinant, if the given one does not and one of its neighbours
    does.
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
