"""`solve`: prepare, simulate, verify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Never

from daesolve.contact.laws import Law, OnAmbiguous, OnGain, OnJam
from daesolve.errors import VARIANT_ERRORS, DegenerateConstraintError, OutOfRangeError
from daesolve.formulations import Formulation
from daesolve.friction.sliding import VariantPolicy
from daesolve.integration.run_options import At, RunOptions, check_options, requested
from daesolve.integration.simulation import Progress, simulate
from daesolve.preparation.lately import prepare_once
from daesolve.preparation.naming import solver_of
from daesolve.preparation.preparing import Prepared
from daesolve.preparation.request import DEFAULT_RATE, RankLoss, Redundant, Request
from daesolve.solvers import Solver
from daesolve.solving.progress import showing
from daesolve.solving.stored_runs import Destination, begin
from daesolve.storage import located, refuse_full
from daesolve.system.driving import described
from daesolve.system.system import System
from daesolve.trajectory.results import Outcome
from daesolve.trajectory.trajectory import Trajectory, remembered
from daesolve.verification.second_run import By, check_verifier
from daesolve.verification.second_run import verify as verify_run


class SolveOptions(RunOptions, total=False):
    """What `solve` takes besides `until` and `initial`; see there for the last three."""

    verify: bool | Solver | str
    progress: Progress | bool | None
    store: Path | str | Destination | None


# Long: an option of a run is a parameter.
def solve(
    system: System,
    until: float,
    initial: Mapping[str, float] | None = None,
    *,
    start_time: float | None = 0.0,
    guess: Mapping[str, float] | None = None,
    parameters: Mapping[str, object] | None = None,
    inputs: Mapping[str, Any] | None = None,
    formulation: Formulation | str | None = None,
    solver: Solver | str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    at: At = None,
    default_rate: float | None = DEFAULT_RATE,
    scales: Mapping[str, float] | None = None,
    redundant: Redundant | None = "error",
    redundant_weights: Mapping[str, float] | None = None,
    rank_loss: RankLoss | None = "stop",
    max_evaluations: int | None = None,
    variant_policy: VariantPolicy | None = "continuity",
    impact: Law | None = "newton",
    impact_order: Sequence[str] | None = None,
    on_gain: OnGain | None = "refuse",
    on_jam: OnJam | None = "end",
    on_ambiguous: OnAmbiguous | None = "refuse",
    verify: bool | Solver | str = False,
    progress: Progress | bool | None = None,
    store: Path | str | Destination | None = None,
    **unknown: Never,
) -> Trajectory:
    """Integrate a system and show how far the result can be trusted.

    Parameters
    ----------
    system
        What was posed.
    until
        The end of the run, s; before `start_time` to integrate backwards.
    initial
        Start values to keep, by the names of states. The others are made consistent; what was
        changed is in `Trajectory.start`.
    start_time, guess, parameters, inputs, formulation, solver, rtol, atol, at, default_rate, \
scales, redundant, redundant_weights, rank_loss, max_evaluations, variant_policy, impact, \
impact_order, on_gain, on_jam, on_ambiguous
        See `RunOptions`.
    verify
        Repeat the run and report the difference of the trajectories: True by another method and
        other choices, which sees what the run took for granted; "same" by its own method with a
        tightened tolerance, which is cheap and does not; or by the solver given, or its name.
    progress
        True shows a bar while the run goes on, in a terminal or a notebook; elsewhere ten lines on
        standard error. Or what is called after each segment with the time reached, the monitor and
        the number of events.
    store
        A directory, new or empty, in which the run is kept part by part while it goes on; memory
        does not grow with it, and `daesolve.resume` goes on where it was stopped or killed. Without
        `at`, samples are even.
    **unknown
        No other option is known: it is refused, with the nearest names.

    Returns
    -------
    Trajectory
        Samples, reactions, outputs, drift over every accepted step, events, and how it ended.

    Raises
    ------
    DaesolveError
        The request cannot be run; see `daesolve.errors`. What fails during the run does not
        raise: it is the trajectory's `outcome` and `message`.
    VariantError
        By its kind: no choice of the loaded supports is an answer at the start; or, with
        rank_loss = "raise", on the way, and what there is of the run is the error's `run`.
    DegenerateConstraintError
        With rank_loss = "raise", the run ended as `degenerate`; what there is of it is the error's
        `run`.
    """
    check_options("solve", unknown, more=tuple(SolveOptions.__annotations__))
    options: RunOptions = {
        "start_time": start_time,
        "guess": guess,
        "parameters": parameters,
        "inputs": inputs,
        "formulation": formulation,
        "solver": solver,
        "rtol": rtol,
        "atol": atol,
        "default_rate": default_rate,
        "scales": scales,
        "redundant": redundant,
        "redundant_weights": redundant_weights,
        "rank_loss": rank_loss,
        "max_evaluations": max_evaluations,
        "variant_policy": variant_policy,
        "impact": impact,
        "impact_order": impact_order,
        "on_gain": on_gain,
        "on_jam": on_jam,
        "on_ambiguous": on_ambiguous,
    }
    request, _ = requested(until, initial, options)
    destination, by = _destination(store), repeating(verify)
    prepared = _prepared(system, request, by)
    with showing(progress, prepared.start_time, prepared.until) as told:
        if destination is None:
            return replace(integrated(prepared, at, told, by), origin=system)
        named = replace(request, inputs=described(system, request.inputs))
        kept = begin(prepared, named, at, by, told, destination)
    return remembered(replace(_or_raised(kept, request.rank_loss), origin=system))


def _prepared(system: System, request: Request, by: bool | By) -> Prepared:
    """Return what is to be run, once it is known that what is to repeat it can."""
    prepared = prepare_once(system, request)
    if isinstance(by, Solver):
        check_verifier(prepared, by)
    return prepared


def _destination(store: Path | str | Destination | None) -> Destination | None:
    """Return where a run is kept, which is new or empty; None if it is not."""
    if store is None:
        return None
    found = store if isinstance(store, Destination) else Destination(located(store))
    refuse_full(found.directory)
    return found


def integrated(
    prepared: Prepared, at: At = None, progress: Progress | None = None, by: bool | By = False
) -> Trajectory:
    """Integrate what is prepared, and repeat it where that is asked for; see `solve`."""
    run = _or_raised(simulate(prepared, at, progress), prepared.request.rank_loss)
    if by and run.outcome.good:
        run = replace(run, verification=verify_run(prepared, run, run.times, by))
    return remembered(run)


def repeating(given: bool | Solver | str) -> bool | By:
    """Return what is to repeat a run, of what `verify` may be.

    Raises
    ------
    OutOfRangeError
        It is nothing that could.
    UnknownNameError
        It is the name of no solver.
    """
    if isinstance(given, bool) or given == "same":
        return given
    if not isinstance(given, Solver | str):
        raise OutOfRangeError(
            f"verify is {given!r}, but must be True, False, 'same', a solver or its name"
        )
    return solver_of(given)


def _or_raised(run: Trajectory, rank_loss: RankLoss) -> Trajectory:
    """Return a run, or raise where that is asked for."""
    if rank_loss == "raise" and run.outcome is Outcome.DEGENERATE:
        last = run.events[-1].name if run.events else ""
        if last in VARIANT_ERRORS:
            raise VARIANT_ERRORS[last](run.message, run=run)
        raise DegenerateConstraintError(run.message, run)
    return run
