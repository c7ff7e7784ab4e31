"""The same run, prepared again with different choices.

It does not share the assumptions of the first run: it uses another method with capped steps, lets
angles grow, drives only invariants that are proved to be conserved, keeps piecewise expressions as
posed unless velocities jump at their kinks, and keeps all redundant rows.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.formulations import Feedback
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.choosing import check_pair, stiffness
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.preparation.request import Request
from daesolve.core.solvers import Cvodes, Dop853, RadauIIA, Solver, Taylor
from daesolve.errors import UnsupportedError
from daesolve.verification.capped_steps import CappedDop853

LEAST_STEPS = 1000
"""The least number of steps of the repetition in the whole run."""
LEAST_SEGMENTS = 200
"""For a method whose steps have no cap of their own: they end where segments do."""
TIGHTER = 1e-3
"""The tolerance of another method, as a fraction of the run's own, as far as rounding permits."""
TIGHTEST = 1e-14
STIFFLY = 0.1
"""The same for stiff equations, where accuracy is dear."""
MULTISTEP = 1e-12


def prepare_differently(prepared: Prepared, asked: Solver | None = None) -> Prepared:
    """Return the same run with other choices.

    Parameters
    ----------
    prepared
        What was run.
    asked
        The method of the repetition; None takes another method than the run's.

    Raises
    ------
    UnsupportedError
        The requested solver cannot integrate this run.
    """
    if asked is not None:
        check_pair(prepared.formulation, asked)
    solver = asked or other_method(prepared)
    request = _other_request(prepared, solver)
    if prepared.dynamics.switches and not _kinks_in_constraints(prepared.dynamics):
        kinked = replace(prepared.system, switches=False)
        try:
            return _same_start(prepared, prepare(kinked, request))
        except UnsupportedError:
            # The method has no answer to kinks.
            pass
    return _same_start(prepared, prepare(prepared.system, request))


def _kinks_in_constraints(dynamics: Dynamics) -> bool:
    """Return whether velocities may jump at a switch, which they cannot where nothing switches."""
    names = list(dynamics.values)
    switched = {
        name
        for index, reset in dynamics.resets.items()
        if dynamics.events[index].name in dynamics.switches
        for name in reset.values
    }
    links = ca.vertcat(ca.SX(0, 1), *[link for row in dynamics.rows for link in row.chain])
    kinked = ca.which_depends(links, dynamics.p, 1, False)
    return any(kinked[names.index(name)] for name in switched)


def other_method(prepared: Prepared) -> Solver:
    """Return a method of another kind than that of a run."""
    own, span = prepared.solver, abs(prepared.until - prepared.start_time)
    if _is_stiff(prepared):
        stages = 3 if isinstance(own, RadauIIA) and own.stages == 5 else 5
        tolerance = max(STIFFLY * own.step_tolerance, TIGHTEST)
        return RadauIIA(rtol=tolerance, atol=STIFFLY * tolerance, stages=stages)
    if not isinstance(own, Dop853 | CappedDop853):
        tolerance = max(TIGHTER * own.step_tolerance, TIGHTEST)
        longest = min(span / LEAST_STEPS, prepared.mean_step)
        return CappedDop853(rtol=tolerance, atol=tolerance, longest_step=longest)
    if Taylor().refusal(prepared.problem) is None:
        return Taylor()
    return Cvodes(rtol=MULTISTEP, atol=MULTISTEP)


def _is_stiff(prepared: Prepared) -> bool:
    """Return whether an explicit method would take too many steps."""
    if prepared.problem.stiff:
        return True
    fastest = max((abs(rate) for rate in prepared.rates.values() if rate), default=0.0)
    dynamics = prepared.dynamics
    stiff = stiffness(
        prepared.problem,
        prepared.values,
        (prepared.start_time, prepared.initial),
        prepared.until,
        fastest,
        (dynamics.position_count, dynamics.velocity_count),
    )
    return stiff is not None and stiff.recognised


def _other_request(prepared: Prepared, solver: Solver) -> Request:
    formulation = prepared.formulation
    if formulation.form not in solver.forms:
        formulation = Feedback()
    request = prepared.request
    return replace(
        request,
        formulation=formulation,
        solver=solver,
        rtol=None,  # of an automatic choice
        atol=None,
        redundant="minimum-norm" if request.redundant == "drop" else request.redundant,
        max_evaluations=None,
        until=prepared.until,
    )


def _same_start(prepared: Prepared, anew: Prepared) -> Prepared:
    """Return a run prepared again that begins in the same state, and wraps no angle."""
    span = abs(prepared.until - prepared.start_time)
    capped = isinstance(anew.solver, CappedDop853)
    segment = anew.segment if capped else min(anew.segment, span / LEAST_SEGMENTS)
    start = replace(anew.start, state=prepared.start.state)
    values = anew.values.copy()
    for invariant in anew.assumed:
        values[ValueKind.RATE.place(invariant, anew.problem.values)] = 0.0
    return replace(anew, start=start, values=values, assumed={}, wrapped=(), segment=segment)
