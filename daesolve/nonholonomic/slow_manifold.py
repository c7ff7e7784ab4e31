"""The slow manifold R(t, x, lambda) = 0: the small velocities that balance the forces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.core.equations.rank import RANK_TOLERANCE
from daesolve.core.expressions.singular_values import singular_directions
from daesolve.errors import InconsistentStateError, NoSlowManifoldError, SecondaryConstraintsError

BALANCED = 1e-9
"""The accepted rest of R, relative to its terms, before the last step of Newton's method."""
FIRST_STEP = 0.3
"""The first step on the way to a balance, in units of the fastest rate."""
STEPS = 400
"""The number of steps within which a balance must be found."""


@dataclass(frozen=True, eq=False)
class SmallVelocityEquations:
    """The equations S lambda' = R(lambda) of the small velocities, with everything else held.

    Parameters
    ----------
    names
        The m small velocities.
    inertia
        S, (m, m).
    evaluate
        lambda (m,) -> R (m,) and M = dR/dlambda (m, m).
    linear
        Whether M is independent of lambda.
    beside
        lambda -> M near the state: if it is regular there but not here, the state itself leaves
        lambda undetermined, and not saturated forces.
    scale
        The typical size of M in units of S, 1/s (see `strength`), against which singularity is
        judged. A condition number would not suffice, because all of M may vanish at once.
    """

    names: tuple[str, ...]
    inertia: np.ndarray
    evaluate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    linear: bool
    beside: Callable[[np.ndarray], np.ndarray]
    scale: float

    def solve(self, guess: np.ndarray) -> np.ndarray:
        """Return the small velocities with R = 0 to which the fast motion leads.

        If R is not linear, the method takes implicit Euler steps of S lambda' = R that grow as R
        falls; near the end they become Newton steps.

        Parameters
        ----------
        guess
            (m,), the start of the fast motion.

        Raises
        ------
        SecondaryConstraintsError
            M is singular, so lambda stays undetermined.
        NoSlowManifoldError
            R has no zero to which the fast motion could lead.
        InconsistentStateError
            R or M is not finite at the guess.
        """
        balance, matrix = self.evaluate(guess)
        if not _finite(balance, matrix):
            raise InconsistentStateError(
                f"the forces on {self._listed()} are not finite, or their rates are not "
                "finite, at the small velocities of the start; give others"
            )
        if self.linear:
            self.check_regular(matrix)
            return guess - np.linalg.solve(matrix, balance)
        multipliers = self._followed(guess)
        balance, matrix = self.evaluate(multipliers)
        self.check_regular(matrix)
        return multipliers - np.linalg.solve(matrix, balance)

    def check_regular(self, matrix: np.ndarray) -> None:
        """Refuse an M that is singular relative to its typical size.

        Raises
        ------
        SecondaryConstraintsError
            The message names the undetermined velocities.
        """
        if self._is_regular(matrix):
            return
        singular, directions = grips(self.inertia, matrix)
        smallest = singular[-1]
        null = directions[:, singular <= RANK_TOLERANCE * self.scale]
        parts = np.max(np.abs(null), axis=1)
        loose = [repr(name) for name, part in zip(self.names, parts, strict=True) if part > 1e-6]
        raise SecondaryConstraintsError(
            f"the rates of the primary constraints do not determine {', '.join(loose)} here: the "
            f"smallest singular value of their matrix is {smallest:.3g} 1/s, typically "
            f"{self.scale:.3g} 1/s, so secondary constraints follow; start elsewhere, choose "
            "other small velocities, or integrate the full system"
        )

    def _followed(self, guess: np.ndarray) -> np.ndarray:
        """Follow the fast motion to its end."""
        reached, step = guess, FIRST_STEP / (self.scale or 1.0)
        balance, matrix = self.evaluate(reached)
        size = self._size(balance)
        least, missed = size, balance
        for _ in range(STEPS):
            terms = np.abs(matrix) @ np.abs(reached) + np.abs(balance - matrix @ reached)
            if size <= BALANCED * self._size(terms):
                return reached
            moved = reached + np.linalg.solve(self.inertia / step - matrix, balance)
            there, slopes = self.evaluate(moved)
            turned = there @ np.linalg.solve(self.inertia, balance) < 0.0
            overshot = turned and self._size(there) > 0.5 * size
            if overshot or not _finite(there, slopes):
                step /= 4.0
                continue
            step *= float(np.clip(size / max(self._size(there), 1e-300), 1.5, 1e3))
            reached, balance, matrix, size = moved, there, slopes, self._size(there)
            if size < least:
                least, missed = size, balance
        raise self._refusal(guess, missed)

    def _size(self, forces: np.ndarray) -> float:
        """Return the size of generalised forces in units of S."""
        return float(np.sqrt(forces @ np.linalg.solve(self.inertia, forces)))

    def _refusal(self, guess: np.ndarray, missed: np.ndarray) -> NoSlowManifoldError:
        """Raise the error that nothing balances the forces.

        Raises
        ------
        SecondaryConstraintsError
            The state itself leaves the small velocities undetermined.
        """
        for tried in (guess, np.zeros_like(guess)):
            if self._is_regular(self.beside(tried)):
                self.check_regular(self.evaluate(tried)[1])
        left = ", ".join(
            f"that on {name!r} by {abs(value):.6g}"
            for name, value in zip(self.names, missed, strict=True)
        )
        return NoSlowManifoldError(
            f"no values of {self._listed()} balance the forces here: these exceed the forces "
            f"that small velocities cause, {left}; the motion does not stay near a slow one, "
            "so integrate the full system"
        )

    def _is_regular(self, matrix: np.ndarray) -> bool:
        return _finite(matrix) and bool(
            grips(self.inertia, matrix)[0][-1] > RANK_TOLERANCE * self.scale
        )

    def _listed(self) -> str:
        return ", ".join(map(repr, self.names))


def _finite(*arrays: np.ndarray) -> bool:
    return all(bool(np.all(np.isfinite(array))) for array in arrays)


def in_units_of_inertia(inertia: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return S^-1/2 M S^-1/2, in 1/s; its eigenvalues are those of S^-1 M."""
    root = np.linalg.cholesky(inertia)
    return np.linalg.solve(root, np.linalg.solve(root, matrix).T).T


def grips(inertia: np.ndarray, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the singular values of S^-1/2 M S^-1/2, falling, 1/s, and their lambda as columns.

    The largest component of each column is 1.
    """
    directions = singular_directions(in_units_of_inertia(inertia, matrix))
    columns = np.linalg.solve(np.linalg.cholesky(inertia).T, directions.right.T)
    return directions.values, columns / np.max(np.abs(columns), axis=0)


def strength(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the largest singular value of S^-1/2 M S^-1/2, 1/s, among pairs (S, M)."""
    sizes = [
        float(np.linalg.norm(in_units_of_inertia(inertia, matrix), 2))
        for inertia, matrix in pairs
        if _finite(matrix)
    ]
    return max(sizes, default=0.0)
