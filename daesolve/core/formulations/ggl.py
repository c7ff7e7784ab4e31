"""Stabilised index 2: constraints on positions and on velocities, with multipliers for both.

C. W. Gear, B. Leimkuhler, G. K. Gupta, Automatic integration of Euler-Lagrange equations with
constraints, J. Comput. Appl. Math. 12-13 (1985) 77-90; here in the metric of the mass matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from daesolve.core.expressions.linear import solve_definite
from daesolve.core.formulations.multipliers import FreeMotion, WithMultipliers
from daesolve.core.formulations.problem import DaeProblem
from daesolve.core.posing.symbols import symbol
from daesolve.errors import UnsupportedError


@dataclass(frozen=True)
class GGL(WithMultipliers):
    """q' = S (v + M^-1 J^T mu): mu, zero in the exact motion, holds the positions.

    A control system with goals of degree two or more is refused, because it has no positions.
    """

    name = "ggl"
    makes = "index-2"

    def _constrained(self, motion: FreeMotion) -> DaeProblem:
        dynamics = motion.dynamics
        held = [row for row in dynamics.rows if row.degree > 1]
        if held and not dynamics.position_count:
            raise UnsupportedError(
                f"ggl stabilises positions, but the goal {held[0].name!r} of a control system "
                "has none; use feedback, index-1, index-2 or index-3"
            )
        stabilisers = [(f"stabiliser_{row.name}", symbol(f"mu_{row.name}")) for row in held]
        push = sum(
            (row.jacobian.T * mu for row, (_, mu) in zip(held, stabilisers, strict=True)),
            ca.SX(dynamics.velocity_count, 1),
        )
        velocities = dynamics.velocities + solve_definite(dynamics.mass, push)
        moving = ca.substitute(dynamics.position_rates, dynamics.velocities, velocities)
        links = [list(row.links.items()) for row in dynamics.rows]
        imposed = [chain[-1] for chain in links] + [chain[-2] for chain in links if len(chain) > 1]
        return motion.constrained(
            self.makes,
            [link for _, link in imposed],
            imposed=[name for name, _ in imposed],
            multiplier_index=2,
            stabilisers=stabilisers,
            position_rates=moving,
        )
