"""Index 1 with every hidden constraint besides: more equations than unknowns.

C. Fuehrer, B. Leimkuhler, Numerical solution of differential-algebraic equations for constrained
mechanical motion, Numer. Math. 59 (1991) 55-69.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from daesolve.dynamics import Dynamics
from daesolve.elimination import EliminationPlan
from daesolve.formulations.feedback import target
from daesolve.formulations.multipliers import FreeMotion
from daesolve.formulations.problem import DaeProblem, Formulation
from daesolve.formulations.rates import measured


@dataclass(frozen=True)
class Overdetermined(Formulation):
    """Constraints on positions, velocities and accelerations, all at once."""

    name = "overdetermined"
    makes = "overdetermined"

    def chosen_rates(self, dynamics: Dynamics, default: float) -> dict[str, float | None]:
        """Drive nothing: the solver imposes the constraints."""
        return measured(dynamics, default)

    def problem(
        self,
        dynamics: Dynamics,
        plan: EliminationPlan,
        conserved: Mapping[str, bool],
        rates: Mapping[str, float | None],
    ) -> DaeProblem:
        """Build the functions; see `Formulation.problem`."""
        motion = FreeMotion.of(dynamics, plan, conserved, rates)
        links = {name: link for row in dynamics.rows for name, link in row.links.items()}
        return motion.constrained(
            "overdetermined",
            [row.jacobian @ motion.accelerations - target(row) for row in dynamics.rows],
            imposed=links,
            surplus=[*links.values()],
        )
