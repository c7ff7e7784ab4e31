"""Refuses jumps after which bodies overlap at an open contact, or lie beyond a barrier.

A gap that falls through zero closes with an impact. One that jumps past zero does not fall through
it: no impact brings the bodies apart, and they would pass through each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daesolve.algebra.evaluation import ArrayFunction
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import ResetError
from daesolve.posing.contacts import TOUCHING

ROUNDED = 16.0 * float(np.finfo(float).eps)
"""The fraction of its terms by which a gap may be negative: what contacts take for closed."""
BEYOND = 1e-9
"""The fraction of its terms by which a guard may be beyond a barrier, as at a start."""
LEAST = 1e-3
"""Each state counts as at least this fraction of the largest."""
WORSE = 10.0
"""A gap may become this many times as negative as it was before."""

Place = tuple[float, np.ndarray, np.ndarray]
"""Time in s, state, values."""


class Overlaps:
    """The gaps that some resets change: of open contacts, and of barriers that impose a constraint.

    Parameters
    ----------
    dynamics
        The equations.
    gaps
        What must not become negative: its title, and its expression.
    contacts
        How many of them, the first, are those of contacts.
    """

    def __init__(
        self, dynamics: Dynamics, gaps: Sequence[tuple[str, ca.SX]], contacts: int
    ) -> None:
        self.titles = [title for title, _ in gaps]
        self._measures = ["a gap"] * contacts + ["a distance"] * (len(gaps) - contacts)
        column, x = ca.vertcat(*[gap for _, gap in gaps]), dynamics.x
        places = [dynamics.t, x, dynamics.p]
        self._gaps = ArrayFunction("gaps", places, [column, ca.jacobian(column, x)])
        self._rounded = np.repeat([ROUNDED, BEYOND], [contacts, len(gaps) - contacts])

    @classmethod
    def of(cls, dynamics: Dynamics, events: Sequence[int]) -> Overlaps | None:
        """Return the gaps that the resets of some events change; None if there are none."""
        names, resets = list(dynamics.values), [dynamics.resets[index] for index in events]
        changed = [dynamics.x[index] for reset in resets for index in reset.states]
        changed += [dynamics.p[names.index(name)] for reset in resets for name in reset.values]
        column = ca.vertcat(ca.SX(0, 1), *changed)

        def changing(gaps: list[tuple[str, ca.SX]]) -> list[tuple[str, ca.SX]]:
            return [(title, gap) for title, gap in gaps if ca.depends_on(gap, column)]

        # A closed contact has an inactive guard, of one.
        contacts = changing(
            [
                (f"the contact {row.name!r}", ca.SX(dynamics.events[row.closed].guards))
                for row in dynamics.contacts
            ]
        )
        barriers = changing(
            [
                (f"the barrier of the event {event.name!r}", -way * guard)
                for index, reset in dynamics.resets.items()
                if reset.momentary and (way := (event := dynamics.events[index]).direction.value)
                for guard in ca.vertsplit(ca.SX(event.guards))
            ]
        )
        return (
            cls(dynamics, [*contacts, *barriers], len(contacts)) if contacts or barriers else None
        )

    def check(self, what: str, before: Place, after: Place) -> None:
        """Refuse a jump that leaves a negative gap.

        Parameters
        ----------
        what
            The cause, and when.
        before, after
            Where the motion was and is.

        Raises
        ------
        ResetError
            The message names the contact or the barrier.
        """
        gaps, slopes = self._gaps(*after)
        if not np.any(gaps < 0.0):
            return
        sizes = np.maximum(np.abs(before[1]), np.abs(after[1]))
        sizes = np.maximum(sizes, LEAST * np.max(sizes, initial=0.0))
        gaps, earlier = gaps.ravel(), self._gaps(*before)[0].ravel()
        limits = np.maximum(self._rounded * (np.abs(slopes) @ sizes), TOUCHING)
        limits += WORSE * np.maximum(-earlier, 0.0)
        past = gaps < -limits
        if past.any():
            worst = int(np.argmin(np.where(past, gaps, 0.0)))
            raise ResetError(
                f"{what} leaves {self.titles[worst]} with {self._measures[worst]} of "
                f"{gaps[worst]:.3g}, past zero: let it fall through zero, or change the state so "
                "that it is not past it"
            )
