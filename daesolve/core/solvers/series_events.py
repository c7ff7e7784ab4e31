"""Which of a problem's events Taylor's method finds itself, from the series of their guards."""

from __future__ import annotations

import casadi as ca

from daesolve.core.expressions.program import program
from daesolve.core.expressions.series import missing_in_series
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.step_checks import hidden_terms_of


def halts_in_kernel(problem: OdeProblem) -> bool:
    """Return whether the kernel itself can find a problem's events.

    Nothing is done to the state after a step, and no term may hide within one.
    """
    return (
        bool(problem.events)
        and problem.project is None
        and problem.chart is None
        and not missing_in_series(problem.guards)
        # Its poles are zeros of no row, by which they would be seen.
        and ca.OP_TAN not in program(problem.guards).operations
        and hidden_terms_of(problem) is None
    )
