"""What ends a run: lost grips and non-finite numbers; and where a grip is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.core.run.integration.watches.degeneracy import Dependence

TAIL = 6
"""Steps in a row that show a pivot that passed through zero."""
STRAIGHT = 0.2
"""Relative change of slope below which a line counts as straight."""
WEAK = 1e-2
"""A goal that is singular at rest, with a relative pivot below this, is at rest with another."""
FIRM = 1e-3
"""A relative pivot above this is not on its way through zero."""
LOST_GRIP = 1e-9
"""A relative pivot below this means that constraints have become dependent."""
LIGHT = 1e-6
"""A grip that is usually below this is so by the masses of light bodies: less counts as lost."""
LOST_EXACTLY = 1e-14
"""The same where rounding grows as u / sigma alone, and sigma is judged besides."""


@dataclass(frozen=True)
class LostGrip:
    """Where reactions lost their grip: when, which goals, and the last step before it.

    `dependence` is what the singular values of the constraints say there, where that is why.
    """

    time: float
    goals: tuple[str, ...]
    last_time: float
    last_state: np.ndarray
    dependence: Dependence | None = None


@dataclass(frozen=True)
class NotFinite:
    """A residual or energy that is not finite: which, when, and the step before it."""

    what: str
    time: float
    last_time: float
    last_state: np.ndarray


@dataclass(frozen=True)
class Grip:
    """Steps with the relative pivots and the influences of singular goals at their ends."""

    times: np.ndarray
    states: np.ndarray
    grips: np.ndarray
    influences: np.ndarray

    def then(self, later: Grip) -> Grip:
        """Join two stretches."""
        return Grip(
            np.concatenate([self.times, later.times]),
            np.vstack([self.states, later.states]),
            np.vstack([self.grips, later.grips]),
            np.vstack([self.influences, later.influences]),
        )

    def tail(self, count: int) -> Grip:
        """Return the last steps."""
        parts = (self.times, self.states, self.grips, self.influences)
        return Grip(*(part[-count:] for part in parts))


def first_turn(influence: np.ndarray) -> int | None:
    """Return the first step over which an influence, (k, n), has come to point the other way.

    It is linear in the velocities, and was zero where the motion came to rest in between.
    """
    along = np.sum(influence[1:] * influence[:-1], axis=1)
    turned = np.flatnonzero(along < 0.0)
    return int(turned[0]) + 1 if turned.size else None


def first_loss(times: np.ndarray, grip: np.ndarray, lost: float) -> int | None:
    """Return the first step at or beyond which a relative pivot was zero.

    It is below what counts as lost there, or its square root falls in a straight line to zero and
    rises in another from it: the pivot passed through a double zero between two steps.
    """
    below = np.flatnonzero(grip < lost)
    first = int(below[0]) if below.size else None
    root = np.sqrt(np.maximum(grip, 0.0))
    if len(times) < TAIL:
        return first
    width = np.diff(times)
    slope = np.diff(root) / np.where(width == 0.0, np.inf, width)
    before, after = slope[1:-3], slope[3:-1]
    turning = np.flatnonzero((before * after < 0.0) & (root[2:-3] * root[3:-2] > 0.0)) + 2
    touching = turning[_touches_zero(times, root, slope, turning)]
    if touching.size:
        passed = int(touching[0]) + 1
        return passed if first is None else min(first, passed)
    return first


def _touches_zero(
    times: np.ndarray, root: np.ndarray, slope: np.ndarray, gaps: np.ndarray
) -> np.ndarray:
    """Return whether straight lines from both sides of gaps between steps meet at zero in them."""
    before, after = slope[gaps - 1], slope[gaps + 1]
    straight = np.abs(slope[gaps - 2] - before) < STRAIGHT * np.abs(before)
    straight &= np.abs(slope[gaps + 2] - after) < STRAIGHT * np.abs(after)
    straight &= np.abs(before + after) < STRAIGHT * np.abs(before)
    start, end = times[gaps], times[gaps + 1]
    from_left, from_right = start - root[gaps] / before, end - root[gaps + 1] / after
    inside = (from_left - start) * (from_left - end) <= 0.0
    near = np.abs(from_left - from_right) < STRAIGHT * np.abs(end - start)
    return straight & inside & near
