"""`sweep`: many runs of one case with different values, described by a manifest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from daesolve.core.encoding import is_array, is_list, is_mapping, is_tuple, native
from daesolve.core.formulations import FORMULATIONS, Formulation
from daesolve.core.formulations.formulation import settings_of
from daesolve.core.preparation.choosing import check_pair, choose_formulation
from daesolve.core.preparation.extensions import (
    FORMULATION_GROUP,
    SOLVER_GROUP,
    formulation_kind,
    installed_as,
    solver_kind,
)
from daesolve.core.preparation.naming import made_by_name
from daesolve.core.preparation.request import Request, check_request
from daesolve.core.results.storage import located, resuming
from daesolve.core.run.integration.run_options import RunOptions, check_options, with_values
from daesolve.core.run.integration.sampling import At, Every, EveryEvent, sample_times
from daesolve.core.run.solving.repetition import repeating
from daesolve.core.solvers import SOLVERS, Solver, Taylor
from daesolve.core.solvers.lanes import LANES
from daesolve.core.system.driving import portable
from daesolve.ensembles.audits import audited_members
from daesolve.ensembles.batches import batch_solver
from daesolve.ensembles.chunks import SweepTask, computing_versions
from daesolve.ensembles.dispatch import Progress, run_members
from daesolve.ensembles.members import (
    Over,
    Table,
    checked,
    count_of,
    described,
    member_case,
    members,
    over_from,
    values_of,
)
from daesolve.ensembles.posed_here import packed
from daesolve.ensembles.sweep_files import SweepStore, new_manifest, sweep_manifest
from daesolve.ensembles.sweep_results import Sweep
from daesolve.ensembles.workers import Cluster, LocalProcesses, ThisProcess, Workers
from daesolve.errors import (
    NotResumableError,
    OutOfRangeError,
    PluginError,
    PosingError,
    Tell,
    UnsupportedError,
)
from daesolve.plugins import registry
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.family import Family
from daesolve.plugins.registry import digest_of
from daesolve.plugins.stored_problem import in_need_of_source, is_of_file, posed_again

KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (*SOLVERS.values(), *FORMULATIONS.values(), Every, EveryEvent)
}
"""Classes whose values a manifest stores completely."""
KIND_KEY, WORDS_KEY = "kind", "in_words"


def sweep(
    case: BoundCase,
    over: Over,
    *,
    out: str | Path,
    samples: int | None = None,
    seed: int = 0,
    until: float | None = None,
    initial: Mapping[str, float] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    batch: bool | None = None,
    verify: bool | Solver | str = False,
    progress: Progress | None = None,
    **options: Unpack[RunOptions],
) -> Sweep:
    """Run a case many times with different values, and write results to a directory as they arrive.

    A member whose run fails is recorded with the reason, and the others continue. If the directory
    already contains part of the same sweep, it is resumed.

    Parameters
    ----------
    case
        The case to vary: `problem.case(...)`.
    over
        Name -> values, or a distribution: `uniform(low, high)`, `log_uniform(low, high)`,
        `normal(mean, deviation)`. Values form a grid, with the last name varying fastest. A list of
        mappings gives the members one by one. A name is a parameter, a structural choice, or a
        start value by the case's own names or those of states.
    out
        The directory for the results: new, empty, or with part of the same sweep.
    samples
        How many members are drawn at each point of the grid if something is drawn at random.
    seed
        Of the draws: it alone determines the values of every member, before the first one runs.
    until
        The end of each run, s; by default the last of `at`, or else the case's horizon.
    initial
        Start values that all members share.
    workers
        The number of processes on this machine; by default one per core. 0 runs everything in this
        process, for a problem that exists only here.
    scheduler
        The address of a Dask cluster instead of local processes.
    batch
        True integrates all members side by side by Taylor's method, False one by one. By default
        members that can run side by side do so if they are many and share one structure.
    verify
        Repeat the run of each member, as `daesolve.solve` does, and keep how far each state differs
        over the samples and at the end, what repeated it, and the Lyapunov time.
    progress
        Called with the sweep's `SweepState` whenever members have run.
    **options
        See `RunOptions`, the same for all members. Samples at the times `at` are kept of each run,
        none by default; the end always is.

    Returns
    -------
    Sweep
        Marked as interrupted if Ctrl-C or SIGTERM ended it; the results so far are kept.

    Raises
    ------
    DaesolveError
        The request cannot be run: an unknown name, a value out of range in any member, a directory
        that contains something else, a scheduler that does not answer.
    """
    check_workers(workers, scheduler)
    if batch is not None and not isinstance(batch, bool):
        raise OutOfRangeError(f"batch is {batch!r}, but must be True, False or None")
    place = located(out)
    if not isinstance(case, BoundCase):
        raise PosingError(
            f"a sweep needs a case of a problem, not {type(case).__name__}: "
            'ds.Problem("mine", title="Mine", models={"model": lambda: system}, '
            'cases=[ds.Case("start", start={...}, until=10.0)]).case()'
        )
    check_options("a sweep", options, more=("initial",))
    case, at = with_values(case, initial, options), options.get("at")
    chosen = {name: value for name, value in options.items() if name not in ("at", "parameters")}
    if inputs := options.get("inputs"):
        chosen["inputs"] = portable(case.system, inputs)
    if by := repeating(verify):
        chosen["verify"] = by
    table = checked(case, members(over, samples, seed))
    if until is None and isinstance(at, Sequence | np.ndarray) and len(at):
        until = float(at[-1])
    if batch is None and not _pays(case, chosen, table):
        batch = False
    task = task_of(case, until, at, chosen, batch=batch, elsewhere=workers != 0)
    _check(member_case(case, values_of(table, 0)), task, table)
    manifest = contents(task, over, samples, seed) | {"count": count_of(table)}
    manifest = new_manifest(manifest, list(table))
    with SweepStore(place) as store:
        table = store.begin(manifest, table)
        running = _workers(case, task, workers, scheduler)
        found = run_members(store, table, running, progress, batch=task.batch is not False)
    return replace(found, auditor=partial(audited_members, case, task, table))


def resume_sweep(
    directory: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    any_version: bool = False,
    source: BoundCase | Path | str | None = None,
) -> Sweep:
    """Run the members of a sweep that have not run yet.

    Parameters
    ----------
    directory
        Of the sweep.
    workers, scheduler, progress
        As in `sweep`.
    any_version
        Continue even if the results so far were computed with other versions.
    source
        The Python file that defines the problem, if there is one, or the case that is swept. A file
        is never executed only because a directory names it. It must be unchanged since the sweep
        began.

    Raises
    ------
    NotResumableError
        The directory contains no sweep that can be resumed from its manifest alone.
    """
    check_workers(workers, scheduler)
    directory = located(directory)
    manifest = sweep_manifest(directory)
    case = source if isinstance(source, BoundCase) else case_from(directory, manifest, source)
    options, at = restored(manifest["options"]), restored(manifest["at"])
    over, samples, seed = over_from(manifest["over"]), manifest["samples"], manifest["seed"]
    table = checked(case, members(over, samples, seed))
    task = task_of(
        case, manifest["until"], at, options, batch=manifest["batch"], elsewhere=workers != 0
    )
    asked = contents(task, over, samples, seed) | {"count": manifest["count"]}
    if asked["identity"]["digest"]:  # the file may have moved
        asked["identity"]["problem"] = manifest["identity"]["problem"]
    with SweepStore(directory) as store:
        table = store.begin(new_manifest(asked, list(table)), table, any_version=any_version)
        running = _workers(case, task, workers, scheduler)
        found = run_members(store, table, running, progress, batch=task.batch is not False)
    return replace(found, auditor=partial(audited_members, case, task, table))


def task_of(
    case: BoundCase,
    until: float | None,
    at: At,
    options: Mapping[str, Any],
    *,
    batch: bool | None,
    elsewhere: bool,
) -> SweepTask:
    """Return what runs of a case share, for workers unless all run here.

    Raises
    ------
    MissingPackageError, PosingError
        The problem is neither installed nor in a file, and cannot be sent to workers.
    """
    path = case.problem.path
    name = case.problem.name if path is None else str(path.resolve())
    only_here = elsewhere and path is None and not _found(case.problem)
    return SweepTask(
        problem=name,
        posed=packed(case.problem) if only_here else None,
        digest=case.problem.digest,
        case=case.case.name,
        model=case.model,
        structure=dict(case.structure),
        parameters=dict(case.parameters),
        start=dict(case.start),
        initial=dict(case.initial),
        until=case.case.until if until is None else until,
        at=at,
        options={n: value for n, value in made_by_name(options).items() if value is not None},
        batch=batch,
        versions=computing_versions(),
    )


def _found(problem: Family) -> bool:
    """Return whether a worker finds a problem by its name."""
    try:
        return registry.problem(problem.name) is problem
    except (LookupError, PluginError):
        return False


def _check(case: BoundCase, task: SweepTask, over: Iterable[str]) -> None:
    """Refuse what no member could run with."""
    usual: dict[str, Any] = {"start_time": case.case.start_time}
    options = {name: value for name, value in task.options.items() if name != "verify"}
    dynamics, request = case.system.dynamics, Request(task.until, **{**usual, **options})
    check_request(dynamics, request)
    if task.at is not None:
        sample_times(task.at, request.start_time, task.until)
    passing = replace(request, rank_loss=task.options.get("rank_loss", case.case.rank_loss))
    formulation = choose_formulation(dynamics, passing, [])
    formulation.chosen_rates(dynamics, request.default_rate)
    if request.solver is not None:
        check_pair(formulation, request.solver)
    if task.batch:
        _check_batch(case, task, formulation, over)
        check_pair(formulation, batch_solver(request.solver, request.rtol))


def _pays(case: BoundCase, options: Mapping[str, Any], table: Table) -> bool:
    """Return whether lanes pay: members must fill them, and share the compiled code."""
    structural = any(name in case.problem.structure for name in table)
    bounded = options.get("max_evaluations") is not None
    return count_of(table) >= LANES and not structural and not bounded


def _check_batch(
    case: BoundCase, task: SweepTask, formulation: Formulation, over: Iterable[str]
) -> None:
    """Refuse members that cannot be integrated side by side."""
    solver, chosen = task.options.get("solver"), task.options.get("formulation")
    rank_loss = task.options.get("rank_loss", case.case.rank_loss)
    structural = [name for name in over if name in case.problem.structure]
    why = None
    if structural:
        why = f"the members differ in structure ({', '.join(structural)})"
    elif solver is not None and not isinstance(solver, Taylor):
        why = f"the solver is {solver.name!r}, but only 'taylor' integrates in many lanes"
    elif task.options.get("atol") is not None:
        why = "atol is given, but 'taylor', which integrates in many lanes, has none"
    elif case.system.dynamics.resets:
        why = "its events reset the state, which each member does separately"
    elif formulation.projects or (rank_loss == "pass" and chosen is None):
        why = "the formulation is 'projected', which each member does separately after every step"
    elif formulation.stiff:
        why = f"the formulation {formulation.name!r} needs a solver for stiff equations"
    elif task.options.get("max_evaluations") is not None:
        why = "max_evaluations limits a single run"
    if why is not None:
        raise UnsupportedError(f"this sweep cannot run as a batch: {why}; leave out batch")


def check_workers(count: int | None, scheduler: str | None) -> None:
    """Refuse invalid numbers of workers, and workers together with a cluster."""
    if scheduler is not None and count is not None:
        raise OutOfRangeError(
            "workers are processes on this machine, but a scheduler has its own workers: leave "
            "one of them out"
        )
    if count is not None and (type(count) is not int or count < 0):
        raise OutOfRangeError(f"workers is {count!r}, but must be a whole number >= 0")


def _workers(
    case: BoundCase, task: SweepTask, count: int | None, scheduler: str | None
) -> Callable[[int], Workers]:
    """Return what makes the workers, once it is known how many members are left."""
    if scheduler is not None:
        return lambda left: Cluster(task, scheduler)
    if count == 0:
        return lambda left: ThisProcess(case, task)
    return lambda left: LocalProcesses(task, min(count or cores(), left))


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def contents(task: SweepTask, over: Over, samples: int | None, seed: int) -> dict[str, Any]:
    """Return a description of the sweep; equal descriptions mean equal members."""
    return {
        "identity": {
            "problem": task.problem,
            "digest": task.digest,
            "case": task.case,
            "model": task.model,
            "structure": saved(task.structure),
        },
        "parameters": saved(task.parameters),
        "start": saved(task.start),
        "initial": saved(task.initial),
        "over": described(over),
        "samples": samples,
        "seed": seed,
        "until": task.until,
        "at": saved(task.at),
        "options": saved(task.options),
        "batch": task.batch,
        "versions": dict(task.versions),
    }


def case_from(
    directory: Path,
    manifest: Mapping[str, Any],
    source: Path | str | None = None,
    tell: Tell | None = None,
) -> BoundCase:
    """Return the case that is swept.

    Parameters
    ----------
    directory, manifest
        Of the sweep.
    source
        The file that defines the problem, if it may be executed.
    tell
        Called with a sentence before the file is executed.

    Raises
    ------
    NotResumableError
        The problem is not available, has changed, cannot be described by a manifest, or comes from
        a file that the caller has not named.
    """
    identity = manifest["identity"]
    name, digest = identity["problem"], identity["digest"]
    named = {"problem": name, "path": name if digest else None, "digest": digest}
    _check_source(directory, named, source)
    try:
        problem = posed_again(named, None if source is None else Path(source), tell)
        case = problem.case(identity["case"], model=identity["model"])
    except (PluginError, LookupError) as error:
        raise NotResumableError(
            f"{str(directory)!r} sweeps the problem {name!r}, which is not available here "
            f"({error}): start the same sweep from Python"
        ) from error
    return replace(
        case,
        structure=restored(identity["structure"]),
        parameters=restored(manifest["parameters"]),
        start=restored(manifest["start"]),
        initial=restored(manifest["initial"]),
    )


def _check_source(directory: Path, named: Mapping[str, Any], source: Path | str | None) -> None:
    """Refuse a file that is another by now, and one that the caller has not given."""
    if not is_of_file(named):
        return
    place = Path(named["path"] if source is None else source)
    if place.is_file() and digest_of(place) != named["digest"]:
        raise NotResumableError(
            f"{str(directory)!r} was computed with another {place}: restore it, or start a new "
            "sweep in another directory"
        )
    if source is None:
        how = in_need_of_source(named, resuming(directory))
        raise NotResumableError(
            f"the sweep in {str(directory)!r} cannot be resumed yet: {how}, or in Python "
            "daesolve.ensembles.resume_sweep(DIR, source=FILE)"
        )


def saved(value: Any) -> Any:
    """Return the value of an option as JSON, or in words if JSON cannot represent it."""
    value = native(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_array(value):
        return value.tolist()
    if is_mapping(value):
        return {name: saved(entry) for name, entry in value.items()}
    if is_list(value) or is_tuple(value):
        return [saved(entry) for entry in value]
    if is_dataclass(value) and KINDS.get(type(value).__name__) is type(value):
        settings = {entry.name: saved(getattr(value, entry.name)) for entry in fields(value)}
        return {KIND_KEY: type(value).__name__, **settings}
    if isinstance(value, Formulation | Solver) and installed_as(type(value)) is not None:
        settings = {name: saved(entry) for name, entry in settings_of(value).items()}
        return {KIND_KEY: f"{_group(value)}:{value.name}", **settings}
    return {WORDS_KEY: repr(value)}


def restored(value: Any) -> Any:
    """Return a value from a manifest.

    Raises
    ------
    NotResumableError
        The manifest describes it only in words.
    """
    if is_list(value):
        return [restored(entry) for entry in value]
    if not is_mapping(value):
        return value
    if WORDS_KEY in value:
        raise NotResumableError(
            f"the manifest describes {value[WORDS_KEY]} only in words: start the same sweep "
            "from Python to resume it"
        )
    found = {name: restored(entry) for name, entry in value.items() if name != KIND_KEY}
    return _kind(value[KIND_KEY])(**found) if KIND_KEY in value else found


def _group(value: Formulation | Solver) -> str:
    return FORMULATION_GROUP if isinstance(value, Formulation) else SOLVER_GROUP


def _kind(named: str) -> Any:
    """Return a class by its name, that of an installed package by its group and its name."""
    if named in KINDS:
        return KINDS[named]
    group, _, name = named.partition(":")
    try:
        return formulation_kind(name) if group == FORMULATION_GROUP else solver_kind(name)
    except (LookupError, PluginError) as error:
        raise NotResumableError(
            f"the sweep uses {name!r}, which is not available here ({error}): install it to resume"
        ) from error
