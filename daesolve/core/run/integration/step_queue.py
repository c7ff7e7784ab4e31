"""Steps that wait until the monitor looks at many together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.watches.monitor import Monitor


@dataclass
class StepQueue:
    """Steps that the monitor has not seen yet, each block with the index of its values."""

    blocks: list[tuple[StepBlock, int]] = field(default_factory=list[tuple[StepBlock, int]])
    count: int = 0

    def put(self, blocks: Iterable[StepBlock], mode: int) -> None:
        """Add steps in which the same values are in force."""
        for block in blocks:
            self.blocks.append((block, mode))
            self.count += len(block.times)

    def show(self, monitor: Monitor, values: Sequence[np.ndarray]) -> None:
        """Pass all of them to the monitor."""
        if not self.blocks:
            return
        blocks = [block for block, _ in self.blocks]
        counts = [len(block.times) for block in blocks]
        modes = np.repeat([mode for _, mode in self.blocks], counts)
        joined = StepBlock(
            np.concatenate([block.times for block in blocks]),
            np.concatenate([block.states for block in blocks]),
        )
        self.blocks.clear()
        self.count = 0
        monitor.observe(joined, modes, values)
