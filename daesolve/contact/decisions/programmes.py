"""Linear programmes for a few reactions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

FINEST = 1e-10
"""The smallest tolerance that HiGHS accepts."""
INFEASIBLE = 2
"""The status that HiGHS returns for an infeasible programme."""


def minimised(
    costs: np.ndarray,
    rows: np.ndarray,
    bound: np.ndarray,
    ranges: Sequence[tuple[float | None, float | None]],
) -> np.ndarray | None:
    """Return x that minimises costs x with rows x <= bound; None if infeasible or unbounded.

    The simplex method ends at a vertex, which is exact to rounding.
    """
    found = scipy.optimize.linprog(
        costs,
        A_ub=rows,
        b_ub=bound,
        bounds=ranges,
        method="highs-ds",
        options={"primal_feasibility_tolerance": FINEST, "dual_feasibility_tolerance": FINEST},
    )
    return found.x if found.status == 0 else None


def impossible(rows: np.ndarray, bound: np.ndarray, equal: np.ndarray, right: np.ndarray) -> bool:
    """Return whether no x has rows x <= bound and equal x = right."""
    found = scipy.optimize.linprog(
        [0.0] * rows.shape[1],
        A_ub=rows,
        b_ub=bound,
        A_eq=equal if len(equal) else None,
        b_eq=right if len(equal) else None,
        bounds=(None, None),
        method="highs",
    )
    return found.status == INFEASIBLE
