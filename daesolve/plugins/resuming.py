"""Going on with a run on disk, its system posed again from what its manifest names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from daesolve.errors import DaesolveError, NotResumableError
from daesolve.formulations import Formulation
from daesolve.integration.simulation import Progress
from daesolve.plugins import registry
from daesolve.plugins.bound_case import BoundCase
from daesolve.preparation.naming import formulation_of, solver_of
from daesolve.preparation.preparing import prepare
from daesolve.solvers import Solver
from daesolve.solving.descriptions import check_same, processor, versions
from daesolve.solving.stored_runs import Tell, go_on, restored_request
from daesolve.storage import Stored
from daesolve.system.system import System
from daesolve.trajectory.trajectory import Trajectory, remembered, stored_run


def resume(
    directory: Path | str,
    until: float | None = None,
    *,
    source: System | BoundCase | None = None,
    formulation: Formulation | str | None = None,
    solver: Solver | str | None = None,
    any_version: bool = False,
    progress: Progress | None = None,
    tell: Tell | None = None,
) -> Trajectory:
    """Go on with a run that was stopped or killed, or extend one that is finished.

    The samples, events and drift are those of a run that was never stopped, bit for bit. Parts
    that are damaged are computed again.

    Parameters
    ----------
    directory
        Of `solve(..., store=...)` or `daesolve run ... --out`.
    until
        A farther end, s; what is there is not changed.
    source
        The system, where the run's was not posed by an installed problem or a file.
    formulation, solver
        Those with which the run was begun, where the run names a class that is neither the
        library's nor installed with an entry point.
    any_version
        Go on although packages or the processor are others than those of the beginning: what
        follows may then differ in the last digits from a run that was not stopped.
    progress
        As in `solve`.
    tell
        Called with a sentence for each thing that was found amiss and mended.

    Returns
    -------
    Trajectory
        Of the whole run, its samples on disk.

    Raises
    ------
    ArchiveError
        There is no run in the directory, another process is writing it, or it cannot be read.
    NotResumableError
        Its system, formulation or solver is not known, it was made by other versions, or it ended
        for good.
    OutOfRangeError
        It reaches farther than `until` already.
    """
    if Stored(directory).manifest.get("kind") == "sweep":
        raise NotResumableError(
            f"{str(directory)!r} holds a sweep: go on with it by ds.ensembles.resume_sweep(DIR)"
        )
    stored = stored_run(directory)
    others = _other_versions(stored)
    if others and not any_version:
        raise NotResumableError(
            f"the run in {str(stored.directory)!r} was begun with {', '.join(others)}: what "
            "follows might differ in the last digits; go on with what it was begun with, or allow "
            "it (any_version=True, --any-version)"
        )
    remark = f"begun with {', '.join(others)}, and gone on with in spite of it" if others else None
    system = _system(stored, source)
    asked = stored.manifest["request"]
    own = formulation_of(formulation), solver_of(solver)
    for option, one in zip(("formulation", "solver"), own, strict=True):
        check_same(asked[option], one)
    given = [one for one in own if one is not None]
    prepared = prepare(system, restored_request(asked, given))
    run = go_on(directory, prepared, until, progress, tell, remark, given)
    sources = registry.sources_of(stored.manifest["source"])
    return remembered(replace(run, sources=tuple(sources)))


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


def _system(stored: Stored, source: System | BoundCase | None) -> System:
    if isinstance(source, BoundCase):
        return source.system
    if source is not None:
        return source
    named: Mapping[str, Any] | None = stored.manifest["source"]
    if named is None:
        raise NotResumableError(
            f"the run in {str(stored.directory)!r} is of a system that no installed problem poses: "
            "go on from Python, with daesolve.resume(DIR, source=system)"
        )
    try:
        found = registry.problem(named["path"] or named["problem"])
    except DaesolveError as error:
        raise NotResumableError(
            f"the problem of the run in {str(stored.directory)!r} cannot be had ({error}): install "
            "it, or go on from Python, with daesolve.resume(DIR, source=case)"
        ) from error
    return found.system(named["model"], named["structure"])
