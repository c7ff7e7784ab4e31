"""A run repeated in another way.

A driven residual is small at almost any accuracy; only another run shows how far the trajectory
itself can be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from daesolve.errors import UnsupportedError
from daesolve.integration.sample_times import At
from daesolve.integration.simulation import simulate
from daesolve.preparation.choosing import check_pair
from daesolve.preparation.preparing import Prepared
from daesolve.solvers import Dop853, Solver
from daesolve.trajectory.results import Outcome, Verification
from daesolve.trajectory.trajectory import Trajectory
from daesolve.verification.agreement import Difference, difference
from daesolve.verification.shadow import lyapunov_time

ANOTHER_METHOD = Dop853(rtol=1e-13, atol=1e-13)


def verify(
    prepared: Prepared, run: Trajectory, at: At = None, solver: Solver | None = None
) -> Verification:
    """Repeat a run with a tightened tolerance (or another solver) and compare the samples.

    Parameters
    ----------
    prepared
        What was run.
    run
        Its trajectory.
    at
        The sample times of the run.
    solver
        What to repeat it with; None tightens the run's own. Where that gives the same in every
        digit (series that end, along straight flights) that proves nothing, and another method
        repeats the run.

    Raises
    ------
    UnsupportedError
        The other solver cannot take what was run.
    """
    other = verifier(prepared, solver).configured(prepared.problem, float(run.statistics.steps))
    other.compile(prepared.problem)
    repeated = simulate(replace(prepared, solver=other), at)
    against = ", ".join(
        [other.name, *(f"{name} {value:.3g}" for name, value in other.tolerances().items())]
    )
    if repeated.outcome is not run.outcome:
        against += (
            f", up to t = {repeated.end_time:.10g} s where it ended {repeated.outcome.value}"
            + (f": {repeated.message}" if repeated.message else "")
        )
    found = difference(run, repeated, run.units)
    if found is not None and found.resets is not None:
        against += f", {found.resets}"
        if found.omitted:
            against += f" ({found.omitted} samples between these times are left out)"
    differences = _differences(run, repeated, found)
    if solver is None and not any(differences.values()) and _takes(prepared, ANOTHER_METHOD):
        return verify(prepared, run, at, ANOTHER_METHOD)
    interrupted = repeated.outcome is Outcome.INTERRUPTED
    growth = math.nan if interrupted else lyapunov_time(prepared)
    return Verification(against, differences, growth, interrupted)


def _takes(prepared: Prepared, solver: Solver) -> bool:
    """Return whether a solver can take what was run."""
    return prepared.formulation.form in solver.forms and solver.refusal(prepared.problem) is None


def _differences(
    run: Trajectory, repeated: Trajectory, found: Difference | None
) -> Mapping[str, float]:
    """Return how far the states differ over the samples, without any at the end.

    They are not a number where the repetition ended otherwise: what it did not reach is unknown.
    """
    if repeated.outcome is not run.outcome:
        return dict.fromkeys(run.states, math.nan)
    if found is not None:
        return found.by_state
    return {name: abs(value - repeated.end_state[name]) for name, value in run.end_state.items()}


def verifier(prepared: Prepared, asked: Solver | None = None) -> Solver:
    """Return the solver that repeats a run: the one asked for, else the run's own, tightened.

    Raises
    ------
    UnsupportedError
        The one asked for cannot take what was run.
    """
    if asked is None:
        return prepared.solver.refined()
    check_pair(prepared.formulation, asked)
    refusal = asked.refusal(prepared.problem)
    if refusal is not None:
        raise UnsupportedError(refusal)
    return asked
