"""Constraints on velocities; the multipliers are algebraic unknowns of index 2."""

from __future__ import annotations

from dataclasses import dataclass

from daesolve.core.formulations.multipliers import FreeMotion, WithMultipliers
from daesolve.core.formulations.problem import DaeProblem


@dataclass(frozen=True)
class Index2(WithMultipliers):
    """Every goal is differentiated once less than needed for accelerations to appear.

    Velocities fulfil the constraints to the tolerance; errors of position grow.
    """

    name = "index-2"
    makes = "index-2"

    def _constrained(self, motion: FreeMotion) -> DaeProblem:
        last = [list(row.links.items())[-1] for row in motion.dynamics.rows]
        return motion.constrained(
            self.makes,
            [link for _, link in last],
            imposed=[name for name, _ in last],
            multiplier_index=2,
        )
