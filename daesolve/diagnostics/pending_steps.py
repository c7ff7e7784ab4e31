"""Steps of a run that what comes after them may yet take back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.diagnostics.peaks import Peaks, restored_peaks
from daesolve.diagnostics.residual_sizes import ResidualSizes


@dataclass(frozen=True)
class UnsettledSteps:
    """Steps, and what was known before them.

    Parameters
    ----------
    times
        (k,) s.
    sizes, outputs
        |residual| and the outputs whose peaks are told, at the end of each: (k, n), (k, m).
    kinetic
        (k,) the largest kinetic energy up to each, J.
    sizes_before, peaks_before
        What the steps before them amount to.
    """

    times: np.ndarray
    sizes: np.ndarray
    outputs: np.ndarray
    kinetic: np.ndarray
    sizes_before: ResidualSizes
    peaks_before: Peaks

    def with_first(self, count: int) -> tuple[ResidualSizes, Peaks]:
        """Return what is known after the first of them."""
        if not count:
            return self.sizes_before, self.peaks_before
        times = self.times[:count]
        return (
            self.sizes_before.then(times, self.sizes[:count], self.kinetic[:count]),
            self.peaks_before.then(times, self.outputs[:count]),
        )

    def after(self, count: int) -> UnsettledSteps:
        """Return those after the first of them."""
        if not count:
            return self
        sizes, peaks = self.with_first(count)
        return UnsettledSteps(
            times=self.times[count:],
            sizes=self.sizes[count:],
            outputs=self.outputs[count:],
            kinetic=self.kinetic[count:],
            sizes_before=sizes,
            peaks_before=peaks,
        )

    def saved(self) -> dict[str, Any]:
        """Return all of it, to go on from in another process."""
        return {
            "times": self.times,
            "sizes": self.sizes,
            "outputs": self.outputs,
            "kinetic": self.kinetic,
            "sizes_before": self.sizes_before.saved(),
            "peaks_before": self.peaks_before.saved(),
        }


def restored_steps(saved: Mapping[str, Any], of_run: ResidualSizes) -> UnsettledSteps:
    """Return what `saved` returned, for the run of some sizes."""
    times, sizes, outputs, kinetic = (
        np.array(saved[name], dtype=float) for name in ("times", "sizes", "outputs", "kinetic")
    )
    return UnsettledSteps(
        times=times,
        sizes=sizes.reshape(len(times), -1),
        outputs=outputs.reshape(len(times), -1),
        kinetic=kinetic,
        sizes_before=of_run.restored(saved["sizes_before"]),
        peaks_before=restored_peaks(saved["peaks_before"]),
    )
