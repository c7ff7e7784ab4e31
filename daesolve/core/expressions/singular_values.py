"""Rank in floating-point numbers: singular values, null spaces, shortest solutions.

Tolerances are absolute: singular values that do not exceed them count as zero. Scale the matrix
first, for example by `unit_length`, so that its entries are pure numbers. Its smallest singular
value is then about the sine of the angle between a row and the span of the others. For a tolerance
relative to the largest singular value, multiply by that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EQUILIBRATIONS = 20
"""Sweeps over rows and columns; each leaves about the square root of the imbalance."""
NOTHING = np.finfo(float).tiny / np.finfo(float).eps
"""Entries up to this count as intended zeros; the inverse of one would overflow."""


def unit_length(matrix: np.ndarray, *axes: int) -> np.ndarray:
    """Scale columns (axis 0) and rows (axis 1) to unit length, in the order of `axes`."""
    for axis in axes:
        lengths = np.linalg.norm(matrix, axis=axis, keepdims=True)
        matrix = matrix / np.where(lengths > 0, lengths, 1.0)
    return matrix


def equilibrated(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scale rows and columns until the largest entries are one, then rows to unit length.

    Units of coordinates, masses and lengths then do not matter, however different they are.

    Returns
    -------
    matrix, rows, columns
        (m, n), and the factors of the rows and columns, (m,) and (n,).
    """
    rows, columns = np.ones(len(matrix)), np.ones(matrix.shape[1])
    for _ in range(EQUILIBRATIONS):
        scaled = np.abs(rows[:, None] * matrix * columns)
        highest, widest = scaled.max(axis=1, initial=0.0), scaled.max(axis=0, initial=0.0)
        rows /= np.sqrt(np.where(highest > NOTHING, highest, 1.0))
        columns /= np.sqrt(np.where(widest > NOTHING, widest, 1.0))
    scaled = rows[:, None] * matrix * columns
    lengths = np.linalg.norm(scaled, axis=1)
    rows /= np.where(lengths > 0.0, lengths, 1.0)
    return rows[:, None] * matrix * columns, rows, columns


def singular_values(matrix: np.ndarray, count: int | None = None) -> np.ndarray:
    """Return the singular values, largest first.

    Parameters
    ----------
    matrix
        (m, n), or a stack of such matrices.
    count
        The number of values wanted for one matrix: zeros fill up if min(m, n) is smaller. By
        default min(m, n).
    """
    values = np.linalg.svd(matrix, compute_uv=False)
    if count is None or count == len(values):
        return values
    return np.append(values, np.zeros(count - len(values)))


def rank(matrix: np.ndarray, tolerance: float | None = None) -> int:
    """Return how many singular values exceed a tolerance, by default rounding."""
    return int(np.linalg.matrix_rank(matrix, tol=tolerance))


@dataclass(frozen=True, eq=False)
class SingularDirections:
    """The singular values of a matrix with their directions, or of a stack of matrices.

    Parameters
    ----------
    left
        (..., m, m) directions of the rows, as columns; or only (..., m, min(m, n)).
    values
        (..., min(m, n)) singular values, largest first.
    right
        (..., n, n) directions of the columns, as rows; or only (..., min(m, n), n).
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray

    def rank(self, tolerance: float) -> int:
        """Return how many singular values of one matrix exceed a tolerance."""
        return int(np.count_nonzero(self.values > tolerance))

    def solution(self, right_side: np.ndarray, rank: int) -> np.ndarray:
        """Return the shortest solution with the first singular values of one matrix alone."""
        parts = (self.left[:, :rank].T @ right_side) / self.values[:rank]
        solution: np.ndarray = self.right[:rank].T @ parts
        return solution

    def null_space(self, tolerance: float) -> np.ndarray:
        """Return an orthonormal basis of the null space of one matrix, as columns (n, k)."""
        return self.right[self.rank(tolerance) :].T

    def dependences(self, tolerance: float) -> np.ndarray:
        """Return an orthonormal basis of the combinations of rows that vanish, as columns."""
        return self.left[:, self.rank(tolerance) :]


def singular_directions(matrix: np.ndarray, *, whole: bool = True) -> SingularDirections:
    """Decompose a matrix (m, n), or a stack of such; with `whole`, with their null spaces."""
    return SingularDirections(*np.linalg.svd(matrix, full_matrices=whole))


def weakest_direction(matrix: np.ndarray) -> np.ndarray:
    """Return the direction of the columns that the rows see least: null if there is such."""
    return singular_directions(matrix).right[-1]


def null_space(matrix: np.ndarray, tolerance: float) -> np.ndarray:
    """Return an orthonormal basis of the null space of a matrix, as columns (n, k)."""
    return singular_directions(matrix).null_space(tolerance)


def independent_rows(matrix: np.ndarray, tolerance: float) -> list[int]:
    """Return the indices of rows that add to the rank, in order; rows count with unit length."""
    chosen: list[int] = []
    for index in range(len(matrix)):
        rows = unit_length(matrix[[*chosen, index]], 1)
        if singular_values(rows, len(rows))[-1] > tolerance:
            chosen.append(index)
    return chosen


def shortest_solution(
    matrix: np.ndarray, right: np.ndarray, rcond: float | None = None
) -> np.ndarray:
    """Return the shortest x for which matrix @ x is closest to the right side.

    Singular values below `rcond` times the largest count as zero; by default only rounding does.
    """
    return np.linalg.lstsq(matrix, right, rcond)[0]
