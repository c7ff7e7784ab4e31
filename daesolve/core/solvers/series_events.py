"""What is known of events before a motion: whether series show them, and when time alone does."""

from __future__ import annotations

from collections.abc import Collection

import casadi as ca
import numpy as np

from daesolve.core.expressions.intervals import TimeGuards
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.program import program
from daesolve.core.expressions.series import missing_in_series
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.step_checks import unresolved_terms_of


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
        and unresolved_terms_of(problem) is None
    )


def time_guards(problem: OdeProblem, switches: Collection[str]) -> TimeGuards | None:
    """Return the guards of time alone at which a motion is interrupted; None if there are none.

    A guard that is linear in time passes zero once, which no solver misses; of these, only those
    of switches are here.

    Parameters
    ----------
    problem
        Its guards and events.
    switches
        The names of events that piecewise expressions have brought in.
    """
    return _time_guards(problem, frozenset(switches))


@built_once
def _time_guards(problem: OdeProblem, switches: frozenset[str]) -> TimeGuards | None:
    if not problem.guarded:
        return None
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    values = problem.guards(t, x, p)
    moved, timed = (ca.which_depends(values, symbols, 1, True) for symbols in (x, t))
    scheduled: list[ca.SX] = []
    for place, (event, guard) in enumerate(zip(problem.guarded, ca.vertsplit(values), strict=True)):
        if not event.then.interrupts or moved[place] or not timed[place]:
            continue
        if event.name in switches or ca.depends_on(ca.jacobian(guard, t), t):
            scheduled.append(guard)
    return TimeGuards(t, p, ca.vertcat(*scheduled)) if scheduled else None


def scheduled(guards: TimeGuards | None, time: float, until: float, p: np.ndarray) -> float:
    """Return when the first of some guards passes zero after a time; `until` where none does."""
    return until if guards is None else guards.first_zero(time, until, p)
