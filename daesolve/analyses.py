"""What can be said about a system at a state, without integrating it."""

from __future__ import annotations

from typing import Any

import numpy as np

from daesolve.dynamics import Dynamics
from daesolve.rank import Decoupling, decoupling


def rank_report(
    dynamics: Dynamics, time: float, state: np.ndarray, p: np.ndarray
) -> dict[str, Any]:
    """Tell whether the reactions influence all goals independently, in motion and at rest.

    Parameters
    ----------
    dynamics
        The equations.
    time, state
        s, and (nx,): a consistent state. At rest its velocities are set to zero.
    p
        (np,)

    Returns
    -------
    dict
        `degrees` (the relative degree of each goal), and for `start` and `at_rest`: `rank`, `of`,
        `dependent` (the goals that take part in dependences), `singular_values` (of the decoupling
        matrix with rows and columns of unit length) and `condition` (None where it is singular;
        columns of unit length alone, since the lengths of rows tell of goals that lose their grip).
    """
    resting = state.copy()
    resting[dynamics.position_count :] = 0.0
    degrees = {row.name: row.degree for row in dynamics.rows}
    degrees |= {row.name: 1 for row in dynamics.implicit_rows}
    degrees |= {row.name: 0 for row in dynamics.relations}
    return {
        "degrees": degrees,
        "start": _told(decoupling(dynamics, time, state, p)),
        "at_rest": _told(decoupling(dynamics, time, resting, p)),
    }


def _told(matrix: Decoupling) -> dict[str, Any]:
    condition = matrix.condition
    return {
        "rank": matrix.rank,
        "of": len(matrix.goals),
        "dependent": list(matrix.dependent),
        "singular_values": [float(value) for value in matrix.singular_values],
        "condition": condition if np.isfinite(condition) else None,
    }
