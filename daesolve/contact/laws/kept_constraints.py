"""How velocities answer to pushes at an instant, while all constraints but some are kept."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from daesolve.core.equations.dynamics import Dynamics


def answered(
    dynamics: Dynamics,
    p: np.ndarray,
    parts: dict[str, np.ndarray],
    left_out: Collection[int],
    pushes: np.ndarray,
    tied: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the accelerations that pushes give, and in the last column those without any.

    Parameters
    ----------
    dynamics, p, parts
        The equations, their values, and `dynamics.matrices` there.
    left_out
        The rows that are not kept, beside those of which p lets go.
    pushes, tied
        (nv, k) and (relations, k) what acts on velocities and enters relations.

    Returns
    -------
    numpy.ndarray
        (nv, k + 1)
    numpy.ndarray
        (reactions, k + 1) the reactions of the constraints that are kept, zero for all others.

    Raises
    ------
    numpy.linalg.LinAlgError
        The constraints that are kept depend on each other.
    """
    held = {row.name for row in dynamics.in_mode(p).rows}
    kept = [k for k, row in enumerate(dynamics.rows) if row.name in held and k not in left_out]
    gone = {row.reaction for k, row in enumerate(dynamics.rows) if k not in kept}
    columns = [r for r in range(dynamics.reactions.numel()) if r not in gone]
    count, rows = dynamics.velocity_count, dynamics.velocity_count + len(kept)
    matrix = np.zeros((count + len(columns),) * 2)
    matrix[:count, :count] = parts["mass"]
    matrix[:count, count:] = -parts["influence"][:, columns]
    matrix[count:rows, :count] = parts["jacobian"][kept]
    matrix[rows:, count:] = parts["ties"][:, columns]
    right = np.zeros((len(matrix), pushes.shape[1] + 1))
    right[:count, :-1] = pushes
    right[rows:, :-1] = tied
    free = [parts["force"], -parts["bias"][kept], -parts["offsets"]]
    right[:, -1] = np.concatenate(free).ravel()
    found = np.linalg.solve(matrix, right)
    reactions = np.zeros((dynamics.reactions.numel(), right.shape[1]))
    reactions[columns] = found[count:]
    return found[:count], reactions
