"""Signed reactions of pairs of supports: a horizontal linear complementarity problem.

Each pair has a first and a second support, of which at most one is loaded. After elimination of the
accelerations, the reactions t of the supports satisfy

    A1 t1 + A2 t2 = b,    t1 >= 0,  t2 >= 0,  t1_k t2_k = 0,

which is one piecewise linear equation F(N) = A2 N+ + A1 N- = b for the signed reactions N = t2 -
t1. If pairs with s_k = +1 have their second support loaded and pairs with s_k = -1 their first, it
is linear: J_s N = b. V. V. Nikolskii and Yu. P. Smirnov, On forms of the equations of dynamics of a
system with dry friction, forms 1 to 3 and equations (3.1) to (3.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from daesolve.errors import OutOfRangeError, PosingError, VariantError

Variant = tuple[int, ...]
"""The loaded support of each pair: 1 or 2."""

SINGULAR = 1e-12
"""The reciprocal condition number, after scaling, below which the equations of a variant are
singular."""

_ROUNDS_OF_SCALING = 6


@dataclass(frozen=True, eq=False)
class HorizontalComplementarity:
    """Find signed reactions N with A2 N+ + A1 N- = b.

    A unilateral pair, which can only be open on its first side, has the column -e_k there: N_k < 0
    is then minus the acceleration of its gap.

    Attributes
    ----------
    first, second
        The effect of a unit reaction of the first and of the second supports, one column per pair:
        (m, m), in units of the load per newton.
    load
        The load that the reactions must balance together: (m,).
    first_normal, second_normal
        The same columns without friction; None if there is none.
    names
        Names of the pairs; "1", "2", ... by default.

    Raises
    ------
    PosingError
        If shapes disagree, or the names are too few, too many or not distinct.
    OutOfRangeError
        If a number is not finite.
    """

    first: np.ndarray
    second: np.ndarray
    load: np.ndarray
    first_normal: np.ndarray | None = None
    second_normal: np.ndarray | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        load = finite_numbers("the load", self.load)
        if load.ndim != 1 or not load.size:
            raise PosingError(
                f"the load of a complementarity problem has shape {load.shape}: it needs one "
                "number per pair of supports, and at least one pair"
            )
        count = load.size
        names = tuple(self.names) or tuple(str(pair + 1) for pair in range(count))
        if len(names) != count or len(set(names)) != count:
            raise PosingError(
                f"{count} pairs of supports need {count} different names, not {names}"
            )
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "load", _frozen(load))
        for side in ("first", "second"):
            columns = _columns(f"{side} supports", getattr(self, side), names)
            given = getattr(self, f"{side}_normal")
            normal = columns
            if given is not None:
                normal = _columns(f"{side} supports without friction", given, names)
            object.__setattr__(self, side, columns)
            object.__setattr__(self, f"{side}_normal", normal)

    @property
    def count(self) -> int:
        """Number of pairs m."""
        return self.load.size

    @property
    def odd(self) -> np.ndarray:
        """The matrix P = (A2 - A1)/2 of F(N) = P N + B |N|."""
        return (self.second - self.first) / 2

    @property
    def even(self) -> np.ndarray:
        """The matrix B = (A2 + A1)/2 of F(N) = P N + B |N|: friction alone, in aligned pairs."""
        return (self.second + self.first) / 2

    def orthant(self, signs: ArrayLike) -> np.ndarray:
        """Return the matrix J_s of one or many orthants of reactions.

        Parameters
        ----------
        signs
            +1 if the second support is loaded, -1 if the first is: (..., m).

        Returns
        -------
        matrices
            Column k is A2_k or -A1_k: (..., m, m).
        """
        second = np.asarray(signs)[..., None, :] > 0
        return np.where(second, self.second, -self.first)

    def __call__(self, reactions: ArrayLike) -> np.ndarray:
        """Return F(N) = A2 N+ + A1 N-: (m,)."""
        signed = np.asarray(reactions, dtype=float)
        return self.second @ np.maximum(signed, 0) + self.first @ np.maximum(-signed, 0)

    def residual(self, reactions: ArrayLike) -> np.ndarray:
        """Return F(N) - b of signed reactions N: (m,), in units of the load."""
        return self(reactions) - self.load

    def at(self, kappa: float) -> HorizontalComplementarity:
        """Return the problem with every coefficient of friction multiplied by kappa."""
        first, second = self._normals
        return HorizontalComplementarity(
            first=first + kappa * (self.first - first),
            second=second + kappa * (self.second - second),
            load=self.load,
            first_normal=first,
            second_normal=second,
            names=self.names,
        )

    def under(self, load: ArrayLike) -> HorizontalComplementarity:
        """Return the problem of the same supports with another load."""
        return HorizontalComplementarity(
            self.first,
            self.second,
            np.asarray(load, dtype=float),
            self.first_normal,
            self.second_normal,
            self.names,
        )

    @cached_property
    def frictionless(self) -> HorizontalComplementarity:
        """The problem without friction."""
        return self.at(0.0)

    def determinant(self, signs: ArrayLike) -> float:
        """Return the determinant of J_s."""
        return float(np.linalg.det(self.orthant(signs)))

    def frictionless_determinant(self, signs: ArrayLike) -> float:
        """Return the determinant of J_s without friction, for the same variant."""
        return self.frictionless.determinant(signs)

    def linear(self, base: Sequence[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the linear complementarity problem w = M z + q about a variant.

        Parameters
        ----------
        base
            The variant whose reactions are w; those of the opposite supports are z. None means the
            second supports of all pairs.

        Returns
        -------
        matrix, vector
            M = -A_s^-1 A_(-s), (m, m), and q = A_s^-1 b, (m,).

        Raises
        ------
        VariantError
            If the equations of the base variant are singular.
        """
        variant = (2,) * self.count if base is None else tuple(base)
        second = signs_of(variant, self.count) > 0
        loaded = np.where(second, self.second, self.first)
        other = np.where(second, self.first, self.second)
        if self.is_singular(np.where(second, 1, -1)):
            raise VariantError(
                f"the equations of variant {variant} are singular: no linear complementarity "
                "problem exists for it, choose another base"
            )
        right = np.column_stack([-other, self.load])
        solved = np.asarray(np.linalg.solve(loaded, right), dtype=np.float64)
        return solved[:, :-1], solved[:, -1]

    def is_singular(self, signs: ArrayLike) -> bool:
        """Return whether the equations of an orthant, J_s N = b, are singular to rounding."""
        matrix = self.scaling.problem.orthant(signs)
        if np.linalg.slogdet(matrix)[0] == 0:
            return True
        inverse = np.linalg.inv(matrix)
        return bool(1 / (np.linalg.norm(matrix, 1) * np.linalg.norm(inverse, 1)) < SINGULAR)

    @cached_property
    def scaling(self) -> ScaledComplementarity:
        """The problem with rows and columns of similar size; the factors are powers of two."""
        matrix = np.abs(np.hstack([self.first, self.second]))
        rows, columns = np.zeros(self.count, dtype=int), np.zeros(2 * self.count, dtype=int)
        for _ in range(_ROUNDS_OF_SCALING):
            size = np.ldexp(matrix, rows[:, None] + columns)
            across, down = _halved_powers(size.max(axis=1)), _halved_powers(size.max(axis=0))
            if not across.any() and not down.any():
                break
            rows, columns = rows - across, columns - down
        first, second = np.split(columns, 2)

        def scaled(matrix: np.ndarray, powers: np.ndarray) -> np.ndarray:
            return np.ldexp(matrix, rows[:, None] + powers)

        return ScaledComplementarity(
            problem=HorizontalComplementarity(
                scaled(self.first, first),
                scaled(self.second, second),
                np.ldexp(self.load, rows),
                scaled(self._normals[0], first),
                scaled(self._normals[1], second),
                self.names,
            ),
            first=np.ldexp(1.0, first),
            second=np.ldexp(1.0, second),
        )

    @property
    def _normals(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.first_normal is not None
        assert self.second_normal is not None
        return self.first_normal, self.second_normal


@dataclass(frozen=True, eq=False)
class ScaledComplementarity:
    """A problem with rows and columns of similar size.

    Attributes
    ----------
    problem
        The scaled problem; its reactions are the contributions of the true ones to the load.
    first, second
        Factors (m,): a true reaction is its factor times the scaled one.
    """

    problem: HorizontalComplementarity
    first: np.ndarray
    second: np.ndarray

    def factors(self, signs: ArrayLike) -> np.ndarray:
        """Return the factors of the supports that are loaded in orthants: (..., m)."""
        return np.where(np.asarray(signs) > 0, self.second, self.first)


def signs_of(variant: Sequence[int], count: int) -> np.ndarray:
    """Return the signs (m,) of a variant: +1 for the second support, -1 for the first.

    Raises
    ------
    PosingError
        If the variant does not consist of `count` numbers 1 or 2.
    """
    if len(variant) != count or any(support not in (1, 2) for support in variant):
        raise PosingError(
            f"{tuple(variant)} is not a variant of {count} pairs: give 1 or 2 for each of them"
        )
    return 2 * np.asarray(variant, dtype=int) - 3


def variant_of(signs: ArrayLike) -> Variant:
    """Return the variant of signs (m,): 2 if positive, otherwise 1."""
    return tuple(2 if sign > 0 else 1 for sign in np.asarray(signs))


def _halved_powers(sizes: np.ndarray) -> np.ndarray:
    """Return half the powers of two of sizes; 0 for a zero size."""
    return np.rint(np.frexp(sizes)[1] / 2).astype(int)


def finite_numbers(what: str, given: object) -> np.ndarray:
    """Return what was given as finite numbers; `what` names it in messages.

    Raises
    ------
    PosingError, OutOfRangeError
        It is something else.
    """
    try:
        numbers = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise PosingError(f"{what}: real numbers are needed, not {given!r}") from None
    if not np.isfinite(numbers).all():
        raise OutOfRangeError(f"{what}: {numbers[~np.isfinite(numbers)][0]} is not a finite number")
    return numbers


def _columns(what: str, given: object, names: tuple[str, ...]) -> np.ndarray:
    count = len(names)
    try:
        columns = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise PosingError(f"columns of the {what}: real numbers are needed") from None
    if columns.shape != (count, count):
        raise PosingError(
            f"columns of the {what}: the shape is {columns.shape}, {count} pairs need "
            f"{(count, count)}"
        )
    if not np.isfinite(columns).all():
        worst = np.argmin(np.isfinite(columns).all(axis=0))
        finite_numbers(f"the column of pair {names[worst]} among the {what}", columns[:, worst])
    return _frozen(columns)


def _frozen(numbers: np.ndarray) -> np.ndarray:
    numbers.flags.writeable = False
    return numbers
