"""Constraints as posed; the multipliers are algebraic unknowns of index 3."""

from __future__ import annotations

from dataclasses import dataclass

from daesolve.core.formulations.multipliers import FreeMotion, WithMultipliers
from daesolve.core.formulations.problem import DaeProblem
from daesolve.errors import UnsupportedError


@dataclass(frozen=True)
class Index3(WithMultipliers):
    """Every goal is differentiated twice less than needed for accelerations, where possible.

    Holonomic goals are used as posed, and so are non-holonomic ones, whose multipliers have index
    2. Systems whose controls push every state are refused, because the error of a step cannot be
    judged.
    """

    name = "index-3"
    makes = "index-3"

    def _constrained(self, motion: FreeMotion) -> DaeProblem:
        rows = motion.dynamics.rows
        taken = [list(row.links.items())[-2:][0] for row in rows]
        index = max((min(row.degree, 2) for row in rows), default=0) + 1
        problem = motion.constrained(
            self.makes,
            [link for _, link in taken],
            imposed=[name for name, _ in taken],
            velocity_index=max(index - 1, 1),
            multiplier_index=index,
        )
        if min(problem.indices[: problem.size]) > 1:
            raise UnsupportedError(
                "index-3 estimates the error of a step from states that no control acts on, "
                "but here controls act on all; use index-2"
            )
        return problem
