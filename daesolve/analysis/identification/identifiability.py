"""Which combinations of unknowns the data determine: the null directions of the derivatives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

INVISIBLE = float(np.sqrt(np.finfo(float).eps))
"""The singular value, relative to the largest, below which a direction has no digit left.

Variances follow from squares of singular values, and a smaller one vanishes in their rounding.
"""
CLEAN = 1e-6
"""The component of a null direction that counts as rounding: INVISIBLE, less two digits."""
FACTOR = 2.0
"""The data must tell at least whether a value is so many times larger."""
QUANTILE = 1.959963984540054
"""Of the normal distribution, for 95 %."""


@dataclass(frozen=True)
class NullDirection:
    """A change of unknowns that the data do not show.

    Parameters
    ----------
    changes
        By the name of each unknown that changes: its relative change, or its change in its own
        unit; the largest is one.
    relative
        Whether changes are relative: exponents of a common factor.
    exact
        Whether the outputs do not change at all. Otherwise they change less than the noise if the
        values change by a factor of two.
    """

    changes: Mapping[str, float]
    relative: bool
    exact: bool

    def __str__(self) -> str:
        names = list(self.changes)
        if len(names) == 1 and self.exact:
            return f"{names[0]} does not influence the measured outputs"
        if len(names) == 1:
            return f"{names[0]} is not known to a factor of {FACTOR:g}"
        what = "does not change" if self.exact else "hardly changes"
        return f"the motion {what} if {self._moved()}: only {self._kept()} can be found"

    def _moved(self) -> str:
        """Return the change in words."""
        if self.relative:
            return ", ".join(
                f"{name} -> {name} * s{_power(change)}" for name, change in self.changes.items()
            )
        return ", ".join(
            f"{name} -> {name} {'-' if change < 0 else '+'} {abs(change):.6g} s"
            for name, change in self.changes.items()
        )

    def _kept(self) -> str:
        """Return the combinations with the first unknown that stay the same."""
        (first, unit), *others = self.changes.items()
        if not self.relative:
            return ", ".join(
                f"{name} {'-' if change * unit > 0 else '+'} {abs(change / unit):.6g} {first}"
                for name, change in others
            )
        kept: list[str] = []
        for name, change in others:
            power = change / unit
            sign = "/" if power > 0 else "*"
            kept.append(f"{name} {sign} {first}{_power(abs(power))}")
        return ", ".join(kept)


@dataclass(frozen=True, eq=False)
class Identifiability:
    """What the data determine.

    Parameters
    ----------
    covariance
        (k, k) of the unknowns, for noise with the deviation 1; infinite on the diagonal where a
        null direction takes part.
    sharpness
        (k,) the variance of each unknown that the misfit alone shows, relative to that; 1 without
        weights.
    directions
        (d, k) exact null directions in the units of the unknowns, as few names in each as possible.
    weak
        (d, k) directions that noise hides, in the same units.
    singular_values
        Of the relative derivatives, largest first.
    """

    covariance: np.ndarray
    sharpness: np.ndarray
    directions: np.ndarray
    weak: np.ndarray
    singular_values: np.ndarray


def identifiability(slopes: np.ndarray, values: np.ndarray, weights: np.ndarray) -> Identifiability:
    """Find what data determine.

    Parameters
    ----------
    slopes
        (m, k) derivatives of the residuals, relative to the noise.
    values
        (k,) the unknowns.
    weights
        (m,) how many times the squares of the residuals count.
    """
    sizes = np.where(values != 0.0, np.abs(values), 1.0)
    weighted = np.sqrt(weights)[:, None] * slopes * sizes
    left, singular, right = np.linalg.svd(weighted, full_matrices=False)
    right = np.vstack([right, null_space(right)])
    singular = np.concatenate([singular, np.zeros(len(values) - len(singular))])
    seen = singular > INVISIBLE * singular[0]
    part = right[seen] / singular[seen, None]
    # Noise enters a weighted fit by its weights, but is none the smaller for them.
    left = left[:, seen[: left.shape[1]]]
    spread = part.T @ (left.T @ (weights[:, None] * left)) @ part
    covariance = sizes[:, None] * spread * sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        sharpness = np.diag(part.T @ part) / np.diag(spread)
    null = sparse_basis(right[~seen])
    lost = np.any(null != 0.0, axis=0)
    covariance[lost, lost] = np.inf
    hidden = seen & (singular < QUANTILE / math.log(FACTOR))
    return Identifiability(
        covariance, sharpness, null * sizes, sparse_basis(right[hidden], 0.05) * sizes, singular
    )


def null_space(rows: np.ndarray) -> np.ndarray:
    """Return the orthonormal rows that complete orthonormal ones."""
    if rows.shape[0] == rows.shape[1]:
        return rows[:0]
    return np.linalg.svd(rows, full_matrices=True)[2][rows.shape[0] :]


def noise_freedom(slopes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the share of the noise that is left in each residual of a fit, (m,).

    Parameters
    ----------
    slopes, weights
        As in `identifiability`, with one scale for all unknowns.
    """
    root = np.sqrt(weights)[:, None]
    left, singular, _ = np.linalg.svd(root * slopes, full_matrices=False)
    left = left[:, singular > INVISIBLE * singular[0]]
    # The fit is a projection P, oblique if weights differ: this is the diagonal of (1-P)(1-P)^T.
    own = np.sum(left**2, axis=1)
    others = np.sum((left @ (left.T @ (weights[:, None] * left))) * left, axis=1) / weights
    return 1.0 - 2.0 * own + others


def sparse_basis(rows: np.ndarray, clean: float = CLEAN) -> np.ndarray:
    """Return a basis of the same space with few entries in each row, the largest one.

    Parameters
    ----------
    rows
        (d, k), orthonormal.
    clean
        Entries that count as zero.
    """
    rows = rows.copy()
    taken: list[int] = []
    for k in range(len(rows)):
        left = np.abs(rows[k:]).copy()
        left[:, taken] = 0.0
        row, column = divmod(int(np.argmax(left)), left.shape[1])
        rows[[k, k + row]] = rows[[k + row, k]]
        rows[k] /= rows[k, column]
        taken.append(column)
        for other in range(len(rows)):
            if other != k:
                rows[other] -= rows[other, column] * rows[k]
    if len(rows):
        rows /= np.max(np.abs(rows), axis=1, keepdims=True)
        rows[np.abs(rows) < clean] = 0.0
    return rows


def named_direction(
    names: Sequence[str], values: np.ndarray, direction: np.ndarray, *, relative: bool, exact: bool
) -> NullDirection:
    """Return a direction by names.

    Parameters
    ----------
    names, values
        The unknowns.
    direction
        (k,) in their units.
    relative
        Whether to write it by relative changes.
    exact
        As in `NullDirection`.
    """
    sizes = np.where(values != 0.0, np.abs(values), 1.0) if relative else 1.0
    changes = direction / sizes
    changes = changes / changes[int(np.argmax(np.abs(changes)))]
    listed = zip(names, changes.tolist(), strict=True)
    return NullDirection({n: change for n, change in listed if change}, relative, exact)


def _power(exponent: float) -> str:
    """Return a power as text, empty for 1."""
    whole = round(exponent * 12) / 12
    shown = whole if abs(whole - exponent) < 100 * CLEAN else exponent
    return "" if shown == 1.0 else f"^{shown:.6g}"
