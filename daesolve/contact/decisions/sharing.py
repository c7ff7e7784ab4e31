"""Friction shares for several sticking contacts in space with undetermined friction.

Tractions T + Z y cause the same motion for every y. Sticking contacts hold as long as some y has
all tractions in their cones: as long as the largest k with |T| <= (1 - k) mu N everywhere is
nonnegative. It is found on the central path of that programme (S. Boyd, L. Vandenberghe, Convex
Optimization, 2004, chapter 11), along which y depends smoothly on loads: the minimum over y and k
of

    -k / m - sum of log(((1 - k) mu N)^2 - |T|^2),        m -> 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ROUNDS = 60
"""The largest number of Newton steps on the path for each m; a few suffice."""
ENOUGH = 1e-16
"""Twice the remaining gain, at which Newton's method ends."""
SHRINKS = 0.2
"""The factor from one m to the next."""
WITHIN = 0.02
"""The accepted distance of k from its largest value."""
LEAST = 1e-14
"""The same, for a k near zero."""


class BestShare(NamedTuple):
    """Tractions (n, 2), N, and the remainder of all cones: the least 1 - |T| / (mu N)."""

    tractions: np.ndarray
    spare: float


def best_share(limits: np.ndarray, tractions: np.ndarray, free: np.ndarray) -> BestShare:
    """Return the tractions of a family that use their cones least.

    Parameters
    ----------
    limits
        mu N of each contact, positive: (n,), N.
    tractions
        One choice, whatever it uses: (n, 2), N.
    free
        The possible additions: (n, 2, m).
    """
    found = tractions / limits[:, None]
    slopes = free / limits[:, None, None]
    spare = -2.0 * float(np.max(np.linalg.norm(found, axis=1)))
    size = 1.0
    while True:
        found, spare = _on_path(found, spare, slopes, size)
        gap = 2.0 * len(limits) * size
        if gap <= max(WITHIN * abs(spare), LEAST):
            used = float(np.max(np.linalg.norm(found, axis=1)))
            return BestShare(found * limits[:, None], 1.0 - used)
        size *= SHRINKS


def _newton_step(bent: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the step to where the gradient vanishes."""
    try:
        return np.asarray(-np.linalg.solve(bent, gradient), dtype=np.float64)
    except np.linalg.LinAlgError:
        # Beside a cone that is smaller by 1e14, rounding leaves other directions no curvature.
        return np.asarray(-np.linalg.lstsq(bent, gradient)[0], dtype=np.float64)


def _on_path(
    found: np.ndarray, spare: float, slopes: np.ndarray, size: float
) -> tuple[np.ndarray, float]:
    """Return the point of the path for m = size, by damped Newton steps from another point."""
    last = found, spare
    for _ in range(ROUNDS):
        radius = 1.0 - spare
        inside = radius**2 - np.sum(found**2, axis=1)
        if not np.all(inside > 0.0):
            # Rounding has crossed the border that the steps avoid.
            return last
        last = found, spare
        along = (found[:, None, :] @ slopes)[:, 0, :]
        pushes = np.column_stack([2.0 * along, np.zeros(len(found))])
        pushes[:, -1] = 2.0 * radius
        pushes = pushes / inside[:, None]
        bent = pushes.T @ pushes
        weighted = (slopes / np.sqrt(inside)[:, None, None]).reshape(-1, slopes.shape[-1])
        bent[:-1, :-1] += 2.0 * weighted.T @ weighted
        bent[-1, -1] -= 2.0 * float(np.sum(1.0 / inside))
        gradient = np.asarray(np.sum(pushes, axis=0), dtype=np.float64)
        gradient[-1] -= 1.0 / size
        step = _newton_step(bent, gradient)
        gain = -float(step @ gradient)
        if not gain > ENOUGH:
            break
        # The damped step for self-concordant functions stays inside.
        part = 1.0 / (1.0 + np.sqrt(gain)) if gain > 0.0625 else 1.0
        found = found + slopes @ (part * step[:-1])
        spare += float(part * step[-1])
    return found, spare
