"""A point of a branch as it is stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.analysis.orbits.monodromy import Verdict
from daesolve.analysis.orbits.shooting import Guess


@dataclass(frozen=True, eq=False)
class BranchPoint:
    """An orbit of a branch, without its run.

    Parameters
    ----------
    value
        The value of the varied quantity.
    guess
        The solution: places, period, amounts of the symmetry.
    tangent, step
        The direction of the branch in scaled unknowns, and the next step.
    period
        s.
    multipliers
        Complex, largest first.
    verdict
        As in `PeriodicOrbit`.
    """

    value: float
    guess: Guess
    tangent: np.ndarray
    step: float
    period: float
    multipliers: np.ndarray
    verdict: Verdict
