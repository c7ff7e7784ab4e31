"""Refuses jumps after which bodies overlap at an open contact: they would pass through each other.

A gap that falls through zero closes with an impact. One that jumps past zero does not fall through
it: no impact brings the bodies apart.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.algebra.evaluation import ArrayFunction
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import ResetError
from daesolve.posing.contacts import TOUCHING

ROUNDED = 16.0 * float(np.finfo(float).eps)
"""The fraction of its terms by which a gap may be negative: what contacts take for closed."""
LEAST = 1e-3
"""Each state counts as at least this fraction of the largest."""
WORSE = 10.0
"""A gap may become this many times as negative as it was before."""

Place = tuple[float, np.ndarray, np.ndarray]
"""Time in s, state, values."""


class Overlaps:
    """The gaps of the open contacts of a system.

    Parameters
    ----------
    dynamics
        The equations.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self.names = [row.name for row in dynamics.contacts]
        # A closed contact has an inactive guard, of one.
        closing = [ca.SX(dynamics.events[row.closed].guards) for row in dynamics.contacts]
        gaps, x = ca.vertcat(*closing), dynamics.x
        places = [dynamics.t, x, dynamics.p]
        self._gaps = ArrayFunction("gaps", places, [gaps, ca.jacobian(gaps, x)])

    @classmethod
    def of(cls, dynamics: Dynamics) -> Overlaps | None:
        """Return the gaps of a system's contacts; None if it has none."""
        if not dynamics.contacts:
            return None
        if dynamics not in _known:
            _known[dynamics] = cls(dynamics)
        return _known[dynamics]

    def check(self, what: str, before: Place, after: Place) -> None:
        """Refuse a jump that leaves a negative gap.

        Parameters
        ----------
        what
            The cause, and when.
        before, after
            Where the motion was and is, with values of p from its first one on.

        Raises
        ------
        ResetError
            The message names the contact.
        """
        gaps, slopes = self._gaps(*after)
        if not np.any(gaps < 0.0):
            return
        sizes = np.maximum(np.abs(before[1]), np.abs(after[1]))
        sizes = np.maximum(sizes, LEAST * np.max(sizes, initial=0.0))
        gaps, earlier = gaps.ravel(), self._gaps(*before)[0].ravel()
        limits = np.maximum(ROUNDED * np.abs(slopes) @ sizes, TOUCHING)
        limits += WORSE * np.maximum(-earlier, 0.0)
        past = gaps < -limits
        if past.any():
            worst = int(np.argmin(np.where(past, gaps, 0.0)))
            raise ResetError(
                f"{what} leaves the contact {self.names[worst]!r} with a gap of "
                f"{gaps[worst]:.3g}: the bodies overlap; let the gap fall through zero, or change "
                "the state so that it is not negative"
            )


_known: WeakKeyDictionary[Dynamics, Overlaps] = WeakKeyDictionary()
