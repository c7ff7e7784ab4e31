"""Counts what happens at one instant, which never ends where a motion comes to rest on a guard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.errors import ChatteringError

MOST_AT_ONCE = 32
"""Resets at one instant beyond which they never end."""
INSTANT = 1e-13
"""Resets closer than this part of the time and of a segment are at one instant."""
RESTS = (
    "the motion comes to rest on its guard; end earlier, define a mode in which it rests "
    "there, or, if the direction is 'either', choose one direction"
)
SLIDES = (
    "the motion is driven back to the jump of this expression from both sides, and the "
    "equations do not determine how it continues (a block comes to rest under friction "
    "sign(v)); pose dry friction that sticks, or smooth the jump, for example with tanh(v / v0)"
)


@dataclass
class SimultaneousResets:
    """Counts resets that follow each other at once.

    Parameters
    ----------
    width
        What counts as the same time beside rounding, s.
    """

    width: float
    began: float = np.nan
    count: int = 0

    def take(
        self, time: float, event: str, *, unresolved: float = 0.0, switches: bool = False
    ) -> None:
        """Count one more.

        Parameters
        ----------
        time, event
            When (s), and what happens.
        unresolved
            How long its guard cannot be told from zero, s: no solver resolves what is shorter.
        switches
            Whether it is where a piecewise expression changes.

        Raises
        ------
        ChatteringError
            There are more than `MOST_AT_ONCE`.
        """
        if abs(time - self.began) <= max(self.width + INSTANT * abs(time), unresolved):
            self.count += 1
        else:
            self.began, self.count = time, 1
        if self.count > MOST_AT_ONCE:
            why = SLIDES if switches else RESTS
            raise ChatteringError(
                f"at t = {time:.10g} s the event {event!r} happened more than {MOST_AT_ONCE} times "
                f"at one instant: {why}"
            )
