"""Refuses jumps after which bodies overlap, or lie beyond a barrier.

A gap that falls through zero closes with an impact. One that jumps past zero does not fall through
it: no impact brings the bodies apart, and they would pass through each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca
import numpy as np

from daesolve.core.equations.additions import TOUCHING
from daesolve.core.equations.dynamics import Dynamics, GoalRow, ResetRow
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.errors import ResetError

ROUNDED = 16.0 * float(np.finfo(float).eps)
"""The fraction of its terms by which a gap may be negative: what counts as closed."""
BEYOND = 1e-9
"""The fraction of its terms by which a guard may be beyond a barrier, as at a start."""
LEAST = 1e-3
"""Each state counts as at least this fraction of the largest."""
WORSE = 10.0
"""A gap may become this many times as negative as it was before."""

Place = tuple[float, np.ndarray, np.ndarray]
"""Time in s, state, values."""


class Overlaps:
    """The gaps that resets change: of open unilateral goals, and of barriers with a constraint.

    Parameters
    ----------
    dynamics
        The equations.
    gaps
        What must not become negative: its title, and its expression.
    unilateral
        How many of them, the first, are those of unilateral goals.
    """

    def __init__(
        self, dynamics: Dynamics, gaps: Sequence[tuple[str, ca.SX]], unilateral: int
    ) -> None:
        self.titles = [title for title, _ in gaps]
        self._measures = ["a gap"] * unilateral + ["a distance"] * (len(gaps) - unilateral)
        column, x = ca.vertcat(*[gap for _, gap in gaps]), dynamics.x
        places = [dynamics.t, x, dynamics.p]
        self._gaps = ArrayFunction("gaps", places, [column, ca.jacobian(column, x)])
        self._rounded = np.repeat([ROUNDED, BEYOND], [unilateral, len(gaps) - unilateral])

    @classmethod
    def of(cls, dynamics: Dynamics, events: Sequence[int]) -> Overlaps | None:
        """Return the gaps that the resets of some events change; None if there are none."""
        resets = [dynamics.resets[index] for index in events]
        states = [index for reset in resets for index in reset.states]
        return cls.changed_by(dynamics, states, [n for reset in resets for n in reset.values])

    @classmethod
    def changed_by(
        cls, dynamics: Dynamics, states: Iterable[int], values: Iterable[str]
    ) -> Overlaps | None:
        """Return the gaps that depend on some states, by index, or values; None if none does."""
        names = list(dynamics.values)
        changed = [dynamics.x[index] for index in states]
        changed += [dynamics.p[names.index(name)] for name in values]
        column = ca.vertcat(ca.SX(0, 1), *changed)

        def changing(gaps: list[tuple[str, ca.SX]]) -> list[tuple[str, ca.SX]]:
            return [(title, gap) for title, gap in gaps if ca.depends_on(gap, column)]

        unilateral = changing(
            [(row.title, ca.SX(dynamics.events[row.closed].guards)) for row in dynamics.unilateral]
        )
        linked = _linked(dynamics)
        barriers = changing(
            [
                (f"the barrier of the event {event.name!r}", -way * guard)
                for index, reset in dynamics.resets.items()
                if reset.momentary and (way := (event := dynamics.events[index]).direction.value)
                for guard in ca.vertsplit(ca.SX(event.guards))
                if _bars(dynamics, reset, guard, linked)
            ]
        )
        return (
            cls(dynamics, [*unilateral, *barriers], len(unilateral))
            if unilateral or barriers
            else None
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
            The message names the goal or the barrier.
        """
        gaps, slopes = self._gaps(*after)
        if not np.any(gaps < 0.0):
            return
        sizes = np.maximum(np.abs(before[1]), np.abs(after[1]))
        sizes = np.maximum(sizes, LEAST * np.max(sizes, initial=0.0))
        gaps, earlier = gaps.ravel(), self._gaps(*before)[0].ravel()
        limits = np.fmax(self._rounded * (np.abs(slopes) @ sizes), TOUCHING)
        limits += WORSE * np.maximum(-earlier, 0.0)
        past = gaps < -limits
        if past.any():
            worst = int(np.argmin(np.where(past, gaps, 0.0)))
            raise ResetError(
                f"{what} leaves {self.titles[worst]} with {self._measures[worst]} of "
                f"{gaps[worst]:.3g}, past zero: let it fall through zero, or change the state so "
                "that it is not past it"
            )


def _bars(dynamics: Dynamics, reset: ResetRow, guard: ca.SX, linked: np.ndarray) -> bool:
    """Return whether constraints of an instant may bar what moves a guard, but nothing else.

    A guard of time or of discrete values alone is no barrier, nor is one of other bodies.
    """
    count = dynamics.position_count
    by_position = ca.jacobian(guard, dynamics.x[:count])
    moving = by_position @ dynamics.position_rates + guard  # which may depend on velocities itself
    moved = np.array(ca.which_depends(moving, dynamics.velocities, 1, False), dtype=bool)
    barred = np.array([_columns(row) for row in reset.momentary]).any(axis=0)
    return bool((moved @ linked @ barred) > 0)


def _linked(dynamics: Dynamics) -> np.ndarray:
    """Return which velocities constraints link, however far, (nv, nv)."""
    linked = np.eye(dynamics.velocities.numel(), dtype=int)
    for row in dynamics.rows:
        columns = _columns(row)
        linked |= np.outer(columns, columns).astype(int)
    while np.count_nonzero(farther := (linked @ linked > 0).astype(int)) > np.count_nonzero(linked):
        linked = farther
    return linked


def _columns(row: GoalRow) -> np.ndarray:
    """Return which velocities a constraint involves, (nv,)."""
    return np.array(ca.DM(row.jacobian.sparsity(), 1.0)).ravel() != 0.0
