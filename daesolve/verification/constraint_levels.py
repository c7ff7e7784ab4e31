"""The constraints of a consistent state: of the positions, then of the velocities."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics


def constraint_levels(dynamics: Dynamics) -> Iterator[tuple[ca.SX, np.ndarray]]:
    """Yield residuals and the states that fulfil them: of the positions, then of the velocities."""
    holonomic = [row for row in dynamics.rows if row.kind == "holonomic"]
    slow = [row.chain[0] for row in holonomic] + [row.residual for row in dynamics.implicit_rows]
    fast = [row.chain[1] for row in holonomic]
    fast += [
        row.chain[0] for row in dynamics.rows if row.kind == "nonholonomic" and not row.from_start
    ]
    split = dynamics.position_count
    yield ca.vertcat(ca.SX(0, 1), *slow), np.arange(split)
    yield ca.vertcat(ca.SX(0, 1), *fast), np.arange(split, dynamics.x.numel())
