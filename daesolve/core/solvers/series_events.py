"""Which of a problem's events Taylor's method finds itself, from the series of their guards."""

from __future__ import annotations

import casadi as ca

from daesolve.core.expressions.program import program
from daesolve.core.expressions.series import is_entire, missing_in_series
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.events import Direction
from daesolve.core.solvers.hidden_terms import hidden_terms
from daesolve.core.solvers.step_checks import hidden_terms_of


def finds_events(problem: OdeProblem) -> bool:
    """Return whether heyoka can find a problem's events, some of which reset."""
    interrupting = [event for event in problem.guarded if event.then.interrupts]
    return (
        any(event.then.reset is not None for event in problem.guarded)
        # The zero at which a motion has just been reset would be found again.
        and all(event.direction is not Direction.EITHER for event in interrupting)
        and is_entire(problem.guards)
        and _guards_have_series(problem)
    )


def halts_in_kernel(problem: OdeProblem) -> bool:
    """Return whether the kernel itself can find a problem's events.

    Nothing is done to the state after a step, and no term may hide within one.
    """
    return (
        bool(problem.events)
        and problem.project is None
        and problem.chart is None
        and _guards_have_series(problem)
        # Its poles are zeros of no row, by which they would be seen.
        and ca.OP_TAN not in program(problem.guards).operations
        and hidden_terms_of(problem) is None
    )


def _guards_have_series(problem: OdeProblem) -> bool:
    """Return whether guards have series from which nothing may hide within a step."""
    return (
        not missing_in_series(problem.guards)
        and hidden_terms(problem.guards, branches=False) is None
    )
