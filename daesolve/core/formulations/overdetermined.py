"""Index 1 with all hidden constraints: more equations than unknowns.

C. Fuehrer, B. Leimkuhler, Numerical solution of differential-algebraic equations for constrained
mechanical motion, Numer. Math. 59 (1991) 55-69.
"""

from __future__ import annotations

from dataclasses import dataclass

from daesolve.core.formulations.multipliers import FreeMotion, WithMultipliers
from daesolve.core.formulations.problem import DaeProblem


@dataclass(frozen=True)
class Overdetermined(WithMultipliers):
    """Constraints on positions, velocities and accelerations, all at once."""

    name = "overdetermined"
    makes = "overdetermined"
    releases = False  # ODASSL's matrix is singular where surplus constraints are released.

    def _constrained(self, motion: FreeMotion) -> DaeProblem:
        links = {name: link for row in motion.dynamics.rows for name, link in row.links.items()}
        return motion.constrained(
            self.makes,
            motion.on_accelerations(),
            imposed=links,
            surplus=[*links.values()],
        )
