"""The consistent states around a motion: the directions in which a state may change."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.algebra.evaluation import Evaluator
from daesolve.algebra.translation import function_of
from daesolve.analysis.steady_motions import kernel
from daesolve.equations.dynamics import Dynamics
from daesolve.preparation.preparing import Prepared
from daesolve.verification.error_growth import sizes_of_states


class Manifold:
    """The consistent states around a motion, in units of the size of each state."""

    def __init__(self, prepared: Prepared) -> None:
        self.dynamics = prepared.dynamics
        self.sizes = sizes_of(prepared)
        start = prepared.start
        self.dimension = self.basis(prepared.start_time, start.state, prepared.values).shape[1]
        self._ranks: dict[tuple[str, ...], int] = {}

    @cached_property
    def _jacobian(self) -> Evaluator:
        dynamics = self.dynamics
        jacobian = ca.jacobian(ca.vertcat(ca.SX(0, 1), *kept_by_states(dynamics)), dynamics.x)
        arguments = [dynamics.t, dynamics.x, dynamics.p]
        return Evaluator(
            function_of("tangents", arguments, [jacobian.T], (["t", "x", "p"], ["jacobian"]))
        )

    def basis(self, time: float, state: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return orthonormal directions in which the state may change, (n, dimension)."""
        if not kept_by_states(self.dynamics):
            return np.eye(len(self.sizes))
        flat = self._jacobian(time, state, p[: len(self.dynamics.values)])[0]
        return kernel(flat.reshape(-1, len(self.sizes)) * self.sizes)

    def independence(self, time: float, state: np.ndarray, p: np.ndarray) -> float:
        """Return the smallest singular value of the kept rows, in sizes; infinity without rows.

        Rows that are redundant wherever this mode was seen first, such as those of dependent
        goals, do not count; nor do those of goals that are released, such as open contacts.
        """
        if not kept_by_states(self.dynamics):
            return float("inf")
        flat = self._jacobian(time, state, p[: len(self.dynamics.values)])[0]
        values = np.linalg.svd(flat.reshape(-1, len(self.sizes)) * self.sizes, compute_uv=False)
        mode = self.mode(p)
        if mode not in self._ranks:
            self._ranks[mode] = len(self.sizes) - self.basis(time, state, p).shape[1]
        rank = self._ranks[mode]
        return float(values[rank - 1]) if rank else float("inf")

    def mode(self, p: np.ndarray) -> tuple[str, ...]:
        """Return the names of the goals that p holds."""
        held = self.dynamics.in_mode(p[: len(self.dynamics.values)])
        return tuple(row.name for row in held.rows)


def kept_by_states(dynamics: Dynamics) -> list[ca.SX]:
    """Return the functions that have the same value in all consistent states."""
    links = [link for row in dynamics.rows for link in row.chain]
    links += [row.residual for row in dynamics.implicit_rows]
    return links + [row.value for row in dynamics.invariants if row.on == "positions"]


def sizes_of(prepared: Prepared) -> np.ndarray:
    """Return the size of each state, as far as it is known before the motion."""
    labels = prepared.problem.labels
    path = np.vstack([prepared.start.state, prepared.path[:, : len(labels.states)]])
    return sizes_of_states(np.max(np.abs(path), axis=0), labels.angles)
