"""The largest load under which a body stays at rest, as a convex programme: limit analysis.

For one choice of the loaded supports the body can rest under a load if reactions N_k >= 0 and
tractions T_j at points j of the supports, |T_j| <= mu_k w_j N_k, balance it: no velocities and no
accelerations occur. The largest factor of a load is the optimum of a second-order cone programme,
solved by Clarabel (Goulart and Chen, 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Patch:
    """A loaded support: points of contact with their shares of the reaction.

    Parameters
    ----------
    points
        (j, 3) in space, from where moments are counted; m.
    shares
        (j,), of sum one.
    normal
        (3,) unit vector, the direction in which the guide pushes the body.
    friction
        The coefficient.
    """

    points: np.ndarray
    shares: np.ndarray
    normal: np.ndarray
    friction: float


def wrench(point: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return force and moment of a force at a point, (6,)."""
    return np.concatenate([force, np.cross(point, force)])


def largest_factor(
    patches: Sequence[Patch], steady: np.ndarray, growing: np.ndarray
) -> tuple[float, np.ndarray] | None:
    """Return the largest factor of a load under which rest is possible, and the reactions.

    Parameters
    ----------
    patches
        The loaded supports.
    steady, growing
        (6,) force and moment: the load is steady + factor * growing.

    Returns
    -------
    tuple or None
        None where rest is not possible under any factor.
    """
    columns = [growing]
    for patch in patches:
        columns.append(
            sum(
                share * wrench(point, patch.normal)
                for point, share in zip(patch.points, patch.shares, strict=True)
            )
        )
    rows: list[np.ndarray] = []
    count = 1 + len(patches) + 2 * sum(len(patch.points) for patch in patches)
    traction = 1 + len(patches)
    for number, patch in enumerate(patches):
        for point, share in zip(patch.points, patch.shares, strict=True):
            cone = np.zeros((3, count))
            cone[0, 1 + number] = -patch.friction * share
            for row, tangent in enumerate(_tangents(patch.normal)):
                columns.append(wrench(point, tangent))
                cone[1 + row, traction] = -1.0
                traction += 1
            rows.append(cone)
    loaded = np.zeros((len(patches), count))
    loaded[:, 1 : 1 + len(patches)] = -np.eye(len(patches))
    matrix = np.vstack([np.array(columns).T, loaded, *rows])
    right = np.concatenate([-steady, np.zeros(len(matrix) - 6)])
    cones = [
        clarabel.ZeroConeT(6),
        clarabel.NonnegativeConeT(len(patches)),
        *[clarabel.SecondOrderConeT(3) for _ in rows],
    ]
    objective = np.zeros(count)
    objective[0] = -1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((count, count)),
        objective,
        sparse.csc_matrix(matrix),
        right,
        cones,
        settings,
    ).solve()
    if solution.status == clarabel.SolverStatus.PrimalInfeasible:
        return None
    assert solution.status == clarabel.SolverStatus.Solved, str(solution.status)
    found = np.array(solution.x)
    return float(found[0]), found[1 : 1 + len(patches)]


def _tangents(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    aside = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = np.cross(normal, aside)
    first /= np.linalg.norm(first)
    return first, np.cross(normal, first)
