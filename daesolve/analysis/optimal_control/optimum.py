"""What an optimisation gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.analysis.optimal_control.collocation import Mesh
from daesolve.core.results.trajectory.results import Outcome, Verification
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import suggest_names

__all__ = ["Mesh", "Optimum"]


@dataclass(frozen=True, eq=False)
class Optimum:
    """The motion that costs least, and the run that replays it.

    `found["force"]` is a control, a state, an output or a reaction at the samples of the run.

    Parameters
    ----------
    cost
        The objective along the run.
    duration
        s
    run
        The library's own run with these controls, verified and audited. Its samples are the nodes
        of the mesh, and ten points between each two of them.
    controls
        The controls as expressions of time, for use as `inputs`.
    parameters
        The parameters that were found.
    difference
        The largest difference between the run and the collocated motion at the nodes, relative to
        the size of each state.
    repeated
        The largest difference between the run and its repetition by another method, relative to the
        size of each state; None if it was not repeated, NaN if the repetition shows nothing.
    gain
        By how much the cost changed with the last refinement of the mesh, relative to it.
    excesses
        By how much the run misses each end, and exceeds each bound, in its own unit.
    mesh
        The last mesh.
    costs
        The costs of the meshes.
    """

    cost: float
    duration: float
    run: Trajectory
    controls: Mapping[str, ca.SX]
    parameters: Mapping[str, float]
    difference: float
    repeated: float | None
    gain: float
    excesses: Mapping[str, float]
    mesh: Mesh
    costs: tuple[float, ...]

    def __post_init__(self) -> None:
        suggest_names(self, controls="control", parameters="parameter", excesses="bound or end")

    @property
    def digits(self) -> int:
        """The digits on which run, repetition, motion and the costs of the last two meshes agree.

        None if the run contradicts what was posed, or its repetition shows nothing.
        """
        repeated = 0.0 if self.repeated is None else self.repeated
        if self.run.outcome is Outcome.CONTRADICTED or np.isnan(repeated):
            return 0
        worst = max(self.difference, repeated, self.gain, 1e-16)
        return max(int(-np.floor(np.log10(worst))) - 1, 0)

    @property
    def objection(self) -> str:
        """Why the run does not prove the optimum, in a sentence; "" if it does."""
        run = self.run
        if run.outcome is Outcome.CONTRADICTED:
            return f"the run contradicts what was posed: {run.message}"
        if run.verification is None:
            return "the run was not verified"
        if run.verification.unverified:
            return f"the run is {run.verification.unverified}"
        return ""

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the samples of a state, a control, an output or a reaction."""
        return self.run[name]

    def __repr__(self) -> str:
        return f"<Optimum {self}>"

    def __str__(self) -> str:
        told = (
            f"cost {self.cost:.12g} in {self.duration:.6g} s, to {self.digits} digits; the run "
            f"differs by {self.difference:.1e} from {self.mesh.intervals} intervals of collocation"
        )
        return f"{told}; {self.objection}" if self.objection else told


def largest_difference(found: Verification, sizes: Mapping[str, float]) -> float:
    """Return the largest difference from a second run, in sizes; NaN if one is unknown."""
    if found.unverified:
        return math.nan
    return float(np.max([size / sizes[name] for name, size in found.difference.items()]))
