"""Constraints on velocities, the multipliers algebraic unknowns of index 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from daesolve.dynamics import Dynamics
from daesolve.elimination import EliminationPlan
from daesolve.formulations.multipliers import FreeMotion
from daesolve.formulations.problem import DaeProblem, Formulation
from daesolve.formulations.rates import measured


@dataclass(frozen=True)
class Index2(Formulation):
    """Every goal differentiated once less than until accelerations appear.

    Velocities fulfil the constraints to the tolerance; errors of position grow.
    """

    name = "index-2"
    makes = "index-2"

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
        last = [list(row.links.items())[-1] for row in dynamics.rows]
        return FreeMotion.of(dynamics, plan, conserved, rates).constrained(
            "index-2",
            [link for _, link in last],
            imposed=[name for name, _ in last],
            multiplier_index=2,
        )
