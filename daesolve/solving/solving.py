"""`solve`: prepare, simulate, verify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from daesolve.errors import VARIANT_ERRORS, DegenerateConstraintError, OutOfRangeError
from daesolve.formulations import Formulation
from daesolve.friction.sliding import VariantPolicy
from daesolve.integration.sample_times import At
from daesolve.integration.simulation import Progress, simulate
from daesolve.preparation.naming import formulation_of, solver_of
from daesolve.preparation.preparing import prepare
from daesolve.preparation.request import DEFAULT_RATE, RankLoss, Redundant, Request
from daesolve.solvers import Solver
from daesolve.solving.stored_runs import Destination, begin
from daesolve.storage import located, refuse_full
from daesolve.system.system import System
from daesolve.trajectory.last_run import remembered
from daesolve.trajectory.results import Outcome
from daesolve.trajectory.trajectory import Trajectory
from daesolve.verification.second_run import verifier
from daesolve.verification.second_run import verify as verify_run


def solve(
    system: System,
    until: float,
    initial: Mapping[str, float] | None = None,
    *,
    start_time: float = 0.0,
    guess: Mapping[str, float] | None = None,
    parameters: Mapping[str, object] | None = None,
    formulation: Formulation | str | None = None,
    solver: Solver | str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    at: At = None,
    verify: bool | Solver | str = False,
    default_rate: float = DEFAULT_RATE,
    scales: Mapping[str, float] | None = None,
    redundant: Redundant = "error",
    redundant_weights: Mapping[str, float] | None = None,
    rank_loss: RankLoss = "stop",
    max_evaluations: int | None = None,
    variant_policy: VariantPolicy = "continuity",
    progress: Progress | None = None,
    store: Path | str | Destination | None = None,
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
        changed is told in `Trajectory.start`.
    start_time
        The start, s.
    guess
        Start values that may be changed to make the state consistent.
    parameters
        Values in place of the defaults.
    formulation, solver
        How the equations are made integrable and by what they are integrated; by default
        feedback (projected where rank loss is passed), and Taylor's method (CVODES where that
        cannot be). Objects, or names as on the command line: "index-2", "projected:index-1",
        "viscous:1e-7" (its mobility), "regularised:1e-3" (its speed); "taylor", "idas".
    rtol, atol
        Relative and absolute tolerance of a step of the solver that is chosen by itself, which is
        the same as without them; where Taylor's method would be, which takes no absolute one,
        `atol` takes CVODES. A solver that is given has its own.
    at
        Sample times, `every(interval)`, or None for 1001 even samples.
    verify
        Repeat the run with a tightened tolerance (or with the solver given, by its name too) and
        report the difference of the trajectories.
    default_rate
        The rate of goals for which nothing else is chosen, 1/s.
    scales
        The scale of goals by name: the energy scale is {"energy": ...}, in J.
    redundant
        What to do with constraints that depend on each other everywhere: "error", "drop" the
        dependent ones, or share the reactions by "minimum-norm". Contradictory ones are refused
        whatever is asked for; where their reactions enter a force (friction), only "minimum-norm"
        tells which motion is meant.
    redundant_weights
        How a shared load is divided with "minimum-norm", by the goal's name: of goals on which the
        body yields alike, 2 takes twice as much as 1, which holds for the others.
    rank_loss
        What to do where constraints come to depend on each other: "stop" ends the run as
        `degenerate`, with everything up to there; "raise" does so and raises; "pass" goes through
        isolated positions; "viscous" takes the formulation `Viscous`, friction in place of
        constraints on velocities, on which what follows depends.
    max_evaluations
        How many right-hand sides the run may take; it ends there with what it has. Taylor's
        method counts one for each order of a step.
    variant_policy
        What to do where it is unknown which supports of a guide are loaded. The start takes the
        answer to which that without friction leads. On the way "continuity" lets the other support
        of a pair take over as long as the reactions go on continuously, and ends the run as
        `degenerate` where they do not; "homotopy" goes on there with another physical answer;
        "strict" ends the run wherever there is more than one answer.
    progress
        Called after each segment with the time reached, the monitor and the number of events.
    store
        A directory, new or empty, in which the run is kept part by part while it goes on; memory
        does not grow with it, and `daesolve.resume` goes on where it was stopped or killed. Without
        `at`, samples are even.

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
    request = Request(
        until=until,
        start_time=start_time,
        parameters=parameters or {},
        initial=initial or {},
        guess=guess or {},
        formulation=formulation_of(formulation),
        solver=solver_of(solver),
        rtol=rtol,
        atol=atol,
        default_rate=default_rate,
        scales=scales or {},
        redundant=redundant,
        redundant_weights=redundant_weights or {},
        rank_loss=rank_loss,
        max_evaluations=max_evaluations,
        variant_policy=variant_policy,
    )
    destination: Destination | None = None
    if store is not None:
        destination = store if isinstance(store, Destination) else Destination(located(store))
        refuse_full(destination.directory)
    if not isinstance(verify, bool):
        verify = _repeating(verify)
    prepared = prepare(system, request)
    if isinstance(verify, Solver):
        verifier(prepared, verify)
    if destination is not None:
        kept = begin(prepared, request, at, verify, progress, destination)
        return remembered(_told(kept, rank_loss))
    run = _told(simulate(prepared, at, progress), rank_loss)
    if verify and run.outcome.good:
        other = verify if isinstance(verify, Solver) else None
        run = replace(run, verification=verify_run(prepared, run, run.times, other))
    return remembered(run)


def _repeating(given: Solver | str) -> Solver:
    """Return the solver that is to repeat a run."""
    if not isinstance(given, Solver | str):
        raise OutOfRangeError(f"verify is {given!r}, but must be True, False, a solver or its name")
    return solver_of(given)


def _told(run: Trajectory, rank_loss: RankLoss) -> Trajectory:
    """Return a run, or raise where that is asked for."""
    if rank_loss == "raise" and run.outcome is Outcome.DEGENERATE:
        last = run.events[-1].name if run.events else ""
        if last in VARIANT_ERRORS:
            raise VARIANT_ERRORS[last](run.message, run=run)
        raise DegenerateConstraintError(run.message, run)
    return run
