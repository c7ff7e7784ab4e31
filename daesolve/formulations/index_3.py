"""Constraints as they are posed, the multipliers algebraic unknowns of index 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from daesolve.dynamics import Dynamics
from daesolve.elimination import EliminationPlan
from daesolve.errors import UnsupportedError
from daesolve.formulations.multipliers import FreeMotion
from daesolve.formulations.problem import DaeProblem, Formulation
from daesolve.formulations.rates import measured


@dataclass(frozen=True)
class Index3(Formulation):
    """Every goal differentiated twice less than until accelerations appear, if that often at all.

    Holonomic goals stand as they are, non-holonomic ones too (whose multipliers have index 2).
    """

    name = "index-3"
    makes = "index-3"

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
        """Build the functions; see `Formulation.problem`.

        Raises
        ------
        UnsupportedError
            The controls push every state, so that no error of a step can be judged.
        """
        taken = [list(row.links.items())[-2:][0] for row in dynamics.rows]
        index = max((min(row.degree, 2) for row in dynamics.rows), default=0) + 1
        problem = FreeMotion.of(dynamics, plan, conserved, rates).constrained(
            "index-3",
            [link for _, link in taken],
            imposed=[name for name, _ in taken],
            velocity_index=max(index - 1, 1),
            multiplier_index=index,
        )
        if min(problem.indices[: problem.size]) > 1:
            raise UnsupportedError(
                "index-3 judges the error of a step by states that no control pushes, and here "
                "all are pushed; take index-2"
            )
        return problem
