"""The largest magnitudes of outputs over every accepted step of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.formulations import OdeProblem
from daesolve.results import Peak, StepBlock
from daesolve.translation import evaluate_block


@dataclass
class PeakWatch:
    """Keeps the largest magnitude of some outputs, and its time.

    Steps at which an output is no finite number are left out. Where it never is one, neither is its
    peak.

    Parameters
    ----------
    problem
        What is integrated.
    names
        The outputs.
    """

    problem: OdeProblem
    names: Sequence[str]

    def __post_init__(self) -> None:
        outputs = list(self.problem.labels.outputs)
        self._columns = [outputs.index(name) for name in self.names]
        self._values = np.full(len(self.names), np.nan)
        self._times = np.full(len(self.names), np.nan)

    def observe(self, block: StepBlock, values: np.ndarray) -> None:
        """Take in some steps.

        Parameters
        ----------
        block
            The steps.
        values
            p, (np,), or for each step, (k, np).
        """
        found = evaluate_block(self.problem.recover, block.times, block.states, values)[2]
        table = found[:, self._columns]
        sizes = np.where(np.isfinite(table), np.abs(table), -1.0)
        for place, step in enumerate(sizes.argmax(axis=0)):
            size, known = sizes[step, place], abs(self._values[place])
            if size > known or (size >= 0.0 and np.isnan(known)):
                self._values[place] = table[step, place]
                self._times[place] = block.times[step]

    def peaks(self) -> dict[str, Peak]:
        """Return what was found, by output."""
        pairs = zip(self.names, self._values.tolist(), self._times.tolist(), strict=True)
        return {name: Peak(value, time) for name, value, time in pairs}

    def saved(self) -> dict[str, Any]:
        """Return all that is known, to go on from in another process."""
        return {"values": self._values, "times": self._times}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `saved` returned."""
        self._values = np.array(saved["values"], dtype=float)
        self._times = np.array(saved["times"], dtype=float)
