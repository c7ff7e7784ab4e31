"""A share for each of several contacts in space that stick and whose friction is not determined.

Tractions T + Z y move nothing else for any y. The share that lies best inside all cones,

    the largest sum of log((mu N)^2 - |T|^2),

depends smoothly on loads, is the only one, and comes to the limit where no other has one left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDS = 200
"""Of Newton's method, which ends by itself in a few dozen."""
ENOUGH = 1e-22
"""Half of what is left to gain, at which it ends."""


def central(
    limits: NDArray[np.float64], tractions: NDArray[np.float64], free: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the tractions of a family that lie best inside their limits.

    Parameters
    ----------
    limits
        mu N of each contact, positive: (n,), N.
    tractions
        One choice that lies inside: (n, 2), N.
    free
        What may be added: (n, 2, m).

    Returns
    -------
    numpy.ndarray
        (n, 2); those given where they do not lie inside.
    """
    found = tractions / limits[:, None]
    slopes = free / limits[:, None, None]
    if not np.all(np.sum(found**2, axis=1) < 1.0):
        return tractions
    for _ in range(ROUNDS):
        inside = 1.0 - np.sum(found**2, axis=1)
        pushes = 2.0 * np.einsum("nk,nkm->nm", found, slopes) / inside[:, None]
        bent = 2.0 * np.einsum("nkl,nkm,n->lm", slopes, slopes, 1.0 / inside)
        step = -np.linalg.solve(bent + pushes.T @ pushes, np.sum(pushes, axis=0))
        gain = -float(step @ np.sum(pushes, axis=0))
        if gain <= ENOUGH:
            break
        # In units of the local curvature: the damped step of self-concordant barriers.
        found = found + slopes @ (step / (1.0 + np.sqrt(gain)))
    return found * limits[:, None]
