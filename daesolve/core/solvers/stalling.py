"""When a method has ceased to make progress."""

from __future__ import annotations

from collections import deque


class Stall:
    """Notices steps without progress: the last ones together moved less than rounding.

    Parameters
    ----------
    after
        How many steps these are.
    scale
        The time, s, of which 1e-12 is rounding; that of the motion counts where it is larger.
    """

    def __init__(self, after: int, scale: float) -> None:
        self._after, self._scale = after, scale
        self._ends: deque[float] = deque(maxlen=after + 1)

    def at(self, time: float) -> bool:
        """Take in the end of a step; return whether the method is stuck."""
        self._ends.append(time)
        if len(self._ends) <= self._after:
            return False
        return abs(time - self._ends[0]) < 1e-12 * max(abs(time), self._scale)
