"""The largest magnitudes of outputs over every accepted step of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.algebra.translation import evaluate_block
from daesolve.formulations import OdeProblem
from daesolve.trajectory.results import Peak, StepBlock


@dataclass(frozen=True)
class Peaks:
    """The values of largest magnitude, and their times; not a number where none was finite."""

    values: np.ndarray
    times: np.ndarray

    def then(self, times: np.ndarray, outputs: np.ndarray) -> Peaks:
        """Take in more steps: their times, (k,), and the outputs at their ends, (k, n)."""
        largest, when = self.values.copy(), self.times.copy()
        sizes = np.where(np.isfinite(outputs), np.abs(outputs), -1.0)
        for place, step in enumerate(sizes.argmax(axis=0)):
            size, known = sizes[step, place], abs(largest[place])
            if size > known or (size >= 0.0 and np.isnan(known)):
                largest[place] = outputs[step, place]
                when[place] = times[step]
        return Peaks(largest, when)

    def saved(self) -> dict[str, Any]:
        """Return all that is known, to go on from in another process."""
        return {"values": self.values, "times": self.times}


def restored_peaks(saved: Mapping[str, Any]) -> Peaks:
    """Return what `Peaks.saved` returned."""
    return Peaks(np.array(saved["values"], dtype=float), np.array(saved["times"], dtype=float))


@dataclass(frozen=True)
class PeakWatch:
    """Looks at some outputs.

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

    def nothing_seen(self) -> Peaks:
        """Return the peaks before the first step."""
        nothing = np.full(len(self.names), np.nan)
        return Peaks(nothing, nothing)

    def outputs(self, block: StepBlock, values: np.ndarray) -> np.ndarray:
        """Return the outputs at the ends of some steps, (k, n).

        Parameters
        ----------
        block
            The steps.
        values
            p, (np,), or for each step, (k, np).
        """
        if not self.names:
            return np.empty((len(block.times), 0))
        found = evaluate_block(self.problem.recover, block.times, block.states, values)[2]
        known = list(self.problem.labels.outputs)
        return found[:, [known.index(name) for name in self.names]]

    def named(self, peaks: Peaks) -> dict[str, Peak]:
        """Return the peaks by output."""
        pairs = zip(self.names, peaks.values.tolist(), peaks.times.tolist(), strict=True)
        return {name: Peak(value, time) for name, value, time in pairs}
