"""How two sets of numbers agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def correct_digits(found: ArrayLike, expected: ArrayLike) -> float:
    """Return -log10 of the largest relative error of a component; at most 17."""
    wanted = np.asarray(expected, dtype=float)
    errors = np.abs(np.asarray(found, dtype=float) - wanted) / np.abs(wanted)
    return float(-np.log10(max(float(np.max(errors)), 1e-17)))
