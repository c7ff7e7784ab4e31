"""Resumes a run on disk, with its system posed again from its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from daesolve.core.formulations import Formulation
from daesolve.core.preparation.naming import formulation_of, solver_of
from daesolve.core.preparation.preparing import prepare
from daesolve.core.results.storage import Stored, kind_of, resuming
from daesolve.core.results.trajectory.stored_trajectories import stored_run
from daesolve.core.results.trajectory.trajectory import Trajectory, remember_latest
from daesolve.core.run.integration.simulation import Progress
from daesolve.core.run.solving.descriptions import check_same, processor, versions
from daesolve.core.run.solving.early_ends import warned_of
from daesolve.core.run.solving.progress import showing
from daesolve.core.run.solving.stored_runs import go_on, restored_request
from daesolve.core.solvers import Solver
from daesolve.core.system.system import System
from daesolve.errors import DaesolveError, NotResumableError, PosingError, Tell
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.registry import Problem
from daesolve.plugins.stored_problem import (
    in_need_of_source,
    is_of_file,
    posed_again,
    sources_of,
)

Given = System | BoundCase | Problem | Path | str
"""Sources for resuming a run: what was run, or the path of the file that defines it."""


def resume(
    directory: Path | str,
    until: float | None = None,
    *,
    source: Given | None = None,
    formulation: Formulation | str | None = None,
    solver: Solver | str | None = None,
    inputs: Mapping[str, Any] | None = None,
    any_version: bool = False,
    progress: Progress | bool | None = None,
    tell: Tell | None = None,
) -> Trajectory:
    """Resume a run that was stopped or killed, or extend a finished one.

    Samples, events and drift are bit for bit the same as in a run that was never stopped. Damaged
    parts are computed again.

    Parameters
    ----------
    directory
        Of `solve(..., store=...)` or `daesolve run ... --out`.
    until
        Another end than planned, s: a later one extends the run, an earlier one ends it sooner. It
        must lie beyond what is computed, which is not changed.
    source
        The Python file, the problem, the case or the system that was run, unless it was an
        installed problem: no file is executed only because the directory names it. A file must be
        unchanged since the run began.
    formulation, solver
        Those with which the run began, if it names a class that is neither in the library nor
        installed with an entry point.
    inputs
        The drives of inputs that the run could not store: laws called in Python, and expressions
        that contain tables.
    any_version
        Resume even if packages or the processor have changed since the beginning: the rest may then
        differ in the last digits from a run that was not stopped.
    progress
        As in `solve`.
    tell
        Called with a sentence for each damage that was found and repaired.

    Returns
    -------
    Trajectory
        The whole run, with its samples on disk.

    Raises
    ------
    ArchiveError
        There is no run in the directory, another process is writing it, or it cannot be read.
    NotResumableError
        Its system, formulation or solver is unknown, it was computed with other versions, or it
        ended for good.
    OutOfRangeError
        It already goes to `until` or beyond.
    """
    if kind_of(directory) == "sweep":
        raise NotResumableError(
            f"{str(directory)!r} contains a sweep: resume it with ds.ensembles.resume_sweep(DIR)"
        )
    stored = stored_run(directory)
    others = _other_versions(stored)
    if others and not any_version:
        raise NotResumableError(
            f"the run in {str(stored.directory)!r} began with {', '.join(others)}: the rest "
            "might differ in the last digits; resume with the same versions, or allow others "
            "(any_version=True, --any-version)"
        )
    remark = f"begun with {', '.join(others)}, and resumed with other versions" if others else None
    system, papers = _system(stored, source, tell)
    asked = stored.manifest["request"]
    own = formulation_of(formulation), solver_of(solver)
    for option, one in zip(("formulation", "solver"), own, strict=True):
        check_same(asked[option], one)
    given = [one for one in own if one is not None]
    prepared = prepare(system, restored_request(asked, given, inputs))
    end = asked["until"] if until is None else until
    with showing(progress, prepared.start_time, end) as report:
        run = go_on(directory, prepared, until, report, tell, remark, given)
    return warned_of(remember_latest(replace(run, sources=tuple(papers))))


def reopened(directory: Path | str, source: Problem, tell: Tell | None = None) -> Trajectory:
    """Return a finished run on disk with its equations, so that it can be evaluated at any time.

    Other versions than those that computed it may do so, to their own last digits.

    Parameters
    ----------
    directory, tell
        As in `resume`.
    source
        The problem that was run.

    Raises
    ------
    ArchiveError, NotResumableError
        As in `resume`.
    """
    asked = stored_run(directory).manifest["request"]
    system, _ = _system(stored_run(directory), source, tell)
    return go_on(directory, prepare(system, restored_request(asked)), tell=tell)


def _other_versions(stored: Stored) -> list[str]:
    """Return what is not as it was when the run began."""
    here: dict[str, str] = {**versions(), "processor": processor()}
    there: dict[str, str] = {
        **stored.manifest["versions"],
        "processor": stored.manifest["processor"],
    }
    return [
        f"{name} {there[name]} (here {here[name]})"
        for name in there
        if name != "python" and name in here and there[name] != here[name]
    ]


def problem_of(
    stored: Stored, source: Path | str | None = None, tell: Tell | None = None
) -> Problem:
    """Return the problem of a run to resume.

    Parameters
    ----------
    stored
        The run.
    source
        The file that defines it, if it may be executed.
    tell
        Called with a sentence before the file is executed.

    Raises
    ------
    NotResumableError
        It is not available, or comes from a file that the caller has not named.
    """
    named: Mapping[str, Any] | None = stored.manifest["source"]
    if named is None:
        raise NotResumableError(
            f"the run in {str(stored.directory)!r} is of a system that no installed problem "
            "defines: resume from Python with daesolve.resume(DIR, source=system)"
        )
    if is_of_file(named) and source is None:
        how = in_need_of_source(named, resuming(stored.directory))
        raise NotResumableError(
            f"the run in {str(stored.directory)!r} cannot be resumed yet: {how}, or in Python "
            "daesolve.resume(DIR, source=FILE)"
        )
    try:
        return posed_again(named, None if source is None else Path(source), tell)
    except DaesolveError as error:
        remedy = "give the file that defined it" if is_of_file(named) else "install it"
        raise NotResumableError(
            f"the problem of the run in {str(stored.directory)!r} is not available ({error}): "
            f"{remedy}, or resume from Python with daesolve.resume(DIR, source=case)"
        ) from error


def _system(
    stored: Stored, source: Given | None, tell: Tell | None
) -> tuple[System, Sequence[str]]:
    """Return the system that was run, and the papers of its problem."""
    named: Mapping[str, Any] | None = stored.manifest["source"]
    if isinstance(source, BoundCase):
        return source.system, source.problem.sources
    if isinstance(source, System):
        return source, sources_of(named)
    if not isinstance(source, Problem | Path | str | None):
        raise PosingError(
            f"source is {type(source).__name__}, but must be a system, a problem, a case of it, or "
            "the path of the Python file that defines it"
        )
    found = source if isinstance(source, Problem) else problem_of(stored, source, tell)
    if named is None:
        raise PosingError(
            "the run is of a system that no problem defines: give the system, or the case, "
            "as source"
        )
    return found.system(named["model"], named["structure"]), found.sources
