"""The side of its border on which a piecewise expression counts if it stays exactly there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.posing.events import Event

NEVER, ALWAYS = -2, -1


@dataclass(frozen=True, eq=False)
class Borders:
    """The guards for which zero counts as past: a > 0 is false at a = 0, and floor(1) is 1.

    Parameters
    ----------
    places
        For each guard, the index in p of a sign: zero counts as past if it is 1; `ALWAYS` or
        `NEVER`.
    """

    places: np.ndarray

    @staticmethod
    def of(dynamics: Dynamics, events: Sequence[Event]) -> Borders:
        """Return the borders of the guards of some events, in order."""
        names, places = list(dynamics.values), list[int]()
        for event in events:
            if event.name not in dynamics.switches:
                places += [NEVER] * event.count
            else:
                places += [names.index(event.name)] if event.count == 1 else [ALWAYS, NEVER]
        return Borders(np.array(places, dtype=int))

    @property
    def known(self) -> np.ndarray:
        """Which guards are those of switches."""
        return self.places != NEVER

    @property
    def any(self) -> bool:
        """Whether there are such guards."""
        return bool(self.known.any())

    def past(self, p: np.ndarray) -> np.ndarray:
        """Return for which guards zero counts as past, for the values p."""
        if not (self.places >= 0).any():
            return self.places == ALWAYS
        signs = p[np.maximum(self.places, 0)]
        return (self.places == ALWAYS) | ((self.places >= 0) & (signs > 0.0))
