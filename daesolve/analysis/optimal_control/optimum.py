"""What an optimisation gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.analysis.optimal_control.transcription import Mesh
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
    gain: float
    excesses: Mapping[str, float]
    mesh: Mesh
    costs: tuple[float, ...]

    def __post_init__(self) -> None:
        suggest_names(self, controls="control", parameters="parameter", excesses="bound or end")

    @property
    def digits(self) -> int:
        """The digits of the cost on which the run, the motion and the last two meshes agree."""
        worst = max(self.difference, self.gain, 1e-16)
        return int(-np.floor(np.log10(worst))) - 1

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the samples of a state, a control, an output or a reaction."""
        return self.run[name]

    def __repr__(self) -> str:
        return f"<Optimum {self}>"

    def __str__(self) -> str:
        return (
            f"cost {self.cost:.12g} in {self.duration:.6g} s, to {self.digits} digits; the run "
            f"differs by {self.difference:.1e} from {self.mesh.intervals} intervals of collocation"
        )
