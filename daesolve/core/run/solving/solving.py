"""`solve`: prepare, simulate, verify."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Unpack

from daesolve.core.equations.consistency import check_named
from daesolve.core.preparation.lately import prepare_once
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.preparation.request import RankLoss, Request
from daesolve.core.results.storage import located, refuse_full
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.trajectory import Trajectory, remember_latest
from daesolve.core.run.integration.run_options import (
    By,
    Initial,
    RunOptions,
    check_options,
    requested,
    shows_options,
)
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.integration.simulation import Progress, simulate
from daesolve.core.run.solving.early_ends import warned_of
from daesolve.core.run.solving.progress import showing
from daesolve.core.run.solving.repetition import certifier, check_verifier, repeating, verifier
from daesolve.core.run.solving.stored_runs import Destination, begin
from daesolve.core.solvers import Solver
from daesolve.core.system.consistent_state import check_system
from daesolve.core.system.driving import as_stored, described
from daesolve.core.system.system import System
from daesolve.errors import VARIANT_ERRORS, DegenerateConstraintError


class SolveOptions(RunOptions, total=False):
    """The options of `solve` besides `until` and `initial`; see there for the last three."""

    verify: bool | Solver | str | None
    certify: bool | None
    progress: Progress | bool | None
    store: Path | str | Destination | None


@shows_options(SolveOptions, Request)
def solve(
    system: System, until: float, initial: Initial | None = None, **options: Unpack[SolveOptions]
) -> Trajectory:
    """Integrate a system and show how far the result can be trusted.

    Parameters
    ----------
    system
        A mechanical system or a control system.
    until
        The end of the run, s; before `start_time` to integrate backwards.
    initial
        Start values to keep, by the names of states. The others become consistent with them;
        `Trajectory.start` lists the changes. Or a run, or a point of one (`run.at(12.5)`): the new
        run continues from its end, or from that point, with its state, discrete values and time,
        and with the parameters and inputs given here.
    **options
        Those of `RunOptions` (start_time, guess, parameters, inputs, formulation, solver,
        rtol, atol, at, default_rate, scales, redundant, redundant_weights, rank_loss,
        max_evaluations, variant_policy, impact, impact_order, on_gain, on_jam, on_ambiguous), and
        the following. An unknown one is refused with the nearest names.
    verify
        Repeat the run and report the difference of the trajectories: True uses another method and
        other choices, which also checks the assumptions of the run; "same" uses its own method with
        a tighter tolerance, which is cheaper but does not; or give a solver or its name. The run is
        audited as well (`Trajectory.audit`): if it contradicts the posed system, its outcome is
        `contradicted`.
    certify
        Also prove where the motion is: `Trajectory.certificate` has boxes that contain it at the
        samples, and the times of events. `initial` and `parameters` may then have uncertain values,
        {"x": (1.0, 1e-6)} for x = 1 within 1e-6. Needs `pip install 'daesolve[certify]'`.
    progress
        True shows a bar during the run, in a terminal or a notebook, and elsewhere ten lines on
        standard error. Or a function that is called after each segment with the time reached, the
        monitor and the number of events.
    store
        A new or empty directory in which the run is saved part by part. Memory use does not grow
        with the run, and `daesolve.resume` continues it after it was stopped or killed. Without
        `at`, samples are even.

    Returns
    -------
    Trajectory
        Samples, reactions, outputs, drift over every accepted step, events, and how it ended.

    Warns
    -----
    EndedEarlyWarning
        The run failed, became degenerate, was interrupted or contradicts the posed system: the
        result ends there, with the reason in its `message`.

    Raises
    ------
    DaesolveError
        The request cannot be run; see `daesolve.errors`. A failure during the run does not raise:
        see the trajectory's `outcome` and `message`.
    VariantError
        No choice of the loaded supports is an answer at the start, or, with rank_loss = "raise",
        during the run. The subclass says why; the error's `run` is the run up to there.
    DegenerateConstraintError
        With rank_loss = "raise", the run ended as `degenerate`; the error's `run` is the run up to
        there.
    """
    check_options("solve", options, more=tuple(SolveOptions.__annotations__))
    given: SolveOptions = {**options}
    if given.pop("certify", None):
        return certifier()(system, until, initial, given)
    store, verify = given.pop("store", None), given.pop("verify", None)
    progress = given.pop("progress", None)
    request, at = requested(until, initial, given)
    destination, by = _destination(store), verify is not None and repeating(verify)
    if destination is not None:
        check_system(system)
        request = replace(request, inputs=as_stored(system, check_named("inputs", request.inputs)))
    prepared = _prepared(system, request, by)
    with showing(progress, prepared.start_time, prepared.until) as report:
        if destination is None:
            return warned_of(replace(integrated(prepared, at, report, by), origin=system))
        named = replace(request, inputs=described(system, request.inputs))
        kept = begin(prepared, named, at, by, report, destination)
    return warned_of(remember_latest(replace(_or_raised(kept, request.rank_loss), origin=system)))


def _prepared(system: System, request: Request, by: bool | By) -> Prepared:
    """Return the run to perform, once it is known that the one that repeats it can."""
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
    """Integrate a prepared run, and repeat it if requested; see `solve`."""
    run = _or_raised(simulate(prepared, at, progress), prepared.request.rank_loss)
    if by and run.outcome.good:
        run = verifier()(prepared, run, by, None)
    return remember_latest(run)


def _or_raised(run: Trajectory, rank_loss: RankLoss) -> Trajectory:
    """Return a run, or raise if requested."""
    if rank_loss == "raise" and run.outcome is Outcome.DEGENERATE:
        last = run.events[-1].name if run.events else ""
        if last in VARIANT_ERRORS:
            raise VARIANT_ERRORS[last](run.message, run=run)
        raise DegenerateConstraintError(run.message, run)
    return run
