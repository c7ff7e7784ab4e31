"""Constraints as they are posed, the multipliers algebraic unknowns of index 3."""

from __future__ import annotations

from dataclasses import dataclass

from daesolve.errors import UnsupportedError
from daesolve.formulations.multipliers import FreeMotion, WithMultipliers
from daesolve.formulations.problem import DaeProblem


@dataclass(frozen=True)
class Index3(WithMultipliers):
    """Every goal differentiated twice less than until accelerations appear, if that often at all.

    Holonomic goals stand as they are, non-holonomic ones too (whose multipliers have index 2).
    Refused where the controls push every state, so that no error of a step can be judged.
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
