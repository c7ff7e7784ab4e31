"""The accepted steps of a run: the ends of all, and the states at the first ones.

Where a motion begins it is examined closely.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from daesolve.core.results.trajectory.results import StepBlock

MOST_STEPS = 3200
"""Accepted steps whose states are kept."""
MOST_ENDS = 1_000_000
"""Accepted steps whose ends are kept."""


@dataclass(eq=False)
class FirstSteps:
    """The ends of accepted steps, and the states at the first ones.

    `ends` are the times, block by block, of which `count` states and `total` times are known.
    """

    blocks: list[StepBlock] = field(default_factory=list[StepBlock])
    ends: list[np.ndarray] = field(default_factory=list[np.ndarray])
    count: int = 0
    total: int = 0

    @property
    def full(self) -> bool:
        """Whether it takes no more."""
        return self.count >= MOST_STEPS

    def take(self, block: StepBlock) -> None:
        """Keep the steps of a block as far as there is room."""
        if self.total < MOST_ENDS:
            self.ends.append(block.times.copy())
            self.total += len(block.times)
        room = MOST_STEPS - self.count
        if room <= 0:
            return
        self.blocks.append(StepBlock(block.times[:room].copy(), block.states[:room].copy()))
        self.count += len(self.blocks[-1].times)

    @property
    def times(self) -> np.ndarray:
        """(k,) s, in the order of the integration."""
        return np.concatenate([np.empty(0), *(block.times for block in self.blocks)])

    @property
    def states(self) -> np.ndarray:
        """(k, nx)."""
        return np.vstack([block.states for block in self.blocks])
