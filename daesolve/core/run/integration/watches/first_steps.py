"""Accepted steps that a run keeps: the first ones, and the ends of all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.watches.watch import Watch

FIRST_STEPS = 3200
"""Accepted steps whose states are kept from the start on: there a motion is examined closely."""
MOST_ENDS = 1_000_000
"""Accepted steps whose ends are kept."""


@dataclass(eq=False)
class FirstSteps(Watch):
    """The ends of accepted steps, and the states at the first ones.

    `ends` are the times, block by block, of which `count` states and `total` times are known.
    """

    blocks: list[StepBlock] = field(default_factory=list[StepBlock])
    ends: list[np.ndarray] = field(default_factory=list[np.ndarray])
    count: int = 0
    total: int = 0

    @classmethod
    def of(cls, prepared: Prepared) -> Self:
        """Keep those of any run."""
        return cls()

    def take(self, block: StepBlock, p: np.ndarray) -> None:
        """Keep the steps of a block as far as there is room."""
        if self.total < MOST_ENDS:
            self.ends.append(block.times.copy())
            self.total += len(block.times)
        room = FIRST_STEPS - self.count
        if room <= 0:
            return
        self.blocks.append(StepBlock(block.times[:room].copy(), block.states[:room].copy()))
        self.count += len(self.blocks[-1].times)

    def clear(self) -> None:
        """Begin anew."""
        self.blocks, self.ends, self.count, self.total = [], [], 0, 0

    @property
    def times(self) -> np.ndarray:
        """(k,) s, in the order of the integration."""
        return np.concatenate([np.empty(0), *(block.times for block in self.blocks)])

    @property
    def states(self) -> np.ndarray:
        """(k, nx)."""
        return np.vstack([block.states for block in self.blocks])
