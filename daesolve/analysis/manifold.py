"""The consistent states around a motion: the directions in which a state may change."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.analysis.state_field import kernel
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.singular_values import singular_values
from daesolve.core.preparation.preparing import Prepared
from daesolve.verification.error_growth import sizes_of_states


class Manifold:
    """The consistent states around a motion, in units of the size of each state.

    Parameters
    ----------
    prepared
        The motion.
    path
        (k, n) states on it, if more are known than those of its preparation.
    """

    def __init__(self, prepared: Prepared, path: np.ndarray | None = None) -> None:
        self.dynamics = prepared.dynamics
        self.sizes = sizes_of(prepared, path)
        start = prepared.start
        self.dimension = self.basis(prepared.start_time, start.state, prepared.values).shape[1]

    @cached_property
    def _jacobian(self) -> ArrayFunction:
        dynamics = self.dynamics
        jacobian = ca.jacobian(ca.vertcat(ca.SX(0, 1), *kept_by_states(dynamics)), dynamics.x)
        return ArrayFunction("tangents", [dynamics.t, dynamics.x, dynamics.p], [jacobian])

    def _rows(self, time: float, state: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the gradients of the constraints, in sizes."""
        return self._jacobian(time, state, p[: len(self.dynamics.values)])[0] * self.sizes

    def basis(self, time: float, state: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return orthonormal directions in which the state may change, (n, dimension)."""
        if not kept_by_states(self.dynamics):
            return np.eye(len(self.sizes))
        return kernel(self._rows(time, state, p))

    def grips(self, time: float, state: np.ndarray, p: np.ndarray) -> tuple[bytes, np.ndarray]:
        """Return which rows hold in this mode, and their singular values in sizes, largest first.

        The row of a contact that is open or slips is zero, and does not hold.
        """
        if not kept_by_states(self.dynamics):
            return b"", np.empty(0)
        rows = self._rows(time, state, p)
        held = np.any(rows != 0.0, axis=1)
        return held.tobytes(), singular_values(rows[held])


def kept_by_states(dynamics: Dynamics) -> list[ca.SX]:
    """Return the functions that have the same value in all consistent states."""
    links = [link for row in dynamics.rows for link in row.chain]
    links += [row.residual for row in dynamics.implicit_rows]
    return links + [row.value for row in dynamics.invariants if row.on == "positions"]


def sizes_of(prepared: Prepared, path: np.ndarray | None = None) -> np.ndarray:
    """Return the size of each state, as far as it is known before the motion, or on a path."""
    labels = prepared.problem.labels
    path = prepared.path[:, : len(labels.states)] if path is None else path
    path = np.vstack([prepared.start.state, path])
    return sizes_of_states(np.max(np.abs(path), axis=0), labels.angles)
