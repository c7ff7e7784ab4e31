"""Accepted steps of a run that are held against what was posed: an even choice, and the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daesolve.core.results.trajectory.results import StepBlock

MOST_STEPS = 512
"""Accepted steps of an even choice; every second one is dropped where there are more."""
Row = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Of k steps the times (k,), states (k, nx), and p: (np,) for all or (k, np)."""


@dataclass(eq=False)
class KeptSteps:
    """Every so many of the accepted steps, and always the last.

    Parameters
    ----------
    rows
        Those that are kept, block by block.
    last
        The last step.
    every, seen, count
        One of how many is kept; how many there were, and how many are kept.
    """

    rows: list[Row] = field(default_factory=list[Row])
    last: Row | None = None
    every: int = 1
    seen: int = 0
    count: int = 0

    def take(self, block: StepBlock, table: np.ndarray) -> None:
        """Keep some steps of a block.

        Parameters
        ----------
        block
            The steps, at least one.
        table
            p of all of them, (np,), or of each, (k, np).
        """
        chosen = slice(-self.seen % self.every, None, self.every)
        self.seen += len(block.times)
        self.last = _rows_of(block, table, slice(-1, None))
        row = _rows_of(block, table, chosen)
        if len(row[0]):
            self.rows.append(row)
            self.count += len(row[0])
        while self.count > MOST_STEPS:
            self._thin()

    def _thin(self) -> None:
        times, states, table = _joined(self.rows)
        self.rows = [(times[::2], states[::2], table[::2])]
        self.every *= 2
        self.count = len(self.rows[0][0])

    def handed_over(self) -> Row | None:
        """Return the times, states and p of the steps that are kept, and go on from the last.

        None if there are none.
        """
        if self.last is None:
            return None
        rows = [*self.rows]
        if not rows or rows[-1][0][-1] != self.last[0][0]:
            rows.append(self.last)
        self.rows, self.every, self.seen, self.count = [self.last], 1, 0, 1
        return _joined(rows)

    def saved(self) -> list[np.ndarray] | None:
        """Return the last step, so that another process can go on from it."""
        return None if self.last is None else [np.array(part) for part in self.last]

    def restore(self, saved: Sequence[Sequence[Any]] | None) -> None:
        """Go on from what `saved` returned."""
        if saved is not None:
            times, states, table = (np.array(part, dtype=float) for part in saved)
            self.take(StepBlock(times, states), table)


def _rows_of(block: StepBlock, table: np.ndarray, chosen: slice) -> Row:
    values = table if table.ndim == 1 else table[chosen].copy()
    return block.times[chosen].copy(), block.states[chosen].copy(), values


def _joined(rows: list[Row]) -> Row:
    """Return rows as one, with p of each step."""
    tables = [np.broadcast_to(p, (len(times), p.shape[-1])) for times, _, p in rows]
    return (
        np.concatenate([times for times, _, _ in rows]),
        np.concatenate([states for _, states, _ in rows]),
        np.concatenate(tables),
    )
